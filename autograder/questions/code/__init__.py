"""The kind ``code``: checks in Python, run in a sandbox without student code; see docs/checks.md.

The checks reach the judge's sandbox as sources. Their outcomes are judged here.
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

from autograder.checking.check_parser import CheckFile, CheckItem, SourceMutant, drop_planted, name_part
from autograder.checking.serialisation import pack_checks
from autograder.checking.trivial_answers import list_trivial
from autograder.core.errors import RubricError
from autograder.core.records import Answer, CellOutcome, CellTest, CheckCall, ItemResult, Message, Status
from autograder.questions.base.base import TRIVIAL, Draw, Evidence, Trial
from autograder.questions.base.itemwise import ItemwiseCheck, Verdict
from autograder.questions.base.judging import forbidden
from autograder.questions.base.judging.outcomes import describe_outcome, judge_exception, judge_run
from autograder.questions.base.judging.redaction import redact_results
from autograder.questions.base.judging.results import (
    Finding,
    make_failure,
    make_no_answer,
    make_result,
    make_review,
)
from autograder.questions.base.kind import Kind
from autograder.questions.base.options import (
    check_points,
    check_text,
    locate_question,
    split_points,
    take_share,
)
from autograder.questions.base.values.quoting import quote_text
from autograder.rubric import Item

_NO_DEVICE = re.compile(r"not compiled with|not linked with support|NVIDIA driver|No CUDA GPUs|accelerator")
"""Messages of torch about a missing device, such as a GPU."""
_LONGEST_TOLD = 1000
"""Characters of a text for students that a check chose at run time."""


class CodeQuestion(Struct, frozen=True):
    """Options of a ``code`` question; the file of its checks is a field of every question."""


class CodeItem(Struct, frozen=True):
    """Options of an item: one check."""


class CodeCheck(ItemwiseCheck[CodeQuestion, CodeItem]):
    """A question that has checks in Python as its items."""

    kind: ClassVar[str] = "code"
    question_type = CodeQuestion
    item_type = CodeItem
    runs_tests: ClassVar[bool] = True

    def prepare(self) -> None:
        """Refuse points that cannot be shared, mutants that earn too much, and texts that lack a language."""
        self.file: CheckFile = self.rubric.checks[self.question.id]
        self.shows_values = False
        """Whether outcomes contain the drawn and compared values."""
        self._program = pack_checks(self.file)
        # No result depends on planted answers, so editing them keeps the digest.
        sources = sorted((name, drop_planted(source)) for name, source in self.file.modules.items())
        self._digest = hashlib.sha256(msgspec.json.encode(sources)).hexdigest()
        self.mutants: Mapping[str, SourceMutant] = {mutant.name: mutant for mutant in self.file.mutants}
        self.parts: dict[str, list[str]] = {}
        """Item → the names of its tests."""
        for item, _ in self.automatic:
            check = self.file.get_check(item.id)
            where = locate_question(self.question, item)
            names = [name_part(item.id, part.name) for part in check.parts]
            split_points(item.points, len(names), where)
            self.parts[item.id] = names
            self._check_languages(check.told, f"{where}, told")
            for mutant in self.file.mutants:
                if item.id in mutant.points:
                    points = mutant.points[item.id]
                    check_points(points, item.points, f"{where}, mutant {mutant.name!r}", "points")
        for mutant in self.file.mutants:
            self._check_languages(mutant.title, f"{locate_question(self.question)}, mutant {mutant.name!r}")

    def _check_languages(self, text: Mapping[str, str], where: str) -> None:
        if not text:
            return
        missing = [language for language in self.rubric.assignment.languages if not text.get(language)]
        if missing:
            raise RubricError(
                f"the text lacks {', '.join(missing)}, one of the assignment's languages", where
            )
        check_text(text, where)

    def make_cell_tests(self, draw: Draw) -> Mapping[str, CellTest]:
        """Return the parts of each check that is graded automatically."""
        tests = {}
        patterns = forbidden.list_patterns(self.file.forbidden) if self.file.uses_torch else ()
        for item, _ in self.automatic:
            check = self.file.get_check(item.id)
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
        """Return one result per item, without hidden inputs that the student's own code repeats.

        If each attempt has other inputs, such a text is useless for the next one and needs no redaction.
        """
        results = super().judge(evidence)
        if self.rubric.assignment.redraw == "attempt":
            return results
        return redact_results(results, (evidence.answer.source, *evidence.cells))

    def judge_item(self, item: Item, options: CodeItem, evidence: Evidence) -> Verdict:
        """Return the judgement of a check, or the use of a forbidden function."""
        del options
        check = self.file.get_check(item.id)
        outcomes = [evidence.tests.get(name) for name in self.parts[item.id]]
        findings = [self._judge_part(item, check, outcome) for outcome in outcomes]
        finding = self._name_mutant(item, outcomes, findings, _combine_parts(findings, item.points))
        finding = forbidden.combine_findings(self._find_forbidden(evidence), finding)
        carried = sorted({name for outcome in outcomes if outcome for name in outcome.carried})
        if finding is not None or not carried:
            return finding
        names = ", ".join(carried)
        return replace(
            make_result(self.question, item, None),
            student=Message("code.carried", {"names": names}),
            staff=f"as expected with the solution's {names}, not with the student's own",
            code="code.carried",
        )

    def _judge_part(self, item: Item, check: CheckItem, outcome: CellOutcome | None) -> Finding | None:
        """Return the finding about one part of a check; None if it passes."""
        if outcome is None:
            return make_review("the check was not run")
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
                return make_failure(file_codes[outcome.error], staff, name=outcome.missing)
            return make_no_answer("name.missing", staff, name=outcome.missing)
        if outcome.error == "NotImplementedError":
            return make_no_answer("not-implemented", staff, name=self._what or check.id)
        # The machine that grades lacks the device, so the code may be right.
        if outcome.raised and _NO_DEVICE.search(outcome.message):
            return make_review(staff, "code.device")
        if outcome.raised:
            return judge_exception(outcome, limits)
        points = take_share(item.points / len(check.parts), outcome.share)
        text, lacking = self._choose_text(check, outcome)
        message = Message("code.told", text=text) if text else Message("code.failed")
        return Finding(Status.FAILED, message, "; ".join(filter(None, (staff, lacking))), points)

    def _choose_text(self, check: CheckItem, outcome: CellOutcome) -> tuple[dict[str, str], str]:
        """Return the text for students about a wrong answer, and a remark for staff if it lacks a language.

        A text that the check chose at run time is plain: braces in it are no placeholders.
        """
        if not outcome.told:
            return check.told, ""
        missing = [code for code in self.rubric.assignment.languages if not outcome.told.get(code)]
        if missing:
            return check.told, f"told= of Wrong lacks {', '.join(map(quote_text, missing))} and is not shown"
        texts = {language: quote_text(text, _LONGEST_TOLD) for language, text in outcome.told.items()}
        return {code: text.replace("{", "{{").replace("}", "}}") for code, text in texts.items()}, ""

    def _name_mutant(
        self,
        item: Item,
        outcomes: Sequence[CellOutcome | None],
        findings: Sequence[Finding | None],
        combined: Finding | None,
    ) -> Finding | None:
        """Return the finding with the title of the mutant that has the same values as every wrong part."""
        if combined is None or combined.status is not Status.FAILED:
            return combined
        wrong = [
            set(outcome.mistakes)
            for outcome, finding in zip(outcomes, findings, strict=True)
            if outcome is not None and finding is not None
        ]
        # A mutant explains the item only if it explains every wrong part.
        names = set.intersection(*wrong) if wrong else set()
        mutant = next((mutant for mutant in self.file.mutants if mutant.name in names), None)
        if mutant is None:
            return combined
        points = max(combined.points, mutant.points.get(item.id, Decimal(0)))
        staff = f"as the mutant {mutant.name!r}: {combined.staff}"
        message = Message("code.mistake", text=mutant.title) if mutant.title else combined.message
        return Finding(Status.FAILED, message, staff, points)

    def _find_forbidden(self, evidence: Evidence) -> Finding | None:
        if not self.file.forbidden:
            return None
        every = [mentioned.forbidden for mentioned in evidence.tests.values() if mentioned.forbidden]
        # Prefer a record that names a forbidden function to one that only shows another outcome.
        called = [
            mentioned
            for mentioned in every
            if any(forbidden.is_function_text(name, mentioned) for name in self.file.forbidden)
        ]
        name_called = next(iter(called or every), "")
        used = [name for name in self.file.forbidden if forbidden.is_function_text(name, name_called)]
        if used:
            names = ", ".join(used)
            return make_failure(
                "forbidden.used",
                f"forbidden, and called: {quote_text(name_called)}",
                what=self._what,
                names=names,
            )
        mentions = {
            mention
            for name in self.file.student_names
            for mention in forbidden.find_mentions(
                evidence.answer.source, name, self.file.forbidden, evidence.cells
            )
        }
        if name_called and not mentions:
            return make_review(
                f"not the same where what is forbidden fails: {quote_text(name_called)}", "forbidden.look"
            )
        if not mentions:
            return None
        places = ", ".join(
            f"{mentioned.name} ({mentioned.where}line {mentioned.line})"
            for mentioned in sorted(mentions, key=str)
        )
        return make_review(f"in the source: {quote_text(places)}", "forbidden.look")

    @property
    def _what(self) -> str:
        """The name that the student writes."""
        return self.question.answer or ", ".join(self.file.student_names)

    def make_trials(self, key: Answer) -> tuple[Trial, ...]:
        """Return the solution, every mutant, every planted answer, and some answers without any work."""
        if key.cell_type != "code":
            return ()
        trials = [Trial("solution", self.file.solution)] if self.file.solution else []
        for mutant in self.file.mutants:
            loses, points = mutant.loses, mutant.points
            trials.append(
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
            # An item that needs manual review is not lost as well.
            loses = tuple(name for name in self.with_needing(planted.loses) if name not in review)
            trials.append(Trial(planted.name, planted.source, loses, review=review))
        # It is unknown which checks an answer without work passes by chance; `verify` only warns about them.
        every = tuple(item.id for item in self.question.items)
        functions = [self.file.names.get(name, name) for name in self.file.student_names]
        trials += (
            Trial(f"an answer that {name}", source, unstated=every, family=TRIVIAL)
            for name, source in list_trivial(self.file.solution, functions)
        )
        return tuple(trials)

    def with_needing(self, loses: Sequence[str]) -> tuple[str, ...]:
        """Return these checks and those that depend on one of them, if they are items."""
        return tuple(name for name in self.file.list_needing(loses) if name in self.items)


def _combine_parts(findings: Sequence[Finding | None], points: Decimal) -> Finding | None:
    """Combine the findings of the parts of a check, each worth an equal part of the points; None is right.

    A part that could not be judged needs manual review.
    """
    faults = [finding for finding in findings if finding is not None]
    if not faults:
        return None
    by_status = {finding.status: finding for finding in reversed(faults)}
    if Status.NEEDS_REVIEW in by_status:
        return by_status[Status.NEEDS_REVIEW]
    first = by_status.get(Status.FAILED, faults[0])
    if first.status is not Status.FAILED and len(faults) == len(findings):
        return first
    # A wrong part may earn a share of its points.
    earned = sum((finding.points if finding else points / len(findings) for finding in findings), Decimal(0))
    return replace(first, status=Status.FAILED, points=earned)


KIND = Kind(CodeCheck, form="code")
