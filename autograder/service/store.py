"""The service's database as a store (`autograder.grading.store`) of one course."""

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

from autograder.core.errors import GradebookError
from autograder.core.limits import Budgets, compute_budgets
from autograder.core.records import GradingResult, Score
from autograder.grading.grades import CellName, CellPoints, PersonMark, compute_automatic_points
from autograder.grading.store import (
    AnswerName,
    FrontEnd,
    GradedEntry,
    OutlineReader,
    ResultKey,
    Student,
    collect_graded_cells,
    decode_result,
    encode_bounded,
    encode_result,
)
from autograder.marking.points import collect_verdicts, compute_cell_points, list_items, scale_points
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


class DatabaseStore:
    """Implements `autograder.grading.store.Store` for one course. Any number of processes may use it at once.

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
    def _open_transaction(self, failure: str) -> Iterator[None]:
        """Open a transaction; database errors become a GradebookError that begins with ``failure``."""
        try:
            with transaction.atomic():
                yield
        except DatabaseError as error:
            raise GradebookError(f"{failure}: {error}") from error

    def prepare_assignment(self, rubric: Rubric, releases: Mapping[str, bytes]) -> None:
        """See `Store.prepare_assignment`."""
        name = rubric.assignment.name
        wanted = collect_graded_cells(rubric, releases)
        with self._open_transaction(f"assignment {name!r} could not be prepared"):
            # Serialise preparations: two processes would both create the missing cells.
            CourseRecord.objects.select_for_update().get(pk=self._course.pk)
            cells = CellPlace.objects.filter(course=self._course, assignment=name)
            present = {(row.notebook, row.cell): row for row in cells}
            gone = [row for place, row in present.items() if place not in wanted]
            marked = CellMark.objects.filter(place__in=gone, touched=True).select_related("place")
            for mark in marked[:1]:
                raise GradebookError(
                    f"cell {mark.place.cell!r} is no longer in the release, but has manual marks or "
                    "comments; restore the cell, or remove the marks first"
                )
            CellPlace.objects.filter(pk__in=[row.pk for row in gone]).delete()
            new = CellPlace.objects.bulk_create(
                CellPlace(course=self._course, assignment=name, notebook=notebook, cell=cell)
                for notebook, cell in sorted(wanted - present.keys())
            )
            students = sorted(self.list_students(name))
            CellMark.objects.bulk_create(
                CellMark(place=place, student=student) for place in new for student in students
            )

    def enroll_students(self, students: Iterable[Student]) -> None:
        """See `Store.enroll_students`."""
        with self._open_transaction("the class list could not be entered"):
            fields = ("first_name", "last_name", "email")
            values: dict[str, dict[str, str]] = {}
            for student in students:
                stated = {name: value for name in fields if (value := getattr(student, name))}
                values.setdefault(student.id, {}).update(stated)
            # A removed student stays removed. One statement for all: thousands of them take a minute.
            rows = Member.everyone.filter(course=self._course, student__in=values)
            known = rows.select_for_update().order_by("pk")
            changed = []
            for member in known:
                stated = values.pop(member.student)
                if any(getattr(member, name) != value for name, value in stated.items()):
                    changed.append(member)
                for name, value in stated.items():
                    setattr(member, name, value)
            Member.everyone.bulk_update(changed, fields, batch_size=500)
            new = (
                Member(course=self._course, student=student, role=Role.STUDENT, **stated)
                for student, stated in values.items()
            )
            # Another transaction may have added the same student in the meantime.
            Member.everyone.bulk_create(new, ignore_conflicts=True)

    def start_run(self, rubric: Rubric, environment: str, isolation: str) -> int:
        """See `Store.start_run`."""
        with self._open_transaction("the run could not be noted"):
            run = StoredRun.objects.create(
                course=self._course,
                assignment=rubric.assignment.name,
                rubric_version=rubric.version,
                rubric=rubric.digest,
                environment=environment,
                isolation=isolation,
            )
        return int(run.pk)

    def finish_run(self, run: int) -> None:
        """See `Store.finish_run`."""
        with self._open_transaction("the run could not be noted"):
            StoredRun.objects.filter(course=self._course, pk=run).update(finished_at=timezone.now())

    def find_result(self, key: ResultKey) -> GradingResult | None:
        """See `Store.find_result`."""
        with self._open_transaction("the result could not be read"):
            # A pruned result lacks its notebooks and must not be reused.
            rows = StoredResult.objects.filter(course=self._course, whole=True, **msgspec.structs.asdict(key))
            stored = rows.values_list("graded", flat=True).first()
        return None if stored is None else decode_result(bytes(stored))

    def record_results(
        self, entries: Sequence[GradedEntry], *, run: int | None = None, language: str = ""
    ) -> Mapping[str, str]:
        """See `Store.record_results`. Comments are rendered with the page, in its reader's language."""
        del language
        with self._open_transaction("the marks could not be recorded"):
            names = {entry.key.assignment for entry in entries}
            cells = CellPlace.objects.filter(course=self._course, assignment__in=names).order_by("pk")
            places = {name: [item for item in cells if item.assignment == name] for name in names}
            for entry in sorted(entries, key=lambda item: item.key.student):  # one order: no deadlocks
                self._count_result(entry, self.keep_result(entry, run), places[entry.key.assignment])
        return {}

    def keep_result(self, entry: GradedEntry, run: int | None = None) -> int:
        """Store a result without making it current; return the id of its row.

        Raises:
            GradebookError: the store refused.
        """
        stored = encode_bounded(entry.graded, compute_budgets(entry.rubric.assignment.limits).stored_mb)
        with self._open_transaction("the result could not be kept"):
            row, new = StoredResult.objects.select_for_update().get_or_create(
                course=self._course,
                **msgspec.structs.asdict(entry.key),
                defaults={
                    "graded": stored,
                    "run_id": run,
                    "recorded_at": timezone.now(),
                    "submitted_at": _to_aware(entry.submitted_at),
                },
            )
            if not new and bytes(row.graded) != stored:
                row.graded, row.run_id, row.recorded_at, row.whole = stored, run, timezone.now(), True
                row.save()
            self._prune_results(row)
        return int(row.pk)

    def _prune_results(self, latest: StoredResult) -> None:
        """Remove the notebooks from a student's older results."""
        of_student = {"course": self._course, "assignment": latest.assignment, "student": latest.student}
        current = CurrentResult.objects.filter(**of_student).values_list("result", flat=True).first()
        whole = StoredResult.objects.filter(**of_student, whole=True).order_by("-recorded_at", "-pk")
        older = [
            number for number in whole.values_list("pk", flat=True) if number not in (current, latest.pk)
        ]
        # The latest result is not in the list, but is one of the attempts to keep.
        for row in StoredResult.objects.filter(pk__in=older[Budgets().attempts - 1 :]):
            graded = decode_result(bytes(row.graded))
            row.graded = encode_result(replace(graded, notebooks=())) if graded is not None else b""
            row.whole = False
            row.save(update_fields=["graded", "whole"])

    def _count_result(self, entry: GradedEntry, result: int, places: Sequence[CellPlace]) -> None:
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
        mark_rows = CellMark.objects.select_for_update().filter(place__in=places, student=student)
        rows = {row.place_id: row for row in mark_rows.order_by("pk")}
        cells = compute_automatic_points(entry.graded.score, entry.rubric)
        changed, added = [], []
        for place in places:
            row, wrote = rows.get(place.pk) or CellMark(student=student), False
            row.place, cell = place, answers.find_cell(entry.rubric, place.notebook, place.cell)
            earlier_values, worth = (row.items, row.points, row.again, row.worth), row.worth
            if cell is not None:
                wrote = _write_automatic(row, cells[place.notebook, place.cell], resubmitted=resubmitted)
                wrote = _update_worth(row, cell.question, entry.graded.score, changed=wrote)
                secret = bytes(self._course.secret)
                described = answers.describe_answer(row, cell, entry.graded, entry.rubric, secret)
                wrote |= described
                if row.pk is not None and row.worth != worth:
                    wrote |= _scale_readings(row, worth)
                # A marker's open form becomes stale once anything that it shows has changed.
                row.revision += row.pk is not None and (
                    described or earlier_values != (row.items, row.points, row.again, row.worth)
                )
            if row.pk is None:
                added.append(row)
            elif wrote:
                changed.append(row)
        CellMark.objects.bulk_create(added)
        CellMark.objects.bulk_update(changed, [*_WRITTEN, *answers.FIELDS])

    def load_results(
        self, assignment: str, rubric: str = "", *, whole: bool = True
    ) -> dict[str, GradingResult]:
        """See `Store.load_results`."""
        read = decode_result if whole else OutlineReader().read_outline
        with self._open_transaction("the results could not be read"):
            rows = CurrentResult.objects.filter(course=self._course, assignment=assignment)
            if rubric:
                rows = rows.filter(result__rubric=rubric)
            stored = rows.order_by("student").values_list("student", "result__graded").iterator()
            graded_by_student = {student: read(bytes(graded)) for student, graded in stored}
        graded_by_student = dict(
            sorted(graded_by_student.items())
        )  # Python's order, independent of the database's collation
        return {student: graded for student, graded in graded_by_student.items() if graded is not None}

    def load_student_result(
        self, assignment: str, student: str
    ) -> tuple[GradingResult | None, dict[CellName, PersonMark]]:
        """Return one student's part of `load_results` and `load_marks`, without reading the others.

        Raises:
            GradebookError: the store refused.
        """
        with self._open_transaction("the result could not be read"):
            rows = CurrentResult.objects.filter(course=self._course, assignment=assignment, student=student)
            stored = rows.values_list("result__graded", flat=True).first()
            places = {"place__course": self._course, "place__assignment": assignment}
            marked = CellMark.objects.filter(**places, student=student, touched=True).select_related("place")
            marks = {(row.place.notebook, row.place.cell): _to_mark(row) for row in marked}
        return (None if stored is None else decode_result(bytes(stored))), marks

    def find_unchanged_students(self, entries: Sequence[GradedEntry], language: str = "") -> frozenset[str]:
        """See `Store.find_unchanged_students`; none are reported: the service records each attempt once."""
        del entries, language
        return frozenset()

    def load_keys(self, assignment: str) -> dict[str, ResultKey]:
        """See `Store.load_keys`."""
        with self._open_transaction("the results could not be read"):
            rows = CurrentResult.objects.filter(course=self._course, assignment=assignment)
            key_rows = rows.values_list(*(f"result__{field}" for field in ResultKey.__struct_fields__))
            return {key.student: key for key in (ResultKey(*row) for row in key_rows)}

    def list_students(self, assignment: str) -> frozenset[str]:
        """See `Store.list_students`."""
        with self._open_transaction("the submissions could not be read"):
            rows = CurrentResult.objects.filter(course=self._course, assignment=assignment)
            return frozenset(rows.values_list("student", flat=True))

    def load_marks(self, assignment: str) -> dict[str, dict[CellName, PersonMark]]:
        """See `Store.load_marks`."""
        with self._open_transaction("the marks could not be read"):
            rows = CellMark.objects.filter(
                place__course=self._course, place__assignment=assignment, touched=True
            ).select_related("place")
            marks_by_student: dict[str, dict[CellName, PersonMark]] = {}
            for row in rows:
                marks_by_student.setdefault(row.student, {})[row.place.notebook, row.place.cell] = _to_mark(
                    row
                )
        return marks_by_student

    def load_decided_points(self, assignment: str) -> dict[AnswerName, Decimal]:
        """See `Store.load_decided_points`."""
        with self._open_transaction("the decisions could not be read"):
            rows = CellMark.objects.filter(
                place__course=self._course, place__assignment=assignment, decided__isnull=False
            ).select_related("place")
            return {(row.student, row.place.notebook, row.place.cell): Decimal(row.decided) for row in rows}

    def give_mark(
        self,
        assignment: str,
        student: str,
        cell: CellName,
        mark: PersonMark,
        decided: Decimal | None = None,
    ) -> None:
        """See `Store.give_mark`."""
        with self._open_transaction("the mark could not be entered"):
            places = {"place__course": self._course, "place__assignment": assignment}
            places |= {"place__notebook": cell[0], "place__cell": cell[1]}
            locked = CellMark.objects.select_for_update(of=("self",)).filter(**places, student=student)
            row = locked.select_related("place").first()
            if row is None:
                raise GradebookError(f"{student!r} has no cell {cell[1]!r} in {assignment!r} for a grade")
            _enter_mark(row, mark)
            row.decided = row.decided if decided is None else str(decided)
            row.save()

    def record_deductions(self, assignment: str, taken: Mapping[str, Decimal]) -> None:
        """See `Store.record_deductions`; pages compute it from the result."""
        del assignment, taken

    def restore_marks(
        self,
        results: Mapping[str, GradingResult],
        rubrics: Mapping[str, Rubric],
        releases: Mapping[str, bytes],
        language: str = "",
    ) -> tuple[str, ...]:
        """See `Store.restore_marks`; no other program writes here."""
        del results, rubrics, releases, language
        return ()


