"""The API: its routers, its errors, and its OpenAPI document."""

from __future__ import annotations

from typing import Any

from ninja import NinjaAPI

from autograder.web.guard import allow_anyone
from autograder.web.rest import attempts, courses, members, people, problems, requests, results, times
from autograder.web.rest.access import SECURITY

_DESCRIPTION = (
    "Create a key on the account page, and send it as `Authorization: Bearer …`. A key acts for its owner, "
    "within its scopes (`read`, `submit`, `mark`, `manage`) and the owner's role in the course. Lists take "
    "`limit` and `offset`. Errors are problem details (RFC 9457) in the language of `Accept-Language`."
)


class DescribedAPI(NinjaAPI):
    """Adds to the OpenAPI document what the library does not describe: keys, and the type of errors."""

    def get_openapi_schema(self, **options: Any) -> Any:
        """Return the OpenAPI document."""
        document = super().get_openapi_schema(**options)
        document["components"]["securitySchemes"] = {SECURITY: {"type": "http", "scheme": "bearer"}}
        for operations in document["paths"].values():
            for operation in operations.values():
                for status, response in operation["responses"].items():
                    if int(status) >= 400:
                        response["content"] = {problems.MEDIA_TYPE: response["content"]["application/json"]}
        return document

    def get_openapi_operation_id(self, operation: Any) -> str:
        """Return the function's name, which is unique."""
        return str(operation.view_func.__name__)


API = DescribedAPI(
    title="nbexam",
    version="1",
    description=_DESCRIPTION,
    docs_url=None,
    docs_decorator=allow_anyone(),
    urls_namespace="api",
)
problems.add_handlers(API)
for _router in (
    courses.ROUTER,
    times.ROUTER,
    attempts.ROUTER,
    results.ROUTER,
    requests.ROUTER,
    members.ROUTER,
):
    API.add_router("/courses", _router)
API.add_router("/people", people.ROUTER)
