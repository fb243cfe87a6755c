"""Questions of a rubric as tables: where placeholders are allowed, and which items are drawn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from autograder.core.errors import Place, RubricError, extend_place
from autograder.core.tables import suggest_name
from autograder.rubric.variants.drawing import Fault
from autograder.rubric.variants.expressions import has_placeholder
from autograder.rubric.variants.options import Draws, PlantedFaults

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
