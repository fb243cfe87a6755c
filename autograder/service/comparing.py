"""Works of a class compared with each other, by a worker: it takes seconds of a processor, and more for many.

What comes of it is kept as it was computed; a page says how old it is. It names pairs, and judges nobody.
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
    """Two works that are alike."""

    pair: AlikePair
    rows: tuple[BesideRow, ...]
    """Beside each other, as safe markup."""


class KeptComparison(Struct, frozen=True):
    """What came of comparing a class."""

    works: int
    pairs: tuple[KeptPair, ...]
    """The most alike first."""
    remarks: tuple[str, ...]
    """What was not, or not wholly, compared."""


def ask(offer: Offer) -> None:
    """Have a class compared by a worker, with the transaction that is open."""
    with transaction.atomic():
        now = timezone.now()
        Comparison.objects.update_or_create(offer=offer, defaults={"asked_at": now, "problem": ""})
        tasks.compare(offer.pk)


def compare_class(number: int, loaded: Loaded) -> None:
    """Compare what counts of an assignment, and keep what came of it; what goes wrong is kept as well.

    Args:
        number: of the offer.
        loaded: assignments that are ready.
    """
    offer = Offer.objects.select_related("version", "course").get(pk=number)
    try:
        made = msgspec.to_builtins(_kept(offer, loaded.of(offer.version)), enc_hook=str)
    except Exception as error:  # noqa: BLE001 - whatever it is, staff are told, and may ask again
        Comparison.objects.filter(offer=offer).update(problem=describe_error(error))
        return
    Comparison.objects.filter(offer=offer).update(pairs=made, made_at=timezone.now(), problem="")


def kept(row: Comparison) -> KeptComparison | None:
    """What was kept; None: nothing yet, or an older version of this program wrote it."""
    if row.pairs is None:
        return None
    try:
        return msgspec.convert(row.pairs, KeptComparison, dec_hook=_marked)
    except msgspec.ValidationError:
        return None


def _marked(kind: type, value: Any) -> Any:
    """Markup, which `beside` has escaped."""
    if kind is not Markup:
        raise NotImplementedError(f"nothing of type {kind.__name__} is kept")
    return Markup(value)  # noqa: S704 - see above; nothing else writes it


def _kept(offer: Offer, assignment: Assignment) -> KeptComparison:
    found = of_class(offer, assignment)
    pairs = tuple(
        KeptPair(one, beside(found.works[one.students[0]], found.works[one.students[1]], found.weights))
        for one in found.pairs
    )
    return KeptComparison(len(found.works), pairs, found.remarks)


def of_class(offer: Offer, assignment: Assignment) -> SimilarClass:
    """The works that count, each with each; that of a group once, as its member's who handed it in.

    What members do alone is each one's.
    """
    rubric = assignment.rubric
    counting = attempts.all_counting(offer, rubric).values()
    handed = {one.student: partial(_alone, one, rubric) for one in counting if one.by and one.own}
    for one in sorted(
        counting, key=lambda one: not one.by
    ):  # a student's own last: it has what they do alone
        handed[one.owner] = partial(_files, replace(one, own=one.folder) if one.by else one, rubric)
    return compare(assignment, dict(sorted(handed.items())))


def _files(handin: Handin, rubric: Rubric) -> SubmittedFiles:
    return attempts.submitted(handin.owner, rubric, attempts.counted_contents(handin, rubric))


def _alone(handin: Handin, rubric: Rubric) -> SubmittedFiles:
    return part_alone(rubric, handin.student, _files(handin, rubric))
