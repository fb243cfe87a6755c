"""Sentences about faults in what people upload or enter; they follow a colon or stand alone.

``{size}`` and ``{most}`` of files are texts such as ``64 MB``.
"""

from __future__ import annotations

from collections.abc import Mapping

_NOTEBOOKS: Mapping[str, str] = {
    "fault.empty": "The file is empty. Save the notebook in Jupyter and hand it in again.",
    "fault.too-large": (
        "The file has {size}; at most {most} are read. Clear all outputs, save and hand it in again."
    ),
    "fault.too-large-inside": (
        "The file has {size} besides the outputs of a regular notebook; at most {most} are read. Clear all "
        "outputs, save and hand it in again."
    ),
    "fault.too-complex": (
        "The notebook holds millions of values, probably in its outputs. Clear all outputs, save and hand "
        "it in again."
    ),
    "fault.too-deep": (
        "The file's JSON is nested too deeply to be a notebook. Save it in Jupyter and hand it in again."
    ),
    "fault.not-text": (
        "The file is not a notebook but binary data (byte {byte} is not text). Hand in the .ipynb file "
        "itself, not a PDF, archive or picture of it."
    ),
    "fault.git-lfs-pointer": (
        "The file is a Git LFS pointer: it names the notebook and does not contain it. Run 'git lfs pull' "
        "and hand in the notebook itself."
    ),
    "fault.merge-conflict": (
        "The file contains the markers of a Git merge conflict (<<<<<<<, =======, >>>>>>>). Choose one "
        "version of each conflict, open the notebook in Jupyter to see that it works, and hand it in."
    ),
    "fault.html-page": (
        "The file is an HTML page, such as an export or a login page that was saved by mistake, not a "
        "notebook. Download the .ipynb file again and hand that in."
    ),
    "fault.truncated-json": (
        "The file breaks off at line {line}, column {column}: it was not saved or uploaded completely. Hand "
        "it in again."
    ),
    "fault.not-json": (
        "The file is not a notebook: it is not valid JSON at line {line}, column {column}. Save it in "
        "Jupyter and hand in the .ipynb file."
    ),
    "fault.not-a-notebook": (
        "The file is JSON but not a notebook: expected an object with 'cells'. Hand in the .ipynb file "
        "itself."
    ),
    "fault.no-cells": "The notebook has no cells. Open it in Jupyter, save it and hand it in again.",
    "fault.no-list-of-cells": "The notebook has no list of cells. Open it in Jupyter, and save it again.",
    "fault.too-many-cells": "The notebook has {number} cells; at most {most} are read.",
    "fault.not-upgradable": (
        "The notebook has an old format and cannot be upgraded ({error}). Open it in a current Jupyter, "
        "save it and hand it in again."
    ),
    "fault.cell-too-large": (
        "Cell {cell} has {number} characters of code; at most {most} are read. Keep data in a file or "
        "shorten the cell, then hand it in again."
    ),
    "fault.other-assignment": (
        "{file} is a notebook of the assignment {other}, not of {assignment}. Hand in the notebook of this "
        "assignment."
    ),
}
_FILES: Mapping[str, str] = {
    "fault.file": "{file}: {reason}",
    "fault.file-missing": "{file} was not submitted",
    "fault.files-unread": "{file} is not among the files that were handed in: {files}.",
    "fault.no-notebook": "{file} was not handed in: there is no notebook in the submission.",
    "fault.nothing-expected": "None of the files that were asked for is in it.",
    "fault.file-larger": "{file}: {size}; at most {most} are read.",
    "fault.individual-missing": "{file} is each member's own, and {student} handed in none that counts",
    "fault.too-late": "handed in after the end",
}
_ARCHIVES: Mapping[str, str] = {
    "fault.no-archive": "{file}: not a zip archive that can be read",
    "fault.archive-too-many": "{file}: it has more than {most} files",
    "fault.archives-too-many": "more than {most} archives are not unpacked",
    "fault.files-too-many-here": "from here on there are too many files",
    "fault.not-unpacked": "it cannot be unpacked; the archive may be damaged",
    "fault.link": "it is a link",
    "fault.no-file": "it is no regular file",
    "fault.several-names": "it has {number} names on this disk",
    "fault.encrypted": "it is encrypted; ask for an archive without a password",
    "fault.bomb": "{size} would become {unpacked}; at most {most} times as many are unpacked",
    "fault.size": "{size}; at most {most} are taken",
    "fault.total": "with it there would be more than {most} altogether",
    "fault.twice-in-archive": "its name stands twice in the archive",
    "fault.twice": "there are two files of this name",
    "fault.zero-byte": "its name holds a zero byte",
    "fault.backslash": "its name holds a backslash",
    "fault.absolute": "it lies at an absolute place",
    "fault.outside": "its place leads out of the archive, or to nowhere",
    "fault.place-long": "its place has {number} characters; at most {most} are taken",
    "fault.name-bytes": "a name has more than {most} bytes",
    "fault.device": "{name} is the name of a device",
    "fault.no-name-everywhere": "{name} is no name on every system",
}
_COLLECTING: Mapping[str, str] = {
    "fault.metadata-yaml": "{file}: not YAML that can be read: {error}",
    "fault.metadata-table": "{file}: expected a table of submissions, got {given}",
    "fault.moodle-blind": (
        "blind marking hides who it is; reveal the identities in Moodle, and download the files or the "
        "worksheet again"
    ),
    "fault.canvas-anonymous": (
        "anonymous grading hides who it is; turn it off in Canvas, and download the files again"
    ),
    "fault.platform-name": "its name is none of a download of {platform}",
    "fault.pattern-slow": "collect.toml: the pattern {pattern} takes too long for {path}",
    "fault.exchange-offset": (
        "its time has an offset from UTC behind a +, and so nobody can say when it was"
    ),
    "fault.exchange-plus": ("its + do not tell student and assignment apart ({options}); rename the folder"),
    "fault.exchange-owner": (
        "it belongs to the account {account}, not to {student}; --any-owner takes it all the same"
    ),
    "fault.gradescope-folder": "it lies in no folder of a submission",
    "fault.outside-wrapping": "it lies outside of {folder}, where the students' files are",
    "fault.stamp-by-student": (
        "a student may have written it; --from nbgrader believes it in <student>/<assignment>/"
    ),
    "fault.stamp": "when something was handed in is not the student's to say",
    "fault.files-too-many": "there are more than {most} files",
    "fault.same-case": "it cannot be told from {name} where large and small letters are the same",
    "fault.file-and-folder": "{name} is a file and a folder",
    "fault.longer": "it is longer than it says",
    "fault.no-submission": "{source}: contains no submission for {assignment} (read as {platform})",
    "fault.not-expected": "it is not graded, because this file name is not expected",
    "fault.notebook-none": "there is no notebook",
    "fault.match-no-list": "there is no class list: no name tells an id",
    "fault.match-several": "{number} students are called so: {students}",
    "fault.match-similar": "did you mean {students}?",
    "fault.match-nobody": "nobody on the class list has a similar name",
    "fault.worksheet-grade": "the worksheet has no column for grades; download it again, with all columns",
    "fault.gradebook-columns": (
        "the gradebook has {number} columns that may be {title}: {columns}; state the whole name of the one "
        'that is meant as the title (--title "{first}")'
    ),
    "fault.grade-maximum": (
        "the platform's maximum is {most}, and the assignment has {possible} points; set the same there, or "
        "convert the points: --scale"
    ),
}
_NAMES: Mapping[str, str] = {
    "fault.name-length": "it has {number} characters; expected 1 to {most}",
    "fault.name-bytes-invalid": "it is not UTF-8",
    "fault.name-invisible": "it holds the invisible character {character}",
    "fault.name-character": "it holds {character}",
    "fault.name-formula": "it begins with {character}, as a spreadsheet's formula does",
    "fault.name-hidden": "it begins with a dot, as hidden folders do",
    "fault.name-space": "it begins or ends with a space",
}
_LISTS: Mapping[str, str] = {
    "fault.list-large": "the list has {size}; at most {most} are read",
    "fault.list-spreadsheet": "this is a spreadsheet or an archive; save the list as CSV",
    "fault.list-columns": (
        "no line names the columns that are needed; known are {columns}; the first line is {line}"
    ),
    "fault.list-bad-id": "line {line}: {name} cannot be an id: {reason}",
    "fault.list-email": "line {line}: {address} is not an e-mail address",
    "fault.list-values": (
        "line {line}: {number} values for {columns} columns; put values that contain “{separator}” in quotes"
    ),
    "fault.list-twice": "line {line}: {name} stands twice in the column {column}",
    "fault.list-no-ids": (
        "no column states an id for everybody (looked at: {columns}). The list needs a column such as id, "
        "student number or login with a value in every row."
    ),
}
_ROWS: Mapping[str, str] = {
    "fault.rows-utf8": "{file}: not UTF-8 (byte {byte}); save the list as UTF-8",
    "fault.rows-line": "{place}: line {line}: not a CSV line",
    "fault.rows-columns": "{file}: expected the columns {columns}, got {given}",
    "fault.rows-semicolons": (
        "{file}: expected the columns {columns}, got {given}; separate values with commas, not semicolons"
    ),
    "fault.rows-values": (
        "{file}: line {line}: expected {number} values, got more; quote a value that holds a comma"
    ),
    "fault.rows-assignment": "{place}: assignment: {name} is not in the course; did you mean {other}?",
    "fault.rows-no-assignment": "{place}: assignment: {name} is not in the course; known are: {others}",
    "fault.groups-name": "{place}: {column}: {name} cannot be a name: {reason}",
    "fault.groups-twice": "{student} stands twice for {assignment}; lines: {places}",
    "fault.sheet-large": "the sheet is too large; at most {most}",
    "fault.sheet-utf8": (
        "not UTF-8 (byte {byte}); save it as “CSV UTF-8”, or in LibreOffice with the character set Unicode "
        "(UTF-8)"
    ),
    "fault.sheet-row": "row {row}",
    "fault.sheet-points": "expected points such as 1.5 or 1,5, got {given}",
    "fault.sheet-of-other": "{row}: is of {other}, not of {assignment}",
    "fault.sheet-foreign": (
        "{row}: not a row that was exported for {assignment} in this course; row and state must stay as they "
        "are"
    ),
    "fault.sheet-same-row": "{rows}: the same row; each may stand once",
    "fault.sheet-out-of-bounds": "{row}: points of {item}: expected {least} to {most}, got {given}",
    "fault.sheet-overlap": "{row}: the answer has another row, {other}; leave one of them",
    "fault.sheet-comments": "the rows of one answer have different comments",
    "fault.sheet-changed": (
        "the answer or its mark has changed since the sheet was written; export it again"
    ),
    "fault.sheet-without-points": (
        "without points: {items}; a mark is of all items that a person decides on, and is changed here, but "
        "not taken away"
    ),
    "fault.sheet-values": "row {row}: expected {number} values, got {given}",
    "fault.sheet-line": "line {line}: not a CSV line",
    "fault.sheet-missing": "columns are missing: {columns}; export the sheet again",
    "fault.sheet-character": "{row}: the {column} holds the character {character}, which cannot be kept",
    "fault.sheet-long": "{row}: a {column} of {number} characters; at most {most}",
    "fault.sheet-twice": "columns stand twice: {columns}; each may stand once",
}
_TIMES: Mapping[str, str] = {
    "fault.time-years": "a time is outside of the years 1 to 9999",
    "fault.time-after": "{end} is not after the start, {start}",
    "fault.time-short": "{length} from start to end, but the rubric allows {needed}",
    "fault.time-none": "expected start, end, or both; neither is stated",
    "fault.time-end": "is needed, since the rubric states no working time",
    "fault.time-end-of-one": "is needed beside start, since no common start says how long all have",
    "fault.time-minutes": "{minutes} are fewer than the rubric allows: {needed}",
    "fault.time-both": "state either an end or extra minutes, not both",
    "fault.time-no-zone": "{moment} has no zone; state a zone such as Europe/Berlin, or an offset",
    "fault.time-zone": "the zone {zone} cannot be told; expected UTC, or a name such as Europe/Berlin",
    "fault.time-skipped": "the hour of {moment} does not exist in {zone}; state the offset from UTC",
    "fault.time-doubled": "the hour of {moment} happens twice in {zone}; state the offset from UTC",
    "fault.time-no-group": "there is no such group; known are: {groups}",
    "fault.time-twice": "stands twice; each may stand once",
    "fault.late-penalty": "state a penalty, since late attempts cost points",
    "fault.penalty-way": "state either points per day, per hour, or steps",
    "fault.penalty-amount": "expected numbers above 0, got {given}",
    "fault.penalty-floor": "the minimum that remains: expected a number from 0 on, got {given}",
    "fault.penalty-percent": "expected at most 100 percent, got {given}",
    "fault.penalty-steps": "each step must come later than the one before, and take more",
}
_SIMILARITY: Mapping[str, str] = {
    "fault.alike-failed": "not compared: {error}",
    "fault.alike-part": "there is too much of it; only a part was compared",
    "fault.alike-release": "compared with the common release: {reason}",
    "fault.alike-unread": "{file} is not compared: {reason}",
}
_VERSIONS: Mapping[str, str] = {
    "fault.version-secret": (
        "{folder}: its secret is not that of the course {course} in the database; variants and hidden inputs "
        "would differ"
    ),
    "fault.version-unreleased": "{folder}: not released yet; run: autograder generate {assignment}",
    "fault.version-large": "{assignment}: its files are larger than {most} in total",
    "fault.version-changed": "{assignment}: its files were changed during the import; import it again",
    "fault.version-lacks": "version {number} of {assignment} has no {file}",
    "fault.version-unreadable": "{file}: cannot be read: {error}",
    "fault.version-outside": "version {number}: {file} is not a path inside a course",
}

SENTENCES: Mapping[str, str] = {
    **_NOTEBOOKS,
    **_FILES,
    **_ARCHIVES,
    **_COLLECTING,
    **_NAMES,
    **_LISTS,
    **_ROWS,
    **_TIMES,
    **_SIMILARITY,
    **_VERSIONS,
}
