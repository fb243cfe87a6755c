"""The service's database as a store (`autograder.store`) of one course."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Self

import msgspec
from django.db import DatabaseError, transaction
from django.utils import timezone
from msgspec.structs import replace

from autograder.errors import CourseError, GradebookError
from autograder.grades import CellName, CellPoints, PersonMark, automatic_points
from autograder.limits import Budgets, budgets
from autograder.marking.points import cell_points, items_of, rescaled, verdicts_of
from autograder.notebook.release import load_release
from autograder.records import Graded, Score
from autograder.rubric import Question, Rubric
from autograder.service.marking import answers
from autograder.service.models import (
    CellMark,
    CellPlace,
    CourseRecord,
    CurrentResult,
    IndependentMark,
    Member,
    Offer,
    Role,
    StoredResult,
    StoredRun,
)
from autograder.store import (
    AnswerName,
    Decision,
    EnteredMarks,
    FrontEnd,
    GradedEntry,
    Key,
    Outlines,
    Student,
    bounded,
    decode,
    encode,
    settle,
)


class DatabaseStore:
    """Implements `autograder.store.Store` for one course. Any number of processes may use it at once.

    Args:
        course: the course's row.
    """

    front_end = FrontEnd(
        "the service", "the pages of the course", "an instructor takes somebody out on the class list"
    )

    def __init__(self, course: CourseRecord) -> None:
        self._course = course

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing: the connection belongs to the process."""

    @contextlib.contextmanager
    def _whole(self, what: str) -> Iterator[None]:
        """Open a transaction; database errors become a GradebookError that begins with ``failure``."""
        try:
            with transaction.atomic():
                yield
        except DatabaseError as error:
            raise GradebookError(f"{what}: {error}") from error

    def prepare(self, rubric: Rubric, releases: Mapping[str, bytes]) -> None:
        """See `Store.prepare_assignment`."""
        name = rubric.assignment.name
        wanted = _wanted(rubric, releases)
        with self._whole(f"assignment {name!r} could not be prepared"):
            # Serialise preparations: two processes would both create the missing cells.
            CourseRecord.objects.select_for_update().get(pk=self._course.pk)
            cells = CellPlace.objects.filter(course=self._course, assignment=name)
            present = {(one.notebook, one.cell): one for one in cells}
            gone = [one for place, one in present.items() if place not in wanted]
            marked = CellMark.objects.filter(place__in=gone, touched=True).select_related("place")
            for mark in marked[:1]:
                raise GradebookError(
                    f"cell {mark.place.cell!r} is no longer in the release, but carries marks or comments of "
                    "a human; put the cell back, or take the marks away first"
                )
            CellPlace.objects.filter(pk__in=[one.pk for one in gone]).delete()
            new = CellPlace.objects.bulk_create(
                CellPlace(course=self._course, assignment=name, notebook=notebook, cell=cell)
                for notebook, cell in sorted(wanted - present.keys())
            )
            students = sorted(self.listed(name))
            CellMark.objects.bulk_create(
                CellMark(place=place, student=student) for place in new for student in students
            )

    def enrol(self, students: Iterable[Student]) -> None:
        """See `Store.enroll_students`."""
        with self._whole("the class list could not be entered"):
            for student in students:
                fields = ("first_name", "last_name", "email")
                values = {name: value for name in fields if (value := getattr(student, name))}
                Member.objects.update_or_create(
                    course=self._course,
                    student=student.id,
                    defaults=values,
                    create_defaults={"role": Role.STUDENT, **values},
                )

    def begin(self, rubric: Rubric, environment: str, isolation: str) -> int:
        """See `Store.start_run`."""
        with self._whole("the run could not be noted"):
            run = StoredRun.objects.create(
                course=self._course,
                assignment=rubric.assignment.name,
                rubric_version=rubric.version,
                rubric=rubric.digest,
                environment=environment,
                isolation=isolation,
            )
        return int(run.pk)

    def finish(self, run: int) -> None:
        """See `Store.finish_run`."""
        with self._whole("the run could not be noted"):
            StoredRun.objects.filter(course=self._course, pk=run).update(finished_at=timezone.now())

    def find(self, key: Key) -> Graded | None:
        """See `Store.find_result`."""
        with self._whole("the result could not be read"):
            # A pruned result lacks its notebooks and must not be reused.
            rows = StoredResult.objects.filter(course=self._course, whole=True, **_columns(key))
            stored = rows.values_list("graded", flat=True).first()
        return None if stored is None else decode(bytes(stored))

    def record(
        self, entries: Sequence[GradedEntry], *, run: int | None = None, language: str = ""
    ) -> Mapping[str, str]:
        """See `Store.record_results`. Comments are rendered with the page, in its reader's language."""
        del language
        with self._whole("the marks could not be recorded"):
            names = {entry.key.assignment for entry in entries}
            cells = CellPlace.objects.filter(course=self._course, assignment__in=names).order_by("pk")
            places = {name: [one for one in cells if one.assignment == name] for name in names}
            for entry in sorted(entries, key=lambda one: one.key.student):  # one order: no deadlocks
                self._mark(entry, self.keep(entry, run), places[entry.key.assignment])
        return {}

    def keep(self, entry: GradedEntry, run: int | None = None) -> int:
        """Store a result without making it current; return the id of its row.

        Raises:
            GradebookError: the store refused.
        """
        stored = bounded(entry.graded, budgets(entry.rubric.assignment.limits).stored_mb)
        with self._whole("the result could not be kept"):
            row, new = StoredResult.objects.select_for_update().get_or_create(
                course=self._course,
                **_columns(entry.key),
                defaults={
                    "graded": stored,
                    "run_id": run,
                    "recorded_at": timezone.now(),
                    "submitted_at": _aware(entry.submitted_at),
                },
            )
            if not new and bytes(row.graded) != stored:
                row.graded, row.run_id, row.recorded_at, row.whole = stored, run, timezone.now(), True
                row.save()
            self._prune(row)
        return int(row.pk)

    def _prune(self, latest: StoredResult) -> None:
        """Remove the notebooks from a student's older results."""
        of_student = {"course": self._course, "assignment": latest.assignment, "student": latest.student}
        current = CurrentResult.objects.filter(**of_student).values_list("result", flat=True).first()
        whole = StoredResult.objects.filter(**of_student, whole=True).order_by("-recorded_at", "-pk")
        others = [one for one in whole.values_list("pk", flat=True) if one not in (current, latest.pk)]
        # The latest result is not in the list, but is one of the attempts to keep.
        for row in StoredResult.objects.filter(pk__in=others[Budgets().attempts - 1 :]):
            graded = decode(bytes(row.graded))
            row.graded = encode(replace(graded, notebooks=())) if graded is not None else b""
            row.whole = False
            row.save(update_fields=["graded", "whole"])

    def _mark(self, entry: GradedEntry, result: int, places: Sequence[CellPlace]) -> None:
        """Make a result the current one, and write its automatic marks."""
        name, student = entry.key.assignment, entry.key.student
        if not places:
            raise GradebookError(f"assignment {name!r} is not known; prepare it first")
        # The lock serialises results of the same student.
        current, new = CurrentResult.objects.select_for_update().get_or_create(
            course=self._course, assignment=name, student=student, defaults={"result_id": result}
        )
        before = current.result_id
        counted = StoredResult.objects.filter(pk=before).values_list("submission", flat=True)
        resubmitted = not new and counted.get() != entry.key.submission
        if before != result:
            CurrentResult.objects.filter(pk=current.pk).update(result_id=result)
        found = CellMark.objects.select_for_update().filter(place__in=places, student=student)
        rows = {row.place_id: row for row in found.order_by("pk")}
        cells = automatic_points(entry.graded.score, entry.rubric)
        changed, added = [], []
        for place in places:
            row, wrote = rows.get(place.pk) or CellMark(student=student), False
            row.place, cell = place, answers.cell_of(entry.rubric, place.notebook, place.cell)
            given, worth = (row.items, row.points, row.again, row.worth), row.worth
            if cell is not None:
                wrote = _write(row, cells[place.notebook, place.cell], resubmitted=resubmitted)
                wrote = _weigh(row, cell.question, entry.graded.score, changed=wrote)
                secret = bytes(self._course.secret)
                described = answers.describe(row, cell, entry.graded, entry.rubric, secret)
                wrote |= described
                if row.pk is not None and row.worth != worth:
                    wrote |= _weigh_readings(row, worth)
                # A marker's open form becomes stale once anything that it shows has changed.
                row.revision += row.pk is not None and (
                    described or given != (row.items, row.points, row.again, row.worth)
                )
            if row.pk is None:
                added.append(row)
            elif wrote:
                changed.append(row)
        CellMark.objects.bulk_create(added)
        CellMark.objects.bulk_update(changed, [*_WRITTEN, *answers.FIELDS])

    def results(self, assignment: str, rubric: str = "", *, whole: bool = True) -> dict[str, Graded]:
        """See `Store.load_results`."""
        read = decode if whole else Outlines().read
        with self._whole("the results could not be read"):
            rows = CurrentResult.objects.filter(course=self._course, assignment=assignment)
            if rubric:
                rows = rows.filter(result__rubric=rubric)
            stored = rows.order_by("student").values_list("student", "result__graded").iterator()
            found = {student: read(bytes(graded)) for student, graded in stored}
        found = dict(sorted(found.items()))  # Python's order, independent of the database's collation
        return {student: graded for student, graded in found.items() if graded is not None}

    def of_student(self, assignment: str, student: str) -> tuple[Graded | None, dict[CellName, PersonMark]]:
        """Return one student's part of `load_results` and `load_marks`, without reading the others.

        Raises:
            GradebookError: the store refused.
        """
        with self._whole("the result could not be read"):
            rows = CurrentResult.objects.filter(course=self._course, assignment=assignment, student=student)
            stored = rows.values_list("result__graded", flat=True).first()
            places = {"place__course": self._course, "place__assignment": assignment}
            marked = CellMark.objects.filter(**places, student=student, touched=True).select_related("place")
            marks = {(row.place.notebook, row.place.cell): _given(row) for row in marked}
        return (None if stored is None else decode(bytes(stored))), marks

    def standing(self, entries: Sequence[GradedEntry], language: str = "") -> frozenset[str]:
        """See `Store.find_unchanged_students`; none are reported: the service records each attempt once."""
        del entries, language
        return frozenset()

    def keys(self, assignment: str) -> dict[str, Key]:
        """See `Store.load_keys`."""
        with self._whole("the results could not be read"):
            rows = CurrentResult.objects.filter(course=self._course, assignment=assignment)
            found = rows.values_list(*(f"result__{field}" for field in Key.__struct_fields__))
            return {key.student: key for key in (Key(*row) for row in found)}

    def listed(self, assignment: str) -> frozenset[str]:
        """See `Store.list_students`."""
        with self._whole("the submissions could not be read"):
            rows = CurrentResult.objects.filter(course=self._course, assignment=assignment)
            return frozenset(rows.values_list("student", flat=True))

    def marks(self, assignment: str) -> dict[str, dict[CellName, PersonMark]]:
        """See `Store.load_marks`."""
        with self._whole("the marks could not be read"):
            rows = CellMark.objects.filter(
                place__course=self._course, place__assignment=assignment, touched=True
            ).select_related("place")
            found: dict[str, dict[CellName, PersonMark]] = {}
            for row in rows:
                found.setdefault(row.student, {})[row.place.notebook, row.place.cell] = _given(row)
        return found

    def decided(self, assignment: str) -> dict[AnswerName, Decimal]:
        """See `Store.load_decided_points`."""
        with self._whole("the decisions could not be read"):
            rows = CellMark.objects.filter(
                place__course=self._course, place__assignment=assignment, decided__isnull=False
            ).select_related("place")
            return {(row.student, row.place.notebook, row.place.cell): Decimal(row.decided) for row in rows}

    def give(
        self,
        assignment: str,
        student: str,
        cell: CellName,
        mark: PersonMark,
        decided: Decimal | None = None,
    ) -> None:
        """See `Store.give_mark`."""
        with self._whole("the mark could not be entered"):
            row = self._rows(assignment, [(student, *cell)]).get((student, *cell))
            if row is None:
                raise GradebookError(f"{student!r} has no cell {cell[1]!r} in {assignment!r} for a grade")
            _enter(row, mark)
            row.decided = row.decided if decided is None else str(decided)
            row.save()

    def decide(self, assignment: str, given: Mapping[AnswerName, Decision]) -> EnteredMarks:
        """See `Store.apply_decisions`."""
        written, kept = 0, []
        with self._whole("the decisions could not be entered"):
            rows = self._rows(assignment, given)
            for answer, decision in given.items():
                row = rows.get(answer)
                if row is None:
                    continue
                found = settle(_given(row), decision, _exact(row.decided))
                kept += [answer] if found.kept else []
                if found.written:
                    written += 1
                    row.decided = str(decision.points)
                _enter(row, found.mark)
            CellMark.objects.bulk_update(rows.values(), _ENTERED)
        return EnteredMarks(written, tuple(kept))

    def _rows(self, assignment: str, answers: Iterable[AnswerName]) -> dict[AnswerName, CellMark]:
        """Lock the rows of answers, always in the same order, so that no deadlock is possible."""
        wanted = set(answers)
        found = (
            CellMark.objects.select_for_update(of=("self",))
            .filter(
                place__course=self._course,
                place__assignment=assignment,
                student__in={student for student, _, _ in wanted},
            )
            .select_related("place")
            .order_by("pk")
        )
        rows = {(row.student, row.place.notebook, row.place.cell): row for row in found}
        return {answer: row for answer, row in rows.items() if answer in wanted}

    def deduct(self, assignment: str, taken: Mapping[str, Decimal]) -> None:
        """See `Store.record_deductions`; pages compute it from the result."""
        del assignment, taken

    def restore(
        self,
        results: Mapping[str, Graded],
        rubrics: Mapping[str, Rubric],
        releases: Mapping[str, bytes],
        language: str = "",
    ) -> tuple[str, ...]:
        """See `Store.restore_marks`; no other program writes here."""
        del results, rubrics, releases, language
        return ()


