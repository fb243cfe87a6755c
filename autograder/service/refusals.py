"""Refusals of requests and errors of jobs, with sentences of the catalogue."""

from __future__ import annotations

from autograder import messages
from autograder.core.errors import AutograderError, ServiceError, describe_error
from autograder.core.wording import LocalisedText, Phrase


class RequestRefused(ServiceError):
    """A request is refused with a sentence of the catalogue; nothing has changed.

    Attributes:
        code: message code without ``web.``.
        params: values of its placeholders.
    """

    def __init__(self, code: str, **params: object) -> None:
        super().__init__(messages.build_localised_text(f"web.{code}", **params))
        self.code, self.params = code, params


class ActionRefused(RequestRefused):
    """The action does not fit the data as it is; the API answers with status 422 instead of 400."""


def explain_error(error: Exception) -> Phrase:
    """Return why a job failed, for pages: in every language; unexpected errors add their own text."""
    if isinstance(error, AutograderError) and isinstance(error.text, LocalisedText):
        return error.text
    return messages.build_localised_text("web.job-error", error=describe_error(error))
