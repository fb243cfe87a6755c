"""Attempts: received, claimed by a worker, stored, released. A submission that has a receipt is never lost.

An attempt waits, runs under a lease, and is then graded or failed. If a lease has expired, another worker may
claim the attempt, and a late result of the first worker is discarded. So each attempt has one result,
whichever worker died in between.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Mapping
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from django.db import connection, transaction
from django.db.models import Max, Q, QuerySet
from django.utils import timezone
from msgspec.structs import replace

from autograder.core.errors import NotebookError
from autograder.core.records import GradingResult, StudentGroup
from autograder.core.wording import Phrase, decode_phrase, encode_phrase, format_size
from autograder.course import Handin, find_name_fault, group_list, schedule
from autograder.course.counting_attempts import (
    AttemptFacts,
    PartFilters,
    StaffChoice,
    list_part_files,
    list_part_notebooks,
    select_attempts,
)
from autograder.course.schedule import Schedule
from autograder.course.submission_folder import (
    Readability,
    explain_absent,
    find_notebook_fault,
    is_hidden_notebook,
    list_expected_files,
    list_ungraded_files,
    select_files_to_compare,
)
from autograder.grading.batch import (
    as_member,
    check_size,
    refuse_files,
    refuse_result,
    remove_individual_work,
    with_handin,
)
from autograder.grading.pipeline import SubmittedFiles
from autograder.grading.store import GradedEntry, ResultKey
from autograder.grading.submitted_files import make_missing_error
from autograder.messages import build_localised_text
from autograder.rubric import Rubric
from autograder.rubric.variants.draws import normalise_id
from autograder.service import blobs, openings, tasks, versions
from autograder.service.models import Account, Attempt, AttemptFile, Offer, State
from autograder.service.models_results import ChosenAttempt
from autograder.service.notices import events
from autograder.service.receipts import Signer
from autograder.service.refusals import RequestRefused
from autograder.service.store import DatabaseStore

LEASE = timedelta(seconds=30)
"""Time for which a worker holds an attempt; a living worker extends it."""
MOST_TRIES = 3
MOST_BYTES = 64 << 20
"""Maximum size of all files of one attempt together."""
_REPEATED = uuid.UUID("5f2c1f0e-6f0b-4c57-9d0c-0a4f6f6c2f1b")
"""Namespace of the ids of attempts that a program may send repeatedly (RFC 9562, version 5)."""
OVERDUE = timedelta(seconds=5)
"""A waiting attempt is enqueued again after this time."""


def submit_files(
    offer: Offer,
    student: str,
    files: Mapping[str, bytes],
    signer: Signer,
    *,
    by: Account | None = None,
    submitted_at: datetime | None = None,
    once: str = "",
    allowed: Callable[[], None] = lambda: None,
) -> Attempt:
    """Receive a student's submission: stored, signed and enqueued, all or nothing.

    Args:
        offer: the offered assignment.
        student: the student's id.
        files: contents by path; see `uploads.place_upload`.
        signer: signs the receipt.
        by: the account that sent it; None: it was imported.
        submitted_at: submission time; default: the current time.
        once: chosen by a program for one submission: if it is repeated, the student's attempt that has it is
            returned. Empty: every call is another attempt.
        allowed: called while no other attempt of this student can be added; raises ServiceError to refuse.

    Raises:
        ServiceError: a name is not usable, the files are too large together, or there were too many attempts.
    """
    _check_files(student, files)
    # Stored before the transaction, so that no lock is held while large files are written.
    digests = dict(zip(files, blobs.store_blobs(files.values()), strict=True))
    with transaction.atomic():
        with connection.cursor() as cursor:
            # Offering another version waits for this transaction, and vice versa (`trials.apply_trial`).
            cursor.execute("SELECT version_id FROM service_offer WHERE id = %s FOR KEY SHARE", [offer.pk])
            (version,) = cursor.fetchone()
            # Serialise a student's submissions, so that attempt numbers have no gaps and no duplicates.
            cursor.execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", [offer.pk, student])
        existing = Attempt.objects.filter(offer=offer, student=student)
        # Offer and student are part of it: nobody can name an attempt of somebody else.
        identifier = uuid.uuid5(_REPEATED, f"{offer.pk}/{student}/{once}") if once else uuid.uuid4()
        if once and (repeated := existing.filter(pk=identifier).first()):
            return repeated
        allowed()
        number = (existing.aggregate(last=Max("number"))["last"] or 0) + 1
        if number > offer.most_attempts:
            raise RequestRefused("upload-attempts", most=offer.most_attempts)
        attempt = Attempt(
            pk=identifier,
            offer=offer,
            version_id=version,
            student=student,
            number=number,
            digest=compute_files_digest(student, files),
            submitted_at=submitted_at or timezone.now(),
            by=by,
        )
        attempt.receipt = signer.sign(_collect_facts(attempt, digests))
        # Never an update: the primary key was made here, and a receipt states it.
        attempt.save(force_insert=True)
        AttemptFile.objects.bulk_create(
            AttemptFile(attempt=attempt, name=name, blob_id=digest) for name, digest in digests.items()
        )
        tasks.enqueue_job(tasks.GRADING, attempt.pk)
    return attempt


def _collect_facts(attempt: Attempt, digests: Mapping[str, str]) -> dict[str, Any]:
    """Return the facts that a receipt states."""
    return {
        "course": attempt.offer.course.slug,
        "assignment": attempt.offer.assignment,
        "student": attempt.student,
        "attempt": attempt.number,
        "id": str(attempt.pk),
        "received": attempt.submitted_at.isoformat(timespec="milliseconds"),
        "digest": attempt.digest,
        "files": dict(digests),
    }


def _check_files(student: str, files: Mapping[str, bytes]) -> None:
    if fault := find_name_fault(student):
        raise RequestRefused("bad-id", student=repr(student), reason=fault)
    if not files:
        raise RequestRefused("no-files")
    for name in files:
        for part in name.split("/"):
            if fault := find_name_fault(part):
                raise RequestRefused("upload-name", name=ascii(name), reason=fault)
    size = sum(map(len, files.values()))
    if size > MOST_BYTES:
        raise RequestRefused("upload-size", size=format_size(size), most=format_size(MOST_BYTES))


def compute_files_digest(student: str, files: Mapping[str, bytes]) -> str:
    """Return the SHA-256 of the submitted files as they are, whatever files the rubric asks for."""
    notebooks = {name[: -len(".ipynb")]: data for name, data in files.items() if name.endswith(".ipynb")}
    other_files = {name: data for name, data in files.items() if not name.endswith(".ipynb")}
    return SubmittedFiles(student, notebooks, other_files).compute_digest()


def load_files(attempt: Attempt) -> dict[str, bytes]:
    """Return the files of an attempt by name."""
    return _load_contents(load_digests(attempt.pk))


def load_digests(attempt: uuid.UUID) -> dict[str, str]:
    """Return the SHA-256 of each file of an attempt, by name."""
    return dict(AttemptFile.objects.filter(attempt=attempt).order_by("name").values_list("name", "blob_id"))


def _load_contents(digests: Mapping[str, str]) -> dict[str, bytes]:
    contents = blobs.load_blobs(digests.values())
    return {name: contents[digest] for name, digest in digests.items()}


def select_files_to_grade(attempt: Attempt, rubric: Rubric) -> SubmittedFiles:
    """Return the grader's input: the notebooks that the rubric asks for, and their extra files."""
    handins = evaluate_timing(attempt, rubric)
    # A submission that is refused for everyone is not executed.
    if handins and all(handin.timing and handin.timing.refused for handin in handins):
        return refuse_files(attempt.student, rubric)
    owner, files = resolve_graded_files(attempt, rubric)
    return build_submission(owner, rubric, files)


