"""Importing a course from a folder into the service, and exporting it to a folder, without any loss.

Earlier results are imported as they are, with the marks of people; ungraded submissions wait for a worker.
"""

from __future__ import annotations

import contextlib
import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from django.db import transaction
from django.utils import timezone
from msgspec.structs import replace

from autograder.app.class_lists import read_bonus, read_roster
from autograder.app.published_marks import read_published, write_published
from autograder.app.stores import open_store
from autograder.core import atomic
from autograder.core.errors import ServiceError, StoreMissing
from autograder.core.paths import list_files_below
from autograder.core.records import GradingResult
from autograder.course import Course, Handin, group_list, schedule
from autograder.course.counting_attempts import find_counting_attempts
from autograder.course.submission_folder import list_expected_files, read_folder
from autograder.grading import assignment as assignments
from autograder.grading.assignment import Assignment
from autograder.grading.batch import read_handin
from autograder.grading.store import GradedEntry, ResultKey, Store, Student, decode_result
from autograder.rubric import Rubric
from autograder.service import attempts, audit, blobs, mark_changes, openings, trials, versions
from autograder.service.models import (
    Attempt,
    CourseFile,
    CourseRecord,
    CurrentResult,
    Member,
    Offer,
    Role,
    State,
    StoredResult,
)
from autograder.service.receipts import Signer
from autograder.service.store import DatabaseStore

IMPORTED = "imported"
"""Placeholder for the environment digest of a result, if it is no longer known."""
_LISTS = ("bonus.csv", "nbgrader_config.py")
_STAMP = "timestamp.txt"


def import_course(course: Course, slug: str, signer: Signer) -> CourseRecord:
    """Import a course from a folder into the database, or update it from the folder.

    Args:
        course: the folder's course; assignments that are not released yet are left out.
        slug: its name in addresses, if it is new.
        signer: signs receipts for submissions in the folder.

    Raises:
        As `trials.import_assignment`.
        CourseError: the class list is not usable.
        GradebookError: the folder's gradebook cannot be read.
    """
    record = find_course(course, slug)
    new = record is None
    if record is None:
        record = CourseRecord.objects.create(slug=slug, title=course.root.name, secret=course.load_secret())
    store = DatabaseStore(record)
    for name in course.list_assignments():
        if course.locate_release(name).is_dir():
            offered, _ = trials.import_assignment(record, course, name)
            mark_changes.give_bonus(offered, _load_bonus_points(course, name))
    if course.roster.is_file():
        store.enroll_students(read_roster(course.roster))
    for path in (course.root / name for name in _LISTS):
        if path.is_file():
            digest = blobs.store_blobs([path.read_bytes()])[0]
            CourseFile.objects.update_or_create(course=record, path=path.name, defaults={"blob_id": digest})
    for offer in Offer.objects.filter(course=record):
        if (course.root / "submitted").is_dir():
            _import_submissions(course, offer, store, signer)
        mark_changes.import_shown_marks(offer, read_published(course, offer.assignment))
    if new:
        audit.record_action("autograder serve", "course", slug, course=record, after=course.root.name)
    return record


def find_course(course: Course, slug: str) -> CourseRecord | None:
    """Return the imported course of a folder: the one of this name, or the only one with the folder's secret.

    So a folder may be renamed, and a service may be restored into another folder.
    """
    if named := CourseRecord.objects.filter(slug=slug).first():
        return named
    same = list(CourseRecord.objects.filter(secret=course.load_secret())[:2])
    return same[0] if len(same) == 1 else None


def _load_bonus_points(course: Course, name: str) -> dict[str, str]:
    if not course.bonus.is_file():
        return {}
    points = read_bonus(course.bonus, name, course.list_assignments())
    return {student: str(bonus) for student, bonus in points.items()}


def _import_submissions(course: Course, offer: Offer, store: DatabaseStore, signer: Signer) -> None:
    """Import the submissions in submitted/ and earlier/, with their results in the folder's gradebook."""
    assignment = assignments.load_assignment(course, offer.assignment)
    results: dict[str, GradingResult] = {}
    with contextlib.suppress(StoreMissing), open_store(assignment, new=False) as book:
        results = book.load_results(offer.assignment)
        _import_results(assignment, results, book, store)
    members = {member for group in attempts.list_groups(offer) for member in group.members}
    handed_in = {entry.student for entry in course.list_handins(offer.assignment)}
    store.enroll_students(Student(entry) for entry in sorted(handed_in | members))
    counted: dict[Path | None, Handin] = {}
    if assignment.rubric.assignment.individual:
        counted = {entry.own: entry for entry in find_counting_attempts(course, assignment.rubric).handins}
    for latest in course.list_handins(offer.assignment):
        earlier = sorted(
            course.list_earlier_attempts(latest.student, offer.assignment),
            key=lambda handin: handin.submitted_at or datetime.min.replace(tzinfo=UTC),
        )
        # Oldest first, so that attempt numbers follow submission times.
        for handin in (*earlier, latest):
            whole = replace(counted.get(handin.folder, handin), timing=None)
            _import_attempt(assignment, offer, whole, results.get(latest.student), signer)


