"""Drafts: assignments that instructors upload or keep in Git. A worker checks them before they are offered.

An archive, uploaded or fetched by the worker, holds the rubric, the source notebooks and the reference of one
assignment, as they lie in a course folder. Nothing in it is run by the pages or by the worker itself:
reference and checks are imported only in the sandbox, which has neither the network nor the files and keys of
the service.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import IO

import msgspec
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone
from msgspec import Struct
from msgspec.structs import astuple

from autograder.app import Isolation, Listener, preparation
from autograder.authoring.new_assignment import COURSE_FILES
from autograder.core import atomic
from autograder.core.errors import AutograderError, SandboxError, ServiceError, SourceError
from autograder.core.paths import find_path_fault, is_below
from autograder.core.tables import escape_name
from autograder.core.wording import LocalisedText, Phrase, format_size
from autograder.course import PRIVATE, Course, find_name_fault
from autograder.course.archives import PackedFile, open_archive
from autograder.course.submission_folder import join_file_faults
from autograder.grading.verify import VerifyFinding, localise_paper
from autograder.messages import build_localised_text
from autograder.service import audit, blobs, course_transfer, git_repositories, tasks, trials, versions
from autograder.service.git_repositories import GitSource
from autograder.service.models import Account, CourseRecord, Offer, Version, VersionTrial
from autograder.service.models_results import Draft
from autograder.service.refusals import RequestRefused

LEASE = timedelta(seconds=60)
"""A running check without a sign of life for this time is started again, by another worker."""
OVERDUE = timedelta(seconds=5)
"""A waiting check is enqueued again after this time."""
MOST_TRIES = 3
MOST_BYTES = 256 << 20
"""Maximum size of all files of an archive, unpacked."""
_FOLDERS = ("assignments", "rubrics", "reference")
_NOT_USED = (*COURSE_FILES, PRIVATE, "release", "rubrics/.schema.json")
"""What else is in the folder of a course after `new`, `verify` and `generate`: authors pack all of it."""
_SHOWN = 3
"""Number of faults that a message names."""


class DraftFinding(Struct, frozen=True):
    """A `VerifyFinding` of `autograder.grading.verify`, or another problem, in all languages that it has."""

    paper: Phrase
    place: Phrase
    expected: Phrase
    got: Phrase
    remedy: Phrase

    @classmethod
    def from_verify(cls, finding: VerifyFinding) -> DraftFinding:
        """Return a finding of `verify`."""
        paper, *rest = astuple(finding)
        return cls(localise_paper(paper), *rest)

    def cut_text(self, text: str) -> DraftFinding:
        """Return the finding without a text wherever it occurs."""
        return DraftFinding(*(_remove_text(phrase, text) for phrase in astuple(self)))


def _remove_text(phrase: Phrase, text: str) -> Phrase:
    if isinstance(phrase, str):
        return phrase.replace(text, "")
    return LocalisedText({language: words.replace(text, "") for language, words in phrase.text.items()})


def upload_draft(record: CourseRecord, archive: IO[bytes], by: Account, *, name: str = "") -> Draft:
    """Store an uploaded archive, and have it checked.

    Args:
        record: the course.
        archive: the content of the file.
        by: who uploads it.
        name: of the file, as Django cleans and shortens it.

    Raises:
        ServiceError: the archive is not the archive of one assignment; gives the reason.
    """
    with _open_files(archive) as (assignment, _):
        archive.seek(0)
        digest = blobs.store_blobs([archive.read()])[0]
    draft = Draft(course=record, assignment=assignment, archive_id=digest, archive_name=name, by=by)
    return _enqueue_draft(draft, "upload draft", digest)


def request_draft(record: CourseRecord, source: GitSource, assignment: str, by: Account) -> Draft:
    """Have an assignment fetched from a repository, and checked.

    Args:
        record: the course.
        source: where it is, as somebody states it.
        assignment: its name.
        by: who asks for it.

    Raises:
        ServiceError: address, branch, folder or name cannot be used; gives the reason.
    """
    source = git_repositories.check_source(source)
    _check_assignment_name(assignment)
    draft = Draft(
        course=record,
        assignment=assignment,
        git_address=source.address,
        git_ref=source.ref,
        git_folder=source.folder,
        by=by,
    )
    return _enqueue_draft(draft, "fetch draft", source.address)


def _enqueue_draft(draft: Draft, action: str, content: str) -> Draft:
    with transaction.atomic():
        audit.record_action(draft.by.username, action, draft.assignment, course=draft.course, after=content)
        offer = Offer.objects.filter(course=draft.course, assignment=draft.assignment).first()
        draft.base_id = offer.version_id if offer else None
        draft.queued_at = timezone.now()
        draft.save()
        tasks.enqueue_job(tasks.DRAFTS, draft.pk)
    return draft


@contextmanager
def _open_files(archive: IO[bytes]) -> Iterator[tuple[str, dict[str, PackedFile]]]:
    """Open an archive, and list its files by their path in a course folder, with the assignment's name.

    Raises:
        ServiceError: it is no archive, contains a file that is not allowed, or not exactly one assignment.
    """
    try:
        with open_archive(archive, "archive") as source:
            if source.refused:
                raise ServiceError(
                    join_file_faults((fault.place, fault.reason) for fault in source.refused[:_SHOWN])
                )
            if sum(entry.size for entry in source.entries) > MOST_BYTES:
                raise RequestRefused("draft-large", most=format_size(MOST_BYTES))
            files = _strip_top({entry.path: entry for entry in source.entries})
            files = {path: entry for path, entry in files.items() if not _is_unused(path)}
            yield _find_assignment(files), files
    except SourceError as error:
        raise ServiceError(error.text) from error


def _strip_top(files: dict[str, PackedFile]) -> dict[str, PackedFile]:
    """Return the files without the folder that contains all of them, if there is one: programs add it."""
    tops = {path.partition("/")[0] for path in files}
    if len(tops) != 1 or tops <= set(_FOLDERS):
        return files
    return {path.partition("/")[2]: entry for path, entry in files.items()}


def _is_unused(path: str) -> bool:
    return any(path == name or is_below(path, name) for name in _NOT_USED)


def _find_assignment(files: dict[str, PackedFile]) -> str:
    """Return the name of the assignment in an archive.

    Raises:
        ServiceError: there is not exactly one, or a file is not part of it.
    """
    rubrics = [path for path in files if is_below(path, "rubrics") and path.endswith(".toml")]
    if len(rubrics) != 1:
        raise RequestRefused("draft-one-rubric", number=len(rubrics))
    name = rubrics[0].removeprefix("rubrics/").removesuffix(".toml")
    _check_assignment_name(name)
    faults = [(escape_name(path), fault) for path in files if (fault := _find_file_fault(path, name))]
    if faults:
        raise ServiceError(join_file_faults(faults[:_SHOWN]))
    return name


def _check_assignment_name(name: str) -> None:
    if find_name_fault(name) or find_path_fault(name):
        raise RequestRefused("draft-name", name=ascii(name))


def _find_file_fault(path: str, name: str) -> Phrase:
    """Return why a file cannot be part of the archive of an assignment; empty if it can."""
    if path == f"rubrics/{name}.toml":
        return ""
    if not (is_below(path, f"assignments/{name}") or is_below(path, "reference")):
        return build_localised_text("web.draft-file-place", name=name)
    return build_localised_text("web.draft-path") if find_path_fault(path) else ""


# ------------------------------------------------------------ checking


def request_check(draft: Draft, *, full: bool) -> None:
    """Have a draft checked again, unless a check is in progress or the draft is settled."""
    with transaction.atomic():
        idle = Draft.objects.filter(pk=draft.pk, settled="", state__in=("passed", "failed"))
        values = {"tries": 0, "done": 0, "total": 0, "findings": [], "queued_at": timezone.now()}
        if idle.update(state="waiting", full=full, version=None, **values):
            tasks.enqueue_job(tasks.DRAFTS, draft.pk)


def claim_draft(number: int) -> Draft | None:
    """Claim a draft that waits, or whose worker shows no life; None if there is nothing to do."""
    now = timezone.now()
    free = Q(state="waiting") | Q(state="running", alive_at__lt=now - LEASE)
    rows = Draft.objects.filter(free, pk=number, settled="")
    if not rows.update(state="running", alive_at=now, tries=F("tries") + 1):
        return None
    draft = Draft.objects.select_related("course", "base", "archive").get(pk=number)
    if draft.tries > MOST_TRIES:
        _store_outcome(draft, [_make_finding(draft, build_localised_text("web.job-stopped"))])
        return None
    return draft


def show_life(draft: Draft) -> None:
    """Record that the worker of a draft is alive."""
    _select_own(draft).update(alive_at=timezone.now())


def _select_own(draft: Draft) -> QuerySet[Draft]:
    # Every claim counts a try, which fences off a worker that lost the draft to another one.
    return Draft.objects.filter(pk=draft.pk, tries=draft.tries, state="running", settled="")


def give_back(draft: Draft, problem: Phrase) -> None:
    """Release a draft for another try; after the last one it fails with this problem."""
    if draft.tries < MOST_TRIES:
        _select_own(draft).update(state="waiting", queued_at=timezone.now())
    else:
        _store_outcome(draft, [_make_finding(draft, problem)])


def sweep_drafts() -> None:
    """Enqueue drafts that wait without a job, or whose worker shows no life."""
    now = timezone.now()
    forgotten = Q(state="waiting", queued_at__lt=now - OVERDUE)
    lost = Q(state="running", alive_at__lt=now - LEASE)
    for number in Draft.objects.filter(forgotten | lost, settled="").values_list("pk", flat=True):
        tasks.enqueue_job(tasks.DRAFTS, number)


class _ProgressWriter(Listener):
    """Stores the progress of a check with its draft.

    Args:
        draft: as it was claimed.
    """

    def __init__(self, draft: Draft) -> None:
        self._draft = draft

    def report_progress(self, done: int, total: int) -> None:
        """Store how many trials are done."""
        _select_own(self._draft).update(done=done, total=total)


def check_draft(draft: Draft, isolation: Isolation) -> None:
    """Build and verify a claimed draft, which is fetched first; without findings it becomes a version.

    Raises:
        SandboxError: the sandbox failed, which says nothing about the draft.
    """
    if draft.archive_id is None:
        try:
            _fetch_archive(draft)
        except ServiceError as error:
            _store_outcome(draft, [_make_finding(draft, error.text)])
            return
    with tempfile.TemporaryDirectory(prefix="autograder-draft-") as folder:
        course = _lay_out(draft, Path(folder))
        verification = preparation.build_and_verify(
            course,
            draft.assignment,
            workers=max(1, (os.cpu_count() or 1) // 2),  # attempts are graded at the same time
            quick=not draft.full,
            isolation=isolation,
            watch=_ProgressWriter(draft),
        )
        findings, version = [DraftFinding.from_verify(finding) for finding in verification.findings], None
        if not findings:
            try:
                version = _make_version(draft, course, isolation)
            except SandboxError:
                raise
            except AutograderError as error:
                findings = [_make_finding(draft, error.text)]
        # Authors know the paths of their course, not those of this machine.
        findings = [finding.cut_text(f"{course.root}{os.sep}") for finding in findings]
    _store_outcome(draft, findings, version)


def _fetch_archive(draft: Draft) -> None:
    """Fetch the archive of a claimed draft, and store it.

    Raises:
        ServiceError: it cannot be fetched, or it is not allowed; gives the reason.
    """
    source = GitSource(draft.git_address, draft.git_ref, draft.git_folder)
    with (
        git_repositories.fetch_assignment(source, draft.assignment) as (commit, archive),
        _open_files(archive),  # validates it as an upload
    ):
        archive.seek(0)
        digest = blobs.store_blobs([archive.read()])[0]
    with transaction.atomic():
        audit.record_action(
            draft.by.username, "upload draft", draft.assignment, course=draft.course, after=digest
        )
        if not _select_own(draft).update(archive=digest, git_commit=commit):
            raise RequestRefused("draft-was-settled")
    draft.archive_id, draft.git_commit = digest, commit


def _lay_out(draft: Draft, folder: Path) -> Course:
    """Write the draft into an empty folder, over the releases and variants that students already have."""
    folder.chmod(0o755)  # the sandbox mounts single files of it; the secret is in a private folder
    if draft.base is not None:
        versions.lay_out(draft.base, folder)
    for name in _FOLDERS:
        shutil.rmtree(folder / name, ignore_errors=True)
        (folder / name).mkdir()
    versions.write_secret(draft.course, folder)
    with tempfile.TemporaryFile() as archive:
        archive.writelines(blobs.iterate_parts(draft.archive_id))
        archive.seek(0)
        # Validated again: the paths come from the archive.
        with _open_files(archive) as (_, files):
            for path, entry in files.items():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                atomic.write_bytes(folder / path, entry.read_chunks())
    course = Course.from_folder(folder)
    course_transfer.write_roster(draft.course, course)
    return course


def _make_version(draft: Draft, course: Course, isolation: Isolation) -> Version:
    if preparation.is_personal(course, draft.assignment):
        preparation.write_personal_releases(course, draft.assignment, isolation=isolation)
    return versions.import_version(draft.course, course, draft.assignment)


def _make_finding(draft: Draft, problem: Phrase) -> DraftFinding:
    usable = build_localised_text("web.draft-usable")
    return DraftFinding(localise_paper("course"), draft.assignment, usable, problem, "")


def _store_outcome(draft: Draft, findings: list[DraftFinding], version: Version | None = None) -> None:
    state = "failed" if version is None else "passed"
    _select_own(draft).update(state=state, findings=msgspec.to_builtins(findings), version=version)


# ------------------------------------------------------------ offering


def offer_draft(draft: Draft, by: Account) -> tuple[Offer, VersionTrial | None]:
    """Offer a draft that has passed its check, or begin a trial of it; see `trials.import_assignment`.

    Raises:
        ServiceError: it has not passed, is settled, or another version came into use since the upload.
        AutograderError: it cannot be offered.
    """
    if draft.version is None:
        raise RequestRefused("draft-not-passed")
    with tempfile.TemporaryDirectory(prefix="autograder-draft-") as folder, transaction.atomic():
        course = versions.lay_out(draft.version, Path(folder))
        # Locks in the order of `trials.applying`: the course, the log, the draft.
        CourseRecord.objects.select_for_update(no_key=True).get(pk=draft.course_id)
        audit.lock_log()
        row = Draft.objects.select_for_update(of=("self",)).get(pk=draft.pk)
        before = Offer.objects.filter(course=row.course_id, assignment=row.assignment).first()
        if row.settled or row.state != "passed":
            raise RequestRefused("draft-was-settled")
        if (before.version_id if before else None) != row.base_id:
            raise RequestRefused("draft-outdated")
        course_transfer.write_groups([before] if before else [], course)
        offer, trial = trials.import_assignment(draft.course, course, row.assignment, by)
        Offer.objects.filter(pk=offer.pk).update(uploaded=True)
        if trial is None:
            numbers = {"before": draft.base.number if draft.base else None, "after": draft.version.number}
            audit.record_action(by.username, "version", row.assignment, course=draft.course, **numbers)
        Draft.objects.filter(pk=row.pk).update(settled="offered")
    return offer, trial


def discard_draft(draft: Draft, by: Account) -> None:
    """Discard a draft; nothing that students see changes."""
    with transaction.atomic():
        audit.lock_log()
        if Draft.objects.filter(pk=draft.pk, settled="").update(settled="discarded"):
            audit.record_action(by.username, "discard draft", draft.assignment, course=draft.course)
