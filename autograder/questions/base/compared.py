"""The base of the kinds ``number`` and ``shape``: read a value, compare it, name the mistake."""

from __future__ import annotations

import difflib
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any, ClassVar, TypeVar

import msgspec
from msgspec import Struct

from autograder.core.errors import RubricError
from autograder.core.records import Answer, Call, ItemResult, Message, Status
from autograder.messages import load_sentences, render_message
from autograder.questions.base.base import Evidence, Trial
from autograder.questions.base.itemwise import ItemwiseCheck
from autograder.questions.base.judging.oracle import COUNTING, KnownValues, MistakeValue, find_mistake
from autograder.questions.base.judging.results import Finding, make_result, make_review
from autograder.questions.base.options import (
    AnswerItem,
    ComparedOptions,
    Mistake,
    locate_question,
)
from autograder.questions.base.planning.planting import Planter, ReadPlace, as_written
from autograder.questions.base.planning.targets import Targets, find_literal
from autograder.questions.base.values.quoting import quote_text
from autograder.rubric import Item

Q = TypeVar("Q", bound=ComparedOptions)
I = TypeVar("I", bound=AnswerItem)  # noqa: E741 - read beside Q

DIAGNOSIS = "diagnosis:"
"""Prefix of a mistake's ``when`` that refers to an explanation of the kind instead of a wrong answer."""


class ValueComparison(Struct, frozen=True):
    """The result of comparing one value; ``finding`` is None if it is right."""

    finding: Finding | None
    reading: str = ""


