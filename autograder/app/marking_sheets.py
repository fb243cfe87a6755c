"""Marking elsewhere: export answers that need manual grading as a sheet, and import the marks in it.

A row is one item of one answer, or of all equal answers. Each has a state: a digest of the answer and mark
that the grader saw. An answer or mark that has changed since is never overwritten, and an untouched row is
never imported. The state also shows that a row was written for exactly this assignment.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from autograder.app import SILENT, Listener
from autograder.app.class_roll import read_roll, restore_marks
from autograder.app.marking_sheet_rows import (
    MOST_BYTES,
    SheetAnswer,
    SheetBundle,
    SheetLine,
    SheetState,
    SheetSubject,
    collect_answers,
    format_number,
    make_bundles,
    parse_points,
    read_sheet,
    to_plain_text,
    write_sheet,
)
from autograder.app.stores import OpenStore, open_store
from autograder.core import atomic
from autograder.core.errors import CourseError, GradebookError
from autograder.core.tables import join_names, suggest_name
from autograder.core.wording import Phrase, join_phrases
from autograder.course import Course
from autograder.grading import assignment as assignments
from autograder.grading.assignment import Assignment
from autograder.grading.grades import CellName, PersonMark
from autograder.grading.store import Store
from autograder.marking.points import compute_cell_points, get_bounds, is_within
from autograder.messages import build_localised_text
from autograder.pages.feedback.labels import Labels
from autograder.questions.base.judging.manual import read_manual_options
from autograder.questions.base.values import prose
from autograder.rubric import Item, Question


class SheetChoice(Struct, frozen=True):
    """Selection of the content of a sheet."""

    cells: Collection[str] = ()
    """Only these grade cells; empty: all."""
    flagged: bool = False
    """Only flagged answers."""
    waiting: bool = False
    """Only answers without a mark, or with one that needs another look."""
    names: bool = False
    """Students' ids instead of pseudonyms."""
    groups: bool = False
    """One row for all equal answers."""


class MarkingSheet(Struct, frozen=True):
    """Content of a sheet to be written."""

    rows: tuple[Mapping[str, str], ...]
    remarks: tuple[str, ...]
    """For staff, a sentence each."""


class SheetChange(Struct, frozen=True):
    """The change of one answer, or of all equal ones."""

    place: Phrase
    """Position of its first row."""
    who: str
    cell: str
    before: tuple[Decimal | None, ...]
    """The distinct previous points of its cell, None for none."""
    points: Decimal | None
    """Of the cell; None: only the comment changes."""
    comment: bool
    """Whether the comment, or a remark on an item, changes."""
    flag: bool
    """Whether the flag is set or removed."""
    marks: tuple[tuple[str, CellName, PersonMark], ...]
    """Marks to enter, by student."""

    def explain(self, reason: Phrase) -> Phrase:
        """Return why it is not entered, with its place."""
        return join_phrases((self.place + f" ({self.who})", reason), ": ")


class SheetPlan(Struct, frozen=True):
    """Planned changes of a sheet."""

    assignment: str
    errors: tuple[Phrase, ...] = ()
    """Errors that prevent the whole import."""
    refused: tuple[Phrase, ...] = ()
    """Rows that are not imported, with reasons."""
    changes: tuple[SheetChange, ...] = ()


class SheetEntry(Struct, frozen=True):
    """Result of importing a sheet."""

    plan: SheetPlan
    entered: tuple[SheetChange, ...] = ()
    refused: tuple[Phrase, ...] = ()
    """All rows that were not imported, with reasons."""


_EVERYTHING = SheetChoice()


