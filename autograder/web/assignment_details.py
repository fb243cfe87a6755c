"""Contents of pages about an assignment: times, attempts, and the immediate check of submitted files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

from django.conf import settings
from django.utils import timezone
from msgspec import Struct

from autograder import messages
from autograder.core.errors import CourseError, NotebookError, ServiceError
from autograder.core.wording import render_phrase
from autograder.course import Handin
from autograder.course.schedule import Schedule
from autograder.course.submission_folder import list_expected_files
from autograder.grading.assignment import Assignment
from autograder.notebook.document import parse_notebook
from autograder.notebook.release import Release, load_release
from autograder.notebook.student import saved_notebook
from autograder.notebook.student.report import MISSING, Report, ReportLine
from autograder.notebook.student_check import FILE_NAME, read_specification
from autograder.pages.feedback.questions import LineComment
from autograder.pages.feedback.student_page import render_student_page
from autograder.rubric import Rubric
from autograder.rubric.lateness import COUNTS
from autograder.rubric.timestamps import (
    Window,
    format_duration,
    format_moment,
    get_zone,
    resolve_local_time,
    to_window_zone,
)
from autograder.rubric.variants.draws import normalise_id
from autograder.service import attempts, mark_changes, versions
from autograder.service.marking.answers import find_cell
from autograder.service.models import Attempt, CourseRecord, Member, Offer, Role, State
from autograder.service.refusals import RequestRefused
from autograder.service.standings import compute_student_standing, load_current_result
from autograder.service.store import DatabaseStore

_MINUTE = timedelta(minutes=1)


class TimesView(Struct, frozen=True):
    """When files can be submitted, formatted for reading."""

    start: str = ""
    """Empty if the assignment is open."""
    end: str = ""
    """Empty if there is no deadline."""
    left: str = ""
    """The remaining time; empty if the deadline is over, or there is none."""
    over: str = ""
    """How an attempt is treated after the deadline: a rule of `rubric.lateness`, ``kept`` or ``grace``."""
    terms: Sequence[str] = ()
    """The late penalty, in sentences."""
    slip: str = ""
    """How many slip days the student has left; empty if the assignment has none."""
    covered: bool = False
    """Whether slip days can cover a delay, so that the rule in `over` does not apply to it."""
    minutes: str = ""
    """The working time, if it starts only when the student opens the assignment; otherwise empty."""

    @property
    def open(self) -> bool:
        """Whether files can be downloaded and submitted."""
        return not (self.start or self.minutes)


class TimingRemark(Struct, frozen=True):
    """A sentence about the time of an attempt."""

    late: bool
    text: str


class PartView(Struct, frozen=True):
    """The files that a group submits together, or that a member submits alone."""

    code: str
    """``together`` or ``alone``."""
    there: Sequence[str]
    """The submitted files."""
    missing: Sequence[str]
    student: str = ""
    """The member who submitted them."""
    received: str = ""


class CheckedFile(Struct, frozen=True):
    """The result of the immediate check of one file."""

    name: str
    answers: Sequence[Report] = ()
    cells: Sequence[ReportLine] = ()
    reason: str = ""
    """The reason why it cannot be read."""


def get_assignment(offer: Offer) -> Assignment:
    """Return the assignment in the version that is offered."""
    return settings.RUNNING.loaded.load_assignment(offer.version)


def list_wanted_files(assignment: Assignment, *, alone: bool | None = None) -> list[str]:
    """Return the names of the files to submit.

    Args:
        assignment: the assignment.
        alone: only those that each member submits alone (True), or that a group submits together (False).
    """
    names = []
    for notebook in assignment.rubric.assignment.notebooks:
        if alone not in (None, notebook.individual):
            continue
        if assignment.releases[notebook.name].has_answers:
            names.append(f"{notebook.name}.ipynb")
        names += [*notebook.starter, *(result_file.path for result_file in notebook.results)]
    return list(dict.fromkeys(names))


def get_times(offer: Offer, student: str, language: str) -> TimesView:
    """Return the times of one student."""
    schedule = attempts.load_schedule(offer, get_assignment(offer).rubric)
    if schedule is None:
        return TimesView()
    # A group's times depend on the extensions of all its members.
    window, now = schedule.get_shared_window(attempts.list_group_members(offer, student)), timezone.now()
    end, terms = _format_by_clock(window.end, window, language), window.terms.describe_terms(language)
    slip = get_slip_days(offer, student, schedule)
    if window.start and now < window.start:
        return TimesView(_format_by_clock(window.start, window, language), end, "", "", terms, slip)
    if now <= window.end and (minutes := schedule.get_unopened_minutes(student)):
        return TimesView("", end, "", "", terms, slip, minutes=format_duration(timedelta(minutes=minutes)))
    if now <= window.end:
        return TimesView("", end, format_duration(_round_to_minutes(window.end - now)), "", terms, slip)
    # The grace period comes before every rule.
    if now <= window.end + window.terms.grace:
        return TimesView("", end, "", "grace", terms, slip)
    rule = _get_late_rule(offer, student, schedule)
    # A decision about this student replaces slip days, and an attempt in time wins over a covered one.
    covered = slip not in {"", "0"} and rule not in {"accept", "kept"}
    covered = covered and normalise_id(student) not in schedule.decided
    return TimesView("", end, "", rule, terms, slip, covered)


def get_common_times(offer: Offer, language: str) -> TimesView:
    """Return the times that apply to everybody without an extension."""
    schedule = attempts.load_schedule(offer, get_assignment(offer).rubric)
    if schedule is None:
        return TimesView()
    window, now = schedule.common, timezone.now()
    start = _format_by_clock(window.start, window, language) if window.start else ""
    return TimesView(
        start=start,
        end=_format_by_clock(window.end, window, language),
        left=format_duration(_round_to_minutes(window.end - now)) if now <= window.end else "",
        over="" if now <= window.end else schedule.late,
        terms=window.terms.describe_terms(language),
    )


def is_anybody_in_time(offer: Offer) -> bool:
    """Return whether a student can still submit in time, by the common dates or an extension."""
    schedule = attempts.load_schedule(offer, get_assignment(offer).rubric)
    if schedule is None:
        return True
    windows = (schedule.common, *schedule.individual.values())
    return any(timezone.now() <= window.end for window in windows)


def map_individual_ends(offer: Offer, language: str) -> dict[str, str]:
    """Return the deadline of each student and group with an extension, by id or name of the group."""
    schedule = attempts.load_schedule(offer, get_assignment(offer).rubric)
    if schedule is None:
        return {}
    windows = {
        name: schedule.get_shared_window(offer.groups[name])
        for name in offer.times.get("groups", {})
        if offer.groups.get(name)
    }
    windows |= {
        student: schedule.get_shared_window(attempts.list_group_members(offer, student))
        for student in offer.times.get("students", {})
    }
    return {who: _format_by_clock(window.end, window, language) for who, window in windows.items()}


def _get_late_rule(offer: Offer, student: str, schedule: Schedule) -> str:
    """Return how an attempt that is submitted late now is treated."""
    rule = schedule.get_rule(student)
    if rule in {"accept", "refuse"} or (schedule.counts or COUNTS[rule]) != "in-time":
        return rule
    if any(not part.there for part in list_parts(offer, student, "en")):
        return rule
    handin = attempts.find_counting_attempt(offer, student, get_assignment(offer).rubric)
    return "kept" if handin and handin.timing and not (handin.timing.late or handin.timing.doubt) else rule


def get_slip_days(offer: Offer, student: str, times: Schedule) -> str:
    """Return how many slip days a student has left after the submissions for this assignment.

    Empty if the assignment has no slip days.
    """
    bank = times.common.terms.slip
    if bank is None:
        return ""
    handin = attempts.find_counting_attempt(offer, student, get_assignment(offer).rubric)
    if handin and handin.timing and handin.timing.slip:
        return str(handin.timing.slip.left)
    # Without an attempt here, only other assignments have used slip days.
    left = attempts.compute_slip_days_left(offer, times)
    return str(left.get(normalise_id(student), bank.days))


def _round_to_minutes(left: timedelta) -> timedelta:
    """Round down to whole minutes, but not to zero: seconds would be outdated while the page is read."""
    return left - left % _MINUTE or left


def format_received(attempt: Attempt, language: str) -> str:
    """Format the time of an attempt's arrival, to the second, in its assignment's time zone."""
    schedule = attempts.load_schedule(attempt.offer, get_assignment(attempt.offer).rubric)
    members = attempts.list_group_members(attempt.offer, attempt.student)
    window = schedule.get_shared_window(members) if schedule else None
    return _format_to_second(attempt.submitted_at, window, language)


def describe_lateness(attempt: Attempt, language: str) -> list[str]:
    """Describe how late an attempt was, and the consequences if it is the one that counts.

    Empty if it was in time.
    """
    rubric = get_assignment(attempt.offer).rubric
    schedule = attempts.load_schedule(attempt.offer, rubric)
    if schedule is None:
        return []
    window = schedule.get_shared_window(attempts.list_group_members(attempt.offer, attempt.student))
    late = attempt.submitted_at - window.end
    # Within the grace period an attempt is not late.
    if late <= window.terms.grace:
        return []
    handin = attempts.find_counting_attempt(attempt.offer, attempt.student, rubric)
    counts = handin is not None and attempts.get_graded_attempt_id(handin) == str(attempt.pk)
    if counts and handin and handin.timing and attempt.state == State.GRADED:
        return [
            messages.render_message(message, language) for message in handin.timing.list_messages(language)
        ]
    facts = {"late": format_duration(late), "end": _format_by_clock(window.end, window, language)}
    return [messages.format_sentence("web.was-late", language, **facts)]


def describe_timing(attempt: Attempt, language: str) -> list[TimingRemark]:
    """Describe whether an attempt that was just submitted is in time, and how a late one counts."""
    times = get_times(attempt.offer, attempt.student, language)
    lateness = describe_lateness(attempt, language)
    if lateness:
        codes = [f"over-{times.over}"] * bool(times.over) + ["over-slip"] * times.covered
        lateness += [messages.format_sentence(f"web.{code}", language) for code in codes]
        return [TimingRemark(late=True, text=text) for text in lateness]
    if not times.end:
        return [TimingRemark(late=False, text=messages.format_sentence("web.no-end", language))]
    text = messages.format_sentence("web.in-time", language, moment=times.end)
    return [TimingRemark(late=False, text=text)]


def make_time_formatter(offer: Offer, language: str) -> Callable[[datetime], str]:
    """Return a formatter of moments, to the second, in the time zone of the assignment's common dates."""
    schedule = attempts.load_schedule(offer, get_assignment(offer).rubric)
    return lambda moment: _format_to_second(moment, schedule.common if schedule else None, language)


