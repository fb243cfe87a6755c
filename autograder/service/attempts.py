"""What was handed in: received, claimed by a worker, kept, given back. Nothing that has a receipt is lost.

An attempt waits, runs under a lease, and is graded or failed. A lease that ended may be taken by another
worker; what the first one brings later is not kept. So each attempt has one result, whoever died meanwhile.
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

from autograder.course import Handin, groups, name_fault, schedule
from autograder.course.counting import (
    AttemptFacts,
    HeldParts,
    StaffChoice,
    notebooks_of,
    part_files,
    settled,
)
from autograder.course.schedule import Schedule
from autograder.course.submission_folder import (
    Readability,
    asked_files,
    explain_absent,
    files_to_compare,
    is_hidden_notebook,
    loose_files,
    notebook_fault,
)
from autograder.errors import NotebookError, ServiceError
from autograder.grading.batch import (
    as_member,
    refused,
    refused_files,
    with_handin,
    within,
    without_own,
)
from autograder.grading.pipeline import SubmittedFiles
from autograder.records import Graded, StudentGroup
from autograder.rubric import Rubric
from autograder.service import blobs, tasks, versions
from autograder.service.models import (
    Account,
    Attempt,
    AttemptFile,
    Offer,
    PlatformCourse,
    State,
)
from autograder.service.receipts import Signer
from autograder.service.store import DatabaseStore
from autograder.service.telling import ChosenAttempt
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
            # Whoever offers another version waits for this one, and the other way round (`trials.apply`).
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


def to_grade(attempt: Attempt, rubric: Rubric) -> SubmittedFiles:
    """What a grader gets: the notebooks that the rubric asks for, and the files that go with them."""
    found = timed(attempt, rubric)
    if found and all(one.timing and one.timing.refused for one in found):
        return refused_files(attempt.student, rubric)
    asked, files = as_graded(attempt, rubric)
    return submitted(asked, rubric, files)


def as_graded(attempt: Attempt, rubric: Rubric) -> tuple[str, dict[str, bytes]]:
    """Who is asked the questions of an attempt, and its files, by name.

    Where it has what counts of a member's own notebooks, everything else is the group's.
    """
    if is_apart(attempt.offer, rubric):
        handin = counting(attempt.offer, attempt.student, rubric)
        if handin is not None and result_of(handin) == str(attempt.pk):
            return handin.owner, counted_contents(handin, rubric)
    return attempt.student, contents(attempt)


def counted_contents(handin: Handin, rubric: Rubric) -> dict[str, bytes]:
    """All files that count for a student, by name; of a member of a group, what is their own and the rest."""
    files = contents(Attempt(pk=uuid.UUID(handin.folder.name)))
    if handin.group is None or not rubric.assignment.individual:
        return files
    alone = part_files(rubric, alone=True)
    own = files if handin.own == handin.folder else {}
    if handin.own is not None and handin.own != handin.folder:
        own = contents(Attempt(pk=uuid.UUID(handin.own.name)))
    together = {name: data for name, data in files.items() if name not in alone}
    return together | {name: data for name, data in own.items() if name in alone}


def submitted(student: str, rubric: Rubric, files: Mapping[str, bytes]) -> SubmittedFiles:
    """Of files that were handed in, those that the rubric asks for."""
    contents = {path: files.get(path, _missing(path)) for path in asked_files(rubric)}
    unread, beside = loose_files(files, contents, rubric)
    contents = explain_absent(contents, [f"{one.name}.ipynb" for one in rubric.assignment.notebooks], unread)
    notebooks: dict[str, bytes | NotebookError] = {}
    along: dict[str, bytes | NotebookError] = {}
    for notebook in rubric.assignment.notebooks:
        notebooks[notebook.name] = contents[f"{notebook.name}.ipynb"]
        along |= {
            path: within(files[path], path, most) for path, most in notebook.own.items() if path in files
        }
    loose = [name for name in files if name in (*unread, *beside) or is_hidden_notebook(name)]
    copies = {name: files[name] for name, most in files_to_compare(loose) if len(files[name]) <= most}
    return SubmittedFiles(student, notebooks, along, unread, beside=beside, copies=copies)


def _missing(path: str) -> NotebookError:
    return NotebookError("missing", f"{path} was not handed in")


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
        _lock_beside(attempt, rubric)
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
        outdated = _outdated(row, rubric, handins)
        entries = [
            counted_entry(key, graded, rubric, handin)
            for handin in handins.values()
            if result_of(handin) == str(row.pk) and row.pk not in outdated
        ]
        if entries:
            store.record(entries)
            if row.offer.published_at and PlatformCourse.objects.filter(course=row.offer.course).exists():
                tasks.send_scores(row.offer_id)
        grade_again(Attempt.objects.filter(pk__in=outdated))
    return True


def _lock_beside(attempt: Attempt, rubric: Rubric) -> None:
    """Lock what may have to be graded again with an attempt, in the order that `trials.apply` has."""
    if rubric.assignment.individual:
        offer = Offer.objects.get(pk=attempt.offer_id)
        members = Attempt.objects.filter(offer=offer, student__in=together(offer, attempt.student))
        list(members.select_for_update().order_by("pk").values_list("pk"))


def _outdated(row: Attempt, rubric: Rubric, handins: Mapping[str, Handin]) -> list[uuid.UUID]:
    """Of an attempt and those beside which it counts for the group, whose results are of other files by now.

    Another member handed in the group's part meanwhile, or another attempt of it counts.
    """
    parts = [one for one in handins.values() if one.own is not None]
    names = {result_of(one): one for one in parts if str(row.pk) in (one.folder.name, result_of(one))}
    graded = Attempt.objects.filter(pk__in=names, state=State.GRADED).select_related("offer", "result")
    return [
        one.pk for one in graded if one.result and to_grade(one, rubric).digest() != one.result.submission
    ]


def counted_entry(key: Key, graded: Graded, rubric: Rubric, handin: Handin) -> GradedEntry:
    """A result as it is recorded for one for whom it counts; the key is that of the attempt's own."""
    found = as_counted(graded, handin, rubric)
    mine = replace(key, student=handin.student, submission=found.digest)
    return GradedEntry(mine, found, rubric, handin.submitted_at)


