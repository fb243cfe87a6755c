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

from autograder import assignment as assignments
from autograder import atomic
from autograder.app import SILENT, Listener
from autograder.app.roll import read_roll, restore_marks
from autograder.app.sheet_files import (
    ENDINGS,
    MOST_BYTES,
    SheetLine,
    plain,
    points_in,
    read_sheet,
    write_sheet,
)
from autograder.app.sheet_rows import (
    SheetAnswer,
    SheetBundle,
    SheetState,
    SheetSubject,
    answers_of,
    bundles_of,
    number,
)
from autograder.app.stores import OpenStore, open_store
from autograder.assignment import Assignment
from autograder.checks.judging.manual import manual_options
from autograder.checks.values import prose
from autograder.course import Course
from autograder.errors import CourseError, GradebookError
from autograder.feedback.labels import Labels
from autograder.grades import CellName, PersonMark
from autograder.marking.points import bounded_by, cell_points, lies_within
from autograder.rubric import Item, Question
from autograder.store import Store
from autograder.tables import hint, name_list


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

    place: str
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


class SheetPlan(Struct, frozen=True):
    """Planned changes of a sheet."""

    assignment: str
    errors: tuple[str, ...] = ()
    """Errors that prevent the whole import."""
    refused: tuple[str, ...] = ()
    """Rows that are not imported, with reasons."""
    changes: tuple[SheetChange, ...] = ()


class SheetEntry(Struct, frozen=True):
    """Result of importing a sheet."""

    plan: SheetPlan
    entered: tuple[SheetChange, ...] = ()
    refused: tuple[str, ...] = ()
    """All rows that were not imported, with reasons."""


_EVERYTHING = SheetChoice()


def make_sheet(subject: SheetSubject, choice: SheetChoice = _EVERYTHING) -> MarkingSheet:
    """Return answers that need manual grading, one row for each answer and item.

    Raises:
        CourseError: there is no such cell.
        GradebookError: the store reported an error.
    """
    assignment = subject.assignment
    known = [cell for question in assignment.rubric.questions for cell in question.cells()]
    for cell in choice.cells:
        if cell not in known:
            raise CourseError(f"there is no grade cell {cell!r}; {hint(cell, known)}")
    answers, outdated = answers_of(subject)
    labels, secret = Labels(assignment.language), assignment.course.secret()
    rows = tuple(
        row
        for one in bundles_of(subject, answers, groups=choice.groups)
        if (not choice.cells or one.first.cell in choice.cells)
        and (not choice.flagged or any(answer.mark.flagged for answer in one.answers))
        and (not choice.waiting or any(answer.open for answer in one.answers))
        for row in _rows(assignment.name, one, labels, secret, names=choice.names)
    )
    who = name_list(outdated) if choice.names else f"{len(outdated)} students"
    told = f"left out: {who}, whose results are by another version of the rubric; grade them again"
    return MarkingSheet(rows, (told,) if outdated else ())


def _rows(
    name: str, bundle: SheetBundle, labels: Labels, secret: bytes, *, names: bool
) -> Iterator[Mapping[str, str]]:
    first, seen, comment = bundle.first, bundle.seen(secret), bundle.comment
    marks = [
        f"{number(one.mark.points)}{' (look again)' if one.mark.again else ''}"
        for one in bundle.answers
        if one.mark.points is not None
    ]
    for item in first.asked:
        row, points = bundle.row(secret, item), bundle.points(item)
        yield {
            "assignment": name,
            "row": row,
            "who": bundle.students if names else bundle.label,
            "count": str(len(bundle.answers)),
            "question": plain(labels.pick(first.question.title, first.question.id)),
            "cell": first.cell,
            "item": item.id,
            "title": plain(labels.pick(item.text, item.id)),
            "possible": number(item.points),
            "answer": plain(first.text),
            "suggestion": plain(_suggestion(first.question, item, first.text)),
            "reason": plain(bundle.reason(item)),
            "guide": plain(labels.pick(manual_options(first.question, item).guide)) if item.manual else "",
            "cell_points": " / ".join(dict.fromkeys(marks)),
            "points": points,
            "comment": comment,
            "remark": (remark := bundle.remark(item)),
            "flag": bundle.flag,
            "state": str(
                SheetState.of(secret, name, row, seen, _values(points, comment, bundle.flag, remark))
            ),
        }