_ENTERED = (
    "points",
    "extra",
    "again",
    "comment",
    "decided",
    "touched",
    "items",
    "stage",
    "revision",
    "flagged",
)
_WRITTEN = ("automatic", "pending", "again", "worth", "items", "points", "revision")


def _wanted(rubric: Rubric, releases: Mapping[str, bytes]) -> set[CellName]:
    wanted = {(one.notebook, cell) for one in rubric.questions for cell in one.cells()}
    for notebook in rubric.assignment.notebooks:
        try:
            released = load_release(releases[notebook.name], notebook.name).by_id
        except (KeyError, CourseError) as error:
            raise GradebookError(f"notebook {notebook.name!r} is not released: {error}") from error
        for place, cell in sorted(wanted):
            if place == notebook.name and not (cell in released and released[cell].grade):
                raise GradebookError(f"notebook {place!r} has no cell {cell!r} marked as graded")
    return wanted


def _columns(key: Key) -> dict[str, object]:
    return msgspec.structs.asdict(key)


def given_to(offer: Offer, student: str) -> Decimal:
    """Return a student's bonus points from the course."""
    return Decimal(offer.bonus.get(student, "0"))


def _aware(moment: datetime.datetime | None) -> datetime.datetime | None:
    if moment is None or moment.tzinfo is not None:
        return moment
    return moment.replace(tzinfo=datetime.UTC)