_WRITTEN = ("automatic", "pending", "again", "worth", "items", "points", "revision")


def get_bonus_points(offer: Offer, student: str) -> Decimal:
    """Return a student's bonus points from the course."""
    return Decimal(offer.bonus.get(student, "0"))


def _to_aware(moment: datetime.datetime | None) -> datetime.datetime | None:
    if moment is None or moment.tzinfo is not None:
        return moment
    return moment.replace(tzinfo=datetime.UTC)


def _to_decimal(stored: str | None) -> Decimal | None:
    return None if stored is None else Decimal(stored)


def _to_mark(row: CellMark) -> PersonMark:
    items = {name: Decimal(stored["points"]) for name, stored in row.items.items()}
    return PersonMark(
        _to_decimal(row.points),
        Decimal(row.extra),
        row.again,
        row.comment,
        items,
        flagged=row.flagged,
        remarks=row.remarks,
    )


def _enter_mark(row: CellMark, mark: PersonMark) -> None:
    """Enter a person's mark into a row.

    Raises:
        GradebookError: the cell has no such item.
    """
    before = _to_mark(row)
    if mark == before:
        return
    if unknown := sorted((mark.items.keys() | mark.remarks.keys()) - row.worth.keys()):
        raise GradebookError(
            f"{row.student!r}: cell {row.place.cell!r} has no item {unknown[0]!r} in the result that counts; "
            "grade it again"
        )
    if mark.items != before.items:
        row.items = {
            name: {"points": str(points), "of": row.worth[name]} for name, points in mark.items.items()
        }
    row.points, row.stage = (None if mark.points is None else str(mark.points)), ""
    row.extra, row.again, row.comment = str(mark.extra), mark.again, mark.comment
    row.touched = mark != PersonMark() or bool(row.annotations)
    row.flagged, row.remarks = mark.flagged, dict(mark.remarks)
    row.revision += 1


