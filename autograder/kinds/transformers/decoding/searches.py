"""Sequences that a search gives, compared with every outcome that ties allow. Pure and total."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autograder.checks.values.arrays import Difference, numbers
from autograder.checks.values.quoting import quote_shape, type_name

Row = tuple[int, ...]


def read_right(value: Any) -> list[set[Row]] | None:
    """For each row the sequences that are right; None when the reference said nothing of the kind."""
    rows = value.get("rows") if isinstance(value, dict) else None
    if not isinstance(rows, list) or not rows:
        return None
    found = []
    for ways in rows:
        read_ways = [_row(way) for way in ways] if isinstance(ways, list) else []
        if not read_ways or None in read_ways:
            return None
        found.append({way for way in read_ways if way is not None})
    return found


def read(value: Any, rows: int) -> tuple[list[Row], Difference | None]:
    """The answer as so many sequences of token ids, or why it is none."""
    found = numbers(value)
    if found is None or found.kind != "int":
        came = type_name(value) if found is None else found.dtype or found.kind
        return [], Difference("decoding.no-tokens", {"form": came}, f"no token ids: {came}")
    if found.array.ndim != 2 or found.array.shape[0] != rows:
        shape = quote_shape(found.array.shape)
        return [], Difference("decoding.rows", {"shape": shape}, f"shape {shape}, expected {rows} rows")
    return [tuple(row) for row in found.array.tolist()], None


def differs(rows: Sequence[Row], right: Sequence[set[Row]]) -> Difference | None:
    """The first row that is no outcome, and the first place where it leaves all outcomes."""
    for number, (row, ways) in enumerate(zip(rows, right, strict=True)):
        if row in ways:
            continue
        staff = f"row {number}: {list(row)[:60]}, right: {[list(way)[:60] for way in sorted(ways)[:4]]}"
        if row and any(way[-len(row) :] == row for way in ways):
            return Difference("decoding.prompt-missing", {}, staff)
        place = max(_shared(row, way) for way in ways)
        if any(row[: len(way)] == way for way in ways):
            return Difference("decoding.too-long", {"row": str(number)}, staff)
        if place == len(row):
            return Difference("decoding.too-short", {"row": str(number)}, staff)
        return Difference("decoding.sequence", {"row": str(number), "place": str(place)}, staff)
    return None


def same(rows: Sequence[Row], other: Any) -> bool:
    """Whether an answer is what some mistake gives."""
    wrong, difference = read(other, len(rows))
    return difference is None and list(rows) == wrong


def _row(value: Any) -> Row | None:
    found = numbers(value)
    if found is None or found.kind != "int" or found.array.ndim != 1:
        return None
    return tuple(found.array.tolist())


def _shared(row: Row, way: Row) -> int:
    """How many tokens agree from the beginning."""
    pairs = enumerate(zip(row, way, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(row), len(way)))
