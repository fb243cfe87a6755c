"""The cells of a table: every column is a question of its own kind, every row an item of it."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from msgspec.structs import fields, replace

from autograder.checks.base import Evidence
from autograder.checks.compared import ComparedCheck
from autograder.checks.judging.oracle import Known, said
from autograder.checks.judging.results import Finding, failed, observations_at, reference_value, review
from autograder.checks.options import place
from autograder.checks.planning.targets import Target
from autograder.errors import RubricError
from autograder.kinds.general.choice import ChoiceCheck, ChoiceQuestion
from autograder.kinds.general.count import CountCheck
from autograder.kinds.general.quantity import QuantityCheck
from autograder.kinds.general.shape import ShapeCheck
from autograder.kinds.general.table.options import NOT_IN_A_TABLE, Column, Row
from autograder.rubric import Item, Question, Rubric
from autograder.tables import known as refuse_unknown
from autograder.wording import Phrase

Compared = ComparedCheck[Any, Any]

_COMPARED: Mapping[str, type[Compared]] = {
    "count": CountCheck,
    "quantity": QuantityCheck,
    "shape": ShapeCheck,
}


_WRONG: Mapping[str, Any] = {
    "count": -1,
    "quantity": -1,
    "shape": (0, 0, 0, 0, 0),
    "choice": "no such choice",
}


class CellColumn:
    """One column: which of its cells there are, and whether what stands in one is right."""

    def __init__(
        self,
        column: Column,
        rows: tuple[Row, ...],
        config: Mapping[str, Any] | None,
        question: Question,
        rubric: Rubric,
    ) -> None:
        """Make the check of the column's kind.

        Args:
            column: the column.
            rows: of the table.
            config: what the table's reference is called with; it then knows the cells that are not stated.
            question: the table's question.
            rubric: for symbols.

        Raises:
            RubricError: a cell has no right value, or one that is not of the column's kind.
        """
        self.id = column.id
        compared = _COMPARED.get(column.kind)
        options = fields(ChoiceQuestion if compared is None else compared.question_type)
        names = {field.encode_name for field in (*fields(Column), *options)} - {"options", *NOT_IN_A_TABLE}
        refuse_unknown(column.options, names, f"{place(question)}, column {column.id!r}")
        asked = [row for row in rows if column.id not in row.skip]
        if compared is None or config is None:
            asked = [row for row in asked if column.id in row.cells]
        self.rows = tuple(row.id for row in asked)
        own = replace(
            question,
            id=f"{question.id}.{column.id}",
            kind=column.kind,
            answer=question.answer or "table",
            items=tuple(_item(row, column, question) for row in asked),
            options={**column.options, **({} if compared is None or config is None else {"config": config})},
        )
        self.wrong_entry = _WRONG[column.kind]
        """What is right in no row, whatever is."""
        self.items = {item.id: item for item in own.items}
        """The cells as items of the column's question, by row."""
        self._choice = ChoiceCheck(own, rubric) if compared is None else None
        self.check = compared(own, rubric) if compared is not None else None
        """Of the column's kind; None for choices."""

    def finding(self, row: str, value: Any, target: Target, evidence: Evidence) -> Finding | None:
        """What is wrong with the value of one cell; None when it is right."""
        item = self.items[row]
        if self._choice is not None:
            finding = self._choice.finding(item, value, target)
            if finding is None or finding.code == "choice.unknown":  # which quotes what is unknown
                return finding
            return failed("table.choice", str(target.what), what=target.what)
        assert self.check is not None  # noqa: S101 - one of the two was made
        known = self._known(self.check, item, evidence)
        return self.check.judged(value, known, item, target, evidence).finding

    def fits_sum(
        self, total: tuple[str, Any], parts: Mapping[str, tuple[int, Any]], what: Phrase, evidence: Evidence
    ) -> bool:
        """Whether a value is the sum of the student's own, at least one of which is right and not zero.

        Args:
            total: row and value of the sum.
            parts: row → factor and value.
            what: how findings would name the cell.
            evidence: for what is right.
        """
        check, target = self.check, Target(str(what))
        if check is None:
            return False
        read = {row: check.read(value, self.items[row], target) for row, (_, value) in parts.items()}
        given, finding = check.read(total[1], self.items[total[0]], target)
        if finding is not None or any(finding is not None for _, finding in read.values()):
            return False
        summed = check.combined([(parts[row][0], value) for row, (value, _) in read.items()])
        if summed is None or check.differs(given, summed, self.items[total[0]], target) is not None:
            return False
        # A right zero is no achievement.
        achieved = [
            row
            for row, (value, _) in read.items()
            if check.differs(value, check.combined([(0, value)]), self.items[row], target) is not None
        ]
        return any(self.finding(row, parts[row][1], target, evidence) is None for row in achieved)

    def _known(self, check: Compared, item: Item, evidence: Evidence) -> Known:
        """What is right in one cell: what the rubric states, otherwise what the reference says."""
        stated = check.stated(item, evidence)
        answer, fault = (None, None)
        if check.options.config is not None:
            answer, fault = reference_value(observations_at(evidence.expected, 0), 0)
        found = said(answer, (item.id, self.id))
        if check.has_value(item):
            return Known(stated, found.wrong)
        if fault is None and found.right is None:
            fault = review(f"the reference says nothing about {item.id}, {self.id}")
        return Known((found.right, *stated), found.wrong, fault)


def _item(row: Row, column: Column, question: Question) -> Item:
    """The cell as an item of its column; worth 1, because the table gives the points."""
    cell = row.cells.get(column.id, {})
    if not isinstance(cell, Mapping):
        name = "value" if column.kind != "choice" else "right"
        cell = {name: [cell] if name == "right" and isinstance(cell, str) else cell}
    for mistake in cell.get("mistake", ()):
        if isinstance(mistake, Mapping) and mistake.get("points"):
            where = f"{place(question)}, row {row.id!r}, column {column.id!r}"
            raise RubricError(f"{where}: mistake: points: a cell is right or wrong; leave them out")
    return Item(row.id, Decimal(1), {}, options=cell)