def _exact(stored: str | None) -> Decimal | None:
    return None if stored is None else Decimal(stored)


def _given(row: CellMark) -> PersonMark:
    items = {name: Decimal(one["points"]) for name, one in row.items.items()}
    return PersonMark(
        _exact(row.points),
        Decimal(row.extra),
        row.again,
        row.comment,
        items,
        flagged=row.flagged,
        remarks=row.remarks,
    )


def _enter(row: CellMark, mark: PersonMark) -> None:
    """Enter a person's mark into a row.

    Raises:
        GradebookError: the cell has no such item.
    """
    before = _given(row)
    if mark == before:
        return
    if unknown := sorted((mark.items.keys() | mark.remarks.keys()) - row.worth.keys()):
        raise GradebookError(
            f"{row.student!r}: cell {row.place.cell!r} has no item {unknown[0]!r} in the result that counts; "
            "grade it again"
        )
    if mark.items != before.items:
        row.items = {name: {"points": str(one), "of": row.worth[name]} for name, one in mark.items.items()}
    row.points, row.stage = (None if mark.points is None else str(mark.points)), ""
    row.extra, row.again, row.comment = str(mark.extra), mark.again, mark.comment
    row.touched, row.flagged, row.remarks = mark != PersonMark(), mark.flagged, dict(mark.remarks)
    row.revision += 1


