"""Metadata of submissions in Gradescope's export: ``submission_metadata.yml`` next to the folders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import yaml
from msgspec import Struct

from autograder.errors import SourceError
from autograder.platforms.people import Naming
from autograder.timestamps import moment_of

FILE_NAME = "submission_metadata.yml"
MOST_BYTES = 32 << 20
_MOST_SUBMITTERS = 50


class GradescopeSubmission(Struct, frozen=True):
    """One submission of an export."""

    submitters: tuple[Naming, ...]
    """One student, or all of a group."""
    moment: datetime | None


def read_metadata(data: bytes) -> dict[str, GradescopeSubmission]:
    """Return the submissions by the names of their folders.

    Raises:
        SourceError: Gradescope does not write such a file.
    """
    # The C loader is much faster, but not in every build of PyYAML.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        found: Any = yaml.load(data, Loader=loader)  # noqa: S506 - both are safe loaders: plain data alone
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise SourceError(f"{FILE_NAME}: not YAML that can be read: {str(error)[:200]}") from error
    if not isinstance(found, Mapping):
        raise SourceError(f"{FILE_NAME}: expected a table of submissions, got {type(found).__name__}")
    return {str(key): _submission(value) for key, value in found.items() if isinstance(value, Mapping)}


def _submission(stated: Mapping[Any, Any]) -> GradescopeSubmission:
    """Read one submission."""
    listed = _value(stated, "submitters")
    people = listed[:_MOST_SUBMITTERS] if isinstance(listed, Sequence) and not isinstance(listed, str) else ()
    submitters = tuple(
        Naming(_text(one, "sid"), _text(one, "name"), _text(one, "email"))
        for one in people
        if isinstance(one, Mapping)
    )
    return GradescopeSubmission(submitters, _moment(_value(stated, "created_at")))


def _value(stated: Mapping[Any, Any], name: str) -> Any:
    """Return a value; Ruby writes its symbols with a colon before them."""
    return stated.get(f":{name}", stated.get(name))


def _text(stated: Mapping[Any, Any], name: str) -> str:
    """Return a value as text; empty if it is neither text nor number."""
    value = _value(stated, name)
    return str(value).strip() if isinstance(value, str | int) else ""


def _moment(value: Any) -> datetime | None:
    """Return a time in UTC; None if it cannot be read."""
    if isinstance(value, datetime):
        # YAML parses some times itself; those without offset are in UTC by its specification.
        return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    try:
        return moment_of(value) if isinstance(value, str) else None
    except (ValueError, OverflowError):
        return None
