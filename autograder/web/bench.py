"""Pages of the marker's bench. They name no student, and show all output of the sandbox as plain text."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404

from autograder.core.records import Ending
from autograder.service.bench import MOST_SOURCE, Bench, BenchStatus, NotebookStatus, TryResult
from autograder.service.models import Attempt, Offer, Role
from autograder.web.guard import Visit, require_role
from autograder.web.responses import render_page
from autograder.web.site import get_words

_Say = Callable[..., str]
"""Returns the sentence of a code in the reader's language."""
_ENDINGS: Mapping[Ending, str] = {
    Ending.CELL_TIME: "time",
    Ending.CALL_TIME: "time",
    Ending.SUBMISSION_TIME: "time",
    Ending.PROCESSOR_TIME: "time",
    Ending.MEMORY: "memory",
    Ending.OUTPUT: "output",
    Ending.REPLY_SIZE: "output",
    Ending.EXITED: "exited",
}
"""Ending of a sandbox → name of its sentence; all other endings use "other"."""


@require_role(Role.TA, "GET", "HEAD", "POST")
def show_bench(request: HttpRequest, _: Visit, offer: Offer, identifier: uuid.UUID) -> HttpResponse:
    """Show the bench of an attempt: the form and the results of the last inputs.

    A POST tries an input. HTMX requests get only the part of the page that changes.
    """
    attempt, names, notebook = _read_target(request, offer, identifier)
    say: _Say = get_words(request)["t"]
    tried = _try_source(request, attempt, notebook, say) if request.method == "POST" else ""
    shown = _build_context(request, attempt, notebook, say, tried)
    if "HX-Request" in request.headers:
        template = "_bench_tries.html" if request.method == "POST" else "_bench.html"
    else:
        template = "bench.html"
    facts = {"attempt": attempt, "names": names}
    return render_page(request, template, {**facts, **shown, "notebook": notebook, "most": MOST_SOURCE})


@require_role(Role.TA)
def show_tries(request: HttpRequest, _: Visit, offer: Offer, identifier: uuid.UUID) -> HttpResponse:
    """Show the part of the bench that changes while a notebook is being prepared."""
    attempt, _names, notebook = _read_target(request, offer, identifier)
    shown = _build_context(request, attempt, notebook, get_words(request)["t"])
    facts = {"attempt": attempt, "notebook": notebook}
    return render_page(request, "_bench_tries.html", {**facts, **shown})


def _read_target(
    request: HttpRequest, offer: Offer, identifier: uuid.UUID
) -> tuple[Attempt, Sequence[str], str]:
    """Return the attempt, the names of its notebooks, and the requested notebook.

    Raises:
        Http404: the assignment has no such attempt, or the attempt has no such notebook.
    """
    attempts = Attempt.objects.select_related("version", "offer").defer("receipt")
    attempt = get_object_or_404(attempts, pk=identifier, offer=offer)
    rubric = settings.RUNNING.loaded.load_assignment(attempt.version).rubric
    names = [entry.name for entry in rubric.assignment.notebooks]
    notebook = request.POST.get("notebook") or request.GET.get("notebook") or names[0]
    if notebook not in names:
        raise Http404
    return attempt, names, notebook


def _try_source(request: HttpRequest, attempt: Attempt, notebook: str, say: _Say) -> TryResult | str:
    """Return the result of the submitted input, or the reason why it was not tried."""
    # Forms send line breaks as CRLF.
    source = request.POST.get("source", "").replace("\r\n", "\n").strip()
    if not source:
        return say("bench-empty")
    if len(source) > MOST_SOURCE:
        return say("bench-long", number=len(source), most=MOST_SOURCE)
    marker_bench: Bench | None = settings.RUNNING.bench
    if marker_bench is None:
        return TryResult(source, BenchStatus.UNAVAILABLE)
    return marker_bench.try_input(attempt, source, who=str(request.user.pk), notebook=notebook)


def _build_context(
    request: HttpRequest, attempt: Attempt, notebook: str, say: _Say, tried: TryResult | str = ""
) -> dict[str, Any]:
    """Return the bench's state and its recent tries; an input that was not answered stays in the form."""
    marker_bench: Bench | None = settings.RUNNING.bench
    opened = NotebookStatus(BenchStatus.UNAVAILABLE)
    kept: tuple[TryResult, ...] = ()
    if marker_bench is not None:
        opened = marker_bench.open_notebook(attempt, notebook)
        kept = marker_bench.list_last_tries(attempt, who=str(request.user.pk), notebook=notebook)
    refused = tried if isinstance(tried, str) else ""
    # The refusal of this input matters more to the user than the state of the next sandbox.
    if isinstance(tried, TryResult) and tried.standing is not BenchStatus.READY:
        opened = NotebookStatus(tried.standing, tried.ending, tried.error)
    elif isinstance(tried, TryResult):  # answered; the next box's preparation is irrelevant
        opened = NotebookStatus(BenchStatus.READY)
        if tried not in kept:  # the notebook was removed from the bench meanwhile
            kept = (tried, *kept)
    return {
        "standing": opened.standing.value,
        "told": refused or _describe_state(opened, say),
        "tries": [(last_try, _describe_ending(last_try.ending, say)) for last_try in kept],
        "source": request.POST.get("source", "")[:MOST_SOURCE],
    }


def _describe_state(opened: NotebookStatus, say: _Say) -> str:
    """Describe the state of a notebook in the reader's language."""
    if opened.reason:
        return say("bench-unreadable", reason=opened.reason)
    return f"{say(f'bench-{opened.standing.value}')} {_describe_ending(opened.ending, say)}".strip()


def _describe_ending(ending: Ending | None, say: _Say) -> str:
    """Describe why a sandbox ended; empty if it did not."""
    return say(f"bench-ended-{_ENDINGS.get(ending, 'other')}") if ending else ""
