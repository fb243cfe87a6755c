"""Health check, metrics, the public key for receipts, and the error pages."""

from __future__ import annotations

import hmac
import logging
import sys
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import DisallowedHost
from django.db import DatabaseError, InterfaceError, OperationalError
from django.db.models import Case, Count, Min, Value, When
from django.http import HttpRequest, HttpResponse, HttpResponseForbidden
from django.shortcuts import render
from django.utils import timezone

from autograder.service import tasks
from autograder.service.models import Attempt, State
from autograder.web.guard import allow_anyone
from autograder.web.rest.problems import render_sentence

LOG = logging.getLogger("autograder.web.operation")
_HERE = {"127.0.0.1", "::1", ""}


@allow_anyone()
def check_health(_: HttpRequest) -> HttpResponse:
    """Report whether the database answers."""
    try:
        Attempt.objects.exists()
    except DatabaseError:
        return HttpResponse("the database does not respond\n", status=503, content_type="text/plain")
    return HttpResponse("ok\n", content_type="text/plain")


@allow_anyone()
def show_metrics(request: HttpRequest) -> HttpResponse:
    """Show metrics in the text format of Prometheus, to this machine or whoever has the key."""
    key = settings.RUNNING.metrics_key
    secret = request.headers.get("Authorization", "").removeprefix("Bearer ")
    # Behind a proxy every request comes from this machine, hence the second condition.
    local = request.META.get("REMOTE_ADDR", "") in _HERE and "X-Forwarded-For" not in request.headers
    # Takes the same time for every wrong key.
    if not (hmac.compare_digest(secret.encode(), key.encode()) if key else local):
        return HttpResponseForbidden("these figures are not for you\n", content_type="text/plain")
    now = timezone.now()
    # An attempt whose worker died waits for another one, which only then changes its state.
    left = When(state=State.RUNNING, leased_until__lt=now, then=Value(State.WAITING.value))
    states = Attempt.objects.annotate(current=Case(left, default="state")).values_list("current")
    rows = {state: row for state, *row in states.annotate(Count("pk"), Min("queued_at"))}
    oldest = rows.get(State.WAITING, (0, None))[1]
    waits = (now - oldest).total_seconds() if oldest else 0.0
    lines = [
        "# HELP autograder_attempts Attempts by state.",
        "# TYPE autograder_attempts gauge",
        *(f'autograder_attempts{{state="{state}"}} {rows.get(state, (0,))[0]}' for state in State),
        "# HELP autograder_oldest_waiting_seconds Age of the attempt that waits longest.",
        "# TYPE autograder_oldest_waiting_seconds gauge",
        f"autograder_oldest_waiting_seconds {waits:.3f}",
        "# HELP autograder_workers Workers that reach the database.",
        "# TYPE autograder_workers gauge",
        f"autograder_workers {tasks.count_workers()}",
        *settings.RUNNING.metrics.format_lines(),
    ]
    return HttpResponse("\n".join(lines) + "\n", content_type="text/plain; version=0.0.4")


@allow_anyone()
def show_receipt_key(_: HttpRequest) -> HttpResponse:
    """Show the public key with which receipts are verified."""
    return HttpResponse(settings.RUNNING.signer.public + "\n", content_type="text/plain")


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Render the page for a form without a valid CSRF token: from another site, or too old."""
    del reason
    return render(request, "error.html", {"code": "csrf"}, status=403, using="jinja2")


def render_error(request: HttpRequest, exception: Any = None, *, status: int) -> HttpResponse:
    """Render the page, or the answer of the API, for a status of an error."""
    if isinstance(exception, DisallowedHost):
        LOG.warning(
            "refused a request for the host %.100s; allowed: %s (set the public address with --address, and "
            "let the proxy pass the Host header on)",
            request.headers.get("Host", ""),
            ", ".join(dict.fromkeys(settings.ALLOWED_HOSTS)),
        )
    if _is_outage():
        status = 503
        _stop_asking(request)
    if request.path.startswith("/api/"):
        return render_sentence(request, status, f"error-{status}")
    return render(request, "error.html", {"code": f"error-{status}"}, status=status, using="jinja2")


def _is_outage() -> bool:
    """Decide whether the error that is being handled comes from a database that does not respond."""
    # Django does not pass the error of a 500 to its handler, but calls it while it handles the error.
    # A session that cannot be saved becomes a bad request, with the database's error as its context.
    error = sys.exc_info()[1]
    while error is not None and not isinstance(error, (OperationalError, InterfaceError)):
        error = error.__context__
    return error is not None


def _stop_asking(request: HttpRequest) -> None:
    """Keep the rest of a request from the database: each further question would wait for it as well."""
    request.user = AnonymousUser()
    request.__dict__.pop("_messages", None)  # Django's, in the session
    # The session stays in place: without it, its middleware would delete the cookie and sign the user out.
    if hasattr(request, "session"):
        request.session.modified = False
