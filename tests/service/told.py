"""Students of the small course in the service with chosen results."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograder.core.records import (
    ExecutedNotebook,
    GradingResult,
    ItemResult,
    Markdown,
    Message,
    Score,
    Status,
)
from tests.service import course
from tests.support import small_course

if TYPE_CHECKING:
    from autograder.service.models import Attempt, Offer

RUBRIC = small_course.load_rubric()
RIGHT = Message("passed")
UNKNOWN = Message("choice.unknown", {"name": "softplus"})


def told(question: str, item: str, message: Message, points: str = "0") -> ItemResult:
    """Return a result with less than full points."""
    possible = RUBRIC.get_question(question).get_item(item).points
    return ItemResult(question, item, Status.FAILED, Decimal(points), possible, message, "for <b>staff</b>")


def score(student: str, *differing: ItemResult) -> Score:
    """Return a score with full points, except for given results and items for manual review."""
    differing_by_item = {(result.question, result.item): result for result in differing}
    items = []
    for question in RUBRIC.questions:
        for item in question.items:
            status = Status.NEEDS_REVIEW if item.manual else Status.PASSED
            points = max(item.points, Decimal(0)) if status is Status.PASSED else Decimal(0)
            message = Message("review.person") if item.manual else RIGHT
            plain = ItemResult(question.id, item.id, status, points, item.points, message, "")
            items.append(differing_by_item.get((question.id, item.id), plain))
    return Score(student, small_course.NAME, 1, tuple(items))


def graded(offer: Offer, folder: Path, student: str, *differing: ItemResult) -> Attempt:
    """Return a graded attempt of a student on the class list."""
    from autograder.service import attempts
    from autograder.service.models import Member

    Member.objects.get_or_create(course=offer.course, student=student, defaults={"role": "student"})
    attempt = course.handed_in(offer, student, course.released(folder))
    claimed = attempts.claim_attempt(attempt.pk)
    assert claimed is not None
    cells = (Markdown("Because <b>it</b> is so.", "mlp-why"),)
    notebooks = (ExecutedNotebook("formulas", cells, (None,)),)
    result = GradingResult(score(student, *differing), notebooks, digest=attempt.digest)
    assert attempts.keep_result(claimed, result, RUBRIC, "e" * 64)
    return attempt


def published(offer: Offer, hours: float = 1) -> None:
    """Publish the marks, and accept regrade requests for some hours."""
    now = datetime.datetime.now(datetime.UTC)
    offer.published_at, offer.requests_until = now, now + datetime.timedelta(hours=hours)
    offer.save()


def mark(offer: Offer, student: str, cell: str, **fields: Any) -> None:
    """Change fields of a cell's mark."""
    from autograder.service.models import CellMark

    rows = CellMark.objects.filter(place__course=offer.course, place__cell=cell, student=student)
    assert 1 == rows.update(**fields)


def row(offer: Offer, student: str, cell: str) -> Any:
    """Return a cell's mark."""
    from autograder.service.models import CellMark

    return CellMark.objects.get(place__course=offer.course, place__cell=cell, student=student)


def account(offer: Offer, role: str, name: str = "") -> Any:
    """Create a member of the staff."""
    from autograder.service.models import Account, Member

    new_account = Account.objects.create(username=f"{offer.course.slug}-{name or role}")
    Member.objects.create(course=offer.course, account=new_account, role=role)
    return new_account
