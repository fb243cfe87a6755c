"""Importing platform archives of submissions, and grade lines for platforms."""

from __future__ import annotations

import tempfile
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from autograder.app import SILENT
from autograder.app.collecting import CollectedAttempt, CollectReport, Gathering, StagedAttempt
from autograder.app.grade_lines import GradeLine, grade_lines
from autograder.assignment import Assignment
from autograder.course.archives import RefusedFile
from autograder.errors import ServiceError
from autograder.platforms.patterns import CollectSettings
from autograder.platforms.people import ListedStudent, Naming, Register
from autograder.platforms.sources import WantedAttempts
from autograder.platforms.worksheets import WorksheetRow
from autograder.service import attempts
from autograder.service.models import Account, Attempt, CourseRecord, Member, Offer, Role
from autograder.service.receipts import Signer
from autograder.service.standing import standings
from autograder.service.store import DatabaseStore
from autograder.timestamps import FILE_NAME as STAMP


class ArchiveOptions(Struct, frozen=True):
    """An instructor's options for reading an archive."""

    participants: dict[str, WorksheetRow] = {}
    """Rows of Moodle's worksheet, by participant number."""
    zone: str = ""
    """Time zone of the platform's clock."""
    moment: datetime | None = None
    """Submission time for files without one in the archive."""


def class_register(course: CourseRecord) -> Register:
    """Return the students of a course as a register that resolves names."""
    members = Member.objects.filter(course=course, role=Role.STUDENT)
    return Register(
        ListedStudent(one.student, one.first_name, one.last_name, one.email) for one in members if one.student
    )


def collect_archive(
    offer: Offer,
    assignment: Assignment,
    archive: Path,
    options: ArchiveOptions,
    *,
    signer: Signer,
    by: Account,
) -> CollectReport:
    """Submit the files in a platform's archive for their students; an attempt that exists is not repeated.

    Args:
        offer: the offered assignment.
        assignment: loaded.
        archive: the file as downloaded.
        options: how to read it.
        signer: signs the receipts.
        by: the account that sent it.

    Raises:
        CourseError: the time zone is unknown.
        OSError: a file cannot be read or written.
    """
    register = class_register(offer.course)
    names = Offer.objects.filter(course=offer.course).values_list("assignment", flat=True)
    wanted = WantedAttempts(
        offer.assignment,
        frozenset(names) - {offer.assignment},
        lambda text: bool(register.find(Naming(text)).student),
        CollectSettings(options.zone),
        participants=options.participants,
    )
    gathering = Gathering(assignment.rubric, register)
    with tempfile.TemporaryDirectory() as folder:
        gathering.read(archive, wanted, Path(folder), SILENT)
        handing = _Handing(offer, options.moment, signer, by)
        found = [handing.collected(one) for one in gathering.found]
    there = set(Attempt.objects.filter(offer=offer).values_list("student", flat=True))
    return CollectReport(
        tuple(found),
        tuple(gathering.unmatched),
        (*gathering.refused, *handing.refused),
        tuple(gathering.concerns),
        tuple(one.id for one in register.students if one.id not in there),
        tuple(gathering.remarks),
    )


class _Handing:
    """Submits one student's files after the other, and collects the refused files."""

    def __init__(self, offer: Offer, moment: datetime | None, signer: Signer, by: Account) -> None:
        self.offer, self.moment, self.signer, self.by = offer, moment, signer, by
        self.refused: list[RefusedFile] = []

    def collected(self, one: StagedAttempt) -> CollectedAttempt:
        """Submit one attempt and return the outcome."""
        moment = one.staged.moment or self.moment
        files = self._files(one)
        state = self._state(one, files, moment)
        return CollectedAttempt(
            one.student,
            one.source,
            one.attempt.label,
            state,
            len(files),
            moment,
            one.attempt.late,
            one.staged.renamed,
        )

    def _files(self, one: StagedAttempt) -> dict[str, bytes]:
        found = {}
        for path in sorted(one.staged.folder.rglob("*")):
            place = path.relative_to(one.staged.folder).as_posix()
            if path.is_dir() or place == STAMP:
                continue
            if "/" in place:
                self._refuse(one, place, "it lies in a folder, and the service takes files alone")
                continue
            found[place] = path.read_bytes()
        return found

    def _state(self, one: StagedAttempt, files: dict[str, bytes], moment: datetime | None) -> str:
        if not files:
            return "left"
        own = Attempt.objects.filter(offer=self.offer, student=one.student)
        # These files exist already, for example because the archive is sent a second time.
        if own.filter(digest=attempts.digest_of(one.student, files)).exists():
            return "unchanged"
        if moment is None:
            self._refuse(one, "", "it is not known when it was handed in; state it, or send the worksheet")
            return "left"
        if own.filter(submitted_at__gt=moment).exists():  # attempt numbers must follow submission times
            self._refuse(one, "", "a later attempt is here already")
            return "left"
        try:
            attempts.hand_in(self.offer, one.student, files, self.signer, by=self.by, at=moment)
        except ServiceError as error:
            self._refuse(one, "", str(error))
            return "left"
        return "new"

    def _refuse(self, one: StagedAttempt, place: str, reason: str) -> None:
        where = ": ".join(filter(None, (one.source, ascii(one.attempt.label)[1:-1], ascii(place)[1:-1])))
        self.refused.append(RefusedFile(where, reason))


def lines_of(offer: Offer, assignment: Assignment, language: str) -> tuple[GradeLine, ...]:
    """Return every student's marks in the form that exports use.

    Args:
        offer: the offered assignment.
        assignment: loaded.
        language: of titles and messages.
    """
    counting = attempts.all_counting(offer, assignment.rubric)
    return tuple(
        grade_lines(
            assignment,
            DatabaseStore(offer.course).results(offer.assignment),
            standings(offer, assignment),
            register=class_register(offer.course),
            submitted={student: one.submitted_at for student, one in counting.items()},
            language=language,
        )
    )
