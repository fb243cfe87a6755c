"""Prepares a symbolic question once: its formulas parsed, its comparers made, its credit graphs built."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct

from autograder.algebra.equality.compare import Comparer
from autograder.algebra.growth.landau import parse_landau
from autograder.algebra.key import AnswerKey, Named
from autograder.algebra.mistakes.diagnose import Diagnosis
from autograder.algebra.mistakes.relations import RelationDiagnosis
from autograder.algebra.nodes import Node, Relation, Tree, Tuple, substitute, symbols
from autograder.algebra.notation.lists import parse_list
from autograder.algebra.notation.parse import parse, parse_tuple
from autograder.algebra.notation.relations import parse_single
from autograder.algebra.notation.vocabulary import Vocabulary
from autograder.algebra.values.points import Points
from autograder.checks.base import Draw
from autograder.checks.kinds.symbolic.asymptotics import Asymptotics
from autograder.checks.kinds.symbolic.collections import Collection
from autograder.checks.kinds.symbolic.earlier import Source, carried_from
from autograder.checks.kinds.symbolic.form_options import check_form_options
from autograder.checks.kinds.symbolic.form_rule import FormRule, form_rule
from autograder.checks.kinds.symbolic.graph import CreditGraph, Outcome
from autograder.checks.kinds.symbolic.options import (
    CarryForward,
    Form,
    Mistake,
    Remark,
    SymbolicItem,
    SymbolicQuestion,
)
from autograder.checks.kinds.symbolic.special import ForeseenAnswer, Special, Stated
from autograder.checks.kinds.symbolic.steps import Making, checked_option, credit_graph
from autograder.checks.options import item_options, place, question_options
from autograder.errors import AlgebraError, RubricError, Unreadable
from autograder.messages.reading import reason
from autograder.rubric import Item, Question, Rubric
from autograder.stream import derived

OWN = "own"
"""Stands for the student's earlier result in the formulas of a question that carries forward."""

_INSTEAD_OF_STEPS: Mapping[Form, str] = {
    "asymptotic": "mistakes with points, and form_points for what is right but written otherwise",
    "list": "mistakes with points, or credit = 'each' for a part of the points for each element",
    "set": "mistakes with points, or credit = 'each' for a part of the points for each element",
}

_PARSERS: Mapping[Form, Callable[[str, Vocabulary], Tree]] = {
    "formula": parse,
    "relation": parse_single,
    "tuple": parse_tuple,
    "list": parse_list,
    "set": parse_list,
    "asymptotic": parse_landau,
}


class Foreseen(Struct, frozen=True, eq=False):
    """A formula that a step speaks of."""

    tree: Tree
    readings: tuple[Comparer, ...]
    about_own: bool


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
    graph: CreditGraph
    source: Source | None
    """Of the earlier result that the item builds on."""
    rule: FormRule | None = None
    """What is asked of the form of a right answer."""
    special: Special | None = None
    """Judges the answers itself; the answer key and the graph are then not used."""

    def earns_all(self, outcome: Outcome) -> bool:
        """Whether an outcome is worth all points of the item."""
        return outcome.full or (self.item.points > 0 and outcome.points == self.item.points)

    def key(
        self,
        reference: Node | None,
        own: Node | None,
        diagnosis: Diagnosis | RelationDiagnosis | None = None,
    ) -> AnswerKey:
        """The answer key.

        Args:
            reference: the reference's formula, where the item uses it.
            own: the student's own earlier formula, where the item carries forward and there is one.
            diagnosis: of a key with the same reference.
        """
        right = (*(() if reference is None else (reference,)), *self.accept)
        named = []
        for foreseen in self.foreseen:
            tree, readings = foreseen.tree, foreseen.readings
            if foreseen.about_own:
                tree, readings = (tree, ()) if own is None else (_with_own(tree, own), readings)
            named.append(Named("", tree, readings))
        return AnswerKey(right, self.readings, named, self.beyond, diagnosis)


class Prepared(Struct, frozen=True, eq=False):
    """A symbolic question, ready to judge."""

    vocabulary: Vocabulary
    spoken: Vocabulary
    """The same in the languages of the course, to read answers with."""
    items: Mapping[str, PreparedItem]
    """The automatic items by id."""


