"""The kind ``quantity``: a number with a unit, exact or within a stated tolerance."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar, Literal

from msgspec import Struct
from msgspec.structs import replace

from autograder.checks.base import AcceptedResult, Evidence
from autograder.checks.compared import ComparedCheck
from autograder.checks.judging.results import Finding, failed, no_answer, unread
from autograder.checks.kind import Kind
from autograder.checks.options import AnswerItem, ComparedOptions, place
from autograder.checks.planning.targets import ValueTarget, nothing_written
from autograder.checks.values.arrays import numbers
from autograder.checks.values.quoting import quote, type_name
from autograder.errors import RubricError, inside
from autograder.formulas import Unreadable
from autograder.kinds.general.quantity.quantities import (
    DecimalMark,
    Quantity,
    ReadQuantity,
    of_number,
    read_quantity,
    write_quantity,
)
from autograder.kinds.general.quantity.tolerance import (
    DIFFERENCES,
    Tolerance,
    can_differ,
    difference,
    right_in_some_unit,
)
from autograder.kinds.general.quantity.units import Unit, only_unit
from autograder.records import Message, Opaque, Status
from autograder.rubric import Item, Question, Rubric
from autograder.tables import convert

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
    where = inside(where, ": tolerance", "tolerance")
    if stated == "exact":
        return Tolerance()
    if not isinstance(stated, dict):
        raise RubricError(f'expected "exact" or a table such as {{ relative = "1%" }}, got {stated!r}', where)
    table = convert(stated, ToleranceTable, where)
    if len(stated) != 1:
        raise RubricError(f"expected one of relative, absolute and digits, got {len(stated)}", where)
    if "digits" in stated:
        if not 1 <= table.digits <= MOST_DIGITS:
            raise RubricError(f"expected from 1 to {MOST_DIGITS}, got {table.digits}", where, "digits")
        return Tolerance(digits=table.digits)
    if "relative" in stated:
        relative = _amount(table.relative, only_unit(""), inside(where, ": relative", "relative"))
        if relative >= 1:
            raise RubricError('expected less than 1, or a text such as "1%"', where, "relative")
        return Tolerance(relative=relative)
    return Tolerance(absolute=_amount(table.absolute, asked, inside(where, ": absolute", "absolute")))


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
            raise RubricError(f"expected a number or a text, got {stated!r}", where)
    except Unreadable as error:
        raise RubricError(f"{stated!r} cannot be read: {error.code}", where) from error
    if found.dimension != asked.dimension or found.amount <= 0:
        raise RubricError(f"expected a positive amount of {asked.text or 'a number'}, got {stated!r}", where)
    return found.amount


Units = Literal["required", "optional", "forbidden"]

_OTHER_UNITS = ("B", "KiB", "MB", "FLOP", "TFLOP", "min", "million parameters", "tokens")
"""Units that trials are written in."""

_UNREADABLE = {"number-too-large": "quantity.too-large"}
"""Codes of readers whose sentence has another name."""
_POLICY = ("unit-missing", "unit-forbidden")


class QuantityQuestion(ComparedOptions, frozen=True):
    """Options of a ``quantity`` question; each item may have its own instead."""

    unit: str | None = None
    """What is asked for; a number alone counts in it. Empty: a number without a unit."""
    units: Units = "optional"
    """Whether the answer must, may or must not have a unit."""
    tolerance: Any = "exact"
    """``"exact"``, or a table with ``relative``, ``absolute`` or ``digits``."""
    decimal: DecimalMark = "either"
    """Which mark stands before decimals; with ``"either"``, an open case is asked back."""


class QuantityItem(AnswerItem, frozen=True):
    """Options of an item of a ``quantity`` question."""

    value: Any = None
    """What is right: a number in ``unit``, or a text with its own unit; without it the reference is asked."""
    accept: tuple[Any, ...] = ()
    """Further right values."""
    unit: str | None = None
    units: Units | None = None
    tolerance: Any = None
    decimal: DecimalMark | None = None


class _Rules(Struct, frozen=True):
    """What holds for one item."""

    asked: Unit
    units: Units
    tolerance: Tolerance
    decimal: DecimalMark


class QuantityCheck(ComparedCheck[QuantityQuestion, QuantityItem]):
    """Numbers with units from a variable, a text, or calls."""

    kind: ClassVar[str] = "quantity"
    vague: ClassVar[frozenset[str]] = frozenset({"quantity.wrong", "quantity.dimension"})
    form_only: ClassVar[frozenset[str]] = frozenset({"quantity.unit-missing", "quantity.unit-forbidden"})
    question_type = QuantityQuestion
    item_type = QuantityItem

    def __init__(self, question: Question, rubric: Rubric) -> None:
        """Validate the options; see `autograder.checks.base.Check`."""
        self._rules: dict[str, _Rules] = {}
        super().__init__(question, rubric)

    def read(self, value: Any, item: Item, target: ValueTarget) -> tuple[Any, Finding | None]:
        """Every quantity that an answer may stand for."""
        rules = self._rules[item.id]
        if isinstance(value, list | tuple) and len(value) == 1:  # a comma at the end of the line
            value = value[0]
        if nothing_written(value):
            return None, no_answer()
        shown = type_name(value)
        try:
            if isinstance(value, bool):
                return None, failed("quantity.bool", what=target.what, value=str(value))
            if isinstance(value, Opaque) and value.type_name == "int":  # too large for the wire
                return None, failed("quantity.too-large", what=target.what)
            text, mark = _text_of(value, rules.decimal)
            if text is not None:
                shown = quote(text)
                return read_quantity(text, rules.asked, mark), None
            number = _number_of(value)
            if number is not None:
                return ReadQuantity((of_number(number, rules.asked),)), None
        except Unreadable as error:
            return None, _unreadable(error, shown, target)
        code = "quantity.comma" if _decimal_comma(value) else "quantity.form"
        message = Message(code, {"what": target.what, "form": shown})
        return None, unread(message, f"{target.what}: {shown}")

    def read_right(self, value: Any, item: Item, target: ValueTarget) -> tuple[Any, Finding | None]:
        """What is right has one meaning."""
        if isinstance(value, Decimal | Fraction):
            try:
                return ReadQuantity((of_number(value, self._rules[item.id].asked),)), None
            except Unreadable as error:
                return None, _unreadable(error, type_name(value), target)
        written, finding = self.read(value, item, target)
        if finding is None and not written.settled:
            return None, failed("quantity.ambiguous", f"{target.what}: {value!r} has two readings")
        if finding is None and written.readings[0].dimension != self._rules[item.id].asked.dimension:
            return None, failed("quantity.dimension", f"{target.what}: {value!r} measures something else")
        return written, finding

    def differs(self, given: Any, right: Any, item: Item, target: ValueTarget) -> Finding | None:
        """In words that never tell the right number."""
        rules, wanted = self._rules[item.id], right.readings[0]
        codes = [_difference(reading, wanted, rules) for reading in given.readings]
        first = given.readings[0]
        read = [write_quantity(reading) for reading in given.readings]
        params = {"what": target.what, "value": read[0]}
        staff = f"{target.what}: read as {' or '.join(read)}, expected {write_quantity(wanted)}"
        if codes[0] == "" and (given.settled or not any(codes)):
            return None
        if "" in codes or not given.settled:
            params = {"what": target.what, "value": quote(given.text), "first": read[0], "second": read[1]}
            status = Status.NEEDS_REVIEW if "" in codes else Status.FAILED
            return Finding(status, Message("quantity.ambiguous", params), staff)
        return failed(f"quantity.{codes[0]}", staff, **params, number=write_quantity(replace(first, unit="")))

    def accepted_results(self, evidence: Evidence) -> tuple[AcceptedResult, ...]:
        """Compare zero and one, in the unit that is asked for, with what is right."""
        found = []
        for item, options in self.automatic:
            rules = self._rules[item.id]
            target, right_value = ValueTarget(""), self.right_value(item, options, evidence)
            right, _ = self.read_right(right_value.value, item, target)
            if right_value.finding is not None or right is None:
                continue
            for name, number in (("zeros", Fraction(0)), ("ones", Fraction(1))):
                given, _ = self.read(self._written(number, rules), item, target)
                is_accepted = given is not None and self.differs(given, right, item, target) is None
                if is_accepted and right.readings[0].amount != number * rules.asked.factor:
                    found.append(AcceptedResult(item.id, name))
        return tuple(found)

    def combined(self, parts: Sequence[tuple[int, Any]]) -> Any:
        """Quantities of one dimension that can be read in one way only, and are not negative, add up."""
        first = parts[0][1].readings[0]
        amount = Fraction(0)
        for factor, written in parts:
            one = written.readings[0]
            if not written.settled or one.dimension != first.dimension or one.amount < 0:
                return None
            amount += factor * one.amount
        return ReadQuantity((replace(first, number=amount / first.factor),))

    def as_answer(self, value: Any, item: Item) -> Any:
        """With its unit, where one is required."""
        rules, written = self._rules[item.id], super().as_answer(value, item)
        bare = not isinstance(written, str) and rules.units == "required"
        return (written, rules.asked.text) if bare else written

    def wrong_values(self, right: Any, item: Item) -> Iterator[tuple[str, Any]]:
        """More than twice as much, the other sign, and the same number of something else."""
        rules, amount = self._rules[item.id], right.readings[0].amount
        number = amount / rules.asked.factor
        yield "more than twice as much", self._written(2 * number + 1, rules)
        yield "the other sign", self._written(-number - 1, rules)
        for name in _OTHER_UNITS:
            other = only_unit(name)
            if (other.dimension, other.factor) != (rules.asked.dimension, rules.asked.factor):
                yield f"so many {name}", (_plain(number), name)
        if rules.units == "required":
            yield "without its unit", _plain(number)

    def other_spellings(self, right: Any, item: Item) -> Iterator[tuple[str, Any]]:
        """In another unit of the same."""
        rules, quantity = self._rules[item.id], right.readings[0]
        for name in _OTHER_UNITS if rules.units != "forbidden" else ():
            other = only_unit(name)
            if other.dimension == rules.asked.dimension:
                yield f"in {name}", (_plain(quantity.amount / other.factor), name)

    @staticmethod
    def _written(number: Fraction, rules: _Rules) -> object:
        bare = rules.units == "forbidden" or not rules.asked.text
        return _plain(number) if bare else (_plain(number), rules.asked.text)

    def reading(self, given: Any) -> str:
        """The quantity, where there is no doubt about it."""
        return write_quantity(given.readings[0]) if len(given.readings) == 1 else ""

    def diagnoses(self, item: Item) -> frozenset[str]:
        """What an answer to this item may have wrong."""
        rules = self._rules[item.id]
        policy = {"required": _POLICY[:1], "forbidden": _POLICY[1:], "optional": ()}[rules.units]
        return frozenset((*policy, *(one for one in DIFFERENCES if can_differ(one, rules.asked.dimension))))

    def _check(self, item: Item, options: QuantityItem) -> None:
        where = place(self.question, item)
        own = self.options
        asked = _asked(own.unit if options.unit is None else options.unit, options.value, where)
        tolerance = own.tolerance if options.tolerance is None else options.tolerance
        units = options.units or own.units
        if units == "required" and not asked.text:
            raise RubricError("a unit is required, but none is named; state unit = …", where, "units")
        self._rules[item.id] = _Rules(
            asked, units, read_tolerance(tolerance, asked, where), options.decimal or own.decimal
        )
        super()._check(item, options)


def _plain(number: Fraction) -> int | float:
    return int(number) if number.denominator == 1 else float(number)


def _difference(given: Quantity, right: Quantity, rules: _Rules) -> str:
    """How an answer differs, with what is required of its unit; empty when it is right."""
    if rules.units == "required" and not given.has_unit and right_in_some_unit(given, right, rules.tolerance):
        return "unit-missing"
    code = difference(given, right, rules.tolerance)
    return "unit-forbidden" if not code and rules.units == "forbidden" and given.has_unit else code


def _text_of(value: Any, mark: DecimalMark) -> tuple[str | None, DecimalMark]:
    """The text of an answer that is one: a text, an expression, or a number and a unit side by side."""
    if isinstance(value, str):
        return value, mark
    if isinstance(value, Opaque) and value.text:
        return value.text, "point"
    if isinstance(value, list | tuple) and len(value) == 2 and isinstance(value[1], str):
        number, unit = value
        if isinstance(number, str):
            return f"{number} {unit}", mark
        if isinstance(number, int | float) and not isinstance(number, bool):
            of_number(number, only_unit(""))  # within bounds, so that it can be written
            return f"{number!r} {unit}", "point"
    return None, mark


def _decimal_comma(value: Any) -> bool:
    """Whether it is ``497,76`` in Python: a pair of integers."""
    return isinstance(value, tuple) and [type(part) for part in value] == [int, int]


def _number_of(value: Any) -> int | float | None:
    """A number as the wire brings it; also an array of one."""
    if isinstance(value, int | float):
        return value
    array = None if isinstance(value, list | tuple) else numbers(value)
    if array is not None and array.array.size == 1 and array.kind in ("int", "float"):
        number = array.array.reshape(()).item()
        return number if isinstance(number, int | float) else None
    return None


def _unreadable(error: Unreadable, shown: str, target: ValueTarget) -> Finding:
    code = _UNREADABLE.get(error.code, f"quantity.{error.code}")
    if error.code == "unknown-unit" and error.params["suggestion"]:
        code = "quantity.unknown-unit-near"
    params = {name: quote(text, 60) for name, text in error.params.items() if name != "text"}
    message = Message(code, {"value": shown, **params, "what": target.what})
    return unread(message, f"{target.what}: {shown}: {error.code}")


def _explained(error: Unreadable) -> str:
    """An unreadable unit of a rubric, in words."""
    name = error.params.get("name", "")
    if error.code == "two-units":
        return f"{name!r} may be {error.params['first']} or {error.params['second']}; write one of these"
    hint = error.params.get("suggestion")
    return f"no unit {name!r}" + (f"; did you mean {hint!r}?" if hint else "")


def _asked(unit: str | None, value: Any, where: str) -> Unit:
    """The unit that is asked for: as the rubric says, or that of the right value.

    Raises:
        RubricError: there is none, it is not known, or it has two meanings.
    """
    if unit is None and isinstance(value, str):
        with contextlib.suppress(Unreadable):
            readings = read_quantity(value, only_unit(""), "point").readings
            if len(readings) == 1 and readings[0].has_unit:
                return Unit(readings[0].unit, readings[0].factor, readings[0].dimension)
    if unit is None:
        raise RubricError('what is asked for? State it; unit = "" is a number without a unit', where, "unit")
    try:
        return only_unit(unit)
    except Unreadable as error:
        raise RubricError(f"{_explained(error)}", where, "unit") from error


KIND = Kind(QuantityCheck, form="quantity")
