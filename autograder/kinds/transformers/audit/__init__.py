"""The kind ``audit``: evidence instead of opinion.

Either a listing is read, and every fault that is claimed in it has to be proved by inputs on which it
violates its definition; or a test is written, and tried on classes that are right and classes that are not.
What the student's box returns are plain arrays: they are checked here, and the listing and the definition
compute with them in the reference's box.
"""

from __future__ import annotations

from typing import ClassVar

from autograder.checks.base import Draw, Evidence, SecondRound
from autograder.checks.judging.manual import manual
from autograder.checks.judging.results import blank, no_answer, result
from autograder.checks.options import item_options, question_options
from autograder.kinds.transformers.audit.listing import ListingForm
from autograder.kinds.transformers.audit.options import AuditItem, AuditQuestion, check_form
from autograder.kinds.transformers.audit.testing import TestForm
from autograder.records import Answer, ItemResult, Scenario
from autograder.rubric import Item, Question, Rubric


class AuditCheck:
    """Judges claims about code by what the code computes."""

    kind: ClassVar[str] = "audit"
    question_type = AuditQuestion
    item_type = AuditItem

    def __init__(self, question: Question, rubric: Rubric) -> None:
        """Validate the options; see `autograder.checks.base.Check`."""
        del rubric
        options = question_options(question, AuditQuestion)
        self._question = question
        self._items = item_options(question, AuditItem)
        check_form(question, options, self._items)
        self._form = ListingForm(question, options) if options.form == "listing" else TestForm(question)

    def plan(self, answer: Answer, draw: Draw) -> tuple[Scenario, ...]:
        """What the student's box is asked first."""
        return () if blank(answer) else self._form.plan(draw)

    def reference_plan(self, draw: Draw) -> tuple[Scenario, ...]:
        """What was planted, or the classes."""
        return self._form.reference_plan(draw)

    def second_round(self, evidence: Evidence) -> SecondRound:
        """Counterexamples go to the reference's box, classes to the student's."""
        return self._form.second_round(evidence)

    def judge(self, evidence: Evidence) -> tuple[ItemResult, ...]:
        """One result per item; see `autograder.checks.base.Check`."""
        return tuple(self._judge(item, evidence) for item in self._question.items)

    def _judge(self, item: Item, evidence: Evidence) -> ItemResult:
        if item.manual:
            return manual(self._question, item, evidence)
        if blank(evidence.answer):
            return result(self._question, item, no_answer())
        return result(self._question, item, self._form.judge(item, self._items[item.id], evidence))
