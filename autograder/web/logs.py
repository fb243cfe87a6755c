"""Logging of the service: one JSON object per line on standard error.

A request is identified by its route and number, never by its address, which can contain the secret of a link.
"""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import Any


class JsonFormatter(logging.Formatter):
    """Formats a record as a line of JSON: ``time``, ``level``, ``of``, and ``message`` or its facts."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "of": record.name,
        }
        request = getattr(record, "request", None)
        if request is not None:  # Django's report of an unexpected error; its text has the address
            line |= {"message": "a page failed", "request": getattr(request, "number", "")}
        else:
            line |= getattr(record, "facts", None) or {"message": record.getMessage()}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


def configure_logging() -> None:
    """Configure logging in this format."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("autograder").setLevel(logging.INFO)
    logging.getLogger("django.request").setLevel(logging.ERROR)  # other responses are in the access log
    logging.getLogger("django.security").setLevel(logging.CRITICAL)  # refused requests, with a traceback each
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)  # a warning for each request that waits
