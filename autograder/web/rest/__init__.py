"""The REST API, described by OpenAPI 3.1: what the pages do, for programs with a key.

`build_document` returns the description, which the service also answers at ``/api/openapi.json``.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings

from autograder.service import setup
from autograder.web import site

_NOWHERE = "postgresql://nobody@localhost/nothing"
"""The models need a configured database, but describing them does not connect to it."""


def build_document() -> dict[str, Any]:
    """Return the OpenAPI document of the API, for the documentation and for generating clients.

    In a process without the service, Django is configured with a database that is never opened.
    """
    if not settings.configured:
        setup.configure_django(site.build_offline_settings(_NOWHERE))
    from autograder.web.rest.api import API

    return dict(API.get_openapi_schema(path_prefix="api/"))
