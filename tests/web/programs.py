"""Programs that use the API, and the validation of responses against the schemas."""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import jsonschema
from msgspec import Struct

from tests.web.people import Small

if TYPE_CHECKING:
    from autograder.service.models import Account

SCOPES = ("read", "submit", "mark", "manage")


class Reply(Struct, frozen=True):
    """A response with its complete content."""

    status: int
    kind: str
    content: bytes
    headers: Mapping[str, str]

    @property
    def data(self) -> Any:
        """Return the parsed JSON content."""
        return json.loads(self.content)


class Program(Struct, frozen=True):
    """A client of the API, with or without a key."""

    secret: str = ""

    def send(self, method: str, place: str, body: Any = None, **form: Any) -> Reply:
        """Send a request with a JSON body or a form."""
        from django.test import Client

        headers = {"Authorization": f"Bearer {self.secret}"} if self.secret else {}
        options: dict[str, Any] = {"headers": headers}
        if body is not None:
            options |= {"data": json.dumps(body), "content_type": "application/json"}
        call = getattr(Client(enforce_csrf_checks=True), method)
        with contextlib.closing(call(f"/api{place}", *([form] if form else []), **options)) as answer:
            content = b"".join(answer) if answer.streaming else answer.content
            kind = answer.headers["Content-Type"].partition(";")[0]
            return Reply(answer.status_code, kind, content, dict(answer.headers))


def program(account: Account | None, *scopes: str, **limits: Any) -> Program:
    """Return a client of an account with a key for some scopes, by default all."""
    from autograder.service import program_keys
    from autograder.service.models import Scope

    if account is None:
        return Program()
    wanted = [Scope(scope) for scope in scopes or SCOPES]
    return Program(program_keys.create_key(account, "test", wanted, **limits))


def program_of(at: Small, role: str = "student", *scopes: str, student: str = "", **limits: Any) -> Program:
    """Return a client of a user in the small course."""
    return program(at.account(role, student), *scopes, **limits)


@functools.cache
def document() -> dict[str, Any]:
    """Return the OpenAPI document."""
    from autograder.web.rest import build_document

    return build_document()


def operations() -> dict[str, tuple[str, str]]:
    """Return method and path of every operation by ID."""
    return {
        operation["operationId"]: (method, path)
        for path, methods in document()["paths"].items()
        for method, operation in methods.items()
    }


def check_reply(operation: str, reply: Reply) -> None:
    """Check status, type and data of a response against the document."""
    method, path = operations()[operation]
    described = document()["paths"][path][method]["responses"]
    by_status = {int(status): response for status, response in described.items()}
    assert reply.status in by_status, (operation, reply)
    content = by_status[reply.status].get("content", {})
    assert reply.kind in content, (operation, reply)
    if reply.kind.endswith("json"):
        schema = {**content[reply.kind]["schema"], "components": document()["components"]}
        validator = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker())
        validator.validate(reply.data)
