"""Preparation of formula questions, once per draw: right formulas, relations, sources of carried results."""

from __future__ import annotations

from collections.abc import Collection as Container
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import pairwise

from msgspec import Struct

from autograder.core.errors import RubricError
from autograder.core.stream import derive_key
from autograder.core.wording import has_decimal_comma
from autograder.formulas import FormulaError, Undecided, Vocabulary, to_text
from autograder.formulas.equality.cases import is_always_true
from autograder.formulas.equality.compare import Comparer
from autograder.formulas.equality.relations import is_strict, reverse_sign, with_sign
from autograder.formulas.mistakes.diagnose import Diagnosis
from autograder.formulas.mistakes.relations import RelationDiagnosis
from autograder.formulas.nodes import Fn, Node, Relation, Tree, Tuple, collect_symbols, walk_tree
from autograder.formulas.values.points import Points
from autograder.questions.base.base import Draw
from autograder.questions.base.judging import results
from autograder.questions.base.judging.results import Finding
from autograder.questions.base.options import (
    CENT,
    check_points,
    locate_question,
    read_item_options,
    read_question_options,
    split_points,
)
from autograder.questions.formula.answer_key import FormulaKey, NamedAnswer
from autograder.questions.formula.credit import NO_POINTS, Credit, CreditSteps
from autograder.questions.formula.growth_and_sets import (
    Asymptotics,
    Collection,
    ForeseenAnswer,
    ParsedItem,
    Special,
)
from autograder.questions.formula.options import (
    Form,
    FormRule,
    FormulaItem,
    FormulaMistake,
    FormulaQuestion,
    Remark,
    check_form_options,
    make_form_rule,
)
from autograder.questions.formula.steps import (
    Basis,
    CarriedResults,
    OptionalSums,
    Source,
    StepsSpec,
    check_option,
    find_source,
    list_formulas,
    make_credit_steps,
    read_optional_terms,
    read_tree,
)
from autograder.rubric import Item, Question, Rubric

_SPECIAL: Container[Form] = ("asymptotic", "set")
"""Forms that have no answer key."""


class ForeseenFormula(Struct, frozen=True, eq=False):
    """A formula that a step refers to."""

    tree: Tree
    readings: tuple[Comparer, ...]
    names: frozenset[str]
    """The earlier results that it refers to."""
    basis: Basis

    def is_applicable(self, carried: CarriedResults) -> bool:
        """Return whether it has a meaning with these earlier results."""
        if self.names and self.basis in ("own", "own-early"):
            return bool(self.names & carried.own_names) and (
                not carried.whole or carried.own_names <= self.names
            )
        return True


class PreparedItem(Struct, frozen=True, eq=False):
    """One automatic item."""

    item: Item
    answer: str
    """The variable it reads."""
    form: Form
    accept: tuple[Tree, ...]
    uses_reference: bool
    readings: tuple[Comparer, ...]
    """Without assumptions; then under them, if the item grants some."""
    beyond: Comparer | None
    """Under all assumptions of the assignment, if the item grants fewer."""
    foreseen: tuple[ForeseenFormula, ...]
    steps: CreditSteps
    sources: Mapping[str, Source]
    """The sources of the earlier results that the item builds on, by their names."""
    follow: tuple[str, ...] = ()
    """The formula that follows from them, as the rubric spells it."""
    follow_points: Decimal | None = None
    optional: OptionalSums | None = None
    """Additional terms that a right answer may have."""
    rule: FormRule | None = None
    """The required form of a right answer."""
    slip_points: Decimal = NO_POINTS
    """For a chain of equations with unequal sides that begins or ends with a right one."""
    entry_points: Decimal = NO_POINTS
    """For each right entry of a wrong tuple."""
    special: Special | None = None
    """Judges the answers itself; the answer key and the steps are then not used."""

    def is_full_credit(self, outcome: Credit) -> bool:
        """Return whether an outcome is worth all points of the item."""
        return outcome.full or (self.item.points > 0 and outcome.points == self.item.points)

    def list_following(self, carried: CarriedResults) -> Iterator[Tree]:
        """Yield the formulas that are right given the student's own earlier results."""
        for foreseen in self.foreseen:
            if foreseen.basis == "own" and foreseen.is_applicable(carried):
                tree = carried.put_into(foreseen.tree, foreseen.names)
                if tree is not None:
                    yield tree

    def make_key(
        self,
        reference: Node | None,
        carried: CarriedResults,
        diagnosis: Diagnosis | RelationDiagnosis | None = None,
    ) -> FormulaKey:
        """Return the answer key.

        Args:
            reference: the reference's formula, if the item uses it.
            carried: the values of earlier results.
            diagnosis: of a key with the same reference.
        """
        right = (*(() if reference is None else (reference,)), *self.accept)
        named = []
        for foreseen in self.foreseen:
            tree = (
                carried.put_into(foreseen.tree, foreseen.names) if foreseen.is_applicable(carried) else None
            )
            readings = () if tree is None else foreseen.readings
            named.append(NamedAnswer("", foreseen.tree if tree is None else tree, readings))
        return FormulaKey(right, self.readings, named, self.beyond, diagnosis)


