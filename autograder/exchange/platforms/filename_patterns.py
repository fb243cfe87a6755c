"""Names of files in a platform's download, and how a course states its own in ``collect.toml``.

zone = "Europe/Berlin"

[[pattern]]
name = "portal"
path = '(?P<id>s[0-9]+)_(?P<time>[0-9]{8}T[0-9]{6})/(?P<file>.+)'
time = "%Y%m%dT%H%M%S"

[students]
"Ada King" = "s1001"
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from pathlib import Path, PurePosixPath
from typing import Any

import regex
from msgspec import Struct

from autograder.core import tables
from autograder.core.errors import CourseError, RubricError
from autograder.exchange.platforms import worksheets
from autograder.exchange.platforms.student_matching import Identification
from autograder.messages import build_localised_text
from autograder.rubric import timestamps

GROUPS = (
    "id",
    "name",
    "first",
    "last",
    "email",
    "login",
    "number",
    "time",
    "late",
    "attempt",
    "assignment",
    "file",
)
"""Possible named groups of a pattern; one of the first seven and ``file`` are required."""
_WHO = frozenset(GROUPS[:7])
IN_WORDS = "words"
_SECONDS = 1.0
"""Time limit for one name; a pattern that needs longer backtracks without end."""


class NamePattern(Struct, frozen=True):
    """Names of the files in one platform's download. TOML: ``[[pattern]]``."""

    name: str
    path: str
    """Regular expression for the complete path of a file, with the groups of `GROUPS`."""
    time: str = ""
    """Format of ``time`` (strptime); ``words``: with the month in words, as in ``Feb 12, 2026 1020 AM``;
    default: a date and a time, with or without a zone."""


class CollectSettings(Struct, frozen=True):
    """A course's settings for collecting. TOML: ``collect.toml``."""

    zone: str = ""
    """Zone of the platform's clock, for times without one."""
    pattern: tuple[NamePattern, ...] = ()
    students: Mapping[str, str] = {}
    """Text in names or lists → id of the student."""

    def get_zone(self) -> tzinfo | None:
        """Return the zone; None if none is stated."""
        return timestamps.get_zone(self.zone) if self.zone else None


_SAKAI_FILES = (
    r"grades\.(?:csv|xlsx?)|timestamp\.txt|comments\.txt|feedbackText\.html|Feedback Attachment\(s\)/.*"
)
"""Files that Sakai adds to a download, inside or next to a student's folder."""
PLATFORMS = (
    NamePattern(
        "moodle",
        r"(?:.*?/)??(?P<name>[^/_]+)_(?P<number>[0-9]+)_assignsubmission_(?:file|onlinetext)(?:_/|/|_)(?P<file>.+)",
    ),
    NamePattern(
        "exchange",
        r"(?:.*?/)??(?P<id>[^/]+)\+(?P<assignment>[^/+]+)\+"
        r"(?P<attempt>(?P<time>[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8}[^/+]*)(?:\+[^/]*)?)/(?P<file>.+)",
    ),
    NamePattern(
        "brightspace",
        r"(?:.*?/)??(?P<number>[0-9]+)-[0-9]+ *- *(?P<name>[^/]+?) *- *"
        r"(?P<time>[^/-]*[0-9]{4},? [0-9]{3,4}(?: ?[AaPp]\.?[Mm]\.?)?)(?:/| *- *)(?P<file>.+)",
        IN_WORDS,
    ),
    NamePattern(
        "blackboard",
        # The word between login and time is "attempt" in the language of the platform.
        r"(?:.*?/)??(?:(?P<login>[^/]+?)_[^/_0-9]+_(?P<time>[0-9]{4}(?:-[0-9]{2}){5})_(?P<file>[^/]+)"
        r"|(?P<file>(?P<login>[^/]+?)_[^/_0-9]+_(?P<time>[0-9]{4}(?:-[0-9]{2}){5})\.txt))",
        "%Y-%m-%d-%H-%M-%S",
    ),
    NamePattern(
        "sakai",
        r"(?:.*?/)??(?:(?P<name>[^/(]+)(?:\((?P<login>[^/()]+)\))?"
        r"(?:[/_]Submission attachment\(s\)[/_](?P<file>.+)"
        r"|(?:/(?P=name)[^/]*)?_+(?P<file>submissionText\.html))"
        # Without the folder of attachments only "Last, First(login)" tells Sakai's folders from others.
        r"|(?P<name>[^/]+,[^/]*[^/ ])\((?P<login>[^/()]+)\)/"
        rf"(?!(?:{_SAKAI_FILES})$)(?P<file>.+))",
    ),
    NamePattern(
        "ilias",
        r"(?:.*?/)??(?P<last>[^/_]+)_(?P<first>[^/_]+)_(?P<login>[^/]+?)_(?P<number>[0-9]+)/"
        r"(?:(?P<time>[0-9]{14})_)?(?P<file>.+)",
        "%Y%m%d%H%M%S",
    ),
    NamePattern(
        "canvas",
        r"(?:.*?/)??(?:(?P<name>anon_[A-Za-z0-9]+)_(?:(?P<late>LATE)_)?[0-9]+"
        r"|(?P<name>[^/_]+)_(?:(?P<late>LATE)_)?(?P<number>[0-9]+)_[0-9]+)_(?P<file>[^/]+)",
    ),
)
"""In the order in which they are tried. A download that matches none of these, and is no export of
Gradescope's, is read as folders named after students. The outermost matching name identifies the student:
names further inside are the student's choice."""
PLATFORM_FILES: Mapping[str, str] = {
    "brightspace": r"(?:.*/)?index\.html",
    "sakai": rf"(?:.*/)?(?:{_SAKAI_FILES}|[^/]*_(?:timestamp|comments)\.txt)",
}
"""Files that platforms add to a download themselves, as regular expressions for complete paths. A file that
matches the platform's pattern is a student's, whatever its name."""
FOLDERS = "folders"
NBGRADER = "nbgrader"
"""Also folders, as nbgrader keeps them: ``<student>/<assignment>/``, with a trusted timestamp.txt."""
GRADESCOPE = "gradescope"
NAMES = (*(known_pattern.name for known_pattern in PLATFORMS), GRADESCOPE, FOLDERS, NBGRADER)