def as_counted(graded: Graded, handin: Handin, rubric: Rubric) -> Graded:
    """A result as that of the one for whom it counts, with what the time means for them.

    Slip days are each student's own: what is taken of one member of a group may be refused of another.
    """
    if handin.group and handin.own is None and rubric.assignment.individual:
        files = submitted(handin.owner, rubric, counted_contents(handin, rubric))
        graded = without_own(graded, rubric, handin.student, files.digest())
    found = with_handin(as_member(graded, handin), handin)
    return refused(found, rubric) if handin.timing and handin.timing.refused else found


def counting(offer: Offer, student: str, rubric: Rubric) -> Handin | None:
    """The attempt of a student that counts, as the schedule has it; its folder's name is the attempt's id.

    Where there are no times it is the last one; of a group, whoever of its members handed it in, and beside
    it the one that has what the student handed in alone (`Handin.own`). None: nothing was handed in.
    """
    return _counting(offer, rubric, together(offer, student)).get(student)


def all_counting(offer: Offer, rubric: Rubric) -> dict[str, Handin]:
    """The attempt of every student that counts, as `counting` has it."""
    return _counting(offer, rubric)


def result_of(handin: Handin) -> str:
    """The id of the attempt whose result is a student's: where they handed in some of it alone, that one."""
    return (handin.own or handin.folder).name


def is_apart(offer: Offer, rubric: Rubric) -> bool:
    """Whether there are groups whose members hand in some of it alone."""
    return bool(offer.groups and rubric.assignment.individual)


def groups_of(offer: Offer) -> tuple[StudentGroup, ...]:
    """Who hands in together."""
    return tuple(StudentGroup(name, tuple(members)) for name, members in sorted(offer.groups.items()))


def together(offer: Offer, student: str) -> tuple[str, ...]:
    """The members of a student's group; who is in none is alone."""
    group = group_of(offer, student)
    return group.members if group else (student,)