def make_sheet(subject: SheetSubject, choice: SheetChoice = _EVERYTHING) -> MarkingSheet:
    """Return answers that need manual grading, one row for each answer and item.

    Raises:
        CourseError: there is no such cell.
        GradebookError: the store reported an error.
    """
    assignment = subject.assignment
    cell_names = [cell for question in assignment.rubric.questions for cell in question.list_cells()]
    for cell in choice.cells:
        if cell not in cell_names:
            raise CourseError(f"there is no grade cell {cell!r}; {suggest_name(cell, cell_names)}")
    answers, outdated = collect_answers(subject)
    labels, secret = Labels(assignment.language), assignment.course.load_secret()
    rows = tuple(
        row
        for bundle in make_bundles(subject, answers, groups=choice.groups)
        if (not choice.cells or bundle.first.cell in choice.cells)
        and (not choice.flagged or any(answer.mark.flagged for answer in bundle.answers))
        and (not choice.waiting or any(answer.open for answer in bundle.answers))
        for row in _make_rows(assignment.name, bundle, labels, secret, names=choice.names)
    )
    who = join_names(outdated) if choice.names else f"{len(outdated)} students"
    remark = f"left out: {who}, whose results are by another version of the rubric; grade them again"
    return MarkingSheet(rows, (remark,) if outdated else ())


def _make_rows(
    name: str, bundle: SheetBundle, labels: Labels, secret: bytes, *, names: bool
) -> Iterator[Mapping[str, str]]:
    first, seen, comment = bundle.first, bundle.hash_seen(secret), bundle.comment
    marks = [
        f"{format_number(answer.mark.points)}{' (look again)' if answer.mark.again else ''}"
        for answer in bundle.answers
        if answer.mark.points is not None
    ]
    for item in first.marked_items:
        row, points = bundle.make_row_name(secret, item), bundle.format_item_points(item)
        yield {
            "assignment": name,
            "row": row,
            "who": bundle.students if names else bundle.label,
            "count": str(len(bundle.answers)),
            "question": to_plain_text(labels.pick(first.question.title, first.question.id)),
            "cell": first.cell,
            "item": item.id,
            "title": to_plain_text(labels.pick(item.text, item.id)),
            "possible": format_number(item.points),
            "answer": to_plain_text(first.text),
            "suggestion": to_plain_text(_find_suggestion(first.question, item, first.text)),
            "reason": to_plain_text(bundle.get_reason(item)),
            "guide": to_plain_text(labels.pick(read_manual_options(first.question, item).guide))
            if item.manual
            else "",
            "cell_points": " / ".join(dict.fromkeys(marks)),
            "points": points,
            "comment": comment,
            "remark": (remark := bundle.get_remark(item)),
            "flag": bundle.flag,
            "state": str(
                SheetState.from_row(
                    secret, name, row, seen, _select_values(points, comment, bundle.flag, remark)
                )
            ),
        }


def _select_values(points: str, comment: str, flag: str, remark: str) -> tuple[str, ...]:
    """Return the content of a row for its state."""
    # Empty flags and remarks are left out, so that states of sheets without these columns match.
    if remark:
        return points, comment, flag, remark
    return (points, comment, flag) if flag else (points, comment)


def _find_suggestion(question: Question, item: Item, text: str) -> str:
    """Return the words of an item's word list that occur in an answer. They give no points."""
    if not item.manual:
        return ""
    shown = text[: prose.MOST]
    spans = prose.find_spans(shown, read_manual_options(question, item).suggest)
    return f"words of the list: {', '.join(dict.fromkeys(shown[a:b] for a, b in spans))}" if spans else ""


class _FilledRow(Struct, frozen=True):
    """A row with its bundle and item."""

    line: SheetLine
    state: SheetState
    bundle: SheetBundle
    item: Item
    points: Decimal | None

    @property
    def changed(self) -> bool:
        """Whether its points differ from those currently shown for the item."""
        return format_number(self.points) != self.bundle.format_item_points(self.item)

    @property
    def remark(self) -> str | None:
        """The remark, if it differs from the current one."""
        return None if self.line.remark == self.bundle.get_remark(self.item) else self.line.remark


