"""What the kinds of tables share: rows by name, whose cells are judged by the checks of other kinds."""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import fields, replace

from autograder.checks.base import Draw, Evidence, Trial
from autograder.checks.compared import ComparedCheck
from autograder.checks.itemwise import ItemwiseCheck
from autograder.checks.judging.oracle import KnownValues, read_reply
from autograder.checks.judging.results import (
    NO_POINTS,
    Finding,
    failed,
    no_answer,
    observations_at,
    reference_value,
    result,
    review,
    unread,
)
from autograder.checks.options import AnswerItem, place, share
from autograder.checks.planning.planting import PlantedTable, table_trials
from autograder.checks.planning.targets import Targets, ValueTarget
from autograder.checks.values.tables import Columns, Matched, Names, UnreadableTable, read_table
from autograder.errors import RubricError
from autograder.messages import languages, render
from autograder.records import Answer, ItemResult, Message, Opaque, Scenario, Status
from autograder.rubric import Item, Question, Rubric
from autograder.tables import check_known_keys as refuse_unknown
from autograder.tables import convert
from autograder.wording import Phrase

KEY = "key"
"""The kind of the first column, which names the rows."""


class TableRow(Struct, frozen=True, forbid_unknown_fields=True):
    """One row that is asked for."""

    id: str
    aliases: tuple[str, ...] = ()
    """Further names that students may write in the first column."""
    cells: dict[str, Any] = {}
    """By column: what is right, or a table with the options of an item of the column's kind."""
    skip: tuple[str, ...] = ()
    """Columns in which this row has nothing to judge."""
    sum: dict[str, int] | tuple[str, ...] = ()
    """This row is the sum of these rows (each times a factor), also of the student's own."""

    @property
    def factors(self) -> Mapping[str, int]:
        """Row → factor of the sum."""
        return self.sum if isinstance(self.sum, Mapping) else dict.fromkeys(self.sum, 1)


class Column(Struct, frozen=True):
    """One column; ``options`` are those of a question of its kind."""

    id: str
    kind: Literal["key", "number", "shape", "choice"]
    aliases: tuple[str, ...] = ()
    options: dict[str, Any] = {}


class TableQuestion(Struct, frozen=True):
    """Options of a ``table`` question."""

    column: tuple[dict[str, Any], ...] = ()
    row: tuple[TableRow, ...] = ()
    order: Literal["free", "given"] = "free"
    """``given``: the rows are asked for in the rubric's order."""
    beside: tuple[str, ...] = ()
    """Names of rows that are true but not asked for, with ``*`` for anything: they cost nothing."""
    config: dict[str, Any] | None = None
    """What the reference is called with; it says what is right in the cells that are not stated."""


class TableItem(Struct, frozen=True):
    """Options of an item of a ``table`` question."""

    columns: tuple[str, ...]
    rows: tuple[str, ...] = ()
    """Default: all."""
    credit: Literal["all", "each"] = "each"
    """``each``: an equal part of the points for each cell; ``all``: every cell or nothing."""
    extra: Literal["ignore", "refuse"] = "ignore"
    """``refuse``: a row that is not asked for takes the part of one cell away."""
    own_points: Decimal | None = None
    """For a sum that is right for the student's own rows; default: as if it were right."""


NOT_IN_A_TABLE = ("config",)
"""Options of questions about calls: the cells of a table are written down."""


def read_columns(options: TableQuestion, question: Question) -> tuple[Column, ...]:
    """The columns, the first of which names the rows.

    Raises:
        RubricError: there are none but the first, one has no kind, or two have one name.
    """
    columns = []
    own = {field.encode_name for field in msgspec.structs.fields(Column)} - {"options"}
    for number, table in enumerate(options.column, start=1):
        where = place(question).at(f", column {table.get('id', number)!r}", "column", number - 1)
        rest = {key: value for key, value in table.items() if key not in own}
        for key in NOT_IN_A_TABLE:
            if key in rest:
                raise RubricError("cells are written down; nothing is called for them", where, key)
        stated = {key: value for key, value in table.items() if key in own}
        columns.append(convert({**stated, "options": rest}, Column, where))
    names = [column.id for column in columns]
    if len(columns) < 2 or [column.kind == KEY for column in columns] != [True] + [False] * (len(names) - 1):
        raise RubricError(f"the first one has kind {KEY!r}, further ones follow", place(question), "column")
    if len(set(names)) != len(names):
        raise RubricError("two have one id", place(question), "column")
    return tuple(columns)