def group_of(offer: Offer, student: str) -> StudentGroup | None:
    """A student's group; None: they hand in alone."""
    return groups.by_student(groups_of(offer)).get(canonical_id(student))


def _counting(offer: Offer, rubric: Rubric, students: Collection[str] | None = None) -> dict[str, Handin]:
    """By student, of those attempts that did not fail; of these students and no others, where they are named.

    Whoever of a group is named, all of its members are.
    """
    times = schedule_of(offer, rubric)
    found = _settled(offer, rubric, times, slip_days_left(offer, times), students)
    return {one.student: one for one in found}


def _settled(
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
    for one in attempts.only("pk", "student", "submitted_at").order_by("student", "-number"):
        handins.setdefault(one.student, []).append(_handin(one))
    return settled(
        handins,
        times,
        groups_of(offer),
        left,
        timezone.now(),
        facts=_facts_of(rubric, attempts),
        parts=_parts(offer, rubric, attempts),
    )


def _facts_of(rubric: Rubric, attempts: QuerySet[Attempt]) -> AttemptFacts:
    """Which attempts can be read, and which ones staff chose."""
    chosen = {
        str(one.attempt_id): StaffChoice(one.at.timestamp(), one.reason)
        for one in ChosenAttempt.objects.filter(attempt__in=attempts)
    }

    asked = asked_files(rubric)
    files: dict[str, list[AttemptFile]] = {}

    @cache
    def readable(attempt: str) -> Readability:
        if not files:  # asked of all at once, and only if somebody has several attempts
            for row in AttemptFile.objects.filter(attempt__in=attempts, name__in=asked):
                files.setdefault(str(row.attempt_id), []).append(row)
        return _readability(files.get(attempt, []), rubric)

    return AttemptFacts(
        lambda one, part: readable(one.folder.name).restricted(notebooks_of(rubric, part)),
        lambda one: chosen.get(one.folder.name),
    )


def readability_of(attempt: Attempt, rubric: Rubric) -> Readability:
    """Find out which notebooks of an attempt can be read."""
    rows = AttemptFile.objects.filter(attempt=attempt, name__in=asked_files(rubric))
    return _readability(list(rows), rubric)


def _readability(rows: Collection[AttemptFile], rubric: Rubric) -> Readability:
    """Each file is parsed once; what comes of it is kept with it."""
    names = {f"{name}.ipynb": name for name in notebooks_of(rubric, "all")}
    unknown = [one for one in rows if one.name in names and one.fault is None]
    data = blobs.get([one.blob_id for one in unknown])
    for row in unknown:
        fault = notebook_fault(data[row.blob_id])
        row.fault = "" if fault is None else str(fault)
        AttemptFile.objects.filter(pk=row.pk).update(fault=row.fault)
    told = {one.name: one.fault or "" for one in rows}
    faults = {name: told[file] for file, name in names.items() if file in told}
    return Readability(
        frozenset(name for name, fault in faults.items() if not fault),
        {name: fault for name, fault in faults.items() if fault},
        len(faults) < len(rows),
    )


def _parts(offer: Offer, rubric: Rubric, attempts: QuerySet[Attempt]) -> HeldParts | None:
    """Which attempts have what, where there are groups whose members hand in some of it alone."""
    if not is_apart(offer, rubric):
        return None

    def holding(*, alone: bool) -> Callable[[Handin], bool]:
        files = AttemptFile.objects.filter(attempt__in=attempts, name__in=part_files(rubric, alone=alone))
        found = {str(one) for one in files.values_list("attempt", flat=True)}
        return lambda one: one.folder.name in found

    return HeldParts(holding(alone=False), holding(alone=True))


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
        for handin in _settled(earlier, rubric, schedule_of(earlier, rubric), left):
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
        found = list(attempts.select_for_update().filter(state=State.GRADED).order_by("pk"))
        for attempt in found:
            Attempt.objects.filter(pk=attempt.pk).update(
                state=State.WAITING,
                tries=0,
                version=attempt.offer.version_id,
                queued_at=timezone.now(),
            )
            tasks.defer(attempt.pk)
    return len(found)
