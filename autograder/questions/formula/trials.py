"""Trials of a formula: mistakes of the rubric, misconceptions near the right one, and other notations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

from msgspec import Struct
from msgspec.structs import replace

from autograder.core.errors import RubricError
from autograder.formulas import FormulaError, Undecided, Vocabulary, to_latex, to_text
from autograder.formulas.equality.compare import Comparer
from autograder.formulas.mistakes.changes import generate_variants
from autograder.formulas.nodes import (
    FUNCTIONS,
    Add,
    Div,
    Fn,
    Mul,
    Neg,
    Node,
    Num,
    Relation,
    Sym,
    Tree,
    Tuple,
    collect_symbols,
    get_children,
    rebuild_node,
    walk_tree,
)
from autograder.formulas.notation.landau import get_body, get_sign
from autograder.formulas.notation.parse import parse
from autograder.formulas.values.evaluate import Rational
from autograder.questions.base.base import Trial
from autograder.questions.base.options import read_item_options, read_question_options
from autograder.questions.base.planning.planting import Planter
from autograder.questions.base.values.literal import NoFormula, extract_markdown_formula, find_answer_literal
from autograder.questions.formula.answers import NotAFormula, extract_text
from autograder.questions.formula.formula_key import PreparedItem
from autograder.questions.formula.options import (
    CONSTANTS,
    FormRule,
    FormulaItem,
    FormulaMistake,
    FormulaQuestion,
)
from autograder.questions.formula.steps import Source, list_formulas, read_tree, with_value
from autograder.rubric import Question, Rubric

MOST_MISCONCEPTIONS = 60
"""Misconceptions of one formula that are graded, spread evenly over their sorts."""


_BREAKS = {
    "simplified": "times one",
    "sum": "times one",
    "collected": "in two halves",
    "product": "in two halves",
    "factored": "in two halves",
    "expanded": "cancelled",
}
"""Form → a change that always breaks it."""


class FormulaVariant(Struct, frozen=True):
    """An answer derived from a right one.

    Attributes:
        name: a short description of the change.
        text: the answer as a student would write it.
        tree: the same, to be compared with right answers; None if it is certainly wrong.
    """

    name: str
    text: str
    tree: Tree | None = None


def make_misconceptions(right: Node, comparer: Comparer) -> Iterator[FormulaVariant]:
    """Yield misconceptions of a formula, a few of each sort, that differ from it at a secret point."""
    sorts: dict[str, dict[Rational, Node]] = {}
    expected = comparer.evaluate_at_point(right)
    for code, tree in generate_variants(right, dict.fromkeys(comparer.points.domains)):
        value = comparer.evaluate_at_point(tree)
        # Variants of equal value are the same wrong answer.
        if value is not None and expected is not None and value != expected:
            sorts.setdefault(code, {}).setdefault(value, tree)
    taken = 0
    # In turns, so that the limit cuts off no sort entirely.
    for turn in range(max(map(len, sorts.values()), default=0)):
        for code, trees in sorts.items():
            if turn < len(trees) and taken < MOST_MISCONCEPTIONS:
                taken += 1
                yield _make_variant(code, [*trees.values()][turn])


def make_wrong_forms(tree: Tree, options: FormulaItem) -> Iterator[FormulaVariant]:
    """Yield wrong relations, tuples, sets and orders of growth."""
    if isinstance(tree, Relation):
        yield _make_variant("right side doubled", Relation(tree.left, Mul((Num(2), tree.right)), tree.sign))
        yield _make_variant(
            "one more on the right", Relation(tree.left, Add((tree.right, Num(1))), tree.sign)
        )
        yield _make_variant("another sign", Relation(tree.left, tree.right, "<" if tree.sign == "=" else "="))
    elif isinstance(tree, Tuple):
        yield from _change_elements(tree.elements, ordered=options.form != "set")
    elif options.form == "asymptotic":
        yield from _change_orders(tree)


def _change_elements(elements: Sequence[Node], *, ordered: bool) -> Iterator[FormulaVariant]:
    for index in range(len(elements) - 1) if ordered else ():
        swapped = (*elements[:index], elements[index + 1], elements[index], *elements[index + 2 :])
        yield _make_variant(f"{index + 1} and {index + 2} swapped", Tuple(tuple(swapped)))
    for index, element in enumerate(elements):
        remaining = (*elements[:index], *elements[index + 1 :])
        if remaining:
            yield _make_variant(f"{index + 1} missing", Tuple(remaining))
        doubled = Mul((Num(2), element))
        yield _make_variant(
            f"{index + 1} doubled", Tuple((*elements[:index], doubled, *elements[index + 1 :]))
        )


def _change_orders(tree: Node) -> Iterator[FormulaVariant]:
    sign, body = get_sign(tree) or "O", get_body(tree)
    for name in sorted(collect_symbols(body)):
        yield FormulaVariant(f"too large in {name}", f"{sign}({to_text(Mul((body, Sym(name))))})")
        if sign not in ("Ω", "ω"):
            yield FormulaVariant(f"too small in {name}", f"{sign}({to_text(Div(body, Sym(name)))})")


def make_other_forms(tree: Tree, rule: FormRule) -> Iterator[FormulaVariant]:
    """Yield right formulas that are not in the required form, if simple changes produce any.

    Changes that certainly break a form are yielded without asking the rule, which is under test.
    """
    if isinstance(tree, Relation | Tuple):
        return
    names = sorted(collect_symbols(tree))
    symbol: Node = Sym(names[0]) if names else Num(2)
    tried: dict[str, Node] = {
        "times one": Mul((Num(1), tree)),
        "in two halves": Add((Div(tree, Num(2)), Div(tree, Num(2)))),
        "cancelled": Div(Mul((Add((symbol, symbol)), tree)), Mul((Num(2), symbol))),
    }
    foreign = [name for name in rule.absent if name not in (*FUNCTIONS, *CONSTANTS)]
    for name in (*names, *foreign):
        tried[f"plus and minus {name}"] = Add((tree, Sym(name), Neg(Sym(name))))
    certain = {_BREAKS[form] for form in rule.must if form in _BREAKS}
    certain |= {f"plus and minus {name}" for name in foreign}
    for name, other in tried.items():
        try:
            if name in certain or rule.find_broken(other) is not None:
                yield _make_variant(name, other)
        except Undecided:
            continue


def _swap_divisions(tree: Tree) -> Iterator[FormulaVariant]:
    """Yield a right formula with one quotient rounded down that was not, or the reverse, one at a time."""
    if isinstance(tree, Relation | Tuple):
        return
    for part in dict.fromkeys(walk_tree(tree)):
        if isinstance(part, Div) and collect_symbols(part):
            yield _make_variant(
                f"{to_text(part)} rounded down", _replace_part(tree, part, Fn("floor", (part,)))
            )
        elif isinstance(part, Fn) and part.name == "floor" and isinstance(part.arguments[0], Div):
            yield _make_variant(f"{to_text(part)} not rounded", _replace_part(tree, part, part.arguments[0]))


def _replace_part(node: Node, part: Node, by: Node) -> Node:
    if node == part:
        return by
    return rebuild_node(node, [_replace_part(below, part, by) for below in get_children(node)])


def _is_equal_to_any(tree: Tree, right: Sequence[tuple[Tree, Comparer]], *, undecided: bool) -> bool:
    """Return whether an answer equals one of several; ``undecided`` is what counts where that is open."""
    for other, comparer in right:
        try:
            if comparer.is_equal(tree, other):
                return True
        except Undecided:
            if undecided:
                return True
    return False


def _make_variant(name: str, tree: Tree) -> FormulaVariant:
    return FormulaVariant(name, to_text(tree), tree)


_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


class EarlierTrial(Struct, frozen=True, eq=False):
    """An earlier result that an item builds on.

    Attributes:
        question: its question.
        answer: the variable that has it.
        right: the right answer; empty if only the reference knows it.
        wrong: its named mistakes, by code; none for an element of a tuple.
    """

    question: str
    answer: str
    right: str
    wrong: Mapping[str, str]


class ItemTrials(Struct, frozen=True, eq=False):
    """Makes the trials of one item.

    Attributes:
        planter: of the item.
        prepared: the item, ready to judge; only its symbols, comparers and form are used.
        options: of the item in the rubric.
        vocabulary: the symbols of the question.
        earlier: the results that it builds on, by their names.
    """

    planter: Planter
    prepared: PreparedItem
    options: FormulaItem
    vocabulary: Vocabulary
    earlier: Mapping[str, EarlierTrial]

    def make_all(self) -> Iterator[Trial]:
        """Yield every trial of the item."""
        yield from self._make_accepted()
        yield from self._make_notations()
        for mistake in self.options.mistake:
            yield from self._make_mistake(mistake)
        if self.prepared.rule is None:
            for text in self.prepared.follow:
                yield from self._make_carried(text, self.prepared.follow_points, "carried on from")
        yield from self._make_optional()
        yield from self._make_slips()
        yield from self._make_misconceptions()

    def _make_optional(self) -> Iterator[Trial]:
        """Yield all optional terms, and some of them without the others."""
        option, tree = self.prepared.optional, next(iter(self.prepared.accept), None)
        if option is None or tree is None or isinstance(tree, Relation | Tuple):
            return
        for extra in option.extras:
            text = to_text(Add((tree, extra.sum)))
            if extra.whole:
                yield self.planter.make_right(f"with optional terms: {text}", text)
            else:
                name = f"with some optional terms: {text}"
                yield self.planter.make_trial(name, text, option.option.points, code=option.option.code)

    def _make_slips(self) -> Iterator[Trial]:
        """Yield a right formula with a slip after it, and a right tuple with one wrong entry."""
        tree, vocabulary = next(iter(self.prepared.accept), None), self.vocabulary
        if tree is None:
            return
        if self.prepared.slip_points and not isinstance(tree, Relation | Tuple):
            wrong = Add((tree, Sym(min(vocabulary.domains)), Num(997)))  # like no mistake that has a name
            text = f"{to_text(tree)} = {to_text(wrong)}"
            yield self.planter.make_trial(f"a slip at the end: {text}", text, self.prepared.slip_points)
        if self.prepared.entry_points and isinstance(tree, Tuple):
            wrong = Add((tree.elements[0], Num(997)))
            other = to_text(Tuple((wrong, *tree.elements[1:])))
            points = self.prepared.entry_points * (len(tree.elements) - 1)
            yield self.planter.make_trial(f"one wrong entry: {other}", other, points)

    def _make_accepted(self) -> Iterator[Trial]:
        """Yield the accepted answers of the rubric: full credit if they are also in the required form."""
        for text, tree in zip(self.options.accept, self.prepared.accept, strict=True):
            if self.prepared.rule is not None and self.prepared.rule.find_broken(tree) is not None:
                yield self.planter.make_trial(
                    f"accepted, in another form: {text}", text, self.prepared.rule.points
                )
            else:
                yield self.planter.make_right(f"accepted: {text}", text)
        for remark in self.options.remark:
            if self.prepared.rule is None:
                yield self.planter.make_right(f"remark {remark.code}: {remark.when}", remark.when)

    @property
    def _points(self) -> Decimal:
        return self.prepared.item.points

    def _make_notations(self) -> Iterator[Trial]:
        """Yield the answer of the key in other notations."""
        tree = self._read_key()
        if tree is None:
            return
        plain = to_text(tree)
        spellings = {
            "as Python": plain.replace("^", "**"),
            "in Unicode": _to_unicode(plain),
            "without blanks": plain.replace(" ", ""),
        }
        if self.options.form != "asymptotic":
            spellings["in LaTeX"] = to_latex(tree)
        yield from (self.planter.make_right(f"the key {how}", text) for how, text in spellings.items())

    def _read_key(self) -> Tree | None:
        """Return the answer of the key; None if only running the key's cell can show it."""
        literal = find_answer_literal(self.planter.key.source, self.prepared.answer)
        try:
            if self.planter.key.cell_type != "code":
                text = extract_markdown_formula(self.planter.key.source)
            else:
                text = "" if literal is None else extract_text(literal.value)
            return read_tree(text, self.options.form, self.vocabulary, "")
        except (FormulaError, RubricError, NoFormula, NotAFormula):
            return None

    def _make_mistake(self, mistake: FormulaMistake) -> Iterator[Trial]:
        for when in dict.fromkeys(map(self._substitute_right, list_formulas(mistake))):
            if when:
                name = f"mistake {mistake.code}: {when}"
                yield self.planter.make_trial(name, when, mistake.points, code=mistake.code)

    @property
    def _wider(self) -> Vocabulary:
        """The symbols, and the names of earlier results."""
        wider = self.vocabulary
        for name in self.earlier:
            wider = wider.with_symbol(name)
        return wider

    def _find_earlier(self, text: str) -> dict[str, EarlierTrial]:
        """Return the earlier results that a formula refers to."""
        if not any(name in text for name in self.earlier):
            return {}
        tree = read_tree(text, self.options.form, self._wider, "")
        return {name: trial for name, trial in self.earlier.items() if name in collect_symbols(tree)}

    def _substitute_right(self, text: str) -> str:
        """Return a formula with the right earlier results substituted; empty if one is unknown."""
        spoken = self._find_earlier(text)
        if not spoken:
            return text
        if not all(earlier.right for earlier in spoken.values()):
            return ""
        return self._substitute_values(text, {name: earlier.right for name, earlier in spoken.items()})

    def _make_carried(self, expect: str, points: Decimal | None, name: str) -> Iterator[Trial]:
        """Yield the right continuation of each named mistake in the question of the earlier result."""
        worth = self._points if points is None else min(points, self._points)
        spoken = self._find_earlier(expect)
        for symbol, earlier in spoken.items():
            other_values = {
                other: other_result.right for other, other_result in spoken.items() if other != symbol
            }
            if earlier.question == self.planter.question.id or not all(other_values.values()):
                continue
            for code, wrong in earlier.wrong.items():
                text = self._substitute_values(expect, {**other_values, symbol: wrong})
                several = len(self.prepared.follow) > 1 or len(spoken) > 1
                title = f"{name} {symbol}, {code}: {text}" if several else f"{name} {code}"
                trial = self.planter.make_trial(title, text, worth)
                source = f"{earlier.answer} = {wrong!r}\n"
                yield replace(trial, earlier={earlier.question: source})

    def _substitute_values(self, text: str, values: Mapping[str, str]) -> str:
        tree: Tree = read_tree(text, self.options.form, self._wider, "")
        for name, value in values.items():
            tree = with_value(tree, name, parse(value, self.vocabulary))
        return to_text(tree)

    def _make_misconceptions(self) -> Iterator[Trial]:
        """Yield wrong variants of the right answer, which must not earn full credit."""
        tree = self._read_key() or next(iter(self.prepared.accept), None)
        if tree is None:
            return
        candidates = make_wrong_forms(tree, self.options)
        if self.options.form == "formula" and not isinstance(tree, Relation | Tuple):
            candidates = make_misconceptions(tree, self.prepared.readings[-1])
        right = [
            (right_tree, reading)
            for right_tree in (tree, *self.prepared.accept)
            for reading in self.prepared.readings
        ]
        for _, foreseen in zip(self.options.remark, self.prepared.foreseen, strict=False):
            right += [(foreseen.tree, reading) for reading in foreseen.readings]
        names = {*self.vocabulary.domains}
        for variant in candidates:
            if variant.tree is not None and not collect_symbols(variant.tree) <= names:
                continue  # it speaks of an earlier result, which has no name for students
            # An answer that may be right proves nothing about the check.
            if variant.tree is None or not _is_equal_to_any(variant.tree, right, undecided=True):
                trial = self.planter.make_trial(
                    f"misconception, {variant.name}: {variant.text}", variant.text
                )
                yield self.planter.to_family("misconceptions", trial)
        yield from self._make_rounded(right)
        if self.prepared.rule is not None:
            for variant in make_other_forms(tree, self.prepared.rule):
                name = f"another form, {variant.name}: {variant.text}"
                yield self.planter.make_trial(name, variant.text, self.prepared.rule.points)

    def _make_rounded(self, right: Sequence[tuple[Tree, Comparer]]) -> Iterator[Trial]:
        """Yield accepted formulas with ``//`` for ``/``, and the reverse, unless they are equal anyway.

        If that is undecided, every student who writes so waits for manual review, which the author should
        know.
        """
        for text, tree in zip(self.options.accept, self.prepared.accept, strict=True):
            for variant in _swap_divisions(tree) if self.options.form == "formula" else ():
                if variant.tree is None or not _is_equal_to_any(variant.tree, right, undecided=False):
                    trial = self.planter.make_trial(f"{text}, {variant.name}: {variant.text}", variant.text)
                    yield self.planter.to_family("quotients rounded or not", trial)