def _import_results(
    assignment: Assignment, results: dict[str, GradingResult], book: Store, store: DatabaseStore
) -> None:
    """Import current results, and people's marks, of students who have none in the database."""
    name = assignment.name
    there = store.list_students(name)
    new = {student: graded for student, graded in results.items() if student not in there}
    moments = {handin.student: handin.submitted_at for handin in assignment.course.list_handins(name)}
    for student, graded in new.items():
        rubric = assignment.get_rubric(graded.score.asked)
        key = ResultKey(student, name, graded.digest, graded.score.rubric_version, rubric.digest, IMPORTED)
        store.record_results([GradedEntry(key, graded, rubric, moments.get(student))])
    decided = book.load_decided_points(name)
    for student, cells in book.load_marks(name).items():
        for cell, mark in cells.items() if student in new else ():
            store.give_mark(name, student, cell, mark, decided.get((student, *cell)))


def _import_attempt(
    assignment: Assignment, offer: Offer, handin: Handin, result: GradingResult | None, signer: Signer
) -> None:
    """Import one attempt of a folder, unless it is in the database already.

    For a member's individual notebooks this is the folder with them, without the group's files that count
    with them.
    """
    folder = handin.own or handin.folder
    files = dict(_iterate_files(folder, assignment.rubric)) if folder.is_dir() else {}
    if not files:
        return
    of_student = Attempt.objects.filter(offer=offer, student=handin.student)
    if of_student.filter(digest=attempts.compute_files_digest(handin.student, files)).exists():
        return
    with transaction.atomic():
        submitted_at = Handin.from_folder(handin.student, folder).submitted_at
        attempt = attempts.submit_files(offer, handin.student, files, signer, submitted_at=submitted_at)
        # The folder's result belongs to this attempt only if the same files were graded.
        if result is not None and result.digest == read_handin(assignment, handin).compute_digest():
            current = offer.current_results.filter(student=handin.student).first()
            if current is not None:
                Attempt.objects.filter(pk=attempt.pk).update(
                    state=State.GRADED, graded_at=timezone.now(), result=current.result
                )


def _iterate_files(folder: Path, rubric: Rubric) -> Iterator[tuple[str, bytes]]:
    """Yield the submitted files: those in the folder itself, and expected files in its subfolders.

    Copies of data files that were given out are left out: they are not graded and may be large.
    """
    notebooks = rubric.assignment.notebooks
    wanted = {path for notebook in notebooks for path in notebook.own}
    data_paths = {path for notebook in notebooks for path in notebook.data}
    folder_files = read_folder(folder, rubric)
    taken = {
        path: folder_files.contents[path]
        for path in folder_files.taken
        if path in list_expected_files(rubric)
    }
    sources = {folder_files.taken[path] for path in taken}
    for path, file in list_files_below(folder):
        if path in sources:  # graded and stored under its expected name
            continue
        if path in wanted or ("/" not in path and path != _STAMP and path not in data_paths):
            yield path, atomic.read_bytes(file)
    yield from ((path, data) for path, data in taken.items() if isinstance(data, bytes))


