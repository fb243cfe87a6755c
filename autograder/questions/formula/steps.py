"""Construction of an item's credit steps from its mistakes and remarks, with results carried forward."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import combinations
from typing import Literal, cast

from msgspec import Struct

from autograder.core.errors import RubricError, extend_place
from autograder.core.records import ItemResult, Status
from autograder.formulas import Unreadable, Vocabulary, parse
from autograder.formulas.equality.compare import Comparer
from autograder.formulas.mistakes.diagnose import CODES
from autograder.formulas.nodes import (
    Add,
    Node,
    Relation,
    Sym,
    Tree,
    Tuple,
    collect_symbols,
    substitute_symbol,
)
from autograder.formulas.notation.parse import parse_canonical
from autograder.messages.formulas import format_reason
from autograder.questions.base.options import CENT, check_points, check_text
from autograder.questions.formula import options as spelling
from autograder.questions.formula.credit import (
    NO_POINTS,
    Condition,
    CreditStep,
    CreditSteps,
    Either,
    Every,
    HasDiagnosis,
    HasForm,
    IsCopied,
    IsEarly,
    IsForeseen,
    Not,
    OneNumber,
    Own,
    OwnIs,
    Right,
)
from autograder.questions.formula.options import FormRule, FormulaItem, OptionalTerms
from autograder.rubric import Item, Question, Rubric

CARRIED = "formula.carried-forward"
"""The code of a result that is right only given an earlier one."""

_PLACE = re.compile(r"(?P<name>[^\[\]]+)(?:\[(?P<element>[0-9]{1,2}|[^\W\d]\w*)\])?")
_OF = {"formula": "", "tuple": "[1]", "relation": "[symbol]"}
_FORMS = ("formula", "tuple", "relation")


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
    is_known: bool = True
    there: bool = False
    earned: bool = False


class CarriedResults(Struct, frozen=True):
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
    own_names: frozenset[str] = frozenset()
    wrong: frozenset[str] = frozenset()
    earned: frozenset[str] = frozenset()
    state: Own = "missing"
    whole: bool = False

    def put_into(self, tree: Tree, names: Collection[str]) -> Tree | None:
        """Return the tree with its names replaced; None if one of these has no value."""
        values = dict(self.values)
        if not set(names) <= values.keys():
            return None
        for name in names:
            tree = with_value(tree, name, values[name])
        return tree


def with_value(tree: Tree, name: str, value: Node) -> Tree:
    """Return a tree with a formula substituted for a symbol."""
    if isinstance(tree, Relation):
        return Relation(
            substitute_symbol(tree.left, name, value), substitute_symbol(tree.right, name, value), tree.sign
        )
    if isinstance(tree, Tuple):
        return Tuple(tuple(substitute_symbol(element, name, value) for element in tree.elements))
    return substitute_symbol(tree, name, value)


_UNREADABLE = ("unreadable.", "formula.not-a-formula")
"""Prefixes of the codes of answers that could not be read."""


def read_earlier_result(result: ItemResult | None, source: Source, names: Collection[str]) -> EarlierResult:
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
        # Nothing can follow from an answer that cannot be read.
        is_unreadable = result is not None and result.code.startswith(_UNREADABLE)
        is_known = is_unreadable or status is not Status.NEEDS_REVIEW
        return EarlierResult(is_known=is_known, there=is_unreadable or status is Status.FAILED)
    try:
        formula = parse_canonical(result.reading, source.vocabulary)
    except Unreadable:
        return EarlierResult(there=True)
    if source.symbol:
        return _solve_relation(result, formula, source.symbol, names)
    if source.element >= 0:
        elements = formula.elements if isinstance(formula, Tuple) else ()
        formula = elements[source.element] if source.element < len(elements) else Tuple(())
    if (
        isinstance(formula, Relation | Tuple)
        or not collect_symbols(formula)
        or not collect_symbols(formula) <= set(names)
    ):
        return EarlierResult(there=True)
    if result.status is Status.NEEDS_REVIEW:
        return EarlierResult(formula, ("right", "wrong"), there=True, earned=True)
    # A result that was itself carried forward earned its points, but its formula is not the right one.
    right = result.status is Status.PASSED and result.code != CARRIED
    return EarlierResult(formula, ("right",) if right else ("wrong",), there=True, earned=result.points > 0)


def _solve_relation(result: ItemResult, relation: Tree, symbol: str, names: Collection[str]) -> EarlierResult:
    """Return the value of a symbol according to a wrong relation, if the symbol is alone on one side."""
    if result.status is not Status.FAILED:
        return EarlierResult(is_known=result.status is not Status.NEEDS_REVIEW)
    if not isinstance(relation, Relation) or relation.sign != "=":
        return EarlierResult()
    for side, other in ((relation.left, relation.right), (relation.right, relation.left)):
        if (
            side == Sym(symbol)
            and symbol not in collect_symbols(other)
            and set() < collect_symbols(other) <= set(names)
        ):
            return EarlierResult(other, ("wrong",), there=True)
    return EarlierResult()


def list_carried(
    results: Mapping[str, EarlierResult],
    sources: Mapping[str, Source],
    *,
    main_form: bool,
    whole: bool = False,
) -> Iterator[CarriedResults]:
    """Yield the values of earlier results: once, or twice if one of them awaits manual review.

    Args:
        results: by their names.
        sources: by the same names.
        main_form: a right result has the first right answer of the rubric as its value. Otherwise it
            has its own formula, with the optional terms in it.
        whole: only steps that refer to all of the student's own results count.
    """
    if not results:
        yield CarriedResults(whole=whole)
        return
    for undecided in range(max(len(earlier.states) for earlier in results.values())):
        values: dict[str, Node] = {}
        own_names, wrong, states = set(), set(), set()
        for name, earlier in results.items():
            state = earlier.states[min(undecided, len(earlier.states) - 1)]
            right = sources[name].right
            states.add("wrong" if earlier.there and earlier.formula is None else state)
            if earlier.formula is not None and not (main_form and state == "right" and right is not None):
                values[name] = earlier.formula
                own_names.add(name)
            elif right is not None and (state == "right" or not earlier.there):
                values[name] = right
            if earlier.there and state != "right":
                wrong.add(name)
        yield CarriedResults(
            # Sorted, because it is part of the key of a cache.
            tuple(sorted(values.items(), key=lambda entry: entry[0])),
            frozenset(own_names),
            frozenset(wrong),
            frozenset(name for name, earlier in results.items() if earlier.earned),
            _combine_states(states, results),
            whole,
        )


def _combine_states(states: Collection[str], results: Mapping[str, EarlierResult]) -> Own:
    """Return "wrong" if one of them is, or "missing" if none can be read."""
    if all(earlier.formula is None for earlier in results.values()):
        return "missing"
    return "wrong" if "wrong" in states else "right"


def find_source(
    spelled: str,
    vocabulary: Vocabulary,
    question: Question,
    rubric: Rubric,
    *,
    where: str,
) -> Source:
    """Return the source of a result that a question builds on.

    Args:
        spelled: ``"question.item"``, or ``"question.item[2]"`` for the second element of a tuple, or
            ``"question.item[d]"`` for the value of the symbol ``d`` in a relation.
        vocabulary: the symbols of the question that builds on it.
        question: that question; its own earlier items are known as well.
        rubric: of both.
        where: how errors name the place.

    Raises:
        RubricError: there is no such earlier formula, or a symbol has another meaning in its question.
    """
    match = _PLACE.fullmatch(spelled)
    name, element = (match["name"], match["element"]) if match else (spelled, None)
    form = "formula" if element is None else "tuple" if element.isdigit() else "relation"
    earlier = _list_earlier(question, rubric)
    if name not in earlier or earlier[name][1].options.get("form", "formula") != form:
        listed = ", ".join(
            earlier_name + _OF[item.options.get("form", "formula")]
            for earlier_name, (_, item) in earlier.items()
        )
        raise RubricError(
            f'expected "question.item" of a formula in an earlier question, got {spelled!r}; '
            f"there are: {listed or 'none'}",
            where,
            "from",
        )
    source_question, item = earlier[name]
    declared = rubric.list_symbols(source_question)
    for symbol in declared:
        if vocabulary.names.get(symbol, symbol) != symbol:
            meant = vocabulary.names[symbol]
            raise RubricError(f"{symbol!r} is a symbol there, and stands for {meant!r} here", where, "from")
    if form == "relation":
        if element not in declared:
            raise RubricError(f"{spelled!r}: {element!r} is no symbol there", where)
        return Source(name, rubric.make_vocabulary(source_question), symbol=str(element))
    source = Source(name, rubric.make_vocabulary(source_question), int(element or 0) - 1)
    accepted = item.options.get("accept", ())
    key_form: spelling.Form = "tuple" if form == "tuple" else "formula"
    right = read_tree(accepted[0], key_form, source.vocabulary, where) if accepted else None
    if element is not None and isinstance(right, Tuple):
        if not 0 <= source.element < len(right.elements):
            raise RubricError(f"{spelled!r}: the right answer has no such element; they count from 1", where)
        right = right.elements[source.element]
    if (
        right is None
        or isinstance(right, Relation | Tuple)
        or not collect_symbols(right) <= set(vocabulary.domains)
    ):
        return source
    return Source(name, source.vocabulary, source.element, right)


def _list_earlier(question: Question, rubric: Rubric) -> dict[str, tuple[Question, Item]]:
    """Return the formulas and tuples before the last item of a question."""
    before = rubric.questions[: [other.id for other in rubric.questions].index(question.id)]
    items = {
        f"{other.id}.{item.id}": (other, item)
        for other in (*before, question)
        for item in other.items
        if other.kind == question.kind and not item.manual and item.options.get("form", "formula") in _FORMS
    }
    # The last item of the question has no later one that could build on it.
    own_names = [name for name, (other, _) in items.items() if other.id == question.id]
    for name in own_names[-1:]:
        del items[name]
    return items


Basis = Literal["stated", "own", "own-early"]
"""``own``: the formula means nothing without an earlier result of the student's own, and ``own-early`` is
compared under every relation."""

AddFormula = Callable[[str, tuple[str, ...] | None, str, Basis], tuple[int, frozenset[str]]]
"""Adds a formula that a step refers to: its text, the relations that it is compared under (None: those of the
item), how errors name the place, and its basis. Returns its index, and the names of earlier results in it."""


class StepsSpec(Struct, frozen=True, eq=False):
    """The inputs of the credit steps of an item.

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
    formula: AddFormula
    where: str
    rule: FormRule | None = None