def resolve_graded_files(attempt: Attempt, rubric: Rubric) -> tuple[str, dict[str, bytes]]:
    """Return the id of the student with the variant that an attempt answers, and the attempt's files by name.

    If the attempt counts for a member's individual notebooks, all other files are the group's.
    """
    if has_individual_parts(attempt.offer, rubric):
        handin = find_counting_attempt(attempt.offer, attempt.student, rubric)
        if handin is not None and get_graded_attempt_id(handin) == str(attempt.pk):
            return handin.owner, load_counted_files(handin, rubric)
    return attempt.student, load_files(attempt)


def load_counted_files(handin: Handin, rubric: Rubric) -> dict[str, bytes]:
    """Return all files that count for a student; for a group member, individual files plus the group's."""
    return _load_contents(load_counted_digests(handin, rubric))


def load_counted_digests(handin: Handin, rubric: Rubric) -> dict[str, str]:
    """Return the SHA-256 of each file that counts for a student, by name; see `load_counted_files`."""
    files = load_digests(uuid.UUID(handin.folder.name))
    if handin.group is None or not rubric.assignment.individual:
        return files
    alone = list_part_files(rubric, alone=True)
    own_files = files if handin.own == handin.folder else {}
    if handin.own is not None and handin.own != handin.folder:
        own_files = load_digests(uuid.UUID(handin.own.name))
    group_files = {name: digest for name, digest in files.items() if name not in alone}
    return group_files | {name: digest for name, digest in own_files.items() if name in alone}


