"""Prepares a symbolic question once: its formulas parsed, its comparers made, its credit graphs built."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from autograder.algebra.compare import Comparer
from autograder.algebra.diagnose import Diagnosis
from autograder.algebra.key import AnswerKey, Named
from autograder.algebra.nodes import Node, Relation, Tree, Tuple, substitute, symbols
from autograder.algebra.parse import parse, parse_relation, parse_tuple
from autograder.algebra.points import Points
from autograder.algebra.relations import RelationDiagnosis
from autograder.algebra.vocabulary import Vocabulary
from autograder.checks.options import item_options, place, question_options
from autograder.checks.symbolic.graph import CreditGraph
from autograder.checks.symbolic.options import CarryForward, Form, SymbolicItem, SymbolicQuestion
from autograder.checks.symbolic.steps import Making, credit_graph
from autograder.errors import AlgebraError, RubricError, Unreadable
from autograder.rubric import Item, Question, Rubric

OWN = "own"
"""Stands for the student's earlier result in the formulas of a question that carries forward."""

_PARSERS = {"formula": parse, "relation": parse_relation, "tuple": parse_tuple}


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
    carries_from: str
    """``"question.item"`` of the earlier result that the item builds on; empty for none."""

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
    if carry is not None:
        _check_source(carry, vocabulary, rubric, f"{where}: carry_forward")
    wider = vocabulary if carry is None else vocabulary.extended(OWN)
    comparer = Comparer(Points(wider.domains))
    relations = {
        name: read_tree(text, "relation", common, f"[assignment.assume] {name}")
        for name, text in rubric.assignment.assume.items()
    }
    maker = _Maker(question, vocabulary, wider, comparer, relations, {}, carry)
    options = item_options(question, SymbolicItem)
    items = {item.id: maker.item(item, options[item.id]) for item in question.items if not item.manual}
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
    carry: CarryForward | None

    def item(self, item: Item, options: SymbolicItem) -> PreparedItem:
        where = place(self.question, item)
        answer = options.answer or self.question.answer
        if not answer:
            raise RubricError(f"{where}: answer: the name of a variable is needed, here or at the question")
        main = answer == self.question.answer and options.form == "formula"
        uses_reference = main and bool(self.question.reference)
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

        graph = credit_graph(Making(item, options, carry, self.vocabulary, formula, where))
        return PreparedItem(
            item=item,
            answer=answer,
            form=options.form,
            accept=tuple(read_tree(text, options.form, self.vocabulary, where) for text in options.accept),
            uses_reference=uses_reference,
            readings=self._readings(options.assume, where),
            beyond=None if set(options.assume) >= self.relations.keys() else self._beyond(),
            foreseen=tuple(foreseen),
            graph=graph,
            carries_from="" if carry is None else carry.source,
        )

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
        raise RubricError(f"{where}: the formula {text!r} is not readable: {error}") from error


def _check_source(carry: CarryForward, vocabulary: Vocabulary, rubric: Rubric, where: str) -> None:
    if OWN in vocabulary.names:
        raise RubricError(f"{where}: {OWN!r} is needed and cannot be a symbol of its own")
    source, _, item = carry.source.partition(".")
    earlier = {(known.id, part.id) for known in rubric.questions for part in known.items}
    if (source, item) not in earlier:
        raise RubricError(f'{where}: from: expected "question.item", got {carry.source!r}')
    for name in rubric.symbols(rubric.question(source)):
        if vocabulary.names.get(name, name) != name:
            meant = vocabulary.names[name]
            raise RubricError(f"{where}: from: {name!r} is a symbol there, and stands for {meant!r} here")


def _with_own(tree: Tree, own: Node) -> Tree:
    if isinstance(tree, Relation):
        return Relation(substitute(tree.left, OWN, own), substitute(tree.right, OWN, own))
    if isinstance(tree, Tuple):
        return Tuple(tuple(substitute(element, OWN, own) for element in tree.elements))
    return substitute(tree, OWN, own)
