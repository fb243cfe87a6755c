"""Trials of a formula: mistakes of the rubric, misconceptions near the right one, and other notations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

from msgspec import Struct
from msgspec.structs import replace

from autograder.checks.base import Trial
from autograder.checks.options import item_options, question_options
from autograder.checks.planning.planting import Planter
from autograder.checks.values.literal import NoFormula, answer_literal, markdown_formula
from autograder.errors import RubricError
from autograder.formulas import FormulaError, Undecided, Vocabulary, to_latex, to_text
from autograder.formulas.equality.compare import Comparer
from autograder.formulas.mistakes.changes import variants
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
    children,
    rebuilt,
    symbols,
    walk,
)
from autograder.formulas.notation.landau import body_of, sign_of
from autograder.formulas.notation.parse import parse
from autograder.formulas.values.evaluate import Rational
from autograder.kinds.general.formula.answers import NotAFormula, text_of
from autograder.kinds.general.formula.key import PreparedItem, read_tree
from autograder.kinds.general.formula.options import (
    CONSTANTS,
    FormRule,
    FormulaItem,
    FormulaMistake,
    FormulaQuestion,
)
from autograder.kinds.general.formula.steps import Source, formulas_of, with_value
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


def misconceptions(right: Node, comparer: Comparer) -> Iterator[FormulaVariant]:
    """Yield misconceptions of a formula, a few of each sort, that differ from it at a secret point."""
    sorts: dict[str, dict[Rational, Node]] = {}
    expected = comparer.value(right)
    for code, tree in variants(right, dict.fromkeys(comparer.points.domains)):
        value = comparer.value(tree)
        # Variants of equal value are the same wrong answer.
        if value is not None and expected is not None and value != expected:
            sorts.setdefault(code, {}).setdefault(value, tree)
    taken = 0
    # In turns, so that the limit cuts off no sort entirely.
    for turn in range(max(map(len, sorts.values()), default=0)):
        for code, found in sorts.items():
            if turn < len(found) and taken < MOST_MISCONCEPTIONS:
                taken += 1
                yield _variant(code, [*found.values()][turn])


def wrong_forms(tree: Tree, options: FormulaItem) -> Iterator[FormulaVariant]:
    """Yield wrong relations, tuples, lists, sets and orders of growth."""
    if isinstance(tree, Relation):
        yield _variant("right side doubled", Relation(tree.left, Mul((Num(2), tree.right)), tree.sign))
        yield _variant("one more on the right", Relation(tree.left, Add((tree.right, Num(1))), tree.sign))
        yield _variant("another sign", Relation(tree.left, tree.right, "<" if tree.sign == "=" else "="))
    elif isinstance(tree, Tuple):
        yield from _elements(tree.elements, ordered=options.form != "set")
    elif options.form == "asymptotic":
        yield from _orders(tree)


def _elements(elements: Sequence[Node], *, ordered: bool) -> Iterator[FormulaVariant]:
    for place in range(len(elements) - 1) if ordered else ():
        swapped = (*elements[:place], elements[place + 1], elements[place], *elements[place + 2 :])
        yield _variant(f"{place + 1} and {place + 2} swapped", Tuple(tuple(swapped)))
    for place, element in enumerate(elements):
        others = (*elements[:place], *elements[place + 1 :])
        if others:
            yield _variant(f"{place + 1} missing", Tuple(others))
        doubled = Mul((Num(2), element))
        yield _variant(f"{place + 1} doubled", Tuple((*elements[:place], doubled, *elements[place + 1 :])))


def _orders(tree: Node) -> Iterator[FormulaVariant]:
    sign, body = sign_of(tree) or "O", body_of(tree)
    for name in sorted(symbols(body)):
        yield FormulaVariant(f"too large in {name}", f"{sign}({to_text(Mul((body, Sym(name))))})")
        if sign not in ("Ω", "ω"):
            yield FormulaVariant(f"too small in {name}", f"{sign}({to_text(Div(body, Sym(name)))})")


def unformed(tree: Tree, rule: FormRule) -> Iterator[FormulaVariant]:
    """Yield right formulas that are not in the required form, if simple changes produce any.

    Changes that certainly break a form are yielded without asking the rule, which is under test.
    """
    if isinstance(tree, Relation | Tuple):
        return
    names = sorted(symbols(tree))
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
            if name in certain or rule.broken(other) is not None:
                yield _variant(name, other)
        except Undecided:
            continue


def _divided(tree: Tree) -> Iterator[FormulaVariant]:
    """Yield a right formula with one quotient rounded down that was not, or the reverse, one at a time."""
    if isinstance(tree, Relation | Tuple):
        return
    for part in dict.fromkeys(walk(tree)):
        if isinstance(part, Div) and symbols(part):
            yield _variant(f"{to_text(part)} rounded down", _replaced(tree, part, Fn("floor", (part,))))
        elif isinstance(part, Fn) and part.name == "floor" and isinstance(part.arguments[0], Div):
            yield _variant(f"{to_text(part)} not rounded", _replaced(tree, part, part.arguments[0]))


def _replaced(node: Node, part: Node, by: Node) -> Node:
    if node == part:
        return by
    return rebuilt(node, [_replaced(below, part, by) for below in children(node)])


def any_equal(tree: Tree, known: Sequence[tuple[Tree, Comparer]]) -> bool:
    """Return whether an answer equals one of several, or might."""
    for other, comparer in known:
        try:
            if comparer.equal(tree, other):
                return True
        # An answer that may be right proves nothing about the check.
        except Undecided:
            return True
    return False


def is_proven_equal(tree: Tree, known: Sequence[tuple[Tree, Comparer]]) -> bool:
    """Return whether an answer is proven equal to one of several."""
    for other, comparer in known:
        try:
            if comparer.equal(tree, other):
                return True
        except Undecided:
            continue
    return False


def _variant(name: str, tree: Tree) -> FormulaVariant:
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

    def all(self) -> Iterator[Trial]:
        """Yield every trial of the item."""
        yield from self._accepted()
        yield from self._notations()
        for mistake in self.options.mistake:
            yield from self._mistake(mistake)
        if self.prepared.rule is None:
            for text in self.prepared.follow:
                yield from self._carried(text, self.prepared.follow_points, "carried on from")
        yield from self._optional()
        yield from self._slips()
        yield from self._misconceptions()

    def _optional(self) -> Iterator[Trial]:
        """Yield all optional terms, and some of them without the others."""
        option, tree = self.prepared.optional, next(iter(self.prepared.accept), None)
        if option is None or tree is None or isinstance(tree, Relation | Tuple):
            return
        for extra in option.extras:
            text = to_text(Add((tree, extra.sum)))
            if extra.whole:
                yield self.planter.right(f"with optional terms: {text}", text)
            else:
                name = f"with some optional terms: {text}"
                yield self.planter.trial(name, text, option.option.points, code=option.option.code)

    def _slips(self) -> Iterator[Trial]:
        """Yield a right formula with a slip after it, and a right tuple with one wrong entry."""
        tree, vocabulary = next(iter(self.prepared.accept), None), self.vocabulary
        if tree is None:
            return
        if self.prepared.slip_points and not isinstance(tree, Relation | Tuple):
            wrong = Add((tree, Sym(min(vocabulary.domains)), Num(997)))  # like no mistake that has a name
            text = f"{to_text(tree)} = {to_text(wrong)}"
            yield self.planter.trial(f"a slip at the end: {text}", text, self.prepared.slip_points)
        if self.prepared.entry_points and isinstance(tree, Tuple):
            wrong = Add((tree.elements[0], Num(997)))
            other = to_text(Tuple((wrong, *tree.elements[1:])))
            points = self.prepared.entry_points * (len(tree.elements) - 1)
            yield self.planter.trial(f"one wrong entry: {other}", other, points)

    def _accepted(self) -> Iterator[Trial]:
        """Yield the accepted answers of the rubric: full credit if they are also in the required form."""
        for text, tree in zip(self.options.accept, self.prepared.accept, strict=True):
            if self.prepared.rule is not None and self.prepared.rule.broken(tree) is not None:
                yield self.planter.trial(
                    f"accepted, in another form: {text}", text, self.prepared.rule.points
                )
            else:
                yield self.planter.right(f"accepted: {text}", text)
        for remark in self.options.remark:
            if self.prepared.rule is None:
                yield self.planter.right(f"remark {remark.code}: {remark.when}", remark.when)

    @property
    def _points(self) -> Decimal:
        return self.prepared.item.points

    def _notations(self) -> Iterator[Trial]:
        """Yield the answer of the key in other notations."""
        tree = self._of_key()
        if tree is None:
            return
        plain = to_text(tree)
        spellings = {
            "as Python": plain.replace("^", "**"),
            "in Unicode": _unicode(plain),
            "without blanks": plain.replace(" ", ""),
        }
        if self.options.form != "asymptotic":
            spellings["in LaTeX"] = to_latex(tree)
        yield from (self.planter.right(f"the key {how}", text) for how, text in spellings.items())

    def _of_key(self) -> Tree | None:
        """Return the answer of the key; None if only running the key's cell can show it."""
        literal = answer_literal(self.planter.key.source, self.prepared.answer)
        try:
            if self.planter.key.cell_type != "code":
                text = markdown_formula(self.planter.key.source)
            else:
                text = "" if literal is None else text_of(literal.value)
            return read_tree(text, self.options.form, self.vocabulary, "")
        except (FormulaError, RubricError, NoFormula, NotAFormula):
            return None

    def _mistake(self, mistake: FormulaMistake) -> Iterator[Trial]:
        for when in dict.fromkeys(map(self._own_right, formulas_of(mistake))):
            if when:
                name = f"mistake {mistake.code}: {when}"
                yield self.planter.trial(name, when, mistake.points, code=mistake.code)

    @property
    def _wider(self) -> Vocabulary:
        """The symbols, and the names of earlier results."""
        wider = self.vocabulary
        for name in self.earlier:
            wider = wider.extended(name)
        return wider

    def _spoken(self, text: str) -> dict[str, EarlierTrial]:
        """Return the earlier results that a formula refers to."""
        if not any(name in text for name in self.earlier):
            return {}
        tree = read_tree(text, self.options.form, self._wider, "")
        return {name: one for name, one in self.earlier.items() if name in symbols(tree)}

    def _own_right(self, text: str) -> str:
        """Return a formula with the right earlier results substituted; empty if one is unknown."""
        spoken = self._spoken(text)
        if not spoken:
            return text
        if not all(one.right for one in spoken.values()):
            return ""
        return self._put(text, {name: one.right for name, one in spoken.items()})

    def _carried(self, expect: str, points: Decimal | None, name: str) -> Iterator[Trial]:
        """Yield the right continuation of each named mistake in the question of the earlier result."""
        worth = self._points if points is None else min(points, self._points)
        spoken = self._spoken(expect)
        for symbol, earlier in spoken.items():
            others = {other: one.right for other, one in spoken.items() if other != symbol}
            if earlier.question == self.planter.question.id or not all(others.values()):
                continue
            for code, wrong in earlier.wrong.items():
                text = self._put(expect, {**others, symbol: wrong})
                several = len(self.prepared.follow) > 1 or len(spoken) > 1
                title = f"{name} {symbol}, {code}: {text}" if several else f"{name} {code}"
                trial = self.planter.trial(title, text, worth)
                source = f"{earlier.answer} = {wrong!r}\n"
                yield replace(trial, earlier={earlier.question: source})

    def _put(self, text: str, values: Mapping[str, str]) -> str:
        tree: Tree = read_tree(text, self.options.form, self._wider, "")
        for name, value in values.items():
            tree = with_value(tree, name, parse(value, self.vocabulary))
        return to_text(tree)

    def _misconceptions(self) -> Iterator[Trial]:
        """Yield wrong variants of the right answer, which must not earn full credit."""
        tree = self._of_key() or next(iter(self.prepared.accept), None)
        if tree is None:
            return
        made = wrong_forms(tree, self.options)
        if self.options.form == "formula" and not isinstance(tree, Relation | Tuple):
            made = misconceptions(tree, self.prepared.readings[-1])
        right = [
            (one, reading) for one in (tree, *self.prepared.accept) for reading in self.prepared.readings
        ]
        for _, foreseen in zip(self.options.remark, self.prepared.foreseen, strict=False):
            right += [(foreseen.tree, reading) for reading in foreseen.readings]
        known = {*self.vocabulary.domains}
        for variant in made:
            if variant.tree is not None and not symbols(variant.tree) <= known:
                continue  # it speaks of an earlier result, which has no name for students
            if variant.tree is None or not any_equal(variant.tree, right):
                trial = self.planter.trial(f"misconception, {variant.name}: {variant.text}", variant.text)
                yield self.planter.of_family("misconceptions", trial)
        yield from self._rounded(right)
        if self.prepared.rule is not None:
            for variant in unformed(tree, self.prepared.rule):
                name = f"another form, {variant.name}: {variant.text}"
                yield self.planter.trial(name, variant.text, self.prepared.rule.points)

    def _rounded(self, right: Sequence[tuple[Tree, Comparer]]) -> Iterator[Trial]:
        """Yield accepted formulas with ``//`` for ``/``, and the reverse, unless they are equal anyway.

        If that is undecided, every student who writes so waits for manual review, which the author should
        know.
        """
        for text, tree in zip(self.options.accept, self.prepared.accept, strict=True):
            for variant in _divided(tree) if self.options.form == "formula" else ():
                if variant.tree is None or not is_proven_equal(variant.tree, right):
                    trial = self.planter.trial(f"{text}, {variant.name}: {variant.text}", variant.text)
                    yield self.planter.of_family("quotients rounded or not", trial)


def earlier_results(
    question: Question, rubric: Rubric, sources: Mapping[str, Source]
) -> dict[str, EarlierTrial]:
    """Return the results that an item builds on, according to the rubric, by their names."""
    found = {}
    for name, source in sources.items():
        place, _, item = source.name.partition(".")
        asked = rubric.question(place)
        options = item_options(asked, FormulaItem)[item] if asked.kind == question.kind else FormulaItem()
        right = "" if source.right is None else to_text(source.right)
        wrong = {
            mistake.code: text
            for mistake in options.mistake
            for text in formulas_of(mistake)
            if source.element < 0 and not source.symbol and not names_in(text, asked)
        }
        found[name] = EarlierTrial(asked.id, options.answer or asked.answer, right, wrong)
    return found


def names_in(text: str, question: Question) -> bool:
    """Return whether a formula refers to results before its question."""
    stated = question_options(question, FormulaQuestion)
    return any(re.search(rf"\b{re.escape(name)}\b", text) for name in stated.follows)


def _unicode(plain: str) -> str:
    """Return the text with dots between factors, and superscript digits."""
    raised = re.sub(r"\^(\d+)", lambda power: power[1].translate(_RAISED), plain)
    return raised.replace("*", "·")
