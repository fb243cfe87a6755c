"""What the service says of itself: one JSON object a line on standard error.

A request is named by its route and its number, never by its address: that can hold the secret of a link.
"""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import Any


class Lines(logging.Formatter):
    """A record as one line of JSON: ``time``, ``level``, ``of``, and ``message`` or the facts it carries."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "of": record.name,
        }
        request = getattr(record, "request", None)
        if request is not None:  # Django's, of what nobody foresaw; its own text repeats the address
            line |= {"message": "a page failed", "request": getattr(request, "number", "")}
        else:
            line |= getattr(record, "facts", None) or {"message": record.getMessage()}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


def begin() -> None:
    """Log in this form from now on."""
    handler = logging.StreamHandler()
    handler.setFormatter(Lines())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("autograder").setLevel(logging.INFO)
    logging.getLogger("django.request").setLevel(logging.ERROR)  # of others each request's own line tells
