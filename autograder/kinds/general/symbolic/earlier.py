"""The student's own earlier results, on which a later item builds."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping

from msgspec import Struct

from autograder.algebra.nodes import Node, Relation, Sym, Tree, Tuple, substitute, symbols
from autograder.algebra.notation.parse import parse_canonical
from autograder.algebra.notation.vocabulary import Vocabulary
from autograder.errors import RubricError, Unreadable
from autograder.kinds.general.symbolic.conditions import Own
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


class Earlier(Struct, frozen=True):
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


def earlier_result(result: ItemResult | None, source: Source, names: Collection[str]) -> Earlier:
    """Read an earlier result.

    Args:
        result: of the earlier item; None where there is none.
        source: where it comes from.
        names: the symbols of the question that builds on it.
    """
    if result is None or not result.reading:
        status = Status.NO_ANSWER if result is None else result.status
        return Earlier(known=status is not Status.NEEDS_REVIEW, there=status is Status.FAILED)
    try:
        formula = parse_canonical(result.reading, source.vocabulary)
    except Unreadable:
        return Earlier(there=True)
    if source.symbol:
        return _solved(result, formula, source.symbol, names)
    if source.element >= 0:
        elements = formula.elements if isinstance(formula, Tuple) else ()
        formula = elements[source.element] if source.element < len(elements) else Tuple(())
    if isinstance(formula, Relation | Tuple) or not symbols(formula) or not symbols(formula) <= set(names):
        return Earlier(there=True)
    if result.status is Status.NEEDS_REVIEW:
        return Earlier(formula, ("right", "wrong"), there=True, earned=True)
    # What was carried forward itself earned its points, and is another formula than the right one.
    right = result.status is Status.PASSED and result.code != CARRIED
    return Earlier(formula, ("right",) if right else ("wrong",), there=True, earned=result.points > 0)


def _solved(result: ItemResult, relation: Tree, symbol: str, names: Collection[str]) -> Earlier:
    """What a wrong relation says of a symbol, where this stands alone on one of its sides."""
    if result.status is not Status.FAILED:
        return Earlier(known=result.status is not Status.NEEDS_REVIEW)
    if not isinstance(relation, Relation) or relation.sign != "=":
        return Earlier()
    for side, other in ((relation.left, relation.right), (relation.right, relation.left)):
        if side == Sym(symbol) and symbol not in symbols(other) and set() < symbols(other) <= set(names):
            return Earlier(other, ("wrong",), there=True)
    return Earlier()


def ways_carried(
    results: Mapping[str, Earlier], sources: Mapping[str, Source], *, main_form: bool, whole: bool = False
) -> Iterator[Carried]:
    """What the earlier results are: once, or twice while a person has yet to decide on one of them.

    Args:
        results: by the names that stand for them.
        sources: where they come from, by the same names.
        main_form: a right result stands for the right answer that the rubric states first. Otherwise it
            stands for itself, with the optional terms that it has.
        whole: only what speaks of all of the student's own results counts.
    """
    for undecided in range(max((len(one.states) for one in results.values()), default=1)):
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


def _together(states: Collection[str], results: Mapping[str, Earlier]) -> Own:
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
            f'{where}: from: expected "question.item" of a formula in an earlier question, got {spelled!r}; '
            f"there are: {listed or 'none'}"
        )
    asked, item = known[name]
    declared = rubric.symbols(asked)
    for symbol in declared:
        if vocabulary.names.get(symbol, symbol) != symbol:
            meant = vocabulary.names[symbol]
            raise RubricError(f"{where}: from: {symbol!r} is a symbol there, and stands for {meant!r} here")
    if form == "relation":
        if element not in declared:
            raise RubricError(f"{where}: {spelled!r}: {element!r} is no symbol there")
        return Source(name, Vocabulary(declared), symbol=str(element))
    source = Source(name, Vocabulary(declared), int(element or 0) - 1)
    stated = item.options.get("accept", ())
    right = read_key(stated[0], form, source.vocabulary, where) if stated else None
    if element is not None and isinstance(right, Tuple):
        if not 0 <= source.element < len(right.elements):
            raise RubricError(
                f"{where}: {spelled!r}: the right answer has no such element; they count from 1"
            )
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
