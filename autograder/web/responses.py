"""Responses of several pages: templates, downloads, and feedback in a frame without cookies."""

from __future__ import annotations

import tempfile
from typing import Any

from django import forms
from django.core import signing
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import content_disposition_header

from autograder.service import blobs
from autograder.service.models import CurrentResult, Offer
from autograder.web import assignment_details
from autograder.web.site import choose_language

FRAME_SECONDS = 600
"""How long the address of a frame is valid."""
_FRAME_POLICY = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"
)
FRAME_SALT = "autograder.frame"
BINARY = "application/octet-stream"


def render_page(
    request: HttpRequest, template: str, context: dict[str, Any], status: int = 200
) -> HttpResponse:
    """Render one of our own templates."""
    return render(request, template, context, status=status, using="jinja2")


def stop_cutting(form: forms.BaseForm) -> None:
    """Let the server refuse long texts with a sentence: a browser cuts off what is pasted, silently."""
    for field in form.fields.values():
        field.widget.attrs.pop("maxlength", None)


def make_download(data: bytes, name: str) -> HttpResponseBase:
    """Return a file that the browser saves and never displays."""
    return set_download_headers(HttpResponse(data, content_type=BINARY), name)


def send_stored_file(digest: str, name: str) -> HttpResponseBase:
    """Return a stored file of any size as a download.

    It is first copied into a temporary file, which the server sends by itself; otherwise a thread would wait
    for a slow reader.
    """
    written = tempfile.SpooledTemporaryFile(blobs.LARGE)  # noqa: SIM115 - closed with the response
    written.writelines(blobs.iterate_parts(digest))
    written.seek(0)
    return set_download_headers(FileResponse(written, content_type=BINARY), name.rpartition("/")[2])


def set_download_headers(response: HttpResponseBase, name: str) -> HttpResponseBase:
    """Make the browser save a response as a file of this name, and never display it."""
    response.headers["Content-Disposition"] = content_disposition_header(True, name)  # noqa: FBT003 - Django's
    response.headers["Content-Security-Policy"] = "sandbox; default-src 'none'"
    return response


def render_framed(request: HttpRequest, offer: Offer, student: str, **further: object) -> HttpResponse:
    """Render a page with a student's feedback in a frame, which has no cookies and runs no scripts.

    Args:
        request: of the reader.
        offer: the assignment.
        student: the student the feedback is about.
        further: values that the template shows below the frame.
    """
    # The frame gets no cookies, so its address carries a signed permission.
    token = signing.dumps([offer.pk, student, choose_language(request)], salt=FRAME_SALT)
    context = {
        "student": student,
        "name": assignment_details.get_name(offer, student),
        "frame": reverse("frame", args=[token]) if _is_graded(offer, student) else "",
        **further,
    }
    return render_page(request, "feedback.html", context)


def _is_graded(offer: Offer, student: str) -> bool:
    """Return whether the frame has anything to show."""
    current = CurrentResult.objects.filter(course=offer.course, assignment=offer.assignment, student=student)
    return current.exists()


def load_token(token: str, salt: str, seconds: int) -> Any:
    """Return what a signed token states, or respond that the page does not exist."""
    try:
        return signing.loads(token, salt=salt, max_age=seconds)
    except signing.BadSignature as error:
        raise Http404 from error


def render_in_frame(document: str) -> HttpResponse:
    """Return a page with students' work that can only be shown in a frame without cookies and scripts."""
    response = HttpResponse(document)
    response.headers["Content-Security-Policy"] = _FRAME_POLICY
    # For browsers that do not know `frame-ancestors`.
    response.headers["X-Frame-Options"] = "SAMEORIGIN"
    response.headers["Cache-Control"] = "no-store"
    return response