def _values(points: str, comment: str, flag: str, remark: str) -> tuple[str, ...]:
    """Return the content of a row for its state."""
    # Empty flags and remarks are left out, so that states of sheets without these columns match.
    if remark:
        return points, comment, flag, remark
    return (points, comment, flag) if flag else (points, comment)


def _suggestion(question: Question, item: Item, text: str) -> str:
    """Return the words of an item's word list that occur in an answer. They give no points."""
    if not item.manual:
        return ""
    shown = text[: prose.MOST]
    spans = prose.spans(shown, manual_options(question, item).suggest)
    return f"words of the list: {', '.join(dict.fromkeys(shown[a:b] for a, b in spans))}" if spans else ""


class _Filled(Struct, frozen=True):
    """A row with its bundle and item."""

    line: SheetLine
    state: SheetState
    bundle: SheetBundle
    item: Item
    points: Decimal | None

    @property
    def changed(self) -> bool:
        """Whether its points differ from those currently shown for the item."""
        return number(self.points) != self.bundle.points(self.item)

    @property
    def remark(self) -> str | None:
        """The remark, if it differs from the current one."""
        return None if self.line.remark == self.bundle.remark(self.item) else self.line.remark


def plan_sheet(subject: SheetSubject, lines: Sequence[SheetLine]) -> SheetPlan:
    """Plan the changes of a sheet. Nothing is entered.

    Raises:
        GradebookError: the store reported an error.
    """
    name, secret = subject.assignment.name, subject.assignment.course.secret()
    errors = [*_strangers(name, secret, lines), *_twice(lines)]
    points: dict[str, Decimal | None] = {}
    for line in lines:
        try:
            points[line.row] = points_in(line.points)
        except ValueError as error:
            errors.append(f"{line.place}: {error}")
    if errors:
        return SheetPlan(name, tuple(errors))
    places = _places(subject, secret)
    touched = {line.row for line in lines if not _is_untouched(name, secret, line, points[line.row])}
    refused = [
        f"{_named(line)}: {_CHANGED}" for line in lines if line.row in touched and line.row not in places
    ]
    rows: dict[str, list[_Filled]] = {}
    for line in lines:
        if line.row in places:
            one = _Filled(line, SheetState.read(line.state), *places[line.row], points[line.row])
            rows.setdefault(f"{one.bundle.label} {one.bundle.first.cell}", []).append(one)
    changes: list[SheetChange] = []
    for filled in rows.values():
        if not any(one.line.row in touched for one in filled):
            continue
        if beyond := list(_beyond(filled)):
            errors += beyond
            continue
        found = _change(secret, filled)
        refused += [found] if isinstance(found, str) else []
        changes += [found] if isinstance(found, SheetChange) else []
    # Two changes of one answer would depend on the order of rows.
    errors += _overlapping(changes)
    return SheetPlan(name, tuple(errors)) if errors else SheetPlan(name, (), tuple(refused), tuple(changes))


_CHANGED = "the answer or its mark has changed since the sheet was written; export it again"


def _places(subject: SheetSubject, secret: bytes) -> dict[str, tuple[SheetBundle, Item]]:
    """Map every possible row, of single answers and of groups, to its bundle and item."""
    answers, _ = answers_of(subject)
    return {
        one.row(secret, item): (one, item)
        # A sheet does not say whether it was exported with groups, so that both kinds of rows are known.
        for groups in (False, True)
        for one in bundles_of(subject, answers, groups=groups)
        for item in one.first.asked
    }


