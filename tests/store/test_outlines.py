"""Outlines of results contain everything needed for marks in little memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

from msgspec.structs import replace

from autograder.core.records import GradingResult
from autograder.grading.store import OutlineReader, decode_result, encode_result
from tests.store.examples import good, middling

CLASS = 300
MOST_EACH = 2_500
"""Bytes. Ten thousand results may take 50 MB, including duplicates."""


def of_class(graded: GradingResult) -> list[bytes]:
    """Return the same stored result for many students, with a notebook of twenty cells."""
    (notebook,) = graded.notebooks
    long = replace(notebook, cells=notebook.cells[:1] * 20, runs=notebook.runs[:1] * 20)
    return [
        encode_result(replace(graded, notebooks=(long,), score=replace(graded.score, student=f"s{number}")))
        for number in range(CLASS)
    ]


def held(stored: list[bytes], read: Callable[[bytes], GradingResult | None]) -> float:
    """Return the bytes that each result takes in memory."""
    tracemalloc.start()
    try:
        found = [read(one) for one in stored]
        return tracemalloc.get_traced_memory()[0] / len(found)
    finally:
        tracemalloc.stop()


def test_an_outline_has_all_but_cells_and_files() -> None:
    """An outline contains score, digest and times, and notebooks only by name."""
    for graded in (good(), middling()):
        outline = OutlineReader().read_outline(encode_result(graded))
        assert outline is not None
        named = [replace(one, cells=(), runs=()) for one in graded.notebooks]
        assert (
            replace(graded, notebooks=tuple(named), files=())
            == outline
            == OutlineReader().make_outline(graded)
        )


def test_equal_results_share_their_items() -> None:
    """Equal items of two students are the same object."""
    outlines = OutlineReader()
    first, second = (outlines.read_outline(one) for one in of_class(good())[:2])
    assert first is not None
    assert second is not None
    assert first.score.student != second.score.student
    assert first.score.items is second.score.items


def test_what_cannot_be_read_is_none() -> None:
    """Undecodable data gives None, as for a complete result."""
    assert [None, None] == [OutlineReader().read_outline(one) for one in (b"pruned:", b'{"score": 1}')]


def test_a_class_takes_little_memory() -> None:
    """Outlines stay below the limit; complete results exceed it, which shows that the limit is meaningful."""
    stored = of_class(middling())
    assert held(stored, OutlineReader().read_outline) < MOST_EACH < held(stored, decode_result)
