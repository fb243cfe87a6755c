"""The same class graded more than once; ``python -m tests.survival.again`` does it twenty times."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.survival.again import again

pytestmark = pytest.mark.apart


@pytest.mark.sandbox
def test_every_mark_is_the_same_again(tmp_path: Path) -> None:
    """Another process, another number of workers: no verdict, no point and no sentence is another."""
    figures = again(tmp_path / "course", students=4, seed=3, times=2, names=["dl4nlp-exam"])
    assert [] == figures["differences"]
    assert figures["compared"] > 4 * 50
