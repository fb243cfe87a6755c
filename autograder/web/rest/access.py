"""Keys authenticate their owner, who may do with one what its scopes and their role in the course allow."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from django.core.cache import cache
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest
from ninja import Router
from ninja.throttling import BaseThrottle

from autograder.service import program_keys
from autograder.service.models import ProgramKey, Role, Scope
from autograder.web.guard import Visit, check_role_of, get_visit
from autograder.web.rest.problems import PROBLEMS, RefusedError

MOST_REQUESTS = 600
"""Requests of one key per minute."""
SECURITY = "ProgramKey"


class KeyCheck:
    """Authenticates a request by its key alone.

    Cookies are ignored, so a foreign site has nothing to forge.
    """

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def __call__(self, request: HttpRequest) -> ProgramKey | None:
        """Return the key; its owner becomes ``request.user``.

        Raises:
            RefusedError: the key does not have the scope.
        """
        kind, _, secret = request.headers.get("Authorization", "").partition(" ")
        key = program_keys.find_key(secret.strip()) if kind.lower() == "bearer" else None
        if key is None:
            return None
        if not program_keys.has_scope(key, self._scope):
            raise RefusedError(403, "key-scope", scope=self._scope.value)
        request.user = key.account
        return key


class KeyThrottle(BaseThrottle):
    """Limits the requests of a key.

    Requests at the same moment may count once: reading and writing the cache are not atomic.
    """

    def allow_request(self, request: HttpRequest) -> bool:
        """Count a request; False: it is one too many."""
        name = f"api-requests:{request.auth.pk}:{int(time.time() // 60)}"
        number = cache.get(name, 0) + 1
        cache.set(name, number, timeout=120)
        return number <= MOST_REQUESTS

    def wait(self) -> float:
        """Return the seconds until requests are accepted again."""
        return 60 - time.time() % 60


def describe_file(media_type: str) -> dict[str, str]:
    """Return the schema of a file.

    OpenAPI 3.1 has ``contentMediaType``; generators of clients know files by the ``format`` of OpenAPI 3.0.
    """
    return {"type": "string", "format": "binary", "contentMediaType": media_type}


def add_route(
    router: Router,
    method: str,
    path: str,
    scope: Scope,
    response: Any = None,
    *,
    status: int = 200,
    sends: str = "",
    body: Mapping[str, Any] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds an operation to the API.

    Args:
        router: where it is added.
        method: ``get``, ``post``, ``put``, ``patch`` or ``delete``.
        path: below the router's prefix.
        scope: what the key must be for.
        response: the schema of its response.
        status: of its response.
        sends: instead of a schema, the media type of the file that it returns.
        body: its request body, if that is not described by the parameters.
    """
    extra: dict[str, Any] = {"security": [{SECURITY: [scope.value]}]}
    if sends:
        content = {sends: {"schema": describe_file(sends)}}
        extra["responses"] = {status: {"description": "OK", "content": content}}
    if body is not None:
        extra["requestBody"] = body
    return getattr(router, method)(
        path,
        auth=KeyCheck(scope),
        throttle=[KeyThrottle()],
        response={status: response, **PROBLEMS},
        openapi_extra=extra,
    )


def open_visit(request: HttpRequest, slug: str, least: Role | None = None) -> Visit:
    """Return the visit of the key's owner to a course.

    Args:
        request: authenticated by a key.
        slug: of the course.
        least: the required role, as in `autograder.web.guard.require_role`; None: any.

    Raises:
        Http404: there is no such course for the owner, or the key is for another one.
        PermissionDenied: the role is not sufficient.
    """
    key: ProgramKey = request.auth
    if key.course is not None and key.course.slug != slug:
        raise Http404
    visit = get_visit(request, slug)
    if least is not None:
        check_role_of(visit, least)
    return visit


def check_superuser(request: HttpRequest) -> None:
    """Check that the key belongs to an administrator of the service and is not limited to a course.

    Raises:
        PermissionDenied: it does not, or it is.
    """
    if not request.user.is_superuser or request.auth.course_id is not None:
        raise PermissionDenied
