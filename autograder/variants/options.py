"""Options for variants in a rubric: the tables ``[variant]`` and ``[variant.draw.<name>]``."""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from autograder.errors import Place, RubricError, inside
from autograder.tables import check_known_keys, convert, field_names, hint
from autograder.variants import expressions
from autograder.variants.expressions import ExpressionError, Value, has_placeholder

MOST_VALUES = 10_000
"""Largest distance between the ends of a span."""
REFERENCE = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)(?::([A-Za-z_]\w*))?")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Span(Struct, frozen=True, forbid_unknown_fields=True):
    """Whole numbers from ``from`` to ``to``, both included."""

    first: int = msgspec.field(name="from")
    last: int = msgspec.field(name="to")
    step: int = 1


class Integers(Struct, frozen=True, forbid_unknown_fields=True):
    """A whole number drawn from a list or a span."""

    integers: tuple[int, ...] | Span
    common: int
    """The value in the common variant."""

    @property
    def values(self) -> tuple[int, ...]:
        """All values that can be drawn."""
        if isinstance(self.integers, Span):
            return tuple(range(self.integers.first, self.integers.last + 1, max(self.integers.step, 1)))
        return self.integers


class Choices(Struct, frozen=True, forbid_unknown_fields=True):
    """A word drawn from a list."""

    choices: tuple[str, ...]
    common: str

    @property
    def values(self) -> tuple[str, ...]:
        """All values that can be drawn."""
        return self.choices


class Computed(Struct, frozen=True, forbid_unknown_fields=True):
    """The result of a reference function for drawn values."""

    reference: str
    """``module:function`` in the course's reference folder."""
    arguments: tuple[str, ...]
    """Names of drawn values."""
    common: int | str


class Planted(Struct, frozen=True, forbid_unknown_fields=True):
    """Some of the faults that the checks of a ``repair`` question plant."""

    faults: str
    """The id of the question. Its automatic items are the faults of the common variant; the same number is
    drawn."""


Drawn = Integers | Choices
Entry = Drawn | Computed | Planted

_FORMS: Mapping[str, type[Entry]] = {
    "integers": Integers,
    "choices": Choices,
    "reference": Computed,
    "faults": Planted,
}


class Draws(Struct, frozen=True):
    """All draws for a student, validated."""

    drawn: Mapping[str, Drawn]
    computed: Mapping[str, Computed]
    planted: Mapping[str, Planted]
    where: tuple[str, ...] = ()
    """Conditions on drawn values; a draw that violates one is repeated."""

    @property
    def common(self) -> dict[str, Value]:
        """The values of the common variant."""
        return {name: entry.common for name, entry in (*self.drawn.items(), *self.computed.items())}

    def draws_faults_of(self, question: str) -> bool:
        """Return whether the faults of a question are drawn."""
        return any(planted.faults == question for planted in self.planted.values())

    def conditions(self) -> tuple[ast.expr, ...]:
        """Return the parsed conditions."""
        return tuple(expressions.parsed(condition) for condition in self.where)


class _VariantTable(Struct, frozen=True, forbid_unknown_fields=True):
    draw: dict[str, dict[str, Any]]
    where: tuple[str, ...] = ()


def read(table: Mapping[str, Any], place: str) -> Draws:
    """Read and validate the table ``[variant]`` of a rubric.

    Raises:
        RubricError: a key is unknown or missing, a value has the wrong type or cannot be drawn, or a
            condition is invalid or does not hold for the common variant; names the place.
    """
    options = convert(table, _VariantTable, inside(place, ": [variant]", "variant"))
    entries: dict[str, Entry] = {}
    for name, entry in options.draw.items():
        where = inside(place, f": [variant.draw.{name}]", "variant", "draw", name)
        if not _NAME.fullmatch(name) or keyword.iskeyword(name):
            raise RubricError("expected a name of letters, digits and '_'", where)
        entries[name] = _entry(entry, where)
    draws = Draws(
        drawn={name: entry for name, entry in entries.items() if isinstance(entry, Integers | Choices)},
        computed={name: entry for name, entry in entries.items() if isinstance(entry, Computed)},
        planted={name: entry for name, entry in entries.items() if isinstance(entry, Planted)},
        where=options.where,
    )
    for flaw, where in _flaws(draws):
        raise RubricError(f"{flaw}", where)
    return draws


def _entry(table: Mapping[str, Any], place: str) -> Entry:
    # The kind of an entry follows from the key that it has.
    form = next((form for key, form in _FORMS.items() if key in table), None)
    if form is None:
        keys = {key for form in _FORMS.values() for key in field_names(form)}
        check_known_keys(table, keys, place)
        raise RubricError(f"nothing says what is drawn; expected one of {', '.join(_FORMS)}", place)
    if isinstance(table.get("integers"), dict):
        # Checked separately, to suggest the key that was meant.
        check_known_keys(table["integers"], field_names(Span), inside(place, ": integers", "integers"))
    return convert(table, form, place)


def _drawn_at(name: str) -> Place:
    return Place(f"[variant.draw.{name}]", "variant", "draw", name)


def _flaws(draws: Draws) -> Iterator[tuple[str, Place]]:
    """Yield the errors in entries of the right types, each with its place."""
    for name, drawn in draws.drawn.items():
        yield from _flaws_of_drawn(drawn, _drawn_at(name))
    for name, computed in draws.computed.items():
        place = _drawn_at(name)
        found = REFERENCE.fullmatch(computed.reference)
        if not found or not found[2]:
            yield (
                f"{place}: reference: expected 'module:function', got {computed.reference!r}",
                place.at("", "reference"),
            )
        for argument in computed.arguments:
            if argument not in draws.drawn:
                yield (
                    f"{place}: arguments: {argument!r} is not drawn; {hint(argument, draws.drawn)}",
                    place.at("", "arguments"),
                )
    yield from _flaws_of_conditions(draws)


def _flaws_of_drawn(drawn: Drawn, place: Place) -> Iterator[tuple[str, Place]]:
    if isinstance(drawn, Integers) and isinstance(drawn.integers, Span):
        span = drawn.integers
        if span.step < 1 or not 0 <= span.last - span.first <= MOST_VALUES:
            yield (
                f"{place}: integers: expected from, to and a step from 1, at most {MOST_VALUES} apart",
                place.at("", "integers"),
            )
            return
    if len(set(drawn.values)) < max(2, len(drawn.values)):
        yield f"{place}: expected two different values at least, and each one once", place
    if drawn.common not in drawn.values:
        yield (
            f"{place}: common: {drawn.common!r} is none of the values that can be drawn",
            place.at("", "common"),
        )
    for value in drawn.values:
        if isinstance(value, str) and (has_placeholder(value) or value != value.strip() or not value):
            yield (
                f"{place}: choices: {value!r}: a word holds no placeholder and no blanks at its ends",
                place.at("", "choices"),
            )


def _flaws_of_conditions(draws: Draws) -> Iterator[tuple[str, Place]]:
    # Conditions refer to drawn values only; computed ones depend on the result of the draw.
    common = {name: drawn.common for name, drawn in draws.drawn.items()}
    for number, condition in enumerate(draws.where):
        where = Place("[variant] where", "variant", "where", number)
        try:
            if not expressions.holds(expressions.parsed(condition), common):
                yield f"[variant] where: {condition!r} does not hold for the common variant", where
        except ExpressionError as error:
            yield f"[variant] where: {error}", where
