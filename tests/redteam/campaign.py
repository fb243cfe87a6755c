"""Grade a whole class of attackers and honest students with the real product.

Everything is real: files in ``submitted/``, the batch with its sandboxes, the gradebook, the feedback pages
and the command line. Findings are reported in the columns of `tests.redteam.report`.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from unittest import mock

from msgspec import Struct, field

from autograder.core.records import CellRun, GradingResult, Status
from autograder.course import counting_attempts
from autograder.grading import batch
from autograder.grading.unreadable_answers import IMPORT_FAILED
from autograder.sandbox.pool import Pool
from autograder.store.gradebook import Gradebook
from tests.redteam import budgets, watch
from tests.redteam.budgets import Meter
from tests.redteam.entrants import Entrant
from tests.redteam.exam import TOLD, Exam
from tests.redteam.lab import Lab
from tests.redteam.published import Published, faults_of_everything
from tests.redteam.report import WHOLE_RUN, Line
from tests.redteam.strained import Strained, accused, points
from tests.redteam.tables import write_hostile_roster
from tests.redteam.world import World
from tests.support.leftovers import Traces, settled, traces
from tests.support.pace import patient_grader

LEFT_TO_A_PERSON = frozenset({"hard-link", "not-readable", "ended-itself", IMPORT_FAILED, "answer-unclear"})
"""Codes that could also come from an honest accident or a fault of ours; each is reported to staff."""
OUR_FAULTS = {"our-fault", "sandbox-fault", "needs-review"}
WORKERS = 3
"""Workers: one more than the cores of a small machine, because many attacks only sleep."""

Points = Mapping[str, Decimal]
Told = Callable[[Line], None]


class Campaign(Struct):
    """One run and its lines."""

    exam: Exam | Lab
    entrants: Sequence[Entrant]
    world: World
    lines: dict[str, Line]
    """By student."""
    whole: Line
    """Findings that cannot be attributed to one entrant."""
    graded: dict[str, GradingResult]
    wrong: Points = field(default_factory=dict)
    """The points of the attackers' paper without an attack."""
    right: Points = field(default_factory=dict)
    """The points of the answer key without attackers, and so of every honest student at any time."""
    meter: Meter = field(default_factory=Meter)
    strained: Strained | None = None
    costs: dict[str, Mapping[str, float]] = field(default_factory=dict)
    """Measured quantity → student → amount."""

    def all_lines(self) -> list[Line]:
        """Return the entrants' lines in order, and that of the whole run."""
        return [*self.lines.values(), self.whole]


def run(
    exam: Exam | Lab,
    entrants: Sequence[Entrant],
    world: World,
    told: Told = lambda _: None,
    *,
    strain: bool = True,
) -> Campaign:
    """Submit, grade and publish everything, and collect all findings.

    Args:
        exam: the exam, with an empty ``submitted/``.
        entrants: all students, in the order of grading.
        world: the targets that the attacks were given.
        told: called with each line when it is complete except for the final checks.
        strain: whether to grade classmates with little slack repeatedly at the same time (exam only).
    """
    campaign = Campaign(
        exam=exam,
        entrants=entrants,
        world=world,
        lines={one.student: _line(one) for one in entrants},
        whole=Line("run", f"{WHOLE_RUN}: {exam.assignment.name}", "run"),
        graded={},
    )
    with patient_grader(), _own_temporary_folder(exam.course.root.parent / "temporary") as temporary:
        before, state = traces(), world.state()
        for entrant in entrants:
            entrant.hand_in(exam.course.root / "submitted" / entrant.student / exam.assignment.name)
        write_hostile_roster(exam.course.root, [one.student for one in entrants if one.role == "attack"])
        files = watch.contents(exam.course.root)
        with Pool() as pool:
            _grade_alone(campaign, pool, strain=strain)
            _grade_class(campaign, pool, told)
        _look_at_classmates(campaign)
        _look_at_files(campaign, state, temporary)
        _look_at_processes(campaign, before)
        published = Published.by_command_line(
            exam.course, exam.assignment.name, list(campaign.graded), world.folder.parent
        )
        for student, column, fault in faults_of_everything(published, exam, campaign.graded, entrants):
            campaign.lines.get(student, campaign.whole).found(column, fault)
        _look_at_costs(campaign)
        campaign.whole.found("files touched outside", *watch.changes(files, watch.contents(exam.course.root)))
    return campaign


