"""The kind ``tests``: test cells as in nbgrader and otter, run in a sandbox without student code.

The notebook stops at a test's position; the test runs in a separate sandbox, which requests from the
student's sandbox the objects that the test uses (`autograder.sandbox.judge_session`). Outcomes are judged
here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, ClassVar, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from autograder.core.errors import RubricError
from autograder.core.records import Answer, CellOutcome, CellTest, ItemResult, Message, Status
from autograder.questions.base.base import Draw, Evidence, Trial
from autograder.questions.base.itemwise import ItemwiseCheck, Verdict
from autograder.questions.base.judging.judgeable import make_changed_forms
from autograder.questions.base.judging.outcomes import describe_outcome, judge_run
from autograder.questions.base.judging.results import (
    Finding,
    is_blank,
    make_failure,
    make_no_answer,
    make_result,
    make_review,
)
from autograder.questions.base.kind import Kind
from autograder.questions.base.options import CENT, locate_question
from autograder.questions.base.values.quoting import quote_text
from autograder.rubric import Item


class NotebookTestsQuestion(Struct, frozen=True):
    """Options of a ``tests`` question."""

    style: Literal["nbgrader", "otter"] = "nbgrader"
    """``nbgrader``: a number as the last expression is partial credit, and tests see the definitions of
    earlier ones; ``otter``: a test passes or fails, in a separate namespace."""
    after: str = ""
    """grade_id of the cell at which the tests run: those before it have run; default: after the last cell."""
    all_or_nothing: bool = False
    """Points are given only if every test passes."""
    notebook_names: tuple[str, ...] = ()
    """Names that tests take from the student's notebook although Python or an import has them as well, such
    as ``max`` if students write their own ``max``."""
    judged: Literal["outside", "inside"] = "outside"
    """``inside``: in the student's own sandbox, where their code can disarm a test; results say so."""


class NotebookTestsItem(Struct, frozen=True):
    """Options of an item: one test."""

    code: str
    """The whole test, hidden lines included."""
    doctest: bool = False
    """``code`` is an interactive session."""
    visible: bool = False
    """Students saw the test: the message contains its exception."""
    seconds: Annotated[float, Meta(ge=0.1, le=3600)] = 30.0
    """Limit of processor time, including the student's code."""
    success: dict[str, str] = {}
    """The text for students if it passes, by language."""
    failure: dict[str, str] = {}
    """The text for students if it does not pass."""


