"""The same class graded more than once; ``make again`` does it twenty times."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.survival.again import again, differing

pytestmark = pytest.mark.apart


@pytest.mark.sandbox
def test_every_mark_is_the_same_again(tmp_path: Path) -> None:
    """Another process, another number of workers: no verdict, no point and no sentence is another."""
    figures = again(tmp_path / "course", students=4, seed=3, times=2, names=["dl4nlp-exam"])
    assert [] == figures["differences"]
    assert figures["compared"] > 4 * 50


def test_what_differs_is_told_with_its_run() -> None:
    """A mark that changed, one that is new and one that is gone are all differences."""
    first, later = {"a": "1", "b": "2", "c": "3"}, {"a": "1", "b": "9", "d": "4"}
    assert [
        "run 7: b:\n  2\n  9",
        "run 7: c:\n  3\n  nothing",
        "run 7: d:\n  nothing\n  4",
    ] == differing(first, later, 7)
