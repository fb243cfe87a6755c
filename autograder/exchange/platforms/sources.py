"""Find submissions in one download or folder: the student of each file, and the submission time."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

import yaml
from msgspec import Struct
from msgspec.structs import replace

from autograder.core.errors import SourceError
from autograder.core.tables import escape_name
from autograder.core.wording import Phrase
from autograder.course.archives import PackedFile, RefusedFile, SourceFiles, refuse_file
from autograder.exchange.platforms import filename_patterns, worksheets
from autograder.exchange.platforms.filename_patterns import CollectSettings, NamedFile
from autograder.exchange.platforms.student_matching import Identification
from autograder.exchange.platforms.worksheets import WorksheetRow
from autograder.messages import build_localised_text
from autograder.rubric.timestamps import FILE_NAME as STAMP
from autograder.rubric.timestamps import parse_moment

Named = Sequence[tuple[NamedFile, PackedFile]]
"""Files, each with what its name says."""
_MOST_WRAPPING = 3
_MOST_STAMP = 200
_OFFSET = re.compile(r"\+[0-9]{1,2}(:?[0-9]{2})?(\+|$)")
"""Offset from UTC in the name of an exchange folder, in which ``+`` also separates the parts."""
_SAKAI_FOLDER = re.compile(r"/Submission attachment\(s\)/|/[^/]*_submissionText\.html$")
_BLIND = re.compile(r"(?:Participant|Teilnehmer(?:[ _/]?in)?|Participante|Partecipante|Deelnemer)( [0-9]+)?")
"""Moodle's names for people with blind marking, in some of its languages."""

METADATA_FILE = "submission_metadata.yml"
MOST_METADATA = 32 << 20
_MOST_SUBMITTERS = 50


class GradescopeSubmission(Struct, frozen=True):
    """One submission of an export."""

    submitters: tuple[Identification, ...]
    """One student, or all of a group."""
    moment: datetime | None


def _read_metadata(data: bytes) -> dict[str, GradescopeSubmission]:
    """Return the submissions by the names of their folders.

    Raises:
        SourceError: Gradescope does not write such a file.
    """
    # The C loader is much faster, but not in every build of PyYAML.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        content: Any = yaml.load(data, Loader=loader)  # noqa: S506 - both are safe loaders: plain data alone
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise SourceError(
            build_localised_text("fault.metadata-yaml", file=METADATA_FILE, error=str(error)[:200])
        ) from error
    if not isinstance(content, Mapping):
        raise SourceError(
            build_localised_text("fault.metadata-table", file=METADATA_FILE, given=type(content).__name__)
        )
    return {str(key): _read_submission(value) for key, value in content.items() if isinstance(value, Mapping)}


def _read_submission(record: Mapping[Any, Any]) -> GradescopeSubmission:
    """Read one submission."""
    listed = _get_value(record, "submitters")
    people = listed[:_MOST_SUBMITTERS] if isinstance(listed, Sequence) and not isinstance(listed, str) else ()
    submitters = tuple(
        Identification(_get_text(person, "sid"), _get_text(person, "name"), _get_text(person, "email"))
        for person in people
        if isinstance(person, Mapping)
    )
    return GradescopeSubmission(submitters, _parse_moment(_get_value(record, "created_at")))


def _get_value(record: Mapping[Any, Any], name: str) -> Any:
    """Return a value; Ruby writes its symbols with a colon before them."""
    return record.get(f":{name}", record.get(name))


def _get_text(record: Mapping[Any, Any], name: str) -> str:
    """Return a value as text; empty if it is neither text nor number."""
    value = _get_value(record, name)
    return str(value).strip() if isinstance(value, str | int) else ""


def _parse_moment(value: Any) -> datetime | None:
    """Return a time in UTC; None if it cannot be read."""
    if isinstance(value, datetime):
        # YAML parses some times itself; those without offset are in UTC by its specification.
        return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    try:
        return parse_moment(value) if isinstance(value, str) else None
    except (ValueError, OverflowError):
        return None


class AnonymityRule(Struct, frozen=True, eq=False):
    """How a platform names people with hidden identities."""

    names: re.Pattern[str]
    hint: str
    """Code of the advice for staff."""


