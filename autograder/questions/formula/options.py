"""Options of formula items: the right value, its form, mistakes, remarks and steps."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Literal

from msgspec import Struct, field

from autograder.core.errors import RubricError, extend_place
from autograder.core.records import Message, Status
from autograder.formulas import Undecided, Vocabulary
from autograder.formulas.forms.flaws import FORMS, collect_names, find_flaw
from autograder.formulas.nodes import FUNCTIONS, Node, Relation, Tree, Tuple
from autograder.formulas.notation.landau import get_body
from autograder.questions.base.judging import results
from autograder.questions.base.judging.results import Finding
from autograder.questions.base.options import CENT, check_points
from autograder.rubric import Item

CONSTANTS = ("pi", "e")


class FormOptions(Struct, frozen=True):
    """Item options about the form of an answer; each is for some values of ``form``."""

    must: tuple[str, ...] = ()
    """Forms that a right answer must be in, names of `autograder.formulas.forms.flaws.FORMS`."""
    present: tuple[str, ...] = field(name="with", default=())
    """Symbols and functions that a right answer must contain."""
    without: tuple[str, ...] = ()
    """Symbols and functions that a right answer must not contain."""
    form_points: Decimal = Decimal(0)
    """Points for an answer that is right, but not in the required form."""
    credit: Literal["all", "each"] = "all"
    """``each``: every element of a set or tuple earns an equal part; in a set, a wrong one deducts a part."""


def check_form_options(
    options: FormOptions, form: str, item: Item, vocabulary: Vocabulary, where: str
) -> None:
    """Refuse options that are not for the item's form, and unknown names.

    Raises:
        RubricError: names the place and the option.
    """
    if options.credit == "each" and form not in ("set", "tuple"):
        raise RubricError(f"belongs to sets and tuples, not to {form!r}", where, "credit")
    for name in options.must:
        _check_known(name, FORMS, extend_place(where, ": must", "must"))
    if {"sum", "product"} <= set(options.must):
        raise RubricError("'sum' and 'product' exclude each other", where, "must")
    names = (*vocabulary.names, *FUNCTIONS, *CONSTANTS)
    for key, listed in (("with", options.present), ("without", options.without)):
        for name in listed:
            _check_known(name, names, extend_place(where, f": {key}", key))
    both = {to_declared(name, vocabulary) for name in options.present} & {
        to_declared(name, vocabulary) for name in options.without
    }
    if both:
        raise RubricError(f"with and without: both name {', '.join(sorted(both))}", where)
    _check_points(options, item, where)


def _check_points(options: FormOptions, item: Item, where: str) -> None:
    if options.form_points and not (options.must or options.present or options.without):
        raise RubricError("nothing is asked of the form; use must, with or without", where, "form_points")
    # For items without positive points the bound is a cent, so that only 0 is allowed.
    check_points(options.form_points, max(item.points, CENT), where, "form_points")


def to_declared(name: str, vocabulary: Vocabulary) -> str:
    """Return a symbol's declared name for any of its spellings; the name of a function is unchanged."""
    return vocabulary.names.get(name, name)


