"""What was handed in: received, claimed by a worker, kept, given back. Nothing that has a receipt is lost.

An attempt waits, runs under a lease, and is graded or failed. A lease that ended may be taken by another
worker; what the first one brings later is not kept. So each attempt has one result, whoever died meanwhile.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.db import connection, transaction
from django.db.models import Max, Q, QuerySet
from django.utils import timezone
from msgspec.structs import replace

from autograder.course import Handin, groups, name_fault, schedule
from autograder.course.counting import settled
from autograder.course.schedule import Schedule
from autograder.errors import NotebookError, ServiceError
from autograder.grading.batch import accepted, as_member, refused, refused_files, with_timing, within
from autograder.grading.pipeline import SubmittedFiles
from autograder.paths import meant_places
from autograder.records import Graded, StudentGroup
from autograder.rubric import Rubric
from autograder.service import blobs, tasks, versions
from autograder.service.models import Account, Attempt, AttemptFile, Offer, PlatformCourse, State
from autograder.service.receipts import Signer
from autograder.service.store import DatabaseStore
from autograder.store import GradedEntry, Key
from autograder.variants.drawing import canonical_id

LEASE = timedelta(seconds=30)
"""How long a worker has an attempt; it is made longer while it lives."""
MOST_TRIES = 3
MOST_BYTES = 64 << 20
"""Of all files of one attempt together."""
OVERDUE = timedelta(seconds=5)
"""After so long an attempt that waits is given to the queue again."""


def hand_in(
    offer: Offer,
    student: str,
    files: Mapping[str, bytes],
    signer: Signer,
    *,
    by: Account | None = None,
    at: datetime | None = None,
    allowed: Callable[[], None] = lambda: None,
) -> Attempt:
    """Receive what a student hands in: kept, signed for, and in the queue, all or nothing.

    Args:
        offer: what it is for.
        student: whose it is.
        files: by path; see `placed`.
        signer: of the receipt.
        by: who sent it; None: it was imported.
        at: when; default: now.
        allowed: is asked while no other attempt of this student can come in between; raises ServiceError.

    Raises:
        ServiceError: a name is not usable, all are too large together, or there were too many attempts.
    """
    _check(student, files)
    digests = dict(zip(files, blobs.put(files.values()), strict=True))
    with transaction.atomic():
        with connection.cursor() as cursor:
            # Whoever offers another version waits for this one, and the other way round (`drafts.apply`).
            cursor.execute("SELECT version_id FROM service_offer WHERE id = %s FOR KEY SHARE", [offer.pk])
            (version,) = cursor.fetchone()
            # Numbers of one student's attempts have no gap and no double.
            cursor.execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", [offer.pk, student])
        allowed()
        known = Attempt.objects.filter(offer=offer, student=student)
        number = (known.aggregate(last=Max("number"))["last"] or 0) + 1
        if number > offer.most_attempts:
            raise ServiceError(f"there were {offer.most_attempts} attempts already, which is the most")
        attempt = Attempt(
            offer=offer,
            version_id=version,
            student=student,
            number=number,
            digest=digest_of(student, files),
            submitted_at=at or timezone.now(),
            by=by,
        )
        attempt.receipt = signer.sign(_facts(attempt, digests))
        attempt.save(force_insert=True)
        AttemptFile.objects.bulk_create(
            AttemptFile(attempt=attempt, name=name, blob_id=digest) for name, digest in digests.items()
        )
        tasks.defer(attempt.pk)
    return attempt


def _facts(attempt: Attempt, digests: Mapping[str, str]) -> dict[str, Any]:
    """What a receipt says."""
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


def _check(student: str, files: Mapping[str, bytes]) -> None:
    if fault := name_fault(student):
        raise ServiceError(f"{student!r} cannot be a student's id: {fault}")
    if not files:
        raise ServiceError("no file was handed in")
    for name in files:
        for part in name.split("/"):
            if fault := name_fault(part):
                raise ServiceError(f"{name!a} cannot be a file's name: {fault}")
    size = sum(map(len, files.values()))
    if size > MOST_BYTES:
        raise ServiceError(f"the files have {size >> 20} MB together; at most {MOST_BYTES >> 20} are taken")


def placed(files: Mapping[str, bytes], rubric: Rubric) -> dict[str, bytes]:
    """Files as a browser sends them, without folders, where the rubric has them; copies by what is meant.

    No two files that belong to a submission have the same name, folders aside.
    """
    paths = accepted(rubric)
    known = {path.rpartition("/")[2]: path for path in paths}
    meant = meant_places([known.get(name, name) for name in files], paths)
    return {meant[known.get(name, name)]: data for name, data in files.items()}


def digest_of(student: str, files: Mapping[str, bytes]) -> str:
    """SHA-256 of files as they were handed in, whatever the rubric wants of them."""
    notebooks = {name[: -len(".ipynb")]: data for name, data in files.items() if name.endswith(".ipynb")}
    others = {name: data for name, data in files.items() if not name.endswith(".ipynb")}
    return SubmittedFiles(student, notebooks, others).digest()


def contents(attempt: Attempt) -> dict[str, bytes]:
    """The files of an attempt, by name."""
    files = dict(attempt.files.values_list("name", "blob_id"))
    found = blobs.get(files.values())
    return {name: found[digest] for name, digest in files.items()}


def to_grade(attempt: Attempt, rubric: Rubric, files: Mapping[str, bytes]) -> SubmittedFiles:
    """What a grader gets: the notebooks that the rubric asks for, and the files that go with them."""
    found = timed(attempt, rubric)
    if found and all(one.timing and one.timing.refused for one in found):
        return refused_files(attempt.student, rubric)
    return submitted(attempt.student, rubric, files)


def submitted(student: str, rubric: Rubric, files: Mapping[str, bytes]) -> SubmittedFiles:
    """Of files that were handed in, those that the rubric asks for."""
    notebooks: dict[str, bytes | NotebookError] = {}
    along: dict[str, bytes | NotebookError] = {}
    for notebook in rubric.assignment.notebooks:
        name = f"{notebook.name}.ipynb"
        missing = NotebookError("missing", f"{name} was not handed in")
        notebooks[notebook.name] = files.get(name, missing)
        along |= {
            path: within(files[path], path, most) for path, most in notebook.own.items() if path in files
        }
    return SubmittedFiles(student, notebooks, along)


def claim(identifier: uuid.UUID) -> Attempt | None:
    """Take an attempt, if it waits or its lease has ended; None where there is nothing to do.

    One that was tried as often as it may be fails.
    """
    now = timezone.now()
    free = Q(state=State.WAITING) | Q(state=State.RUNNING, leased_until__lt=now)
    with transaction.atomic():
        attempt = Attempt.objects.select_for_update().filter(free, pk=identifier).first()
        if attempt is None:
            return None
        if attempt.tries >= MOST_TRIES:
            attempt.state = State.FAILED
            attempt.problem = attempt.problem or "the worker ended each time; nothing says why"
        else:
            attempt.state, attempt.tries = State.RUNNING, attempt.tries + 1
            attempt.lease, attempt.leased_until = uuid.uuid4(), now + LEASE
        attempt.save()
    return attempt if attempt.state == State.RUNNING else None


def prolong(attempt: Attempt) -> bool:
    """Keep the lease; False: another one has it."""
    mine = Attempt.objects.filter(pk=attempt.pk, lease=attempt.lease, state=State.RUNNING)
    return bool(mine.update(leased_until=timezone.now() + LEASE))


def give_back(attempt: Attempt, problem: str) -> None:
    """Let somebody else try; after the last try it has failed, and says why."""
    state = State.FAILED if attempt.tries >= MOST_TRIES else State.WAITING
    Attempt.objects.filter(pk=attempt.pk, lease=attempt.lease, state=State.RUNNING).update(
        state=state, problem=problem, lease=None, leased_until=None
    )


def retry(attempt: Attempt) -> None:
    """Try a failed attempt again, as a person asked for."""
    with transaction.atomic():
        failed = Attempt.objects.filter(pk=attempt.pk, state=State.FAILED)
        if failed.update(state=State.WAITING, tries=0, problem="", queued_at=timezone.now()):
            tasks.defer(attempt.pk)


def keep(attempt: Attempt, graded: Graded, rubric: Rubric, environment: str) -> bool:
    """Keep the result of an attempt, and let it count if this is the one that does; once.

    Args:
        attempt: as it was claimed.
        graded: what came of it.
        rubric: that the student was asked by.
        environment: digest of what computed it.

    Returns:
        False: another worker has it by now, and nothing was kept.
    """
    with transaction.atomic():
        mine = Attempt.objects.select_for_update().filter(pk=attempt.pk, lease=attempt.lease)
        row = mine.filter(state=State.RUNNING).first()
        if row is None:
            return False
        store = DatabaseStore(row.offer.course)
        key = Key.of(row.student, graded.digest, rubric, environment)
        row.result_id = store.keep(GradedEntry(key, graded, rubric, row.submitted_at))
        row.state, row.graded_at, row.problem = State.GRADED, timezone.now(), ""
        row.lease = row.leased_until = None
        row.save()
        members = together(row.offer, row.student)
        with connection.cursor() as cursor:  # two attempts of one student, or group, may be done at once
            cursor.execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", [row.offer_id, min(members)])
        handins = _counting(row.offer, rubric, members)
        entries = [
            GradedEntry(
                replace(key, student=who), as_counted(graded, handin, rubric), rubric, row.submitted_at
            )
            for who, handin in handins.items()
            if handin.folder.name == str(row.pk)
        ]
        if entries:
            store.record(entries)
            if row.offer.published_at and PlatformCourse.objects.filter(course=row.offer.course).exists():
                tasks.send_scores(row.offer_id)
    return True


def as_counted(graded: Graded, handin: Handin, rubric: Rubric) -> Graded:
    """A result as that of the one for whom it counts, with what the time means for them.

    Slip days are each student's own: what is taken of one member of a group may be refused of another.
    """
    found = with_timing(as_member(graded, handin), handin.timing)
    return refused(found, rubric) if handin.timing and handin.timing.refused else found


def counting(offer: Offer, student: str, rubric: Rubric) -> Handin | None:
    """The attempt of a student that counts, as the schedule has it; its folder's name is the attempt's id.

    Where there are no times it is the last one; of a group, whoever of its members handed it in. None:
    nothing was handed in.
    """
    return _counting(offer, rubric, together(offer, student)).get(student)


def all_counting(offer: Offer, rubric: Rubric) -> dict[str, Handin]:
    """The attempt of every student that counts, as `counting` has it."""
    return _counting(offer, rubric)


def groups_of(offer: Offer) -> tuple[StudentGroup, ...]:
    """Who hands in together."""
    return tuple(StudentGroup(name, tuple(members)) for name, members in sorted(offer.groups.items()))


def together(offer: Offer, student: str) -> tuple[str, ...]:
    """The members of a student's group; who is in none is alone."""
    group = groups.by_student(groups_of(offer)).get(canonical_id(student))
    return group.members if group else (student,)