class PreparedQuestion(Struct, frozen=True, eq=False):
    """A formula question, ready to judge."""

    vocabulary: Vocabulary
    spoken: Vocabulary
    """The vocabulary in the languages of the course, to read answers with."""
    items: Mapping[str, PreparedItem]
    """The automatic items by id."""


def prepare_question(question: Question, rubric: Rubric, draw: Draw) -> PreparedQuestion:
    """Read the options of a question and every formula in them.

    Args:
        question: of the kind ``formula``.
        rubric: of the question.
        draw: determines the points at which formulas are compared.

    Raises:
        RubricError: names the question, the item and the formula.
    """
    where = locate_question(question)
    try:
        vocabulary = rubric.make_vocabulary(question)
        # The relations of the assignment are written in its symbols, which a question may redefine.
        common = rubric.make_vocabulary() if question.symbols else vocabulary
    except RubricError as error:
        raise RubricError(f"{error}", where) from error
    formula_options = read_question_options(question, FormulaQuestion)
    sources = _find_sources(formula_options, vocabulary, question, rubric)
    wider = vocabulary
    for name in sources:
        wider = wider.with_symbol(name)
    # The points depend on the secret, so that no answer can be built to agree at just these points.
    comparer = Comparer(Points(wider.domains, derive_key(draw.seed, "points")))
    relations = {
        name: read_tree(text, "relation", common, f"[assignment.assume] {name}")
        for name, text in rubric.assignment.assume.items()
    }
    spoken = vocabulary.with_notation(decimal_comma=has_decimal_comma(rubric.assignment.languages))
    maker = _ItemPreparer(question, vocabulary, spoken, wider, comparer, relations, {}, sources)
    options = read_item_options(question, FormulaItem)
    items = {
        item.id: maker.prepare_item(item, options[item.id]) for item in question.items if not item.manual
    }
    return PreparedQuestion(vocabulary, spoken, items)


def _find_sources(
    options: FormulaQuestion, vocabulary: Vocabulary, question: Question, rubric: Rubric
) -> dict[str, Source]:
    """Return the sources of earlier results, by the names that refer to them.

    Raises:
        RubricError: a name is a symbol already, or refers to no earlier formula.
    """
    where = locate_question(question).extend(": follows", "follows")
    sources = {}
    for name, source in options.follows.items():
        if name in vocabulary.names:
            raise RubricError(f"{name!r} is needed and cannot be a symbol of its own", where)
        if not name.isidentifier():
            raise RubricError(f"{name!r} is no name: letters, digits and underscores", where)
        sources[name] = find_source(source, vocabulary, question, rubric, where=where)
    return sources