def _check_known(name: str, names: Iterable[str], where: str) -> None:
    listed = list(names)
    if name not in listed:
        close = difflib.get_close_matches(name, listed, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"known are: {', '.join(sorted(listed))}"
        raise RubricError(f"unknown name {name!r}; {hint}", where)


Form = Literal["formula", "relation", "tuple", "set", "asymptotic"]


class FormulaMistake(Struct, frozen=True, forbid_unknown_fields=True):
    """A wrong answer with a name. The first match is reported."""

    code: str
    when: str | tuple[str, ...]
    """The wrong answer, in the item's form, or several. May use the names of earlier results."""
    text: dict[str, str]
    """The text for the student; must not give the right answer away."""
    points: Decimal = Decimal(0)
    """Partial credit, below the item's points."""
    assume: tuple[str, ...] | None = None
    """Relations under which ``when`` is compared; default: the item's own."""


class Remark(Struct, frozen=True, forbid_unknown_fields=True):
    """A right answer with a remark, e.g. "the assumption was used early". Full points."""

    code: str
    when: str
    text: dict[str, str]
    assume: tuple[str, ...] | None = None
    """Relations under which ``when`` is compared; default: the item's own."""


class OptionalTerms(Struct, frozen=True, forbid_unknown_fields=True):
    """Additional terms that a right formula may have, all of them or none."""

    terms: tuple[str, ...]
    text: dict[str, str]
    """The text for a student who has some of them without the others."""
    points: Decimal
    """Points for such an answer; below the item's points."""
    code: str = "mixed"


class FormulaItem(FormOptions, frozen=True, forbid_unknown_fields=True):
    """Options of one ``[[question.item]]``."""

    form: Form = "formula"
    answer: str = ""
    """The variable this item reads; default: the question's."""
    accept: tuple[str, ...] = ()
    """Right answers, in addition to the reference if the item reads the question's own variable."""
    assume: tuple[str, ...] = ()
    """Names of relations in ``assignment.assume``. An answer is right if it is right with or without them."""
    mistake: tuple[FormulaMistake, ...] = ()
    remark: tuple[Remark, ...] = ()
    optional: OptionalTerms | None = None
    follow: tuple[str, ...] = ()
    """The formula that follows from the student's own earlier results, in the names of ``follows``."""
    follow_points: Decimal | None = None
    """Points for it if an earlier result is wrong; default: the item's full points."""
    number_points: Decimal = Decimal(0)
    """Points for the right terms with one wrong coefficient, after results that are not wrong."""
    early_points: Decimal = Decimal(0)
    """Points for an answer that is right only under relations that the item does not grant."""
    slip_points: Decimal = Decimal(0)
    """Points for a chain of equations that begins or ends with a right side, but has unequal sides."""
    diagnosis_points: dict[str, Decimal] = {}
    """By the code of a diagnosis: points for a wrong answer that has it, and is no mistake in the rubric."""


class FormulaQuestion(Struct, frozen=True, forbid_unknown_fields=True):
    """Options of one ``[[question]]`` of kind ``formula``."""

    follows: dict[str, str] = {}
    """Name → ``"question.item"`` of an earlier formula, or ``"question.item[1]"``, an element of a tuple, or
    ``"question.item[d]"``, the value of the symbol ``d`` according to a wrong relation."""


class FormRule(Struct, frozen=True):
    """The required form of an answer, independent of whether the answer is right.

    Attributes:
        must: names of forms.
        present: symbols and functions that must occur.
        absent: symbols and functions that must not occur.
        points: for a right answer in another form.
    """

    must: tuple[str, ...]
    present: tuple[str, ...]
    absent: tuple[str, ...]
    points: Decimal

    def judge_form(self, answer: Tree, reading: str) -> Finding | None:
        """Return why a right answer does not earn all points; None if it does."""
        try:
            message = self.find_broken(answer)
        except Undecided as error:
            return results.make_review(
                f"read as {reading}; right, but its form: {error}", "formula.undecided"
            )
        if message is None:
            return None
        return Finding(Status.FAILED, message, f"read as {reading}; right, {message.code}", self.points)

    def find_broken(self, answer: Tree) -> Message | None:
        """Return the message about the first part in another form; None if there is none.

        Raises:
            Undecided: a formula is too large to be factored.
        """
        written = collect_names(answer)
        for name in self.absent:
            if name in written:
                return Message("form.without", {"name": name})
        for name in self.present:
            if name not in written:
                return Message("form.with", {"name": name})
        for part in _list_formulas(answer):
            for form in self.must:
                fault = find_flaw(part, form)
                if fault is not None:
                    return Message(f"form.{fault.code}", dict(fault.params))
        return None


def make_form_rule(options: FormOptions, vocabulary: Vocabulary) -> FormRule | None:
    """Return the rule in an item's options; None if they have none."""
    if not (options.must or options.present or options.without):
        return None
    return FormRule(
        options.must,
        tuple(to_declared(name, vocabulary) for name in options.present),
        tuple(to_declared(name, vocabulary) for name in options.without),
        options.form_points,
    )


def _list_formulas(answer: Tree) -> Iterator[Node]:
    """Yield the formulas that an answer consists of."""
    match answer:
        case Relation(left, right):
            yield left
            yield right
        case Tuple(elements):
            yield from elements
        case _:
            yield get_body(answer)