def export_course(record: CourseRecord, folder: Path) -> Course:
    """Export a course into an empty folder, in the layout that the commands for course folders expect.

    Each student's counting attempt goes to submitted/, the others to earlier/; results and people's marks go
    into gradebook.db.

    Raises:
        ServiceError: the folder is not empty.
        GradebookError: the gradebook cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise ServiceError(f"{folder}: expected an empty folder")
    offers = list(Offer.objects.filter(course=record).select_related("version", "course").order_by("pk"))
    course = Course(folder)
    for offer in offers:
        course = versions.lay_out(offer.version, folder)
    for course_file in record.files.select_related("blob"):
        atomic.write_bytes(folder / course_file.path, bytes(course_file.blob.data))
    write_roster(record, course)
    if times := _build_times(offers):
        atomic.write_bytes(course.exams, msgspec.toml.encode(times))
    write_groups(offers, course)
    for offer in offers:
        _export_attempts(offer, course)
        _export_results(record, offer, course)
        if offer.published_at:
            write_published(course, offer.assignment, mark_changes.export_shown_marks(offer))
    return course


def _build_times(offers: Iterable[Offer]) -> dict[str, Any]:
    """Return the contents of ``exams.toml``: each offer's times, and the slip days common to all."""
    times = {
        offer.assignment: dict(openings.add_openings(offer, offer.times)) for offer in offers if offer.times
    }
    # Each offer stores the slip days and its place in the order; the file states them once.
    banks = {name: table.pop("slip_days") for name, table in times.items() if "slip_days" in table}
    if not banks:
        return times
    order = sorted(banks, key=lambda name: banks[name]["place"])
    first = banks[order[0]]
    slip = {"days": first["days"], "most": first["most"], "assignments": order}
    return {schedule.COMMON: {"slip_days": slip}, **times}


def write_roster(record: CourseRecord, course: Course) -> None:
    """Write the class list into a course folder."""
    fields = ("student", "first_name", "last_name", "email")
    students = Member.objects.filter(course=record, role=Role.STUDENT).values_list(*fields)
    _write_csv(course.roster, [("id", *fields[1:]), *sorted(students)])


def write_groups(offers: Iterable[Offer], course: Course) -> None:
    """Write the groups into a course folder, if there are any."""
    rows = [
        (group.name, member, offer.assignment)
        for offer in offers
        for group in attempts.list_groups(offer)
        for member in group.members
    ]
    if rows:
        _write_csv(course.groups, [group_list.COLUMNS, *rows])


def _write_csv(path: Path, rows: Iterable[Sequence[str]]) -> None:
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerows(rows)
    atomic.write_bytes(path, written.getvalue().encode())


def _export_attempts(offer: Offer, course: Course) -> None:
    rubric = assignments.load_assignment(course, offer.assignment).rubric
    students = Attempt.objects.filter(offer=offer).values_list("student", flat=True).distinct()
    for student in sorted(students):
        handin = attempts.find_counting_attempt(offer, student, rubric)
        of_student = Attempt.objects.filter(offer=offer, student=student).order_by("number")
        last = str(of_student.last().pk)  # also for a member for whom another member's attempt counts
        if handin is not None and of_student.filter(pk=attempts.get_graded_attempt_id(handin)).exists():
            last = attempts.get_graded_attempt_id(handin)
        for attempt in of_student:
            folder = course.root / "submitted" / student / offer.assignment
            if str(attempt.pk) != last:
                folder = course.root / "earlier" / student / offer.assignment / str(attempt.number)
            folder.mkdir(parents=True)
            for name, data in attempts.load_files(attempt).items():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                atomic.write_bytes(folder / name, data)
            stamp = attempt.submitted_at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f UTC")
            atomic.write_bytes(folder / _STAMP, f"{stamp}\n".encode())


def _export_results(record: CourseRecord, offer: Offer, course: Course) -> None:
    """Write results, oldest first and the current one last, so that it is the current one there too."""
    assignment = assignments.load_assignment(course, offer.assignment)
    source, name = DatabaseStore(record), offer.assignment
    with open_store(assignment, new=True) as book:
        book.prepare_assignment(assignment.rubric, assignment.release_bytes)
        book.enroll_students(
            Student(member.student, member.first_name, member.last_name, member.email)
            for member in Member.objects.filter(course=record, role=Role.STUDENT)
        )
        for row in _iterate_results(record, name):
            graded = decode_result(bytes(row.graded))
            if graded is not None:
                key = ResultKey(*(getattr(row, field) for field in ResultKey.__struct_fields__))
                book.record_results(
                    [GradedEntry(key, graded, assignment.get_rubric(graded.score.asked), row.submitted_at)],
                    language=assignment.language,
                )
        decided = source.load_decided_points(name)
        for student, cells in source.load_marks(name).items():
            for cell, mark in cells.items():
                book.give_mark(name, student, cell, mark, decided.get((student, *cell)))


def _iterate_results(record: CourseRecord, name: str) -> Iterator[StoredResult]:
    counting = set(
        CurrentResult.objects.filter(course=record, assignment=name).values_list("result", flat=True)
    )
    rows = StoredResult.objects.filter(course=record, assignment=name).order_by("recorded_at", "pk")
    # Results hold whole notebooks, so only a few are loaded at a time.
    yield from (row for row in rows.iterator(chunk_size=20) if row.pk not in counting)
    yield from (row for row in rows.iterator(chunk_size=20) if row.pk in counting)