def _format_to_second(moment: datetime, window: Window | None, language: str) -> str:
    moment = moment.replace(microsecond=0)
    return _format_by_clock(moment, window, language) if window else format_moment(moment, "UTC", language)


def make_course_time_formatter(course: CourseRecord, language: str) -> Callable[[datetime], str]:
    """Return a formatter of moments, to the second, in the time zone of a course."""
    zone = find_course_zone(course)
    return lambda moment: format_moment(moment.astimezone(zone).replace(microsecond=0), zone.key, language)


def find_course_zone(course: CourseRecord) -> ZoneInfo:
    """Return the time zone of a course if all its dates have the same one, or UTC."""
    dates = Offer.objects.filter(course=course).exclude(times={}).values_list("times", flat=True)
    zones = {offer_times.get("zone", "") for offer_times in dates}
    try:
        # One clock cannot show dates of several zones.
        return get_zone(zones.pop() if len(zones) == 1 else "UTC")
    except ValueError:  # times with an offset need no zone
        return get_zone("UTC")


def parse_moment(text: str, zone: tzinfo) -> datetime:
    """Parse a moment by the clock of a zone, unless it states an offset; return it in UTC.

    Raises:
        ServiceError: it is not a time, clocks in the zone never or twice showed it, or UTC has none like it.
    """
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise RequestRefused("time-invalid", given=text) from error
    try:
        return (moment if moment.tzinfo else resolve_local_time(moment, zone)).astimezone(UTC)
    except OverflowError as error:
        raise ServiceError(messages.build_localised_text("fault.time-years")) from error
    except ValueError as error:
        raise ServiceError(*error.args) from error


