"""Importing assignments from a course folder; a trial begins if the new version may change marks."""

from __future__ import annotations

from django.db import transaction

from autograder.course import Course
from autograder.grading import assignment as assignments
from autograder.service import audit, versions
from autograder.service.models import Account, CourseRecord, Offer, Version, VersionTrial
from autograder.service.trials import trying
from autograder.service.trials.applying import SERVER, drop_trial


def import_assignment(
    record: CourseRecord, course: Course, name: str, by: Account | None = None
) -> tuple[Offer, VersionTrial | None]:
    """Offer a folder's assignment, or begin a trial of its new version.

    A version with another rubric or reference must be tried on everyone who has submitted before it counts.
    Any other new version is offered at once, because marks do not depend on the difference.

    Args:
        record: the course in the database.
        course: its folder.
        name: of the assignment.
        by: the account that requests it; None: the server, which does not repeat a dropped trial.

    Raises:
        As `versions.create_or_update_offer`.
        AutograderError: the new version cannot be used for grading.
    """
    offer = Offer.objects.filter(course=record, assignment=name).select_related("version", "course").first()
    # The folder is older than what staff have uploaded since.
    if by is None and offer is not None and offer.uploaded:
        return offer, None
    version = versions.import_version(record, course, name)
    if offer is None or not offer.attempts.exists() or versions.has_same_grading(offer.version, version):
        return versions.create_or_update_offer(record, course, name, version), None
    assignments.load_assignment(course, name)
    with transaction.atomic():
        versions.prepare_cells(version)
        transaction.set_rollback(True)  # a dry run: the cells change only when the version is offered
    versions.import_groups(offer, course)
    return offer, _begin_trial(offer, version, by)


def _begin_trial(offer: Offer, version: Version, by: Account | None) -> VersionTrial | None:
    """Begin a trial, unless this version has one already; older active trials are dropped."""
    with transaction.atomic():
        CourseRecord.objects.select_for_update(no_key=True).get(pk=offer.course_id)
        of_offer = VersionTrial.objects.filter(offer=offer, base=offer.version_id).order_by("-pk")
        if existing := of_offer.filter(version=version, settled="").first():
            return existing
        if by is None and of_offer.filter(version=version, settled="dropped").exists():
            return None
        # An offer has at most one active trial.
        for other in VersionTrial.objects.filter(offer=offer, settled=""):
            drop_trial(other, by)
        trial = VersionTrial.objects.create(offer=offer, version=version, base=offer.version, by=by)
        before, after = offer.version.number, version.number
        who = by.username if by else SERVER
        audit.record_action(
            who, "try version", offer.assignment, course=offer.course, before=before, after=after
        )
    trying.catch_up(trial)
    return trial
