"""Similarity comparison of a class's submissions, run by a worker: it takes seconds or more.

The outcome is stored as computed; a page shows its age. It lists similar pairs and accuses no one.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec
from django.db import transaction
from django.utils import timezone
from markupsafe import Markup
from msgspec import Struct
from msgspec.structs import replace

from autograder.app.similar import SimilarClass, compare, part_alone
from autograder.assignment import Assignment
from autograder.course import Handin
from autograder.errors import describe_error
from autograder.grading.pipeline import SubmittedFiles
from autograder.marking.similarity.beside import BesideRow, beside
from autograder.marking.similarity.pairs import AlikePair
from autograder.rubric import Rubric
from autograder.service import attempts, tasks
from autograder.service.loaded import Loaded
from autograder.service.models import Offer
from autograder.service.telling import Comparison


class KeptPair(Struct, frozen=True):
    """Two similar submissions."""

    pair: AlikePair
    rows: tuple[BesideRow, ...]
    """Both texts in parallel columns, as safe markup."""


class KeptComparison(Struct, frozen=True):
    """Outcome of comparing a class."""

    works: int
    pairs: tuple[KeptPair, ...]
    """Most similar pair first."""
    remarks: tuple[str, ...]
    """Parts that were not compared, or only partly."""


def ask(offer: Offer) -> None:
    """Request a comparison by a worker; enqueued with the open transaction."""
    with transaction.atomic():
        now = timezone.now()
        Comparison.objects.update_or_create(offer=offer, defaults={"asked_at": now, "problem": ""})
        tasks.compare(offer.pk)


def compare_class(number: int, loaded: Loaded) -> None:
    """Compare the counting submissions of an assignment, and store the outcome or the error.

    Args:
        number: id of the offer.
        loaded: cache of loaded assignments.
    """
    offer = Offer.objects.select_related("version", "course").get(pk=number)
    try:
        # Markup is the only type in the comparison that is not plain data.
        made = msgspec.to_builtins(_kept(offer, loaded.of(offer.version)), enc_hook=str)
    except Exception as error:  # noqa: BLE001 - any error is shown to staff, who can request it again
        Comparison.objects.filter(offer=offer).update(problem=describe_error(error))
        return
    Comparison.objects.filter(offer=offer).update(pairs=made, made_at=timezone.now(), problem="")


def kept(row: Comparison) -> KeptComparison | None:
    """Return the stored outcome; None: there is none, or an older version of this program wrote it."""
    if row.pairs is None:
        return None
    try:
        return msgspec.convert(row.pairs, KeptComparison, dec_hook=_marked)
    except msgspec.ValidationError:
        return None


def _marked(kind: type, value: Any) -> Any:
    """Decode markup, which was escaped before it was stored."""
    if kind is not Markup:
        raise NotImplementedError(f"nothing of type {kind.__name__} is kept")
    return Markup(value)  # noqa: S704 - escaped by `beside`, the only source of stored markup


def _kept(offer: Offer, assignment: Assignment) -> KeptComparison:
    found = of_class(offer, assignment)
    pairs = tuple(
        KeptPair(one, beside(found.works[one.students[0]], found.works[one.students[1]], found.weights))
        for one in found.pairs
    )
    return KeptComparison(len(found.works), pairs, found.remarks)


def of_class(offer: Offer, assignment: Assignment) -> SimilarClass:
    """Compare each counting submission with each other one; a group's is taken once, from its submitter.

    Individual parts are compared per member.
    """
    rubric = assignment.rubric
    counting = attempts.all_counting(offer, rubric).values()
    handed = {one.student: partial(_alone, one, rubric) for one in counting if one.by and one.own}
    for one in sorted(
        counting, key=lambda one: not one.by
    ):  # a student's own last: it includes the individual part
        handed[one.owner] = partial(_files, replace(one, own=one.folder) if one.by else one, rubric)
    return compare(assignment, dict(sorted(handed.items())))


def _files(handin: Handin, rubric: Rubric) -> SubmittedFiles:
    return attempts.submitted(handin.owner, rubric, attempts.counted_contents(handin, rubric))


def _alone(handin: Handin, rubric: Rubric) -> SubmittedFiles:
    return part_alone(rubric, handin.student, _files(handin, rubric))