def _format_by_clock(moment: datetime, window: Window, language: str) -> str:
    return format_moment(to_window_zone(moment, window), window.zone, language)


def get_counting_codes(offer: Offer, student: str) -> dict[str, str]:
    """Return the attempts that count for a student: id → code of the sentence that says for what."""
    rubric = get_assignment(offer).rubric
    handin = attempts.find_counting_attempt(offer, student, rubric)
    if handin is None:
        return {}
    # Without a separate individual part, one attempt counts for everything.
    whole = handin.group is None or not rubric.assignment.individual or handin.own == handin.folder
    if whole:
        return {handin.folder.name: "counts"}
    alone = {handin.own.name: "counts-alone"} if handin.own else {}
    return {handin.folder.name: "counts-together", **alone}


def list_counting_reasons(offer: Offer, student: str, language: str) -> list[str]:
    """Return which attempt counts and why, as the student reads it; empty without a submission."""
    handin = attempts.find_counting_attempt(offer, student, get_assignment(offer).rubric)
    if handin is None:
        return []
    members = attempts.list_group_members(offer, student)
    everything = Attempt.objects.filter(offer=offer, student__in=members)
    counting = everything.get(pk=handin.folder.name)
    code = "web.which" if counting.student == student else "web.which-of"
    which = messages.format_sentence(code, language, number=counting.number, student=counting.student)
    reasons = [messages.render_message(message, language) for message in handin.list_messages(language)]
    if handin.timing and handin.timing.instead:
        reasons += [
            messages.render_message(message, language) for message in handin.timing.list_messages(language)
        ]
    later = everything.filter(submitted_at__gt=counting.submitted_at)
    if not reasons:
        code = "web.which-failed" if later.filter(state=State.FAILED).exists() else "web.which-last"
        reasons = [messages.format_sentence(code, language)]
    return [which, *reasons]


