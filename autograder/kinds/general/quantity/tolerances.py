"""The option ``tolerance`` of quantities, as a rubric states it."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

from msgspec import Struct

from autograder.algebra.sizes.quantities import of_number, read_quantity
from autograder.algebra.sizes.tolerance import Tolerance
from autograder.algebra.sizes.units import Unit, only_unit
from autograder.errors import RubricError, Unreadable
from autograder.rubric import convert

MOST_DIGITS = 15


class ToleranceTable(Struct, frozen=True, forbid_unknown_fields=True):
    """``tolerance = { relative = "1%" }``, ``{ absolute = "0.5 MB" }`` or ``{ digits = 3 }``: one of them."""

    relative: Any = None
    absolute: Any = None
    digits: int = 0


def read_tolerance(stated: Any, asked: Unit, where: str) -> Tolerance:
    """The tolerance that a rubric states.

    Raises:
        RubricError: it is none, or has not exactly one entry.
    """
    where = f"{where}: tolerance"
    if stated == "exact":
        return Tolerance()
    if not isinstance(stated, dict):
        raise RubricError(
            f'{where}: expected "exact" or a table such as {{ relative = "1%" }}, got {stated!r}'
        )
    table = convert(stated, ToleranceTable, where)
    if len(stated) != 1:
        raise RubricError(f"{where}: expected one of relative, absolute and digits, got {len(stated)}")
    if "digits" in stated:
        if not 1 <= table.digits <= MOST_DIGITS:
            raise RubricError(f"{where}: digits: expected from 1 to {MOST_DIGITS}, got {table.digits}")
        return Tolerance(digits=table.digits)
    if "relative" in stated:
        relative = _amount(table.relative, only_unit(""), f"{where}: relative")
        if relative >= 1:
            raise RubricError(f'{where}: relative: expected less than 1, or a text such as "1%"')
        return Tolerance(relative=relative)
    return Tolerance(absolute=_amount(table.absolute, asked, f"{where}: absolute"))


def _amount(stated: Any, asked: Unit, where: str) -> Fraction:
    """A positive amount in a rubric, in base quantities.

    Raises:
        RubricError: it is none.
    """
    try:
        if isinstance(stated, str):
            written = read_quantity(stated, asked, "point")
            found = written.readings[0]
        elif isinstance(stated, int | Decimal) and not isinstance(stated, bool):
            found = of_number(stated, asked)
        else:
            raise RubricError(f"{where}: expected a number or a text, got {stated!r}")
    except Unreadable as error:
        raise RubricError(f"{where}: {stated!r} cannot be read: {error.code}") from error
    if found.dimension != asked.dimension or found.amount <= 0:
        raise RubricError(
            f"{where}: expected a positive amount of {asked.text or 'a number'}, got {stated!r}"
        )
    return found.amount
