"""A column of a table; the check of another kind judges its cells."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from msgspec.structs import fields, replace

from autograder.core.errors import RubricError
from autograder.core.tables import check_known_keys as refuse_unknown
from autograder.core.wording import Phrase
from autograder.questions import get_check_type
from autograder.questions.base.base import Evidence
from autograder.questions.base.compared import ComparedCheck
from autograder.questions.base.judging.oracle import KnownValues, read_reply
from autograder.questions.base.judging.results import Finding, make_failure, make_review, read_reference
from autograder.questions.base.options import locate_question
from autograder.questions.base.planning.targets import ValueTarget
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

    def judge_value(self, row: str, value: Any, target: ValueTarget, evidence: Evidence) -> Finding | None:
        """Return the finding about the value of one cell; None if it is right."""
        item = self.items[row]
        if self._choice is not None:
            finding: Finding | None = self._choice.find_fault(item, value, target)
            if finding is None or finding.code == "choice.unknown":  # it quotes the unknown name
                return finding
            return make_failure("table.choice", str(target.what), what=target.what)
        assert self.check is not None  # noqa: S101 - one of the two was made
        values = self._find_known(self.check, item, evidence)
        return self.check.judge_value(value, values, item, target).finding

    def is_own_sum(
        self,
        total: tuple[str, Any],
        parts: Mapping[str, tuple[int, Any]],
        cell_name: Phrase,
        evidence: Evidence,
    ) -> bool:
        """Return whether a value is the sum of the student's own, with at least one right and not zero.

        Args:
            total: row and value of the sum.
            parts: row → factor and value.
            cell_name: the name of the cell in findings.
            evidence: for the right values.
        """
        check, target = self.check, ValueTarget(str(cell_name))
        if check is None:
            return False
        read = {row: check.read_value(value, self.items[row], target) for row, (_, value) in parts.items()}
        actual, finding = check.read_value(total[1], self.items[total[0]], target)
        if finding is not None or any(finding is not None for _, finding in read.values()):
            return False
        summed = check.combine_values([(parts[row][0], value) for row, (value, _) in read.items()])
        if summed is None or check.find_difference(actual, summed, self.items[total[0]], target) is not None:
            return False
        # A right zero takes no work, so that a sum with it alone earns nothing.
        achieved = [
            row
            for row, (value, _) in read.items()
            if check.find_difference(value, check.combine_values([(0, value)]), self.items[row], target)
            is not None
        ]
        return any(self.judge_value(row, parts[row][1], target, evidence) is None for row in achieved)

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
