"""Trials of a formula item: what its rubric names, the key in other notations, and slips of the key.

Everything is made from the rubric's own texts and the key's own answer, not from what the check has made
of them, so that a mistake there shows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal

from msgspec import Struct
from msgspec.structs import replace

from autograder.algebra.mistakes.bases import Base
from autograder.algebra.nodes import Relation, Tree, Tuple, substitute
from autograder.algebra.notation.parse import parse
from autograder.algebra.notation.vocabulary import Vocabulary
from autograder.algebra.printing.latex import to_latex
from autograder.algebra.printing.text import to_text
from autograder.checks.base import Trial
from autograder.checks.kinds.symbolic.answers import NoFormula, NotAFormula, markdown_formula, text_of
from autograder.checks.kinds.symbolic.conditions import is_formula
from autograder.checks.kinds.symbolic.key import OWN, PreparedItem, read_tree
from autograder.checks.kinds.symbolic.options import Mistake, Step, SymbolicItem, SymbolicQuestion
from autograder.checks.kinds.symbolic.variants import any_equal, slips, unformed, wrong_forms
from autograder.checks.options import item_options, question_options
from autograder.checks.planning.planting import Planter
from autograder.checks.values.literal import answer_literal
from autograder.errors import AlgebraError, RubricError
from autograder.rubric import Question, Rubric

_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


class Earlier(Struct, frozen=True, eq=False):
    """The earlier result that an item builds on.

    Attributes:
        question: its question.
        answer: the variable it stands in.
        expect: the right continuation, with ``own`` for it; empty where steps say what it is worth.
        points: for a right continuation of a wrong result.
        right: what is right there; empty where only the reference knows.
        wrong: mistakes that are named there, by code.
    """

    question: str
    answer: str
    expect: str
    points: Decimal | None
    right: str
    wrong: Mapping[str, str]


class ItemTrials(Struct, frozen=True, eq=False):
    """Makes the trials of one item.

    Attributes:
        planter: of the item.
        prepared: the item, ready to judge; only its symbols, comparers and form are used.
        options: the item as the rubric states it.
        vocabulary: the symbols of the question.
        wider: with the symbol for an earlier result.
        earlier: where the item carries forward.
    """

    planter: Planter
    prepared: PreparedItem
    options: SymbolicItem
    vocabulary: Vocabulary
    wider: Vocabulary
    earlier: Earlier | None

    def all(self) -> Iterator[Trial]:
        """Every trial of the item."""
        yield from self._accepted()
        yield from self._notations()
        for mistake in self.options.mistake:
            yield from self._mistake(mistake)
        for step in self.options.step:
            yield from self._step(step)
        earlier = self.earlier
        if earlier is not None and earlier.expect and self.prepared.rule is None:
            yield from self._carried(earlier, earlier.expect, earlier.points, "carried on from")
        yield from self._slips()

    def _accepted(self) -> Iterator[Trial]:
        """What the rubric accepts: worth everything where it is also in the form that is asked for."""
        if self.options.form == "asymptotic" and "refuse" in (
            self.options.constants,
            self.options.lower_order,
        ):
            return  # the rubric may state these with constants
        if self.options.step and not any(_worth_all(step, self._points) for step in self.options.step):
            return
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
        """The key's own answer, as it is written elsewhere."""
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
        """The key's answer as it was written; None where only running the key's cell can tell it."""
        literal = answer_literal(self.planter.key.source, self.prepared.answer)
        try:
            if self.planter.key.cell_type != "code":
                text = markdown_formula(self.planter.key.source)
            else:
                text = "" if literal is None else text_of(literal.value)
            return read_tree(text, self.options.form, self.vocabulary, "")
        except (AlgebraError, RubricError, NoFormula, NotAFormula):
            return None

    def _mistake(self, mistake: Mistake) -> Iterator[Trial]:
        text = self._own_right(mistake.when)
        if text:
            name = f"mistake {mistake.code}: {mistake.when}"
            yield self.planter.trial(name, text, mistake.points, code=mistake.code)

    def _step(self, step: Step) -> Iterator[Trial]:
        """A step that ends with a formula is worth what it says, and no other step is taken before it."""
        conditions = (step.when,) if isinstance(step.when, str) else step.when
        if step.next:
            return
        if len(conditions) == 1 and is_formula(conditions[0], self.vocabulary):
            text = self._own_right(conditions[0])
            if text:
                code = step.id if step.text else ""
                yield self.planter.trial(f"step {step.id}: {conditions[0]}", text, step.points, code=code)
        elif set(conditions) & {"own:wrong"} and len(conditions) == 2 and self.earlier is not None:
            formula = next(one for one in conditions if one != "own:wrong").partition(":")[2]
            if OWN in formula:
                yield from self._carried(self.earlier, formula, step.points, f"step {step.id} from")

    def _own_right(self, text: str) -> str:
        """A formula with the right earlier result put in; empty where that is not known."""
        if self.earlier is None or OWN not in text:
            return text
        return self._with_own(text, self.earlier.right) if self.earlier.right else ""

    def _carried(self, earlier: Earlier, expect: str, points: Decimal | None, name: str) -> Iterator[Trial]:
        """The right continuation of each mistake that is named where the earlier result was asked for."""
        worth = self._points if points is None else min(points, self._points)
        for code, wrong in earlier.wrong.items():
            trial = self.planter.trial(f"{name} {code}", self._with_own(expect, wrong), worth)
            source = f"{earlier.answer} = {wrong!r}\n"
            yield replace(trial, earlier={earlier.question: source})

    def _with_own(self, text: str, own: str) -> str:
        return to_text(substitute(parse(text, self.wider), OWN, parse(own, self.vocabulary)))

    def _slips(self) -> Iterator[Trial]:
        """Wrong variants of what is right, which must not earn everything."""
        tree = self._of_key() or next(iter(self.prepared.accept), None)
        if tree is None:
            return
        made = wrong_forms(tree, self.options)
        if self.options.form == "formula" and not isinstance(tree, Relation | Tuple):
            base = Base.of(tree, self.prepared.readings[-1])
            made = iter(()) if base is None else slips(base)
        right = [
            (one, reading) for one in (tree, *self.prepared.accept) for reading in self.prepared.readings
        ]
        for _, foreseen in zip(self.options.remark, self.prepared.foreseen, strict=False):
            right += [(foreseen.tree, reading) for reading in foreseen.readings]
        for variant in made:
            if variant.tree is None or not any_equal(variant.tree, right):
                trial = self.planter.trial(f"slip, {variant.name}: {variant.text}", variant.text)
                yield self.planter.of_family("slips", trial)
        if self.prepared.rule is not None:
            for variant in unformed(tree, self.prepared.rule):
                name = f"another form, {variant.name}: {variant.text}"
                yield self.planter.trial(name, variant.text, self.prepared.rule.points)


def earlier_question(question: Question, rubric: Rubric) -> Earlier | None:
    """What the rubric says of the result that a question carries forward; None where it carries none."""
    carry = question_options(question, SymbolicQuestion).carry_forward
    if carry is None:
        return None
    place, _, name = carry.source.partition(".")
    source = rubric.question(place)
    options = item_options(source, SymbolicItem)[name] if source.kind == question.kind else SymbolicItem()
    return Earlier(
        source.id,
        options.answer or source.answer,
        carry.expect,
        carry.points,
        next(iter(options.accept), ""),
        {mistake.code: mistake.when for mistake in options.mistake if OWN not in mistake.when},
    )


def _worth_all(step: Step, points: Decimal) -> bool:
    """Whether every right answer earns everything at this step."""
    return step.when in ("right", ("right",)) and not step.next and step.points == points


def _unicode(plain: str) -> str:
    """Dots between factors, and raised digits."""
    raised = re.sub(r"\^(\d+)", lambda power: power[1].translate(_RAISED), plain)
    return raised.replace("*", "·")