def plan_sheet(subject: SheetSubject, lines: Sequence[SheetLine]) -> SheetPlan:
    """Plan the changes of a sheet. Nothing is entered.

    Raises:
        GradebookError: the store reported an error.
    """
    name, secret = subject.assignment.name, subject.assignment.course.load_secret()
    errors = [*_report_strangers(name, secret, lines), *_report_duplicates(lines)]
    points: dict[str, Decimal | None] = {}
    for line in lines:
        try:
            points[line.row] = parse_points(line.points)
        except ValueError as error:
            errors.append(join_phrases((line.place, *error.args), ": "))
    if errors:
        return SheetPlan(name, tuple(errors))
    row_targets = _map_rows(subject, secret)
    touched = {line.row for line in lines if not _is_untouched(name, secret, line, points[line.row])}
    refused = [
        join_phrases((_format_name(line), build_localised_text(_CHANGED)), ": ")
        for line in lines
        if line.row in touched and line.row not in row_targets
    ]
    rows: dict[str, list[_FilledRow]] = {}
    for line in lines:
        if line.row in row_targets:
            filled_row = _FilledRow(
                line, SheetState.from_text(line.state), *row_targets[line.row], points[line.row]
            )
            rows.setdefault(f"{filled_row.bundle.label} {filled_row.bundle.first.cell}", []).append(
                filled_row
            )
    changes: list[SheetChange] = []
    for filled in rows.values():
        if not any(filled_row.line.row in touched for filled_row in filled):
            continue
        if beyond := list(_report_out_of_bounds(filled)):
            errors += beyond
            continue
        change_or_reason = _plan_change(secret, filled)
        changes += [change_or_reason] if isinstance(change_or_reason, SheetChange) else []
        refused += [change_or_reason] if isinstance(change_or_reason, Phrase) else []
    # Two changes of one answer would depend on the order of rows.
    errors += _report_overlaps(changes)
    return SheetPlan(name, tuple(errors)) if errors else SheetPlan(name, (), tuple(refused), tuple(changes))


_CHANGED = "fault.sheet-changed"


def _map_rows(subject: SheetSubject, secret: bytes) -> dict[str, tuple[SheetBundle, Item]]:
    """Map every possible row, of single answers and of groups, to its bundle and item."""
    answers, _ = collect_answers(subject)
    return {
        bundle.make_row_name(secret, item): (bundle, item)
        # A sheet does not say whether it was exported with groups, so that both kinds of rows are known.
        for groups in (False, True)
        for bundle in make_bundles(subject, answers, groups=groups)
        for item in bundle.first.marked_items
    }


def _format_name(line: SheetLine, *others: SheetLine) -> Phrase:
    places = join_phrases([line.place, *(other.place for other in others)], ", ")
    return places + f" ({to_plain_text(line.who)[:80]})"


def _is_untouched(name: str, secret: bytes, line: SheetLine, points: Decimal | None) -> bool:
    state = SheetState.from_text(line.state)
    values = _select_values(format_number(points), line.comment, line.flag or "", line.remark or "")
    return state == SheetState.from_row(secret, name, line.row, state.seen, values)


def _report_strangers(name: str, secret: bytes, lines: Sequence[SheetLine]) -> Iterator[Phrase]:
    """Yield errors about rows that were not written for this assignment of this course."""
    for line in lines:
        state = SheetState.from_text(line.state)
        if line.assignment != name:
            of_other = {"other": ascii(line.assignment[:80]), "assignment": repr(name)}
            yield build_localised_text("fault.sheet-of-other", row=line.place, **of_other)
        elif state.identity != SheetState.from_row(secret, name, line.row, state.seen).identity:
            yield build_localised_text("fault.sheet-foreign", row=line.place, assignment=repr(name))


def _report_duplicates(lines: Sequence[SheetLine]) -> Iterator[Phrase]:
    places: dict[str, list[Phrase]] = {}
    for line in lines:
        places.setdefault(line.row, []).append(line.place)
    for several in places.values():
        if len(several) > 1:
            yield build_localised_text("fault.sheet-same-row", rows=join_phrases(several, ", "))


def _report_out_of_bounds(filled: Sequence[_FilledRow]) -> Iterator[Phrase]:
    for filled_row in filled:
        if filled_row.points is not None and not is_within(filled_row.points, filled_row.item):
            least, most = map(format_number, get_bounds(filled_row.item))
            yield build_localised_text(
                "fault.sheet-out-of-bounds",
                row=filled_row.line.place,
                item=filled_row.item.id,
                least=least,
                most=most,
                given=format_number(filled_row.points),
            )


