"""Options for variants in a rubric: the tables ``[variant]`` and ``[variant.draw.<name>]``."""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from autograder.core.errors import Place, RubricError, extend_place
from autograder.core.tables import check_known_keys, convert_table, list_field_names, suggest_name
from autograder.rubric.variants import expressions
from autograder.rubric.variants.expressions import ExpressionError, Value, has_placeholder

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


class ComputedValue(Struct, frozen=True, forbid_unknown_fields=True):
    """The result of a reference function for drawn values."""

    reference: str
    """``module:function`` in the course's reference folder."""
    arguments: tuple[str, ...]
    """Names of drawn values."""
    common: int | str


class PlantedFaults(Struct, frozen=True, forbid_unknown_fields=True):
    """Some of the faults that the checks of a ``repair`` question plant."""

    faults: str
    """The id of the question. Its automatic items are the faults of the common variant; the same number is
    drawn."""


Drawn = Integers | Choices
Entry = Drawn | ComputedValue | PlantedFaults

_FORMS: Mapping[str, type[Entry]] = {
    "integers": Integers,
    "choices": Choices,
    "reference": ComputedValue,
    "faults": PlantedFaults,
}


class Draws(Struct, frozen=True):
    """All draws for a student, validated."""

    drawn: Mapping[str, Drawn]
    computed: Mapping[str, ComputedValue]
    planted: Mapping[str, PlantedFaults]
    where: tuple[str, ...] = ()
    """Conditions on drawn values; a draw that violates one is repeated."""

    @property
    def common(self) -> dict[str, Value]:
        """The values of the common variant."""
        return {name: entry.common for name, entry in (*self.drawn.items(), *self.computed.items())}

    def has_drawn_faults(self, question: str) -> bool:
        """Return whether the faults of a question are drawn."""
        return any(planted.faults == question for planted in self.planted.values())

    def parse_conditions(self) -> tuple[ast.expr, ...]:
        """Return the parsed conditions."""
        return tuple(expressions.parse_expression(condition) for condition in self.where)


class _VariantTable(Struct, frozen=True, forbid_unknown_fields=True):
    draw: dict[str, dict[str, Any]]
    where: tuple[str, ...] = ()


def read_draws(table: Mapping[str, Any], place: str) -> Draws:
    """Read and validate the table ``[variant]`` of a rubric.

    Raises:
        RubricError: a key is unknown or missing, a value has the wrong type or cannot be drawn, or a
            condition is invalid or does not hold for the common variant; names the place.
    """
    options = convert_table(table, _VariantTable, extend_place(place, ": [variant]", "variant"))
    entries: dict[str, Entry] = {}
    for name, entry in options.draw.items():
        where = extend_place(place, f": [variant.draw.{name}]", "variant", "draw", name)
        if not _NAME.fullmatch(name) or keyword.iskeyword(name):
            raise RubricError("expected a name of letters, digits and '_'", where)
        entries[name] = _read_entry(entry, where)
    draws = Draws(
        drawn={name: entry for name, entry in entries.items() if isinstance(entry, Integers | Choices)},
        computed={name: entry for name, entry in entries.items() if isinstance(entry, ComputedValue)},
        planted={name: entry for name, entry in entries.items() if isinstance(entry, PlantedFaults)},
        where=options.where,
    )
    for flaw, where in _find_flaws(draws):
        raise RubricError(f"{flaw}", where)
    return draws


def _read_entry(table: Mapping[str, Any], place: str) -> Entry:
    # The kind of an entry follows from the key that it has.
    form = next((form for key, form in _FORMS.items() if key in table), None)
    if form is None:
        keys = {key for form in _FORMS.values() for key in list_field_names(form)}
        check_known_keys(table, keys, place)
        raise RubricError(f"nothing says what is drawn; expected one of {', '.join(_FORMS)}", place)
    if isinstance(table.get("integers"), dict):
        # Checked separately, to suggest the key that was meant.
        check_known_keys(
            table["integers"], list_field_names(Span), extend_place(place, ": integers", "integers")
        )
    return convert_table(table, form, place)


def _make_place(name: str) -> Place:
    return Place(f"[variant.draw.{name}]", "variant", "draw", name)


def _find_flaws(draws: Draws) -> Iterator[tuple[str, Place]]:
    """Yield the errors in entries of the right types, each with its place."""
    for name, drawn in draws.drawn.items():
        yield from _find_drawn_flaws(drawn, _make_place(name))
    for name, computed in draws.computed.items():
        place = _make_place(name)
        match = REFERENCE.fullmatch(computed.reference)
        if not match or not match[2]:
            yield (
                f"{place}: reference: expected 'module:function', got {computed.reference!r}",
                place.extend("", "reference"),
            )
        for argument in computed.arguments:
            if argument not in draws.drawn:
                yield (
                    f"{place}: arguments: {argument!r} is not drawn; {suggest_name(argument, draws.drawn)}",
                    place.extend("", "arguments"),
                )
    yield from _find_condition_flaws(draws)


def _find_drawn_flaws(drawn: Drawn, place: Place) -> Iterator[tuple[str, Place]]:
    if isinstance(drawn, Integers) and isinstance(drawn.integers, Span):
        span = drawn.integers
        if span.step < 1 or not 0 <= span.last - span.first <= MOST_VALUES:
            yield (
                f"{place}: integers: expected from, to and a step from 1, at most {MOST_VALUES} apart",
                place.extend("", "integers"),
            )
            return
    if len(set(drawn.values)) < max(2, len(drawn.values)):
        yield f"{place}: expected two different values at least, and each one once", place
    if drawn.common not in drawn.values:
        yield (
            f"{place}: common: {drawn.common!r} is none of the values that can be drawn",
            place.extend("", "common"),
        )
    for value in drawn.values:
        if isinstance(value, str) and (has_placeholder(value) or value != value.strip() or not value):
            yield (
                f"{place}: choices: {value!r}: a word holds no placeholder and no blanks at its ends",
                place.extend("", "choices"),
            )


def _find_condition_flaws(draws: Draws) -> Iterator[tuple[str, Place]]:
    # Conditions refer to drawn values only; computed ones depend on the result of the draw.
    common = {name: drawn.common for name, drawn in draws.drawn.items()}
    for index, condition in enumerate(draws.where):
        where = Place("[variant] where", "variant", "where", index)
        try:
            if not expressions.is_satisfied(expressions.parse_expression(condition), common):
                yield f"[variant] where: {condition!r} does not hold for the common variant", where
        except ExpressionError as error:
            yield f"[variant] where: {error}", where