def check_rows(options: TableQuestion, columns: tuple[Column, ...], question: Question) -> None:
    """Refuse rows without a place, and sums of rows that are none.

    Raises:
        RubricError: names question and row.
    """
    rows = [row.id for row in options.row]
    if not rows or len(set(rows)) != len(rows):
        raise RubricError("at least one is needed, each with an id of its own", place(question), "row")
    known = [column.id for column in columns[1:]]
    for row in options.row:
        where = place(question).at(f", row {row.id!r}", "row", row.id)
        for name in (*row.cells, *row.skip):
            if name not in known:
                raise RubricError(f"no column {name!r}; known are: {', '.join(known)}", where)
        for name in row.factors:
            if name not in rows or name == row.id:
                raise RubricError(f"no other row {name!r}; known are: {', '.join(rows)}", where, "sum")


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


Compared = ComparedCheck[Any, Any]
T = TypeVar("T", bound=TableQuestion)
"""The kind's question options."""

_WRONG: Mapping[str, Any] = {
    "number": -1,
    "shape": (0, 0, 0, 0, 0),
    "choice": "no such choice",
}


class CellColumn:
    """One column: which of its cells there are, and whether what stands in one is right."""

    def __init__(
        self, column: Column, table: TableQuestion, question: Question, rubric: Rubric, check: type[Any]
    ) -> None:
        """Make the check of the column's kind.

        Args:
            column: the column.
            table: its rows, and what its reference is called with.
            question: the table's question.
            rubric: for symbols.
            check: of the column's kind.

        Raises:
            RubricError: a cell has no right value, or one that is not of the column's kind.
        """
        self.id, self.kind = column.id, column.kind
        config, is_compared = table.config, issubclass(check, ComparedCheck)
        options = fields(check.question_type)
        names = {field.encode_name for field in (*fields(Column), *options)} - {"options", *NOT_IN_A_TABLE}
        refuse_unknown(
            column.options, names, place(question).at(f", column {column.id!r}", "column", column.id)
        )
        asked = [row for row in table.row if column.id not in row.skip]
        if not is_compared or config is None:
            asked = [row for row in asked if column.id in row.cells]
        self.rows = tuple(row.id for row in asked)
        own = replace(
            question,
            id=f"{question.id}.{column.id}",
            kind=column.kind,
            answer=question.answer or "table",
            items=tuple(_item(row, column, question) for row in asked),
            options={**column.options, **({"config": config} if is_compared and config is not None else {})},
        )
        self.wrong_entry = _WRONG[column.kind]
        """What is right in no row, whatever is."""
        self.items = {item.id: item for item in own.items}
        """The cells as items of the column's question, by row."""
        made = check(own, rubric)
        self.check: Compared | None = made if is_compared else None
        """Of the column's kind; None for choices."""
        self._choice = None if is_compared else made

    def finding(self, row: str, value: Any, target: ValueTarget, evidence: Evidence) -> Finding | None:
        """What is wrong with the value of one cell; None when it is right."""
        item = self.items[row]
        if self._choice is not None:
            finding: Finding | None = self._choice.chosen_finding(item, value, target)
            if finding is None or finding.code == "choice.unknown":  # which quotes what is unknown
                return finding
            return failed("table.choice", str(target.what), what=target.what)
        assert self.check is not None  # noqa: S101 - one of the two was made
        known = self._known(self.check, item, evidence)
        return self.check.judged(value, known, item, target).finding

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
        check, target = self.check, ValueTarget(str(what))
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

    def _known(self, check: Compared, item: Item, evidence: Evidence) -> KnownValues:
        """What is right in one cell: what the rubric states, otherwise what the reference says."""
        stated = check.stated(item)
        answer, fault = (None, None)
        if check.options.config is not None:
            answer, fault = reference_value(observations_at(evidence.expected, 0), 0)
        found = read_reply(answer, (item.id, self.id))
        if check.has_value(item):
            return KnownValues(stated, found.wrong)
        if fault is None and found.right is None:
            fault = review(f"the reference says nothing about {item.id}, {self.id}")
        return KnownValues((found.right, *stated), found.wrong, fault)