def build_submission(student: str, rubric: Rubric, files: Mapping[str, bytes]) -> SubmittedFiles:
    """Select the files that the rubric asks for from the submitted ones."""
    contents = {
        path: files[path] if path in files else make_missing_error(path)
        for path in list_expected_files(rubric)
    }
    unread, beside = list_ungraded_files(files, contents, rubric)
    contents = explain_absent(
        contents, [f"{listed_notebook.name}.ipynb" for listed_notebook in rubric.assignment.notebooks], unread
    )
    notebooks: dict[str, bytes | NotebookError] = {}
    along: dict[str, bytes | NotebookError] = {}
    for notebook in rubric.assignment.notebooks:
        notebooks[notebook.name] = contents[f"{notebook.name}.ipynb"]
        along |= {
            path: check_size(files[path], path, most) for path, most in notebook.own.items() if path in files
        }
    loose = [name for name in files if name in (*unread, *beside) or is_hidden_notebook(name)]
    copies = {name: files[name] for name, most in select_files_to_compare(loose) if len(files[name]) <= most}
    return SubmittedFiles(student, notebooks, along, unread, beside=beside, copies=copies)


def claim_attempt(identifier: uuid.UUID) -> Attempt | None:
    """Claim an attempt if it waits or its lease has expired; return None if there is nothing to do.

    An attempt that was already tried the maximum number of times fails instead.
    """
    now = timezone.now()
    free = Q(state=State.WAITING) | Q(state=State.RUNNING, leased_until__lt=now)
    with transaction.atomic():
        attempt = Attempt.objects.select_for_update().filter(free, pk=identifier).first()
        if attempt is None:
            return None
        # Tries are counted when an attempt is claimed, because a worker that dies cannot count its own.
        if attempt.tries >= MOST_TRIES:
            attempt.state = State.FAILED
            attempt.problem = attempt.problem or encode_phrase(build_localised_text("web.job-stopped"))
        else:
            attempt.state, attempt.tries = State.RUNNING, attempt.tries + 1
            attempt.lease, attempt.leased_until = uuid.uuid4(), now + LEASE
        attempt.save()
    return attempt if attempt.state == State.RUNNING else None


def extend_lease(attempt: Attempt) -> bool:
    """Extend the lease; return False if another worker holds it."""
    mine = Attempt.objects.filter(pk=attempt.pk, lease=attempt.lease, state=State.RUNNING)
    return bool(mine.update(leased_until=timezone.now() + LEASE))


def give_back(attempt: Attempt, problem: Phrase) -> None:
    """Release an attempt for another try; after the last try it fails, with this problem as the reason."""
    # With the lease in the filter, a worker that lost it cannot change the attempt.
    state = State.FAILED if attempt.tries >= MOST_TRIES else State.WAITING
    Attempt.objects.filter(pk=attempt.pk, lease=attempt.lease, state=State.RUNNING).update(
        state=state, problem=encode_phrase(problem), lease=None, leased_until=None
    )


def retry_attempt(attempt: Attempt) -> None:
    """Try a failed attempt again because a person asked for it."""
    with transaction.atomic():
        failed = Attempt.objects.filter(pk=attempt.pk, state=State.FAILED)
        if failed.update(state=State.WAITING, tries=0, problem="", queued_at=timezone.now()):
            tasks.enqueue_job(tasks.GRADING, attempt.pk)


