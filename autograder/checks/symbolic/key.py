"""Prepares a symbolic question once: its formulas parsed, its comparers made, its answer keys built."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal

from msgspec import Struct

from autograder.algebra.compare import Comparer
from autograder.algebra.key import AnswerKey, Named
from autograder.algebra.nodes import Node, Relation, Tree, Tuple, substitute, symbols
from autograder.algebra.parse import parse, parse_relation, parse_tuple
from autograder.algebra.points import Points
from autograder.algebra.vocabulary import Vocabulary
from autograder.checks.options import item_options, place, question_options
from autograder.checks.symbolic.options import (
    CarryForward,
    Form,
    Mistake,
    Remark,
    SymbolicItem,
    SymbolicQuestion,
)
from autograder.errors import AlgebraError, RubricError, Unreadable
from autograder.rubric import Item, Question, Rubric

OWN = "own"
"""Stands for the student's earlier result in the formulas of a question that carries forward."""

_PARSERS = {"formula": parse, "relation": parse_relation, "tuple": parse_tuple}


class Foreseen(Struct, frozen=True, eq=False):
    """A mistake or remark with its formula read."""

    option: Mistake | Remark
    tree: Tree
    readings: tuple[Comparer, ...]
    about_own: bool


class Carried(Struct, frozen=True, eq=False):
    """How a question builds on an earlier result."""

    option: CarryForward
    expect: Node


class PreparedItem(Struct, frozen=True, eq=False):
    """One automatic item."""

    item: Item
    answer: str
    """The variable it reads."""
    form: Form
    accept: tuple[Tree, ...]
    uses_reference: bool
    readings: tuple[Comparer, ...]
    """Without assumptions; then, where the item grants some, under them."""
    beyond: Comparer | None
    """Under all assumptions of the assignment, where the item grants fewer."""
    foreseen: tuple[Foreseen, ...]
    carried: Carried | None

    def key(self, reference: Node | None, own: Node | None, *, own_is_right: bool) -> AnswerKey:
        """The answer key.

        Args:
            reference: the reference's formula, where the item uses it.
            own: the student's own earlier formula, where the item carries forward and there is one.
            own_is_right: whether that was right. If it was not, only the mistakes that speak about it
                apply: the others would be blamed on the wrong step.
        """
        right = (*(() if reference is None else (reference,)), *self.accept)
        named = []
        for foreseen in self.foreseen:
            tree = foreseen.tree
            if foreseen.about_own:
                tree = tree if own is None else _with_own(tree, own)
            applies = own is not None if foreseen.about_own else self.carried is None or own_is_right
            mistake = isinstance(foreseen.option, Mistake)
            # An entry that does not apply keeps its place, so that indices stay those of `foreseen`.
            readings = foreseen.readings if applies or not (mistake or foreseen.about_own) else ()
            named.append(Named(foreseen.option.code, tree, readings, right=not mistake))
        return AnswerKey(right, self.readings, named, self.beyond)


class Prepared(Struct, frozen=True, eq=False):
    """A symbolic question, ready to judge."""

    vocabulary: Vocabulary
    items: Mapping[str, PreparedItem]
    """The automatic items by id."""


def prepare(question: Question, rubric: Rubric) -> Prepared:
    """Read the options of a question and every formula in them.

    Raises:
        RubricError: names the question, the item and the formula.
    """
    where = place(question)
    try:
        vocabulary = Vocabulary(rubric.symbols(question))
        common = Vocabulary(rubric.assignment.symbols) if question.symbols else vocabulary
    except RubricError as error:
        raise RubricError(f"{where}: {error}") from error
    carry = question_options(question, SymbolicQuestion).carry_forward
    if carry is not None and OWN in vocabulary.names:
        raise RubricError(f"{where}: carry_forward: {OWN!r} is needed and cannot be a symbol of its own")
    wider = vocabulary if carry is None else vocabulary.extended(OWN)
    comparer = Comparer(Points(wider.domains))
    relations = {
        name: _read(text, "relation", common, f"[assignment.assume] {name}")
        for name, text in rubric.assignment.assume.items()
    }
    maker = _Maker(question, vocabulary, wider, comparer, relations, {})
    carried = None if carry is None else maker.carried(carry, rubric)
    options = item_options(question, SymbolicItem)
    items = {
        item.id: maker.item(item, options[item.id], carried) for item in question.items if not item.manual
    }
    return Prepared(vocabulary, items)