class _ItemPreparer(Struct, frozen=True, eq=False):
    """Prepares the items of a question."""

    question: Question
    vocabulary: Vocabulary
    spoken: Vocabulary
    """In the languages of the course, to read answers with."""
    wider: Vocabulary
    """With the names of earlier results."""
    comparer: Comparer
    relations: Mapping[str, Tree]
    comparers: dict[tuple[str, ...], Comparer]
    """One comparer for each set of assumptions: a key evaluates an answer once for each."""
    sources: Mapping[str, Source]

    def prepare_item(self, item: Item, options: FormulaItem) -> PreparedItem:
        where = locate_question(self.question, item)
        answer = options.answer or self.question.answer
        if not answer:
            raise RubricError("the name of a variable is needed, here or at the question", where, "answer")
        # The reference defines the question's own variable only.
        reads_answer = answer == self.question.answer
        uses_reference = (
            reads_answer and options.form in ("formula", "asymptotic") and bool(self.question.reference)
        )
        check_form_options(options, options.form, item, self.vocabulary, where)
        if not options.accept and not uses_reference:
            raise RubricError("at least one right answer is needed without a reference", where, "accept")
        sources = self.sources
        beyond = None if set(options.assume) >= self.relations.keys() else self._make_beyond()
        foreseen: list[ForeseenFormula] = []
        spoken: set[str] = set()

        def add_formula(
            text: str, assume: tuple[str, ...] | None, at: str, basis: Basis
        ) -> tuple[int, frozenset[str]]:
            tree = read_tree(text, options.form, self.wider if sources else self.vocabulary, at)
            readings = self._list_readings(options.assume if assume is None else assume, at)
            if basis == "own-early":
                readings = () if beyond is None else (beyond,)
            names = frozenset(collect_symbols(tree) & sources.keys())
            spoken.update(names)
            foreseen.append(ForeseenFormula(tree, readings, names, basis))
            return len(foreseen) - 1, names

        accept = tuple(read_tree(text, options.form, self.vocabulary, where) for text in options.accept)
        rule = make_form_rule(options, self.vocabulary)
        check_points(options.slip_points, max(item.points, CENT), where, "slip_points")
        if options.slip_points and options.form != "formula":
            raise RubricError("belongs to a formula", where, "slip_points")
        special = self._make_special(item, options, accept, where)
        making = StepsSpec(
            item, options, options.follow, options.follow_points, tuple(sources), add_formula, where, rule
        )
        steps = CreditSteps(()) if special is not None else make_credit_steps(making)
        self._check_order(item, spoken, where)
        return PreparedItem(
            item=item,
            answer=answer,
            form=options.form,
            accept=accept,
            uses_reference=uses_reference,
            readings=self._list_readings(options.assume, where),
            beyond=beyond,
            foreseen=tuple(foreseen),
            steps=steps,
            sources={name: source for name, source in sources.items() if name in spoken},
            follow=options.follow,
            follow_points=options.follow_points,
            optional=read_optional_terms(options, item, self.vocabulary, self.comparer, where),
            rule=rule,
            slip_points=options.slip_points,
            entry_points=_compute_entry_points(options, accept, item, where),
            special=special,
        )

    def _check_order(self, item: Item, spoken: set[str], where: str) -> None:
        """Refuse to build on a later item of the same question."""
        before = [question_item.id for question_item in self.question.items]
        later = {f"{self.question.id}.{name}" for name in before[before.index(item.id) :]}
        for name in sorted(spoken):
            if self.sources[name].name in later:
                raise RubricError(f"{name!r} stands for {self.sources[name].name}, which comes later", where)

    def _make_special(
        self, item: Item, options: FormulaItem, accept: tuple[Tree, ...], where: str
    ) -> Special | None:
        """Return the judge of a form that has no answer key, or None."""
        if options.form not in _SPECIAL:
            return None
        foreseen = []
        foreseen_options: tuple[FormulaMistake | Remark, ...] = (*options.remark, *options.mistake)
        for option in foreseen_options:
            option_place = check_option(option, item, where)
            assume = options.assume if option.assume is None else option.assume
            for text in list_formulas(option):
                tree = read_tree(text, options.form, self.vocabulary, option_place)
                foreseen.append(ForeseenAnswer(option, tree, self._list_readings(assume, option_place)))
        readings = self._list_readings(options.assume, where)
        prepared = ParsedItem(
            item, options, accept, tuple(foreseen), readings, self.vocabulary, self.spoken, where
        )
        if options.form == "asymptotic":
            return Asymptotics(prepared)
        return Collection(prepared)

    def _list_readings(self, assume: tuple[str, ...], where: str) -> tuple[Comparer, ...]:
        return (self.comparer, self._get_comparer(assume, where)) if assume else (self.comparer,)

    def _make_beyond(self) -> Comparer | None:
        """Return the comparer under every assumption; None if they contradict one another."""
        relations = [relation for relation in self.relations.values() if isinstance(relation, Relation)]
        try:
            return self.comparer.with_assumptions(relations)
        except FormulaError:
            return None

    def _get_comparer(self, assume: tuple[str, ...], where: str) -> Comparer:
        if assume in self.comparers:
            return self.comparers[assume]
        chosen = []
        for name in assume:
            relation = self.relations.get(name)
            if not isinstance(relation, Relation):
                names = ", ".join(self.relations) or "none"
                raise RubricError(f"no relation {name!r}; known are: {names}", where, "assume")
            chosen.append(relation)
        try:
            self.comparers[assume] = self.comparer.with_assumptions(chosen)
        except FormulaError as error:
            raise RubricError(f"{error}", where, "assume") from error
        return self.comparers[assume]


