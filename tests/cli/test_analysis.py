"""``autograder statistics`` and ``autograder similar``: output and pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import ASSIGNMENT, STUDENTS, only_object, run

pytestmark = pytest.mark.sandbox


def test_statistics_as_table_and_json(course: Path) -> None:
    """Table and JSON have the same figures; names appear only on request."""
    words = ("statistics", ASSIGNMENT, "--course", str(course))
    table = run(*words)
    assert 0 == table.returncode, table.stderr
    assert f"for staff: {course}/staff/{ASSIGNMENT}-statistics.html" in table.stdout
    plain = only_object(run(*words, "--json").stdout)
    assert STUDENTS == plain["students"] == len(plain["points"])
    ids = {folder.name for folder in (course / "submitted").iterdir()}
    page = course / "staff" / f"{ASSIGNMENT}-statistics.html"
    assert not [
        student for student in ids if student in page.read_text("utf-8") or student in plain["points"]
    ]
    named = only_object(run(*words, "--json", "--names").stdout)
    assert ids >= set(named["points"])
    assert all(f"../feedback/{student}/" in page.read_text("utf-8") for student in named["points"])


def test_similar_as_table_and_json(course: Path) -> None:
    """Pairs are sorted and limited to the requested number.

    The output says that similarity is not a verdict.
    """
    words = ("similar", ASSIGNMENT, "--course", str(course), "--most", "3")
    table = run(*words)
    assert 0 == table.returncode, table.stderr
    assert "a place to look, never a verdict" in table.stdout
    assert f"for staff: {course}/staff/{ASSIGNMENT}-similar.html" in table.stdout
    plain = only_object(run(*words, "--json").stdout)
    shares = [pair["stands_out"] for pair in plain["pairs"]]
    assert sorted(shares, reverse=True) == shares
    assert len(shares) <= 3
    refused = run(*words, "--given", "gone.py")
    assert (3, True) == (refused.returncode, "gone.py" in refused.stderr)
