"""What a rubric may state about an audit."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from autograder.checks.options import place, share
from autograder.errors import RubricError
from autograder.rubric import Item, Question


class Input(Struct, frozen=True, forbid_unknown_fields=True):
    """One input of the listing, which a counterexample supplies."""

    name: str
    type: Literal["numbers", "integers", "mask", "size"]
    """``size`` is a single whole number from 1."""
    axes: Annotated[int, Meta(ge=0, le=4)] = 0
    """How many axes it has; a mask may have fewer."""
    optional: bool = False


class AuditQuestion(Struct, frozen=True, forbid_unknown_fields=True):
    """Options of an ``audit`` question."""

    form: Literal["listing", "test"] = "listing"
    """``listing``: findings about a text, each with a counterexample; ``test``: a function that tells wrong
    classes from right ones."""
    verdict: str = "verdict"
    """The variable that says whether the listing is right."""
    remarks: str = "remarks"
    """The variable with places that deserve a word and are no faults."""
    inputs: tuple[Input, ...] = field(default=(), name="input")
    """What a counterexample returns, in order."""
    most: Annotated[int, Meta(ge=1, le=20)] = 5
    """So many findings are read."""
    most_remarks: Annotated[int, Meta(ge=1, le=20)] = 2
    """So many remarks may be made; with more, all components could be named."""


class AuditItem(Struct, frozen=True, forbid_unknown_fields=True):
    """Options of one item; which of them fit depends on the form of the question."""

    judges: Literal["verdict", "fault", "claims", "remark", "test"] = "test"
    about: str = ""
    """The id of a planted fault, or of a remark; default: the item's id."""
    groups: tuple[str, ...] = ()
    """Groups of wrong classes; default: all of them."""
    at_least: Decimal = Decimal(1)
    """The rate from which all points are given."""
    credit: Literal["all", "each"] = "all"
    """``all``: nothing below that rate; ``each``: points in proportion, rounded down to a hundredth."""


def check_form(question: Question, options: AuditQuestion, items: dict[str, AuditItem]) -> None:
    """Refuse options that do not fit the form of the question.

    Raises:
        RubricError: names question and item.
    """
    where = place(question)
    if not question.answer:
        raise RubricError("the name of the findings, or of the test, is missing", where, "answer")
    if not question.reference:
        raise RubricError("what the listing or the classes are is missing", where, "reference")
    if options.form == "listing" and not options.inputs:
        raise RubricError("what a counterexample returns is missing", where, "input")
    if len({one.name for one in options.inputs}) < len(options.inputs):
        raise RubricError("two inputs have the same name", where, "input")
    for item in question.items:
        if item.id in items:
            _check_item(item, items[item.id], options.form, place(question, item))


def _check_item(item: Item, options: AuditItem, form: str, where: str) -> None:
    if (options.judges == "test") != (form == "test"):
        fitting = "test" if form == "test" else "verdict, fault, claims or remark"
        raise RubricError(
            f"a question of the form {form!r} has {fitting}; got {options.judges!r}", where, "judges"
        )
    if options.about and options.judges not in ("fault", "remark"):
        raise RubricError(f"only faults and remarks have an id; judges is {options.judges!r}", where, "about")
    if not (options.at_least.is_finite() and 0 < options.at_least <= 1):
        raise RubricError(f"expected above 0 and at most 1, got {options.at_least}", where, "at_least")
    if item.points < 0 and options.credit == "each":
        raise RubricError("an item with negative points is lost whole", where, "credit")
    share(item.points, 1, where)
