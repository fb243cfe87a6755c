"""The kind ``formula``: formulas, relations between symbols, and tuples of formulas.

Formulas are compared exactly in the assignment's symbols, regardless of notation. An item may grant
assumptions (``assume``): an answer is then right if it is right with or without them; the two readings are
kept separate for remarks and mistakes. An item may build on the student's own earlier results: consequences
of those are then right as well.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Hashable, Mapping, Sequence
from decimal import Decimal
from itertools import pairwise
from typing import ClassVar

import msgspec
from msgspec import Struct

from autograder.core.records import Answer, Call, ItemResult, Message, Status
from autograder.formulas import Undecided, Unreadable, to_text
from autograder.formulas.lenient_parser import read_leniently, remove_float_noise
from autograder.formulas.mistakes.diagnose import Diagnosis
from autograder.formulas.mistakes.relations import RelationDiagnosis
from autograder.formulas.nodes import Node, Relation, Tree, Tuple
from autograder.formulas.notation.parse import parse
from autograder.formulas.values.points import Points
from autograder.messages.parse_errors import describe_unreadable
from autograder.questions.base.base import SAMPLE, Check, Draw, Evidence, Trial
from autograder.questions.base.judging import results
from autograder.questions.base.judging.manual import judge_manual
from autograder.questions.base.judging.results import Finding
from autograder.questions.base.kind import Kind
from autograder.questions.base.options import read_item_options
from autograder.questions.base.planning.planting import Planter, ReadPlace
from autograder.questions.base.values.literal import NoFormula, extract_markdown_formula, find_answer_literal
from autograder.questions.formula.answer_key import Facts, FormulaKey
from autograder.questions.formula.answers import (
    NotAFormula,
    count_right_entries,
    explain_wrong,
    extract_text,
    has_formula,
    read_answer,
    show_answer,
)
from autograder.questions.formula.credit import NO_POINTS, Credit, Situation
from autograder.questions.formula.formula_key import (
    PreparedItem,
    find_chain_failure,
    find_judged_side,
    find_sign_failure,
    prepare_question,
)
from autograder.questions.formula.growth_and_sets import Special
from autograder.questions.formula.options import FormulaItem, FormulaQuestion, OptionalTerms
from autograder.questions.formula.steps import (
    CARRIED,
    CarriedResults,
    EarlierResult,
    list_carried,
    read_earlier_result,
)
from autograder.questions.formula.trials import ItemTrials, find_earlier_results
from autograder.rubric import Question, Rubric

MAX_KEYS = 512
"""Cached answer keys, one for each item and each own result that is carried forward; also cached
judgements."""
MAX_DRAWS = 4
"""Draws for which the check is kept prepared; grading has one."""


class _Judgement(Struct, frozen=True):
    """The judgement of one item; ``finding`` is None for full points."""

    finding: Finding | None
    reading: str = ""
    code: str = ""
    """For statistics; empty: the code of the finding."""
    word: Message | None = None
    """A remark about a right answer."""


class _Basis(Struct, frozen=True):
    """The inputs of an answer key in addition to the rubric."""

    reference: Node | None = None
    carried: CarriedResults = CarriedResults()


class FormulaCheck(Check):
    """One question that formulas answer."""

    kind: ClassVar[str] = "formula"
    question_type = FormulaQuestion
    item_type = FormulaItem

    def __init__(self, question: Question, rubric: Rubric) -> None:
        """Read the options and every formula in them.

        Raises:
            RubricError: an option is misspelt or of the wrong type, or a formula is not readable.
        """
        self._question = question
        self._rubric = rubric
        self._get_for_draw = functools.lru_cache(MAX_DRAWS)(self._copy_for_draw)
        self.prepare_draw(SAMPLE)
        self._names = tuple(dict.fromkeys(item.answer for item in self._items.values()))

    def prepare_draw(self, draw: Draw) -> None:
        """Read everything, and compare it at the points derived from a draw."""
        prepared = prepare_question(self._question, self._rubric, draw)
        self._vocabulary, self._items = prepared.vocabulary, prepared.items
        self._spoken = prepared.spoken
        self._keys: dict[tuple[str, _Basis], FormulaKey] = {}
        self._diagnoses: dict[tuple[str, Node | None], Diagnosis | RelationDiagnosis | None] = {}
        # The reference's formula is the same for a whole class.
        self._read_reference = functools.lru_cache(MAX_KEYS)(lambda text: parse(text, self._vocabulary))
        self._judged: dict[tuple[Hashable, ...], _Judgement] = {}

    def _copy_for_draw(self, draw: Draw) -> FormulaCheck:
        """Return the same check at the points of a draw, which is a secret."""
        # The copy shares question and rubric; preparing it replaces everything derived from the draw.
        check = copy.copy(self)
        check.prepare_draw(draw)
        return check

    @property
    def points(self) -> Points:
        """The points at which formulas are compared."""
        return next(iter(self._items.values())).readings[0].points

    def plan_calls(self, answer: Answer) -> tuple[Call, ...]:
        """Return the calls that read the variables that are no literals in the source."""
        return tuple(Call(name, read=True) for name in self._list_observed(answer))

    def plan_reference_calls(self) -> tuple[Call, ...]:
        """Return the call of the reference formula, if an item needs it."""
        if any(item.uses_reference for item in self._items.values()):
            return (Call(self._question.answer),)
        return ()

    def judge(self, evidence: Evidence) -> tuple[ItemResult, ...]:
        """Return one result per item.

        Grading always has a draw. A user who only tries a rubric gets the same verdict each time.
        """
        return self._get_for_draw(evidence.draw or SAMPLE).judge_here(evidence)

    def judge_here(self, evidence: Evidence) -> tuple[ItemResult, ...]:
        """Return one result per item, compared at the points that this check was prepared with."""
        judged: dict[str, ItemResult] = {}
        for item in self._question.items:
            if item.manual:
                judged[item.id] = judge_manual(self._question, item, evidence)
                continue
            prepared, context = self._items[item.id], evidence
            # An item may build on earlier items of the same question.
            if judged and prepared.sources:
                own_results = {
                    f"{self._question.id}.{name}": earlier_result for name, earlier_result in judged.items()
                }
                context = msgspec.structs.replace(evidence, earlier={**evidence.earlier, **own_results})
            judged[item.id] = self._make_result(prepared, context)
        return tuple(judged.values())

    def is_in_text(self, text: str) -> bool:
        """Return whether a text contains a formula."""
        return has_formula(text, self._vocabulary.names)

    def make_trials(self, key: Answer) -> tuple[Trial, ...]:
        """Return answers that the rubric names, the key in other notations, and misconceptions of the key."""
        options = read_item_options(self._question, FormulaItem)
        reads = {name: ReadPlace(item.answer) for name, item in self._items.items()}
        makers = (
            ItemTrials(
                Planter(self._question, item.item, reads, key),
                item,
                options[name],
                self._vocabulary,
                find_earlier_results(self._question, self._rubric, item.sources),
            )
            for name, item in self._items.items()
        )
        return tuple(trial for item in makers for trial in item.make_all())

    def _list_observed(self, answer: Answer) -> tuple[str, ...]:
        """Return the variables that must be read in the sandbox, in the order of the plan."""
        if answer.cell_type != "code" or results.is_blank(answer):
            return ()
        return tuple(name for name in self._names if find_answer_literal(answer.source, name) is None)

    def _make_result(self, item: PreparedItem, evidence: Evidence) -> ItemResult:
        judged = self._judge_item(item, evidence)
        result = msgspec.structs.replace(
            results.make_result(self._question, item.item, judged.finding), reading=judged.reading
        )
        if judged.code:
            result = msgspec.structs.replace(result, code=judged.code)
        if judged.word is not None:
            result = msgspec.structs.replace(result, student=judged.word, staff=judged.code)
        return result

    def _judge_item(self, item: PreparedItem, evidence: Evidence) -> _Judgement:
        if results.is_blank(evidence.answer):
            return _Judgement(results.make_no_answer())
        several = item.special is not None and item.special.several
        value, finding = self._read_value(item.answer, evidence, several=several)
        if finding is not None:
            return _Judgement(finding)
        try:
            if item.special is not None:
                return self._judge_specially(item.special, value, item, evidence)
            judged = self._judge_sides(read_answer(value, item.form, self._spoken), item, evidence)
        except NoFormula:
            return _Judgement(results.make_no_answer())
        except NotAFormula as error:
            message = Message("formula.not-a-formula", {"name": item.answer, "type": str(error)})
            return _Judgement(results.make_unreadable(message, f"not a formula: {error}"))
        except Unreadable as error:
            message = describe_unreadable(error, show_answer(value))
            judged = _Judgement(results.make_unreadable(message, f"not readable: {error}"))
        # Special forms have no lenient reading.
        if judged.finding is None or item.special is not None:
            return judged
        return (
            self._judge_leniently(show_answer(value), item, evidence, is_read=judged.reading != "") or judged
        )

    def _judge_leniently(
        self, written: str, item: PreparedItem, evidence: Evidence, *, is_read: bool
    ) -> _Judgement | None:
        """Judge an answer as it was most likely meant; None if that does not earn full points."""
        text = remove_float_noise(written)
        # An answer that was readable is read again only if its text had float noise.
        if is_read and text == written:
            return None
        try:
            judged = self._judge_sides(read_leniently(text, item.form, self._spoken), item, evidence)
        except Unreadable:
            return None
        if judged.finding is None and text != written:
            word = Message("formula.float-noise", {"text": text})
            judged = msgspec.structs.replace(judged, code=word.code, word=word)
        return judged if judged.finding is None else None

    def _judge_sides(self, sides: tuple[Tree, ...], item: PreparedItem, evidence: Evidence) -> _Judgement:
        """Judge the parsed answer: one tree, or the sides of a chain."""
        reading = to_text(sides[-1])
        reference, finding = self._find_reference(item, evidence)
        if finding is None and item.form == "relation":
            finding = find_chain_failure(sides, item)
        if finding is not None:
            return _Judgement(finding, reading)
        earlier = {
            name: read_earlier_result(evidence.earlier.get(source.name), source, self._vocabulary.domains)
            for name, source in item.sources.items()
        }
        broken = None if item.form == "relation" or len(sides) == 1 else _check_sides(sides, item)
        if broken is None:
            answer = find_judged_side(sides, item)
            place = item.item.id, reference, answer, reading, tuple(earlier.items())
            return self._get_judgement(
                place, lambda: self._compare_answer(answer, item, reference, earlier, reading)
            )
        if broken.status is not Status.FAILED:
            return _Judgement(broken, reading)
        ends = (sides[0], sides[-1])  # a slip on the way leaves one of them right
        alone = [self._compare_answer(side, item, reference, earlier, reading).finding for side in ends]
        return _Judgement(_judge_slip(broken, alone, item.slip_points), reading)

    def _judge_specially(
        self, special: Special, value: object, item: PreparedItem, evidence: Evidence
    ) -> _Judgement:
        reference, finding = self._find_reference(item, evidence)
        if finding is not None:
            return _Judgement(finding)
        outcome = special.judge(value, reference)
        code = outcome.word.code if outcome.word is not None else ""
        return _Judgement(outcome.finding, outcome.reading, code, outcome.word)

    def _read_value(
        self, name: str, evidence: Evidence, *, several: bool = False
    ) -> tuple[object, Finding | None]:
        """Return the value of the student's variable, or why it is unknown."""
        answer = evidence.answer
        if answer.cell_type != "code":
            if several:
                return answer.source, None
            try:
                return extract_markdown_formula(answer.source), None
            except NoFormula:
                return None, results.make_no_answer()
            except Unreadable as error:
                return None, results.make_unreadable(
                    describe_unreadable(error, answer.source), f"not readable: {error}"
                )
        literal = find_answer_literal(answer.source, name)
        if literal is not None:
            return literal.value, None
        return results.read_observed(evidence.observed, self._list_observed(answer).index(name), name)

    def _find_reference(self, item: PreparedItem, evidence: Evidence) -> tuple[Node | None, Finding | None]:
        """Return the reference's formula, if the item uses it."""
        if not item.uses_reference:
            return None, None
        value, finding = results.read_reference(evidence.expected)
        if finding is not None:
            return None, finding
        try:
            return self._read_reference(extract_text(value)), None
        except (Unreadable, NotAFormula, NoFormula) as error:
            return None, results.make_review(f"the reference's formula is not readable: {error!r}")

    def _get_key(self, item: PreparedItem, basis: _Basis) -> FormulaKey:
        key = self._keys.get((item.item.id, basis))
        if key is None:
            shared = self._diagnoses.get((item.item.id, basis.reference))
            key = item.make_key(basis.reference, basis.carried, shared)
            if len(self._keys) < MAX_KEYS:
                self._keys[item.item.id, basis] = key
                self._diagnoses[item.item.id, basis.reference] = key.diagnosis
        return key

    def _get_judgement(
        self, cache_key: tuple[Hashable, ...], compute: Callable[[], _Judgement]
    ) -> _Judgement:
        """Return the judgement of an answer from the cache; most of a class write the same one.

        Args:
            cache_key: everything that determines the judgement.
            compute: computes it.
        """
        judgement = self._judged.get(cache_key)
        if judgement is None:
            judgement = compute()
            if len(self._judged) >= MAX_KEYS:
                self._judged.clear()
            self._judged[cache_key] = judgement
        return judgement

    def _compare_answer(
        self,
        answer: Tree,
        item: PreparedItem,
        reference: Node | None,
        earlier: Mapping[str, EarlierResult],
        reading: str,
    ) -> _Judgement:
        keys = [
            (self._get_key(item, _Basis(reference, carried)).make_facts(answer), carried)
            for carried in list_carried(earlier, item.sources, main_form=item.optional is not None)
        ]
        facts = keys[0][0]
        try:
            outcome, mixed = _find_credit(
                item, keys, is_decided=all(carried.is_known for carried in earlier.values())
            )
        except Undecided as error:
            return _Judgement(
                results.make_review(f"read as {reading}; {error}", "formula.undecided"), reading
            )
        if mixed is not None and self._has_carried_terms(answer, item, reference, earlier):
            return _Judgement(None, reading, CARRIED, Message(CARRIED))
        if mixed is not None:
            message = Message(mixed.code, text=mixed.text)
            some = Finding(Status.FAILED, message, f"read as {reading}; {mixed.code}", mixed.points)
            return _Judgement(some, reading, mixed.code)
        if item.is_full_credit(outcome):
            code = CARRIED if outcome.carries else outcome.code
            return _Judgement(None, reading, code, outcome.message)
        if item.rule is not None and outcome.lacks_form:
            finding = item.rule.judge_form(answer, reading)
            if finding is not None:
                return _Judgement(msgspec.structs.replace(finding, points=outcome.points), reading)
        if outcome.message is not None:
            staff = f"read as {reading}; {outcome.step.id if outcome.step else ''}"
            finding = Finding(Status.FAILED, outcome.message, staff, outcome.points)
            return _Judgement(finding, reading, outcome.code)
        # Mistakes and remarks of the rubric come first; general explanations only follow.
        trouble = find_sign_failure(answer, item, reading)
        if trouble is not None:
            return _Judgement(msgspec.structs.replace(trouble, points=outcome.points), reading)
        points = outcome.points
        if item.entry_points and isinstance(answer, Tuple):
            right_trees = [
                *item.accept,
                *(tree for _, carried in keys for tree in item.list_following(carried)),
            ]
            points = max(points, item.entry_points * count_right_entries(answer, right_trees, item.readings))
        finding, code = explain_wrong(facts, item.accept, item.readings[-1], reading, points)
        return _Judgement(finding, reading, outcome.code or code)

    def _has_carried_terms(
        self, answer: Tree, item: PreparedItem, reference: Node | None, earlier: Mapping[str, EarlierResult]
    ) -> bool:
        """Return whether an answer has exactly the optional terms of the student's own earlier results."""
        ways = list_carried(earlier, item.sources, main_form=False, whole=True)
        keys = [(self._get_key(item, _Basis(reference, carried)), carried) for carried in ways]
        try:
            credit_by_item = [
                item.steps.find_credit(Situation(key.make_facts(answer), carried.state, carried.earned))
                for key, carried in keys
            ]
        except Undecided:
            return False
        return all(carried.carries and item.is_full_credit(carried) for carried in credit_by_item)


