"""Page about similar submissions: ranked pairs, shown side by side. They are hints, never verdicts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from msgspec import Struct

from autograder.app.class_statistics import alias
from autograder.feedback.sanitise import printable_text
from autograder.marking.similarity.beside import BesideRow
from autograder.marking.similarity.pairs import to_percent
from autograder.service import audit, comparing
from autograder.service.models import Attempt, Offer, Role
from autograder.service.telling import Comparison
from autograder.web import shown
from autograder.web.guard import Visit, course_page
from autograder.web.site import language_of, words
from autograder.web.student import page

_KINDS = ("all", "code", "text")
_MOST_PARTS = 8


class PairShown(Struct, frozen=True):
    """A pair on the page."""

    students: tuple[str, str]
    """Their ids, for links to their pages."""
    called: tuple[str, str]
    out: int
    same: int
    """A percentage."""
    parts: tuple[str, ...]
    words: tuple[str, ...]
    rows: tuple[BesideRow, ...]


@course_page(Role.TA, "GET", "HEAD", "POST")
def similar(request: HttpRequest, visit: Visit, assignment: str) -> HttpResponse:
    """Show the pairs of the last comparison. A POST requests a new one from a worker."""
    offer = visit.offer(assignment)
    if request.method == "POST":
        # The request and its log entry are saved together or not at all.
        with transaction.atomic():
            audit.note(request.user.username, "compare", assignment, course=visit.course)
            comparing.ask(offer)
        return HttpResponseRedirect(request.path)
    row = Comparison.objects.filter(offer=offer).first()
    kept = comparing.kept(row) if row else None
    named = request.GET.get("names") == "yes"
    called = _called(offer, named=named)
    context = {
        "visit": visit,
        "offer": offer,
        "named": named,
        "problem": row.problem if row else "",
        # A comparison is running if it was requested after the last one was made.
        "busy": row is not None and not row.problem and (row.made_at is None or row.made_at < row.asked_at),
        **_found(request, offer, row, kept, called),
    }
    return page(request, "similar.html", context)


def _called(offer: Offer, *, named: bool) -> Callable[[str], str]:
    """Return the function that names students: their ids, or aliases."""
    # Without the secret, aliases could be found by hashing all ids of the class.
    secret = bytes(offer.course.secret)
    return lambda who: printable_text(who, 200) if named else alias(secret, offer.assignment, who)


def _found(
    request: HttpRequest,
    offer: Offer,
    row: Comparison | None,
    kept: comparing.KeptComparison | None,
    called: Callable[[str], str],
) -> dict[str, Any]:
    """Return the template's values for a comparison."""
    if row is None or kept is None:
        return {"kept": None}
    say = words(request)["t"]

    def part(name: str, share: float) -> str:
        told = say(f"similar-{name}") if name in _KINDS else printable_text(name, 200)
        return f"{told} {to_percent(share)} %"

    pairs = [
        PairShown(
            one.pair.students,
            (called(one.pair.students[0]), called(one.pair.students[1])),
            *one.pair.percents,
            tuple(part(found.name, found.share) for found in one.pair.parts[:_MOST_PARTS]),
            tuple(printable_text(word, 200) for word in one.pair.words),
            one.rows,
        )
        for one in kept.pairs
    ]
    return {
        "kept": kept,
        "made": row.made_at,
        "when": shown.clock(offer, language_of(request)),
        "older": Attempt.objects.filter(offer=offer, queued_at__gt=row.made_at).exists(),
        "pairs": pairs,
        "remarks": [_remark(one, called) for one in kept.remarks],
    }


def _remark(remark: str, called: Callable[[str], str]) -> str:
    """Format a remark about a file that was not compared, with the student's displayed name."""
    who, found, told = remark.partition(": ")
    return printable_text(f"{called(who)}: {told}" if found else remark, 2_000)
