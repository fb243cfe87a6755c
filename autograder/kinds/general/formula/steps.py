"""Construction of an item's credit graph from its mistakes and remarks, with results carried forward."""

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
"""The code of a result that is right only given an earlier one."""

_PLACE = re.compile(r"(?P<name>[^\[\]]+)(?:\[(?P<element>[0-9]{1,2}|[^\W\d]\w*)\])?")
_OF = {"formula": "", "tuple": "[1]", "relation": "[symbol]"}
_FORMS = ("formula", "tuple", "relation")

ReadKey = Callable[[str, str, Vocabulary, str], Tree]
"""Reads a right answer of the rubric: its text, form, vocabulary and place."""


class Source(Struct, frozen=True, eq=False):
    """The source of an earlier result.

    Attributes:
        name: ``"question.item"``.
        vocabulary: the symbols of that question, in which the result was printed.
        element: of a tuple, the index from 0; -1 for a formula.
        right: the right answer of the rubric; None if only a reference knows it.
        symbol: of a relation, the symbol that it is solved for; a right relation adds nothing new.
    """

    name: str
    vocabulary: Vocabulary
    element: int = -1
    right: Node | None = None
    symbol: str = ""


class EarlierResult(Struct, frozen=True):
    """An earlier result, as far as a later item can build on it.

    Attributes:
        formula: the student's formula; None if it is no formula in the symbols known here, or says
            nothing: a number is no result to build on.
        states: the state; two while manual review has yet to decide whether it is right.
        known: whether the result is known. It is not if we failed to read or run it.
        there: whether there was an answer.
        earned: whether it earned points.
    """

    formula: Node | None = None
    states: tuple[Own, ...] = ("missing",)
    known: bool = True
    there: bool = False
    earned: bool = False


class Carried(Struct, frozen=True):
    """The values of earlier results while one answer is judged.

    Attributes:
        values: a formula for each name that has one: the student's own, or else the right one.
        own: the names that have the student's own formula as their value.
        wrong: the names of results that are wrong, or no formulas.
        earned: the names of results that earned points.
        state: of all of them together.
        whole: only steps that refer to all of the student's own results count.
    """

    values: tuple[tuple[str, Node], ...] = ()
    own: frozenset[str] = frozenset()
    wrong: frozenset[str] = frozenset()
    earned: frozenset[str] = frozenset()
    state: Own = "missing"
    whole: bool = False

    def put_into(self, tree: Tree, names: Collection[str]) -> Tree | None:
        """Return the tree with its names replaced; None if one of these has no value."""
        known = dict(self.values)
        if not set(names) <= known.keys():
            return None
        for name in names:
            tree = with_value(tree, name, known[name])
        return tree


def with_value(tree: Tree, name: str, value: Node) -> Tree:
    """Return a tree with a formula substituted for a symbol."""
    if isinstance(tree, Relation):
        return Relation(substitute(tree.left, name, value), substitute(tree.right, name, value), tree.sign)
    if isinstance(tree, Tuple):
        return Tuple(tuple(substitute(element, name, value) for element in tree.elements))
    return substitute(tree, name, value)


_UNREAD = ("unreadable.", "formula.not-a-formula")
"""Prefixes of the codes of answers that could not be read."""


def earlier_result(result: ItemResult | None, source: Source, names: Collection[str]) -> EarlierResult:
    """Read an earlier result.

    Args:
        result: of the earlier item; None if there is none.
        source: of the result.
        names: the symbols of the question that builds on it.
    """
    if result is None or not result.reading:
        # A later answer cannot be read as building on a blank one, even if a text may contain an answer.
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
    # A result that was itself carried forward earned its points, but its formula is not the right one.
    right = result.status is Status.PASSED and result.code != CARRIED
    return EarlierResult(formula, ("right",) if right else ("wrong",), there=True, earned=result.points > 0)


def _solved(result: ItemResult, relation: Tree, symbol: str, names: Collection[str]) -> EarlierResult:
    """Return the value of a symbol according to a wrong relation, if the symbol is alone on one side."""
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
    """Yield the values of earlier results: once, or twice if one of them awaits manual review.

    Args:
        results: by their names.
        sources: by the same names.
        main_form: a right result has the first right answer of the rubric as its value. Otherwise it
            has its own formula, with the optional terms in it.
        whole: only steps that refer to all of the student's own results count.
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
            # Sorted, because it is part of the key of a cache.
            tuple(sorted(values.items(), key=lambda entry: entry[0])),
            frozenset(own),
            frozenset(wrong),
            frozenset(name for name, one in results.items() if one.earned),
            _together(states, results),
            whole,
        )


def _together(states: Collection[str], results: Mapping[str, EarlierResult]) -> Own:
    """Return "wrong" if one of them is, or "missing" if none can be read."""
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
    """Return the source of a result that a question builds on.

    Args:
        spelled: ``"question.item"``, or ``"question.item[2]"`` for the second element of a tuple, or
            ``"question.item[d]"`` for the value of the symbol ``d`` in a relation.
        vocabulary: the symbols of the question that builds on it.
        question: that question; its own earlier items are known as well.
        rubric: of both.
        where: how errors name the place.
        read_key: reads the right answer of the earlier item.

    Raises:
        RubricError: there is no such earlier formula, or a symbol has another meaning in its question.
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
    """Return the formulas and tuples before the last item of a question."""
    asked = rubric.questions[: [one.id for one in rubric.questions].index(question.id)]
    found = {
        f"{one.id}.{item.id}": (one, item)
        for one in (*asked, question)
        for item in one.items
        if one.kind == question.kind and not item.manual and item.options.get("form", "formula") in _FORMS
    }
    # The last item of the question has no later one that could build on it.
    own = [name for name, (one, _) in found.items() if one.id == question.id]
    for name in own[-1:]:
        del found[name]
    return found


