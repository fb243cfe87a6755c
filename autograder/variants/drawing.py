"""Draws a variant: HMAC-SHA256 of the course secret over assignment and student, and nothing else.

The same on every machine and in every process. Everything is drawn by rejection, so each combination that
satisfies the rubric's conditions is equally likely.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from autograder.errors import Place, RubricError
from autograder.stream import Stream, derived
from autograder.variants import expressions
from autograder.variants.expressions import Value
from autograder.variants.options import Draws, Planted

MOST_ATTEMPTS = 20_000


class Fault(Struct, frozen=True):
    """One entry of a catalogue of faults, as the reference describes it."""

    id: str
    difficulty: int
    text: dict[str, str]
    excludes: tuple[str, ...] = ()
    """Faults it is never drawn together with."""
    equivalent: bool = False
    """Right all the same; never drawn."""
    item: dict[str, Any] = field(default_factory=dict)
    """Further keys of its item in the rubric, e.g. ``edit`` of the kind ``debugging``."""


Catalogues = Mapping[str, Sequence[Fault]]
"""By the module that offers them."""


class Variant(Struct, frozen=True):
    """What one student is asked."""

    values: dict[str, Value] = field(default_factory=dict)
    faults: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Ids in the catalogue's order, by the name they are drawn under."""

    @property
    def digest(self) -> str:
        """SHA-256 of all that is drawn: by it, and not by `label`, variants are told apart."""
        canonical = json.dumps([self.values, self.faults], sort_keys=True).encode()
        return hashlib.sha256(canonical).hexdigest()

    @property
    def label(self) -> str:
        """A short name, the same for equal variants. It is for people: nothing is concluded from it."""
        return self.digest[:10]


def canonical_id(student: str) -> str:
    """A student's id in Unicode's composed form: file systems change between the forms."""
    return unicodedata.normalize("NFC", student)


def draw(
    secret: bytes,
    assignment: str,
    student: str,
    draws: Draws,
    *,
    catalogues: Catalogues,
    counts: Mapping[str, int],
) -> Variant:
    """The variant of one student. Pure: equal arguments give equal variants, always and everywhere.

    Values that the reference computes are not part of it; see `Variant.values`.

    Args:
        secret: the course's.
        assignment: its name; two assignments draw independently.
        student: the id.
        draws: what the rubric says.
        catalogues: of every module that ``draws.planted`` names.
        counts: how many faults are planted, by the name they are drawn under.

    Raises:
        RubricError: no draw satisfied the conditions, or a catalogue is missing.
    """
    key = derived(secret, "variant", assignment, canonical_id(student))
    for name, planted in draws.planted.items():
        if planted.faults not in catalogues:
            raise RubricError(
                f"there is no catalogue of {planted.faults!r}",
                Place(f"[variant.draw.{name}]", "variant", "draw", name),
            )
    return Variant(
        _values(key, draws),
        {
            name: _faults(Stream(key, name), planted, catalogues[planted.faults], counts[name])
            for name, planted in draws.planted.items()
        },
    )


def _values(key: bytes, draws: Draws) -> dict[str, Value]:
    streams = {name: Stream(key, name) for name in draws.drawn}
    conditions = draws.conditions()
    for _ in range(MOST_ATTEMPTS):
        values = {
            name: entry.values[streams[name].below(len(entry.values))] for name, entry in draws.drawn.items()
        }
        if all(expressions.holds(condition, values) for condition in conditions):
            return values
    raise RubricError(
        f"of {MOST_ATTEMPTS} draws none satisfied {' and '.join(draws.where)}; offer more values",
        Place("[variant] where", "variant", "where"),
    )


def _faults(stream: Stream, planted: Planted, catalogue: Sequence[Fault], count: int) -> tuple[str, ...]:
    offered = [fault for fault in catalogue if not fault.equivalent]
    least, most = planted.difficulty
    place = Place(f"[variant] faults of {planted.faults!r}", "variant")
    if count > len(offered):
        raise RubricError(f"{count} are to be planted, but the catalogue has {len(offered)}", place)
    excluded = {
        frozenset((one, other))
        for one, fault in enumerate(offered)
        for other, beside in enumerate(offered)
        if beside.id in fault.excludes
    }
    for _ in range(MOST_ATTEMPTS):
        chosen = sorted(stream.some(count, len(offered)))
        difficulty = sum(offered[at].difficulty for at in chosen)
        if least <= difficulty <= most and not any(pair <= set(chosen) for pair in excluded):
            return tuple(offered[at].id for at in chosen)
    raise RubricError(
        f"of {MOST_ATTEMPTS} draws of {count} none has a difficulty from {least} to {most} without "
        "faults that exclude one another; widen the band",
        place,
    )
