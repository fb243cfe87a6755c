"""The kind ``table``: named rows of numbers, shapes and choices."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, ClassVar

from msgspec.structs import replace

from autograder.core.errors import RubricError
from autograder.core.records import Answer, Call, ItemResult, Message, Status
from autograder.messages import list_languages, render_message
from autograder.questions.base.base import Evidence, Trial
from autograder.questions.base.itemwise import ItemwiseCheck, Verdict
from autograder.questions.base.judging.results import (
    NO_POINTS,
    Finding,
    make_failure,
    make_no_answer,
    make_result,
    make_unreadable,
)
from autograder.questions.base.kind import Kind
from autograder.questions.base.options import AnswerItem, locate_question, split_points
from autograder.questions.base.planning.planting import PlantedTable, make_table_trials
from autograder.questions.base.planning.targets import Targets
from autograder.questions.base.values.tables import Columns, MatchedRows, Names, UnreadableTable, read_table
from autograder.questions.table.columns import CellColumn, FollowedShapes
from autograder.questions.table.options import TableItem, TableQuestion, check_rows, read_columns
from autograder.rubric import Item

Cell = tuple[str, str]
"""Row and column."""


class TableCheck(ItemwiseCheck[TableQuestion, TableItem]):
    """A table that a student writes down, judged cell by cell."""

    kind: ClassVar[str] = "table"
    question_type = TableQuestion

    item_type = TableItem

    def prepare(self) -> None:
        """Refuse rows and columns that do not fit together; make the check of each column."""
        question, options = self.question, self.options
        if question.reference and options.config is None:
            raise RubricError(
                "what is the reference called with? Empty: config = {}", locate_question(question), "config"
            )
        columns = read_columns(options, question)
        check_rows(options, columns, question)
        self.key = columns[0].id
        self.rows = {row.id: row for row in options.row}
        self.columns = {
            column.id: CellColumn(column, options, question, self.rubric) for column in columns[1:]
        }
        names = {row.id: row.aliases for row in options.row}
        self._names = Names(names, locate_question(question), options.beside)
        self._columns = Columns({column.id: column.aliases for column in columns})
        reads = dict.fromkeys(self.items, AnswerItem())
        self._targets = Targets(question, reads, named=False, config=options.config)
        self.cells = {item.id: self._list_cells(item) for item, _ in self.automatic}
        self._followed = FollowedShapes(question, options, self.columns) if options.following else None
        self._names_asked = any(self.key in item.columns for item in self.items.values())
        if options.order == "given" and not self._names_asked:
            raise RubricError(
                f"it is judged in the column {self.key!r}; no item has it", locate_question(question), "order"
            )

    def list_calls(self, answer: Answer) -> tuple[Call, ...]:
        """Return the call that reads the variable, if it is not a literal in the source."""
        return self._targets.plan_calls(answer)

    def plan_reference_calls(self) -> tuple[Call, ...]:
        """Return one call of the reference with the ``config``."""
        return self._targets.plan_reference_calls()

    def make_trials(self, key: Answer) -> Sequence[Trial]:
        """Return one trial per cell and row, and other notations, if the key's table is a literal list."""
        planted = PlantedTable(
            self.question.answer,
            (self.key, *self.columns),
            self.cells,
            frozenset(item for item, options in self.items.items() if options.extra == "refuse"),
            self.options.order == "given",
            {row.id: row.factors for row in self.rows.values() if row.factors},
        )
        wrong = {column.id: column.wrong_entry for column in self.columns.values()}
        return tuple(make_table_trials(key, planted, self._names.find_id, wrong))

    def judge(self, evidence: Evidence) -> tuple[ItemResult, ...]:
        """Return one result per item.

        The table is read once, and the reference is called only if a shape is wrong.
        """
        read = functools.cache(lambda: self.read_rows(evidence))

        @functools.cache
        def follow_shapes() -> Any:
            table, followed = read(), self._followed
            return None if isinstance(table, Finding) or not followed else followed.follow(table, evidence)

        return self.judge_items(
            evidence, lambda item, _: self._judge_cells(item, read(), evidence, follow_shapes)
        )

    def judge_item(self, item: Item, options: TableItem, evidence: Evidence) -> Verdict:
        """Raise NotImplementedError, because items are judged together; see `judge`."""
        raise NotImplementedError

    def read_rows(self, evidence: Evidence) -> MatchedRows | Finding:
        """Return the student's rows by the rubric's ids, or why there are none."""
        name = self.question.answer
        observed = self._targets.find_value(name, None, evidence)
        if observed.finding is not None:
            return observed.finding
        answer_name = name or self.question.answer_cell
        rows = read_table(observed.value, self._columns)
        if isinstance(rows, UnreadableTable):
            message = Message(rows.code, {"what": answer_name, **rows.params})
            return make_unreadable(message, f"{answer_name}: {rows.code} {rows.params}")
        if not any(row.name or row.cells for row in rows):
            return make_no_answer("no-answer", f"{answer_name} is empty")
        return self._names.match_rows(rows)

    def _list_cells(self, item: Item) -> tuple[Cell, ...]:
        """Return the cells of an item.

        Raises:
            RubricError: there are none, or the points cannot be divided among them.
        """
        options, where = self.items[item.id], locate_question(self.question, item)
        for kind, names, valid in (
            ("column", options.columns, (self.key, *self.columns)),
            ("row", options.rows, tuple(self.rows)),
        ):
            for name in names:
                if name not in valid:
                    raise RubricError(f"{kind}s: no {kind} {name!r}; known are: {', '.join(valid)}", where)
        cells = tuple(
            (row, column)
            for row in options.rows or self.rows
            for column in options.columns
            if column == self.key or row in self.columns[column].rows
        )
        if not cells:
            raise RubricError(
                "nothing says what is right there: state cells or a reference", where, "columns"
            )
        if options.credit == "each":
            split_points(item.points, len(cells), where)
        return cells

    def _judge_cells(
        self, item: Item, table: MatchedRows | Finding, evidence: Evidence, follow: Callable[[], Any]
    ) -> ItemResult:
        if isinstance(table, Finding):
            return make_result(self.question, item, table)
        options, answer_name = self.items[item.id], self.question.answer or self.question.answer_cell
        findings = [
            self._judge_cell(row, column, table, evidence, follow) for row, column in self.cells[item.id]
        ]
        extra = len(table.extra) if options.extra == "refuse" else 0
        if extra:
            names = ", ".join(table.extra[:5])
            findings.append(
                make_failure(
                    "table.extra", f"{answer_name}: extra rows: {names}", what=answer_name, rows=names
                )
            )
        return self._sum_cells(item, findings, extra)

    def _sum_cells(self, item: Item, findings: Sequence[Finding | None], extra: int) -> ItemResult:
        """Add up the points for right cells; undecided cells need manual review."""
        options, total = self.items[item.id], len(self.cells[item.id])
        by_status = {
            status: [fault for fault in findings if fault and fault.status is status] for status in Status
        }
        wrong = by_status[Status.FAILED] + by_status[Status.NO_ANSWER]
        own_sums, ours = by_status[Status.PASSED], by_status[Status.NEEDS_REVIEW]
        if ours and (options.credit == "each" or not wrong):
            return make_result(self.question, item, ours[0])
        if wrong:
            # The one finding about extra rows is no wrong cell; each extra row then deducts a part.
            right = total + min(extra, 1) - len(wrong)
            points = item.points / total * max(0, right - extra) if options.credit == "each" else NO_POINTS
            finding = merge_findings(wrong, right - len(ours), total, points)
            # If every cell is needed, a single readable wrong cell decides the item.
            decides = any if options.credit == "each" else all
            is_open = decides(fault.is_unreadable for fault in wrong)
            return make_result(self.question, item, replace(finding, is_unreadable=is_open))
        passed = make_result(self.question, item, None)
        return (
            replace(passed, student=own_sums[0].message, staff=own_sums[0].staff, code=own_sums[0].code)
            if own_sums
            else passed
        )

    def _judge_cell(
        self, row: str, column: str, table: MatchedRows, evidence: Evidence, follow: Callable[[], Any]
    ) -> Finding | None:
        """Return the finding about one cell, or None; PASSED for a right sum of the student's own rows.

        Names of rows are only revealed if the question does not ask for them.
        """
        answer_name = self.question.answer or self.question.answer_cell
        written = table.get_first(row)
        if written is None and self._names_asked:
            staff = f"{answer_name}: no row {row}"
            return make_failure("table.fewer", staff, what=answer_name, count=str(len(table.rows)))
        if written is None:
            return make_failure("table.row", f"{answer_name}: no row {row}", what=answer_name, row=row)
        name = f"{answer_name} [{written.name}]"
        if column == self.key:
            moved = self.options.order == "given" and row in table.moved
            return make_failure("table.order", f"{name}: moved", what=name) if moved else None
        cell = f"{answer_name} [{written.name}, {column}]"
        if written.entries:
            return make_failure(
                "table.width", f"{name}: {written.entries} entries", what=name, count=str(written.entries)
            )
        if len(table.rows[row]) > 1:
            return make_failure("table.twice", f"{name}: stands twice", what=name)
        if column not in written.cells:
            return make_failure("table.cell", f"{cell}: missing", what=cell)
        value = written.cells[column]
        finding = self.columns[column].judge_value(row, value, cell, evidence)
        if finding is None or finding.status is not Status.FAILED:
            return finding
        if self._followed is not None:
            return self._followed.explain(row, table, finding, evidence, follow())
        if not self._is_own_sum((row, value), column, table, evidence):
            return finding
        return Finding(Status.PASSED, Message("table.own-sum", {"what": cell}), f"own sum; {finding.staff}")

    def _is_own_sum(
        self, total: tuple[str, Any], column: str, table: MatchedRows, evidence: Evidence
    ) -> bool:
        """Return whether a wrong sum is right for the student's own rows."""
        factors = self.rows[total[0]].factors
        parts: dict[str, tuple[int, Any]] = {}
        for part, factor in factors.items():
            part_row = table.get_first(part)
            if part_row is None or column not in part_row.cells or len(table.rows[part]) > 1:
                return False
            parts[part] = (factor, part_row.cells[column])
        return bool(parts) and self.columns[column].is_own_sum(total, parts, evidence)


MOST_TOLD = 3


def merge_findings(findings: Sequence[Finding], right: int, total: int, points: Decimal) -> Finding:
    """Return one finding for all wrong cells of an item.

    Args:
        findings: at least one.
        right: the number of right cells.
        total: the number of all cells.
        points: for the right ones.
    """
    different = list(
        {(finding.message.code, *finding.message.params.items()): finding for finding in findings}.values()
    )
    staff = "; ".join(finding.staff for finding in different[: 2 * MOST_TOLD])
    if total == 1 and len(different) == 1:
        return Finding(Status.FAILED, different[0].message, staff, points)
    shown = [make_failure("table.some", "", count=str(right), total=str(total)), *different[:MOST_TOLD]]
    # The text is rendered already, so braces in it are no placeholders.
    text = {
        language: " ".join(render_message(finding.message, language) for finding in shown)
        .replace("{", "{{")
        .replace("}", "}}")
        for language in list_languages()
    }
    codes = {finding.message.code for finding in different}
    code = codes.pop() if len(codes) == 1 else "table.some"
    return Finding(Status.FAILED, Message(code, text=text), f"{right} of {total} right; {staff}", points)


KIND = Kind(TableCheck, form="table")
