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

from autograder.app.similarity import SimilarClass, compare_works, select_individual_part
from autograder.core.wording import Phrase, encode_phrase
from autograder.course import Handin
from autograder.grading.assignment import Assignment
from autograder.grading.pipeline import SubmittedFiles
from autograder.marking.similarity.pairs import AlikePair
from autograder.marking.similarity.side_by_side import AlignedRow, arrange_works
from autograder.rubric import Rubric
from autograder.service import attempts, tasks
from autograder.service.assignment_cache import AssignmentCache
from autograder.service.models import Offer
from autograder.service.models_results import Comparison
from autograder.service.refusals import explain_error


class KeptPair(Struct, frozen=True):
    """Two similar submissions."""

    pair: AlikePair
    rows: tuple[AlignedRow, ...]
    """Both texts in parallel columns, as safe markup."""


class KeptComparison(Struct, frozen=True):
    """Outcome of comparing a class."""

    works: int
    pairs: tuple[KeptPair, ...]
    """Most similar pair first."""
    remarks: tuple[Phrase, ...]
    """Parts that were not compared, or only partly."""


def request_comparison(offer: Offer) -> None:
    """Request a comparison by a worker; enqueued with the open transaction."""
    with transaction.atomic():
        now = timezone.now()
        Comparison.objects.update_or_create(offer=offer, defaults={"asked_at": now, "problem": ""})
        tasks.enqueue_job(tasks.COMPARING, offer.pk)


def compare_class(number: int, loaded: AssignmentCache) -> None:
    """Compare the counting submissions of an assignment, and store the outcome or the error.

    Args:
        number: id of the offer.
        loaded: cache of loaded assignments.
    """
    offer = Offer.objects.select_related("version", "course").get(pk=number)
    try:
        # Markup is the only type in the comparison that is not plain data.
        comparison = msgspec.to_builtins(
            _compute_comparison(offer, loaded.load_assignment(offer.version)), enc_hook=str
        )
    except Exception as error:  # noqa: BLE001 - any error is shown to staff, who can request it again
        Comparison.objects.filter(offer=offer).update(problem=encode_phrase(explain_error(error)))
        return
    Comparison.objects.filter(offer=offer).update(pairs=comparison, made_at=timezone.now(), problem="")


def decode_comparison(row: Comparison) -> KeptComparison | None:
    """Return the stored outcome; None: there is none, or an older version of this program wrote it."""
    if row.pairs is None:
        return None
    try:
        return msgspec.convert(row.pairs, KeptComparison, dec_hook=_decode_markup)
    except msgspec.ValidationError:
        return None


def _decode_markup(kind: type, value: Any) -> Any:
    """Decode markup, which was escaped before it was stored."""
    if kind is not Markup:
        raise NotImplementedError(f"nothing of type {kind.__name__} is kept")
    return Markup(value)  # noqa: S704 - escaped by `side_by_side`, the only source of stored markup


def _compute_comparison(offer: Offer, assignment: Assignment) -> KeptComparison:
    similar = compare_submissions(offer, assignment)
    pairs = tuple(
        KeptPair(
            pair,
            arrange_works(similar.works[pair.students[0]], similar.works[pair.students[1]], similar.weights),
        )
        for pair in similar.pairs
    )
    return KeptComparison(len(similar.works), pairs, similar.remarks)


def compare_submissions(offer: Offer, assignment: Assignment) -> SimilarClass:
    """Compare each counting submission with each other one; a group's is taken once, from its submitter.

    Individual parts are compared per member.
    """
    rubric = assignment.rubric
    counting = attempts.find_counting_attempts(offer, rubric).values()
    handed = {
        handin.student: partial(_select_individual_part, handin, rubric)
        for handin in counting
        if handin.by and handin.own
    }
    for handin in sorted(
        counting, key=lambda handin: not handin.by
    ):  # a student's own last: it includes the individual part
        handed[handin.owner] = partial(
            _select_files, replace(handin, own=handin.folder) if handin.by else handin, rubric
        )
    return compare_works(assignment, dict(sorted(handed.items())))


def _select_files(handin: Handin, rubric: Rubric) -> SubmittedFiles:
    return attempts.build_submission(handin.owner, rubric, attempts.load_counted_files(handin, rubric))


def _select_individual_part(handin: Handin, rubric: Rubric) -> SubmittedFiles:
    return select_individual_part(rubric, handin.student, _select_files(handin, rubric))
