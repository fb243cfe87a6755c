"""The kind ``repair``: a listing with planted faults to repair, a property for each; see docs/repair.md."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from msgspec.structs import replace

from autograder.checking.fault_sets import list_subsets
from autograder.core.errors import RubricError
from autograder.core.records import Answer, CellTest, ItemResult, Status
from autograder.questions.base.base import Draw, Evidence, Trial
from autograder.questions.base.kind import Kind
from autograder.questions.base.options import locate_question
from autograder.questions.base.values.quoting import quote_text
from autograder.questions.code import CodeCheck

_LONGEST_REMARK = 300


class RepairCheck(CodeCheck):
    """A question with planted faults as items, and further checks if the file has some."""

    kind: ClassVar[str] = "repair"

    def prepare(self) -> None:
        """Refuse a file of checks that plants no fault."""
        super().prepare()
        self.planted = [fault.id for fault in self.file.faults if fault.id in self.items]
        """The faults in the listing; a variant has some of the file's."""
        if not self.planted:
            raise RubricError(
                "the file of checks plants no fault: write @fault(…) above a check, or kind = 'code'",
                locate_question(self.question),
                "checks",
            )

    def make_cell_tests(self, draw: Draw) -> Mapping[str, CellTest]:
        """Return the checks, and the probes for other defects."""
        tests = dict(super().make_cell_tests(draw))
        for probe in self.file.probes:
            tests[f"probe {probe.id}"] = self.make_test(f"probe {probe.id}", probe, "", draw)
        return tests

    def judge(self, evidence: Evidence) -> tuple[ItemResult, ...]:
        """Return one result per item; a defect outside all items becomes a remark on the first result."""
        results = super().judge(evidence)
        automatic = [result for result in results if result.item in self.items]
        # A fault that is left changes the results of probes too, so that they say nothing then.
        if any(result.status is not Status.PASSED for result in automatic):
            return results
        defects = []
        for probe in self.file.probes:
            outcome = evidence.tests.get(f"probe {probe.id}")
            if outcome is not None and outcome.error and not outcome.refused:
                defects.append(f"{probe.id}: {quote_text(outcome.message, _LONGEST_REMARK)}")
        if not defects:
            return results
        remark = f"all faults are repaired, and yet it differs from the solution: {'; '.join(defects)}"
        first = automatic[0].item
        return tuple(replace(judged, remark=remark) if judged.item == first else judged for judged in results)

    def make_trials(self, key: Answer) -> tuple[Trial, ...]:
        """Return the trials of every check, and all sets of faults: each loses exactly the remaining ones."""
        if key.cell_type != "code":
            return ()
        subsets = list_subsets(self.planted)
        return (
            *super().make_trials(key),
            *(
                Trial(
                    f"left: {', '.join(left)}",
                    f"{self.file.make_listing(left)}\n# repaired as far as it is\n",
                    self.with_needing(left),
                    family="sets of faults",
                )
                for left in subsets
                if left
            ),
        )


KIND = Kind(RepairCheck, form="listing")
