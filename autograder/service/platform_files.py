"""Importing platform archives of submissions, and grade lines for platforms."""

from __future__ import annotations

import tempfile
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from autograder.app import SILENT
from autograder.app.collection import AttemptCollector, CollectedAttempt, CollectReport, StagedAttempt
from autograder.app.grade_files import GradeLine, make_grade_lines
from autograder.core.errors import ServiceError
from autograder.core.wording import Phrase
from autograder.course.archives import RefusedFile
from autograder.exchange.platforms.filename_patterns import CollectSettings
from autograder.exchange.platforms.sources import WantedAttempts
from autograder.exchange.platforms.student_matching import Identification, ListedStudent, Register
from autograder.exchange.platforms.worksheets import WorksheetRow
from autograder.grading.assignment import Assignment
from autograder.messages import build_localised_text
from autograder.rubric.timestamps import FILE_NAME as STAMP
from autograder.service import attempts
from autograder.service.models import Account, Attempt, CourseRecord, Member, Offer, Role
from autograder.service.receipts import Signer
from autograder.service.standings import load_standings
from autograder.service.store import DatabaseStore


class ArchiveOptions(Struct, frozen=True):
    """An instructor's options for reading an archive."""

    participants: dict[str, WorksheetRow] = {}
    """Rows of Moodle's worksheet, by participant number."""
    zone: str = ""
    """Time zone of the platform's clock."""
    moment: datetime | None = None
    """Submission time for files without one in the archive."""


def build_register(course: CourseRecord) -> Register:
    """Return the students of a course as a register that resolves names."""
    members = Member.objects.filter(course=course, role=Role.STUDENT)
    return Register(
        ListedStudent(member.student, member.first_name, member.last_name, member.email)
        for member in members
        if member.student
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
    register = build_register(offer.course)
    names = Offer.objects.filter(course=offer.course).values_list("assignment", flat=True)
    wanted = WantedAttempts(
        offer.assignment,
        frozenset(names) - {offer.assignment},
        lambda text: bool(register.find_student(Identification(text)).student),
        CollectSettings(options.zone),
        participants=options.participants,
    )
    gathering = AttemptCollector(assignment.rubric, register)
    with tempfile.TemporaryDirectory() as folder:
        gathering.read_source(archive, wanted, Path(folder), SILENT)
        handing = _ArchiveImporter(offer, options.moment, signer, by)
        collected = [handing.submit_attempt(entry) for entry in gathering.found]
    there = set(Attempt.objects.filter(offer=offer).values_list("student", flat=True))
    return CollectReport(
        tuple(collected),
        tuple(gathering.unmatched),
        (*gathering.refused, *handing.refused),
        tuple(gathering.concerns),
        tuple(entry.id for entry in register.students if entry.id not in there),
        tuple(gathering.remarks),
    )


class _ArchiveImporter:
    """Submits one student's files after the other, and collects the refused files."""

    def __init__(self, offer: Offer, moment: datetime | None, signer: Signer, by: Account) -> None:
        self.offer, self.moment, self.signer, self.by = offer, moment, signer, by
        self.refused: list[RefusedFile] = []

    def submit_attempt(self, staged_attempt: StagedAttempt) -> CollectedAttempt:
        """Submit one attempt and return the outcome."""
        moment = staged_attempt.staged.moment or self.moment
        files = self._read_files(staged_attempt)
        state = self._submit_files(staged_attempt, files, moment)
        return CollectedAttempt(
            staged_attempt.student,
            staged_attempt.source,
            staged_attempt.attempt.label,
            state,
            len(files),
            moment,
            staged_attempt.attempt.late,
            staged_attempt.staged.renamed,
        )

    def _read_files(self, staged_attempt: StagedAttempt) -> dict[str, bytes]:
        files = {}
        for path in sorted(staged_attempt.staged.folder.rglob("*")):
            relative_path = path.relative_to(staged_attempt.staged.folder).as_posix()
            if path.is_dir() or relative_path == STAMP:
                continue
            if "/" in relative_path:
                self._refuse_file(
                    staged_attempt,
                    relative_path,
                    build_localised_text("web.archive-in-folder"),
                )
                continue
            files[relative_path] = path.read_bytes()
        return files

    def _submit_files(
        self, staged_attempt: StagedAttempt, files: dict[str, bytes], moment: datetime | None
    ) -> str:
        if not files:
            return "left"
        own_attempts = Attempt.objects.filter(offer=self.offer, student=staged_attempt.student)
        # These files exist already, for example because the archive is sent a second time.
        if own_attempts.filter(digest=attempts.compute_files_digest(staged_attempt.student, files)).exists():
            return "unchanged"
        if moment is None:
            self._refuse_file(staged_attempt, "", build_localised_text("web.archive-no-time"))
            return "left"
        if own_attempts.filter(
            submitted_at__gt=moment
        ).exists():  # attempt numbers must follow submission times
            self._refuse_file(staged_attempt, "", build_localised_text("web.archive-later"))
            return "left"
        try:
            attempts.submit_files(
                self.offer, staged_attempt.student, files, self.signer, by=self.by, submitted_at=moment
            )
        except ServiceError as error:
            self._refuse_file(staged_attempt, "", error.text)
            return "left"
        return "new"

    def _refuse_file(self, staged_attempt: StagedAttempt, file_name: str, reason: Phrase) -> None:
        where = ": ".join(
            filter(
                None,
                (staged_attempt.source, ascii(staged_attempt.attempt.label)[1:-1], ascii(file_name)[1:-1]),
            )
        )
        self.refused.append(RefusedFile(where, reason))


def build_grade_lines(offer: Offer, assignment: Assignment, language: str) -> tuple[GradeLine, ...]:
    """Return every student's marks in the form that exports use.

    Args:
        offer: the offered assignment.
        assignment: loaded.
        language: of titles and messages.
    """
    counting = attempts.find_counting_attempts(offer, assignment.rubric)
    return tuple(
        make_grade_lines(
            assignment,
            DatabaseStore(offer.course).load_results(offer.assignment),
            load_standings(offer, assignment),
            register=build_register(offer.course),
            submitted={student: handin.submitted_at for student, handin in counting.items()},
            language=language,
        )
    )