def _counting(offer: Offer, rubric: Rubric, students: Collection[str] | None = None) -> dict[str, Handin]:
    """By student, of those attempts that did not fail; of these students and no others, where they are named.

    Whoever of a group is named, all of its members are.
    """
    attempts = Attempt.objects.filter(offer=offer).exclude(state=State.FAILED)
    if students is not None:
        attempts = attempts.filter(student__in=students)
    handins: dict[str, list[Handin]] = {}
    for one in attempts.only("pk", "student", "submitted_at").order_by("student", "-number"):
        handins.setdefault(one.student, []).append(_handin(one))
    times = schedule_of(offer, rubric)
    left = slip_days_left(offer, times)
    found = settled(handins, times, groups_of(offer), left, timezone.now())
    return {one.student: one for one in found}


def slip_days_left(offer: Offer, times: Schedule | None) -> dict[str, int]:
    """By canonical id, the slip days that assignments before this one leave; who used none is not in it."""
    left: dict[str, int] = {}
    if times is None or times.common.terms.slip is None:
        return left
    others = Offer.objects.filter(course=offer.course_id).exclude(times={}).select_related("version")
    places = {one: one.times["slip_days"]["place"] for one in others if "slip_days" in one.times}
    own = offer.times["slip_days"]["place"]
    for earlier in sorted((one for one in places if places[one] < own), key=places.__getitem__):
        rubric = versions.rubric_of(earlier.version)
        handins: dict[str, list[Handin]] = {}
        attempts = Attempt.objects.filter(offer=earlier).exclude(state=State.FAILED)
        for one in attempts.only("pk", "student", "submitted_at").order_by("student", "-number"):
            handins.setdefault(one.student, []).append(_handin(one))
        found = settled(handins, schedule_of(earlier, rubric), groups_of(earlier), left, timezone.now())
        for handin in found:
            if handin.timing and handin.timing.slip:
                left[canonical_id(handin.student)] = handin.timing.slip.left
    return left


