"""The kind ``code``: checks in Python, run where no student code is; see docs/checks.md.

The checks reach the judge's box as sources. What came of them there is judged here.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import ClassVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from autograder.checking.packing import pack_checks
from autograder.checking.reading import CheckFile, CheckItem, SourceMutant, drop_planted
from autograder.checking.trivial import list_trivial
from autograder.checks.base import TRIVIAL, Draw, Evidence, Trial
from autograder.checks.itemwise import ItemwiseCheck, Verdict
from autograder.checks.judging import forbidden
from autograder.checks.judging.outcomes import describe_outcome, judge_exception, judge_run
from autograder.checks.judging.redaction import redacted
from autograder.checks.judging.results import Finding, combine, failed, no_answer, result, review
from autograder.checks.kind import Kind
from autograder.checks.options import check_points, check_text, place, share, share_of
from autograder.checks.values.quoting import quote
from autograder.errors import RubricError
from autograder.records import Answer, CellOutcome, CellTest, CheckCall, ItemResult, Message, Status
from autograder.rubric import Item

_NO_DEVICE = re.compile(r"not compiled with|not linked with support|NVIDIA driver|No CUDA GPUs|accelerator")
"""What torch says of a device that is not there, such as a GPU."""
_LONGEST_TOLD = 1000
"""Characters of a text for students that a check chose at run time."""


class CodeQuestion(Struct, frozen=True):
    """Options of a ``code`` question; the file of its checks is a field of every question."""


class CodeItem(Struct, frozen=True):
    """Options of an item: one check."""


class CodeCheck(ItemwiseCheck[CodeQuestion, CodeItem]):
    """A question whose items are checks in Python."""

    kind: ClassVar[str] = "code"
    question_type = CodeQuestion
    item_type = CodeItem
    runs_tests: ClassVar[bool] = True

    def prepare(self) -> None:
        """Refuse points that cannot be shared, mutants that earn too much, and texts that lack a language."""
        self.file: CheckFile = self.rubric.checks[self.question.id]
        self.shows_values = False
        """Whether outcomes tell what was drawn and compared."""
        self._program = pack_checks(self.file)
        told = sorted((name, drop_planted(source)) for name, source in self.file.modules.items())
        self._digest = hashlib.sha256(msgspec.json.encode(told)).hexdigest()
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
        patterns = forbidden.patterns(self.file.forbidden) if self.file.uses_torch else ()
        for item, _ in self.automatic:
            check = self.file.check(item.id)
            for name, part in zip(self.parts[item.id], check.parts, strict=True):
                tests[name] = self.make_test(name, check, part.name, draw, patterns)
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
            check=CheckCall(
                self._digest,
                self._program,
                check.id,
                part,
                seed,
                tuple(patterns),
                show_values=self.shows_values,
            ),
        )

    def judge(self, evidence: Evidence) -> tuple[ItemResult, ...]:
        """One result per item; students read no hidden input that their own code repeats.

        If each attempt meets other inputs, such a text is of no use for the next one.
        """
        results = super().judge(evidence)
        if self.rubric.assignment.redraw == "attempt":
            return results
        return redacted(results, (evidence.answer.source, *evidence.cells))

    def verdict(self, item: Item, options: CodeItem, evidence: Evidence) -> Verdict:
        """What came of a check, or what was used that is forbidden."""
        del options
        check = self.file.check(item.id)
        outcomes = [evidence.tests.get(name) for name in self.parts[item.id]]
        findings = [self._finding(item, check, outcome) for outcome in outcomes]
        found = combine(findings, item.points, credit="each" if len(findings) > 1 else "all")
        if found is not None and found.status is Status.FAILED:  # a wrong part may earn a share of its points
            part = item.points / len(findings)
            found = replace(found, points=sum((one.points if one else part for one in findings), Decimal(0)))
        found = self._named(item, outcomes, findings, found)
        found = forbidden.applied(self._forbidden(evidence), found)
        carried = sorted({name for outcome in outcomes if outcome for name in outcome.carried})
        if found is not None or not carried:
            return found
        names = ", ".join(carried)
        return replace(
            result(self.question, item, None),
            student=Message("code.carried", {"names": names}),
            staff=f"as expected with the solution's {names}, not with the student's own",
            code="code.carried",
        )

    def _finding(self, item: Item, check: CheckItem, outcome: CellOutcome | None) -> Finding | None:
        """What is wrong in one part of a check."""
        if outcome is None:
            return review("the check was not run")
        limits = self.rubric.assignment.limits
        finding = judge_run(outcome, limits=limits, seconds=check.seconds, review_code="code.review")
        if finding is not None:
            return finding
        staff = describe_outcome(outcome)
        if outcome.passed:
            return None
        if outcome.missing:
            file_codes = {"UnreadableFile": "code.file", "MissingFile": "code.file-missing"}
            if outcome.error in file_codes:
                return failed(file_codes[outcome.error], staff, name=outcome.missing)
            return no_answer("name.missing", staff, name=outcome.missing)
        if outcome.error == "NotImplementedError":
            return no_answer("not-implemented", staff, name=self._what or check.id)
        if outcome.raised and _NO_DEVICE.search(outcome.message):
            return review(staff, "code.device")
        if outcome.raised:
            return judge_exception(outcome, limits)
        points = share_of(item.points / len(check.parts), outcome.share)
        told, lacking = self._told(check, outcome)
        message = Message("code.told", text=told) if told else Message("code.failed")
        return Finding(Status.FAILED, message, "; ".join(filter(None, (staff, lacking))), points)

    def _told(self, check: CheckItem, outcome: CellOutcome) -> tuple[dict[str, str], str]:
        """Return what students read of a wrong answer, and what staff read if that lacks a language.

        A text that the check chose at run time is plain: braces in it are no placeholders.
        """
        if not outcome.told:
            return check.told, ""
        missing = [one for one in self.rubric.assignment.languages if not outcome.told.get(one)]
        if missing:
            return check.told, f"told= of Wrong lacks {', '.join(map(quote, missing))} and is not shown"
        texts = {language: quote(text, _LONGEST_TOLD) for language, text in outcome.told.items()}
        return {one: text.replace("{", "{{").replace("}", "}}") for one, text in texts.items()}, ""

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
        every = [one.forbidden for one in evidence.tests.values() if one.forbidden]
        called = [one for one in every if any(forbidden.holds(name, one) for name in self.file.forbidden)]
        told = next(iter(called or every), "")
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
        """The solution, every mutant, every planted answer, and some without any work."""
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
                    told_as="code.mistake" if mutant.title else "",
                    family="mutants",
                )
            )
        for planted in self.file.planted:
            review = self.with_needing(planted.review)
            loses = tuple(name for name in self.with_needing(planted.loses) if name not in review)
            found.append(Trial(planted.name, planted.source, loses, review=review))
        every = tuple(item.id for item in self.question.items)
        asked = [self.file.names.get(name, name) for name in self.file.student_names]
        found += (
            Trial(f"an answer that {name}", source, unstated=every, family=TRIVIAL)
            for name, source in list_trivial(self.file.solution, asked)
        )
        return tuple(found)

    def with_needing(self, loses: Sequence[str]) -> tuple[str, ...]:
        """Return these checks and those that need one of them, as far as they are items."""
        lost = dict.fromkeys(loses)
        for check in self.file.checks:
            if lost.keys() & set(check.needs):
                lost[check.id] = None
        return tuple(name for name in lost if name in self.items)


KIND = Kind(CodeCheck, form="code", aliases=("checks", "python"))
