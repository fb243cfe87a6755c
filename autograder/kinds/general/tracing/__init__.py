"""The kind ``tracing``: the shape after each named line of a listing, which the reference really runs.

A table with one column of shapes. What is right comes from running the listing with sizes that are prime
numbers (``reference/tracing/shapes.py``). Where a shape is wrong, the reference runs it once more with the
student's own shapes, to see whether a later line follows from them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import ClassVar, Literal

from autograder.checks.base import Evidence
from autograder.checks.judging.results import (
    Finding,
    failed,
    is_blank,
    observations_at,
    reference_value,
    review,
)
from autograder.checks.kind import Kind
from autograder.checks.options import place, plain
from autograder.checks.planning.targets import ValueTarget
from autograder.checks.tabular import TableQuestion, TabularCheck
from autograder.checks.values.tables import Matched
from autograder.errors import RubricError
from autograder.formulas.nodes import Node
from autograder.formulas.values.evaluate import Irrational, TooLarge, Undefined, exact
from autograder.kinds import check_of
from autograder.records import Call, Message, Scenario, Status
from autograder.wording import Phrase

SHAPE = "shape"
"""The id of the column."""
MAX_ENTRIES = 1 << 40
"""Entries of a tensor of a student's shape; it is only ever a shape, never memory."""

Sizes = tuple[int, ...]


class TracingQuestion(TableQuestion, frozen=True):
    """Options of a ``tracing`` question."""

    following: Literal["told", "credited"] = "told"
    """A wrong shape that follows from the student's own earlier ones: only said, or as good as right."""


class TracingCheck(TabularCheck[TracingQuestion]):
    """A table of lines and shapes."""

    kind: ClassVar[str] = "tracing"
    question_type = TracingQuestion
    check_of = staticmethod(check_of)

    def prepare(self) -> None:
        """Refuse other columns than one of shapes, and a question without a listing."""
        super().prepare()
        shapes, where = self.columns.get(SHAPE), place(self.question)
        if len(self.columns) != 1 or shapes is None or shapes.check is None or shapes.kind != SHAPE:
            raise RubricError(
                'expected two, the second with id = "shape" and kind = "shape"', where, "column"
            )
        if self.options.config is None:
            raise RubricError("config, reference: which listing is run?", where)
        self._shapes = shapes.check

    def second_round(self, evidence: Evidence) -> tuple[Scenario, ...]:
        """The listing once more with the student's own shapes, if one of them is wrong."""
        if is_blank(evidence.answer) or not self.items:
            return ()
        table = self.read(self.question.answer, evidence)
        if isinstance(table, Finding) or not any(self._wrong_rows(table, evidence)):
            return ()
        own = {row: list(sizes) for row, sizes in self._own(table, evidence).items()}
        call = Call(self.question.answer, args=(plain(self.options.config), own))
        return (Scenario(f"{self.question.id}: own shapes", (call,)),)

    def own_result(
        self, cell: tuple[str, str], table: Matched, what: Phrase, finding: Finding, evidence: Evidence
    ) -> Finding:
        """A wrong shape in the light of the student's own shapes of the lines before."""
        del what
        row, _ = cell
        told, _ = reference_value(observations_at(evidence.tried, 0), 0)
        follows = told.get("follows") if isinstance(told, Mapping) else None
        if not isinstance(follows, Mapping) or not isinstance(follows.get(row), list | tuple | None):
            unknown = f"{finding.staff}; the reference did not say what follows from the own shapes"
            return finding if self.options.following == "told" else review(unknown)
        if row not in follows:
            return finding
        params = {"what": finding.message.params.get("what", row)}
        if follows[row] is None:
            return failed("tracing.impossible", f"{finding.staff}; impossible with the own shapes", **params)
        if tuple(follows[row]) != self._own(table, evidence).get(row):
            return finding
        staff = f"{finding.staff}; follows from the own shapes"
        if self.options.following == "told":
            return failed("tracing.follows", staff, **params)
        return Finding(Status.PASSED, Message("tracing.follows", params), staff)

    def _wrong_rows(self, table: Matched, evidence: Evidence) -> Iterator[str]:
        for row in self.columns[SHAPE].rows:
            written = table.one(row)
            value = written.cells.get(SHAPE) if written is not None else None
            if value is not None:
                finding = self.columns[SHAPE].finding(row, value, ValueTarget(row), evidence)
                if finding is not None and finding.status is Status.FAILED:
                    yield row

    def _own(self, table: Matched, evidence: Evidence) -> dict[str, Sizes]:
        """The student's shapes with the sizes that the listing is run with; without those that are none."""
        told, _ = reference_value(observations_at(evidence.expected, 0), 0)
        sizes = told.get("sizes") if isinstance(told, Mapping) else None
        known = sizes if isinstance(sizes, Mapping) else {}
        at = {name: size for name, size in known.items() if isinstance(name, str) and type(size) is int}
        own = {}
        for row in self.columns[SHAPE].rows:
            written = table.one(row)
            value = written.cells.get(SHAPE) if written is not None else None
            axes, finding = self._shapes.read(value, self.columns[SHAPE].items[row], ValueTarget(row))
            worked = None if finding is not None else _worked(axes, at)
            if worked is not None:
                own[row] = worked
        return own


def _worked(axes: tuple[Node, ...], sizes: Mapping[str, int]) -> Sizes | None:
    """A shape in numbers; None where a size is unknown, no whole number, or too large."""
    worked = []
    for axis in axes:
        try:
            size = exact(axis, sizes)
        except (KeyError, TooLarge, Irrational, Undefined):
            return None
        if not isinstance(size, int) or not 0 <= size <= MAX_ENTRIES:
            return None
        worked.append(size)
    return tuple(worked) if prod(worked) <= MAX_ENTRIES else None


KIND = Kind(TracingCheck, form="table")
