"""Find submissions in one download or folder: the student of each file, and the submission time."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from msgspec import Struct
from msgspec.structs import replace

from autograder.course.archives import PackedFile, RefusedFile, SourceFiles, refused
from autograder.platforms import gradescope, patterns, worksheets
from autograder.platforms.patterns import CollectSettings, NamedFile
from autograder.platforms.people import Naming
from autograder.platforms.worksheets import WorksheetRow
from autograder.tables import printable_name
from autograder.timestamps import FILE_NAME as STAMP
from autograder.timestamps import moment_of

Named = Sequence[tuple[NamedFile, PackedFile]]
"""Files, each with what its name says."""
_MOST_WRAPPING = 3
_MOST_STAMP = 200
_OFFSET = re.compile(r"\+[0-9]{1,2}(:?[0-9]{2})?(\+|$)")
"""Offset from UTC in the name of an exchange folder, in which ``+`` also separates the parts."""
_SAKAI_FOLDER = re.compile(r"/Submission attachment\(s\)/|/[^/]*_submissionText\.html$")
_BLIND = re.compile(r"(?:Participant|Teilnehmer(?:[ _/]?in)?|Participante|Partecipante|Deelnemer)( [0-9]+)?")
"""Moodle's names for people with blind marking, in some of its languages."""


class Anonymous(Struct, frozen=True, eq=False):
    """How a platform names people with hidden identities."""

    names: re.Pattern[str]
    hint: str
    """Advice for staff."""


_ANONYMOUS: Mapping[str, Anonymous] = {
    "moodle": Anonymous(
        _BLIND,
        "blind marking hides who it is; reveal the identities in Moodle, and download the files or the "
        "worksheet (--worksheet) again",
    ),
    "canvas": Anonymous(
        re.compile(r"anon_.*"),
        "anonymous grading hides who it is; turn it off in Canvas, and download the files again",
    ),
}


class WantedAttempts(Struct, frozen=True, eq=False):
    """Criteria of the search."""

    assignment: str
    others: frozenset[str]
    """The course's other assignments; their folders are skipped."""
    knows: Callable[[str], bool]
    """Whether a folder of this name belongs to a student."""
    settings: CollectSettings = CollectSettings()
    platform: str = ""
    """Platform that staff chose; empty: it is detected."""
    participants: Mapping[str, WorksheetRow] = {}
    """Rows of Moodle's worksheet, by number."""
    any_owner: bool = False
    """Accept any owner of an exchange folder: its name identifies the student."""


class FoundAttempt(Struct, frozen=True, eq=False):
    """One submission of one student or group."""

    label: str
    """Student according to the names of the files."""
    identities: tuple[Naming, ...]
    """One student, or all of a group."""
    files: Mapping[str, PackedFile]
    """By path among the submitted files."""
    moment: datetime | None = None
    late: bool = False
    """The platform marks it as late."""
    hint: str = ""
    """Why the platform's names do not identify the student, and what to do; empty: they do."""


class SourceContents(Struct, frozen=True, eq=False):
    """All attempts of an assignment in one download or folder."""

    platform: str
    """Platform of the file names."""
    attempts: tuple[FoundAttempt, ...]
    """Each student's earlier ones first."""
    refused: tuple[RefusedFile, ...]