def _report_overlaps(changes: Sequence[SheetChange]) -> Iterator[Phrase]:
    """Yield errors about answers that get marks both from a row of one answer and from one of a group."""
    taken: dict[tuple[str, CellName], Phrase] = {}
    for change in changes:
        other_rows = [taken[student, cell] for student, cell, _ in change.marks if (student, cell) in taken]
        if other_rows:
            yield build_localised_text("fault.sheet-overlap", row=change.place, other=other_rows[0])
        taken |= {(student, cell): change.place for student, cell, _ in change.marks}


def _plan_change(secret: bytes, filled: Sequence[_FilledRow]) -> SheetChange | Phrase | None:
    """Return the change of an answer's rows; a sentence if they cannot be imported; None for no change."""
    bundle, line = filled[0].bundle, filled[0].line
    where = _format_name(line, *(filled_row.line for filled_row in filled[1:]))
    comments = {filled_row.line.comment for filled_row in filled} - {bundle.comment}
    if len(comments) > 1:
        return join_phrases((where, build_localised_text("fault.sheet-comments")), ": ")
    comment = next(iter(comments), None)
    flags = {filled_row.line.flag for filled_row in filled if filled_row.line.flag is not None} - {
        bundle.flag
    }
    wanted = [_compute_mark(answer, filled, comment, next(iter(flags), None)) for answer in bundle.answers]
    marks = [filled_row for filled_row in wanted if isinstance(filled_row, PersonMark)]
    if len(marks) < len(wanted):
        reason = next(filled_row for filled_row in wanted if not isinstance(filled_row, PersonMark))
        return join_phrases((where, reason), ": ")
    mark_pairs = list(zip((filled_row.mark for filled_row in bundle.answers), marks, strict=True))
    if all(mark == new for mark, new in mark_pairs):
        return None
    # The answer or mark has changed since the export. Rows that ask for the current mark are harmless.
    if any(filled_row.state.seen != bundle.hash_seen(secret) for filled_row in filled):
        same = all(
            replace(mark, items={}, worth={}) == replace(new, items={}, worth={}) for mark, new in mark_pairs
        )
        return None if same else join_phrases((where, build_localised_text(_CHANGED)), ": ")
    cell = (bundle.first.question.notebook, bundle.first.cell)
    return SheetChange(
        line.place,
        bundle.students if line.who == bundle.students else bundle.label,
        cell[1],
        tuple(dict.fromkeys(mark.points for mark, _ in mark_pairs)),
        marks[0].points if any(filled_row.changed for filled_row in filled) else None,
        comment is not None or any(filled_row.remark is not None for filled_row in filled),
        bool(flags),
        tuple((answer.student, cell, mark) for answer, mark in zip(bundle.answers, marks, strict=True)),
    )


def _compute_mark(
    answer: SheetAnswer, filled: Sequence[_FilledRow], comment: str | None, flag: str | None
) -> PersonMark | Phrase:
    """Return the mark requested by rows, or the reason why there is none."""
    mark = answer.mark if comment is None else replace(answer.mark, comment=comment)
    mark = mark if flag is None else replace(mark, flagged=bool(flag))
    remarks = {
        **mark.remarks,
        **{filled_row.item.id: filled_row.remark for filled_row in filled if filled_row.remark is not None},
    }
    mark = replace(mark, remarks={name: text for name, text in remarks.items() if text})
    changed = {filled_row.item.id: filled_row.points for filled_row in filled if filled_row.changed}
    if not changed:
        return mark
    item_points = {item.id: changed.get(item.id, answer.get_points(item)) for item in answer.marked_items}
    items = {name: points for name, points in item_points.items() if points is not None}
    if missing := [name for name in item_points if name not in items]:
        return build_localised_text("fault.sheet-without-points", items=", ".join(missing))
    points = compute_cell_points(answer.question, answer.cell, answer.verdicts, items)
    worth = {item.id: item.points for item in answer.marked_items}
    return replace(mark, points=points, again=False, items=items, worth=worth)


