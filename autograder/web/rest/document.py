"""The OpenAPI document without a running service: for the documentation, and for generating clients."""

from __future__ import annotations

import secrets
from typing import Any

from django.conf import settings

from autograder.service import setup
from autograder.service.loaded import AssignmentCache
from autograder.service.receipts import Signer
from autograder.web import site

_NOWHERE = "postgresql://nobody@localhost/nothing"
"""The models need a configured database, but describing them does not connect to it."""


def build_document() -> dict[str, Any]:
    """Return the OpenAPI document of the API.

    In a process without the service, Django is configured with a database that is never opened.
    """
    if not settings.configured:
        running = site.ServiceContext(Signer(bytes(32)), AssignmentCache())
        secret_key = secrets.token_hex(32)  # signs nothing
        setup.configure_django(
            site.build_settings(_NOWHERE, secret_key=secret_key, addresses=(), running=running)
        )
    from autograder.web.rest.api import API

    return dict(API.get_openapi_schema(path_prefix="api/"))