def figures(campaign: Campaign) -> Iterator[str]:
    """Return in words which entrant came closest to each limit."""
    stays, strained = campaign.meter.stays.values(), campaign.strained
    if strained is not None:
        yield f"{strained.graded} classmates with little slack, the longest took {strained.longest:.1f} s"
    for what, most, found in (
        (
            "s of the grader's processor",
            budgets.MOST_PROCESSOR_SECONDS,
            {one.student: one.processor_seconds for one in stays},
        ),
        ("MB in the grader", budgets.MOST_MEMORY_MB, {one.student: one.memory_mb for one in stays}),
        ("bytes in the gradebook", budgets.MOST_STORED_BYTES, campaign.costs.get("stored", {})),
        ("bytes of pages", budgets.MOST_PAGE_BYTES, campaign.costs.get("pages", {})),
    ):
        first = sorted(found, key=found.__getitem__, reverse=True)[:3]
        named = [f"{found[one]:,.1f} ({_title(campaign, one)})" for one in first]
        yield f"most {what}, of {most:,.0f}: {'; '.join(named)}"


def _title(campaign: Campaign, student: str) -> str:
    line = campaign.lines.get(student)
    return f"{line.kind}: {line.name}" if line else student


def _line(entrant: Entrant) -> Line:
    outcome = "" if entrant.graded else "refused for the name of its folder"
    return Line(entrant.kind, entrant.title, entrant.role, entrant.student, outcome)


@contextmanager
def _own_temporary_folder(folder: Path) -> Iterator[Path]:
    """Use a new folder for temporary files, so that everything left in it comes from this run."""
    folder.mkdir()
    before, environment = tempfile.tempdir, os.environ.get("TMPDIR")
    tempfile.tempdir = os.environ["TMPDIR"] = str(folder)
    try:
        yield folder
    finally:
        tempfile.tempdir = before
        if environment is None:
            del os.environ["TMPDIR"]
        else:
            os.environ["TMPDIR"] = environment


def _grade_alone(campaign: Campaign, pool: Pool, *, strain: bool) -> None:
    """Grade the answer key and the attackers' paper without an attacker."""
    grader = budgets.measured(campaign.meter)(campaign.exam.assignment, pool)
    campaign.right = points(grader.grade(campaign.exam.right_paper()))
    if (earned := sum(campaign.right.values())) != campaign.exam.full:
        campaign.whole.found("classmates' marks", f"an answer key earns {earned} with nobody beside it")
    campaign.wrong = points(grader.grade(campaign.exam.wrong_paper()))
    if not strain or isinstance(campaign.exam, Lab):
        return
    campaign.strained = Strained(campaign.exam, grader)
    if campaign.strained.alone != campaign.exam.full:
        text = f"a classmate with little slack earns {campaign.strained.alone} with nobody beside it"
        campaign.whole.found("classmates' marks", text)


def _grade_class(campaign: Campaign, pool: Pool, told: Told) -> None:
    course = campaign.exam.course
    glance = watch.glance(course.root)
    with (
        Gradebook(course.gradebook) as gradebook,
        mock.patch.object(batch, "Grader", budgets.measured(campaign.meter)),
        campaign.meter.sampling(),
        campaign.strained or contextlib.nullcontext(),
    ):
        handins = counting_attempts.find_counting_attempts(course, campaign.exam.assignment.rubric).handins
        for outcome in batch.grade_class(campaign.exam.assignment, handins, gradebook, pool, workers=WORKERS):
            line = campaign.lines.get(outcome.student)
            if line is None:
                campaign.whole.found("files touched outside", f"a student {outcome.student!r} nobody knows")
                continue
            key = gradebook.load_keys(campaign.exam.assignment.name)[outcome.student]
            graded = gradebook.find_result(key) or outcome.graded
            campaign.graded[outcome.student] = graded
            _judge(campaign, line, graded)
            now = watch.glance(course.root)
            line.found("files touched outside", *watch.changes(glance, now))
            line.found("files touched outside", *["a connection"] * campaign.world.visits())
            glance = now
            told(line)


def _judge(campaign: Campaign, line: Line, graded: GradingResult) -> None:
    """Note the findings of a single result."""
    earned = points(graded)
    line.outcome, line.seconds = outcome_text(graded), graded.seconds
    if line.role == "attack":
        line.found("marks changed", *(item for item, got in earned.items() if got > campaign.wrong[item]))
        refused = all(item.staff.startswith("not graded ") for item in graded.score.items)
        if not refused and not LEFT_TO_A_PERSON & {note.code for note in graded.score.notes}:
            waits = waiting(graded) - campaign.exam.manual - unrecorded(graded)
            line.found("false our fault", *(f"{item} waits for a person" for item in sorted(waits)))
    else:
        right = campaign.right
        line.found("classmates' marks", *(item for item, got in earned.items() if got != right[item]))
    line.found("files touched outside", *reached(graded))
    line.found("grader failures", *(note.text for note in graded.score.notes if note.code in OUR_FAULTS))
    line.found(
        "grader failures", *(item.staff for item in graded.score.items if item.student.code == "review.fault")
    )


