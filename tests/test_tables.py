"""What errors about tables say of names that are known."""

from __future__ import annotations

import pytest

from autograder.core.tables import escape_name, suggest_name


@pytest.mark.parametrize(
    ("names", "told"),
    [(("", "finite"), "known are: finite"), (("",), "known are: none"), ((), "known are: none")],
)
def test_no_empty_name_is_listed(names: tuple[str, ...], told: str) -> None:
    """A key that may be left empty has no name for that."""
    assert told == suggest_name("zzz", names)


@pytest.mark.parametrize(
    ("name", "shown"),
    [("C:\\Users\\jo", "C:\\Users\\jo"), ("Mu\u0308ller", "Mu\u0308ller"), ("a\nb\x1b", "a\\nb\\x1b")],
)
def test_printable_name_escapes_only_what_does_not_print(name: str, shown: str) -> None:
    """Letters of people's names and paths of Windows read as they were written."""
    assert shown == escape_name(name)
