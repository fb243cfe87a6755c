"""Contents of pages about an assignment: times, attempts, and the immediate check of submitted files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone
from msgspec import Struct

from autograder import messages
from autograder.assignment import Assignment
from autograder.course import Handin
from autograder.course.schedule import Schedule
from autograder.course.submission_folder import asked_files
from autograder.errors import CourseError, NotebookError
from autograder.feedback.render import render
from autograder.lateness import COUNTS
from autograder.notebook.document import parse
from autograder.notebook.release import Release, load_release
from autograder.notebook.student_check import FILE_NAME, read_specification
from autograder.service import attempts, changes, versions
from autograder.service.models import Attempt, CourseRecord, Member, Offer, State
from autograder.service.standing import current, stands
from autograder.service.store import DatabaseStore
from autograder.student import saved_notebook
from autograder.student.rendering import MARKS
from autograder.student.report import MISSING, ReportLine
from autograder.timestamps import Window, by_clock, duration, format_moment, named_zone
from autograder.variants.drawing import canonical_id

_MINUTE = timedelta(minutes=1)


class TimesShown(Struct, frozen=True):
    """When files can be submitted, formatted for reading."""

    start: str = ""
    """Empty if the assignment is open."""
    end: str = ""
    """Empty if there is no deadline."""
    left: str = ""
    """The remaining time; empty if the deadline is over, or there is none."""
    over: str = ""
    """How late attempts are treated after the deadline: a rule of `autograder.lateness`, or ``kept``."""
    terms: Sequence[str] = ()
    """The late penalty, in sentences."""
    slip: str = ""
    """How many slip days the student has left; empty if the assignment has none."""

    @property
    def open(self) -> bool:
        """Whether files can be downloaded and submitted."""
        return not self.start


class PartShown(Struct, frozen=True):
    """The files that a group submits together, or that a member submits alone."""

    code: str
    """``together`` or ``alone``."""
    there: Sequence[str]
    """The submitted files."""
    missing: Sequence[str]
    student: str = ""
    """The member who submitted them."""
    received: str = ""


class LineShown(Struct, frozen=True):
    """A remark on an answer or a file."""

    state: str
    mark: str
    text: str
    mathml: str


class AnswerShown(Struct, frozen=True):
    """The remarks of the immediate check on one answer."""

    question: str
    title: str
    lines: Sequence[LineShown]


class CheckedFile(Struct, frozen=True):
    """The result of the immediate check of one file."""

    name: str
    answers: Sequence[AnswerShown] = ()
    cells: Sequence[LineShown] = ()
    reason: str = ""
    """The reason why it cannot be read."""


def loaded(offer: Offer) -> Assignment:
    """Return the assignment in the version that is offered."""
    return settings.RUNNING.loaded.of(offer.version)


def wanted(assignment: Assignment, *, alone: bool | None = None) -> list[str]:
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
        names += [*notebook.starter, *(one.path for one in notebook.results)]
    return list(dict.fromkeys(names))


def times(offer: Offer, student: str, language: str) -> TimesShown:
    """Return the times of one student."""
    schedule = attempts.schedule_of(offer, loaded(offer).rubric)
    if schedule is None:
        return TimesShown()
    # A group's times depend on the extensions of all its members.
    window, now = schedule.of_members(attempts.together(offer, student)), timezone.now()
    end, terms = _by(window.end, window, language), window.terms.texts(language)
    slip = slip_days(offer, student, schedule)
    if window.start and now < window.start:
        return TimesShown(_by(window.start, window, language), end, "", "", terms, slip)
    if now <= window.end:
        return TimesShown("", end, duration(_minutes(window.end - now)), "", terms, slip)
    return TimesShown("", end, "", _over(offer, student, schedule), terms, slip)


def _over(offer: Offer, student: str, schedule: Schedule) -> str:
    """Return how an attempt that is submitted late now is treated."""
    rule = schedule.rule(student)
    if rule in {"accept", "refuse"} or (schedule.counts or COUNTS[rule]) != "in-time":
        return rule
    if any(not one.there for one in parts(offer, student, "en")):
        return rule
    found = attempts.counting(offer, student, loaded(offer).rubric)
    return "kept" if found and found.timing and not (found.timing.late or found.timing.doubt) else rule


def slip_days(offer: Offer, student: str, times: Schedule) -> str:
    """Return how many slip days a student has left after the submissions for this assignment.

    Empty if the assignment has no slip days.
    """
    bank = times.common.terms.slip
    if bank is None:
        return ""
    found = attempts.counting(offer, student, loaded(offer).rubric)
    if found and found.timing and found.timing.slip:
        return str(found.timing.slip.left)
    # Without an attempt here, only other assignments have used slip days.
    left = attempts.slip_days_left(offer, times)
    return str(left.get(canonical_id(student), bank.days))


def _minutes(left: timedelta) -> timedelta:
    """Round down to whole minutes, but not to zero: seconds would be outdated while the page is read."""
    return left - left % _MINUTE or left


def received(attempt: Attempt, language: str) -> str:
    """Format the time of an attempt's arrival, to the second, in its assignment's time zone."""
    schedule = attempts.schedule_of(attempt.offer, loaded(attempt.offer).rubric)
    moment = attempt.submitted_at.replace(microsecond=0)
    if schedule is None:
        return format_moment(moment, "UTC", language)
    members = attempts.together(attempt.offer, attempt.student)
    return _by(moment, schedule.of_members(members), language)


def lateness(attempt: Attempt, language: str) -> list[str]:
    """Describe how late an attempt was, and the consequences if it is the one that counts.

    Empty if it was in time.
    """
    rubric = loaded(attempt.offer).rubric
    schedule = attempts.schedule_of(attempt.offer, rubric)
    if schedule is None:
        return []
    window = schedule.of_members(attempts.together(attempt.offer, attempt.student))
    late = attempt.submitted_at - window.end
    # Within the grace period an attempt is not late.
    if late <= window.terms.grace:
        return []
    found = attempts.counting(attempt.offer, attempt.student, rubric)
    counts = found is not None and attempts.result_of(found) == str(attempt.pk)
    if counts and found and found.timing and attempt.state == State.GRADED:
        return [messages.render(one, language) for one in found.timing.messages(language)]
    told = {"late": duration(late), "end": _by(window.end, window, language)}
    return [messages.sentence("web.was-late", language, **told)]


def clock(offer: Offer, language: str) -> Callable[[datetime], str]:
    """Return a formatter of moments, to the second, in the time zone of the assignment's common dates."""
    schedule = attempts.schedule_of(offer, loaded(offer).rubric)

    def told(moment: datetime) -> str:
        moment = moment.replace(microsecond=0)
        return _by(moment, schedule.common, language) if schedule else format_moment(moment, "UTC", language)

    return told