def read_source(listing: SourceFiles, wanted: WantedAttempts) -> SourceContents:
    """Find the attempts of an assignment among the files of a download or folder.

    Raises:
        CourseError: the chosen platform is not known, or a pattern takes too long.
        SourceError: Gradescope's metadata cannot be read.
    """
    metadata = [one for one in listing.entries if PurePosixPath(one.path).name == gradescope.FILE_NAME]
    if wanted.platform == patterns.GRADESCOPE or (metadata and not wanted.platform):
        return _of_gradescope(listing, metadata)
    paths = [one.path for one in listing.entries]
    pattern = patterns.choose(paths, wanted.settings.pattern, wanted.platform, wanted.knows)
    if pattern is None:
        return _of_folders(listing, wanted)
    zone = wanted.settings.clock()
    named, faults = [], [*listing.refused]
    for entry in listing.entries:
        found, fault = patterns.read_name(pattern, entry.path, zone), ""
        if found is None and not patterns.is_platform_file(pattern, entry.path):
            fault = f"its name is none of a download of {pattern.name}"
        elif found is not None and pattern.name == "exchange":
            found, fault = _read_exchange(found, entry, wanted)
        if fault:
            faults.append(refused(entry.path, fault))
        elif found is not None and found.assignment in {"", wanted.assignment}:
            named.append((found, entry))
    identified = _identify(pattern.name, named, listing, wanted)
    return SourceContents(pattern.name, _grouped(identified, _ANONYMOUS.get(pattern.name)), tuple(faults))


def _read_exchange(
    found: NamedFile, entry: PackedFile, wanted: WantedAttempts
) -> tuple[NamedFile | None, str]:
    """Split ``<student>+<assignment>`` if either contains a ``+``; return also why it is refused, if it is.

    The course's own assignments determine where the student's name ends.
    """
    if _OFFSET.search(found.attempt):
        return found, "its time has an offset from UTC behind a +, and so nobody can say when it was"
    parts = f"{found.identity.id}+{found.assignment}".split("+")
    heads = [("+".join(parts[:at]), "+".join(parts[at:])) for at in range(1, len(parts))]
    known = [one for one in heads if one[1] in {wanted.assignment, *wanted.others}]
    # Without a known assignment any split is possible; several make the name ambiguous.
    fitting = known or heads
    if len(fitting) > 1:
        told = " or ".join(f"{student!a} and {name!a}" for student, name in fitting)
        return found, f"its + do not tell student and assignment apart ({told}); rename the folder"
    student, assignment = fitting[0]
    found = replace(found, identity=replace(found.identity, id=student), assignment=assignment)
    fault = _owner_fault(entry, found.identity, wanted) if assignment == wanted.assignment else ""
    return None if found.file == STAMP else found, fault  # the folder's name states the time


def _identify(
    platform: str, named: Named, listing: SourceFiles, wanted: WantedAttempts
) -> list[tuple[NamedFile, PackedFile]]:
    """Complete people and times from names with the platform's other data."""
    if platform == "moodle":
        named = [(_known_to_moodle(found, wanted), entry) for found, entry in named]
    elif platform == "blackboard":
        named = [(_without_title(found, wanted), entry) for found, entry in named]
    elif platform == "sakai":
        moments = _sakai_moments(listing)
        named = [
            (replace(found, moment=moments.get(_SAKAI_FOLDER.split(entry.path)[0])), entry)
            for found, entry in named
        ]
    return _told_apart(named) if platform in {"moodle", "brightspace"} else list(named)


def _without_title(found: NamedFile, wanted: WantedAttempts) -> NamedFile:
    """Remove the assignment's title, which Blackboard puts before the login; both may contain ``_``."""
    parts = found.identity.login.split("_")
    ends = ["_".join(parts[at:]) for at in range(len(parts))]
    # The longest ending that is a known student wins.
    login = next((end for end in ends if wanted.knows(end)), ends[-1])
    return replace(found, identity=replace(found.identity, login=login))


def _sakai_moments(listing: SourceFiles) -> dict[str, datetime]:
    """Return the submission times: Sakai puts timestamp.txt next to the folder with the student's files."""
    moments: dict[str, datetime] = {}
    for entry in listing.entries:
        folder, _, name = entry.path.rpartition("/")
        if name == STAMP and not _SAKAI_FOLDER.search(entry.path):
            moments |= _stamp(folder, entry)
    return moments