def _named(line: SheetLine) -> str:
    return f"{line.place} ({plain(line.who)[:80]})"


def _is_untouched(name: str, secret: bytes, line: SheetLine, points: Decimal | None) -> bool:
    state = SheetState.read(line.state)
    values = _values(number(points), line.comment, line.flag or "", line.remark or "")
    return state == SheetState.of(secret, name, line.row, state.seen, values)


def _strangers(name: str, secret: bytes, lines: Sequence[SheetLine]) -> Iterator[str]:
    """Yield errors about rows that were not written for this assignment of this course."""
    for line in lines:
        state = SheetState.read(line.state)
        if line.assignment != name:
            yield f"{line.place}: is of {line.assignment[:80]!a}, not of {name!r}"
        elif state.own != SheetState.of(secret, name, line.row, state.seen).own:
            yield (
                f"{line.place}: not a row that was exported for {name!r} in this course; row and state must "
                "stay as they are"
            )


def _twice(lines: Sequence[SheetLine]) -> Iterator[str]:
    places: dict[str, list[str]] = {}
    for line in lines:
        places.setdefault(line.row, []).append(line.place)
    for several in places.values():
        if len(several) > 1:
            yield f"{', '.join(several)}: the same row; each may stand once"


def _beyond(filled: Sequence[_Filled]) -> Iterator[str]:
    for one in filled:
        if one.points is not None and not lies_within(one.points, one.item):
            least, most = map(number, bounded_by(one.item))
            place = f"{one.line.place}: points of {one.item.id}"
            yield f"{place}: expected {least} to {most}, got {number(one.points)}"


def _overlapping(changes: Sequence[SheetChange]) -> Iterator[str]:
    """Yield errors about answers that get marks both from a row of one answer and from one of a group."""
    taken: dict[tuple[str, CellName], str] = {}
    for change in changes:
        others = [taken[student, cell] for student, cell, _ in change.marks if (student, cell) in taken]
        if others:
            yield f"{change.place}: the answer has another row, {others[0]}; leave one of them"
        taken |= {(student, cell): change.place for student, cell, _ in change.marks}


def _change(secret: bytes, filled: Sequence[_Filled]) -> SheetChange | str | None:
    """Return the change of an answer's rows; a sentence if they cannot be imported; None for no change."""
    bundle, line = filled[0].bundle, filled[0].line
    where = f"{', '.join(one.line.place for one in filled)} ({plain(line.who)[:80]})"
    comments = {one.line.comment for one in filled} - {bundle.comment}
    if len(comments) > 1:
        return f"{where}: the rows of one answer have different comments"
    comment = next(iter(comments), None)
    flags = {one.line.flag for one in filled if one.line.flag is not None} - {bundle.flag}
    wanted = [_wanted(answer, filled, comment, next(iter(flags), None)) for answer in bundle.answers]
    marks = [one for one in wanted if isinstance(one, PersonMark)]
    if len(marks) < len(wanted):
        return f"{where}: {next(one for one in wanted if isinstance(one, str))}"
    stand = list(zip((one.mark for one in bundle.answers), marks, strict=True))
    if all(mark == new for mark, new in stand):
        return None
    # The answer or mark has changed since the export. Rows that ask for the current mark are harmless.
    if any(one.state.seen != bundle.seen(secret) for one in filled):
        same = all(
            replace(mark, items={}, worth={}) == replace(new, items={}, worth={}) for mark, new in stand
        )
        return None if same else f"{where}: {_CHANGED}"
    cell = (bundle.first.question.notebook, bundle.first.cell)
    return SheetChange(
        line.place,
        bundle.students if line.who == bundle.students else bundle.label,
        cell[1],
        tuple(dict.fromkeys(mark.points for mark, _ in stand)),
        marks[0].points if any(one.changed for one in filled) else None,
        comment is not None or any(one.remark is not None for one in filled),
        bool(flags),
        tuple((answer.student, cell, mark) for answer, mark in zip(bundle.answers, marks, strict=True)),
    )