_ANONYMOUS: Mapping[str, AnonymityRule] = {
    "moodle": AnonymityRule(
        _BLIND,
        "fault.moodle-blind",
    ),
    "canvas": AnonymityRule(
        re.compile(r"anon_.*"),
        "fault.canvas-anonymous",
    ),
}


class WantedAttempts(Struct, frozen=True, eq=False):
    """Criteria of the search."""

    assignment: str
    other_assignments: frozenset[str]
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
    identities: tuple[Identification, ...]
    """One student, or all of a group."""
    files: Mapping[str, PackedFile]
    """By path among the submitted files."""
    moment: datetime | None = None
    late: bool = False
    """The platform marks it as late."""
    hint: Phrase = ""
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
    metadata = [packed for packed in listing.entries if PurePosixPath(packed.path).name == METADATA_FILE]
    if wanted.platform == filename_patterns.GRADESCOPE or (metadata and not wanted.platform):
        return _read_gradescope(listing, metadata)
    paths = [packed.path for packed in listing.entries]
    pattern = filename_patterns.choose_pattern(paths, wanted.settings.pattern, wanted.platform, wanted.knows)
    if pattern is None:
        return _read_folders(listing, wanted)
    zone = wanted.settings.get_zone()
    named, faults = [], [*listing.refused]
    for entry in listing.entries:
        named_file = filename_patterns.read_name(pattern, entry.path, zone)
        fault: Phrase = ""
        if named_file is None and not filename_patterns.is_platform_file(pattern, entry.path):
            fault = build_localised_text("fault.platform-name", platform=pattern.name)
        elif named_file is not None and pattern.name == "exchange":
            named_file, fault = _read_exchange(named_file, entry, wanted)
        if fault:
            faults.append(refuse_file(entry.path, fault))
        elif named_file is not None and named_file.assignment in {"", wanted.assignment}:
            named.append((named_file, entry))
    identified = _complete_identities(pattern.name, named, listing, wanted)
    return SourceContents(
        pattern.name, _group_attempts(identified, _ANONYMOUS.get(pattern.name)), tuple(faults)
    )


def _read_exchange(
    named_file: NamedFile, entry: PackedFile, wanted: WantedAttempts
) -> tuple[NamedFile | None, Phrase]:
    """Split ``<student>+<assignment>`` if either contains a ``+``; return also why it is refused, if it is.

    The course's own assignments determine where the student's name ends.
    """
    if _OFFSET.search(named_file.attempt):
        return named_file, build_localised_text("fault.exchange-offset")
    parts = f"{named_file.identity.id}+{named_file.assignment}".split("+")
    heads = [("+".join(parts[:position]), "+".join(parts[position:])) for position in range(1, len(parts))]
    known_splits = [head for head in heads if head[1] in {wanted.assignment, *wanted.other_assignments}]
    # Without a known assignment any split is possible; several make the name ambiguous.
    fitting = known_splits or heads
    if len(fitting) > 1:
        options = " | ".join(f"{student!a} + {name!a}" for student, name in fitting)
        return named_file, build_localised_text("fault.exchange-plus", options=options)
    student, assignment = fitting[0]
    named_file = replace(named_file, identity=replace(named_file.identity, id=student), assignment=assignment)
    fault = _find_owner_fault(entry, named_file.identity, wanted) if assignment == wanted.assignment else ""
    return None if named_file.file == STAMP else named_file, fault  # the folder's name states the time


def _complete_identities(
    platform: str, named: Named, listing: SourceFiles, wanted: WantedAttempts
) -> list[tuple[NamedFile, PackedFile]]:
    """Complete people and times from names with the platform's other data."""
    if platform == "moodle":
        named = [(_apply_worksheet(named_file, wanted), entry) for named_file, entry in named]
    elif platform == "blackboard":
        named = [(_strip_title(named_file, wanted), entry) for named_file, entry in named]
    elif platform == "sakai":
        moments = _read_sakai_moments(listing)
        named = [
            (replace(named_file, moment=moments.get(_SAKAI_FOLDER.split(entry.path)[0])), entry)
            for named_file, entry in named
        ]
    return _keep_apart(named) if platform in {"moodle", "brightspace"} else list(named)