def _item(row: TableRow, column: Column, question: Question) -> Item:
    """The cell as an item of its column; worth 1, because the table gives the points."""
    cell = row.cells.get(column.id, {})
    if not isinstance(cell, Mapping):
        name = "value" if column.kind != "choice" else "right"
        cell = {name: [cell] if name == "right" and isinstance(cell, str) else cell}
    for mistake in cell.get("mistake", ()):
        if isinstance(mistake, Mapping) and mistake.get("points"):
            where = place(question).at(f", row {row.id!r}, column {column.id!r}", "row", row.id, column.id)
            raise RubricError("points: a cell is right or wrong; leave them out", where, "mistake")
    return Item(row.id, Decimal(1), {}, options=cell)


Cell = tuple[str, str]
"""Row and column."""


class TabularCheck(ItemwiseCheck[T, TableItem]):
    """A table that is written down, judged cell by cell."""

    item_type = TableItem

    @staticmethod
    @abstractmethod
    def check_of(name: str) -> type[Any]:
        """The check of a kind that stands in a column."""

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
            column.id: CellColumn(column, options, question, self.rubric, self.check_of(column.kind))
            for column in columns[1:]
        }
        names = {row.id: row.aliases for row in options.row}
        self._names = Names(names, place(question), options.beside)
        self._columns = Columns({column.id: column.aliases for column in columns})
        reads = dict.fromkeys(self.items, AnswerItem())
        self._targets = Targets(question, reads, named=False, config=options.config)
        self.cells = {item.id: self._cells(item) for item, _ in self.automatic}
        self._names_asked = any(self.key in item.columns for item in self.items.values())
        if options.order == "given" and not self._names_asked:
            raise RubricError(
                f"it is judged in the column {self.key!r}; no item has it", place(question), "order"
            )

    def asked(self, answer: Answer, draw: Draw) -> tuple[Scenario, ...]:
        """The variable, where it does not stand in the source as a literal."""
        del draw
        return self._targets.plan(answer)

    def reference_plan(self) -> tuple[Scenario, ...]:
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
        """One result per item; each table is read once."""
        read = functools.cache(lambda name: self.read(name, evidence))
        return self.each(
            evidence, lambda item, _: self._judge(item, read(self._targets.of_item(item)), evidence)
        )

    def verdict(self, item: Item, options: TableItem, evidence: Evidence) -> ItemResult:
        """What is wrong in the cells of one item."""
        del options
        return self._judge(item, self.read(self._targets.of_item(item), evidence), evidence)

    def read(self, name: str, evidence: Evidence) -> Matched | Finding:
        """The student's rows by the rubric's ids, or why there are none."""
        found = self._targets.value(name, None, evidence)
        if found.finding is not None:
            return found.finding
        what = name or self.question.answer_cell
        rows = read_table(found.value, self._columns)
        if isinstance(rows, UnreadableTable) and isinstance(found.value, Opaque):
            message = Message(rows.code, {"what": what, **rows.params})
            return unread(message, f"{what}: {rows.code} {rows.params}")
        if isinstance(rows, UnreadableTable):
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

    def _judge(self, item: Item, table: Matched | Finding, evidence: Evidence) -> ItemResult:
        if isinstance(table, Finding):
            return result(self.question, item, table)
        options, what = self.items[item.id], self._targets.of_item(item) or self.question.answer_cell
        findings = [self._finding(row, column, table, what, evidence) for row, column in self.cells[item.id]]
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
        finding = self.columns[column].finding(row, value, ValueTarget(cell), evidence)
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