def _wanted(
    answer: SheetAnswer, filled: Sequence[_Filled], comment: str | None, flag: str | None
) -> PersonMark | str:
    """Return the mark requested by rows, or the reason why there is none."""
    mark = answer.mark if comment is None else replace(answer.mark, comment=comment)
    mark = mark if flag is None else replace(mark, flagged=bool(flag))
    said = {**mark.remarks, **{one.item.id: one.remark for one in filled if one.remark is not None}}
    mark = replace(mark, remarks={name: text for name, text in said.items() if text})
    changed = {one.item.id: one.points for one in filled if one.changed}
    if not changed:
        return mark
    given = {item.id: changed.get(item.id, answer.points(item)) for item in answer.asked}
    items = {name: points for name, points in given.items() if points is not None}
    if missing := [name for name in given if name not in items]:
        return (
            f"without points: {', '.join(missing)}; a mark is of all items that a person decides on, and is "
            "changed here, but not taken away"
        )
    points = cell_points(answer.question, answer.cell, answer.verdicts, items)
    worth = {item.id: item.points for item in answer.asked}
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
    listed = subject.store.listed(plan.assignment)
    for change in plan.changes if not plan.errors else ():
        # A student may have left the class since the plan was made.
        if not listed.issuperset(student for student, _, _ in change.marks):
            refused.append(f"{change.place} ({change.who}): {_CHANGED}")
            continue
        try:
            with together():
                for student, cell, mark in change.marks:
                    subject.store.give(plan.assignment, student, cell, mark)
        except GradebookError as error:
            refused.append(f"{change.place} ({change.who}): {error}")
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
        to: the file, with one of `ENDINGS`; it must not exist, because it may have been filled in.
        choice: the content.
        watch: receives remarks about the store.
        store: opens the store of the course.

    Raises:
        CourseError: there is no such cell, the file exists or cannot be written, or no student was graded.
        RubricError: the rubric is not valid.
        GradebookError: the store reported an error.
    """
    ending = _ending(to)
    if to.exists():
        raise CourseError(f"{to}: is there already, and may hold marks; choose another name")
    assignment = assignments.load(course, name)
    with store(assignment, new=False) as opened:
        sheet = make_sheet(_subject(assignment, opened, watch), choice)
    try:
        # A sheet contains answers and marks, so only its owner can read it.
        atomic.write(to, write_sheet(sheet.rows, ending), mode=0o600)
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
        data = atomic.read(path, most=MOST_BYTES + 1)
        lines = read_sheet(data, _ending(path))
    except OSError as error:
        raise CourseError(f"{path}: cannot be read: {error.strerror}") from error
    except CourseError as error:
        raise CourseError(f"{path}: {error}") from error
    if not lines:
        raise CourseError(f"{path}: the sheet has no rows")
    name, known = lines[0].assignment, course.assignments()
    if name not in known:
        raise CourseError(f"{path}: assignment: {name[:80]!a} is not in the course; {hint(name, known)}")
    assignment = assignments.load(course, name)
    # The lock keeps other imports and regrades from changing marks between plan and entry.
    with atomic.alone(course.root), store(assignment, new=False) as opened:
        subject = _subject(assignment, opened, watch)
        plan = plan_sheet(subject, lines)
        return SheetEntry(plan, (), plan.refused) if dry_run else enter_sheet(subject, plan)


def _subject(assignment: Assignment, store: Store, watch: Listener) -> SheetSubject:
    """Return the class in submitted/."""
    for line in restore_marks(assignment, store):
        watch.tell(line)
    return SheetSubject(assignment, store, read_roll(assignment, store).results)


def _ending(path: Path) -> str:
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise CourseError(f"{path}: expected a file that ends in {' or '.join(ENDINGS)}")
    return ending
