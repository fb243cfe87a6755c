"""Compare the items that a trial must lose with those that it lost. Pure; runs no code."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal

from msgspec import Struct

from autograder.core.records import ItemResult, Limits, Note, ResourceUsage, Score, Status
from autograder.core.wording import LocalisedText, Phrase
from autograder.messages import build_localised_text, load_sentences
from autograder.questions.base.base import TRIVIAL, Trial
from autograder.rubric import Item, Question, Rubric
from autograder.sandbox import limit_notes


class VerifyFinding(Struct, frozen=True):
    """A deviation from the expected result."""

    paper: str
    """``"answer key"``, ``"untouched release"``, ``"rubric"``, ``"course"``, or a trial."""
    place: str
    """``question.item``, or a notebook and a cell."""
    expected: str
    got: str
    remedy: Phrase


def state_remedy(code: str, **params: object) -> LocalisedText:
    """Return what an author can do about a finding, in every language."""
    return build_localised_text(f"verify.{code}", **params)


def localise_paper(paper: str) -> Phrase:
    """Return the name of a finding's paper in every language."""
    if trial := _TRIAL.fullmatch(paper):
        return build_localised_text("verify.trial", name=trial[1], question=trial[2])
    code = f"verify.{paper.replace(' ', '-')}"
    return build_localised_text(code) if code in load_sentences() else paper


_TRIAL = re.compile(r"trial (.+) of (\S+)", re.DOTALL)
"""See `name_trial`."""


class Mark(enum.StrEnum):
    """The result of one item in one trial."""

    KEPT = "kept"
    LOST = "lost"
    OPEN = "open"
    """It could not be judged, which is our fault."""


class Row(Struct, frozen=True):
    """One trial and its result."""

    name: str
    family: str
    loses: tuple[str, ...]
    """Items that it must lose; none for an accepted alternative."""
    marks: Mapping[str, Mark]
    """By item of the question."""
    wrong: tuple[str, ...] = ()
    """Items with a result other than the trial states."""
    findings: tuple[VerifyFinding, ...] = ()
    """About these items, and about items of other questions."""
    warnings: tuple[VerifyFinding, ...] = ()
    """Results that are allowed, but deserve attention."""
    spent: ResourceUsage | None = None
    """Resources used; None if its text was sufficient, so that no code was run."""


class Matrix(Struct, frozen=True):
    """All trials of one question."""

    question: str
    items: tuple[str, ...]
    manual: tuple[str, ...]
    """The items that need manual review."""
    rows: tuple[Row, ...]

    @property
    def mistakes(self) -> tuple[Row, ...]:
        """The trials that must lose at least one item."""
        return tuple(row for row in self.rows if row.loses)

    @property
    def alternatives(self) -> tuple[Row, ...]:
        """The trials that must not lose any item."""
        return tuple(row for row in self.rows if not row.loses and row.family != TRIVIAL)


class Survivor(Struct, frozen=True):
    """A mutant of the answer key that passes the tests of its cell."""

    line: int
    """Line in the answer cell, from 1."""
    before: str
    after: str
    mistake: str
    """A short description of the change."""
    elsewhere: tuple[str, ...] = ()
    """Questions about other cells that lose points."""


class MutatedCell(Struct, frozen=True):
    """One answer cell of an adopted assignment, and the results of its tests on mutants."""

    notebook: str
    cell: str
    tests: tuple[str, ...]
    """The questions about this cell; all questions of the notebook if it has none."""
    mutants: int
    undecided: int
    """Mutants that need manual review."""
    survivors: tuple[Survivor, ...]


class Verification(Struct, frozen=True):
    """The result of verifying one assignment."""

    assignment: str
    findings: tuple[VerifyFinding, ...]
    matrices: tuple[Matrix, ...] = ()
    key: ResourceUsage = ResourceUsage()
    """Resources used by the answer key."""
    most: ResourceUsage = ResourceUsage()
    """The most that the key or a trial used, for each limit."""
    boxes: int = 0
    """Number of trials for which a whole notebook was run."""
    seconds: float = 0.0
    warnings: tuple[VerifyFinding, ...] = ()
    """Results that are allowed, but deserve attention."""
    mutated: tuple[MutatedCell, ...] = ()
    """For an adopted assignment: the results of the assignment's tests on mutants of the answer key."""
    automatic: Decimal = Decimal(0)
    """Points of the items that are graded automatically."""
    possible: Decimal = Decimal(0)
    """Points of all items."""


HEADROOM = 2
"""The answer key and each trial may use at most 1/HEADROOM of each limit.

A correct solution of a student may be slower than the key, and graders are busy."""


_STOPPED = frozenset((limit_notes.CELL_ENDED, limit_notes.CALL_ENDED, limit_notes.MET))
"""Codes of notes about cells and calls that were stopped, or met a limit."""


