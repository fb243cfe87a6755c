"""What errors about tables say of names that are known."""

from __future__ import annotations

import pytest

from autograder.tables import hint


@pytest.mark.parametrize(
    ("names", "told"),
    [(("", "finite"), "known are: finite"), (("",), "known are: none"), ((), "known are: none")],
)
def test_no_empty_name_is_listed(names: tuple[str, ...], told: str) -> None:
    """A key that may be left empty has no name for that."""
    assert told == hint("zzz", names)