class NamedFile(Struct, frozen=True):
    """Information in the name of a file."""

    identity: Identification
    file: str
    """Its path among the files of the attempt."""
    moment: datetime | None = None
    shown: datetime | None = None
    """Time of a clock with unknown zone: it determines the order, but no submission time."""
    attempt: str = ""
    """Distinguishes several attempts of one student; empty: there is one."""
    assignment: str = ""
    late: bool = False


def load_settings(path: Path) -> CollectSettings:
    """Read a course's settings; the defaults if there is no such file.

    Raises:
        CourseError: the file cannot be read, or states something impossible; names it.
    """
    written = tables.read_toml(path)
    try:
        settings = tables.convert_table(written, CollectSettings, str(path))
        settings.get_zone()
    except RubricError as error:
        raise CourseError(str(error)) from error
    except ValueError as error:
        raise CourseError(f"{path}: zone: {error}") from error
    for pattern in settings.pattern:
        _check_pattern(pattern, f"{path}: pattern {pattern.name!r}")
    return settings


def _check_pattern(pattern: NamePattern, place: str) -> None:
    """Refuse an unusable pattern.

    Raises:
        CourseError: it is no regular expression, has unknown groups, lacks a required one, or has a known
            name.
    """
    try:
        groups = regex.compile(pattern.path).groupindex
    except regex.error as error:
        raise CourseError(f"{place}: path: not a regular expression: {error}") from error
    for name in groups:
        if name not in GROUPS:
            raise CourseError(
                f"{place}: path: there is no group {name!r}; {tables.suggest_name(name, GROUPS)}"
            )
    if "file" not in groups or _WHO.isdisjoint(groups):
        raise CourseError(f"{place}: path: expected the group file and one of {', '.join(GROUPS[:7])}")
    if pattern.name in NAMES:
        raise CourseError(f"{place}: name: this is a known platform; choose another name")


def choose_pattern(
    paths: Sequence[str], course_patterns: Sequence[NamePattern], chosen: str, knows: Callable[[str], bool]
) -> NamePattern | None:
    """Return the pattern that most names of a download match; None: its folders are named after students.

    Args:
        paths: paths of all its files.
        course_patterns: the course's patterns, which win a tie.
        chosen: name of the pattern that staff chose; empty: it is detected.
        knows: decides whether a folder of this name belongs to a student.

    Raises:
        CourseError: there is none of this name, or a pattern takes too long.
    """
    pattern_by_name = {pattern.name: pattern for pattern in (*course_patterns, *PLATFORMS)}
    # These two have no pattern of file names.
    if chosen in {FOLDERS, NBGRADER}:
        return None
    if chosen:
        if chosen not in pattern_by_name:
            raise CourseError(
                f"--from: {chosen!r} is not known; {tables.suggest_name(chosen, [*pattern_by_name, *NAMES])}"
            )
        return pattern_by_name[chosen]
    best, most = None, 0
    for pattern in pattern_by_name.values():
        fitting, odd = _count_names(pattern, paths)
        # Folders named after known students outweigh a pattern that also happens to match some names.
        if len(fitting) > most and len(fitting) >= len(odd) and len(fitting) > sum(map(knows, odd)):
            best, most = pattern, len(fitting)
    return best