def find_earlier_results(
    question: Question, rubric: Rubric, sources: Mapping[str, Source]
) -> dict[str, EarlierTrial]:
    """Return the results that an item builds on, according to the rubric, by their names."""
    trials = {}
    for name, source in sources.items():
        question_id, _, item = source.name.partition(".")
        source_question = rubric.get_question(question_id)
        options = (
            read_item_options(source_question, FormulaItem)[item]
            if source_question.kind == question.kind
            else FormulaItem()
        )
        right = "" if source.right is None else to_text(source.right)
        wrong = {
            mistake.code: text
            for mistake in options.mistake
            for text in list_formulas(mistake)
            if source.element < 0 and not source.symbol and not has_earlier_names(text, source_question)
        }
        trials[name] = EarlierTrial(
            source_question.id, options.answer or source_question.answer, right, wrong
        )
    return trials


def has_earlier_names(text: str, question: Question) -> bool:
    """Return whether a formula refers to results before its question."""
    options = read_question_options(question, FormulaQuestion)
    return any(re.search(rf"\b{re.escape(name)}\b", text) for name in options.follows)


def _to_unicode(plain: str) -> str:
    """Return the text with dots between factors, and superscript digits."""
    raised = re.sub(r"\^(\d+)", lambda power: power[1].translate(_RAISED), plain)
    return raised.replace("*", "·")
