"""Decisions of staff about an offered assignment: whether students see it, and whether they see marks."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from autograder.app.class_roll import copy_shared_marks
from autograder.rubric import Rubric
from autograder.service import attempts, audit, tasks
from autograder.service.models import Account, Offer
from autograder.service.notices import events
from autograder.service.store import DatabaseStore


def set_visible(offer: Offer, by: Account, *, wanted: bool) -> None:
    """Show an assignment to students, or hide it."""
    with transaction.atomic():
        audit.record_action(
            by.username, "visible", offer.assignment, course=offer.course, before=offer.visible, after=wanted
        )
        Offer.objects.filter(pk=offer.pk).update(visible=wanted)
    offer.visible = wanted


def set_published(offer: Offer, rubric: Rubric, by: Account, *, wanted: bool) -> None:
    """Publish the marks of an assignment, or withdraw them."""
    before = offer.published_at is not None
    # Publishing again keeps the first date.
    since = (offer.published_at or timezone.now()) if wanted else None
    with transaction.atomic():
        audit.record_action(
            by.username, "published", offer.assignment, course=offer.course, before=before, after=wanted
        )
        if wanted:
            _copy_group_marks(offer, rubric)
        Offer.objects.filter(pk=offer.pk).update(published_at=since)
        # Also after a withdrawal: the platforms must not keep marks that are no longer public.
        tasks.enqueue_scores(offer)
        offer.published_at = since
        if wanted and not before:
            events.record_published(offer)


def _copy_group_marks(offer: Offer, rubric: Rubric) -> None:
    """Copy manual marks of one group member to the others before any of them sees the marks."""
    store, groups = DatabaseStore(offer.course), attempts.list_groups(offer)
    if groups:
        copy_shared_marks(store, rubric, groups, store.load_results(offer.assignment))
