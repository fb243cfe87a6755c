"""Rows of a marking sheet: answers that need manual grading, and their form as a CSV file.

Rows and states are named by digests derived from the course's secret: they reveal nothing about a student,
and are valid only for this assignment. Changes that spreadsheets make to a table are handled: semicolons,
byte order marks, decimal commas, trailing blank lines, values that would be taken for formulas, truncated
cells. Input is never evaluated.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal

from msgspec import Struct

from autograder.core.errors import CourseError
from autograder.core.records import GradingResult
from autograder.core.stream import derive_key
from autograder.core.wording import Phrase, format_size
from autograder.grading.assignment import Assignment
from autograder.grading.grades import PersonMark
from autograder.grading.store import Store
from autograder.marking.points import collect_verdicts, compute_cell_points, is_within, list_items
from autograder.messages import build_localised_text
from autograder.pages.feedback.answers import MarkedCell
from autograder.pages.feedback.sanitise import to_printable_text
from autograder.rubric import Item, Question, Rubric

COLUMNS = (
    "assignment",
    "row",
    "who",
    "count",
    "question",
    "cell",
    "item",
    "title",
    "possible",
    "answer",
    "suggestion",
    "reason",
    "guide",
    "cell_points",
    "points",
    "comment",
    "remark",
    "flag",
    "state",
)
NEEDED = ("assignment", "row", "points", "comment", "state")
"""Columns that are read; the others inform graders, and may be changed or left out."""


MOST_BYTES = 64 << 20
FLAGGED = "yes"
"""Value in the column of flags; any other text that a grader writes there means the same."""
MOST_COMMENT = 20_000
"""Maximum length in characters."""
_MOST_CELL = 32_000
"""Maximum length of a cell in UTF-16 units; spreadsheet programs truncate cells longer than 32,767."""
_MOST_TEXT = 2_000_000
"""Maximum length of a text, in characters."""
_FORMULA = re.compile(r"'*\s*[=+\-@＝＋－＠]|'*[\t\r\n]")
"""Start of a cell that a spreadsheet may take for a formula, with the apostrophes that guard it."""
_NUMBER = re.compile(r"([+-]?)([0-9]{1,6})(?:[.,]([0-9]{1,6}))?")
_SEPARATOR_LINE = re.compile(r'"?sep=(.)"?\s*')
_UNKEEPABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]")
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


class SheetLine(Struct, frozen=True):
    """The values read from one row."""

    place: Phrase
    """``row 7``, as a spreadsheet counts."""
    assignment: str
    row: str
    who: str
    """As in the row; used only in messages."""
    points: str
    comment: str
    remark: str | None
    """On the item; None: the sheet has no such column."""
    flag: str | None
    """`FLAGGED`, or empty; None: the sheet has no such column."""
    state: str


def write_sheet(rows: Sequence[Mapping[str, str]]) -> bytes:
    """Serialise rows as a file.

    Args:
        rows: values of `COLUMNS`, as returned by `to_plain_text`.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    writer.writerows([guard_value(_truncate_text(row[name])) for name in COLUMNS] for row in rows)
    # The byte order mark makes spreadsheet programs read the file as UTF-8.
    return text.getvalue().encode("utf-8-sig")


def to_plain_text(text: str) -> str:
    """Make text safe to round-trip: characters that hide, reorder or break are spelled out or removed."""
    return to_printable_text(text, _MOST_TEXT)


def normalise_comment(text: str) -> str:
    """Normalise a comment: line ends and surrounding space, which files and programs change."""
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


def _truncate_text(text: str) -> str:
    # Spreadsheet programs count UTF-16 units; characters outside the BMP count twice.
    units = text.encode("utf-16-le")
    if len(units) <= 2 * _MOST_CELL:
        return text
    # The cut may split a surrogate pair; its first half is dropped.
    shown = units[: 2 * _MOST_CELL].decode("utf-16-le", "ignore")
    return f"{shown}\n[… cut here: the whole text has {len(text)} characters]"


def guard_value(value: str) -> str:
    """Protect a value from being taken for a formula; numbers stay numbers. `strip_guard` reverts it."""
    if _FORMULA.match(value) and not _NUMBER.fullmatch(value):
        return f"'{value}"
    return value


def strip_guard(value: str) -> str:
    """Revert `guard_value`."""
    return value[1:] if value.startswith("'") and _FORMULA.match(value) else value