def find_exceeded(spent: ResourceUsage, limits: Limits) -> frozenset[str]:
    """Return the limits of which too much was used to leave headroom."""
    names = ResourceUsage.__struct_fields__
    return frozenset(name for name in names if getattr(spent, name) * HEADROOM > float(getattr(limits, name)))


def report_exceeded(
    paper: str, place: str, spent: ResourceUsage, limits: Limits, names: Iterable[str]
) -> Iterator[VerifyFinding]:
    """Report usage that is too close to the named limits."""
    for name in sorted(names):
        allowed = float(getattr(limits, name))
        unit = "MB" if name.endswith("_mb") else "s"
        yield VerifyFinding(
            paper,
            place,
            f"at most {allowed / HEADROOM:g} {unit}, one part in {HEADROOM} of {name}",
            f"{getattr(spent, name):.3g} {unit}",
            state_remedy("headroom", limit=name),
        )


def report_stopped(paper: str, place: str, notes: Iterable[Note]) -> Iterator[VerifyFinding]:
    """Report cells and calls that were stopped, or that met a limit and continued.

    Points that are lost for that reason do not show that the check works.
    """
    for note in notes:
        if note.code in _STOPPED:
            yield VerifyFinding(
                paper,
                place,
                "code that ends by itself, within every limit",
                f"{note.place}: {note.text}".removeprefix(": "),
                state_remedy("stopped"),
            )


def take_smaller(first: ResourceUsage, second: ResourceUsage) -> ResourceUsage:
    """Return the smaller usage for each limit, of two runs of the same paper."""
    return ResourceUsage(
        **{name: min(getattr(first, name), getattr(second, name)) for name in ResourceUsage.__struct_fields__}
    )


def mark_item(item: Item, result: ItemResult) -> Mark:
    """Return the mark of an item.

    A manual item is kept as long as it needs review. An item with negative points is lost if it fails, even
    if no points are left to deduct.
    """
    if item.manual:
        return Mark.KEPT if result.status is Status.NEEDS_REVIEW else Mark.LOST
    if result.status is Status.NEEDS_REVIEW:
        return Mark.OPEN
    if item.points < 0:
        return Mark.LOST if result.status is Status.FAILED else Mark.KEPT
    return Mark.KEPT if result.points == item.points else Mark.LOST


def build_row(
    trial: Trial,
    question: Question,
    rubric: Rubric,
    score: Score,
    key: Mapping[str, Mark],
) -> Row:
    """Compare a trial with its result.

    Args:
        trial: the trial.
        question: the question of the planted answer.
        rubric: the rubric of the assignment.
        score: the score of the paper with the planted answer.
        key: the mark of each item (``question.item``) of the key itself; items that the key does not keep are
            skipped.
    """
    marks: dict[str, Mark] = {}
    findings: list[VerifyFinding] = []
    for result in score.items:
        item = rubric.get_question(result.question).get_item(result.item)
        place = f"{result.question}.{result.item}"
        actual = mark_item(item, result)
        is_own = result.question == question.id
        if is_own:
            marks[item.id] = actual
            findings += _check_sentence(trial, question, result)
        # The trial changes the answer to this question as well, so its result is open.
        elif result.question in trial.earlier:
            continue
        must_lose = is_own and item.id in trial.loses
        # Items of other questions must be kept: the planted answer is the only change.
        wanted = Mark.LOST if must_lose else Mark.OPEN if is_own and item.id in trial.review else Mark.KEPT
        is_stated = not is_own or (item.id not in trial.unstated and not trial.loses_any)
        # A trial is not blamed for an item that the key itself does not keep.
        if key.get(place, Mark.KEPT) is not Mark.KEPT or not is_stated:
            continue
        if actual is not wanted:
            findings.append(_make_finding(trial, question, result, actual, wanted))
        elif must_lose:
            findings += _check_loss(trial, question, result)
    loses = trial.loses
    if trial.loses_any:
        loses = tuple(item for item, actual in marks.items() if actual is Mark.LOST)
        # A trial that may lose any item must lose at least one.
        if not loses:
            paper, expected = name_trial(trial, question), "at least one item that is lost"
            findings.append(VerifyFinding(paper, question.id, expected, "none", state_remedy("not-noticed")))
    warnings = []
    if trial.told_as and all(result.code != trial.told_as for result in score.items):
        expected = f"at least one item that is told as {trial.told_as!r}"
        got = f"{trial.name} is not recognised: its title and points never apply"
        remedy = state_remedy("not-recognised")
        warnings.append(VerifyFinding(name_trial(trial, question), question.id, expected, got, remedy))
    places = {finding.place for finding in findings}
    wrong = tuple(item for item in marks if f"{question.id}.{item}" in places)
    return Row(trial.name, trial.family, loses, marks, wrong, tuple(findings), tuple(warnings))


