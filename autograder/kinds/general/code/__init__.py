"""The kind ``code``: checks in Python, run where no student code is; see docs/checks.md.

The checks reach the judge's box as sources. What came of them there is judged here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import ClassVar

import msgspec
from msgspec import Struct

from autograder.checking.packing import pack_checks
from autograder.checking.reading import CheckFile, CheckItem, SourceMutant
from autograder.checks.base import Draw, Evidence, Trial
from autograder.checks.itemwise import ItemwiseCheck
from autograder.checks.judging import forbidden
from autograder.checks.judging.redaction import redacted
from autograder.checks.judging.results import Finding, combine, failed, no_answer, review
from autograder.checks.kind import Kind
from autograder.checks.options import check_points, check_text, place, share
from autograder.checks.values.quoting import quote
from autograder.errors import RubricError
from autograder.records import Answer, CellOutcome, CellTest, CheckCall, ItemResult, Message, Status
from autograder.rubric import Item
from autograder.wording import LocalisedText

_LONGEST_REASON = 600
"""Characters of what a check says, for staff."""


class CodeQuestion(Struct, frozen=True):
    """Options of a ``code`` question; the file of its checks is a field of every question."""


class CodeItem(Struct, frozen=True):
    """Options of an item: one check."""


class CodeCheck(ItemwiseCheck[CodeQuestion, CodeItem]):
    """A question whose items are checks in Python."""

    kind: ClassVar[str] = "code"
    question_type = CodeQuestion
    item_type = CodeItem
    after: ClassVar[str] = ""
    """See `autograder.checks.base.HasCellTests`."""

    def prepare(self) -> None:
        """Refuse points that cannot be shared, mutants that earn too much, and texts that lack a language."""
        self.file: CheckFile = self.rubric.checks[self.question.id]
        self._program = pack_checks(self.file)
        told = msgspec.json.encode(sorted(self.file.modules.items()))
        self._digest = hashlib.sha256(told).hexdigest()
        self.mutants: Mapping[str, SourceMutant] = {mutant.name: mutant for mutant in self.file.mutants}
        self.parts: dict[str, list[str]] = {}
        """Item → the names of its tests."""
        for item, _ in self.automatic:
            check = self.file.check(item.id)
            where = place(self.question, item)
            names = [f"{item.id} [{part.name}]" if part.name else item.id for part in check.parts]
            share(item.points, len(names), where)
            self.parts[item.id] = names
            self._check_languages(check.told, f"{where}, told")
            for mutant in self.file.mutants:
                if item.id in mutant.points:
                    points = mutant.points[item.id]
                    check_points(points, item.points, f"{where}, mutant {mutant.name!r}", "points")
        for mutant in self.file.mutants:
            self._check_languages(mutant.title, f"{place(self.question)}, mutant {mutant.name!r}")

    def _check_languages(self, text: Mapping[str, str], where: str) -> None:
        if not text:
            return
        missing = [one for one in self.rubric.assignment.languages if not text.get(one)]
        if missing:
            raise RubricError(
                f"the text lacks {', '.join(missing)}, one of the assignment's languages", where
            )
        check_text(text, where)

    def cell_tests(self, draw: Draw) -> Mapping[str, CellTest]:
        """The parts of each check that no person decides on."""
        tests = {}
        recorded = max((item for item, _ in self.automatic), key=lambda item: item.points, default=None)
        for item, _ in self.automatic:
            is_recorded = item is recorded and self.file.uses_torch
            patterns = forbidden.patterns(self.file.forbidden) if is_recorded else ()
            check = self.file.check(item.id)
            for name, part in zip(self.parts[item.id], check.parts, strict=True):
                tests[name] = self.make_test(name, check, part.name, draw, patterns)
                patterns = ()
        return tests

    def make_test(
        self, name: str, check: CheckItem, part: str, draw: Draw, patterns: Sequence[str] = ()
    ) -> CellTest:
        """Return the test that runs one part of a check, and records the use of forbidden functions."""
        seed = self.file.derive_seed(draw.seed, check, part)
        return CellTest(
            f"{self.question.id}.{name}",
            "",
            seconds=check.seconds,
            shared=False,
            students=self.file.student_names,
            check=CheckCall(self._digest, self._program, check.id, part, seed, tuple(patterns)),
        )

    def judge(self, evidence: Evidence) -> tuple[ItemResult, ...]:
        """One result per item; students read no hidden input that their own code repeats."""
        results = super().judge(evidence)
        return redacted(results, (evidence.answer.source, *evidence.cells))

    def verdict(self, item: Item, options: CodeItem, evidence: Evidence) -> Finding | None:
        """What came of a check, or what was used that is forbidden."""
        del options
        check = self.file.check(item.id)
        outcomes = [evidence.tests.get(name) for name in self.parts[item.id]]
        findings = [self._finding(item, check, outcome) for outcome in outcomes]
        found = combine(findings, item.points, credit="each" if len(findings) > 1 else "all")
        found = self._named(item, outcomes, findings, found)
        return forbidden.applied(self._forbidden(evidence), found)

    def _finding(self, item: Item, check: CheckItem, outcome: CellOutcome | None) -> Finding | None:
        """What is wrong in one part of a check."""
        what = LocalisedText(item.text)
        if outcome is None:
            return review("the check was not run")
        staff = _describe(outcome)
        if outcome.refused or (outcome.doubt and outcome.ending is None):
            return review(staff, "code.review")
        if outcome.ending is not None:
            limit = f"{check.seconds:g} s"
            return failed(f"ending.{outcome.ending.value}", staff, what=what, limit=limit)
        if outcome.passed:
            return None
        if outcome.missing:
            return failed("name.missing", staff, name=outcome.missing)
        if outcome.error == "NotImplementedError":
            return no_answer("not-implemented", staff, name=self.question.answer or check.id)
        if outcome.raised:
            text = quote(outcome.message) or "–"
            return failed("raised", staff, what=what, error=quote(outcome.error, 60), text=text)
        points = (item.points / len(check.parts) * Decimal(str(outcome.share))).quantize(Decimal("0.01"))
        message = (
            Message("code.told", text=check.told) if check.told else Message("code.failed", {"what": what})
        )
        return Finding(Status.FAILED, message, staff, points)

    def _named(
        self,
        item: Item,
        outcomes: Sequence[CellOutcome | None],
        findings: Sequence[Finding | None],
        found: Finding | None,
    ) -> Finding | None:
        """The finding told as the mutant whose values every wrong part has."""
        if found is None or found.status is not Status.FAILED:
            return found
        wrong = [
            set(outcome.mistakes)
            for outcome, finding in zip(outcomes, findings, strict=True)
            if outcome is not None and finding is not None
        ]
        names = set.intersection(*wrong) if wrong else set()
        mutant = next((mutant for mutant in self.file.mutants if mutant.name in names), None)
        if mutant is None:
            return found
        points = max(found.points, mutant.points.get(item.id, Decimal(0)))
        staff = f"as the mutant {mutant.name!r}: {found.staff}"
        message = Message("code.mistake", text=mutant.title) if mutant.title else found.message
        return Finding(Status.FAILED, message, staff, points)

    def _forbidden(self, evidence: Evidence) -> Finding | None:
        if not self.file.forbidden:
            return None
        told = next((one.forbidden for one in evidence.tests.values() if one.forbidden), "")
        used = [name for name in self.file.forbidden if forbidden.holds(name, told)]
        if used:
            names = ", ".join(used)
            return failed(
                "forbidden.used", f"forbidden, and called: {quote(told)}", what=self._what, names=names
            )
        found = {
            mention
            for name in self.file.student_names
            for mention in forbidden.mentions(
                evidence.answer.source, name, self.file.forbidden, evidence.cells
            )
        }
        if told and not found:
            return review(f"not the same where what is forbidden fails: {quote(told)}", "forbidden.look")
        if not found:
            return None
        places = ", ".join(f"{one.name} ({one.where}line {one.line})" for one in sorted(found, key=str))
        return review(f"in the source: {quote(places)}", "forbidden.look")

    @property
    def _what(self) -> str:
        """What the student writes."""
        return self.question.answer or ", ".join(self.file.student_names)

    def trials(self, key: Answer) -> tuple[Trial, ...]:
        """The solution, every mutant and every planted answer."""
        if key.cell_type != "code":
            return ()
        found = [Trial("solution", self.file.solution)] if self.file.solution else []
        for mutant in self.file.mutants:
            loses, points = mutant.loses, mutant.points
            found.append(
                Trial(
                    f"mutant {mutant.name}",
                    mutant.source,
                    self.with_needing(loses or ()),
                    points={item: points[item] for item in points if item in (loses or ())},
                    loses_any=loses is None,
                    family="mutants",
                )
            )
        planted = self.file.planted
        found += (Trial(one.name, one.source, self.with_needing(one.loses)) for one in planted)
        return tuple(found)

    def with_needing(self, loses: Sequence[str]) -> tuple[str, ...]:
        """These checks and those that need one of them."""
        lost = dict.fromkeys(loses)
        for check in self.file.checks:
            if lost.keys() & set(check.needs):
                lost[check.id] = None
        return tuple(lost)


def _describe(outcome: CellOutcome) -> str:
    """What staff read of an outcome."""
    raised = ": ".join(filter(None, (outcome.error, outcome.message)))
    printed = f"it printed: {outcome.printed}" if outcome.printed else ""
    ending = f"the student's box ended: {outcome.ending.value}" if outcome.ending else ""
    mistakes = f"mutants with the same values: {', '.join(outcome.mistakes)}" if outcome.mistakes else ""
    parts = (quote(raised, _LONGEST_REASON), quote(outcome.refused, _LONGEST_REASON), quote(outcome.doubt))
    return "; ".join(filter(None, (*parts, ending, mistakes, quote(printed)))) or "passed"


KIND = Kind(CodeCheck, form="code", aliases=("checks", "python"))