def course_clock(course: CourseRecord, language: str) -> Callable[[datetime], str]:
    """Return a formatter of moments, to the second, in the time zone of a course if it has one, or UTC."""
    dates = Offer.objects.filter(course=course).exclude(times={}).values_list("times", flat=True)
    stated = {one.get("zone", "") for one in dates}
    try:
        # One clock cannot show dates of several zones.
        zone = named_zone(stated.pop() if len(stated) == 1 else "UTC")
    except ValueError:  # times with an offset need no zone
        zone = named_zone("UTC")

    def told(moment: datetime) -> str:
        return format_moment(moment.astimezone(zone).replace(microsecond=0), zone.key, language)

    return told


def _by(moment: datetime, window: Window, language: str) -> str:
    return format_moment(by_clock(moment, window), window.zone, language)


def counts(offer: Offer, student: str) -> dict[str, str]:
    """Return the attempts that count for a student: id → code of the sentence that says for what."""
    rubric = loaded(offer).rubric
    found = attempts.counting(offer, student, rubric)
    if found is None:
        return {}
    # Without a separate individual part, one attempt counts for everything.
    whole = found.group is None or not rubric.assignment.individual or found.own == found.folder
    if whole:
        return {found.folder.name: "counts"}
    alone = {found.own.name: "counts-alone"} if found.own else {}
    return {found.folder.name: "counts-together", **alone}


def counting_reasons(offer: Offer, student: str, language: str) -> list[str]:
    """Return which attempt counts and why, as the student reads it; empty without a submission."""
    found = attempts.counting(offer, student, loaded(offer).rubric)
    if found is None:
        return []
    members = attempts.together(offer, student)
    everything = Attempt.objects.filter(offer=offer, student__in=members)
    counting = everything.get(pk=found.folder.name)
    code = "web.which" if counting.student == student else "web.which-of"
    which = messages.sentence(code, language, number=counting.number, student=counting.student)
    reasons = [messages.render(one, language) for one in found.messages(language)]
    if found.timing and found.timing.instead:
        reasons += [messages.render(one, language) for one in found.timing.messages(language)]
    later = everything.filter(submitted_at__gt=counting.submitted_at)
    if not reasons:
        code = "web.which-failed" if later.filter(state=State.FAILED).exists() else "web.which-last"
        reasons = [messages.sentence(code, language)]
    return [which, *reasons]


def parts(offer: Offer, student: str, language: str) -> list[PartShown]:
    """Return the parts that a group submits together and a member submits alone, with their files.

    Empty if there are no separate parts.
    """
    assignment = loaded(offer)
    if not _is_apart(offer, student):
        return []
    found = attempts.counting(offer, student, assignment.rubric)
    folders = {"together": found.folder if found else None, "alone": found.own if found else None}
    return [
        _part(code, folder.name if folder else "", wanted(assignment, alone=code == "alone"), language)
        for code, folder in folders.items()
    ]


