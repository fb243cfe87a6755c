"""Metadata of submissions in Gradescope's export: ``submission_metadata.yml`` next to the folders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import yaml
from msgspec import Struct

from autograder.core.errors import SourceError
from autograder.exchange.platforms.people import Identification
from autograder.rubric.timestamps import parse_moment

FILE_NAME = "submission_metadata.yml"
MOST_BYTES = 32 << 20
_MOST_SUBMITTERS = 50


class GradescopeSubmission(Struct, frozen=True):
    """One submission of an export."""

    submitters: tuple[Identification, ...]
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
        content: Any = yaml.load(data, Loader=loader)  # noqa: S506 - both are safe loaders: plain data alone
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise SourceError(f"{FILE_NAME}: not YAML that can be read: {str(error)[:200]}") from error
    if not isinstance(content, Mapping):
        raise SourceError(f"{FILE_NAME}: expected a table of submissions, got {type(content).__name__}")
    return {str(key): _read_submission(value) for key, value in content.items() if isinstance(value, Mapping)}


def _read_submission(record: Mapping[Any, Any]) -> GradescopeSubmission:
    """Read one submission."""
    listed = _get_value(record, "submitters")
    people = listed[:_MOST_SUBMITTERS] if isinstance(listed, Sequence) and not isinstance(listed, str) else ()
    submitters = tuple(
        Identification(_get_text(person, "sid"), _get_text(person, "name"), _get_text(person, "email"))
        for person in people
        if isinstance(person, Mapping)
    )
    return GradescopeSubmission(submitters, _parse_moment(_get_value(record, "created_at")))


def _get_value(record: Mapping[Any, Any], name: str) -> Any:
    """Return a value; Ruby writes its symbols with a colon before them."""
    return record.get(f":{name}", record.get(name))


def _get_text(record: Mapping[Any, Any], name: str) -> str:
    """Return a value as text; empty if it is neither text nor number."""
    value = _get_value(record, name)
    return str(value).strip() if isinstance(value, str | int) else ""


def _parse_moment(value: Any) -> datetime | None:
    """Return a time in UTC; None if it cannot be read."""
    if isinstance(value, datetime):
        # YAML parses some times itself; those without offset are in UTC by its specification.
        return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    try:
        return parse_moment(value) if isinstance(value, str) else None
    except (ValueError, OverflowError):
        return None
