"""Draw variants from an HMAC-SHA256 of the course secret over assignment and student only.

The result is the same on every machine and in every process. All values are drawn by rejection, so each
combination that satisfies the conditions of the rubric is equally likely.

In the tables of questions, this decides where placeholders are allowed and which items are drawn.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from autograder.core.errors import Place, RubricError, extend_place
from autograder.core.stream import Stream, derive_key
from autograder.core.tables import suggest_name
from autograder.rubric.variants import expressions
from autograder.rubric.variants.expressions import Value, has_placeholder
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


FIXED = frozenset(
    (
        *("id", "kind", "points", "notebook", "cell", "answer_cell", "file", "answer", "needs", "manual"),
        *("title", "symbols", "form", "credit", "key", "visible"),
    )
)
"""Keys with the same value for every student: marks, cells, and values that the students' check uses."""

_SAME = "is the same for every student; no placeholder here"
_OF_A_FAULT = frozenset({"id", "points", "text", "cell"})

Entry = Mapping[str, Any]


def check_entries(table: Entry, draws: Draws, place: str) -> None:
    """Reject placeholders that would change marks or cells, and faults that cannot be drawn.

    Raises:
        RubricError: names the place.
    """
    questions = {entry.get("id"): entry for entry in _list_tables(table.get("question"))}
    for where, key in _find_fixed_placeholders(
        table.get("question", ()), Place(f"{place}: question", "question")
    ):
        raise RubricError(_SAME, where, key)
    if has_placeholder(table.get("assignment", {})):
        raise RubricError(_SAME, extend_place(place, ": [assignment]", "assignment"))
    seen: set[str] = set()
    for name, planted in draws.planted.items():
        where = extend_place(place, f": [variant.draw.{name}]: faults", "variant", "draw", name, "faults")
        if planted.faults not in questions:
            names = [str(identifier) for identifier in questions]
            raise RubricError(f"no question {planted.faults!r}; {suggest_name(planted.faults, names)}", where)
        if planted.faults in seen:
            raise RubricError(f"the faults of {planted.faults!r} are drawn twice", where)
        seen.add(planted.faults)
        _check_items(planted, questions[planted.faults], where)


def _check_items(planted: PlantedFaults, question: Entry, where: str) -> None:
    items = list_automatic_items(question)
    if not items:
        raise RubricError(
            f"{planted.faults!r} has no automatic items to draw; state the faults of the common variant",
            where,
        )
    for item in items:
        beyond = sorted(set(item) - _OF_A_FAULT)
        if beyond:
            raise RubricError(
                f"{planted.faults!r}, item {item.get('id')!r}: {', '.join(beyond)} cannot be kept "
                "when the item is drawn; its id is the fault's",
                where,
            )
    # Any fault may take the place of any item, so all items must be interchangeable.
    alike = {(item.get("points"), item.get("cell")) for item in items}
    if len(alike) > 1:
        raise RubricError("items that are drawn have the same points and the same cell", where)


def list_automatic_items(question: Entry) -> list[Entry]:
    """Return the items of a question that are graded automatically."""
    return [item for item in _list_tables(question.get("item")) if not item.get("manual")]


def with_faults(question: Entry, faults: Sequence[Fault]) -> dict[str, Any]:
    """Return the question with these faults as its automatic items; manual items stay in place."""
    # Strict: the number of drawn faults equals the number of automatic items.
    drawn = dict(zip((item["id"] for item in list_automatic_items(question)), faults, strict=True))
    items = [
        {
            **{key: value for key, value in item.items() if key in _OF_A_FAULT},
            "id": drawn[item["id"]].id,
            "text": dict(drawn[item["id"]].text),
        }
        if item["id"] in drawn
        else item
        for item in _list_tables(question.get("item"))
    ]
    return {**question, "item": items}


def _list_tables(entries: Any) -> list[Entry]:
    iterable = entries if isinstance(entries, Iterable) else ()
    return [entry for entry in iterable if isinstance(entry, Mapping)]


def _find_fixed_placeholders(tree: Any, where: Place) -> Iterator[tuple[Place, str]]:
    """Yield each placeholder under a fixed key, as its place and the key."""
    if isinstance(tree, Mapping):
        for key, entry in tree.items():
            if key in FIXED and has_placeholder(entry):
                yield where, key
            yield from _find_fixed_placeholders(entry, where.extend(f" {key}", key))
    elif isinstance(tree, list):
        for index, entry in enumerate(tree):
            name = entry.get("id", index + 1) if isinstance(entry, Mapping) else index + 1
            yield from _find_fixed_placeholders(entry, where.extend(f" {name}", index))
