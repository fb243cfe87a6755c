"""Collect downloads of platforms, folders and exchanges into submitted/, and report everything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from autograder import rubric as rubrics
from autograder.app import SILENT, Listener, count_steps
from autograder.core import atomic
from autograder.core.errors import CourseError, SourceError
from autograder.core.tables import escape_name, join_names
from autograder.core.wording import Phrase
from autograder.course import Course, archives, find_name_fault
from autograder.course.archives import RefusedFile
from autograder.course.counting_attempts import list_part_notebooks
from autograder.course.submission_folder import determine_readability, read_folder
from autograder.exchange.platforms import class_lists, filename_patterns, placement, worksheets
from autograder.exchange.platforms.sources import (
    FoundAttempt,
    SourceContents,
    WantedAttempts,
    format_source_name,
    read_source,
)
from autograder.exchange.platforms.staging import PreparedAttempt, prepare_attempt
from autograder.exchange.platforms.student_matching import Identification, Register
from autograder.messages import build_localised_text
from autograder.pages.feedback.sanitise import to_printable_text
from autograder.rubric import Rubric
from autograder.rubric.variants.draws import normalise_id

_STATE_ZONE = 'State the time zone of the platform in collect.toml: zone = "Europe/Berlin".'


class CollectOptions(Struct, frozen=True):
    """Options of collecting."""

    platform: str = ""
    """The platform that named the files: in `filename_patterns.NAMES` or of the course; empty: detected."""
    worksheet: Path | None = None
    """Moodle's grading worksheet: identities and submission times."""
    any_owner: bool = False
    """Accept folders of an exchange from any owner."""
    dry_run: bool = False
    """Write no files."""


class CollectedAttempt(Struct, frozen=True):
    """An attempt that was found, and its state."""

    student: str
    source: str
    label: str
    """The person that the names of the files refer to."""
    state: str
    """``new``, ``earlier`` (new, and there is a later one), ``unchanged``, ``again`` (known, and the latest
    once more), or ``left`` (no file of it could be stored)."""
    files: int
    moment: datetime | None
    late: bool
    """Whether the platform marks it as late."""
    renamed: tuple[tuple[str, str], ...] = ()
    """Files that were renamed to the graded name."""


class UnmatchedAttempt(Struct, frozen=True):
    """An attempt without a student on the class list."""

    source: str
    label: str
    files: tuple[str, ...]
    suggestion: Phrase


class CollectReport(Struct, frozen=True):
    """The collected attempts, and everything that was not collected."""

    attempts: tuple[CollectedAttempt, ...]
    """By source, and by student within it."""
    unmatched: tuple[UnmatchedAttempt, ...]
    refused: tuple[RefusedFile, ...]
    """Files that were not accepted; all others were."""
    concerns: tuple[RefusedFile, ...]
    """Accepted files that will not be graded as they are: notebooks that cannot be read, and unrequested
    files that may contain the work."""
    absent: tuple[str, ...]
    """Students on the class list without any attempt, from this run or before."""
    remarks: tuple[Phrase, ...]
    """A sentence each."""

    @property
    def attention(self) -> bool:
        """Whether staff must correct something."""
        return bool(
            self.unmatched
            or self.refused
            or self.concerns
            or any(attempt.state == "left" for attempt in self.attempts)
        )


class StagedAttempt(Struct, frozen=True, eq=False):
    """An attempt, staged for one student."""

    student: str
    source: str
    attempt: FoundAttempt
    staged: PreparedAttempt


def collect_submissions(
    course: Course,
    name: str,
    sources: Sequence[Path],
    options: CollectOptions | None = None,
    *,
    watch: Listener = SILENT,
) -> CollectReport:
    """Bring submissions from elsewhere into the course.

    The last attempt of each student is stored in submitted/, others in earlier/; at grading, the times of the
    course decide which one counts. Existing files are not changed, and a repeated call resumes an interrupted
    one. A refused file does not stop the others.

    Args:
        course: the course.
        name: of the assignment.
        sources: downloaded archives, folders, and inbound folders of an exchange.
        options: see `CollectOptions`.
        watch: notified after each attempt.

    Raises:
        CourseError: a list or the settings of the course cannot be read, or there is no such source or
            platform; nothing is changed in these cases.
        RubricError: the rubric is not valid.
    """
    options = options or CollectOptions()
    for path in sources:
        if not path.exists():
            raise CourseError(f"{path}: there is no such file or folder to collect from")
    rubric = rubrics.load_rubric(course.locate_rubric(name))
    settings = filename_patterns.load_settings(course.collecting)
    register = load_class_register(course, settings)
    wanted = WantedAttempts(
        name,
        frozenset(course.list_assignments()) - {name},
        lambda text: bool(register.find_student(Identification(text)).student),
        settings,
        options.platform,
        _read_participants(options.worksheet),
        options.any_owner,
    )
    gathering = AttemptCollector(rubric, register)
    try:
        # The scratch folder also locks the course against another collection.
        with placement.open_scratch_folder(course) as folder:
            for source in sources:
                gathering.read_source(source, wanted, folder, watch)
            report = _store_attempts(course, gathering, folder, options, watch)
            timeless = _explain_missing_times(report.attempts, gathering.platforms, settings, options)
            return replace(report, remarks=(*report.remarks, *timeless))
    except OSError as error:
        raise CourseError(f"{error.filename or course.root}: cannot be written: {error.strerror}") from error