class NotebookTestsCheck(ItemwiseCheck[NotebookTestsQuestion, NotebookTestsItem]):
    """A question with tests as items."""

    kind: ClassVar[str] = "tests"
    question_type = NotebookTestsQuestion
    item_type = NotebookTestsItem
    runs_tests: ClassVar[bool] = True

    def prepare(self) -> None:
        """Refuse a test without code, and one that deducts points."""
        for item, options in self.automatic:
            where = locate_question(self.question, item)
            if not options.code.strip():
                raise RubricError("the test is empty; expected its code", where, "code")
            if item.points < 0:
                raise RubricError("a test takes no points away; expected 0 or more", where, "points")

    @property
    def after(self) -> str:
        """See `Check.after`."""
        return self.options.after

    def make_cell_tests(self, draw: Draw) -> Mapping[str, CellTest]:
        """Return the test of each item that is graded automatically."""
        del draw
        inside = self.options.judged == "inside"
        return {
            item.id: CellTest(
                f"{self.question.id}.{item.id}",
                options.code,
                doctest=options.doctest,
                seconds=options.seconds,
                shared=self.options.style == "nbgrader",
                students=(*filter(None, (self.question.answer,)), *self.options.notebook_names),
                inside=inside,
                changed=make_changed_forms(options.code, is_doctest=options.doctest) if inside else (),
            )
            for item, options in self.automatic
        }

    def is_unanswered(self, answer: Answer) -> bool:
        """Return False: a test may be about other cells as well, and detects a missing answer itself."""
        del answer
        return False

    def judge(self, evidence: Evidence) -> tuple[ItemResult, ...]:
        """Return one result per test; with ``all_or_nothing``, all pass or none does."""
        results = super().judge(evidence)
        if not self.options.all_or_nothing or all(judged.status is Status.PASSED for judged in results):
            return results
        waits = any(judged.status is Status.NEEDS_REVIEW for judged in results)
        lost = any(judged.status in (Status.FAILED, Status.NO_ANSWER) for judged in results)
        finding = make_failure("tests.together", "another test of the question did not pass")
        # A lost test decides that no points are given; otherwise they are open until the review.
        if waits and not lost:
            finding = make_review("another test of the question waits for a person", "tests.review")
        return tuple(
            make_result(self.question, self.question.get_item(judged.item), finding)
            if judged.status is Status.PASSED
            else judged
            for judged in results
        )

    def judge_item(self, item: Item, options: NotebookTestsItem, evidence: Evidence) -> Verdict:
        """Return the judgement of a test."""
        outcome = evidence.tests.get(item.id)
        if outcome is None:
            return make_no_answer() if is_blank(evidence.answer) else make_review("the test was not run")
        staff = describe_outcome(outcome)
        blank = is_blank(evidence.answer)
        if blank and not outcome.passed and not outcome.refused:
            return make_no_answer(staff=staff)
        limits = self.rubric.assignment.limits
        finding = judge_run(outcome, limits=limits, seconds=options.seconds, review_code="tests.review")
        if finding is not None:
            return finding
        if not outcome.passed:
            return self._make_failure(options, outcome, staff)
        # A test that passes without an answer says nothing about the student.
        if blank:
            return make_review(f"nothing was written, and the test passes: {staff}", "tests.review")
        finding = _read_partial(item, outcome, staff) if self.options.style == "nbgrader" else None
        if finding is not None:
            return finding
        passed = make_result(self.question, item, None)
        said = Message("tests.passed", text=options.success) if options.success else passed.student
        return replace(passed, student=said, staff=staff or passed.staff)

    def _make_failure(self, options: NotebookTestsItem, outcome: CellOutcome, staff: str) -> Finding:
        """Return the finding about a test that did not pass."""
        if options.failure:
            return Finding(Status.FAILED, Message("tests.failed", text=options.failure), staff)
        if options.visible:
            text = quote_text(": ".join(part for part in (outcome.error, outcome.message) if part))
            return make_failure("tests.raised", staff, text=text)
        return make_failure("tests.failed", staff)

    def make_trials(self, key: Answer) -> tuple[Trial, ...]:
        """Return a cell that defines nothing, which must lose every test."""
        lost = tuple(item.id for item, _ in self.automatic)
        return (Trial("nothing is defined", "pass", lost),) if key.cell_type == "code" and lost else ()


def _read_partial(item: Item, outcome: CellOutcome, staff: str) -> Finding | None:
    """Return partial credit as in nbgrader: a number from 0 up to the points. None: full points.

    A last comparison that is true deducts nothing. nbgrader gives full points for one that is false, for a
    number outside this range and for anything that is no number, such as its text: those need manual review,
    because the last value of a test may be meant as its verdict.
    """
    value = outcome.value
    if value is None or value is True:
        return None
    odd = f"the test ends with {value!r}, which is no partial credit up to {item.points}: {staff}"
    if isinstance(value, bool | str) or not math.isfinite(value) or not 0 <= value <= item.points:
        return make_review(odd.rstrip(": "), "tests.review")
    points = Decimal(repr(value)).quantize(CENT)
    if points >= item.points:
        return None
    if not points:
        return make_failure("tests.failed", f"its partial credit is 0: {staff}")
    return Finding(Status.FAILED, Message("tests.partial"), f"partial credit {points}: {staff}", points)


KIND = Kind(NotebookTestsCheck)
