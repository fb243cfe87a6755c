"""The text of a rubric becomes tables."""

from __future__ import annotations

import tomllib
from decimal import Decimal
from typing import Any

from autograder.errors import RubricError


def read_tables(data: bytes, place: str) -> dict[str, Any]:
    """Read TOML; numbers with a point become exact decimals. A byte order mark is no fault.

    Raises:
        RubricError: not UTF-8 or not TOML; names the line.
    """
    try:
        return tomllib.loads(data.decode("utf-8-sig"), parse_float=Decimal)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise RubricError(f"not UTF-8 (at line {line}); save the file with this encoding", place) from error
    except tomllib.TOMLDecodeError as error:
        raise RubricError(f"not valid TOML: {error}{_advice(str(error))}", place) from error


def _advice(fault: str) -> str:
    """What is behind the most frequent errors."""
    if fault.startswith(("Cannot declare", "Cannot overwrite")):
        return (
            "; something stands twice. [[question]] and [[question.item]] take two brackets, and items come "
            "after their question"
        )
    return '; texts stand in straight quotes: "…"' if fault.startswith("Invalid value") else ""