def keep_result(attempt: Attempt, graded: GradingResult, rubric: Rubric, environment: str) -> bool:
    """Store the result of an attempt once, and make it count for the students for whom the attempt counts.

    Args:
        attempt: as it was claimed.
        graded: its result.
        rubric: the student's rubric.
        environment: digest of the code and data that computed the result.

    Returns:
        False: another worker holds the attempt by now, and nothing was stored.
    """
    with transaction.atomic():
        _lock_group_attempts(attempt, rubric)
        # The lease in the filter fences off a worker that was so slow that another one claimed the attempt.
        mine = Attempt.objects.select_for_update().filter(pk=attempt.pk, lease=attempt.lease)
        row = mine.filter(state=State.RUNNING).first()
        if row is None:
            return False
        store = DatabaseStore(row.offer.course)
        key = ResultKey.from_submission(row.student, graded.digest, rubric, environment)
        row.result_id = store.keep_result(GradedEntry(key, graded, rubric, row.submitted_at))
        row.state, row.graded_at, row.problem = State.GRADED, timezone.now(), ""
        row.lease = row.leased_until = None
        row.save()
        members = list_group_members(row.offer, row.student)
        with connection.cursor() as cursor:  # two attempts of a student or group may finish together
            cursor.execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", [row.offer_id, min(members)])
        handins = find_counting_attempts(row.offer, rubric, members)
        outdated = _find_outdated(row, rubric, handins)
        entries = [
            build_counted_entry(key, graded, rubric, handin)
            for handin in handins.values()
            if get_graded_attempt_id(handin) == str(row.pk) and row.pk not in outdated
        ]
        if entries:
            store.record_results(entries)
            if row.offer.published_at:
                tasks.enqueue_scores(row.offer)
        grade_again(Attempt.objects.filter(pk__in=outdated))
        if find_readability(row, rubric).is_damaged:
            events.record_unreadable(row)
    return True


def _lock_group_attempts(attempt: Attempt, rubric: Rubric) -> None:
    """Lock the attempts that may have to be graded again, in the same order as `trials.apply_trial`."""
    if rubric.assignment.individual:
        offer = Offer.objects.get(pk=attempt.offer_id)
        members = Attempt.objects.filter(offer=offer, student__in=list_group_members(offer, attempt.student))
        list(members.select_for_update().order_by("pk").values_list("pk"))


def _find_outdated(row: Attempt, rubric: Rubric, handins: Mapping[str, Handin]) -> list[uuid.UUID]:
    """Return related attempts of the group with results that no longer match the files that count.

    Another member submitted the group's part in the meantime, or another attempt of it counts.
    """
    parts = [candidate for candidate in handins.values() if candidate.own is not None]
    names = {
        get_graded_attempt_id(candidate): candidate
        for candidate in parts
        if str(row.pk) in (candidate.folder.name, get_graded_attempt_id(candidate))
    }
    graded = Attempt.objects.filter(pk__in=names, state=State.GRADED).select_related("offer", "result")
    return [
        candidate.pk
        for candidate in graded
        if candidate.result
        and select_files_to_grade(candidate, rubric).compute_digest() != candidate.result.submission
    ]


def build_counted_entry(key: ResultKey, graded: GradingResult, rubric: Rubric, handin: Handin) -> GradedEntry:
    """Return a result as the entry of one student for whom it counts.

    The key is the attempt's own, with the student and the digest of the files that count for them.
    """
    counted = as_counted(graded, handin, rubric)
    mine = replace(key, student=handin.student, submission=counted.digest)
    return GradedEntry(mine, counted, rubric, handin.submitted_at)


def as_counted(graded: GradingResult, handin: Handin, rubric: Rubric) -> GradingResult:
    """Return a result as that of a student for whom it counts, with the student's own timing.

    Slip days belong to single students: a submission may cost one group member slip days and be refused for
    another.
    """
    if handin.group and handin.own is None and rubric.assignment.individual:
        files = build_submission(handin.owner, rubric, load_counted_files(handin, rubric))
        graded = remove_individual_work(graded, rubric, handin.student, files.compute_digest())
    counted = with_handin(as_member(graded, handin), handin)
    return refuse_result(counted, rubric) if handin.timing and handin.timing.refused else counted


def find_counting_attempt(offer: Offer, student: str, rubric: Rubric) -> Handin | None:
    """Return the student's counting attempt according to the schedule; its folder name is the attempt's id.

    Without times it is the last attempt; for a group, the last of any member, together with the one that has
    the student's individual files (`Handin.own`). None: nothing was submitted.
    """
    return find_counting_attempts(offer, rubric, list_group_members(offer, student)).get(student)


def get_graded_attempt_id(handin: Handin) -> str:
    """Return the id of the attempt with the student's result: the one with the individual files, if any."""
    return (handin.own or handin.folder).name