def _strip_title(named_file: NamedFile, wanted: WantedAttempts) -> NamedFile:
    """Remove the assignment's title, which Blackboard puts before the login; both may contain ``_``."""
    parts = named_file.identity.login.split("_")
    ends = ["_".join(parts[position:]) for position in range(len(parts))]
    # The longest ending that is a known student wins.
    login = next((end for end in ends if wanted.knows(end)), ends[-1])
    return replace(named_file, identity=replace(named_file.identity, login=login))


def _read_sakai_moments(listing: SourceFiles) -> dict[str, datetime]:
    """Return the submission times: Sakai puts timestamp.txt next to the folder with the student's files."""
    moments: dict[str, datetime] = {}
    for entry in listing.entries:
        folder, _, name = entry.path.rpartition("/")
        if name == STAMP and not _SAKAI_FOLDER.search(entry.path):
            moments |= _read_stamp(folder, entry)
    return moments


def _keep_apart(named: Named) -> list[tuple[NamedFile, PackedFile]]:
    """Keep participants of one name apart, and drop the platform's numbers, which no class list contains.

    Several participants with one name cannot be identified by the name: a submission of one must not become
    another's. With blind marking all of them are called *Participant*.
    """
    numbers: dict[str, set[str]] = {}
    for named_file, _ in named:
        numbers.setdefault(named_file.identity.name, set()).add(named_file.identity.number)
    separated = []
    for named_file, entry in named:
        name, number = named_file.identity.name, named_file.identity.number
        if number and (len(numbers[name]) > 1 or _BLIND.fullmatch(name)):
            name = f"{name} {number}"
        separated.append(
            (replace(named_file, identity=replace(named_file.identity, name=name, number="")), entry)
        )
    return separated


def _find_owner_fault(entry: PackedFile, identity: Identification, wanted: WantedAttempts) -> Phrase:
    """Return why an exchange folder is not the named student's: every user can write there."""
    if wanted.any_owner or entry.owner < 0:
        return ""
    try:
        # Does not exist on Windows.
        import pwd

        account = pwd.getpwuid(entry.owner).pw_name
    except (ImportError, KeyError):
        account = str(entry.owner)
    if account == identity.id:
        return ""
    return build_localised_text("fault.exchange-owner", account=account, student=identity.id)


def _apply_worksheet(named_file: NamedFile, wanted: WantedAttempts) -> NamedFile:
    """Complete a participant by the worksheet's data."""
    row = wanted.participants.get(named_file.identity.number)
    if row is None:
        return named_file
    moment = worksheets.parse_moment(row.handed_in, wanted.settings.get_zone())
    name = row.identity.name or named_file.identity.name
    # With an id the number adds nothing; without one it keeps participants of one name apart.
    is_identified = row.identity.id or row.identity.login or row.identity.email
    number = "" if is_identified else named_file.identity.number
    return replace(named_file, identity=replace(row.identity, name=name, number=number), moment=moment)


def _group_attempts(named: Named, anonymous: AnonymityRule | None = None) -> tuple[FoundAttempt, ...]:
    """Group files by student and attempt. Of files with the same name the newest is used.

    Args:
        named: files with the information in their names.
        anonymous: how the platform names people with hidden identities.
    """
    groups: dict[tuple[Identification, str], dict[str, tuple[NamedFile, PackedFile]]] = {}
    for named_file, entry in named:
        files = groups.setdefault((named_file.identity, named_file.attempt), {})
        there = files.get(named_file.file)
        if there is None or _get_order(named_file) > _get_order(there[0]):
            files[named_file.file] = (named_file, entry)
    attempts = []
    for (identity, _), files in groups.items():
        names = [item for item, _ in files.values()]
        moment = max((item.moment for item in names if item.moment), default=None)
        late = any(item.late for item in names)
        entries = {name: entry for name, (_, entry) in files.items()}
        hidden = anonymous and anonymous.names.fullmatch(identity.name)
        hint = build_localised_text(anonymous.hint) if anonymous and hidden else ""
        attempt = FoundAttempt(identity.label, (identity,), entries, moment, late, hint)
        # Sorted by student, then by time, so that the order of files in an archive has no influence.
        attempts.append((attempt, (attempt.label, *max(map(_get_order, names)), names[0].attempt)))
    attempts.sort(key=lambda item: item[1])
    return tuple(item for item, _ in attempts)


