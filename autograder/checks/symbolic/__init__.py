"""Kind ``symbolic``: formulas, relations between symbols, and tuples of formulas.

Compared exactly in the assignment's symbols, however they are written. An item may grant assumptions
(``assume``): then an answer is right when it is right with or without them, and both readings are kept
apart for remarks and mistakes. A question may carry forward the student's own earlier result.
"""

from __future__ import annotations

from itertools import pairwise
from typing import ClassVar

import msgspec
from msgspec import Struct

from autograder.algebra.compare import Comparer
from autograder.algebra.key import AnswerKey, Verdict
from autograder.algebra.nodes import Node, Relation, Tree, Tuple, substitute
from autograder.algebra.parse import parse
from autograder.algebra.write import to_text
from autograder.checks import results
from autograder.checks.base import Draw, Evidence
from autograder.checks.literal import answer_literal
from autograder.checks.results import Finding
from autograder.checks.symbolic.answers import NoFormula, NotAFormula, markdown_formula, read, shown, text_of
from autograder.checks.symbolic.key import OWN, PreparedItem, prepare
from autograder.checks.symbolic.options import Mistake
from autograder.checks.symbolic.relations import asserted, chain_trouble, sign_trouble
from autograder.checks.symbolic.special import Special
from autograder.errors import Undecided, Unreadable
from autograder.messages.algebra import unreadable
from autograder.records import Answer, Call, ItemResult, Message, Scenario, Status
from autograder.rubric import Question, Rubric

MAX_KEYS = 512
"""Answer keys kept: one for each item and each own result that is carried forward."""


class _Judged(Struct, frozen=True):
    """What came of one item; ``finding`` is None for full points without a word."""

    finding: Finding | None
    reading: str = ""
    word: Message | None = None
    """For right answers that deserve one; its code is the item's."""


class _Basis(Struct, frozen=True):
    """What an answer key depends on besides the rubric."""

    reference: Node | None = None
    own: Node | None = None
    own_is_right: bool = False