def timed(attempt: Attempt, rubric: Rubric) -> list[Handin]:
    """An attempt, with how it stands to the time allowed, for each for whom it may count."""
    times, teams = schedule_of(attempt.offer, rubric), groups_of(attempt.offer)
    left = slip_days_left(attempt.offer, times)
    return settled({attempt.student: [_handin(attempt)]}, times, teams, left, timezone.now())


def schedule_of(offer: Offer, rubric: Rubric) -> Schedule | None:
    """When an assignment may be handed in; None: there is no end.

    Raises:
        RubricError: the times are impossible ones.
    """
    return schedule.read(offer.times, rubric, offer.assignment, groups_of(offer)) if offer.times else None


def _handin(attempt: Attempt) -> Handin:
    return Handin(attempt.student, Path(str(attempt.pk)), attempt.submitted_at)


def sweep() -> int:
    """Give to the queue again what has neither a result nor, by all signs, a job; how many there were."""
    now = timezone.now()
    forgotten = Q(state=State.WAITING, queued_at__lt=now - OVERDUE)
    left = Q(state=State.RUNNING, leased_until__lt=now)
    found = list(
        Attempt.objects.filter(forgotten | left).order_by("submitted_at").values_list("pk", flat=True)
    )
    return sum(tasks.defer(identifier) for identifier in found)


def grade_again(attempts: QuerySet[Attempt]) -> int:
    """Grade attempts anew, by what their offers say now; how many."""
    with transaction.atomic():
        found = list(attempts.select_for_update().filter(state=State.GRADED))
        for attempt in found:
            Attempt.objects.filter(pk=attempt.pk).update(
                state=State.WAITING,
                tries=0,
                version=attempt.offer.version_id,
                queued_at=timezone.now(),
            )
            tasks.defer(attempt.pk)
    return len(found)
