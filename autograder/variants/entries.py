"""Questions of a rubric as tables: where placeholders are allowed, and which items are drawn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from autograder.errors import Place, RubricError, inside
from autograder.tables import hint
from autograder.variants.drawing import Fault
from autograder.variants.expressions import has_placeholder
from autograder.variants.options import Draws, Planted

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


def check(table: Entry, draws: Draws, place: str) -> None:
    """Reject placeholders that would change marks or cells, and faults that cannot be drawn.

    Raises:
        RubricError: names the place.
    """
    questions = {entry.get("id"): entry for entry in _tables(table.get("question"))}
    for where, key in _fixed_places(table.get("question", ()), Place(f"{place}: question", "question")):
        raise RubricError(_SAME, where, key)
    if has_placeholder(table.get("assignment", {})):
        raise RubricError(_SAME, inside(place, ": [assignment]", "assignment"))
    seen: set[str] = set()
    for name, planted in draws.planted.items():
        where = inside(place, f": [variant.draw.{name}]: faults", "variant", "draw", name, "faults")
        if planted.faults not in questions:
            names = [str(identifier) for identifier in questions]
            raise RubricError(f"no question {planted.faults!r}; {hint(planted.faults, names)}", where)
        if planted.faults in seen:
            raise RubricError(f"the faults of {planted.faults!r} are drawn twice", where)
        seen.add(planted.faults)
        _check_items(planted, questions[planted.faults], where)


def _check_items(planted: Planted, question: Entry, where: str) -> None:
    items = automatic(question)
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


def automatic(question: Entry) -> list[Entry]:
    """Return the items of a question that are graded automatically."""
    return [item for item in _tables(question.get("item")) if not item.get("manual")]


def with_faults(question: Entry, faults: Sequence[Fault]) -> dict[str, Any]:
    """Return the question with these faults as its automatic items; manual items stay in place."""
    # Strict: the number of drawn faults equals the number of automatic items.
    drawn = dict(zip((item["id"] for item in automatic(question)), faults, strict=True))
    items = [
        {
            **{key: value for key, value in item.items() if key in _OF_A_FAULT},
            "id": drawn[item["id"]].id,
            "text": dict(drawn[item["id"]].text),
        }
        if item["id"] in drawn
        else item
        for item in _tables(question.get("item"))
    ]
    return {**question, "item": items}


def _tables(entries: Any) -> list[Entry]:
    found = entries if isinstance(entries, Iterable) else ()
    return [entry for entry in found if isinstance(entry, Mapping)]


def _fixed_places(tree: Any, where: Place) -> Iterator[tuple[Place, str]]:
    """Yield each placeholder under a fixed key, as its place and the key."""
    if isinstance(tree, Mapping):
        for key, entry in tree.items():
            if key in FIXED and has_placeholder(entry):
                yield where, key
            yield from _fixed_places(entry, where.at(f" {key}", key))
    elif isinstance(tree, list):
        for number, entry in enumerate(tree):
            name = entry.get("id", number + 1) if isinstance(entry, Mapping) else number + 1
            yield from _fixed_places(entry, where.at(f" {name}", number))
