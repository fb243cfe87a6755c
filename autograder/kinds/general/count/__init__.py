"""The kind ``count``: whole numbers, compared exactly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from autograder.checks.compared import ComparedCheck
from autograder.checks.judging.results import Finding, failed, no_answer, unread
from autograder.checks.kind import Kind
from autograder.checks.options import AnswerItem, ComparedOptions
from autograder.checks.planning.targets import ValueTarget, nothing_written
from autograder.checks.values.arrays import NotWhole, whole
from autograder.checks.values.quoting import quote_integer
from autograder.records import Message
from autograder.rubric import Item


class CountQuestion(ComparedOptions, frozen=True):
    """Options of a ``count`` question."""


class CountItem(AnswerItem, frozen=True):
    """Options of an item of a ``count`` question."""

    value: int | None = None
    """The right number; without it the reference is asked."""
    accept: tuple[int, ...] = ()
    """Further right numbers."""


class CountCheck(ComparedCheck[CountQuestion, CountItem]):
    """Whole numbers from a variable."""

    kind: ClassVar[str] = "count"
    vague: ClassVar[frozenset[str]] = frozenset({"count.wrong"})
    question_type = CountQuestion
    item_type = CountItem

    def read(self, value: Any, item: Item, target: ValueTarget) -> tuple[Any, Finding | None]:
        """The whole number."""
        del item
        if nothing_written(value):
            return None, no_answer()
        number = whole(value)
        if isinstance(number, NotWhole):
            params = {**number.params, "what": target.what}
            staff = f"{target.what}: {number.code} {number.params}"
            return None, unread(Message(number.code, params), staff)
        return number.number, None

    def differs(self, given: Any, right: Any, item: Item, target: ValueTarget) -> Finding | None:
        """Whole numbers are equal or not; which one is right is not said."""
        del item
        if given == right:
            return None
        staff = f"{target.what}: {quote_integer(given)}, expected {quote_integer(right)}"
        return failed("count.wrong", staff, what=target.what, value=quote_integer(given))

    def combined(self, parts: Sequence[tuple[int, Any]]) -> Any:
        """Whole numbers add up; counts below zero are none."""
        return (
            sum(factor * number for factor, number in parts) if min(part[1] for part in parts) >= 0 else None
        )

    def wrong_values(self, right: Any, item: Item) -> Iterator[tuple[str, Any]]:
        """One more, one less, and twice as many."""
        del item
        yield from (("one more", right + 1), ("one less", right - 1), ("twice as many", 2 * right + 2))

    def other_spellings(self, right: Any, item: Item) -> Iterator[tuple[str, Any]]:
        """As a floating number, where that is the same number."""
        del item
        if float(right) == right and abs(right) < 1 << 53:
            yield "as a floating number", float(right)


KIND = Kind(CountCheck, form="count", aliases=("number",))
