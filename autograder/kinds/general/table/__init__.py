"""The kind ``table``: rows by name, whose cells are numbers, quantities, shapes and choices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from msgspec.structs import replace

from autograder.checks.base import Draw, Evidence, Trial
from autograder.checks.judging.manual import manual
from autograder.checks.judging.results import NO_POINTS, Finding, blank, failed, no_answer, result
from autograder.checks.options import AnswerItem, CallOptions, item_options, place, question_options, share
from autograder.checks.planning.targets import Target, Targets
from autograder.errors import RubricError
from autograder.kinds.general.table.cells import CellColumn
from autograder.kinds.general.table.explain import together
from autograder.kinds.general.table.matching import Matched, Names
from autograder.kinds.general.table.options import TableItem, TableQuestion, check_rows, read_columns
from autograder.kinds.general.table.reading import Columns, Unread, read_table
from autograder.kinds.general.table.trials import Asked, trials
from autograder.records import Answer, ItemResult, Message, Scenario, Status
from autograder.rubric import Item, Question, Rubric
from autograder.wording import Phrase

Cell = tuple[str, str]
"""Row and column."""


class TableCheck:
    """A table that is written down, judged cell by cell."""

    kind: ClassVar[str] = "table"
    question_type: type[TableQuestion] = TableQuestion
    item_type = TableItem

    def __init__(self, question: Question, rubric: Rubric) -> None:
        """Validate the options; see `autograder.checks.base.Check`."""
        self.question = question
        self.options = question_options(question, self.question_type)
        self.items = item_options(question, TableItem)
        if question.reference and self.options.config is None:
            raise RubricError(
                f"{place(question)}: config: what is the reference called with? Empty: config = {{}}"
            )
        columns = read_columns(self.options, question)
        check_rows(self.options, columns, question)
        self.key = columns[0].id
        self.rows = {row.id: row for row in self.options.row}
        self.columns = {
            column.id: CellColumn(column, self.options.row, self.options.config, question, rubric)
            for column in columns[1:]
        }
        self._names = Names(self.options.row, place(question), self.options.beside)
        self._columns = Columns({column.id: column.aliases for column in columns})
        self._targets = Targets(
            question,
            CallOptions(),
            dict.fromkeys(self.items, AnswerItem()),
            named=False,
            config=self.options.config,
        )
        self.cells = {item.id: self._cells(item) for item in question.items if item.id in self.items}
        self._names_asked = any(self.key in item.columns for item in self.items.values())
        if self.options.order == "given" and not self._names_asked:
            raise RubricError(
                f"{place(question)}: order: it is judged in the column {self.key!r}; no item has it"
            )

    def plan(self, answer: Answer, draw: Draw) -> tuple[Scenario, ...]:
        """The variable, where it does not stand in the source as a literal."""
        return () if blank(answer) else self._targets.plan(answer, draw)

    def reference_plan(self, draw: Draw) -> tuple[Scenario, ...]:
        """One call of the reference with the ``config``."""
        return self._targets.reference_plan(draw)

    def trials(self, key: Answer) -> Sequence[Trial]:
        """One for every cell and row, and other notations, where the key's table is a list in the source."""
        asked = Asked(
            self.question.answer,
            (self.key, *self.columns),
            self.cells,
            frozenset(item for item, options in self.items.items() if options.extra == "refuse"),
            self.options.order == "given",
            {row.id: row.factors for row in self.rows.values() if row.factors},
            frozenset(item for item, options in self.items.items() if options.own_points is not None),
        )
        wrong = {column.id: column.wrong_entry for column in self.columns.values()}
        return tuple(trials(key, asked, self._names.find, wrong))

    def judge(self, evidence: Evidence) -> tuple[ItemResult, ...]:
        """One result per item; see `autograder.checks.base.Check`."""
        read: dict[Target, Matched | Finding] = {}
        results = []
        for item in self.question.items:
            if item.manual:
                results.append(manual(self.question, item, evidence))
            elif blank(evidence.answer):
                results.append(result(self.question, item, no_answer()))
            else:
                target = self._targets.of_item(item)[0]
                if target not in read:
                    read[target] = self.read(target, evidence)
                results.append(self._judge(item, read[target], target, evidence))
        return tuple(results)

    def read(self, target: Target, evidence: Evidence) -> Matched | Finding:
        """The student's rows by the rubric's ids, or why there are none."""
        found = self._targets.value(target, None, evidence)
        if found.finding is not None:
            return found.finding
        what = target.what or self.question.answer_cell
        rows = read_table(found.value, self._columns)
        if isinstance(rows, Unread):
            return failed(rows.code, f"{what}: {rows.code} {rows.params}", what=what, **rows.params)
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
                    raise RubricError(f"{where}: {kind}s: no {kind} {name!r}; known are: {', '.join(known)}")
        cells = tuple(
            (row, column)
            for row in options.rows or self.rows
            for column in options.columns
            if column == self.key or row in self.columns[column].rows
        )
        if not cells:
            raise RubricError(
                f"{where}: columns: nothing says what is right there: state cells or a reference"
            )
        if options.credit == "each":
            share(item.points, len(cells), where)
        if options.own_points is not None and not (
            options.credit == "all" and NO_POINTS <= options.own_points < item.points
        ):
            raise RubricError(f'{where}: own_points: less than the points, and with credit = "all"')
        return cells

    def _judge(self, item: Item, table: Matched | Finding, target: Target, evidence: Evidence) -> ItemResult:
        if isinstance(table, Finding):
            return result(self.question, item, table)
        options, what = self.items[item.id], target.what or self.question.answer_cell
        findings = [self._finding(row, column, table, what, evidence) for row, column in self.cells[item.id]]
        extra = len(table.extra) if options.extra == "refuse" else 0
        if extra:
            names = ", ".join(table.extra[:5])
            findings.append(failed("table.extra", f"{what}: extra rows: {names}", what=what, rows=names))
        return self._result(item, findings, extra)

    def _result(self, item: Item, findings: Sequence[Finding | None], extra: int) -> ItemResult:
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
            return result(self.question, item, together(wrong, right, total, points))
        if own and options.own_points is not None:
            return result(
                self.question, item, replace(own[0], status=Status.FAILED, points=options.own_points)
            )
        passed = result(self.question, item, None)
        return (
            replace(passed, student=own[0].message, staff=own[0].staff, code=own[0].code) if own else passed
        )

    def _finding(
        self, row: str, column: str, table: Matched, what: Phrase, evidence: Evidence
    ) -> Finding | None:
        """What is wrong in one cell: None where nothing is, PASSED for a sum of the student's own rows.

        Names of rows are only told where they are not asked for.
        """
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
        finding = self.columns[column].finding(row, value, Target(cell), evidence)
        if finding is None or finding.status is not Status.FAILED:
            return finding
        return self.own_result((row, column), table, cell, finding, evidence)

    def own_result(
        self, cell: Cell, table: Matched, what: Phrase, finding: Finding, evidence: Evidence
    ) -> Finding:
        """A wrong cell in the light of the student's other rows.

        Args:
            cell: row and column.
            table: all rows.
            what: names the cell.
            finding: what is wrong.
            evidence: for what is right.

        Returns:
            The same, other words for it, or PASSED where it is right for the student's own rows.
        """
        row, column = cell
        written = table.one(row)
        if written is None or not self._own_sum((row, written.cells[column]), column, table, evidence):
            return finding
        return Finding(Status.PASSED, Message("table.own-sum", {"what": what}), f"own sum; {finding.staff}")

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
