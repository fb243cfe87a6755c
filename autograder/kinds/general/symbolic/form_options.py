"""What a rubric may say about the form of an answer, about growth, and about lists and sets."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Literal

import msgspec
from msgspec import Struct, field

from autograder.algebra.forms.flaws import FORMS
from autograder.algebra.nodes import FUNCTIONS
from autograder.algebra.notation.vocabulary import Vocabulary
from autograder.checks.options import CENT, check_points
from autograder.errors import RubricError
from autograder.rubric import Item

CONSTANTS = ("pi", "e")
_CONTRARY = (("simplified", "not_simplified"), ("sum", "product"))


class FormOptions(Struct, frozen=True):
    """Item options about how an answer is written; each belongs to some values of ``form``."""

    must: tuple[str, ...] = ()
    """Forms that a right answer must be in, names of `autograder.algebra.forms.flaws.FORMS`."""
    present: tuple[str, ...] = field(name="with", default=())
    """Symbols and functions that a right answer must contain."""
    without: tuple[str, ...] = ()
    """Symbols and functions that a right answer must not contain."""
    form_points: Decimal = Decimal(0)
    """For an answer that is right, but not in the form asked for."""
    constants: Literal["ignore", "refuse"] = "ignore"
    """Constant factors in an asymptotic answer."""
    lower_order: Literal["ignore", "refuse"] = "ignore"
    """Terms of an asymptotic answer that other terms outgrow."""
    bound: Literal["tight", "upper"] = "tight"
    """``upper``: any true upper bound is right."""
    symbol: Literal["optional", "required", "exact"] = "optional"
    """Whether O, Θ, … must be written; ``exact``: the one of the key, so that Θ is refused for O."""
    credit: Literal["all", "each"] = "all"
    """``each``: every element of a list or set earns an equal part; one too many takes a part away."""
    duplicates: Literal["ignore", "refuse"] = "ignore"
    """An element that stands twice in a set."""


_OWN: Mapping[str, frozenset[str]] = {
    "constants": frozenset(("asymptotic",)),
    "lower_order": frozenset(("asymptotic",)),
    "bound": frozenset(("asymptotic",)),
    "symbol": frozenset(("asymptotic",)),
    "credit": frozenset(("list", "set")),
    "duplicates": frozenset(("set",)),
}
"""Option → the forms it belongs to."""


def check_form_options(
    options: FormOptions, form: str, item: Item, vocabulary: Vocabulary, where: str
) -> None:
    """Refuse options that do not belong to the item's form, and names that are not known.

    Raises:
        RubricError: names the place and the option.
    """
    for entry in msgspec.structs.fields(FormOptions):
        forms = _OWN.get(entry.name)
        if forms and form not in forms and getattr(options, entry.name) != entry.default:
            wanted = " or ".join(f'form = "{name}"' for name in sorted(forms))
            raise RubricError(f"{where}: {entry.encode_name}: belongs to {wanted}, not to {form!r}")
    for name in options.must:
        _known(name, FORMS, f"{where}: must")
    for first, second in _CONTRARY:
        if first in options.must and second in options.must:
            raise RubricError(f"{where}: must: {first!r} and {second!r} exclude each other")
    names = (*vocabulary.names, *FUNCTIONS, *CONSTANTS)
    for key, listed in (("with", options.present), ("without", options.without)):
        for name in listed:
            _known(name, names, f"{where}: {key}")
    both = {plain(name, vocabulary) for name in options.present} & {
        plain(name, vocabulary) for name in options.without
    }
    if both:
        raise RubricError(f"{where}: with and without: both name {', '.join(sorted(both))}")
    _check_points(options, item, where)


def _check_points(options: FormOptions, item: Item, where: str) -> None:
    asks = options.must or options.present or options.without
    refuses = "refuse" in (options.constants, options.lower_order) or options.symbol == "required"
    if options.form_points and not (asks or refuses):
        raise RubricError(f"{where}: form_points: nothing is asked of the form; use must, with or without")
    check_points(options.form_points, max(item.points, CENT), f"{where}: form_points")


def plain(name: str, vocabulary: Vocabulary) -> str:
    """A symbol's declared name for any of its spellings; the name of a function itself."""
    return vocabulary.names.get(name, name)


def _known(name: str, known: Iterable[str], where: str) -> None:
    listed = list(known)
    if name not in listed:
        close = difflib.get_close_matches(name, listed, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"known are: {', '.join(sorted(listed))}"
        raise RubricError(f"{where}: unknown name {name!r}; {hint}")