def has_individual_parts(offer: Offer, rubric: Rubric) -> bool:
    """Decide whether there are groups, and some notebooks are submitted individually."""
    return bool(offer.groups and rubric.assignment.individual)


def list_groups(offer: Offer) -> tuple[StudentGroup, ...]:
    """Return the groups that submit together."""
    return tuple(StudentGroup(name, tuple(members)) for name, members in sorted(offer.groups.items()))


def list_group_members(offer: Offer, student: str) -> tuple[str, ...]:
    """Return the members of a student's group; just the student if there is none."""
    group = find_group(offer, student)
    return group.members if group else (student,)


def find_group(offer: Offer, student: str) -> StudentGroup | None:
    """Return a student's group; None: the student submits alone."""
    return group_list.map_by_student(list_groups(offer)).get(normalise_id(student))


def find_counting_attempts(
    offer: Offer, rubric: Rubric, students: Collection[str] | None = None
) -> dict[str, Handin]:
    """Return the counting attempt by student, as `find_counting_attempt` does; optionally of some students.

    If one member of a group is named, all members must be.
    """
    times = load_schedule(offer, rubric)
    handins = _resolve_handins(offer, rubric, times, compute_slip_days_left(offer, times), students)
    return {handin.student: handin for handin in handins}


def _resolve_handins(
    offer: Offer,
    rubric: Rubric,
    times: Schedule | None,
    left: Mapping[str, int],
    students: Collection[str] | None = None,
) -> list[Handin]:
    attempts = Attempt.objects.filter(offer=offer).exclude(state=State.FAILED)
    if students is not None:
        attempts = attempts.filter(student__in=students)
    handins: dict[str, list[Handin]] = {}
    # By time before number: staff may upload an attempt that was made before another one.
    rows = attempts.only("pk", "student", "submitted_at").order_by("student", "-submitted_at", "-number")
    for attempt in rows:
        handins.setdefault(attempt.student, []).append(_to_handin(attempt))
    return select_attempts(
        handins,
        times,
        list_groups(offer),
        left,
        timezone.now(),
        facts=_collect_attempt_facts(rubric, attempts),
        parts=_find_held_parts(offer, rubric, attempts),
    )


def _collect_attempt_facts(rubric: Rubric, attempts: QuerySet[Attempt]) -> AttemptFacts:
    """Return the facts about attempts that decide which one counts: readability and choices of staff."""
    chosen = {
        str(entry.attempt_id): StaffChoice(entry.at.timestamp(), entry.reason)
        for entry in ChosenAttempt.objects.filter(attempt__in=attempts)
    }

    wanted_files = list_expected_files(rubric)
    files: dict[str, list[AttemptFile]] = {}

    @cache
    def load_readability(attempt: str) -> Readability:
        if not files:  # loaded for all attempts together, and only if a student has several
            for row in AttemptFile.objects.filter(attempt__in=attempts, name__in=wanted_files):
                files.setdefault(str(row.attempt_id), []).append(row)
        return _evaluate_readability(files.get(attempt, []), rubric)

    return AttemptFacts(
        lambda entry, part: load_readability(entry.folder.name).restrict(list_part_notebooks(rubric, part)),
        lambda entry: chosen.get(entry.folder.name),
    )


def find_readability(attempt: Attempt, rubric: Rubric) -> Readability:
    """Return which notebooks of an attempt can be read."""
    rows = AttemptFile.objects.filter(attempt=attempt, name__in=list_expected_files(rubric))
    return _evaluate_readability(list(rows), rubric)


def _evaluate_readability(rows: Collection[AttemptFile], rubric: Rubric) -> Readability:
    """Decide which files can be read; each is parsed once, and the outcome is stored with the file."""
    names = {f"{name}.ipynb": name for name in list_part_notebooks(rubric, "all")}
    unknown = [file_row for file_row in rows if file_row.name in names and file_row.fault is None]
    data = blobs.load_blobs([file_row.blob_id for file_row in unknown])
    for row in unknown:
        fault = find_notebook_fault(data[row.blob_id])
        row.fault = "" if fault is None else encode_phrase(fault.text)
        AttemptFile.objects.filter(pk=row.pk).update(fault=row.fault)
    fault_texts = {file_row.name: file_row.fault or "" for file_row in rows}
    faults = {name: fault_texts[file] for file, name in names.items() if file in fault_texts}
    return Readability(
        frozenset(name for name, fault in faults.items() if not fault),
        {name: decode_phrase(fault) for name, fault in faults.items() if fault},
        len(faults) < len(rows),
    )