def make_credit_steps(making: StepsSpec) -> CreditSteps:
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
        at = check_option(remark, item, where)
        index, _ = formula(remark.when, remark.assume, at, "stated")
        steps.append(CreditStep(remark.code, IsForeseen(index), possible, remark.text, full=True))
    steps.append(CreditStep("right-assuming", Right(), possible, silent=True, full=True))
    steps += _make_following(making, possible)
    early, built_on = _make_early(making)
    for mistake in options.mistake:
        at = check_option(mistake, item, where)
        formulas = [formula(text, mistake.assume, at, "stated") for text in list_formulas(mistake)]
        condition = _make_either([IsForeseen(index) for index, _ in formulas])
        spoken = sorted(frozenset[str]().union(*(names for _, names in formulas)))
        if spoken and mistake.points < early.points and early not in steps:
            steps.append(early)  # else a wrong earlier result could make this answer worth less
        if spoken and mistake.points and options.form == "formula":
            # Copying an earlier result that earned nothing earns nothing here either.
            same = tuple((name, formula(name, (), where, "own")[0]) for name in spoken)
            worthless = Every((condition, IsCopied(same), Not(IsCopied(same, earned=True))))
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
            valid_codes = f"known are: {', '.join(sorted(CODES))}"
            raise RubricError(f"unknown code {code!r}; {valid_codes}", where, "diagnosis_points", code)
        steps.append(CreditStep(code, HasDiagnosis(code=code), points, silent=True))
    return CreditSteps(tuple(steps), rule)


