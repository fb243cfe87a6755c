"""Entry points of installed packages: found by name, loaded on demand, and named in errors."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from autograder.core import extensions
from autograder.core.errors import CourseError
from autograder.core.extensions import EntryGroup, list_entries, load_entry, name_package


def group(monkeypatch: pytest.MonkeyPatch, name: str, *entries: tuple[str, str]) -> EntryGroup:
    """Return a new group with these entry points."""
    found = [EntryPoint(entry, value, name) for entry, value in entries]
    monkeypatch.setattr(extensions, "entry_points", lambda *, group: found)
    return EntryGroup(name, "shelf", CourseError)


def test_names_lead_to_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    """Entries are sorted; without a distribution, a package is named after its module."""
    made = group(monkeypatch, "tests.named", ("tall", "pathlib:Path"), ("low", "decimal:Decimal"))
    assert ["low", "tall"] == list(list_entries(made))
    assert "pathlib" == name_package(list_entries(made)["tall"])
    from decimal import Decimal

    assert Decimal is load_entry(made, "low")


def test_one_name_of_two_packages_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names both packages; a duplicate of the same entry, as in editable installs, is accepted."""
    made = group(monkeypatch, "tests.twice", ("low", "decimal:Decimal"), ("low", "decimal:Decimal"))
    assert ["low"] == list(list_entries(made))
    made = group(monkeypatch, "tests.both", ("low", "decimal:Decimal"), ("low", "pathlib:Path"))
    with pytest.raises(CourseError, match="shelf 'low': two packages register it: decimal, pathlib"):
        list_entries(made)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("loww", "unknown shelf 'loww'; did you mean 'low'"),
        ("zzz", "unknown shelf 'zzz'; known are: gone, lacking, low"),
        ("gone", "shelf 'gone': no cannot be loaded: No module named"),
        ("lacking", "shelf 'lacking': decimal cannot be loaded: "),
    ],
)
def test_what_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch, name: str, said: str) -> None:
    """The error suggests the nearest name, or states why a package cannot be loaded."""
    entries = (("low", "decimal:Decimal"), ("gone", "no.such:thing"), ("lacking", "decimal:Nothing"))
    made = group(monkeypatch, f"tests.missing.{name}", *entries)
    with pytest.raises(CourseError, match=said):
        load_entry(made, name)


def test_where_nothing_is_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty group means that this package is not installed correctly."""
    with pytest.raises(CourseError, match="none is registered; install this package again"):
        load_entry(group(monkeypatch, "tests.none"), "low")
