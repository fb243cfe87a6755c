"""Errors of the API as problem details (RFC 9457), in the reader's language."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from ninja import NinjaAPI, Schema
from ninja.errors import AuthenticationError, HttpError, Throttled, ValidationError

from autograder.core.errors import AutograderError
from autograder.core.wording import render_phrase
from autograder.service.marking.mark_entry import ChangedMeanwhileError
from autograder.service.refusals import ActionRefused
from autograder.web.site import choose_language, get_words

MEDIA_TYPE = "application/problem+json"


class Problem(Schema):
    """Why a request was refused."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str


PROBLEMS: Mapping[int, type[Problem]] = dict.fromkeys((400, 401, 403, 404, 409, 422, 429), Problem)
"""Responses that every operation can have."""


class RefusedError(Exception):
    """A request that is refused with a sentence of the catalogue."""

    def __init__(self, status: int, code: str, **params: object) -> None:
        super().__init__(code)
        self.status, self.code, self.params = status, code, params


def render_problem(status: int, detail: str) -> HttpResponse:
    """Return a problem as a response."""
    problem = Problem(title=HTTPStatus(status).phrase, status=status, detail=detail)
    return JsonResponse(problem.model_dump(), status=status, content_type=MEDIA_TYPE)


def render_sentence(request: HttpRequest, status: int, code: str, **params: object) -> HttpResponse:
    """Return a problem with a sentence of the catalogue."""
    return render_problem(status, get_words(request)["t"](code, **params))


_SENTENCES: Mapping[type[Exception], tuple[int, str]] = {
    ChangedMeanwhileError: (409, "mark-changed"),
    Http404: (404, "error-404"),
    PermissionDenied: (403, "error-403"),
    AuthenticationError: (401, "key-unknown"),
    Throttled: (429, "too-many-requests"),
}
"""Status and sentence of errors that say nothing else."""


def add_handlers(api: NinjaAPI) -> None:
    """Make an API answer every expected error with a problem; unexpected ones are left to Django."""
    for kind, (status, code) in _SENTENCES.items():
        api.add_exception_handler(kind, functools.partial(_render_plain, status=status, code=code))
    handlers: Mapping[type[Exception], Any] = {
        RefusedError: _render_refused,
        ActionRefused: _render_action,
        AutograderError: _render_error,
        HttpError: _render_http,
        ValidationError: _render_invalid,
    }
    for kind, handler in handlers.items():
        api.add_exception_handler(kind, handler)


def _render_plain(request: HttpRequest, _: Exception, *, status: int, code: str) -> HttpResponse:
    response = render_sentence(request, status, code)
    if status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    return response


def _render_refused(request: HttpRequest, error: RefusedError) -> HttpResponse:
    return render_sentence(request, error.status, error.code, **error.params)


def _render_action(request: HttpRequest, error: ActionRefused) -> HttpResponse:
    return render_problem(422, render_phrase(error.text, choose_language(request)))


def _render_error(request: HttpRequest, error: AutograderError) -> HttpResponse:
    return render_problem(400, render_phrase(error.text, choose_language(request)))


def _render_http(request: HttpRequest, error: HttpError) -> HttpResponse:
    return render_sentence(request, error.status_code, "error-400")


def _render_invalid(request: HttpRequest, error: ValidationError) -> HttpResponse:
    first = error.errors[0]
    place = ".".join(map(str, first["loc"]))
    return render_sentence(request, 422, "request-invalid", place=place, reason=first["msg"])