def _make_early(making: StepsSpec) -> tuple[CreditStep, frozenset[str]]:
    """Return the step for an answer that is right too early, and the earlier results of the first formula."""
    points = making.options.early_points
    if points:
        check_points(points, max(making.item.points, CENT), making.where, "early_points")
    early = [making.formula(text, None, making.where, "own-early") for text in making.follow]
    condition = _make_either([IsEarly(), *(IsForeseen(index) for index, _ in early)])
    step = CreditStep("formula.early", condition, points, message="formula.early")
    return step, early[0][1] if early else frozenset()


def list_formulas(option: spelling.FormulaMistake | spelling.Remark) -> tuple[str, ...]:
    """Return the formulas of a mistake or a remark."""
    return (option.when,) if isinstance(option.when, str) else option.when


def _make_following(making: StepsSpec, possible: Decimal) -> Iterator[CreditStep]:
    """Yield the steps for formulas that follow from earlier results: full credit if those were right."""
    if not making.follow:
        return
    where, points = f"{making.where}: follow", possible
    if making.follow_points is not None:
        check_points(making.follow_points, Decimal("Infinity"), f"{making.where}: follow_points")
        points = min(making.follow_points, possible)
    conditions: list[tuple[Condition, frozenset[str]]] = []
    for text in making.follow:
        index, names = making.formula(text, None, where, "own")
        if not names:
            listed = ", ".join(map(repr, making.sources))
            raise RubricError(f"{text!r}: {listed} must stand for the earlier result", where)
        conditions.append((IsForeseen(index), names))
    fits = _make_either([condition for condition, _ in conditions])
    if making.options.form == "formula" and making.options.assume:
        spoken = sorted(frozenset[str]().union(*(names for _, names in conditions)))
        same = {name: making.formula(name, (), where, "own")[0] for name in spoken}
        if making.rule is not None and points == possible:  # it may be in the form that is asked for
            copied = Every((fits, IsCopied(tuple(same.items()), earned=True)))
            yield CreditStep("copied", copied, points, message=CARRIED, full=True, carries=True)
        # A formula can only be a copy of results that it refers to; another may have this value by chance.
        fits = _make_either(
            [Every((condition, Not(_make_copied(same, names)))) for condition, names in conditions]
        )
    if points < possible:
        was_right = Every((OwnIs(state="right"), fits))
        yield CreditStep(CARRIED, was_right, possible, message=CARRIED, full=True, any_form=True)
    # What follows from a wrong earlier result may have no such form, so it is not required.
    is_full = points == possible
    yield CreditStep(CARRIED, fits, points, message=CARRIED, full=is_full, any_form=True, carries=True)