def list_parts(offer: Offer, student: str, language: str) -> list[PartView]:
    """Return the parts that a group submits together and a member submits alone, with their files.

    Empty if there are no separate parts.
    """
    assignment = get_assignment(offer)
    if not _is_apart(offer, student):
        return []
    handin = attempts.find_counting_attempt(offer, student, assignment.rubric)
    folders = {"together": handin.folder if handin else None, "alone": handin.own if handin else None}
    return [
        _describe_part(
            code,
            folder.name if folder else "",
            list_wanted_files(assignment, alone=code == "alone"),
            language,
        )
        for code, folder in folders.items()
    ]


def _describe_part(code: str, number: str, names: Sequence[str], language: str) -> PartView:
    attempt = Attempt.objects.select_related("offer").get(pk=number) if number else None
    held = set(attempt.files.values_list("name", flat=True)) if attempt else set()
    there, missing = [name for name in names if name in held], [name for name in names if name not in held]
    if attempt is None or not there:
        return PartView(code, (), missing)
    return PartView(code, there, missing, attempt.student, format_received(attempt, language))


def _is_apart(offer: Offer, student: str) -> bool:
    """Decide whether a student submits some files with a group and others alone."""
    return attempts.has_individual_parts(offer, get_assignment(offer).rubric) and bool(
        attempts.find_group(offer, student)
    )


def check_attempt(attempt: Attempt, language: str) -> list[CheckedFile]:
    """Check the files of an attempt without running them; also report unexpected and missing files."""
    released = versions.load_released_files(attempt.version, attempt.student, [FILE_NAME])
    # Taken from the student's own release, because variants differ.
    specification = read_specification(released[FILE_NAME].decode(), FILE_NAME)
    files, assignment = attempts.load_files(attempt), settings.RUNNING.loaded.load_assignment(attempt.version)
    asked_for = list(list_expected_files(assignment.rubric))
    checked_files = [
        _check_file(name, files, specification, language)
        for name in sorted(files)
        if name.endswith(".ipynb") and name in asked_for
    ]
    # Files that were already reported, or belong to the part that this attempt leaves out, are not missing.
    explained = _list_absent_part(attempt, assignment, files)
    for name, result_files in specification.get("files", {}).items():
        if f"{name}.ipynb" not in files and not (
            explained and explained.issuperset(entry["path"] for entry in result_files)
        ):
            explained |= {entry["path"] for entry in result_files}
            report = saved_notebook.report_on_files(specification, name, language, files)
            checked_files.append(_to_file(messages.format_sentence("page.files", language), report))
    unexplained = {name: "web.not-wanted" for name in sorted(files) if name not in asked_for}
    unexplained |= {
        name: "web.not-there"
        for name in list_wanted_files(assignment)
        if name not in files and name not in explained
    }
    for name, code in unexplained.items():
        line = ReportLine(MISSING, messages.format_sentence(code, language))
        checked_files.append(CheckedFile(name, cells=[line]))
    return checked_files


