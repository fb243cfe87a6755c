"""The kind ``number``: a number with or without a unit, exact or within a tolerance."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar, Literal

from msgspec import Struct
from msgspec.structs import replace

from autograder.core.errors import RubricError, extend_place
from autograder.core.records import Message, OpaqueValue, Status
from autograder.core.tables import convert_table
from autograder.formulas import Unreadable
from autograder.messages.parse_errors import describe_unreadable_number
from autograder.questions.base.compared import ComparedCheck
from autograder.questions.base.judging.results import Finding, make_failure, make_no_answer, make_unreadable
from autograder.questions.base.kind import Kind
from autograder.questions.base.options import AnswerItem, ComparedOptions, locate_question
from autograder.questions.base.planning.targets import is_unwritten_value
from autograder.questions.base.values.arrays import read_scalar
from autograder.questions.base.values.quoting import describe_type, quote_text
from autograder.questions.numbers.answers import read_number
from autograder.questions.numbers.quantities import (
    DecimalMark,
    Quantity,
    ReadQuantity,
    from_number,
    keep_whole,
    read_quantity,
    write_quantity,
)
from autograder.questions.numbers.tolerance import (
    DIFFERENCES,
    Tolerance,
    can_differ,
    find_difference,
    is_right_in_some_unit,
    is_within_tolerance,
)
from autograder.questions.numbers.units import Unit, read_single_unit
from autograder.rubric import Item, Question, Rubric

MOST_DIGITS = 15


class ToleranceTable(Struct, frozen=True, forbid_unknown_fields=True):
    """``tolerance = { relative = "1%" }``, ``{ absolute = "0.5 MB" }`` or ``{ digits = 3 }``: one of them."""

    relative: Any = None
    absolute: Any = None
    digits: int = 0


def read_tolerance(option: Any, unit: Unit, where: str) -> Tolerance:
    """Return the tolerance of a rubric.

    Raises:
        RubricError: it is invalid, or has not exactly one entry.
    """
    where = extend_place(where, ": tolerance", "tolerance")
    if option == "exact":
        return Tolerance()
    if not isinstance(option, dict):
        raise RubricError(f'expected "exact" or a table such as {{ relative = "1%" }}, got {option!r}', where)
    table = convert_table(option, ToleranceTable, where)
    if len(option) != 1:
        raise RubricError(f"expected one of relative, absolute and digits, got {len(option)}", where)
    if "digits" in option:
        if not 1 <= table.digits <= MOST_DIGITS:
            raise RubricError(f"expected from 1 to {MOST_DIGITS}, got {table.digits}", where, "digits")
        return Tolerance(digits=table.digits)
    if "relative" in option:
        relative = _read_amount(
            table.relative, read_single_unit(""), extend_place(where, ": relative", "relative")
        )
        if relative >= 1:
            raise RubricError('expected less than 1, or a text such as "1%"', where, "relative")
        return Tolerance(relative=relative)
    return Tolerance(
        absolute=_read_amount(table.absolute, unit, extend_place(where, ": absolute", "absolute"))
    )


def _read_amount(option: Any, unit: Unit, where: str) -> Fraction:
    """Return a positive amount in a rubric, in base quantities.

    Raises:
        RubricError: it is invalid.
    """
    try:
        if isinstance(option, str):
            written = read_quantity(option, unit, "point")
            quantity = written.readings[0]
        elif isinstance(option, int | Decimal) and not isinstance(option, bool):
            quantity = from_number(option, unit)
        else:
            raise RubricError(f"expected a number or a text, got {option!r}", where)
    except Unreadable as error:
        raise RubricError(f"{option!r} cannot be read: {error.code}", where) from error
    if quantity.dimension != unit.dimension or quantity.amount <= 0:
        raise RubricError(f"expected a positive amount of {unit.text or 'a number'}, got {option!r}", where)
    return quantity.amount


Units = Literal["required", "optional", "forbidden"]

_OTHER_UNITS = ("B", "KiB", "MB", "FLOP", "TFLOP", "min", "million parameters", "tokens")
"""Units in which trials are written."""

_POLICY = ("unit-missing", "unit-forbidden")
_NOT_WHOLE = "whole"
"""An integer is expected, and the answer is none."""
_OTHER_UNIT = "other-unit"
"""The right number with a unit although none is expected: manual review."""
_OF_WHOLE = ("dimension", "sign", "digits")
"""Explanations that can apply to counts; prefixes and percentages only apply to measures."""
_ZERO = Quantity(Fraction(0))


class NumberQuestion(ComparedOptions, frozen=True):
    """Options of a ``number`` question; each item may have its own instead."""

    unit: str | None = None
    """The expected unit; a bare number is read in it. Default: that of the right value, if it has one."""
    units: Units = "optional"
    """Whether the answer must, may or must not have a unit."""
    tolerance: Any = "exact"
    """``"exact"``, or a table with ``relative``, ``absolute`` or ``digits``."""
    decimal: DecimalMark = "either"
    """The decimal mark; with ``"either"``, an ambiguous answer needs to be clarified."""


class NumberItem(AnswerItem, frozen=True):
    """Options of an item of a ``number`` question."""

    value: Any = None
    """The right value: a number in ``unit``, or a text with its own unit; without it the reference computes
    it."""
    accept: tuple[Any, ...] = ()
    """Further right values."""
    unit: str | None = None
    units: Units | None = None
    tolerance: Any = None
    decimal: DecimalMark | None = None


class _NumberRules(Struct, frozen=True):
    """The rules of one item."""

    expected_unit: Unit
    units: Units
    tolerance: Tolerance
    decimal: DecimalMark
    is_whole: bool = False
    """Every right value in the rubric is an integer without a unit, and is compared exactly."""

    def needs_integer(self, right: Quantity) -> bool:
        """Return whether only an integer can equal this right value.

        Marks in the answer then separate thousands.
        """
        return not self.expected_unit.text and self.tolerance == Tolerance() and right.amount.denominator == 1


class NumberCheck(ComparedCheck[NumberQuestion, NumberItem]):
    """Numbers with units from a variable, a text, or calls."""

    kind: ClassVar[str] = "number"
    vague: ClassVar[frozenset[str]] = frozenset({"number.wrong", "number.dimension"})
    form_only: ClassVar[frozenset[str]] = frozenset({"number.unit-missing", "number.unit-forbidden"})
    question_type = NumberQuestion
    item_type = NumberItem

    def __init__(self, question: Question, rubric: Rubric) -> None:
        """Validate the options; see `Check`."""
        self._rules: dict[str, _NumberRules] = {}
        super().__init__(question, rubric)

    def read_value(self, value: Any, item: Item, label: str) -> tuple[Any, Finding | None]:
        """Return every quantity that an answer may mean."""
        rules = self._rules[item.id]
        if isinstance(value, list | tuple) and len(value) == 1:  # a comma at the end of the line
            value = value[0]
        if is_unwritten_value(value):
            return None, make_no_answer()
        if isinstance(value, bool):
            return None, _report_unreadable(Unreadable("bool"), str(value), label)
        shown = describe_type(value)
        if isinstance(value, OpaqueValue) and value.type_name == "int":  # too large for the wire
            return None, _report_unreadable(Unreadable("number-too-large"), shown, label)
        try:
            text, mark = _extract_text(value, rules.decimal)
            if text is not None:
                shown = quote_text(text)
                read = read_number(text, rules.expected_unit, mark)
                return (keep_whole(read) if rules.is_whole else read), None
            number = read_scalar(value)
            if number is not None:
                return ReadQuantity((from_number(number, rules.expected_unit),)), None
        except Unreadable as error:
            return None, _report_unreadable(error, shown, label)
        code = "number.comma" if _is_decimal_comma(value) else "number.form"
        message = Message(code, {"what": label, "form": shown})
        return None, make_unreadable(message, f"{label}: {shown}")

    def read_right(self, value: Any, item: Item, label: str) -> tuple[Any, Finding | None]:
        """Read a right value, which must have one meaning."""
        if isinstance(value, Decimal | Fraction):
            try:
                return ReadQuantity((from_number(value, self._rules[item.id].expected_unit),)), None
            except Unreadable as error:
                return None, _report_unreadable(error, describe_type(value), label)
        written, finding = self.read_value(value, item, label)
        if finding is None and (written.doubt or not written.settled):
            return None, make_failure("number.ambiguous", f"{label}: {value!r} has two readings")
        if finding is None and written.readings[0].dimension != self._rules[item.id].expected_unit.dimension:
            return None, make_failure("number.dimension", f"{label}: {value!r} measures something else")
        return written, finding

    def find_difference(self, actual: Any, right: Any, item: Item, label: str) -> Finding | None:
        """Return the difference, in words that never reveal the right number."""
        rules, wanted = self._rules[item.id], right.readings[0]
        if rules.needs_integer(wanted):
            actual = keep_whole(actual)
        codes = [_find_difference_code(reading, wanted, rules) for reading in actual.readings]
        first = actual.readings[0]
        read = [write_quantity(reading) for reading in actual.readings]
        params = {"what": label, "value": read[0]}
        staff = f"{label}: read as {' or '.join(read)}, expected {write_quantity(wanted)}"
        # The first reading is the likeliest; another one only matters if the text leaves the choice open.
        if codes[0] == "" and (actual.settled or not any(codes)):
            return None
        if actual.doubt:
            return _report_unreadable(Unreadable(actual.doubt), quote_text(actual.text), label)
        if codes[0] == _OTHER_UNIT:
            return make_unreadable(Message("number.dimension", params), staff)
        if _has_thousands_point(first, wanted):
            second = write_quantity(replace(first, number=first.number * 1000))
            params |= {"value": read[0], "first": read[0], "second": second}
            return Finding(Status.NEEDS_REVIEW, Message("number.ambiguous", params), staff)
        if "" in codes or not actual.settled:
            params = {
                "what": label,
                "value": quote_text(actual.text),
                "first": read[0],
                "second": read[1],
            }
            status = Status.NEEDS_REVIEW if "" in codes else Status.FAILED
            return Finding(status, Message("number.ambiguous", params), staff)
        return make_failure(
            f"number.{codes[0]}", staff, **params, number=write_quantity(replace(first, unit=""))
        )

    def combine_values(self, parts: Sequence[tuple[int, Any]]) -> Any:
        """Add up non-negative quantities of one dimension that can be read in one way only."""
        first = parts[0][1].readings[0]
        amount = Fraction(0)
        for factor, read in parts:
            written = read if first.unit else keep_whole(read)
            quantity = written.readings[0]
            is_clear = written.settled and not written.doubt
            if not is_clear or quantity.dimension != first.dimension or quantity.amount < 0:
                return None
            amount += factor * quantity.amount
        return ReadQuantity((replace(first, number=amount / first.factor),))

    def as_answer(self, value: Any, item: Item) -> Any:
        """Return it with its unit, if one is required."""
        rules, written = self._rules[item.id], super().as_answer(value, item)
        bare = not isinstance(written, str) and rules.units == "required"
        return (written, rules.expected_unit.text) if bare else written

    def make_wrong_values(self, right: Any, item: Item) -> Iterator[tuple[str, Any]]:
        """Yield more than twice as much, the other sign, and the same number in other units."""
        rules, amount = self._rules[item.id], right.readings[0].amount
        number = amount / rules.expected_unit.factor
        # The added one keeps these values wrong if the right value is zero.
        yield "more than twice as much", self._write_number(2 * number + 1, rules)
        yield "the other sign", self._write_number(-number - 1, rules)
        if rules.needs_integer(right.readings[0]):
            yield from (("one more", _to_plain(number + 1)), ("one less", _to_plain(number - 1)))
        for name in _OTHER_UNITS if rules.expected_unit.text else ():
            other = read_single_unit(name)
            if (other.dimension, other.factor) != (rules.expected_unit.dimension, rules.expected_unit.factor):
                yield f"so many {name}", (_to_plain(number), name)
        if rules.units == "required":
            yield "without its unit", _to_plain(number)

    def make_idle_values(self, rights: Sequence[Any], item: Item) -> Iterator[tuple[str, Any]]:
        """Yield zero and one, in the expected unit."""
        rules = self._rules[item.id]
        amounts = {right.readings[0].amount for right in rights}
        for name, number in (("zero", Fraction(0)), ("one", Fraction(1))):
            if number * rules.expected_unit.factor not in amounts:
                yield name, self._write_number(number, rules)

    def make_other_spellings(self, right: Any, item: Item) -> Iterator[tuple[str, Any]]:
        """Yield the value in another unit of the same dimension, and an integer as a float."""
        rules, quantity = self._rules[item.id], right.readings[0]
        # Floats represent integers exactly up to 2^53.
        if rules.needs_integer(quantity) and abs(quantity.number) < 1 << 53:
            yield "as a floating number", float(quantity.number)
        for name in _OTHER_UNITS if rules.units != "forbidden" else ():
            other = read_single_unit(name)
            if other.dimension == rules.expected_unit.dimension:
                yield f"in {name}", (_to_plain(quantity.amount / other.factor), name)

    @staticmethod
    def _write_number(number: Fraction, rules: _NumberRules) -> object:
        bare = rules.units == "forbidden" or not rules.expected_unit.text
        return _to_plain(number) if bare else (_to_plain(number), rules.expected_unit.text)

    def describe_reading(self, value: Any) -> str:
        """Return the quantity, if there is no doubt about it."""
        is_clear = len(value.readings) == 1 and not value.doubt
        return write_quantity(value.readings[0]) if is_clear else ""

    def list_diagnoses(self, item: Item) -> frozenset[str]:
        """Return the faults that an answer to this item may have."""
        rules = self._rules[item.id]
        policy = {"required": _POLICY[:1], "forbidden": _POLICY[1:], "optional": ()}[rules.units]
        whole = (_NOT_WHOLE,) if rules.needs_integer(_ZERO) else ()
        differences = (code for code in DIFFERENCES if can_differ(code, rules.expected_unit.dimension))
        return frozenset((*policy, *whole, *differences))

    def _check_item(self, item: Item, options: NumberItem) -> None:
        where = locate_question(self.question, item)
        defaults = self.options
        unit = _read_unit(defaults.unit if options.unit is None else options.unit, options.value, where)
        tolerance = defaults.tolerance if options.tolerance is None else options.tolerance
        units = options.units or defaults.units
        if units == "required" and not unit.text:
            raise RubricError("a unit is required, but none is named; state unit = …", where, "units")
        self._rules[item.id] = _NumberRules(
            unit, units, read_tolerance(tolerance, unit, where), options.decimal or defaults.decimal
        )
        super()._check_item(item, options)
        # The right values had to be read with the rules before it was known whether all are integers.
        rules, rights = self._rules[item.id], [right.readings[0] for right in self._read[item.id][0]]
        is_whole = self.has_value(item) and all(map(rules.needs_integer, rights))
        self._rules[item.id] = replace(rules, is_whole=is_whole)


def _to_plain(number: Fraction) -> int | float:
    return int(number) if number.denominator == 1 else float(number)


def _has_thousands_point(written: Quantity, wanted: Quantity) -> bool:
    """Return whether a float such as ``2.307`` may be 2307 with the thousands separator of German."""
    return (
        written.from_float
        and not written.has_unit
        and written.number.denominator > 1
        and written.dimension == wanted.dimension
        and written.amount * 1000 == wanted.amount
    )


def _find_difference_code(actual: Quantity, right: Quantity, rules: _NumberRules) -> str:
    """Return how an answer differs, including a rule about its unit; empty if it is right."""
    if (
        rules.units == "required"
        and not actual.has_unit
        and is_right_in_some_unit(actual, right, rules.tolerance)
    ):
        return "unit-missing"
    code = find_difference(actual, right, rules.tolerance)
    if not code:
        return "unit-forbidden" if rules.units == "forbidden" and actual.has_unit else ""
    is_whole = rules.needs_integer(right)
    if actual.has_unit and not rules.expected_unit.text and (is_whole or code == "dimension"):
        return _OTHER_UNIT if is_within_tolerance(Quantity(actual.number), right, rules.tolerance) else code
    if is_whole and actual.amount.denominator != 1:
        return _NOT_WHOLE
    return "wrong" if is_whole and code not in _OF_WHOLE else code


def _extract_text(value: Any, mark: DecimalMark) -> tuple[str | None, DecimalMark]:
    """Return the text of an answer that has one: a text, an expression, or a number with its unit."""
    if isinstance(value, str):
        return value, mark
    if isinstance(value, OpaqueValue) and value.text:
        return value.text, "point"
    if isinstance(value, list | tuple) and len(value) == 2 and isinstance(value[1], str):
        number, unit = value
        if isinstance(number, str):
            return f"{number} {unit}", mark
        if isinstance(number, int | float) and not isinstance(number, bool):
            from_number(number, read_single_unit(""))  # within bounds, so that it can be written
            return f"{number!r} {unit}", "point"
    return None, mark


def _is_decimal_comma(value: Any) -> bool:
    """Return whether it is ``497,76`` in Python: a pair of integers."""
    return isinstance(value, tuple) and [type(part) for part in value] == [int, int]


def _report_unreadable(error: Unreadable, shown: str, label: str) -> Finding:
    return make_unreadable(describe_unreadable_number(error, label, shown), f"{label}: {shown}: {error.code}")


def _explain_unit(error: Unreadable) -> str:
    """Describe an unreadable unit of a rubric."""
    name = error.params.get("name", "")
    if error.code == "two-units":
        return f"{name!r} may be {error.params['first']} or {error.params['second']}; write one of these"
    hint = error.params.get("suggestion")
    return f"no unit {name!r}" + (f"; did you mean {hint!r}?" if hint else "")


def _read_unit(unit: str | None, value: Any, where: str) -> Unit:
    """Return the expected unit: that of the rubric, or of the right value, or none.

    Raises:
        RubricError: it is unknown, or ambiguous.
    """
    if unit is None and isinstance(value, str):
        with contextlib.suppress(Unreadable):
            readings = read_quantity(value, read_single_unit(""), "point").readings
            if len(readings) == 1 and readings[0].has_unit:
                return Unit(readings[0].unit, readings[0].factor, readings[0].dimension)
    try:
        return read_single_unit(unit or "")
    except Unreadable as error:
        raise RubricError(f"{_explain_unit(error)}", where, "unit") from error


KIND = Kind(NumberCheck, form="number")