def _make_copied(same: Mapping[str, int], names: Collection[str]) -> IsCopied:
    """Return the condition that the answer is an unchanged copy of one of these earlier results."""
    return IsCopied(tuple((name, same[name]) for name in sorted(names)))


def _make_either(conditions: Sequence[Condition]) -> Condition:
    return conditions[0] if len(conditions) == 1 else Either(tuple(conditions))


def check_option(
    option: spelling.FormulaMistake | spelling.Remark | spelling.OptionalTerms, item: Item, where: str
) -> str:
    """Check the texts and points of a mistake or remark, and return how errors name it.

    Raises:
        RubricError: the English text is missing, braces are not written twice, or it is worth too much.
    """
    key = "remark" if isinstance(option, spelling.Remark) else "mistake"
    keys = () if isinstance(option, spelling.OptionalTerms) else (key, option.code)
    at = extend_place(where, f", {option.code!r}", *keys)
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


class OptionalSums(Struct, frozen=True, eq=False):
    """The optional terms of one item."""

    option: OptionalTerms
    extras: tuple[Extra, ...]
    """Every sum of at least one of them, that of all first; equal sums once."""


def read_optional_terms(
    options: FormulaItem, item: Item, vocabulary: Vocabulary, comparer: Comparer, where: str
) -> OptionalSums | None:
    """Return the optional terms in an item's options, or None.

    Raises:
        RubricError: the item is no formula, or a term is not readable.
    """
    option = options.optional
    if option is None:
        return None
    at = extend_place(where, ": optional", "optional")
    if options.form != "formula" or options.must:
        raise RubricError('belongs to form = "formula", without must', at)
    if not 1 <= len(option.terms) <= MOST_TERMS:
        raise RubricError(f"from 1 to {MOST_TERMS}, got {len(option.terms)}", at, "terms")
    check_option(option, item, at)
    terms = [cast("Node", read_tree(text, "formula", vocabulary, at)) for text in option.terms]
    chosen = [some for count in range(len(terms), 0, -1) for some in combinations(terms, count)]
    # Reversed twice: among equal sums the last one wins, and that must be the one with the most terms.
    sums = {
        comparer.evaluate_at_point(total) or total: Extra(total, whole=len(some) == len(terms))
        for some in reversed(chosen)
        for total in [some[0] if len(some) == 1 else Add(some)]
    }
    return OptionalSums(option, tuple(reversed(sums.values())))


def read_tree(text: str, form: spelling.Form, vocabulary: Vocabulary, where: str) -> Tree:
    """Return a formula of a rubric.

    Raises:
        RubricError: it is not readable; names the place.
    """
    try:
        return parse(text, vocabulary, form)
    except Unreadable as error:
        place = f" at character {error.offset + 1}" if error.offset >= 0 else ""
        raise RubricError(
            f"the formula {text!r} is not readable{place}: {format_reason(error)}", where
        ) from error