def enter_sheet(
    subject: SheetSubject,
    plan: SheetPlan,
    together: Callable[[], contextlib.AbstractContextManager[object]] = contextlib.nullcontext,
) -> SheetEntry:
    """Enter the changes of a sheet; each change completely or not at all.

    Args:
        subject: the class.
        plan: of the same class, from `plan_sheet`.
        together: a transaction of the store, if it has transactions: a failed one leaves no marks.
    """
    entered, refused = [], list(plan.refused)
    listed = subject.store.list_students(plan.assignment)
    for change in plan.changes if not plan.errors else ():
        # A student may have left the class since the plan was made.
        if not listed.issuperset(student for student, _, _ in change.marks):
            refused.append(change.explain(build_localised_text(_CHANGED)))
            continue
        try:
            with together():
                for student, cell, mark in change.marks:
                    subject.store.give_mark(plan.assignment, student, cell, mark)
        except GradebookError as error:
            refused.append(change.explain(error.text))
        else:
            entered.append(change)
    return SheetEntry(plan, tuple(entered), tuple(refused))


def export_sheet(
    course: Course,
    name: str,
    to: Path,
    choice: SheetChoice = _EVERYTHING,
    *,
    watch: Listener = SILENT,
    store: OpenStore = open_store,
) -> MarkingSheet:
    """Write the marking sheet of a folder course.

    Args:
        course: the course.
        name: of the assignment.
        to: the CSV file; it must not exist, because it may have been filled in.
        choice: the content.
        watch: receives remarks about the store.
        store: opens the store of the course.

    Raises:
        CourseError: there is no such cell, the file exists or cannot be written, or no student was graded.
        RubricError: the rubric is not valid.
        GradebookError: the store reported an error.
    """
    _check_suffix(to)
    if to.exists():
        raise CourseError(f"{to}: is there already, and may hold marks; choose another name")
    assignment = assignments.load_assignment(course, name)
    with store(assignment, new=False) as opened:
        sheet = make_sheet(_load_subject(assignment, opened, watch), choice)
    try:
        # A sheet contains answers and marks, so only its owner can read it.
        atomic.write_bytes(to, write_sheet(sheet.rows), mode=0o600)
    except OSError as error:
        raise CourseError(f"{to}: cannot be written: {error.strerror}") from error
    return sheet


def import_sheet(
    course: Course,
    path: Path,
    *,
    dry_run: bool = False,
    watch: Listener = SILENT,
    store: OpenStore = open_store,
) -> SheetEntry:
    """Enter the marks of a sheet into a folder course.

    Args:
        course: the course.
        path: of the sheet, which names its assignment.
        dry_run: only report the changes.
        watch: receives remarks about the store.
        store: opens the store of the course.

    Raises:
        CourseError: the sheet cannot be read, or belongs to an assignment that the course does not have.
        RubricError: the rubric is not valid.
        GradebookError: the store reported an error.
    """
    try:
        _check_suffix(path)
        lines = read_sheet(atomic.read_bytes(path, most=MOST_BYTES + 1))
    except OSError as error:
        raise CourseError(f"{path}: cannot be read: {error.strerror}") from error
    except CourseError as error:
        raise CourseError(f"{path}: {error}") from error
    if not lines:
        raise CourseError(f"{path}: the sheet has no rows")
    name, assignment_names = lines[0].assignment, course.list_assignments()
    if name not in assignment_names:
        raise CourseError(
            f"{path}: assignment: {name[:80]!a} is not in the course; {suggest_name(name, assignment_names)}"
        )
    assignment = assignments.load_assignment(course, name)
    # The lock keeps other imports and regrades from changing marks between plan and entry.
    with atomic.lock_folder(course.root), store(assignment, new=False) as opened:
        subject = _load_subject(assignment, opened, watch)
        plan = plan_sheet(subject, lines)
        return SheetEntry(plan, (), plan.refused) if dry_run else enter_sheet(subject, plan)


def _load_subject(assignment: Assignment, store: Store, watch: Listener) -> SheetSubject:
    """Return the class in submitted/."""
    for line in restore_marks(assignment, store):
        watch.notify_staff(line)
    return SheetSubject(assignment, store, read_roll(assignment, store).results)


def _check_suffix(path: Path) -> None:
    if path.suffix.lower() != ".csv":
        raise CourseError(f"{path}: expected a file that ends in .csv")
