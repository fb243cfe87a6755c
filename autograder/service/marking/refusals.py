"""Refusals of requested actions, with messages in the reader's language."""

from __future__ import annotations

from autograder import messages
from autograder.core.errors import ServiceError


class ActionRefused(ServiceError):
    """The requested action is refused; nothing has changed.

    Attributes:
        code: message code without ``web.``.
        params: values of its placeholders.
    """

    def __init__(self, code: str, **params: object) -> None:
        super().__init__(messages.format_sentence(f"web.{code}", "en", **params))
        self.code, self.params = code, params
