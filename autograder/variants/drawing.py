"""Draws a variant: HMAC-SHA256 of the course secret over assignment and student, and nothing else.

The same on every machine and in every process. Everything is drawn by rejection, so each combination that
satisfies the rubric's conditions is equally likely.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from autograder.errors import Place, RubricError
from autograder.stream import Stream, derived
from autograder.variants import expressions
from autograder.variants.expressions import Value
from autograder.variants.options import Draws, Planted

MOST_ATTEMPTS = 20_000


class Fault(Struct, frozen=True):
    """A fault that can be planted: its item's id and text."""

    id: str
    text: dict[str, str]


Catalogues = Mapping[str, Sequence[Fault]]
"""Question → the faults that can be planted in it."""


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
        catalogues: of every question that ``draws.planted`` names.
        counts: how many faults are planted, by the name they are drawn under.

    Raises:
        RubricError: no draw satisfied the conditions, or a catalogue is missing.
    """
    key = derived(secret, "variant", assignment, canonical_id(student))
    for name, planted in draws.planted.items():
        if planted.faults not in catalogues:
            raise RubricError(
                f"no faults of question {planted.faults!r} are known",
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


def _faults(stream: Stream, planted: Planted, offered: Sequence[Fault], count: int) -> tuple[str, ...]:
    if count > len(offered):
        place = Place(f"[variant] faults of {planted.faults!r}", "variant")
        raise RubricError(f"{count} are to be planted, but the checks plant {len(offered)}", place)
    return tuple(offered[position].id for position in sorted(stream.some(count, len(offered))))