class _Maker(Struct, frozen=True, eq=False):
    """What all items of a question are made from."""

    question: Question
    vocabulary: Vocabulary
    wider: Vocabulary
    """With `OWN`, where the question carries forward."""
    comparer: Comparer
    relations: Mapping[str, Tree]
    made: dict[tuple[str, ...], Comparer]
    """One comparer for each set of assumptions: a key evaluates an answer once for each."""

    def item(self, item: Item, options: SymbolicItem, carried: Carried | None) -> PreparedItem:
        where = place(self.question, item)
        answer = options.answer or self.question.answer
        if not answer:
            raise RubricError(f"{where}: answer: the name of a variable is needed, here or at the question")
        main = answer == self.question.answer and options.form == "formula"
        uses_reference = main and bool(self.question.reference)
        if not options.accept and not uses_reference:
            raise RubricError(f"{where}: accept: at least one right answer is needed without a reference")
        readings = self._readings(options.assume, where)
        _check_points(item, options.mistake, where)
        granted = set(options.assume)
        foreseen: tuple[Mistake | Remark, ...] = (*options.remark, *options.mistake)
        return PreparedItem(
            item=item,
            answer=answer,
            form=options.form,
            accept=tuple(_read(text, options.form, self.vocabulary, where) for text in options.accept),
            uses_reference=uses_reference,
            readings=readings,
            beyond=None if granted >= self.relations.keys() else self._beyond(),
            foreseen=tuple(self._foreseen(option, options, main=main, where=where) for option in foreseen),
            carried=carried if main else None,
        )

    def carried(self, carry: CarryForward, rubric: Rubric) -> Carried:
        where = f"{place(self.question)}: carry_forward"
        source, _, item = carry.source.partition(".")
        earlier = {(known.id, part.id) for known in rubric.questions for part in known.items}
        if (source, item) not in earlier:
            raise RubricError(f'{where}: from: expected "question.item", got {carry.source!r}')
        for name in rubric.symbols(rubric.question(source)):
            if self.vocabulary.names.get(name, name) != name:
                meant = self.vocabulary.names[name]
                raise RubricError(f"{where}: from: {name!r} is a symbol there, and stands for {meant!r} here")
        expect = _read(carry.expect, "formula", self.wider, where)
        if isinstance(expect, Relation | Tuple) or OWN not in symbols(expect):
            raise RubricError(f"{where}: expect: {OWN!r} must stand for the earlier result")
        return Carried(carry, expect)

    def _foreseen(
        self, option: Mistake | Remark, options: SymbolicItem, *, main: bool, where: str
    ) -> Foreseen:
        where = f"{where}, {option.code!r}"
        for language, text in option.text.items():
            _check_text(text, f"{where}: text.{language}")
        if "en" not in option.text:
            raise RubricError(f"{where}: text: an English text is needed: text = {{ en = … }}")
        vocabulary = self.wider if main else self.vocabulary
        tree = _read(option.when, options.form, vocabulary, where)
        assume = options.assume if option.assume is None else option.assume
        readings = self._readings(assume, where)
        return Foreseen(option, tree, readings, about_own=OWN in symbols(tree) and main)

    def _readings(self, assume: tuple[str, ...], where: str) -> tuple[Comparer, ...]:
        return (self.comparer, self._under(assume, where)) if assume else (self.comparer,)

    def _beyond(self) -> Comparer | None:
        """Under every assumption there is; None when they exclude one another."""
        relations = [relation for relation in self.relations.values() if isinstance(relation, Relation)]
        try:
            return self.comparer.under(relations)
        except AlgebraError:
            return None

    def _under(self, assume: tuple[str, ...], where: str) -> Comparer:
        if assume in self.made:
            return self.made[assume]
        chosen = []
        for name in assume:
            relation = self.relations.get(name)
            if not isinstance(relation, Relation):
                known = ", ".join(self.relations) or "none"
                raise RubricError(f"{where}: assume: no relation {name!r}; known are: {known}")
            chosen.append(relation)
        try:
            self.made[assume] = self.comparer.under(chosen)
        except AlgebraError as error:
            raise RubricError(f"{where}: assume: {error}") from error
        return self.made[assume]


def _read(text: str, form: Form, vocabulary: Vocabulary, where: str) -> Tree:
    try:
        return _PARSERS[form](text, vocabulary)
    except Unreadable as error:
        raise RubricError(f"{where}: the formula {text!r} is not readable: {error}") from error


def _with_own(tree: Tree, own: Node) -> Tree:
    if isinstance(tree, Relation):
        return Relation(substitute(tree.left, OWN, own), substitute(tree.right, OWN, own))
    if isinstance(tree, Tuple):
        return Tuple(tuple(substitute(element, OWN, own) for element in tree.elements))
    return substitute(tree, OWN, own)


def _check_points(item: Item, mistakes: Iterable[Mistake], where: str) -> None:
    for mistake in mistakes:
        if not 0 <= mistake.points < max(item.points, Decimal("0.01")):
            raise RubricError(
                f"{where}, {mistake.code!r}: points: expected from 0 to below {item.points}, "
                f"got {mistake.points}"
            )


def _check_text(text: str, where: str) -> None:
    try:
        text.format_map({})
    except (KeyError, ValueError, IndexError) as error:
        raise RubricError(f"{where}: write braces twice, as in {{{{ }}}}") from error