def _list_absent_part(attempt: Attempt, assignment: Assignment, files: Collection[str]) -> set[str]:
    """Return the files of a part (group or individual) of which the attempt has no file at all.

    They are not reported as missing, because the two parts are submitted separately.
    """
    if not _is_apart(attempt.offer, attempt.student):
        return set()
    both = (list_wanted_files(assignment, alone=False), list_wanted_files(assignment, alone=True))
    return {name for part in both if set(part).isdisjoint(files) for name in part}


def _check_file(
    name: str, files: Mapping[str, bytes], specification: Mapping[str, object], language: str
) -> CheckedFile:
    try:
        cells = parse_notebook(files[name]).cells
        report = saved_notebook.report_on(cells, specification, name.removesuffix(".ipynb"), language, files)
    except (NotebookError, CourseError) as error:
        return CheckedFile(name, reason=render_phrase(error.text, language))
    return _to_file(name, report)


def _to_file(name: str, report: saved_notebook.NotebookReport) -> CheckedFile:
    return CheckedFile(name, report.reports, (*report.cells, *report.files))


def get_releases(offer: Offer, student: str) -> Mapping[str, Release]:
    """Return the released notebooks of a student, by name."""
    assignment = get_assignment(offer)
    if assignment.manifest is None:
        return assignment.releases
    notebooks = {f"{name}.ipynb": name for name in assignment.releases}
    files = versions.load_released_files(offer.version, student, notebooks)
    return {name: load_release(files[file], name) for file, name in notebooks.items()}


def get_name(offer: Offer, student: str) -> str:
    """Return the name of a student on the class list; empty if it has none."""
    return map_names(offer.course, student).get(student, "")


def map_names(course: CourseRecord, *students: str) -> dict[str, str]:
    """Return the names of these students, or of everybody who is or was on the class list, by id.

    Those without a name are left out.
    """
    members = Member.everyone.filter(course=course, role=Role.STUDENT)
    if students:
        members = members.filter(student__in=students)
    names = {member.student: f"{member.first_name} {member.last_name}".strip() for member in members}
    return {student: name for student, name in names.items() if name}


def render_feedback(offer: Offer, student: str, language: str) -> str | None:
    """Render the feedback page of the attempt that counts as a standalone file; None if nothing is graded."""
    graded, marks = DatabaseStore(offer.course).load_student_result(offer.assignment, student)
    if graded is None:
        return None
    assignment = get_assignment(offer)
    handin: Handin | None = attempts.find_counting_attempt(offer, student, assignment.rubric)
    graded = load_current_result(graded, handin)
    rubric = assignment.get_rubric(graded.score.asked)
    return render_student_page(
        graded,
        rubric,
        language=language,
        submitted_at=handin.submitted_at if handin else None,
        stands=compute_student_standing(offer, assignment, graded, marks),
        timing=handin.timing if handin else None,
        reasons=handin.list_messages(language) if handin else (),
        changes=mark_changes.list_changes(offer, assignment, student),
        releases=get_releases(offer, student),
        name=get_name(offer, student),
        line_comments=list_line_comments(offer, student, rubric),
    )


def list_line_comments(offer: Offer, student: str, rubric: Rubric) -> list[LineComment]:
    """Return the comments of markers on lines of a student's answers."""
    rows = offer.marks.filter(student=student).exclude(annotations=[])
    comments = []
    for row in rows.select_related("place").order_by("pk"):
        cell, lines = find_cell(rubric, row.place.notebook, row.place.cell), row.text.splitlines()
        if cell is None:
            continue
        for note in row.annotations:
            quote = "\n".join(lines[note["first"] - 1 : note["last"]])
            comments.append(LineComment(cell.question.id, quote=quote, **note))
    return comments
