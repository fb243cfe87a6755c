"""The REST API, described by OpenAPI 3.1: what the pages do, for programs with a key.

`build_document` returns the description, which the service also answers at ``/api/openapi.json``.
"""

from autograder.web.rest.document import build_document

__all__ = ["build_document"]