def load_class_register(
    course: Course, settings: filename_patterns.CollectSettings | None = None
) -> Register:
    """Return the course's class list as a register of identities; empty if there is none.

    Raises:
        CourseError: it cannot be read, or ``collect.toml`` names a student who is not on it.
    """
    settings = settings or filename_patterns.load_settings(course.collecting)
    if not course.roster.is_file():
        return Register((), settings.students)
    try:
        listed = class_lists.read_class_list(atomic.read_bytes(course.roster), "id")
    except (OSError, CourseError) as error:
        raise CourseError(f"{course.roster}: {getattr(error, 'strerror', None) or error}") from error
    if listed.left_out:
        raise CourseError(f"{course.roster}: {listed.left_out[0]}")
    register = Register(listed.students, settings.students)
    for spelling, student in settings.students.items():
        if register.get_student(student) is None:
            raise CourseError(
                f"{course.collecting}: students: {spelling!r} is {student!r}, who is not in roster.csv"
            )
    return register


def _read_participants(worksheet: Path | None) -> dict[str, worksheets.WorksheetRow]:
    if worksheet is None:
        return {}
    try:
        return worksheets.read_worksheet(atomic.read_bytes(worksheet)).map_participants()
    except (OSError, CourseError) as error:
        raise CourseError(f"{worksheet}: {getattr(error, 'strerror', None) or error}") from error


class AttemptCollector:
    """Collects the attempts of one source after the other.

    Args:
        rubric: of the assignment.
        register: the identities of the class.
    """

    def __init__(self, rubric: Rubric, register: Register) -> None:
        books = rubric.assignment.notebooks
        along = [path for notebook in books for path in notebook.own]
        self.rubric = rubric
        self.name = rubric.assignment.name
        self.expected = (*(f"{notebook.name}.ipynb" for notebook in books), *along)
        self.register = register
        self.found: list[StagedAttempt] = []
        self.unmatched: list[UnmatchedAttempt] = []
        self.refused: list[RefusedFile] = []
        self.concerns: list[RefusedFile] = []
        self.remarks: list[Phrase] = []
        self.platforms: dict[str, str] = {}
        """The platform that named the files, by source."""

    def read_source(self, source: Path, wanted: WantedAttempts, folder: Path, watch: Listener) -> None:
        """Stage every attempt of a source. An unreadable one is reported; the others are collected.

        Args:
            source: an archive or a folder.
            wanted: the attempts to look for.
            folder: the staging folder.
            watch: notified after each attempt.

        Raises:
            CourseError: the chosen platform is not known, or a pattern takes too long.
            OSError: a file cannot be written.
        """
        try:
            with archives.open_source(_find_inbound(source)) as listing:
                contents = read_source(listing, wanted)
                self._add_attempts(format_source_name(source), contents, folder, watch)
        except SourceError as error:
            self.refused.append(archives.refuse_file(format_source_name(source), error.text))

    def _add_attempts(self, source: str, contents: SourceContents, folder: Path, watch: Listener) -> None:
        self.refused += [RefusedFile(f"{source}: {entry.place}", entry.reason) for entry in contents.refused]
        if not contents.attempts:
            facts = {"source": source, "assignment": self.name, "platform": contents.platform}
            self.remarks.append(build_localised_text("fault.no-submission", **facts))
        self.platforms[source] = contents.platform
        first = len(self.found)
        for attempt in count_steps(contents.attempts, len(contents.attempts), watch):
            # Several identities of one attempt may match the same student.
            for student in dict.fromkeys(self._match_students(source, attempt)):
                target = folder / f"{len(self.found):06d}"
                staged = prepare_attempt(target, attempt.label, attempt.files, attempt.moment, self.expected)
                self.found.append(StagedAttempt(student, source, attempt, staged))
                self._check_attempt(f"{source}: {ascii(attempt.label)[1:-1]}", target)
        self.refused += [
            RefusedFile(f"{source}: {fault.place}", fault.reason)
            # A group's attempt is staged for each member, but its refused files are reported once.
            for entry in {id(entry.attempt): entry for entry in self.found[first:]}.values()
            for fault in entry.staged.refused
        ]

    def _check_attempt(self, label: str, folder: Path) -> None:
        """Record unreadable notebooks of a staged attempt, and files that no grader would see."""
        files = read_folder(folder, self.rubric, only_notebooks=True)
        readable = determine_readability(files.contents, list_part_notebooks(self.rubric, "all"))
        faults = {f"{name}.ipynb": reason for name, reason in readable.unreadable.items()}
        faults |= dict.fromkeys(files.unread, build_localised_text("fault.not-expected"))
        if not (faults or readable.readable or readable.files):
            faults[self.expected[0]] = build_localised_text("fault.notebook-none")
        concerns = (RefusedFile(f"{label}: {name}", reason) for name, reason in faults.items())
        self.concerns += [
            concern for concern in concerns if concern not in self.concerns
        ]  # a group's attempt is staged for each member

    def _match_students(self, source: str, attempt: FoundAttempt) -> Iterator[str]:
        """Yield the student of an attempt, or each member of its group."""
        matches = {naming: self.register.find_student(naming) for naming in attempt.identities}
        for identity, match in matches.items():
            fault = match.student and find_name_fault(match.student)
            if match.student and not fault:
                yield match.student
                continue
            hint = attempt.hint or match.suggestion
            if fault:
                hint = build_localised_text("web.bad-id", student=ascii(match.student), reason=fault)
            self.unmatched.append(
                UnmatchedAttempt(source, to_printable_text(identity.label), tuple(attempt.files), hint)
            )


