"""What a rubric may say about symbolic questions and their items."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal

from msgspec import Struct, field

from autograder.kinds.general.symbolic.form_options import FormOptions

Form = Literal["formula", "relation", "tuple", "list", "set", "asymptotic"]


class Mistake(Struct, frozen=True, forbid_unknown_fields=True):
    """A wrong answer with a name. The first that fits is reported."""

    code: str
    when: str | tuple[str, ...]
    """The wrong answer, in the item's form, or several. May use the names of earlier results."""
    text: dict[str, str]
    """What the student reads; must not give the right answer away."""
    points: Decimal = Decimal(0)
    """Partial credit, below the item's points."""
    assume: tuple[str, ...] | None = None
    """Relations under which ``when`` is compared; default: the item's own."""


class Remark(Struct, frozen=True, forbid_unknown_fields=True):
    """A right answer that deserves a word, e.g. "the assumption was used early". Full points."""

    code: str
    when: str
    text: dict[str, str]
    assume: tuple[str, ...] | None = None
    """Relations under which ``when`` is compared; default: the item's own."""


class OptionalTerms(Struct, frozen=True, forbid_unknown_fields=True):
    """Terms that a right formula may have besides, all of them or none."""

    terms: tuple[str, ...]
    text: dict[str, str]
    """What the student reads who has some of them and not others."""
    points: Decimal
    """For that; below the item's points."""
    code: str = "mixed"


class Step(Struct, frozen=True, forbid_unknown_fields=True):
    """One step of a credit graph. The first step whose condition holds is taken."""

    id: str
    when: str | tuple[str, ...]
    """A condition, or several that must all hold; see `conditions`."""
    points: Decimal = Decimal(0)
    """Added when the step is taken."""
    text: dict[str, str] = {}
    """What the student reads when it is taken."""
    next: str = ""
    """The later step from which the search goes on; default: it ends here."""
    assume: tuple[str, ...] | None = None
    """Relations under which formulas in ``when`` are compared; default: the item's own."""


class CarryForward(Struct, frozen=True, forbid_unknown_fields=True):
    """A result that builds on an earlier one of the student's own."""

    source: str = field(name="from")
    """``"question.item"`` of an earlier symbolic item."""
    expect: str = ""
    """The right continuation; ``own`` stands for what the student found there. Not needed by steps."""
    points: Decimal | None = None
    """For a right continuation of a wrong result; default: the item's full points."""


class SymbolicItem(FormOptions, frozen=True, forbid_unknown_fields=True):
    """Options of one ``[[question.item]]``."""

    form: Form = "formula"
    answer: str = ""
    """The variable this item reads; default: the question's."""
    accept: tuple[str, ...] = ()
    """Right answers, besides the reference when the item reads the question's own variable."""
    assume: tuple[str, ...] = ()
    """Names of relations in ``assignment.assume``. Right is what is right with or without them."""
    mistake: tuple[Mistake, ...] = ()
    remark: tuple[Remark, ...] = ()
    optional: OptionalTerms | None = None
    follow: tuple[str, ...] = ()
    """What follows from the student's own earlier results, by the names of ``follows``."""
    follow_points: Decimal | None = None
    """For that, where an earlier result is wrong; default: the item's full points."""
    number_points: Decimal = Decimal(0)
    """For the right terms with one wrong number before one of them, after results that are not wrong."""
    early_points: Decimal = Decimal(0)
    """For what is right only under relations that the item does not grant."""
    step: tuple[Step, ...] = ()
    """A credit graph, in the place of mistakes and remarks."""


class SymbolicQuestion(Struct, frozen=True, forbid_unknown_fields=True):
    """Options of one ``[[question]]`` of kind ``symbolic``."""

    carry_forward: CarryForward | None = None
    """One earlier result, by the name ``own``, for the items that read the question's own variable."""
    follows: dict[str, str] = {}
    """Name → ``"question.item"`` of an earlier formula, or ``"question.item[1]"``, an element of a tuple,
    or ``"question.item[d]"``, what a wrong relation says of the symbol ``d``."""
