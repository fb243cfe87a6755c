"""Shapes that follow from a student's own, in a table of the lines of a listing that the reference runs.

If a shape is wrong, the reference runs the listing a second time with the student's own shapes in place of
the right ones, to see whether a later line follows from them. It computes right shapes with sizes that are
prime numbers (``reference/tracing/shapes.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from autograder.core.errors import RubricError
from autograder.core.records import Call, Message, Status
from autograder.formulas.nodes import Node
from autograder.formulas.values.evaluate import Irrational, TooLarge, Undefined, evaluate_exactly
from autograder.questions.base.base import Evidence
from autograder.questions.base.judging.results import Finding, make_failure, make_review, read_reference
from autograder.questions.base.options import locate_question, to_plain
from autograder.questions.base.planning.targets import ValueTarget
from autograder.questions.base.values.tables import MatchedRows
from autograder.questions.table.columns import CellColumn
from autograder.questions.table.options import TableQuestion
from autograder.rubric import Question

_SHAPE = "shape"
_MOST_ENTRIES = 1 << 40
"""Bound of the entries of a tensor of a student's shape; it is only a shape, no memory is allocated."""


class FollowedShapes:
    """The column of shapes of such a table."""

    def __init__(self, question: Question, options: TableQuestion, columns: Mapping[str, CellColumn]) -> None:
        """Find the column.

        Args:
            question: of the rubric.
            options: its options.
            columns: all but the first, by id.

        Raises:
            RubricError: there is a column of another kind than shape, or no listing.
        """
        column = next(iter(columns.values()))
        if len(columns) != 1 or column.kind != _SHAPE or column.check is None:
            raise RubricError(
                'with following, a table has a second column with kind = "shape" and no other',
                locate_question(question),
                "column",
            )
        if options.config is None:
            raise RubricError("config, reference: which listing is run?", locate_question(question))
        self._question, self._options = question, options
        self._column, self._shapes = column, column.check

    def follow(self, table: MatchedRows, evidence: Evidence) -> Any:
        """Return the shapes in the listing that follow from the student's own shapes."""
        if evidence.ask_reference is None:
            return None
        own_shapes = {row: list(sizes) for row, sizes in self._read_own(table, evidence).items()}
        observed = evidence.ask_reference(
            Call(self._question.answer, args=(to_plain(self._options.config), own_shapes))
        )
        reply = observed.value if observed.ok else None
        return reply.get("follows") if isinstance(reply, Mapping) else None

    def explain(
        self, row: str, table: MatchedRows, finding: Finding, evidence: Evidence, follows: Any
    ) -> Finding:
        """Return the finding about a wrong shape, given the student's own shapes of earlier lines.

        Args:
            row: of the shape.
            table: all rows.
            finding: about the shape alone.
            evidence: of the answer.
            follows: the result of `follow`.

        Returns:
            The same finding, another message, or PASSED if consequences are credited.
        """
        only_told = self._options.following == "told"
        if not isinstance(follows, Mapping) or not isinstance(follows.get(row), list | tuple | None):
            unknown = f"{finding.staff}; the reference did not say what follows from the own shapes"
            return finding if only_told else make_review(unknown)
        if row not in follows:
            return finding
        params = {"what": finding.message.params.get("what", row)}
        if follows[row] is None:
            return make_failure(
                "table.impossible", f"{finding.staff}; impossible with the own shapes", **params
            )
        # The wrong shape does not follow from the student's own shapes.
        if tuple(follows[row]) != self._read_own(table, evidence).get(row):
            return finding
        staff = f"{finding.staff}; follows from the own shapes"
        if only_told:
            return make_failure("table.follows", staff, **params)
        return Finding(Status.PASSED, Message("table.follows", params), staff)

    def _read_own(self, table: MatchedRows, evidence: Evidence) -> dict[str, tuple[int, ...]]:
        """Return the student's shapes in the sizes of the listing, without those that are invalid."""
        reply, _ = read_reference(evidence.expected)
        sizes = reply.get("sizes") if isinstance(reply, Mapping) else None
        # The reply comes from a sandbox: keep only names with plain integers, no booleans.
        named_sizes = sizes if isinstance(sizes, Mapping) else {}
        size_by_name = {
            name: size for name, size in named_sizes.items() if isinstance(name, str) and type(size) is int
        }
        own_shapes = {}
        for row in self._column.rows:
            written = table.get_first(row)
            value = written.cells.get(self._column.id) if written is not None else None
            axes, finding = self._shapes.read_value(value, self._column.items[row], ValueTarget(row))
            worked = None if finding is not None else _evaluate_axes(axes, size_by_name)
            if worked is not None:
                own_shapes[row] = worked
        return own_shapes


def _evaluate_axes(axes: tuple[Node, ...], sizes: Mapping[str, int]) -> tuple[int, ...] | None:
    """Return a shape in numbers; None if a size is unknown, not an integer, or too large."""
    worked = []
    for axis in axes:
        try:
            size = evaluate_exactly(axis, sizes)
        except (KeyError, TooLarge, Irrational, Undefined):
            return None
        if not isinstance(size, int) or not 0 <= size <= _MOST_ENTRIES:
            return None
        worked.append(size)
    return tuple(worked) if prod(worked) <= _MOST_ENTRIES else None