def _check_loss(trial: Trial, question: Question, result: ItemResult) -> Iterator[VerifyFinding]:
    """Report an item that is lost, but with another code or points than the trial states."""
    description = f"told as {result.code!r}; {describe_result(result)}"
    name, place = name_trial(trial, question), f"{result.question}.{result.item}"
    stated_code, points = trial.codes.get(result.item, ""), trial.points.get(result.item, result.points)
    if points != result.points:
        expected = f"{format_points(points)} of {format_points(result.possible)} points"
        yield VerifyFinding(name, place, expected, describe_result(result), state_remedy("earlier"))
    elif stated_code not in ("", result.code):
        yield VerifyFinding(name, place, f"told as {stated_code!r}", description, state_remedy("earlier"))


def check_coverage(matrix: Matrix) -> tuple[VerifyFinding, ...]:
    """Report the automatic items that no trial lost as it must: checks that were never seen to fail."""
    lost = {
        item
        for row in matrix.rows
        for item in row.loses
        if row.marks.get(item) is Mark.LOST and item not in row.wrong
    }
    return tuple(
        VerifyFinding(
            "rubric",
            f"{matrix.question}.{item}",
            "at least one trial that loses it",
            f"kept by all {len(matrix.rows)} trials" if matrix.rows else "no trial at all",
            state_remedy("never-lost"),
        )
        for item in matrix.items
        if item not in lost and item not in matrix.manual
    )


_WITHOUT_WORK = (
    (Mark.KEPT, "earned by", "without-work"),
    (Mark.OPEN, "manual review for", "review-without-work"),
)
"""Mark of an item for an answer without any work, verb of the warning, and code of the remedy."""


def list_warnings(matrix: Matrix) -> Iterator[VerifyFinding]:
    """Yield warnings of the rows and about automatic items that an answer without any work keeps.

    Items that need manual review for such an answer are included.
    """
    for row in matrix.rows:
        yield from row.warnings
    idle = [row for row in matrix.rows if row.family == TRIVIAL]
    for mark, got, remedy in _WITHOUT_WORK:
        by_names: dict[tuple[str, ...], list[str]] = {}
        for item in (item for item in matrix.items if item not in matrix.manual):
            # Items with the same rows share one warning.
            by_names.setdefault(tuple(row.name for row in idle if row.marks.get(item) is mark), []).append(
                item
            )
        for names, items in by_names.items():
            if names:
                expected = "an answer without any work that loses all items"
                text = f"{', '.join(items)}: {got} {', '.join(names)}"
                yield VerifyFinding(names[0], matrix.question, expected, text, state_remedy(remedy))


def build_matrix(question: Question, rows: Iterable[Row]) -> Matrix:
    """Collect all trials of one question."""
    return Matrix(
        question.id,
        tuple(item.id for item in question.items),
        tuple(item.id for item in question.items if item.manual),
        tuple(rows),
    )


def take_largest(spent: Iterable[ResourceUsage]) -> ResourceUsage:
    """Return the largest usage for each limit."""
    used = list(spent) or [ResourceUsage()]
    names = ResourceUsage.__struct_fields__
    return ResourceUsage(**{name: max(getattr(usage, name) for usage in used) for name in names})


def _make_finding(
    trial: Trial, question: Question, result: ItemResult, actual: Mark, wanted: Mark
) -> VerifyFinding:
    expected = "lost" if wanted is Mark.LOST else f"kept: all {format_points(result.possible)} points"
    remedy = "open" if actual is Mark.OPEN else "lost-more"
    if wanted is Mark.OPEN:
        expected, remedy = "manual review", "decided"
    elif actual is Mark.KEPT:
        remedy = "is-right" if _is_named(trial, question.get_item(result.item)) else "not-noticed"
    place = f"{result.question}.{result.item}"
    paper, got = name_trial(trial, question), describe_result(result)
    return VerifyFinding(paper, place, expected, got, state_remedy(remedy))


def _check_sentence(trial: Trial, question: Question, result: ItemResult) -> Iterator[VerifyFinding]:
    """Report a result without a message: students would see only its code."""
    if not result.student.text and result.student.code not in load_sentences():
        paper, place = name_trial(trial, question), f"{result.question}.{result.item}"
        shown = f"the bare code {result.student.code!r}"
        yield VerifyFinding(paper, place, "a sentence for students", shown, state_remedy("speechless"))


def _is_named(trial: Trial, item: Item) -> bool:
    """Return whether a trial plants a mistake that the rubric itself names for the item."""
    return trial.codes.get(item.id) in [mistake.get("code") for mistake in item.options.get("mistake", ())]


def name_trial(trial: Trial, question: Question) -> str:
    """Return the name of a trial in findings."""
    return f"trial {trial.name!r} of {question.id}"


def describe_result(result: ItemResult) -> str:
    """Describe a result for staff."""
    points = f"{format_points(result.points)} of {format_points(result.possible)} points"
    return f"{points} ({result.status.value}): {result.staff}"


def format_points(points: Decimal) -> str:
    """Format points without trailing zeros."""
    return f"{points.normalize():f}"