def _get_order(named_file: NamedFile) -> tuple[bool, float]:
    """Return a sort key: files without a time, or with one of an unknown clock, come first."""
    moment = named_file.moment or named_file.shown
    clock = moment.replace(tzinfo=moment.tzinfo or UTC).timestamp() if moment else 0.0
    return named_file.moment is not None, clock


def _read_gradescope(listing: SourceFiles, metadata: list[PackedFile]) -> SourceContents:
    """Read the attempts of an export by Gradescope."""
    submission_by_folder: dict[str, GradescopeSubmission] = {}
    for item in metadata:
        submission_by_folder |= _read_metadata(item.read(MOST_METADATA))
    files: dict[str, dict[str, PackedFile]] = {}
    faults = [*listing.refused]
    for entry in listing.entries:
        parts = entry.path.split("/")
        # The export may have further folders around those of submissions.
        position = next(
            (number for number, part in enumerate(parts[:-1]) if part.startswith("submission_")), -1
        )
        if position >= 0:
            files.setdefault(parts[position], {})["/".join(parts[position + 1 :])] = entry
        elif entry not in metadata:
            faults.append(refuse_file(entry.path, build_localised_text("fault.gradescope-folder")))
    attempts = []
    for folder, inside in files.items():
        submission = submission_by_folder.get(folder)
        people = submission.submitters if submission else ()
        label = ", ".join(item.label for item in people) or folder
        attempts.append(
            FoundAttempt(
                label,
                people or (Identification(name=folder),),
                inside,
                submission.moment if submission else None,
            )
        )
    attempts.sort(key=lambda item: (item.label, item.moment.timestamp() if item.moment else 0.0))
    return SourceContents(filename_patterns.GRADESCOPE, tuple(attempts), tuple(faults))


def _read_folders(listing: SourceFiles, wanted: WantedAttempts) -> SourceContents:
    """Read folders or files named after students: ``ada/warmup.ipynb``, ``ada/warmup/…``, ``ada.zip``."""
    wrapping = _find_wrapping([item.path for item in listing.entries], wanted.knows)
    believed = wanted.platform == filename_patterns.NBGRADER
    named: list[tuple[NamedFile, PackedFile]] = []
    faults = [*listing.refused]
    moments: dict[str, datetime] = {}
    for entry in listing.entries:
        if not entry.path.startswith(wrapping):
            reason = build_localised_text("fault.outside-wrapping", folder=ascii(wrapping))
            faults.append(refuse_file(entry.path, reason))
            continue
        who, inside, file = entry.path[len(wrapping) :].partition("/")
        if not inside:
            named.append((NamedFile(Identification(PurePosixPath(who).stem), who), entry))
            continue
        first, _, inner_path = file.partition("/")
        if first in wanted.other_assignments and inner_path:
            continue
        file = inner_path if first == wanted.assignment and inner_path else file
        # A timestamp decides about lateness, so it is only trusted where students cannot write.
        if file != STAMP:
            named.append((NamedFile(Identification(who), file), entry))
        elif believed and inner_path:
            moments |= _read_stamp(who, entry)
        else:
            reason = build_localised_text("fault.stamp-by-student")
            faults.append(refuse_file(entry.path, reason))
    timed = [(replace(item, moment=moments.get(item.identity.id)), entry) for item, entry in named]
    return SourceContents(wanted.platform or filename_patterns.FOLDERS, _group_attempts(timed), tuple(faults))


def _read_stamp(who: str, entry: PackedFile) -> dict[str, datetime]:
    """Return the time in a timestamp file; empty if it cannot be read."""
    # A real timestamp is short; a student's file of this name may be anything.
    if entry.size > _MOST_STAMP:
        return {}
    try:
        text = entry.read(_MOST_STAMP).decode("utf-8", "replace").strip()
        # Older versions of Sakai write digits alone: 20260212133400000.
        return {who: parse_moment(re.sub(r"^([0-9]{8})([0-9]{6})[0-9]{3}$", r"\1T\2", text))}
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


def format_source_name(place: Path) -> str:
    """Return the name of a source in reports."""
    return escape_name(place.name or str(place))