def _told_apart(named: Named) -> list[tuple[NamedFile, PackedFile]]:
    """Keep participants of one name apart, and drop the platform's numbers, which no class list contains.

    Several participants with one name cannot be identified by the name: a submission of one must not become
    another's. With blind marking all of them are called *Participant*.
    """
    numbers: dict[str, set[str]] = {}
    for found, _ in named:
        numbers.setdefault(found.identity.name, set()).add(found.identity.number)
    told = []
    for found, entry in named:
        name, number = found.identity.name, found.identity.number
        if number and (len(numbers[name]) > 1 or _BLIND.fullmatch(name)):
            name = f"{name} {number}"
        told.append((replace(found, identity=replace(found.identity, name=name, number="")), entry))
    return told


def _owner_fault(entry: PackedFile, identity: Naming, wanted: WantedAttempts) -> str:
    """Return why an exchange folder is not the named student's: every user can write there."""
    if wanted.any_owner or entry.owner < 0:
        return ""
    try:
        # Does not exist on Windows.
        import pwd

        account = pwd.getpwuid(entry.owner).pw_name
    except (ImportError, KeyError):
        account = f"number {entry.owner}"
    if account == identity.id:
        return ""
    return f"it belongs to the account {account}, not to {identity.id}; --any-owner takes it all the same"


def _known_to_moodle(found: NamedFile, wanted: WantedAttempts) -> NamedFile:
    """Complete a participant by the worksheet's data."""
    row = wanted.participants.get(found.identity.number)
    if row is None:
        return found
    moment = worksheets.moment_said(row.handed_in, wanted.settings.clock())
    name = row.identity.name or found.identity.name
    # With an id the number adds nothing; without one it keeps participants of one name apart.
    known = row.identity.id or row.identity.login or row.identity.email
    number = "" if known else found.identity.number
    return replace(found, identity=replace(row.identity, name=name, number=number), moment=moment)


def _grouped(named: Named, anonymous: Anonymous | None = None) -> tuple[FoundAttempt, ...]:
    """Group files by student and attempt. Of files with the same name the newest is used.

    Args:
        named: files with the information in their names.
        anonymous: how the platform names people with hidden identities.
    """
    groups: dict[tuple[Naming, str], dict[str, tuple[NamedFile, PackedFile]]] = {}
    for found, entry in named:
        files = groups.setdefault((found.identity, found.attempt), {})
        there = files.get(found.file)
        if there is None or _order(found) > _order(there[0]):
            files[found.file] = (found, entry)
    attempts = []
    for (identity, _), files in groups.items():
        names = [one for one, _ in files.values()]
        moment = max((one.moment for one in names if one.moment), default=None)
        late = any(one.late for one in names)
        entries = {name: entry for name, (_, entry) in files.items()}
        hint = anonymous.hint if anonymous and anonymous.names.fullmatch(identity.name) else ""
        attempt = FoundAttempt(identity.label, (identity,), entries, moment, late, hint)
        # Sorted by student, then by time, so that the order of files in an archive has no influence.
        attempts.append((attempt, (attempt.label, *max(map(_order, names)), names[0].attempt)))
    attempts.sort(key=lambda one: one[1])
    return tuple(one for one, _ in attempts)


def _order(one: NamedFile) -> tuple[bool, float]:
    """Return a sort key: files without a time, or with one of an unknown clock, come first."""
    moment = one.moment or one.shown
    clock = moment.replace(tzinfo=moment.tzinfo or UTC).timestamp() if moment else 0.0
    return one.moment is not None, clock


