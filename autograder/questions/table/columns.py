"""A column of a table; the check of another kind judges its cells.

In a table of the lines of a listing, shapes may follow from a student's own: see `FollowedShapes`.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from math import prod
from typing import Any

from msgspec.structs import fields, replace

from autograder.core.errors import RubricError
from autograder.core.records import Call, Message, Status
from autograder.core.tables import check_known_keys as refuse_unknown
from autograder.formulas.nodes import Node
from autograder.formulas.values.evaluate import Irrational, TooLarge, Undefined, evaluate_exactly
from autograder.questions import get_check_type
from autograder.questions.base.base import Evidence
from autograder.questions.base.compared import ComparedCheck
from autograder.questions.base.judging.oracle import KnownValues, read_reply
from autograder.questions.base.judging.results import Finding, make_failure, make_review, read_reference
from autograder.questions.base.options import locate_question, to_plain
from autograder.questions.base.values.tables import MatchedRows
from autograder.questions.table.options import NOT_IN_A_TABLE, Column, TableQuestion, TableRow
from autograder.rubric import Item, Question, Rubric

Compared = ComparedCheck[Any, Any]

_WRONG: Mapping[str, Any] = {
    "number": -1,
    "shape": (0, 0, 0, 0, 0),
    "choice": "no such choice",
}


class CellColumn:
    """One column: its cells, and whether their values are right."""

    def __init__(self, column: Column, table: TableQuestion, question: Question, rubric: Rubric) -> None:
        """Make the check of the column's kind.

        Args:
            column: the column.
            table: its rows, and the argument of its reference.
            question: the table's question.
            rubric: for symbols.

        Raises:
            RubricError: a cell has no right value, or one that is not of the column's kind.
        """
        self.id, self.kind = column.id, column.kind
        check = get_check_type(column.kind)
        """The check of the column's kind; None for choices."""
        config, is_compared = table.config, issubclass(check, ComparedCheck)
        options = fields(check.question_type)
        names = {field.encode_name for field in (*fields(Column), *options)} - {"options", *NOT_IN_A_TABLE}
        refuse_unknown(
            column.options,
            names,
            locate_question(question).extend(f", column {column.id!r}", "column", column.id),
        )
        all_judged = is_compared and config is not None
        rows = [row for row in table.row if all_judged or column.id in row.cells]
        self.rows = tuple(row.id for row in rows)
        column_question = replace(
            question,
            id=f"{question.id}.{column.id}",
            kind=column.kind,
            answer=question.answer or "table",
            items=tuple(_make_item(row, column, question) for row in rows),
            options={**column.options, **({"config": config} if all_judged else {})},
        )
        self.wrong_entry = _WRONG[column.kind]
        """An entry that is wrong in every row."""
        self.items = {item.id: item for item in column_question.items}
        """The cells as items of the column's question, by row."""
        instance = check(column_question, rubric)
        self.check: Compared | None = instance if is_compared else None
        """Of the column's kind; None for choices."""
        self._choice = None if is_compared else instance

    def judge_value(self, row: str, value: Any, label: str, evidence: Evidence) -> Finding | None:
        """Return the finding about the value of one cell; None if it is right."""
        item = self.items[row]
        if self._choice is not None:
            finding: Finding | None = self._choice.find_fault(item, value, label)
            if finding is None or finding.code == "choice.unknown":  # it quotes the unknown name
                return finding
            return make_failure("table.choice", label, what=label)
        assert self.check is not None  # noqa: S101 - one of the two was made
        values = self._find_known(self.check, item, evidence)
        return self.check.judge_value(value, values, item, label).finding

    def is_own_sum(
        self,
        total: tuple[str, Any],
        parts: Mapping[str, tuple[int, Any]],
        evidence: Evidence,
    ) -> bool:
        """Return whether a value is the sum of the student's own, with at least one right and not zero.

        Args:
            total: row and value of the sum.
            parts: row → factor and value.
            evidence: for the right values.
        """
        check = self.check
        if check is None:
            return False
        read = {row: check.read_value(value, self.items[row], "") for row, (_, value) in parts.items()}
        actual, finding = check.read_value(total[1], self.items[total[0]], "")
        if finding is not None or any(finding is not None for _, finding in read.values()):
            return False
        summed = check.combine_values([(parts[row][0], value) for row, (value, _) in read.items()])
        if summed is None or check.find_difference(actual, summed, self.items[total[0]], "") is not None:
            return False
        # A right zero takes no work, so that a sum with it alone earns nothing.
        achieved = [
            row
            for row, (value, _) in read.items()
            if check.find_difference(value, check.combine_values([(0, value)]), self.items[row], "")
            is not None
        ]
        return any(self.judge_value(row, parts[row][1], "", evidence) is None for row in achieved)

    def _find_known(self, check: Compared, item: Item, evidence: Evidence) -> KnownValues:
        """Return the right values of one cell: those of the rubric, otherwise those of the reference."""
        accepted = check.list_accepted(item)
        answer, fault = (None, None)
        if check.options.config is not None:
            answer, fault = read_reference(evidence.expected)
        reply = read_reply(answer, (item.id, self.id))
        if check.has_value(item):
            return KnownValues(accepted, reply.wrong)
        if fault is None and reply.right is None:
            fault = make_review(f"the reference says nothing about {item.id}, {self.id}")
        return KnownValues((reply.right, *accepted), reply.wrong, fault)


def _make_item(row: TableRow, column: Column, question: Question) -> Item:
    """Return the cell as an item of its column; worth 1, because the table gives the points."""
    cell = row.cells.get(column.id, {})
    if not isinstance(cell, Mapping):
        name = "value" if column.kind != "choice" else "right"
        cell = {name: [cell] if name == "right" and isinstance(cell, str) else cell}
    for mistake in cell.get("mistake", ()):
        if isinstance(mistake, Mapping) and mistake.get("points"):
            where = locate_question(question).extend(
                f", row {row.id!r}, column {column.id!r}", "row", row.id, column.id
            )
            raise RubricError("points: a cell is right or wrong; leave them out", where, "mistake")
    return Item(row.id, Decimal(1), {}, options=cell)


_SHAPE = "shape"
_MOST_ENTRIES = 1 << 40
"""Bound of the entries of a tensor of a student's shape; it is only a shape, no memory is allocated."""


class FollowedShapes:
    """The column of shapes in a table of the lines of a listing that the reference runs.

    If a shape is wrong, the reference runs the listing a second time with the student's own shapes in place
    of the right ones, to see whether a later line follows from them. It computes right shapes with sizes that
    are prime numbers (``reference/tracing/shapes.py``).
    """

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
            axes, finding = self._shapes.read_value(value, self._column.items[row], row)
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
