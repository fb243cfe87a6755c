"""What a fault is: an edit of a right listing, and everything that is known of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from .rewrite import Edit, rewritten


@dataclass(frozen=True)
class Fault:
    """One mutation operator.

    Args:
        id: stable name, ``lower_case``; the item's id in a rubric.
        edits: what is written instead of what; together they are one fault.
        text: what students read about it once it is theirs to repair, by language; ``en`` is needed.
        probe: name of the observation that tells it from right code and from the other faults; faults of one
            probe are never in one question.
        difficulty: 1 (stands out when read) to 3 (needs the shapes or the modes worked out).
        equivalent: the outcome is right all the same, and must be accepted.
        excludes: faults that must not be in one question with this one though the texts allow it, each with
            the reason.
    """

    id: str
    edits: tuple[Edit, ...]
    text: Mapping[str, str] = field(hash=False)
    probe: str
    difficulty: int = 2
    equivalent: bool = False
    excludes: Mapping[str, str] = field(default_factory=dict, hash=False)


def plant(source: str, faults: Iterable[Fault]) -> str:
    """The listing with the faults in it; its formatting and comments stay.

    Raises:
        ValueError: a fault has no place in the listing, or not next to the faults before it; names both.
    """
    planted: list[str] = []
    for fault in faults:
        for edit in fault.edits:
            try:
                source = rewritten(source, edit)
            except ValueError as error:
                beside = f" beside {', '.join(planted)}" if planted else ""
                raise ValueError(f"fault {fault.id!r}{beside}: {error}") from error
        planted.append(fault.id)
    return source


def exclusive(one: Fault, other: Fault) -> bool:
    """Whether two faults must not be in one question: one probe tells both, or one excludes the other."""
    return one.probe == other.probe or other.id in one.excludes or one.id in other.excludes


def compatible(source: str, one: Fault, other: Fault) -> bool:
    """Whether both can be planted in the listing, in either order, with the same outcome."""
    try:
        return plant(source, (one, other)) == plant(source, (other, one))
    except ValueError:
        return False


def by_id(faults: Sequence[Fault], ids: Iterable[str]) -> tuple[Fault, ...]:
    """The faults of these ids, in the catalogue's order.

    Raises:
        ValueError: an id is not in the catalogue.
    """
    wanted = set(ids)
    unknown = sorted(wanted - {fault.id for fault in faults})
    if unknown:
        known = ", ".join(fault.id for fault in faults)
        raise ValueError(f"unknown faults {', '.join(unknown)}; known are: {known}")
    return tuple(fault for fault in faults if fault.id in wanted)