def prepare(question: Question, rubric: Rubric, draw: Draw) -> Prepared:
    """Read the options of a question and every formula in them.

    Args:
        question: of the kind ``symbolic``.
        rubric: that it belongs to.
        draw: what the points follow from at which formulas are compared.

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
    source = None
    if carry is not None:
        at = f"{where}: carry_forward"
        if OWN in vocabulary.names:
            raise RubricError(f"{at}: {OWN!r} is needed and cannot be a symbol of its own")
        source = carried_from(carry.source, vocabulary, question, rubric, at)
    wider = vocabulary if carry is None else vocabulary.extended(OWN)
    comparer = Comparer(Points(wider.domains, derived(draw.seed, "points")))
    relations = {
        name: read_tree(text, "relation", common, f"[assignment.assume] {name}")
        for name, text in rubric.assignment.assume.items()
    }
    spoken = vocabulary.spoken(rubric.assignment.languages)
    maker = _Maker(question, vocabulary, spoken, wider, comparer, relations, {}, carry, source)
    options = item_options(question, SymbolicItem)
    items = {item.id: maker.item(item, options[item.id]) for item in question.items if not item.manual}
    if carry is not None and all(item.source is None for item in items.values()):
        raise RubricError(f"{where}: carry_forward: no item reads {question.answer!r} as a formula")
    return Prepared(vocabulary, spoken, items)


class _Maker(Struct, frozen=True, eq=False):
    """What all items of a question are made from."""

    question: Question
    vocabulary: Vocabulary
    spoken: Vocabulary
    """In the languages of the course, to read answers with."""
    wider: Vocabulary
    """With `OWN`, where the question carries forward."""
    comparer: Comparer
    relations: Mapping[str, Tree]
    made: dict[tuple[str, ...], Comparer]
    """One comparer for each set of assumptions: a key evaluates an answer once for each."""
    carry: CarryForward | None
    source: Source | None

    def item(self, item: Item, options: SymbolicItem) -> PreparedItem:
        where = place(self.question, item)
        answer = options.answer or self.question.answer
        if not answer:
            raise RubricError(f"{where}: answer: the name of a variable is needed, here or at the question")
        own = answer == self.question.answer
        main = own and options.form == "formula"
        uses_reference = own and options.form in ("formula", "asymptotic") and bool(self.question.reference)
        check_form_options(options, options.form, item, self.vocabulary, where)
        if not options.accept and not uses_reference:
            raise RubricError(f"{where}: accept: at least one right answer is needed without a reference")
        carry = self.carry if main else None
        foreseen: list[Foreseen] = []

        def formula(text: str, assume: tuple[str, ...] | None, at: str) -> tuple[int, bool]:
            vocabulary = self.vocabulary if carry is None else self.wider
            tree = read_tree(text, options.form, vocabulary, at)
            readings = self._readings(options.assume if assume is None else assume, at)
            about_own = carry is not None and OWN in symbols(tree)
            foreseen.append(Foreseen(tree, readings, about_own))
            return len(foreseen) - 1, about_own

        accept = tuple(read_tree(text, options.form, self.vocabulary, where) for text in options.accept)
        rule = form_rule(options, self.vocabulary)
        special = self._special(item, options, accept, where)
        making = Making(item, options, carry, self.vocabulary, formula, where, rule)
        graph = CreditGraph(()) if special is not None else credit_graph(making)
        return PreparedItem(
            item=item,
            answer=answer,
            form=options.form,
            accept=accept,
            uses_reference=uses_reference,
            readings=self._readings(options.assume, where),
            beyond=None if set(options.assume) >= self.relations.keys() else self._beyond(),
            foreseen=tuple(foreseen),
            graph=graph,
            source=None if carry is None else self.source,
            rule=rule,
            special=special,
        )

    def _special(
        self, item: Item, options: SymbolicItem, accept: tuple[Tree, ...], where: str
    ) -> Special | None:
        """What judges the forms that have no answer key."""
        if options.form not in _INSTEAD_OF_STEPS:
            return None
        if options.step:
            raise RubricError(
                f"{where}: step: an item of the form {options.form!r} has no steps; "
                f"use {_INSTEAD_OF_STEPS[options.form]}"
            )
        known = []
        foreseen_options: tuple[Mistake | Remark, ...] = (*options.remark, *options.mistake)
        for option in foreseen_options:
            at = checked_option(option, item, where)
            tree = read_tree(option.when, options.form, self.vocabulary, at)
            assume = options.assume if option.assume is None else option.assume
            known.append(ForeseenAnswer(option, tree, self._readings(assume, at)))
        readings = self._readings(options.assume, where)
        stated = Stated(item, options, accept, tuple(known), readings, self.vocabulary, self.spoken, where)
        if options.form == "asymptotic":
            return Asymptotics(stated)
        return Collection(stated, ordered=options.form == "list")

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


def read_tree(text: str, form: Form, vocabulary: Vocabulary, where: str) -> Tree:
    """A formula of a rubric.

    Raises:
        RubricError: it is not readable; names the place.
    """
    try:
        return _PARSERS[form](text, vocabulary)
    except Unreadable as error:
        place = f" at character {error.offset + 1}" if error.offset >= 0 else ""
        raise RubricError(f"{where}: the formula {text!r} is not readable{place}: {reason(error)}") from error


def _with_own(tree: Tree, own: Node) -> Tree:
    if isinstance(tree, Relation):
        return Relation(substitute(tree.left, OWN, own), substitute(tree.right, OWN, own), tree.sign)
    if isinstance(tree, Tuple):
        return Tuple(tuple(substitute(element, OWN, own) for element in tree.elements))
    return substitute(tree, OWN, own)
