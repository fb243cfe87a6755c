"""The credit graph of an item, made from its mistakes and remarks, with results carried forward."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import combinations
from typing import Literal, Protocol

import msgspec
from msgspec import Struct

from autograder.checks.options import CENT, check_points, check_text
from autograder.errors import RubricError, inside
from autograder.formulas import Unreadable, Vocabulary
from autograder.formulas.equality.compare import Comparer
from autograder.formulas.mistakes.diagnose import CODES
from autograder.formulas.nodes import Add, Node, Relation, Sym, Tree, Tuple, substitute, symbols
from autograder.formulas.notation.parse import parse, parse_canonical
from autograder.kinds.general.formula import options as spelling
from autograder.kinds.general.formula.conditions import (
    Condition,
    Copied,
    Diagnosed,
    Early,
    Either,
    Every,
    HasForm,
    IsForeseen,
    Not,
    OneNumber,
    Otherwise,
    Own,
    OwnIs,
    Right,
)
from autograder.kinds.general.formula.graph import NO_POINTS, CreditGraph, CreditStep
from autograder.kinds.general.formula.options import FormRule, FormulaItem, OptionalTerms
from autograder.messages.formulas import reason
from autograder.records import ItemResult, Status
from autograder.rubric import Item, Question, Rubric

CARRIED = "formula.carried-forward"
"""The code of a result that is right only given one before it."""

_PLACE = re.compile(r"(?P<name>[^\[\]]+)(?:\[(?P<element>[0-9]{1,2}|[^\W\d]\w*)\])?")
_OF = {"formula": "", "tuple": "[1]", "relation": "[symbol]"}
_FORMS = ("formula", "tuple", "relation")

ReadKey = Callable[[str, str, Vocabulary, str], Tree]
"""Reads a right answer of the rubric: its text, form, vocabulary and place."""


class Source(Struct, frozen=True, eq=False):
    """Where an earlier result comes from.

    Attributes:
        name: ``"question.item"``.
        vocabulary: the symbols of that question: the result was printed in them.
        element: of a tuple, the place from 0; -1 for a formula.
        right: what the rubric states as right there; None where only a reference knows.
        symbol: of a relation, the symbol that it is solved for; what is right there says nothing new.
    """

    name: str
    vocabulary: Vocabulary
    element: int = -1
    right: Node | None = None
    symbol: str = ""


class EarlierResult(Struct, frozen=True):
    """An earlier result, as far as a later item can build on it.

    Attributes:
        formula: what the student found; None where that is no formula in the symbols known here, or says
            nothing: a number is no result to build on.
        states: what it is; two while a person has yet to decide whether it is right.
        known: what was found there is known. It is not where we failed to read or run it.
        there: something was found there.
        earned: it was worth something.
    """

    formula: Node | None = None
    states: tuple[Own, ...] = ("missing",)
    known: bool = True
    there: bool = False
    earned: bool = False


class Carried(Struct, frozen=True):
    """What stands for the names of earlier results when one answer is judged.

    Attributes:
        values: a formula for each name that has one: the student's own, or else the right one.
        own: the names that stand for the student's own.
        wrong: the names whose results are wrong, or no formulas.
        earned: the names whose results were worth something.
        state: of all of them together.
        whole: only what speaks of all of the student's own results counts.
    """

    values: tuple[tuple[str, Node], ...] = ()
    own: frozenset[str] = frozenset()
    wrong: frozenset[str] = frozenset()
    earned: frozenset[str] = frozenset()
    state: Own = "missing"
    whole: bool = False

    def put_into(self, tree: Tree, names: Collection[str]) -> Tree | None:
        """The tree with its names replaced; None where one of these has no value."""
        known = dict(self.values)
        if not set(names) <= known.keys():
            return None
        for name in names:
            tree = with_value(tree, name, known[name])
        return tree


def with_value(tree: Tree, name: str, value: Node) -> Tree:
    """A tree with a formula in the place of a symbol."""
    if isinstance(tree, Relation):
        return Relation(substitute(tree.left, name, value), substitute(tree.right, name, value), tree.sign)
    if isinstance(tree, Tuple):
        return Tuple(tuple(substitute(element, name, value) for element in tree.elements))
    return substitute(tree, name, value)


_UNREAD = ("unreadable.", "formula.not-a-formula")
"""How the codes of answers begin that could not be read."""


def earlier_result(result: ItemResult | None, source: Source, names: Collection[str]) -> EarlierResult:
    """Read an earlier result.

    Args:
        result: of the earlier item; None where there is none.
        source: where it comes from.
        names: the symbols of the question that builds on it.
    """
    if result is None or not result.reading:
        # A blank answer that a text may contain is none that a later one can be read as building on.
        is_blank = result is None or result.code == "review.text-beside"
        status = Status.NO_ANSWER if result is None or is_blank else result.status
        is_unread = result is not None and result.code.startswith(_UNREAD)  # nothing can follow from it
        is_known = is_unread or status is not Status.NEEDS_REVIEW
        return EarlierResult(known=is_known, there=is_unread or status is Status.FAILED)
    try:
        formula = parse_canonical(result.reading, source.vocabulary)
    except Unreadable:
        return EarlierResult(there=True)
    if source.symbol:
        return _solved(result, formula, source.symbol, names)
    if source.element >= 0:
        elements = formula.elements if isinstance(formula, Tuple) else ()
        formula = elements[source.element] if source.element < len(elements) else Tuple(())
    if isinstance(formula, Relation | Tuple) or not symbols(formula) or not symbols(formula) <= set(names):
        return EarlierResult(there=True)
    if result.status is Status.NEEDS_REVIEW:
        return EarlierResult(formula, ("right", "wrong"), there=True, earned=True)
    # What was carried forward itself earned its points, and is another formula than the right one.
    right = result.status is Status.PASSED and result.code != CARRIED
    return EarlierResult(formula, ("right",) if right else ("wrong",), there=True, earned=result.points > 0)


def _solved(result: ItemResult, relation: Tree, symbol: str, names: Collection[str]) -> EarlierResult:
    """What a wrong relation says of a symbol, where this stands alone on one of its sides."""
    if result.status is not Status.FAILED:
        return EarlierResult(known=result.status is not Status.NEEDS_REVIEW)
    if not isinstance(relation, Relation) or relation.sign != "=":
        return EarlierResult()
    for side, other in ((relation.left, relation.right), (relation.right, relation.left)):
        if side == Sym(symbol) and symbol not in symbols(other) and set() < symbols(other) <= set(names):
            return EarlierResult(other, ("wrong",), there=True)
    return EarlierResult()


def ways_carried(
    results: Mapping[str, EarlierResult],
    sources: Mapping[str, Source],
    *,
    main_form: bool,
    whole: bool = False,
) -> Iterator[Carried]:
    """What the earlier results are: once, or twice while a person has yet to decide on one of them.

    Args:
        results: by the names that stand for them.
        sources: where they come from, by the same names.
        main_form: a right result stands for the right answer that the rubric states first. Otherwise it
            stands for itself, with the optional terms that it has.
        whole: only what speaks of all of the student's own results counts.
    """
    if not results:
        yield Carried(whole=whole)
        return
    for undecided in range(max(len(one.states) for one in results.values())):
        values: dict[str, Node] = {}
        own, wrong, states = set(), set(), set()
        for name, one in results.items():
            state = one.states[min(undecided, len(one.states) - 1)]
            right = sources[name].right
            states.add("wrong" if one.there and one.formula is None else state)
            if one.formula is not None and not (main_form and state == "right" and right is not None):
                values[name] = one.formula
                own.add(name)
            elif right is not None and (state == "right" or not one.there):
                values[name] = right
            if one.there and state != "right":
                wrong.add(name)
        yield Carried(
            tuple(sorted(values.items(), key=lambda entry: entry[0])),
            frozenset(own),
            frozenset(wrong),
            frozenset(name for name, one in results.items() if one.earned),
            _together(states, results),
            whole,
        )


def _together(states: Collection[str], results: Mapping[str, EarlierResult]) -> Own:
    """Wrong where one of them is; missing where none can be read."""
    if all(one.formula is None for one in results.values()):
        return "missing"
    return "wrong" if "wrong" in states else "right"


def carried_from(
    spelled: str,
    vocabulary: Vocabulary,
    question: Question,
    rubric: Rubric,
    *,
    where: str,
    read_key: ReadKey,
) -> Source:
    """The source of a result that a question builds on.

    Args:
        spelled: ``"question.item"``, or ``"question.item[2]"`` for the second element of a tuple, or
            ``"question.item[d]"`` for what a relation says of the symbol ``d``.
        vocabulary: the symbols of the question that builds on it.
        question: that question; items of its own that stand before are known as well.
        rubric: of both.
        where: how errors name the place.
        read_key: reads what is right there.

    Raises:
        RubricError: there is no such formula before, or a symbol means something else there.
    """
    found = _PLACE.fullmatch(spelled)
    name, element = (found["name"], found["element"]) if found else (spelled, None)
    form = "formula" if element is None else "tuple" if element.isdigit() else "relation"
    known = _before(question, rubric)
    if name not in known or known[name][1].options.get("form", "formula") != form:
        listed = ", ".join(one + _OF[item.options.get("form", "formula")] for one, (_, item) in known.items())
        raise RubricError(
            f'expected "question.item" of a formula in an earlier question, got {spelled!r}; '
            f"there are: {listed or 'none'}",
            where,
            "from",
        )
    asked, item = known[name]
    declared = rubric.symbols(asked)
    for symbol in declared:
        if vocabulary.names.get(symbol, symbol) != symbol:
            meant = vocabulary.names[symbol]
            raise RubricError(f"{symbol!r} is a symbol there, and stands for {meant!r} here", where, "from")
    if form == "relation":
        if element not in declared:
            raise RubricError(f"{spelled!r}: {element!r} is no symbol there", where)
        return Source(name, rubric.vocabulary(asked), symbol=str(element))
    source = Source(name, rubric.vocabulary(asked), int(element or 0) - 1)
    stated = item.options.get("accept", ())
    right = read_key(stated[0], form, source.vocabulary, where) if stated else None
    if element is not None and isinstance(right, Tuple):
        if not 0 <= source.element < len(right.elements):
            raise RubricError(f"{spelled!r}: the right answer has no such element; they count from 1", where)
        right = right.elements[source.element]
    if right is None or isinstance(right, Relation | Tuple) or not symbols(right) <= set(vocabulary.domains):
        return source
    return Source(name, source.vocabulary, source.element, right)


def _before(question: Question, rubric: Rubric) -> dict[str, tuple[Question, Item]]:
    """The formulas and tuples that are asked for before the last item of a question."""
    asked = rubric.questions[: [one.id for one in rubric.questions].index(question.id)]
    found = {
        f"{one.id}.{item.id}": (one, item)
        for one in (*asked, question)
        for item in one.items
        if one.kind == question.kind and not item.manual and item.options.get("form", "formula") in _FORMS
    }
    own = [name for name, (one, _) in found.items() if one.id == question.id]
    for name in own[-1:]:
        del found[name]
    return found


class Formula(Protocol):
    """Takes in a formula that a step speaks of."""

    def __call__(
        self, text: str, assume: tuple[str, ...] | None, at: str, basis: Basis = "stated"
    ) -> tuple[int, frozenset[str]]:
        """Its index, and the names of earlier results in it.

        Args:
            text: the formula.
            assume: relations that it is compared under; None: those of the item.
            at: how errors name the place.
            basis: what it is compared with; see `Basis`.
        """


Basis = Literal["stated", "mistake", "own", "own-early"]
"""``own``: the formula stands for nothing without an earlier result of the student's own, and ``own-early``
is compared under every relation there is. ``mistake``: it stands for nothing beside an earlier result that
is wrong, unless it speaks of it."""


class Making(Struct, frozen=True, eq=False):
    """What a graph is made from.

    Attributes:
        item: the item whose points it gives.
        options: the item's options.
        follow: what follows from earlier results, as the rubric spells it.
        follow_points: for that, where an earlier result is wrong; None: all points.
        sources: names of the earlier results that the item may speak of.
        formula: takes in the formulas of steps.
        where: how errors name the item.
        rule: what is asked of the form of a right answer.
    """

    item: Item
    options: spelling.FormulaItem
    follow: tuple[str, ...]
    follow_points: Decimal | None
    sources: tuple[str, ...]
    formula: Formula
    where: str
    rule: FormRule | None = None


def credit_graph(making: Making) -> CreditGraph:
    """Right without assumptions, remarks, right, what follows, mistakes, early: the first that fits.

    Raises:
        RubricError: an option is not as it must be, or the points do not fit.
    """
    item, options = making.item, making.options
    formula, where, rule = making.formula, making.where, making.rule
    possible = max(item.points, NO_POINTS)
    steps = [CreditStep("right", Right(strictly=True), possible, silent=True, full=True)]
    for remark in options.remark:
        at = checked_option(remark, item, where)
        index, _ = formula(remark.when, remark.assume, at)
        steps.append(CreditStep(remark.code, IsForeseen(index), possible, remark.text, full=True))
    steps.append(CreditStep("right-assuming", Right(), possible, silent=True, full=True))
    steps += _following(making, possible)
    early, built_on = _early(making)
    for mistake in options.mistake:
        at = checked_option(mistake, item, where)
        found = [formula(text, mistake.assume, at, "mistake") for text in formulas_of(mistake)]
        condition = _either([IsForeseen(index) for index, _ in found])
        spoken = sorted(frozenset[str]().union(*(names for _, names in found)))
        if spoken and mistake.points < early.points and early not in steps:
            steps.append(early)  # else a wrong earlier result could make this answer worth less
        if spoken and mistake.points and options.form == "formula":
            same = tuple((name, formula(name, (), where, "own")[0]) for name in spoken)
            worthless = Every((condition, Copied(same), Not(Copied(same, earned=True))))
            steps.append(CreditStep(mistake.code, worthless, text=mistake.text))
        steps.append(CreditStep(mistake.code, condition, mistake.points, mistake.text))
    if early not in steps:
        steps.append(early)
    if options.number_points:
        check_points(options.number_points, max(item.points, CENT), where, "number_points")
        misconception: Condition = OneNumber(built_on)
        misconception = misconception if rule is None else Every((misconception, HasForm(rule=rule)))
        steps.append(CreditStep("one-number", misconception, options.number_points, silent=True))
    for code, points in options.diagnosis_points.items():
        check_points(points, max(item.points, CENT), where, "diagnosis_points", code)
        if code not in CODES:
            known = f"known are: {', '.join(sorted(CODES))}"
            raise RubricError(f"unknown code {code!r}; {known}", where, "diagnosis_points", code)
        steps.append(CreditStep(code, Diagnosed(code=code), points, silent=True))
    return CreditGraph(tuple(steps if rule is None else _then_form(steps, rule, possible)))


def _early(making: Making) -> tuple[CreditStep, frozenset[str]]:
    """The step for what is right too early, and the earlier results that the first formula builds on."""
    points = making.options.early_points
    if points:
        check_points(points, max(making.item.points, CENT), making.where, "early_points")
    early = [making.formula(text, None, making.where, "own-early") for text in making.follow]
    condition = _either([Early(), *(IsForeseen(index) for index, _ in early)])
    step = CreditStep("formula.early", condition, points, message="formula.early")
    return step, early[0][1] if early else frozenset()


def formulas_of(option: spelling.FormulaMistake | spelling.Remark) -> tuple[str, ...]:
    """The formulas that a mistake or a remark is about."""
    return (option.when,) if isinstance(option.when, str) else option.when


def _then_form(steps: list[CreditStep], rule: FormRule, possible: Decimal) -> Iterator[CreditStep]:
    """Whatever was worth everything goes on to the form; it is worth the rest.

    What follows from an earlier result that is wrong may have no such form, and is not asked for it.
    """
    form = len(steps) + 1
    for step in steps:
        asked = step.full and step.id != CARRIED
        yield msgspec.structs.replace(step, points=rule.points, full=False, onward=form) if asked else step
    yield CreditStep("wrong", Otherwise(), silent=True)
    yield CreditStep("form", HasForm(rule=rule), possible - rule.points, silent=True, full=True)


def _following(making: Making, possible: Decimal) -> Iterator[CreditStep]:
    """What follows from earlier results: worth everything when those were right."""
    if not making.follow:
        return
    where, points = f"{making.where}: follow", possible
    if making.follow_points is not None:
        check_points(making.follow_points, Decimal("Infinity"), f"{making.where}: follow_points")
        points = min(making.follow_points, possible)
    found: list[tuple[Condition, frozenset[str]]] = []
    for text in making.follow:
        index, names = making.formula(text, None, where, "own")
        if not names:
            listed = ", ".join(map(repr, making.sources))
            raise RubricError(f"{text!r}: {listed} must stand for the earlier result", where)
        found.append((IsForeseen(index), names))
    fits = _either([one for one, _ in found])
    if making.options.form == "formula" and making.options.assume:
        spoken = sorted(frozenset[str]().union(*(names for _, names in found)))
        same = {name: making.formula(name, (), where, "own")[0] for name in spoken}
        if making.rule is not None and points == possible:  # it may be in the form that is asked for
            copied = Every((fits, Copied(tuple(same.items()), earned=True)))
            yield CreditStep("copied", copied, points, message=CARRIED, full=True, carries=True)
        # Only what a formula speaks of can be copied through it; others may have this value by chance.
        fits = _either([Every((one, Not(_copied(same, names)))) for one, names in found])
    if points < possible:
        yield CreditStep(CARRIED, Every((OwnIs(state="right"), fits)), possible, message=CARRIED, full=True)
    yield CreditStep(CARRIED, fits, points, message=CARRIED, full=points == possible, carries=True)


def _copied(same: Mapping[str, int], names: Collection[str]) -> Copied:
    """One of these earlier results stands there as it is."""
    return Copied(tuple((name, same[name]) for name in sorted(names)))


def _either(conditions: Sequence[Condition]) -> Condition:
    return conditions[0] if len(conditions) == 1 else Either(tuple(conditions))


def checked_option(
    option: spelling.FormulaMistake | spelling.Remark | spelling.OptionalTerms, item: Item, where: str
) -> str:
    """How errors name a mistake or remark; its texts and points are checked.

    Raises:
        RubricError: the English text is missing, braces are not written twice, or it is worth too much.
    """
    key = "remark" if isinstance(option, spelling.Remark) else "mistake"
    keys = () if isinstance(option, spelling.OptionalTerms) else (key, option.code)
    at = inside(where, f", {option.code!r}", *keys)
    check_text(option.text, at)
    if not isinstance(option, spelling.Remark):
        check_points(option.points, max(item.points, CENT), at, "points")
    return at


MOST_TERMS = 5
"""Their sums are all looked up."""


class Extra(Struct, frozen=True, eq=False):
    """A sum of some of the terms."""

    sum: Node
    whole: bool
    """All of them."""


class Optional(Struct, frozen=True, eq=False):
    """The terms of one item."""

    option: OptionalTerms
    extras: tuple[Extra, ...]
    """Every sum of at least one of them, that of all first; equal ones once."""


def optional_terms(
    options: FormulaItem, item: Item, vocabulary: Vocabulary, comparer: Comparer, where: str
) -> Optional | None:
    """The terms that an item's rubric states.

    Raises:
        RubricError: the item is no formula, or a term is not readable.
    """
    option = options.optional
    if option is None:
        return None
    at = inside(where, ": optional", "optional")
    if options.form != "formula" or options.must:
        raise RubricError('belongs to form = "formula", without must', at)
    if not 1 <= len(option.terms) <= MOST_TERMS:
        raise RubricError(f"from 1 to {MOST_TERMS}, got {len(option.terms)}", at, "terms")
    checked_option(option, item, at)
    terms = [_term(text, vocabulary, at) for text in option.terms]
    chosen = [some for count in range(len(terms), 0, -1) for some in combinations(terms, count)]
    sums = {
        comparer.value(total) or total: Extra(total, whole=len(some) == len(terms))
        for some in reversed(chosen)
        for total in [some[0] if len(some) == 1 else Add(some)]
    }
    return Optional(option, tuple(reversed(sums.values())))


def _term(text: str, vocabulary: Vocabulary, at: str) -> Node:
    try:
        return parse(text, vocabulary)
    except Unreadable as error:
        raise RubricError(f"the formula {text!r} is not readable: {reason(error)}", at) from error
