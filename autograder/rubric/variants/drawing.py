"""Draw variants from an HMAC-SHA256 of the course secret over assignment and student only.

The result is the same on every machine and in every process. All values are drawn by rejection, so each
combination that satisfies the conditions of the rubric is equally likely.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from autograder.core.errors import Place, RubricError
from autograder.core.stream import Stream, derive_key
from autograder.rubric.variants import expressions
from autograder.rubric.variants.expressions import Value
from autograder.rubric.variants.options import Draws, PlantedFaults

MOST_ATTEMPTS = 20_000
"""Number of draws before the conditions of a rubric count as unsatisfiable."""


class Fault(Struct, frozen=True):
    """A fault that can be planted: the id and the text of its item."""

    id: str
    text: dict[str, str]


Catalogues = Mapping[str, Sequence[Fault]]
"""Question → the faults that can be planted in it."""


class Variant(Struct, frozen=True):
    """The drawn values and faults of one student."""

    values: dict[str, Value] = field(default_factory=dict)
    faults: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Ids in the order of the catalogue, by the name of the draw."""

    @property
    def digest(self) -> str:
        """SHA-256 of all drawn values; it identifies a variant, whereas `label` does not."""
        canonical = json.dumps([self.values, self.faults], sort_keys=True).encode()
        return hashlib.sha256(canonical).hexdigest()

    @property
    def label(self) -> str:
        """A short name for display, the same for equal variants; no code depends on it."""
        return self.digest[:10]


def normalise_id(student: str) -> str:
    """Return a student's id in Unicode's composed form, because file systems convert between the forms."""
    return unicodedata.normalize("NFC", student)


def draw_variant(
    secret: bytes,
    assignment: str,
    student: str,
    draws: Draws,
    *,
    catalogues: Catalogues,
    counts: Mapping[str, int],
) -> Variant:
    """Draw the variant of one student. Pure: equal arguments always give equal variants.

    Values that the reference computes are added later; see `Variant.values`.

    Args:
        secret: the secret of the course.
        assignment: its name; two assignments draw independently.
        student: the id of the student.
        draws: the validated draws of the rubric.
        catalogues: those of every question that ``draws.planted`` names.
        counts: number of faults to plant, by the name of the draw.

    Raises:
        RubricError: no draw satisfied the conditions, or a catalogue is missing.
    """
    # Secret, purpose, assignment and student are the only inputs; a resubmission gets the same variant.
    key = derive_key(secret, "variant", assignment, normalise_id(student))
    for name, planted in draws.planted.items():
        if planted.faults not in catalogues:
            raise RubricError(
                f"no faults of question {planted.faults!r} are known",
                Place(f"[variant.draw.{name}]", "variant", "draw", name),
            )
    return Variant(
        _draw_values(key, draws),
        {
            name: _draw_faults(Stream(key, name), planted, catalogues[planted.faults], counts[name])
            for name, planted in draws.planted.items()
        },
    )


def _draw_values(key: bytes, draws: Draws) -> dict[str, Value]:
    # One independent stream per name, so that the order of entries does not matter.
    streams = {name: Stream(key, name) for name in draws.drawn}
    conditions = draws.parse_conditions()
    for _ in range(MOST_ATTEMPTS):
        values = {
            name: entry.values[streams[name].draw_below(len(entry.values))]
            for name, entry in draws.drawn.items()
        }
        if all(expressions.is_satisfied(condition, values) for condition in conditions):
            return values
    raise RubricError(
        f"of {MOST_ATTEMPTS} draws none satisfied {' and '.join(draws.where)}; offer more values",
        Place("[variant] where", "variant", "where"),
    )


def _draw_faults(
    stream: Stream, planted: PlantedFaults, catalogue: Sequence[Fault], count: int
) -> tuple[str, ...]:
    if count > len(catalogue):
        place = Place(f"[variant] faults of {planted.faults!r}", "variant")
        raise RubricError(f"{count} are to be planted, but the checks plant {len(catalogue)}", place)
    return tuple(catalogue[position].id for position in sorted(stream.draw_sample(count, len(catalogue))))