def parse_points(text: str) -> Decimal | None:
    """Parse points as people type them, with a comma or a point; None for an empty cell.

    Raises:
        ValueError: it is something else.
    """
    # Spreadsheet programs may write the minus sign U+2212.
    stripped = text.strip().replace("−", "-")
    if not stripped:
        return None
    match = _NUMBER.fullmatch(stripped)
    if match is None or not stripped.isascii():
        raise ValueError(build_localised_text("fault.sheet-points", given=ascii(text[:40])))
    sign, whole, part = match.groups()
    return Decimal(f"{sign}{whole}.{part or 0}").normalize()


def read_sheet(data: bytes) -> list[SheetLine]:
    """Read the rows of a file; blank rows are skipped.

    Raises:
        CourseError: it is too large, not readable as text, or lacks a column; names the line.
    """
    if len(data) > MOST_BYTES:
        raise CourseError(build_localised_text("fault.sheet-large", most=format_size(MOST_BYTES)))
    return list(_parse_csv_rows(_decode_text(data)))


def _decode_text(data: bytes) -> str:
    try:
        return data.decode("utf-16" if data.startswith(_UTF16) else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise CourseError(build_localised_text("fault.sheet-utf8", byte=error.start)) from error


def _parse_csv_rows(text: str) -> Iterator[SheetLine]:
    separator_line = _SEPARATOR_LINE.match(text.partition("\n")[0])
    if separator_line:
        text = text.partition("\n")[2]
    first = text.lstrip().partition("\n")[0]
    # Column names contain no separators, so the most frequent candidate in the header is the separator.
    separator = separator_line[1] if separator_line else max(",;\t", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    names: list[str] = []
    try:
        for number, values in enumerate(reader, start=1):
            if not any(value.strip() for value in values):
                continue
            label = build_localised_text("fault.sheet-row", row=number)
            if not names:
                names = [strip_guard(value).strip().lower() for value in values]
                _check_columns(names)
                continue
            # Empty cells at the end are harmless: spreadsheet programs pad rows with them.
            if any(value.strip() for value in values[len(names) :]):
                sizes = {"number": len(names), "given": len(values)}
                raise CourseError(build_localised_text("fault.sheet-values", row=number, **sizes))
            padded = [*values, *[""] * (len(names) - len(values))]
            yield _make_line(
                label,
                {name: strip_guard(value_read) for name, value_read in zip(names, padded, strict=False)},
            )
    except csv.Error as error:
        raise CourseError(build_localised_text("fault.sheet-line", line=reader.line_num)) from error
    if not names:
        _check_columns(())


def _check_columns(names: Sequence[str]) -> None:
    missing = [name for name in NEEDED if name not in names]
    if missing:
        raise CourseError(build_localised_text("fault.sheet-missing", columns=", ".join(missing)))
    twice = [name for name in NEEDED if names.count(name) > 1]
    if twice:
        raise CourseError(build_localised_text("fault.sheet-twice", columns=", ".join(twice)))


def _check_kept_text(label: Phrase, name: str, written: str) -> str:
    text = normalise_comment(written)
    if fault := _UNKEEPABLE.search(text):
        character = ascii(fault[0])
        raise CourseError(
            build_localised_text("fault.sheet-character", row=label, column=name, character=character)
        )
    if len(text) > MOST_COMMENT:
        sizes = {"number": len(text), "most": MOST_COMMENT}
        raise CourseError(build_localised_text("fault.sheet-long", row=label, column=name, **sizes))
    return text


def _make_line(label: Phrase, values: Mapping[str, str]) -> SheetLine:
    comment, remark = (
        _check_kept_text(label, name, values[name]) if name in values else None
        for name in ("comment", "remark")
    )
    return SheetLine(
        label,
        values["assignment"].strip(),
        values["row"].strip(),
        values.get("who", "").strip(),
        values["points"],
        comment or "",
        remark,
        None if (flag := values.get("flag")) is None else FLAGGED if flag.strip() else "",
        values["state"].strip(),
    )


_SEEN, _OWN, _VALUES = 8, 4, 4
"""Lengths in bytes of the parts of a state: the content that a grader saw, the identity of the row, and its
values."""


class SheetSubject(Struct, frozen=True, eq=False):
    """A class with answers on a sheet."""

    assignment: Assignment
    store: Store
    results: Mapping[str, GradingResult]
    """Results of the members of the class."""


class SheetAnswer(Struct, frozen=True):
    """One student's answer in a cell, with its verdicts and mark."""

    student: str
    question: Question
    cell: str
    marked_items: tuple[Item, ...]
    """The manually graded items."""
    verdicts: Mapping[str, Decimal | None]
    mark: PersonMark
    text: str
    group: str
    """Group of equal answers; empty: not grouped."""
    reasons: Mapping[str, str] = {}
    """Item → reason for manual review, for staff; nothing for items that are always graded manually."""

    @property
    def open(self) -> bool:
        """Whether it needs manual grading."""
        return self.mark.points is None or self.mark.again

    def get_points(self, item: Item) -> Decimal | None:
        """Return the points that a grader gave an item, if they are known and valid."""
        if self.mark.again:
            return None
        if self.mark.items or self.mark.points is None:
            return self.mark.items.get(item.id)
        if len(self.marked_items) > 1:
            return None
        # A mark of the whole cell determines the points of its only manual item.
        item_points = self.mark.points - sum(
            (verdict for verdict in self.verdicts.values() if verdict is not None), Decimal(0)
        )
        alone = compute_cell_points(self.question, self.cell, self.verdicts, {item.id: item_points})
        return item_points if is_within(item_points, item) and alone == self.mark.points else None


class SheetBundle(Struct, frozen=True):
    """The answers behind one row of each item: one, or all equal ones."""

    key: str
    """Name from which its rows are derived."""
    label: str
    """Label in sheets without names."""
    answers: tuple[SheetAnswer, ...]

    @property
    def first(self) -> SheetAnswer:
        """Any of them: question, items and verdicts are the same for all."""
        return self.answers[0]

    def format_item_points(self, item: Item) -> str:
        """Return an item's points for a sheet; empty if there are none, or different ones."""
        distinct = {answer.get_points(item) for answer in self.answers}
        return format_number(distinct.pop()) if len(distinct) == 1 else ""

    @property
    def comment(self) -> str:
        """The comment for a sheet; empty if there are different ones."""
        distinct = {
            normalise_comment(to_plain_text(answer.mark.comment)[:MOST_COMMENT]) for answer in self.answers
        }
        return distinct.pop() if len(distinct) == 1 else ""

    def get_remark(self, item: Item) -> str:
        """Return the remark on an item for a sheet; empty if there are different ones."""
        distinct = {
            normalise_comment(to_plain_text(answer.mark.remarks.get(item.id, ""))[:MOST_COMMENT])
            for answer in self.answers
        }
        return distinct.pop() if len(distinct) == 1 else ""

    def get_reason(self, item: Item) -> str:
        """Return the reason for an item's manual review; all reasons if there are several."""
        return "; ".join(
            dict.fromkeys(filter(None, (answer.reasons.get(item.id) for answer in self.answers)))
        )

    @property
    def flag(self) -> str:
        """The flag for a sheet; empty if an answer has none."""
        return FLAGGED if all(answer.mark.flagged for answer in self.answers) else ""

    @property
    def students(self) -> str:
        """The students with these answers."""
        return to_plain_text(", ".join(answer.student for answer in self.answers))

    def hash_seen(self, secret: bytes) -> str:
        """Return a digest of everything that a grader sees: texts, marks, and possible points."""
        shown = [
            [
                answer.student,
                answer.text,
                format_number(answer.mark.points),
                format_number(answer.mark.extra),
                answer.mark.again,
                answer.mark.comment,
                *([FLAGGED] if answer.mark.flagged else []),
                *([sorted(answer.mark.remarks.items())] if answer.mark.remarks else []),
                sorted((name, format_number(points)) for name, points in answer.mark.items.items()),
                [(item.id, format_number(item.points)) for item in answer.marked_items],
                sorted((name, format_number(points)) for name, points in answer.verdicts.items()),
            ]
            for answer in self.answers
        ]
        # The label separates digests by purpose, so that none can be passed off as another.
        return derive_key(secret, "sheet seen", json.dumps(shown))[:_SEEN].hex()

    def make_row_name(self, secret: bytes, item: Item) -> str:
        """Return the name of an item's row."""
        digest = derive_key(secret, "sheet row", self.key, self.first.question.id, self.first.cell, item.id)
        return f"r{digest[:8].hex()}"


def format_number(points: Decimal | None) -> str:
    """Format points for a sheet; empty for None."""
    return "" if points is None else f"{points.normalize():f}"


class SheetState(Struct, frozen=True):
    """The state of a row at the time of writing, as three digests in hexadecimal."""

    seen: str
    """Digest of the content that the grader saw (`SheetBundle.hash_seen`)."""
    identity: str
    """Digest that binds the state to this row, assignment and course."""
    values: str
    """Digest of the points, comment, remark and flag in the row."""

    @classmethod
    def from_row(
        cls, secret: bytes, assignment: str, row: str, seen: str, values: tuple[str, ...] = ("", "")
    ) -> SheetState:
        """Return the state of a row with these points, this comment, and an optional flag and remark."""
        # Only this course can compute it, so that a foreign or forged row is recognised.
        row_digest = derive_key(secret, "sheet state", assignment, row, seen)[:_OWN].hex()
        return cls(seen, row_digest, derive_key(secret, "sheet values", row, *values)[:_VALUES].hex())

    @classmethod
    def from_text(cls, written: str) -> SheetState:
        """Parse the state in a sheet; other input gives a state that matches no row."""
        seen_end, identity_end = 1 + 2 * _SEEN, 1 + 2 * (_SEEN + _OWN)
        return cls(written[1:seen_end], written[seen_end:identity_end], written[identity_end:])

    def __str__(self) -> str:
        """Format it for a sheet; the leading letter keeps programs from taking it for a number."""
        return f"v{self.seen}{self.identity}{self.values}"


def collect_answers(subject: SheetSubject) -> tuple[list[SheetAnswer], list[str]]:
    """Return every answer that needs manual grading, and the students with outdated results.

    Raises:
        GradebookError: the store reported an error.
    """
    assignment, secret = subject.assignment, subject.assignment.course.load_secret()
    marks = subject.store.load_marks(assignment.name)
    answers: list[SheetAnswer] = []
    outdated = []
    for student, graded in subject.results.items():
        rubric = assignment.get_rubric(student)
        if _is_outdated(graded, rubric):
            outdated.append(student)
            continue
        student_marks = marks.get(student, {})
        for question in rubric.questions:
            for cell in question.list_cells():
                items = list_items(question, cell)
                verdicts = collect_verdicts(question, cell, graded.score)
                manual_items = tuple(item for item in items if verdicts[item.id] is None)
                if not manual_items:
                    continue
                # Students with different variants answered different questions, so they are not grouped.
                whole = all(item.manual for item in items) and rubric.draws is None
                marked = MarkedCell(
                    question, cell, manual_items, whole and len(manual_items) == len(items), secret
                )
                text = marked.collect_answers([graded]).get(student, "")
                mark = student_marks.get((question.notebook, cell), PersonMark())
                group = marked.name_group(text)
                why = {
                    result.item: result.staff
                    for result in graded.score.items
                    if result.question == question.id and result.code != "review.person"
                }
                answers.append(
                    SheetAnswer(student, question, cell, manual_items, verdicts, mark, text, group, why)
                )
    return answers, outdated


def _is_outdated(graded: GradingResult, rubric: Rubric) -> bool:
    """Decide whether a result has other points than the rubric, so that new marks would not fit it."""
    possible_points = {(result.question, result.item): result.possible for result in graded.score.items}
    return graded.score.rubric_version != rubric.version or any(
        possible_points.get((question.id, item.id)) != max(item.points, Decimal(0))
        for question in rubric.questions
        for item in question.items
    )


def make_bundles(subject: SheetSubject, answers: Iterable[SheetAnswer], *, groups: bool) -> list[SheetBundle]:
    """Return the bundles behind rows in the rubric's order, and within a cell in a pseudonymous order."""
    name, secret = subject.assignment.name, subject.assignment.course.load_secret()
    order = {question.id: position for position, question in enumerate(subject.assignment.rubric.questions)}
    members: dict[tuple[str, str, str], list[SheetAnswer]] = {}
    for answer in answers:
        kind, key = ("group", answer.group) if groups and answer.group else ("student", answer.student)
        members.setdefault((answer.cell, kind, key), []).append(answer)
    bundles = []
    for (_, kind, key), together in members.items():
        digest = derive_key(secret, f"sheet {kind}", name, key)[:6].hex()
        sorted_answers = tuple(sorted(together, key=lambda answer: answer.student))
        bundles.append(SheetBundle(f"{kind} {name} {key}", f"{kind[0]}{digest}", sorted_answers))
    return sorted(
        bundles, key=lambda answer: (order[answer.first.question.id], answer.first.cell, answer.label)
    )
