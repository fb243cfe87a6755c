"""The isolation level on the command line: selected, reported, and recorded in all output."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from autograder.sandbox.levels import Isolation, get_warning
from tests.cli.running import ASSIGNMENT, only_object, run

pytestmark = pytest.mark.sandbox


def told(text: str) -> str:
    """Return the text of a boxed message on one line."""
    return " ".join(text.replace("┃", " ").split())


@pytest.mark.slow
def test_a_weaker_level_is_told_and_stamped(course: Path) -> None:
    """A weaker level is reported before and after the run, in JSON, ledger, comments, pages and summary."""
    student = next((course / "submitted").iterdir()).name
    options = ("--student", student, "--again", "--course", str(course), "--json")
    done = run("grade", ASSIGNMENT, "--isolation", "none", *options)
    assert 0 == done.returncode, done.stderr
    assert 2 == told(done.stderr).count(get_warning(Isolation.NONE))
    assert ["none"] == only_object(done.stdout)["isolation"]
    with sqlite3.connect(course / "gradebook.db") as connection:
        assert (
            "none"
            == connection.execute("select isolation from autograder_run order by id desc limit 1").fetchone()[
                0
            ]
        )
        stamped = connection.execute(
            "select count(*) from comment where auto_comment like '%isolation: none%'"
        ).fetchone()[0]
    connection.close()
    assert stamped > 0
    assert 0 == run("feedback", ASSIGNMENT, "--course", str(course)).returncode
    page = (course / "feedback" / student / ASSIGNMENT / f"{ASSIGNMENT}.html").read_text("utf-8")
    assert "weaker isolation than usual (none)" in page
    summary = (course / "staff" / f"{ASSIGNMENT}.html").read_text("utf-8")
    assert 1 == summary.count("isolation: none")


def test_full_isolation_is_the_default_and_says_nothing(course: Path) -> None:
    """Known results have full isolation, so there is no warning."""
    done = run("grade", ASSIGNMENT, "--course", str(course), "--json")
    assert (0, "") == (done.returncode, done.stderr)
    assert ["namespaces"] == only_object(done.stdout)["isolation"]


@pytest.mark.parametrize("command", ["grade", "verify"])
def test_a_level_that_does_not_exist_is_wrong_usage(command: str, course: Path) -> None:
    """An unknown level is wrong usage, and the valid ones are listed."""
    done = run(command, ASSIGNMENT, "--course", str(course), "--isolation", "off")
    assert 2 == done.returncode
    assert all(level.value in done.stderr for level in Isolation)
