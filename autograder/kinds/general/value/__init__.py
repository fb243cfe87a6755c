"""The kind ``value``: numbers and arrays within a stated tolerance."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from autograder.checks.base import AcceptedResult, Evidence
from autograder.checks.compared import ComparedCheck
from autograder.checks.judging.results import Finding, differing
from autograder.checks.kind import Kind
from autograder.checks.options import AnswerItem, ComparedOptions, Rules, plain
from autograder.checks.planning.targets import ValueTarget
from autograder.checks.values.arrays import compare_values
from autograder.checks.values.trivial import accepted_results
from autograder.rubric import Item


class ValueQuestion(ComparedOptions, frozen=True):
    """Options of a ``value`` question."""

    compare: Rules = Rules()


class ValueItem(AnswerItem, frozen=True):
    """Options of an item of a ``value`` question."""

    value: Any = None
    """What is right; without it the reference is asked."""
    accept: tuple[Any, ...] = ()
    """Further right values."""
    compare: Rules | None = None
    """Instead of the question's."""


class ValueCheck(ComparedCheck[ValueQuestion, ValueItem]):
    """Numbers, arrays, tensors and nests of them, from a variable."""

    kind: ClassVar[str] = "value"
    vague: ClassVar[frozenset[str]] = frozenset({"value.number", "value.differs"})
    question_type = ValueQuestion
    item_type = ValueItem

    def read(self, value: Any, item: Item, target: ValueTarget) -> tuple[Any, Finding | None]:
        """Any value can be compared."""
        del item, target
        return value, None

    def differs(self, given: Any, right: Any, item: Item, target: ValueTarget) -> Finding | None:
        """The first difference by the rules of the item."""
        difference = compare_values(given, right, self.rules(item))
        return None if difference is None else differing(difference, target.what)

    def rules(self, item: Item) -> Rules:
        """Those of the item."""
        return self.items[item.id].compare or self.options.compare

    def accepted_results(self, evidence: Evidence) -> tuple[AcceptedResult, ...]:
        """Look at what every item judges."""
        found = []
        for item, options in self.automatic:
            right = self.right_value(item, options, evidence)
            if right.finding is None:
                names = accepted_results(right.value, self.rules(item))
                found += [AcceptedResult(item.id, name) for name in names]
        return tuple(found)

    def put_in(self, value: Any) -> Any:
        """Numbers as floats."""
        return plain(value)

    def wrong_values(self, right: Any, item: Item) -> Iterator[tuple[str, Any]]:
        """Another number, or the same numbers in another order."""
        del item
        if isinstance(right, int | float) and not isinstance(right, bool):
            yield from (("twice and one more", 2 * right + 1), ("the other sign", -right))
        elif isinstance(right, list | tuple) and right:
            yield from (("in reverse", type(right)(reversed(right))), ("the last one missing", right[:-1]))


KIND = Kind(ValueCheck, form="value")