def _of_gradescope(listing: SourceFiles, metadata: list[PackedFile]) -> SourceContents:
    """Read the attempts of an export by Gradescope."""
    stated: dict[str, gradescope.GradescopeSubmission] = {}
    for one in metadata:
        stated |= gradescope.read_metadata(one.read(gradescope.MOST_BYTES))
    files: dict[str, dict[str, PackedFile]] = {}
    faults = [*listing.refused]
    for entry in listing.entries:
        parts = entry.path.split("/")
        # The export may have further folders around those of submissions.
        at = next((number for number, part in enumerate(parts[:-1]) if part.startswith("submission_")), -1)
        if at >= 0:
            files.setdefault(parts[at], {})["/".join(parts[at + 1 :])] = entry
        elif entry not in metadata:
            faults.append(refused(entry.path, "it lies in no folder of a submission"))
    attempts = []
    for folder, inside in files.items():
        known = stated.get(folder)
        people = known.submitters if known else ()
        label = " and ".join(one.label for one in people) or folder
        attempts.append(
            FoundAttempt(label, people or (Naming(name=folder),), inside, known.moment if known else None)
        )
    attempts.sort(key=lambda one: (one.label, one.moment.timestamp() if one.moment else 0.0))
    return SourceContents(patterns.GRADESCOPE, tuple(attempts), tuple(faults))


def _of_folders(listing: SourceFiles, wanted: WantedAttempts) -> SourceContents:
    """Read folders or files named after students: ``ada/warmup.ipynb``, ``ada/warmup/…``, ``ada.zip``."""
    wrapping = _find_wrapping([one.path for one in listing.entries], wanted.knows)
    believed = wanted.platform == patterns.NBGRADER
    named: list[tuple[NamedFile, PackedFile]] = []
    faults = [*listing.refused]
    moments: dict[str, datetime] = {}
    for entry in listing.entries:
        if not entry.path.startswith(wrapping):
            faults.append(
                refused(entry.path, f"it lies outside of {wrapping!a}, where the students' files are")
            )
            continue
        who, inside, file = entry.path[len(wrapping) :].partition("/")
        if not inside:
            named.append((NamedFile(Naming(PurePosixPath(who).stem), who), entry))
            continue
        first, _, rest = file.partition("/")
        if first in wanted.others and rest:
            continue
        file = rest if first == wanted.assignment and rest else file
        # A timestamp decides about lateness, so it is only trusted where students cannot write.
        if file != STAMP:
            named.append((NamedFile(Naming(who), file), entry))
        elif believed and rest:
            moments |= _stamp(who, entry)
        else:
            told = "a student may have written it; --from nbgrader believes it in <student>/<assignment>/"
            faults.append(refused(entry.path, told))
    timed = [(replace(one, moment=moments.get(one.identity.id)), entry) for one, entry in named]
    return SourceContents(wanted.platform or patterns.FOLDERS, _grouped(timed), tuple(faults))


def _stamp(who: str, entry: PackedFile) -> dict[str, datetime]:
    """Return the time in a timestamp file; empty if it cannot be read."""
    # A real timestamp is short; a student's file of this name may be anything.
    if entry.size > _MOST_STAMP:
        return {}
    try:
        text = entry.read(_MOST_STAMP).decode("utf-8", "replace").strip()
        # Older versions of Sakai write digits alone: 20260212133400000.
        return {who: moment_of(re.sub(r"^([0-9]{8})([0-9]{6})[0-9]{3}$", r"\1T\2", text))}
    except (ValueError, OverflowError):
        return {}


def _find_wrapping(paths: Sequence[str], knows: Callable[[str], bool]) -> str:
    """Return the folder around the students' own, as archives often have one; empty if there is none.

    It is the folder in which most names are students. A student's folder is never searched: its content is
    the student's choice.
    """
    students: dict[str, set[str]] = {"": set()}
    for path in paths:
        wrapping = ""
        for name in path.split("/")[: _MOST_WRAPPING + 1]:
            if knows(PurePosixPath(name).stem):
                students.setdefault(wrapping, set()).add(name)
                break
            wrapping += f"{name}/"
    return max(students, key=lambda wrapping: len(students[wrapping]))


def source_name(place: Path) -> str:
    """Return the name of a source in reports."""
    return printable_name(place.name or str(place))