class Formula(Protocol):
    """Adds a formula that a step refers to."""

    def __call__(
        self, text: str, assume: tuple[str, ...] | None, at: str, basis: Basis = "stated"
    ) -> tuple[int, frozenset[str]]:
        """Return its index, and the names of earlier results in it.

        Args:
            text: the formula.
            assume: relations that it is compared under; None: those of the item.
            at: how errors name the place.
            basis: determines the comparison; see `Basis`.
        """


Basis = Literal["stated", "mistake", "own", "own-early"]
"""``own``: the formula means nothing without an earlier result of the student's own, and ``own-early`` is
compared under every relation. ``mistake``: it means nothing if an earlier result is wrong, unless it
refers to that result."""


class Making(Struct, frozen=True, eq=False):
    """The inputs of a credit graph.

    Attributes:
        item: the item that receives the points.
        options: the item's options.
        follow: formulas that follow from earlier results, as the rubric spells them.
        follow_points: points for them if an earlier result is wrong; None: all points.
        sources: names of the earlier results that the item may refer to.
        formula: adds the formulas of steps.
        where: how errors name the item.
        rule: the required form of a right answer.
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
    """Return the steps in order: right without assumptions, remarks, right, following, mistakes, early.

    The first step that matches decides.

    Raises:
        RubricError: an option is invalid, or the points do not fit.
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
            # Copying an earlier result that earned nothing earns nothing here either.
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
    """Return the step for an answer that is right too early, and the earlier results of the first formula."""
    points = making.options.early_points
    if points:
        check_points(points, max(making.item.points, CENT), making.where, "early_points")
    early = [making.formula(text, None, making.where, "own-early") for text in making.follow]
    condition = _either([Early(), *(IsForeseen(index) for index, _ in early)])
    step = CreditStep("formula.early", condition, points, message="formula.early")
    return step, early[0][1] if early else frozenset()


def formulas_of(option: spelling.FormulaMistake | spelling.Remark) -> tuple[str, ...]:
    """Return the formulas of a mistake or a remark."""
    return (option.when,) if isinstance(option.when, str) else option.when


def _then_form(steps: list[CreditStep], rule: FormRule, possible: Decimal) -> Iterator[CreditStep]:
    """Yield the steps so that full credit first requires the form; the form is worth the remaining points.

    A formula that follows from a wrong earlier result may have no such form, so it is not required.
    """
    form = len(steps) + 1
    for step in steps:
        asked = step.full and step.id != CARRIED
        yield msgspec.structs.replace(step, points=rule.points, full=False, onward=form) if asked else step
    yield CreditStep("wrong", Otherwise(), silent=True)
    yield CreditStep("form", HasForm(rule=rule), possible - rule.points, silent=True, full=True)


def _following(making: Making, possible: Decimal) -> Iterator[CreditStep]:
    """Yield the steps for formulas that follow from earlier results: full credit if those were right."""
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
        # A formula can only be a copy of results that it refers to; another may have this value by chance.
        fits = _either([Every((one, Not(_copied(same, names)))) for one, names in found])
    if points < possible:
        yield CreditStep(CARRIED, Every((OwnIs(state="right"), fits)), possible, message=CARRIED, full=True)
    yield CreditStep(CARRIED, fits, points, message=CARRIED, full=points == possible, carries=True)


def _copied(same: Mapping[str, int], names: Collection[str]) -> Copied:
    """Return the condition that the answer is an unchanged copy of one of these earlier results."""
    return Copied(tuple((name, same[name]) for name in sorted(names)))


def _either(conditions: Sequence[Condition]) -> Condition:
    return conditions[0] if len(conditions) == 1 else Either(tuple(conditions))


def checked_option(
    option: spelling.FormulaMistake | spelling.Remark | spelling.OptionalTerms, item: Item, where: str
) -> str:
    """Check the texts and points of a mistake or remark, and return how errors name it.

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
"""Bounds the 2^n - 1 sums of optional terms, which are all looked up."""


class Extra(Struct, frozen=True, eq=False):
    """A sum of some of the terms."""

    sum: Node
    whole: bool
    """Whether it contains all of them."""


class Optional(Struct, frozen=True, eq=False):
    """The optional terms of one item."""

    option: OptionalTerms
    extras: tuple[Extra, ...]
    """Every sum of at least one of them, that of all first; equal sums once."""


def optional_terms(
    options: FormulaItem, item: Item, vocabulary: Vocabulary, comparer: Comparer, where: str
) -> Optional | None:
    """Return the optional terms in an item's options, or None.

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
    # Reversed twice: among equal sums the last one wins, and that must be the one with the most terms.
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