def _update_worth(row: CellMark, question: Question, score: Score, *, changed: bool) -> bool:
    """Rescale the item points that people gave to the items' current worth; return whether anything changed.

    Args:
        row: with its automatic mark up to date.
        question: the cell's question in the current rubric.
        score: of the current result.
        changed: whether the automatic mark changed.
    """
    worth = {item.id: item.points for item in list_items(question, row.place.cell)}
    worth_texts = {name: str(points) for name, points in worth.items()}
    changed |= row.worth != worth_texts
    row.worth = worth_texts
    if row.items and changed:
        rescaled_points = {
            name: scale_points(Decimal(stored["points"]), Decimal(stored["of"]), worth[name])
            for name, stored in row.items.items()
            if name in worth
        }
        row.items = {
            name: {"points": str(points), "of": worth_texts[name]} for name, points in rescaled_points.items()
        }
        verdicts = collect_verdicts(question, row.place.cell, score)
        points = compute_cell_points(question, row.place.cell, verdicts, rescaled_points)
        if row.points is not None and points is None:
            row.again = True  # a new item has no points from a person yet
        elif row.points is not None and points != _to_decimal(row.points):
            row.points = str(points)
    return changed


def _scale_readings(row: CellMark, before: Mapping[str, str]) -> bool:
    """Rescale two markers' independent marks to the items' current worth; return whether the stage changed.

    If items were added or removed, both have to mark the answer again.

    Args:
        row: with the current worth of its items.
        before: their previous worth.
    """
    for reading in IndependentMark.objects.select_for_update(of=("self",)).filter(mark=row).order_by("pk"):
        reading.items = {
            name: {
                "points": str(scale_points(Decimal(stored["points"]), Decimal(stored["of"]), Decimal(now))),
                "of": now,
            }
            for name, stored in reading.items.items()
            if (now := row.worth.get(name)) is not None
        }
        reading.submission = reading.submission if row.worth.keys() == before.keys() else ""
        reading.save(update_fields=["items", "submission"])
    if not row.stage or row.worth.keys() == before.keys():
        return False
    row.stage = ""
    return True


def _write_automatic(row: CellMark, cell: CellPoints, *, resubmitted: bool) -> bool:
    """Update a row's automatic mark; return whether anything changed."""
    points = str(cell.points) if cell.settled else None
    before = (row.automatic, row.pending, row.again)
    if row.points is not None and (resubmitted or _to_decimal(row.automatic) != _to_decimal(points)):
        row.again = True
    row.automatic, row.pending = points, cell.pending
    return before != (row.automatic, row.pending, row.again)