class SymbolicCheck:
    """One question whose answers are formulas."""

    kind: ClassVar[str] = "symbolic"

    def __init__(self, question: Question, rubric: Rubric) -> None:
        """Read the options and every formula in them.

        Raises:
            RubricError: an option is misspelt or of the wrong type, or a formula is not readable.
        """
        self._question = question
        prepared = prepare(question, rubric)
        self._vocabulary, self._items = prepared.vocabulary, prepared.items
        self._names = tuple(dict.fromkeys(item.answer for item in self._items.values()))
        self._keys: dict[tuple[str, _Basis], AnswerKey] = {}

    def plan(self, answer: Answer, draw: Draw) -> tuple[Scenario, ...]:  # noqa: ARG002 - nothing hidden
        """Read the variables whose values the source does not show."""
        return tuple(Scenario(name, (Call(name, read=True),)) for name in self._asked(answer))

    def reference_plan(self, draw: Draw) -> tuple[Scenario, ...]:  # noqa: ARG002 - nothing hidden
        """Compute the reference formula, where an item needs it."""
        if any(item.uses_reference for item in self._items.values()):
            return (Scenario("reference", (Call(self._question.answer),)),)
        return ()

    def judge(self, evidence: Evidence) -> tuple[ItemResult, ...]:
        """One result per item."""
        return tuple(
            results.manual(self._question, item, evidence)
            if item.manual
            else self._result(self._items[item.id], evidence)
            for item in self._question.items
        )

    def _asked(self, answer: Answer) -> tuple[str, ...]:
        """The variables that only the student's box can tell, in the order of the plan."""
        if answer.cell_type != "code" or results.blank(answer):
            return ()
        return tuple(name for name in self._names if answer_literal(answer.source, name) is None)

    def _result(self, item: PreparedItem, evidence: Evidence) -> ItemResult:
        judged = self._judge(item, evidence)
        result = msgspec.structs.replace(
            results.result(self._question, item.item, judged.finding), reading=judged.reading
        )
        if judged.word is not None and judged.finding is None:
            result = msgspec.structs.replace(
                result, student=judged.word, staff=judged.word.code, code=judged.word.code
            )
        return result

    def _judge(self, item: PreparedItem, evidence: Evidence) -> _Judged:
        if results.blank(evidence.answer):
            return _Judged(results.no_answer())
        several = item.special is not None and item.special.several
        value, finding = self._value(item.answer, evidence, several=several)
        if finding is not None:
            return _Judged(finding)
        try:
            if item.special is not None:
                return self._specially(item.special, value, item, evidence)
            sides = read(value, item.form, self._vocabulary)
        except NoFormula:
            return _Judged(results.no_answer())
        except NotAFormula as error:
            return _Judged(results.failed("formula.not-a-formula", name=item.answer, type=str(error)))
        except Unreadable as error:
            message = unreadable(error, shown(value))
            return _Judged(Finding(Status.FAILED, message, f"not readable: {error}"))
        reading = to_text(sides[-1])
        basis, finding = self._basis(item, evidence)
        if finding is None:
            finding = chain_trouble(sides, item) if item.form == "relation" else _sides(sides, item)
        if finding is not None:
            return _Judged(finding, reading)
        answer = asserted(sides, item)
        return _refined(self._compared(answer, item, basis, reading), answer, item, reading)

    def _specially(self, special: Special, value: object, item: PreparedItem, evidence: Evidence) -> _Judged:
        basis, finding = self._basis(item, evidence)
        if finding is not None:
            return _Judged(finding)
        outcome = special.judge(value, basis.reference)
        return _Judged(outcome.finding, outcome.reading, outcome.word)

    def _value(
        self, name: str, evidence: Evidence, *, several: bool = False
    ) -> tuple[object, Finding | None]:
        """What the student's variable holds, or why that is not known."""
        answer = evidence.answer
        if answer.cell_type != "code":
            if several:
                return answer.source, None
            try:
                return markdown_formula(answer.source), None
            except NoFormula:
                return None, results.no_answer()
            except Unreadable as error:
                return None, Finding(Status.FAILED, unreadable(error, answer.source), str(error))
        literal = answer_literal(answer.source, name)
        if literal is not None:
            return literal.value, None
        observations = results.observations_at(evidence.observed, self._asked(answer).index(name))
        finding = results.trouble(observations, 1, name, name)
        return (None, finding) if finding is not None else (observations[0].value, None)

    def _basis(self, item: PreparedItem, evidence: Evidence) -> tuple[_Basis, Finding | None]:
        """The reference's formula and the student's own earlier one."""
        reference: Node | None = None
        if item.uses_reference:
            value, finding = results.reference_value(results.observations_at(evidence.expected, 0), 0)
            if finding is not None:
                return _Basis(), finding
            try:
                reference = parse(text_of(value), self._vocabulary)
            except (Unreadable, NotAFormula, NoFormula) as error:
                return _Basis(), results.review(f"the reference's formula is not readable: {error!r}")
        if item.carried is None:
            return _Basis(reference), None
        earlier = evidence.earlier.get(item.carried.option.source)
        if earlier is None or not earlier.reading:
            return _Basis(reference), None
        try:
            own = parse(earlier.reading, self._vocabulary)
        except Unreadable:  # a relation or a tuple cannot be carried forward
            return _Basis(reference), None
        return _Basis(reference, own, earlier.status is Status.PASSED), None

    def _key(self, item: PreparedItem, basis: _Basis) -> AnswerKey:
        known = self._keys.get((item.item.id, basis))
        if known is None:
            known = item.key(basis.reference, basis.own, own_is_right=basis.own_is_right)
            if len(self._keys) < MAX_KEYS:
                self._keys[item.item.id, basis] = known
        return known

    def _compared(self, answer: Tree, item: PreparedItem, basis: _Basis, reading: str) -> _Judged:
        try:
            verdict = self._key(item, basis).verdict(answer)
            if verdict.right:
                return _right(verdict, item, reading)
            if _continues(answer, item, basis):
                return _carried(item, basis, reading)
        except Undecided as error:
            return _Judged(results.review(f"read as {reading}; {error}", "formula.undecided"), reading)
        return _Judged(_wrong(verdict, answer, item, reading), reading)