def _find_credit(
    item: PreparedItem, keys: Sequence[tuple[Facts, CarriedResults]], *, is_decided: bool
) -> tuple[Credit, OptionalTerms | None]:
    """Return the credit of an answer, and whether it has some optional terms without others.

    Args:
        item: the item.
        keys: for each way in which earlier results may be decided, the answer with its key and the values
            carried forward.
        is_decided: whether the judgement of earlier results is known.

    Raises:
        Undecided: it, or an earlier result that it builds on, needs manual review.
    """
    (outcome, mixed), *alternatives = (_take_steps(item, facts, carried) for facts, carried in keys)
    for other, other_mixed in alternatives:
        # The decision on the earlier result would change the points of this item.
        if (other.points, other_mixed) != (outcome.points, mixed):
            raise Undecided("it depends on whether the earlier result is right, which a person decides")
        outcome = other
    if not is_decided and not item.is_full_credit(outcome):
        raise Undecided("the earlier result that it may build on is not known; a person decides on that one")
    return outcome, mixed


def _take_steps(
    item: PreparedItem, facts: Facts, carried: CarriedResults
) -> tuple[Credit, OptionalTerms | None]:
    """Return the best credit, with or without optional terms.

    Raises:
        Undecided: it needs manual review.
    """
    best = item.steps.find_credit(Situation(facts, carried.state, carried.earned))
    if item.optional is None or best.full or isinstance(facts.answer, Relation | Tuple):
        return best, None
    mixed, doubt = None, None
    for extra in item.optional.extras:
        without = facts.subtract_part(extra.sum)
        if (
            item.steps.most_undiagnosed <= best.points < item.item.points
            and without.unforeseen
            and (item.steps.most <= best.points or not facts.may_hold(extra.sum))
        ):
            continue  # it is worth no more, and not everything
        try:
            held = facts.may_hold(extra.sum)
            other = item.steps.find_credit(Situation(without, carried.state, carried.earned, diagnosed=held))
        except Undecided as error:
            doubt = doubt or error
            continue
        if item.is_full_credit(other) and extra.whole:
            return other, None
        if item.is_full_credit(other):
            mixed = item.optional.option if held else mixed
        elif other.points > best.points:
            best = other
    if mixed is not None and mixed.points >= best.points:
        return best, mixed
    if doubt is not None:
        raise doubt
    return best, None