def _count_names(pattern: NamePattern, paths: Sequence[str]) -> tuple[set[str], set[str]]:
    """Return the names that match a pattern, and the folders and files next to them that do not.

    Names are counted, not files: a folder counts once, however many files a student put into it.
    """
    fitting, unmatched, around = set[str](), list[str](), set[str]()
    for path in paths:
        groups = match_name(pattern, path)
        if groups is None:
            unmatched += [] if is_platform_file(pattern, path) else [path]
            continue
        name = path.removesuffix(groups["file"]) or path
        fitting.add(name)
        around.add(name.rstrip("/").rpartition("/")[0])
    # Archives often have one folder around all others, which is no name.
    wrapping = min(around, key=len, default="")
    odd = set[str]()
    for path in unmatched:
        inside = path.removeprefix(f"{wrapping}/") if wrapping else path
        first, slash, _ = inside.partition("/")
        odd.add(first if slash else PurePosixPath(first).stem)
    return fitting, odd


def is_platform_file(pattern: NamePattern, path: str) -> bool:
    """Decide whether the platform added this file to its download, so that no student submitted it."""
    expression = PLATFORM_FILES.get(pattern.name)
    return (
        bool(expression and regex.fullmatch(expression, path, regex.DOTALL))
        and match_name(pattern, path) is None
    )


def match_name(pattern: NamePattern, path: str) -> Mapping[str, str] | None:
    """Return the groups of a name; None if it does not match.

    Raises:
        CourseError: the pattern takes too long.
    """
    try:
        # The ``regex`` module, because it supports a timeout and repeated group names.
        match = regex.fullmatch(pattern.path, path, regex.DOTALL, timeout=_SECONDS)
    except TimeoutError as error:
        raise CourseError(
            build_localised_text("fault.pattern-slow", pattern=pattern.name, path=ascii(path))
        ) from error
    return None if match is None else {name: value or "" for name, value in match.groupdict().items()}


def read_name(pattern: NamePattern, path: str, zone: tzinfo | None) -> NamedFile | None:
    """Return the information in a file's name; None if it does not match the pattern.

    Args:
        pattern: pattern of the download.
        path: path of the file.
        zone: zone of times that state none.

    Raises:
        CourseError: the pattern takes too long.
    """
    groups = match_name(pattern, path)
    if groups is None:
        return None
    said: Mapping[str, Any] = {name: groups.get(name, "") for name in GROUPS}
    name = said["name"] or " ".join(filter(None, (said["first"], said["last"])))
    shown = _parse_time(said["time"], pattern.time)
    # ILIAS states a time for each file, and other platforms state one for all files of an attempt.
    attempt = said["attempt"] or ("" if pattern.name == "ilias" else said["time"])
    return NamedFile(
        Identification(said["id"], name, said["email"], said["login"], said["number"]),
        said["file"],
        _to_moment(shown, zone),
        shown,
        attempt,
        said["assignment"],
        bool(said["late"]),
    )


def _parse_time(text: str, form: str) -> datetime | None:
    """Return the time in a name as it is written; None if there is none, or it cannot be read."""
    if not text:
        return None
    try:
        if not form:
            return timestamps.parse_moment(text)
        if form == IN_WORDS:
            return worksheets.parse_time(text)
        return datetime.strptime(text, form)  # noqa: DTZ007 - a zone is added, or it is only compared
    except (ValueError, OverflowError):
        return None


def _to_moment(shown: datetime | None, zone: tzinfo | None) -> datetime | None:
    """Return the time in UTC; None if the clock's zone is unknown, or the clock never showed this time."""
    if shown is None:
        return None
    try:
        # Between summer and winter time some local times do not exist.
        if shown.tzinfo is None:
            return timestamps.resolve_local_time(shown, zone).astimezone(UTC) if zone else None
        return shown.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
