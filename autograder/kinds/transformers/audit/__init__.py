"""The kind ``audit``: evidence instead of opinion.

Either a listing is read, and every fault that is claimed in it has to be proved by inputs on which it
violates its definition; or a test is written, and tried on classes that are right and classes that are not.
What the student's box returns are plain arrays: they are checked here, and the listing and the definition
compute with them in the reference's box.
"""

from __future__ import annotations

from typing import ClassVar

from autograder.checks.base import Draw, Evidence, SecondRound
from autograder.checks.itemwise import ItemwiseCheck
from autograder.checks.judging.results import Finding
from autograder.checks.kind import Kind
from autograder.kinds.transformers.audit.listing import ListingForm
from autograder.kinds.transformers.audit.options import AuditItem, AuditQuestion, check_form
from autograder.kinds.transformers.audit.testing import TestForm
from autograder.records import Answer, Scenario
from autograder.rubric import Item


class AuditCheck(ItemwiseCheck[AuditQuestion, AuditItem]):
    """Judges claims about code by what the code computes."""

    kind: ClassVar[str] = "audit"
    question_type = AuditQuestion
    item_type = AuditItem

    def prepare(self) -> None:
        """Refuse options of the other form."""
        check_form(self.question, self.options, self.items)
        listing = self.options.form == "listing"
        self._form = ListingForm(self.question, self.options) if listing else TestForm(self.question)

    def asked(self, answer: Answer, draw: Draw) -> tuple[Scenario, ...]:
        """What the student's box is asked first."""
        del answer
        return self._form.plan(draw)

    def reference_plan(self, draw: Draw) -> tuple[Scenario, ...]:
        """What was planted, or the classes."""
        return self._form.reference_plan(draw)

    def second_round(self, evidence: Evidence) -> SecondRound:
        """Counterexamples go to the reference's box, classes to the student's."""
        return self._form.second_round(evidence)

    def verdict(self, item: Item, options: AuditItem, evidence: Evidence) -> Finding | None:
        """What is missing for full points; None where nothing is."""
        return self._form.judge(item, options, evidence)


KIND = Kind(AuditCheck)
