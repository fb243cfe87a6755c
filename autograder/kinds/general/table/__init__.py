"""The kind ``table``: rows by name, whose cells are numbers, shapes and choices."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, ClassVar

from msgspec.structs import replace

from autograder.checks.base import Draw, Evidence, Trial
from autograder.checks.itemwise import ItemwiseCheck, Verdict
from autograder.checks.judging.results import (
    NO_POINTS,
    Finding,
    failed,
    no_answer,
    result,
    unread,
)
from autograder.checks.kind import Kind
from autograder.checks.options import AnswerItem, place, share
from autograder.checks.planning.planting import PlantedTable, table_trials
from autograder.checks.planning.targets import Targets, ValueTarget
from autograder.checks.values.tables import Columns, Matched, Names, UnreadableTable, read_table
from autograder.errors import RubricError
from autograder.kinds.general.table.columns import CellColumn
from autograder.kinds.general.table.following import FollowedShapes
from autograder.kinds.general.table.options import TableItem, TableQuestion, check_rows, read_columns
from autograder.messages import languages, render
from autograder.records import Answer, Call, ItemResult, Message, Status
from autograder.rubric import Item

Cell = tuple[str, str]
"""Row and column."""


class TableCheck(ItemwiseCheck[TableQuestion, TableItem]):
    """A table that is written down, judged cell by cell."""

    kind: ClassVar[str] = "table"
    question_type = TableQuestion

    item_type = TableItem

    def prepare(self) -> None:
        """Refuse rows and columns without a place; make the check of each column."""
        question, options = self.question, self.options
        if question.reference and options.config is None:
            raise RubricError(
                "what is the reference called with? Empty: config = {}", place(question), "config"
            )
        columns = read_columns(options, question)
        check_rows(options, columns, question)
        self.key = columns[0].id
        self.rows = {row.id: row for row in options.row}
        self.columns = {
            column.id: CellColumn(column, options, question, self.rubric) for column in columns[1:]
        }
        names = {row.id: row.aliases for row in options.row}
        self._names = Names(names, place(question), options.beside)
        self._columns = Columns({column.id: column.aliases for column in columns})
        reads = dict.fromkeys(self.items, AnswerItem())
        self._targets = Targets(question, reads, named=False, config=options.config)
        self.cells = {item.id: self._cells(item) for item, _ in self.automatic}
        self._followed = FollowedShapes(question, options, self.columns) if options.following else None
        self._names_asked = any(self.key in item.columns for item in self.items.values())
        if options.order == "given" and not self._names_asked:
            raise RubricError(
                f"it is judged in the column {self.key!r}; no item has it", place(question), "order"
            )

    def asked(self, answer: Answer, draw: Draw) -> tuple[Call, ...]:
        """The variable, where it does not stand in the source as a literal."""
        del draw
        return self._targets.plan(answer)

    def reference_plan(self) -> tuple[Call, ...]:
        """One call of the reference with the ``config``."""
        return self._targets.reference_plan()

    def trials(self, key: Answer) -> Sequence[Trial]:
        """One for every cell and row, and other notations, where the key's table is a list in the source."""
        asked = PlantedTable(
            self.question.answer,
            (self.key, *self.columns),
            self.cells,
            frozenset(item for item, options in self.items.items() if options.extra == "refuse"),
            self.options.order == "given",
            {row.id: row.factors for row in self.rows.values() if row.factors},
            frozenset(item for item, options in self.items.items() if options.own_points is not None),
        )
        wrong = {column.id: column.wrong_entry for column in self.columns.values()}
        return tuple(table_trials(key, asked, self._names.find, wrong))

    def judge(self, evidence: Evidence) -> tuple[ItemResult, ...]:
        """One result per item; the table is read once, and the reference asked only if a shape is wrong."""
        read = functools.cache(lambda: self.read(evidence))

        @functools.cache
        def follow() -> Any:
            table, followed = read(), self._followed
            return None if isinstance(table, Finding) or not followed else followed.follow(table, evidence)

        return self.each(evidence, lambda item, _: self._judge(item, read(), evidence, follow))

    def verdict(self, item: Item, options: TableItem, evidence: Evidence) -> Verdict:
        """Items are judged together; see `judge`."""
        raise NotImplementedError

    def read(self, evidence: Evidence) -> Matched | Finding:
        """The student's rows by the rubric's ids, or why there are none."""
        name = self.question.answer
        found = self._targets.value(name, None, evidence)
        if found.finding is not None:
            return found.finding
        what = name or self.question.answer_cell
        rows = read_table(found.value, self._columns)
        if isinstance(rows, UnreadableTable):
            message = Message(rows.code, {"what": what, **rows.params})
            return unread(message, f"{what}: {rows.code} {rows.params}")
        if not any(row.name or row.cells for row in rows):
            return no_answer("no-answer", f"{what} is empty")
        return self._names.match(rows)

    def _cells(self, item: Item) -> tuple[Cell, ...]:
        """The cells an item is about.

        Raises:
            RubricError: there are none, or the points cannot be divided among them.
        """
        options, where = self.items[item.id], place(self.question, item)
        for kind, names, known in (
            ("column", options.columns, (self.key, *self.columns)),
            ("row", options.rows, tuple(self.rows)),
        ):
            for name in names:
                if name not in known:
                    raise RubricError(f"{kind}s: no {kind} {name!r}; known are: {', '.join(known)}", where)
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
            share(item.points, len(cells), where)
        if options.own_points is not None and not (
            options.credit == "all" and NO_POINTS <= options.own_points < item.points
        ):
            raise RubricError('less than the points, and with credit = "all"', where, "own_points")
        return cells

    def _judge(
        self, item: Item, table: Matched | Finding, evidence: Evidence, follow: Callable[[], Any]
    ) -> ItemResult:
        if isinstance(table, Finding):
            return result(self.question, item, table)
        options, what = self.items[item.id], self.question.answer or self.question.answer_cell
        findings = [
            self._finding(row, column, table, evidence, follow) for row, column in self.cells[item.id]
        ]
        extra = len(table.extra) if options.extra == "refuse" else 0
        if extra:
            names = ", ".join(table.extra[:5])
            findings.append(failed("table.extra", f"{what}: extra rows: {names}", what=what, rows=names))
        return self._totalled(item, findings, extra)

    def _totalled(self, item: Item, findings: Sequence[Finding | None], extra: int) -> ItemResult:
        """Points by the cells that are right; what could not be decided goes to a person."""
        options, total = self.items[item.id], len(self.cells[item.id])
        of = {status: [one for one in findings if one and one.status is status] for status in Status}
        wrong = of[Status.FAILED] + of[Status.NO_ANSWER]
        own, ours = of[Status.PASSED], of[Status.NEEDS_REVIEW]
        if ours and (options.credit == "each" or not wrong):
            return result(self.question, item, ours[0])
        if wrong:
            right = total + min(extra, 1) - len(wrong)
            points = item.points / total * max(0, right - extra) if options.credit == "each" else NO_POINTS
            finding = together(wrong, right - len(ours), total, points)
            decides = any if options.credit == "each" else all
            is_open = decides(one.is_unread for one in wrong)
            return result(self.question, item, replace(finding, is_unread=is_open))
        if own and options.own_points is not None:
            return result(
                self.question, item, replace(own[0], status=Status.FAILED, points=options.own_points)
            )
        passed = result(self.question, item, None)
        return (
            replace(passed, student=own[0].message, staff=own[0].staff, code=own[0].code) if own else passed
        )

    def _finding(
        self, row: str, column: str, table: Matched, evidence: Evidence, follow: Callable[[], Any]
    ) -> Finding | None:
        """What is wrong in one cell: None where nothing is, PASSED for a sum of the student's own rows.

        Names of rows are only told where they are not asked for.
        """
        what = self.question.answer or self.question.answer_cell
        written = table.one(row)
        if written is None and self._names_asked:
            staff = f"{what}: no row {row}"
            return failed("table.fewer", staff, what=what, count=str(len(table.rows)))
        if written is None:
            return failed("table.row", f"{what}: no row {row}", what=what, row=row)
        name = f"{what} [{written.name}]"
        if column == self.key:
            moved = self.options.order == "given" and row in table.moved
            return failed("table.order", f"{name}: moved", what=name) if moved else None
        cell = f"{what} [{written.name}, {column}]"
        if written.entries:
            return failed(
                "table.width", f"{name}: {written.entries} entries", what=name, count=str(written.entries)
            )
        if len(table.rows[row]) > 1:
            return failed("table.twice", f"{name}: stands twice", what=name)
        if column not in written.cells:
            return failed("table.cell", f"{cell}: missing", what=cell)
        value = written.cells[column]
        finding = self.columns[column].finding(row, value, ValueTarget(cell), evidence)
        if finding is None or finding.status is not Status.FAILED:
            return finding
        if self._followed is not None:
            return self._followed.explain(row, table, finding, evidence, follow())
        if not self._own_sum((row, value), column, table, evidence):
            return finding
        return Finding(Status.PASSED, Message("table.own-sum", {"what": cell}), f"own sum; {finding.staff}")

    def _own_sum(self, total: tuple[str, Any], column: str, table: Matched, evidence: Evidence) -> bool:
        """Whether a wrong sum is right for the student's own rows."""
        factors = self.rows[total[0]].factors
        parts: dict[str, tuple[int, Any]] = {}
        for part, factor in factors.items():
            own = table.one(part)
            if own is None or column not in own.cells or len(table.rows[part]) > 1:
                return False
            parts[part] = (factor, own.cells[column])
        return bool(parts) and self.columns[column].fits_sum(total, parts, column, evidence)


MOST_TOLD = 3


def together(found: Sequence[Finding], right: int, total: int, points: Decimal) -> Finding:
    """One finding for all wrong cells of an item.

    Args:
        found: what is wrong; at least one.
        right: how many cells are right.
        total: how many there are.
        points: for the right ones.
    """
    different = list({(one.message.code, *one.message.params.items()): one for one in found}.values())
    staff = "; ".join(one.staff for one in different[: 2 * MOST_TOLD])
    if total == 1 and len(different) == 1:
        return Finding(Status.FAILED, different[0].message, staff, points)
    told = [failed("table.some", "", count=str(right), total=str(total)), *different[:MOST_TOLD]]
    text = {
        language: " ".join(render(one.message, language) for one in told)
        .replace("{", "{{")
        .replace("}", "}}")
        for language in languages()
    }
    codes = {one.message.code for one in different}
    code = codes.pop() if len(codes) == 1 else "table.some"
    return Finding(Status.FAILED, Message(code, text=text), f"{right} of {total} right; {staff}", points)


KIND = Kind(TableCheck, form="table")
