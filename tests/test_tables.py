"""Suggestions of known names in errors about tables."""

from __future__ import annotations

import pytest

from autograder.core.tables import escape_name, suggest_name


@pytest.mark.parametrize(
    ("names", "told"),
    [(("", "finite"), "known are: finite"), (("",), "known are: none"), ((), "known are: none")],
)
def test_no_empty_name_is_listed(names: tuple[str, ...], told: str) -> None:
    """Empty names, for keys that may be empty, are not suggested."""
    assert told == suggest_name("zzz", names)


@pytest.mark.parametrize(
    ("name", "shown"),
    [("C:\\Users\\jo", "C:\\Users\\jo"), ("Mu\u0308ller", "Mu\u0308ller"), ("a\nb\x1b", "a\\nb\\x1b")],
)
def test_printable_name_escapes_only_what_does_not_print(name: str, shown: str) -> None:
    """Letters in people's names and backslashes in Windows paths are not escaped."""
    assert shown == escape_name(name)