def _find_inbound(source: Path) -> Path:
    """Return the folder of submissions if the source is a whole exchange."""
    return source / "inbound" if (source / "inbound").is_dir() else source


def _store_attempts(
    course: Course, gathering: AttemptCollector, folder: Path, options: CollectOptions, watch: Listener
) -> CollectReport:
    # The spelling of an existing folder wins, so that a student does not get a second one.
    """Store the staged attempts in the course and return the report."""
    # The spelling of an existing folder wins, so that a student does not get a second one.
    spelled = {normalise_id(attempt): attempt for attempt in course.list_students()}
    by_student: dict[str, list[StagedAttempt]] = {}
    for attempt in gathering.found:
        by_student.setdefault(spelled.get(normalise_id(attempt.student), attempt.student), []).append(attempt)
    states: dict[int, str] = {}
    present = {
        normalise_id(attempt)
        for attempt in course.list_students()
        if (course.root / "submitted" / attempt / gathering.name).exists()
    }
    for student, attempts_of_student in count_steps(by_student.items(), len(by_student), watch):
        usable = [attempt for attempt in attempts_of_student if attempt.staged.files]
        try:
            placement.check_place(course, gathering.name, student)
            plan = placement.plan_attempts(
                course, gathering.name, student, [attempt.staged for attempt in usable]
            )
            if not options.dry_run:
                placement.place_attempts(course, gathering.name, plan, folder)
        except OSError as error:  # a broken folder of one student must not stop the others
            gathering.refused.append(RefusedFile(escape_name(student), str(error.strerror or error)))
            continue
        states |= {id(attempt): state for attempt, state in zip(usable, plan.states, strict=True)}
        present |= {normalise_id(student)} if usable else set()
    attempts = [
        CollectedAttempt(
            attempt.student,
            attempt.source,
            attempt.attempt.label,
            states.get(id(attempt), "left"),
            attempt.staged.files,
            attempt.staged.moment,
            attempt.attempt.late,
            attempt.staged.renamed,
        )
        for attempt in gathering.found
    ]
    absent = [
        attempt.id for attempt in gathering.register.students if normalise_id(attempt.id) not in present
    ]
    return CollectReport(
        tuple(attempts),
        tuple(gathering.unmatched),
        tuple(gathering.refused),
        tuple(gathering.concerns),
        tuple(absent),
        tuple(gathering.remarks),
    )


def _explain_missing_times(
    attempts: Sequence[CollectedAttempt],
    platforms: Mapping[str, str],
    settings: filename_patterns.CollectSettings,
    options: CollectOptions,
) -> list[str]:
    """Return sentences about students without a submission time, with advice on how to provide it."""
    students: dict[str, dict[str, None]] = {}
    for attempt in attempts:
        if attempt.moment is None:
            students.setdefault(attempt.source, {})[attempt.student] = None
    sentences = []
    for source, without in sorted(students.items()):
        advice = _suggest_time_source(platforms[source], settings, options)
        sentences.append(
            f"{source}: no submission time for {join_names(sorted(without))} ({len(without)}). If the "
            f"assignment has a deadline, staff must decide. {advice}".rstrip()
        )
    return sentences


def _suggest_time_source(
    platform: str, settings: filename_patterns.CollectSettings, options: CollectOptions
) -> str:
    """Return advice on how to provide submission times; empty if there is none."""
    zone = "" if settings.zone else _STATE_ZONE
    if platform == "moodle" and options.worksheet is None:
        return f"Add Moodle's grading worksheet: --worksheet FILE. {zone}".rstrip()
    if platform == "moodle":
        return zone or f"{options.worksheet} has no time for them."
    if platform == filename_patterns.FOLDERS:
        return "Times in <student>/<assignment>/timestamp.txt are used only with --from nbgrader."
    if platform == filename_patterns.NBGRADER:
        return "Their timestamp.txt is missing or contains no time."
    if platform == "sakai":
        return "Sakai's timestamp.txt is used only beside a folder 'Submission attachment(s)'."
    return "" if platform in {"canvas", filename_patterns.GRADESCOPE} else zone