class ComparedCheck(ItemwiseCheck[Q, I]):
    """A question with items that compare a value with the right one.

    A kind defines how a value is read (`read_value`) and how it differs (`find_difference`); the rest is
    shared.
    """

    vague: ClassVar[frozenset[str]] = frozenset()
    """Codes that explain least: if several values are right, another explanation is preferred."""
    form_only: ClassVar[frozenset[str]] = frozenset()
    """Codes of answers that are right except for the form in which they are written."""

    def prepare(self) -> None:
        """Find the variables that items read, and read the right and wrong values of the rubric."""
        self.targets = Targets(self.question, self.items, config=self.options.config)
        # The right and wrong values that the rubric states for each item, read once.
        self._read: dict[str, tuple[list[Any], list[Any]]] = {}
        for item, options in self.automatic:
            self._check_item(item, options)

    def list_calls(self, answer: Answer) -> tuple[Call, ...]:
        """Return the calls that read the variables."""
        return self.targets.plan_calls(answer)

    def plan_reference_calls(self) -> tuple[Call, ...]:
        """Return the one call of the reference."""
        return self.targets.plan_reference_calls()

    @abstractmethod
    def read_value(self, value: Any, item: Item, label: str) -> tuple[Any, Finding | None]:
        """Return the value in the form that is compared, or why it cannot be read in that form."""

    @abstractmethod
    def find_difference(self, actual: Any, right: Any, item: Item, label: str) -> Finding | None:
        """Return how a value that was read differs from a right one, or None."""

    def list_accepted(self, item: Item) -> tuple[Any, ...]:
        """Return the right values of the item's options: ``value`` first, then the accepted alternatives."""
        options: Any = self.items[item.id]
        first = (options.value,) if self.has_value(item) else ()
        return (*first, *options.accept)

    def has_value(self, item: Item) -> bool:
        """Return whether the item has a ``value``."""
        options: Any = self.items[item.id]
        return options.value is not None

    def read_right(self, value: Any, item: Item, label: str) -> tuple[Any, Finding | None]:
        """Read a value of the rubric or the reference, as `read_value` reads an answer."""
        return self.read_value(value, item, label)

    def combine_values(self, parts: Sequence[tuple[int, Any]]) -> Any:
        """Return the sum of values that were read, each times a factor; None if the kind has no such sum."""
        del parts
        return None

    def make_wrong_values(self, right: Any, item: Item) -> Iterator[tuple[str, Any]]:
        """Yield wrong values derived from a right one, each with a short description of the change."""
        del right, item
        yield from ()

    def make_idle_values(self, rights: Sequence[Any], item: Item) -> Iterator[tuple[str, Any]]:
        """Yield values that take no work and that no tolerance should accept, with short descriptions."""
        del rights, item
        yield from ()

    def make_other_spellings(self, right: Any, item: Item) -> Iterator[tuple[str, Any]]:
        """Yield other ways to write a right value."""
        del right, item
        yield from ()

    def as_answer(self, value: Any, item: Item) -> Any:
        """Return a value of the rubric as a student would write it."""
        del item
        return as_written(value)

    def make_trials(self, key: Answer) -> tuple[Trial, ...]:
        """Return the answers that the rubric names, and others near the right one.

        See `Check.make_trials`.
        """
        return tuple(
            trial
            for item in self.question.items
            if item.id in self.items
            for trial in self._make_trials(item, key)
        )

    def _make_trials(self, item: Item, key: Answer) -> Iterator[Trial]:
        label = self.targets.get_name(item)
        reads = {
            candidate.id: ReadPlace(self.targets.get_name(candidate), self.items[candidate.id].key)
            for candidate in self.question.items
            if candidate.id in self.items
        }
        planter = Planter(self.question, item, reads, key)
        rights = list(self.list_accepted(item))
        for value in rights:
            yield planter.make_right(f"accepted: {quote_text(str(value))}", self.as_answer(value, item))
        for mistake in self.items[item.id].mistake:
            if not (_get_diagnosis(mistake) and self._list_codes(item)):
                name = f"mistake {mistake.code}: {quote_text(str(mistake.when))}"
                value = self.as_answer(mistake.when, item)
                yield planter.make_trial(name, value, mistake.points, code=mistake.code)
        literal = find_literal(key, self.targets.get_name(item))
        # If only the reference knows the right value, use the literal of the answer key, which is right too.
        if not rights and literal is not None and self.items[item.id].key is None:
            rights = [literal.value]
        judged = (self.read_right(value, item, label) for value in rights)
        read = [candidate for candidate, finding in judged if finding is None]
        for name, value in self.make_other_spellings(read[0], item) if read else ():
            yield planter.make_right(name, value)
        for name, value in self.make_wrong_values(read[0], item) if read else ():
            actual, finding = self.read_value(value, item, label)
            # A changed value that is also right, such as within the tolerance, proves nothing.
            if finding is not None or all(
                self.find_difference(actual, candidate, item, label) is not None for candidate in read
            ):
                yield planter.make_trial(name, value)
        for name, value in self.make_idle_values(read, item) if read else ():
            yield planter.make_trial(name, value)

    def describe_reading(self, value: Any) -> str:
        """Describe to the student how a value was read; empty if that is obvious."""
        del value
        return ""

    def list_diagnoses(self, item: Item) -> frozenset[str]:
        """Return the codes that may follow ``"diagnosis:"``."""
        del item
        return frozenset()

    def is_diagnosed(self, code: str, finding: Finding) -> bool:
        """Return whether a finding is the explanation named after ``"diagnosis:"``."""
        return finding.code == f"{self.kind}.{code}"

    def _list_codes(self, item: Item) -> frozenset[str]:
        """Return the diagnoses of the kind, plus mistakes that have a sentence if the reference knows any."""
        numbers = self.options.config is not None
        mistakes = {
            code.partition(".")[2] for code in load_sentences() if numbers and code.startswith(f"{COUNTING}.")
        }
        return self.list_diagnoses(item) | mistakes

    def _check_item(self, item: Item, options: I) -> None:
        where = locate_question(self.question, item)
        if not self.has_value(item):
            if not self.question.reference:
                raise RubricError("nothing says what is right: state it or a reference", where, "value")
            if options.answer:
                raise RubricError("the reference only knows the question's own answer", where, "value")
        readings = [self.read_right(value, item, "") for value in self.list_accepted(item)]
        if any(finding is not None for _, finding in readings):
            values = zip(self.list_accepted(item), readings, strict=True)
            bad, why = next((value, reading[1]) for value, reading in values if reading[1] is not None)
            raise RubricError(_describe_invalid(bad, why, self.kind), where, "value")
        rights = [right for right, _ in readings]
        wrong = [self._check_mistake(mistake, item, rights) for mistake in options.mistake]
        self._read[item.id] = rights, wrong

    def _check_mistake(self, mistake: Mistake, item: Item, rights: Sequence[Any]) -> Any:
        """Return the wrong value of a mistake, read; None if the mistake refers to an explanation.

        Raises:
            RubricError: it is not readable, or right.
        """
        where = locate_question(self.question, item).extend(
            f", mistake {mistake.code!r}: when", "mistake", mistake.code, "when"
        )
        code, codes = _get_diagnosis(mistake), self._list_codes(item)
        if code and codes:
            if code not in codes:
                close = difflib.get_close_matches(code, codes, n=1)
                hint = f"did you mean {close[0]!r}?" if close else f"known are: {', '.join(sorted(codes))}"
                raise RubricError(f"no diagnosis {code!r} of this item; {hint}", where)
            return None
        wrong, finding = self.read_right(mistake.when, item, "")
        if finding is not None:
            raise RubricError(_describe_invalid(mistake.when, finding, self.kind), where)
        if any(self.find_difference(wrong, right, item, "") is None for right in rights):
            raise RubricError(f"{mistake.when!r} is right", where)
        return wrong

    def judge(self, evidence: Evidence) -> tuple[ItemResult, ...]:
        """Return one result per item; deduct a mistake that the reference knows only once."""
        charged: list[set[str]] = []
        results = []
        for item, judged in zip(self.question.items, super().judge(evidence), strict=True):
            codes = self._list_mistakes(item, evidence) if judged.status is Status.FAILED else set()
            earlier = next((before for before in charged if before & codes), None)
            if earlier is not None:
                # Only the mistakes that all these items share can still explain them all.
                earlier &= codes
                message = Message("answer.same-mistake", {"what": self.targets.get_name(item)})
                staff = f"{judged.staff}; the same mistake as before: {', '.join(sorted(earlier))}"
                passed = make_result(self.question, item, None)
                changes = {
                    "student": message,
                    "staff": staff,
                    "code": message.code,
                    "reading": judged.reading,
                }
                results.append(msgspec.structs.replace(passed, **changes))
                continue
            charged += [codes] if codes else []
            results.append(judged)
        return tuple(results)

    def _list_mistakes(self, item: Item, evidence: Evidence) -> set[str]:
        """Return the codes of the reference's mistakes that lead to the value of an item."""
        options = self.items[item.id]
        label = self.targets.get_name(item)
        observed = self.targets.find_value(label, options.key, evidence)
        actual, finding = (
            (None, observed.finding) if observed.finding else self.read_value(observed.value, item, label)
        )
        if finding is not None:
            return set()
        wrongs = self.targets.read_oracle(options.key, evidence).wrong
        return {mistake.code for mistake in self._list_fitting(actual, wrongs, item, label)}

    def judge_item(self, item: Item, options: I, evidence: Evidence) -> ItemResult:
        """Judge an item's value, and record how it was read."""
        compared = self._compare_item(item, options, evidence)
        return msgspec.structs.replace(
            make_result(self.question, item, compared.finding), reading=compared.reading
        )

    def _compare_item(self, item: Item, options: I, evidence: Evidence) -> ValueComparison:
        name = self.targets.get_name(item)
        observed = self.targets.find_value(name, options.key, evidence)
        if observed.finding is not None:
            return ValueComparison(observed.finding)
        said, read = self.targets.read_oracle(options.key, evidence), self._read[item.id]
        values = KnownValues((), said.wrong, read=tuple(read[0]))
        if not self.has_value(item):
            expected = self.targets.find_expected(name, options.key, evidence)
            values = msgspec.structs.replace(values, rights=(expected.value,), fault=expected.finding)
        return self.judge_value(observed.value, values, item, name)

    def judge_value(self, value: Any, values: KnownValues, item: Item, label: str) -> ValueComparison:
        """Compare one value of an answer with every right and wrong value that is known."""
        actual, finding = self.read_value(value, item, label)
        if finding is not None:
            return ValueComparison(finding)
        reading = self.describe_reading(actual)
        if values.fault is not None:
            return ValueComparison(values.fault, reading)
        judged = [self.read_right(right, item, label) for right in values.rights]
        rights = [*(right for right, _ in judged), *values.read]
        if not rights or any(finding is not None for _, finding in judged):
            fault = make_review(f"{label}: the expected value is not one of kind {self.kind}")
            return ValueComparison(fault, reading)
        differences: list[Finding] = []
        for right in rights:
            difference = self.find_difference(actual, right, item, label)
            if difference is None:
                return ValueComparison(None, reading)
            differences.append(difference)
        open_ones = [candidate for candidate in differences if candidate.status is Status.NEEDS_REVIEW]
        if open_ones:  # it may yet be right
            return ValueComparison(open_ones[0], reading)
        # Prefer a specific difference over a vague one, and an unreadable answer over both: it needs manual
        # review instead of earning nothing.
        telling = next(
            (candidate for candidate in differences if candidate.code not in self.vague), differences[0]
        )
        telling = next((candidate for candidate in differences if candidate.is_unreadable), telling)
        telling = self._explain_difference(actual, values.wrongs, telling, item, label) or telling
        return ValueComparison(self._find_named_mistake(actual, telling, item, label) or telling, reading)

    def _explain_difference(
        self,
        actual: Any,
        wrongs: Sequence[MistakeValue],
        difference: Finding,
        item: Item,
        label: str,
    ) -> Finding | None:
        """Return the known mistake that leads to this value, or what all such mistakes have in common."""
        fitting = self._list_fitting(actual, wrongs, item, label)
        has_cause = difference.code not in self.vague
        params = {"what": label, "value": difference.message.params.get("value", "")}
        return find_mistake(fitting, difference.staff, params, has_other_cause=has_cause)

    def _list_fitting(
        self, actual: Any, wrongs: Sequence[MistakeValue], item: Item, label: str
    ) -> Iterator[MistakeValue]:
        """Yield the known mistakes that lead to a value."""
        for wrong in wrongs:
            value, finding = self.read_right(wrong.value, item, label)
            apart = finding or self.find_difference(actual, value, item, label)
            if apart is None or apart.code in self.form_only:
                yield wrong

    def _find_named_mistake(self, actual: Any, difference: Finding, item: Item, label: str) -> Finding | None:
        """Return the finding of the first mistake of the rubric that leads to this value."""
        wrong_values = self._read[item.id][1]
        for position, mistake in enumerate(self.items[item.id].mistake):
            code = _get_diagnosis(mistake)
            if code and self._list_codes(item):
                fits = difference.code == f"{COUNTING}.{code}" or self.is_diagnosed(code, difference)
            else:
                fits = self.find_difference(actual, wrong_values[position], item, label) is None
            if fits:
                message = Message(mistake.code, text=mistake.text)
                staff = f"{label}: named mistake {mistake.code}; {difference.staff}".removesuffix("; ")
                return Finding(Status.FAILED, message, staff, Decimal(mistake.points))
        return None


def _describe_invalid(value: Any, finding: Finding, kind: str) -> str:
    is_formula = finding.code.startswith("unreadable.")
    return f"{value!r} is no answer of kind {kind}: " + (
        render_message(finding.message, "en") if is_formula else finding.code
    )


def _get_diagnosis(mistake: Mistake) -> str:
    """Return the diagnosis that a mistake's ``when`` names; empty if it is a wrong answer."""
    when = mistake.when
    return (
        when.removeprefix(DIAGNOSIS).strip() if isinstance(when, str) and when.startswith(DIAGNOSIS) else ""
    )