def waiting(graded: GradingResult) -> frozenset[str]:
    """Return the items that need manual review."""
    items = (item for item in graded.score.items if item.status is Status.NEEDS_REVIEW)
    return frozenset(f"{item.question}.{item.item}" for item in items)


def unrecorded(graded: GradingResult) -> frozenset[str]:
    """Return the items that need review because code is obfuscated or a submission cannot be read.

    They include values that a check cannot compute with, and unexpected files of a notebook without points.
    """
    unread = ("forbidden.look", "unreadable.", "formula.not-a-formula", "number.", "shape.")
    unread += ("code.review", "review.unread")
    items = (item for item in graded.score.items if item.code.startswith(unread))
    return frozenset(f"{item.question}.{item.item}" for item in items)


def reached(graded: GradingResult) -> list[str]:
    """Return what an attack has reached, as printed by its last cell."""
    runs = [run for notebook in graded.notebooks for run in notebook.runs if run]
    told = next((said for run in reversed(runs) if (said := _said(run))), "[]")
    return [] if told == "[]" else [told[:200]]


def _said(run: CellRun) -> str:
    texts = (output.data.get("text/plain", "") for output in run.outputs)
    return next((text.strip().removeprefix(TOLD) for text in texts if text.startswith(TOLD)), "")


def outcome_text(graded: GradingResult) -> str:
    """Return in a few words how it ended."""
    runs = [run for notebook in graded.notebooks for run in notebook.runs if run]
    ends = [run.ending.value for run in runs if run.ending] or [run.error for run in runs if run.error][:2]
    ends += [item.staff[:60] for item in graded.score.items[:1] if not graded.notebooks]
    waiting = f" ({graded.score.pending.normalize():f} wait for a person)" if graded.score.pending else ""
    told = ", ".join(dict.fromkeys(ends)) or "ran to the end"
    return f"{graded.score.points.normalize():f} points{waiting}; {told}"


def _look_at_classmates(campaign: Campaign) -> None:
    """Attribute losses of classmates with little slack to all who were graded at the same time."""
    if campaign.strained is None:
        return
    for student, loss in accused(campaign.strained.losses, campaign.meter):
        column = "classmates' time" if loss.late else "classmates' marks"
        text = f"a classmate lost {loss.points} points meanwhile: {loss.said}"
        campaign.lines.get(student, campaign.whole).found(column, text)


def _look_at_costs(campaign: Campaign) -> None:
    """Note what each entrant cost the grader: processor time, memory, space in the store and on disk."""
    course = campaign.exam.course
    for student, stay in campaign.meter.stays.items():
        line = campaign.lines.get(student, campaign.whole)
        if stay.processor_seconds > budgets.MOST_PROCESSOR_SECONDS:
            line.found("grader's time", f"{stay.processor_seconds:.1f} s of the grader's processor")
        if stay.memory_mb > budgets.MOST_MEMORY_MB:
            line.found("grader's memory", f"{stay.memory_mb:.0f} MB while it was graded")
    campaign.costs["stored"] = budgets.stored(course.gradebook)
    campaign.costs["pages"] = budgets.pages(course.root, campaign.graded)
    for most, found in (
        (budgets.MOST_STORED_BYTES, campaign.costs["stored"]),
        (budgets.MOST_PAGE_BYTES, campaign.costs["pages"]),
    ):
        for student, size in found.items():
            if size > most:
                campaign.lines.get(student, campaign.whole).found("bytes stored", f"{size:,} of {most:,}")


def _look_at_files(campaign: Campaign, state: tuple[object, ...], temporary: Path) -> None:
    """Check the baits and the folder for temporary files."""
    if state != campaign.world.state():
        campaign.whole.found("files touched outside", "the baits beside the course")
    campaign.whole.found("processes left", *(f"temporary file {path.name}" for path in temporary.iterdir()))


def _look_at_processes(campaign: Campaign, before: Traces) -> None:
    """Check for everything that a box could leave behind, after all sandboxes are closed."""
    after = settled(before)
    left = campaign.whole
    left.found("processes left", *(f"process {pid}" for pid in after.processes - before.processes))
    left.found("processes left", *(f"control group {name}" for name in after.groups - before.groups))
    left.found("processes left", *["a mount"] * (after.mounts - before.mounts))
    left.found("processes left", *["an open descriptor"] * (after.descriptors - before.descriptors))