def _weigh(row: CellMark, question: Question, score: Score, *, changed: bool) -> bool:
    """Rescale the item points that people gave to the items' current worth; return whether anything changed.

    Args:
        row: with its automatic mark up to date.
        question: the cell's question in the current rubric.
        score: of the current result.
        changed: whether the automatic mark changed.
    """
    worth = {item.id: item.points for item in items_of(question, row.place.cell)}
    stated = {name: str(points) for name, points in worth.items()}
    changed |= row.worth != stated
    row.worth = stated
    if row.items and changed:
        given = {
            name: rescaled(Decimal(one["points"]), Decimal(one["of"]), worth[name])
            for name, one in row.items.items()
            if name in worth
        }
        row.items = {name: {"points": str(points), "of": stated[name]} for name, points in given.items()}
        verdicts = verdicts_of(question, row.place.cell, score)
        points = cell_points(question, row.place.cell, verdicts, given)
        if row.points is not None and points is None:
            row.again = True  # a new item has no points from a person yet
        elif row.points is not None and points != _exact(row.points):
            row.points = str(points)
    return changed


def _weigh_readings(row: CellMark, before: Mapping[str, str]) -> bool:
    """Rescale two markers' independent marks to the items' current worth; return whether the stage changed.

    If items were added or removed, both have to mark the answer again.

    Args:
        row: with the current worth of its items.
        before: their previous worth.
    """
    for one in IndependentMark.objects.select_for_update(of=("self",)).filter(mark=row).order_by("pk"):
        one.items = {
            name: {
                "points": str(rescaled(Decimal(given["points"]), Decimal(given["of"]), Decimal(now))),
                "of": now,
            }
            for name, given in one.items.items()
            if (now := row.worth.get(name)) is not None
        }
        one.submission = one.submission if row.worth.keys() == before.keys() else ""
        one.save(update_fields=["items", "submission"])
    if not row.stage or row.worth.keys() == before.keys():
        return False
    row.stage = ""
    return True


def _write(row: CellMark, cell: CellPoints, *, resubmitted: bool) -> bool:
    """Update a row's automatic mark; return whether anything changed."""
    points = str(cell.points) if cell.settled else None
    before = (row.automatic, row.pending, row.again)
    if row.points is not None and (resubmitted or _exact(row.automatic) != _exact(points)):
        row.again = True
    row.automatic, row.pending = points, cell.pending
    return before != (row.automatic, row.pending, row.again)