def _judge_slip(broken: Finding, alone: Sequence[Finding | None], points: Decimal) -> Finding:
    """Return the finding about a chain with unequal sides: it earns points for its end, or for a slip.

    Args:
        broken: says which sides differ.
        alone: the findings about the first and the last side by themselves; None: full points.
        points: for a chain that begins or ends with a right side.
    """
    undecided = next(
        (finding for finding in alone if finding is not None and finding.status is Status.NEEDS_REVIEW), None
    )
    if undecided is not None:
        return undecided
    last = alone[-1]
    earned = max(points if None in alone else NO_POINTS, NO_POINTS if last is None else last.points)
    return msgspec.structs.replace(broken, points=earned)


def _check_sides(sides: tuple[Tree, ...], item: PreparedItem) -> Finding | None:
    """Return the finding that two neighbours in a chain of equations are equal under no reading, or None."""
    comparers = item.readings if item.beyond is None else (*item.readings, item.beyond)
    for left, right in pairwise(sides):
        try:
            if not any(comparer.is_equal(left, right) for comparer in comparers):
                return results.make_failure("formula.sides-differ", left=to_text(left), right=to_text(right))
        except Undecided as error:
            return results.make_review(f"the sides of an equation: {error}", "formula.undecided")
    return None


KIND = Kind(FormulaCheck, form="formula")