def _part(code: str, number: str, names: Sequence[str], language: str) -> PartShown:
    attempt = Attempt.objects.select_related("offer").get(pk=number) if number else None
    held = set(attempt.files.values_list("name", flat=True)) if attempt else set()
    there, missing = [one for one in names if one in held], [one for one in names if one not in held]
    if attempt is None or not there:
        return PartShown(code, (), missing)
    return PartShown(code, there, missing, attempt.student, received(attempt, language))


def _is_apart(offer: Offer, student: str) -> bool:
    """Decide whether a student submits some files with a group and others alone."""
    return attempts.is_apart(offer, loaded(offer).rubric) and bool(attempts.group_of(offer, student))


def checked(attempt: Attempt, language: str) -> list[CheckedFile]:
    """Check the files of an attempt without running them; also report unexpected and missing files."""
    released = versions.released(attempt.version, attempt.student, [FILE_NAME])
    # Taken from the student's own release, because variants differ.
    specification = read_specification(released[FILE_NAME].decode(), FILE_NAME)
    files, assignment = attempts.contents(attempt), settings.RUNNING.loaded.of(attempt.version)
    asked_for = list(asked_files(assignment.rubric))
    found = [
        _checked(name, files, specification, language)
        for name in sorted(files)
        if name.endswith(".ipynb") and name in asked_for
    ]
    # Files that were already reported, or belong to the part that this attempt leaves out, are not missing.
    told = _other_part(attempt, assignment, files)
    for name, beside in specification.get("files", {}).items():
        if f"{name}.ipynb" not in files and not (told and told.issuperset(one["path"] for one in beside)):
            told |= {one["path"] for one in beside}
            report = saved_notebook.report_on_files(specification, name, language, files)
            found.append(_seen(messages.sentence("page.files", language), report))
    others = {name: "web.not-wanted" for name in sorted(files) if name not in asked_for}
    others |= {name: "web.not-there" for name in wanted(assignment) if name not in files and name not in told}
    for name, code in others.items():
        line = LineShown(MISSING, MARKS[MISSING], messages.sentence(code, language), "")
        found.append(CheckedFile(name, cells=[line]))
    return found


def _other_part(attempt: Attempt, assignment: Assignment, files: Collection[str]) -> set[str]:
    """Return the files of a part (group or individual) of which the attempt has no file at all.

    They are not reported as missing, because the two parts are submitted separately.
    """
    if not _is_apart(attempt.offer, attempt.student):
        return set()
    both = (wanted(assignment, alone=False), wanted(assignment, alone=True))
    return {name for part in both if set(part).isdisjoint(files) for name in part}


def _checked(
    name: str, files: Mapping[str, bytes], specification: Mapping[str, object], language: str
) -> CheckedFile:
    try:
        cells = parse(files[name]).cells
        found = saved_notebook.report_on(cells, specification, name.removesuffix(".ipynb"), language, files)
    except (NotebookError, CourseError) as error:
        return CheckedFile(name, reason=str(error))
    return _seen(name, found)


def _seen(name: str, found: saved_notebook.NotebookReport) -> CheckedFile:
    return CheckedFile(
        name,
        [AnswerShown(one.question, one.title, [_line(line) for line in one.lines]) for one in found.reports],
        [_line(line) for line in (*found.cells, *found.files)],
    )


def _line(line: ReportLine) -> LineShown:
    return LineShown(line.state, MARKS[line.state], line.text, line.mathml)


def releases_of(offer: Offer, student: str) -> Mapping[str, Release]:
    """Return the released notebooks of a student, by name."""
    assignment = loaded(offer)
    if assignment.manifest is None:
        return assignment.releases
    notebooks = {f"{name}.ipynb": name for name in assignment.releases}
    files = versions.released(offer.version, student, notebooks)
    return {name: load_release(files[file], name) for file, name in notebooks.items()}


def _name(offer: Offer, student: str) -> str:
    """Return the name of a student on the class list."""
    member = Member.objects.filter(course=offer.course, student=student).first()
    return f"{member.first_name} {member.last_name}".strip() if member else ""


def feedback(offer: Offer, student: str, language: str) -> str | None:
    """Render the feedback page of the attempt that counts as a standalone file; None if nothing is graded."""
    graded, marks = DatabaseStore(offer.course).of_student(offer.assignment, student)
    if graded is None:
        return None
    assignment = loaded(offer)
    handin: Handin | None = attempts.counting(offer, student, assignment.rubric)
    graded = current(graded, handin)
    return render(
        graded,
        assignment.rubric_of(graded.score.asked),
        language=language,
        submitted_at=handin.submitted_at if handin else None,
        stands=stands(offer, assignment, graded, marks),
        timing=handin.timing if handin else None,
        reasons=handin.messages(language) if handin else (),
        changes=changes.told(offer, assignment, student),
        releases=releases_of(offer, student),
        name=_name(offer, student),
    )
