"""The same class graded twice; ``python -m tests.survival.again`` grades it twenty times."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.survival.again import again

pytestmark = pytest.mark.apart


@pytest.mark.sandbox
def test_every_mark_is_the_same_again(tmp_path: Path) -> None:
    """Verdicts, points and messages are independent of the process and the number of workers."""
    figures = again(tmp_path / "course", students=4, seed=3, times=2, names=["dl4nlp-exam"])
    assert [] == figures["differences"]
    assert figures["compared"] > 4 * 50
