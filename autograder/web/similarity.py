"""Page about similar submissions: ranked pairs, shown side by side. They are hints, never verdicts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from msgspec import Struct

from autograder.app.class_statistics import make_pseudonym
from autograder.core.wording import render_phrase
from autograder.marking.similarity.pairs import to_percent
from autograder.marking.similarity.side_by_side import AlignedRow
from autograder.pages.feedback.sanitise import to_printable_text
from autograder.service import similarity
from autograder.service.models import Attempt, Offer, Role
from autograder.service.models_results import Comparison
from autograder.web import assignment_details
from autograder.web.guard import Visit, require_role
from autograder.web.responses import render_page
from autograder.web.site import choose_language, get_words

_KINDS = ("all", "code", "text")
_MOST_PARTS = 8


class PairRow(Struct, frozen=True):
    """A pair on the page."""

    students: tuple[str, str]
    """Their ids, for links to their pages."""
    called: tuple[str, str]
    out: int
    same: int
    """A percentage."""
    parts: tuple[str, ...]
    words: tuple[str, ...]
    rows: tuple[AlignedRow, ...]


@require_role(Role.TA, "GET", "HEAD", "POST")
def show_similar(request: HttpRequest, visit: Visit, offer: Offer) -> HttpResponse:
    """Show the pairs of the last comparison. A POST requests a new one from a worker."""
    if request.method == "POST":
        # The request and its log entry are saved together or not at all.
        with transaction.atomic():
            visit.record_action("compare", offer.assignment)
            similarity.request_comparison(offer)
        return HttpResponseRedirect(request.path)
    row = Comparison.objects.filter(offer=offer).first()
    kept = similarity.decode_comparison(row) if row else None
    named = request.GET.get("names") == "yes"
    called = _make_name_function(offer, named=named)
    context = {
        "named": named,
        "problem": row.problem if row else "",
        # A comparison is running if it was requested after the last one was made.
        "busy": row is not None and not row.problem and (row.made_at is None or row.made_at < row.asked_at),
        **_describe_comparison(request, offer, row, kept, called),
    }
    return render_page(request, "similar.html", context)


def _make_name_function(offer: Offer, *, named: bool) -> Callable[[str], str]:
    """Return the function that names students: their ids, or aliases."""
    # Without the secret, aliases could be found by hashing all ids of the class.
    secret = bytes(offer.course.secret)
    if not named:
        return lambda who: make_pseudonym(secret, offer.assignment, who)
    names = assignment_details.map_names(offer.course)
    return lambda who: to_printable_text(f"{names[who]} ({who})" if who in names else who, 200)


def _describe_comparison(
    request: HttpRequest,
    offer: Offer,
    row: Comparison | None,
    kept: similarity.KeptComparison | None,
    called: Callable[[str], str],
) -> dict[str, Any]:
    """Return the template's values for a comparison."""
    if row is None or kept is None:
        return {"kept": None}
    say = get_words(request)["t"]

    def format_part(name: str, share: float) -> str:
        label = say(f"similar-{name}") if name in _KINDS else to_printable_text(name, 200)
        return f"{label} {to_percent(share)} %"

    pairs = [
        PairRow(
            entry.pair.students,
            (called(entry.pair.students[0]), called(entry.pair.students[1])),
            *entry.pair.percents,
            tuple(
                format_part(shared_part.name, shared_part.share)
                for shared_part in entry.pair.parts[:_MOST_PARTS]
            ),
            tuple(to_printable_text(word, 200) for word in entry.pair.words),
            entry.rows,
        )
        for entry in kept.pairs
    ]
    language = choose_language(request)
    return {
        "kept": kept,
        "made": row.made_at,
        "when": assignment_details.make_time_formatter(offer, language),
        "older": Attempt.objects.filter(offer=offer, queued_at__gt=row.made_at).exists(),
        "pairs": pairs,
        "remarks": [_format_remark(render_phrase(entry, language), called) for entry in kept.remarks],
    }


def _format_remark(remark: str, called: Callable[[str], str]) -> str:
    """Format a remark about a file that was not compared, with the student's displayed name."""
    who, separator, detail = remark.partition(": ")
    return to_printable_text(f"{called(who)}: {detail}" if separator else remark, 2_000)
