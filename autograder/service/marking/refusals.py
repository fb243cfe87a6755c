"""Why something that somebody asked for is not done, as pages say it in the reader's language."""

from __future__ import annotations

from autograder import messages
from autograder.errors import ServiceError


class NotTaken(ServiceError):
    """What was asked for is not done; nothing was changed.

    Attributes:
        code: of the sentence that says why, without ``web.``.
        params: what stands in its placeholders.
    """

    def __init__(self, code: str, **params: object) -> None:
        super().__init__(messages.sentence(f"web.{code}", "en", **params))
        self.code, self.params = code, params