def _compute_entry_points(options: FormulaItem, accept: Sequence[Tree], item: Item, where: str) -> Decimal:
    """Return an equal part of the points for each entry of a tuple, if the rubric gives credit for each.

    Raises:
        RubricError: the points cannot be divided, or right tuples are of different lengths.
    """
    if options.form != "tuple" or options.credit != "each":
        return NO_POINTS
    lengths = {len(tree.elements) for tree in accept if isinstance(tree, Tuple)}
    if len(lengths) != 1:
        raise RubricError("'each' needs right tuples of one length", where, "credit")
    return split_points(item.points, lengths.pop(), where)


def find_judged_side(sides: Sequence[Tree], item: PreparedItem) -> Tree:
    """Return the side to judge: the last one, or the first meaningful link of a chain of relations.

    A link such as ``2*d = d + d`` in a chain is always true and means nothing, and so is ``0 < n`` for a
    positive ``n``; unless the item asks for it.
    """
    links = [side for side in sides if isinstance(side, Relation)]
    if item.form != "relation" or not links:
        return sides[-1]
    telling = (link for link in links if not _is_always_true(link, item))
    expected = (link for link in links if any(_is_equal(link, right, item) for right in item.accept))
    return next(telling, next(expected, links[0]))


def find_chain_failure(sides: Sequence[Tree], item: PreparedItem) -> Finding | None:
    """Return the finding that two links of a chain are not equivalent, or None."""
    links = [side for side in sides if isinstance(side, Relation) and not _is_always_true(side, item)]
    for left, right in pairwise(links):
        try:
            if not any(comparer.is_equal(left, right) for comparer in item.readings):
                if any(map(_is_bound_of_several, item.accept)):
                    staff = "a chain of two relations, where the right one bounds a maximum or minimum"
                    return results.make_review(staff, "formula.undecided")
                return results.make_failure("formula.chain", left=to_text(left), right=to_text(right))
        except Undecided as error:
            return results.make_review(f"a chain of relations: {error}", "formula.undecided")
    return None


def _is_bound_of_several(right: Tree) -> bool:
    """Return whether it may be equivalent to a chain: ``max(a, b) <= c`` is ``a <= c >= b``."""
    return any(isinstance(node, Fn) and node.name in ("max", "min") for node in walk_tree(right))


def find_sign_failure(answer: Tree, item: PreparedItem, reading: str) -> Finding | None:
    """Return the finding that a wrong relation is right with another sign, or None."""
    if not isinstance(answer, Relation):
        return None
    ways = {
        "direction": (reverse_sign(answer),),
        "strictness": (with_sign(answer, "≤"), with_sign(answer, "<")),
        "sign": tuple(Relation(answer.left, answer.right, sign) for sign in ("=", "<", "≤", ">", "≥")),
    }
    # An equation has neither a direction nor strictness.
    if answer.sign == "=":
        del ways["direction"], ways["strictness"]
    for code, tried in ways.items():
        if any(
            _is_same_sign(variant, right) and _is_equal(variant, right, item)
            for variant in tried
            for right in item.accept
        ):
            staff = f"read as {reading}; right with another sign"
            return results.make_failure(f"formula.relation-{code}", staff)
    return None


def _is_same_sign(tried: Relation, right: Tree) -> bool:
    """Return whether both are equations, or both strict, or both not.

    For integers ``y < 2*x + 2`` is ``y <= 2*x + 1``: in this case the sides are wrong, and not the sign.
    """
    if not isinstance(right, Relation):
        return False
    return is_strict(tried) is is_strict(right) and (tried.sign == "=") is (right.sign == "=")


def _is_equal(first: Tree, second: Tree, item: PreparedItem) -> bool:
    try:
        return any(comparer.is_equal(first, second) for comparer in item.readings)
    except Undecided:
        return False


def _is_always_true(link: Relation, item: PreparedItem) -> bool:
    comparer = item.readings[0]
    if link.sign != "=":
        return is_always_true(link, comparer.points.domains)
    try:
        return comparer.is_equal(link.left, link.right)
    except Undecided:
        return False
