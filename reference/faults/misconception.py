"""Mistakes: what people write instead of a right function, each with the name under which it is explained."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .rewrite import Edit, rewritten


@dataclass(frozen=True)
class Misconception:
    """One way to write a function, as edits of the right one.

    Args:
        name: of this way; several may have one code.
        edits: what is written instead of what.
        loses: ids of the items of the practice question that it loses; none: it is right as well.
        code: of the sentence that explains it in the grader's vocabulary, without its area; empty for what
            is right, and for what no result gives away.
    """

    name: str
    edits: tuple[Edit, ...]
    loses: tuple[str, ...] = ()
    code: str = ""


def planted(source: str, misconception: Misconception) -> str:
    """The right source with the misconception in it.

    Raises:
        ValueError: an edit has no place in the source; names the misconception.
    """
    try:
        for edit in misconception.edits:
            source = rewritten(source, edit)
    except ValueError as error:
        raise ValueError(f"misconception {misconception.name!r}: {error}") from error
    return source


def compiled(source: str, name: str, namespace: Mapping[str, Any]) -> Any:
    """What a source of ours defines under a name, in a copy of a namespace."""
    own = dict(namespace)
    exec(compile(source, f"<{name}>", "exec"), own)  # noqa: S102 - our own catalogue, never student code
    return own[name]


def trials(source: str, misconceptions: Iterable[Misconception]) -> list[dict[str, str | Sequence[str]]]:
    """Answer cells with one misconception each, and the items they lose; for ``autograder verify``."""
    return [
        {
            "name": misconception.name,
            "source": planted(source, misconception),
            "loses": list(misconception.loses),
        }
        for misconception in misconceptions
    ]