def _find_held_parts(offer: Offer, rubric: Rubric, attempts: QuerySet[Attempt]) -> PartFilters | None:
    """Return which attempts have group files and which individual ones; None if nothing is individual."""
    if not has_individual_parts(offer, rubric):
        return None

    def make_predicate(*, alone: bool) -> Callable[[Handin], bool]:
        files = AttemptFile.objects.filter(
            attempt__in=attempts, name__in=list_part_files(rubric, alone=alone)
        )
        attempt_ids = {str(entry) for entry in files.values_list("attempt", flat=True)}
        return lambda entry: entry.folder.name in attempt_ids

    return PartFilters(make_predicate(alone=False), make_predicate(alone=True))


def compute_slip_days_left(offer: Offer, times: Schedule | None) -> dict[str, int]:
    """Return the slip days that earlier assignments leave, by canonical id; unused accounts are left out."""
    left: dict[str, int] = {}
    if times is None or times.common.terms.slip is None:
        return left
    other_offers = Offer.objects.filter(course=offer.course_id).exclude(times={}).select_related("version")
    places = {
        other_offer: other_offer.times["slip_days"]["place"]
        for other_offer in other_offers
        if "slip_days" in other_offer.times
    }
    own_place = offer.times["slip_days"]["place"]
    # In the order of the course: what is left after one assignment limits the next.
    for earlier in sorted(
        (other_offer for other_offer in places if places[other_offer] < own_place), key=places.__getitem__
    ):
        rubric = versions.load_rubric(earlier.version)
        for handin in _resolve_handins(earlier, rubric, load_schedule(earlier, rubric), left):
            if handin.timing and handin.timing.slip:
                left[normalise_id(handin.student)] = handin.timing.slip.left
    return left


def evaluate_timing(attempt: Attempt, rubric: Rubric) -> list[Handin]:
    """Return an attempt with its timing, once for each student for whom it may count."""
    times, groups = load_schedule(attempt.offer, rubric), list_groups(attempt.offer)
    left = compute_slip_days_left(attempt.offer, times)
    return select_attempts({attempt.student: [_to_handin(attempt)]}, times, groups, left, timezone.now())


def load_schedule(offer: Offer, rubric: Rubric) -> Schedule | None:
    """Return the times of an assignment; None: there is no deadline.

    Raises:
        RubricError: the times are impossible.
    """
    return read_times(offer, offer.times, rubric)


def read_times(offer: Offer, times: Mapping[str, Any], rubric: Rubric) -> Schedule | None:
    """Return the schedule that these times make for an assignment, with the openings of its students.

    Raises:
        RubricError: the times are impossible.
    """
    if not times:
        return None
    table = openings.add_openings(offer, times)
    return schedule.read_schedule(table, rubric, offer.assignment, list_groups(offer))


def _to_handin(attempt: Attempt) -> Handin:
    return Handin(attempt.student, Path(str(attempt.pk)), attempt.submitted_at)


def sweep_attempts() -> int:
    """Enqueue attempts that have no result and, as far as can be seen, no job; return their number."""
    now = timezone.now()
    forgotten = Q(state=State.WAITING, queued_at__lt=now - OVERDUE)
    left = Q(state=State.RUNNING, leased_until__lt=now)
    overdue = list(
        Attempt.objects.filter(forgotten | left).order_by("submitted_at").values_list("pk", flat=True)
    )
    # An attempt that has a job is refused by the queue and not counted.
    return sum(tasks.enqueue_job(tasks.GRADING, identifier) for identifier in overdue)


def grade_again(attempts: QuerySet[Attempt]) -> int:
    """Grade attempts anew by the current version of their offers; return their number."""
    with transaction.atomic():
        graded = list(attempts.select_for_update().filter(state=State.GRADED).order_by("pk"))
        for attempt in graded:
            Attempt.objects.filter(pk=attempt.pk).update(
                state=State.WAITING,
                tries=0,
                version=attempt.offer.version_id,
                queued_at=timezone.now(),
            )
            tasks.enqueue_job(tasks.GRADING, attempt.pk)
    return len(graded)