def _refined(judged: _Judged, answer: Tree, item: PreparedItem, reading: str) -> _Judged:
    """What is asked of a right answer's form, and what a wrong relation has in common with a right one."""
    finding = judged.finding
    if finding is None and item.rule is not None:
        finding = item.rule.finding(answer, reading)
    elif finding is not None and finding.code == "formula.relation-wrong":
        finding = sign_trouble(answer, item, reading) or finding
    return judged if finding is judged.finding else _Judged(finding, reading)


def _right(verdict: Verdict, item: PreparedItem, reading: str) -> _Judged:
    if verdict.named < 0:
        return _Judged(None, reading)
    remark = item.foreseen[verdict.named].option
    return _Judged(None, reading, Message(remark.code, text=remark.text))


def _continues(answer: Tree, item: PreparedItem, basis: _Basis) -> bool:
    """Whether it is the right continuation of the student's own earlier result.

    Raises:
        Undecided: that could not be proven.
    """
    if item.carried is None or basis.own is None:
        return False
    expected = substitute(item.carried.expect, OWN, basis.own)
    return any(comparer.equal(answer, expected) for comparer in item.readings)


def _carried(item: PreparedItem, basis: _Basis, reading: str) -> _Judged:
    points = item.carried.option.points if item.carried is not None else None
    message = Message("formula.carried-forward")
    if basis.own_is_right or points is None or points >= item.item.points:
        return _Judged(None, reading, message)
    return _Judged(Finding(Status.FAILED, message, f"read as {reading}; carried forward", points), reading)


def _sides(sides: tuple[Tree, ...], item: PreparedItem) -> Finding | None:
    """What is wrong with a chain of equations: two neighbours that are equal under no reading."""
    comparers = item.readings if item.beyond is None else (*item.readings, item.beyond)
    for left, right in pairwise(sides):
        try:
            if not any(comparer.equal(left, right) for comparer in comparers):
                return results.failed("formula.sides-differ", left=to_text(left), right=to_text(right))
        except Undecided as error:
            return results.review(f"the sides of an equation: {error}", "formula.undecided")
    return None


def _wrong(verdict: Verdict, answer: Tree, item: PreparedItem, reading: str) -> Finding:
    """Why an answer is not right, in the most telling words there are."""
    if verdict.named >= 0:
        option = item.foreseen[verdict.named].option
        points = option.points if isinstance(option, Mistake) else results.NO_POINTS
        message = Message(option.code, text=option.text)
        return Finding(Status.FAILED, message, f"read as {reading}; {option.code}", points)
    if verdict.early:
        return results.failed("formula.early", f"read as {reading}; right under a relation not granted")
    difference = verdict.difference
    if difference is not None:
        message = Message(f"diagnosis.{difference.code}", dict(difference.params))
        return Finding(Status.FAILED, message, f"read as {reading}; {difference.staff}")
    code = "formula.wrong"
    if isinstance(answer, Relation):
        code = "formula.relation-wrong"
    elif isinstance(answer, Tuple):
        return _wrong_tuple(answer, item.accept, item.readings[-1], reading)
    return results.failed(code, f"read as {reading}; not equal, and no known mistake")


def _wrong_tuple(answer: Tuple, accept: tuple[Tree, ...], comparer: Comparer, reading: str) -> Finding:
    staff = f"read as {reading}; not equal, and no known mistake"
    right = [tree for tree in accept if isinstance(tree, Tuple)]
    if all(len(tree.elements) != len(answer.elements) for tree in right):
        return results.failed("formula.tuple-length", staff, count=str(len(answer.elements)))
    if any(_permuted(answer, tree, comparer) for tree in right):
        return results.failed("formula.tuple-order", staff)
    return results.failed("formula.tuple-wrong", staff)


def _permuted(answer: Tuple, right: Tuple, comparer: Comparer) -> bool:
    """Whether two tuples have the same elements in another order."""
    left = list(right.elements)
    for element in answer.elements:
        try:
            match = next((other for other in left if comparer.equal(element, other)), None)
        except Undecided:
            return False
        if match is None:
            return False
        left.remove(match)
    return not left
