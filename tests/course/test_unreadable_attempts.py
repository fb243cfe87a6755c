"""An unreadable attempt never counts instead of a readable one."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest

from autograder.course import Course
from autograder.messages import render_message
from tests.course.test_counting_attempts import (
    DAY,
    HOUR,
    RUBRIC,
    course,
    group,
    hand_in,
    handins,
    stated,
)
from tests.notebook.test_document import CONFLICT, LFS_POINTER, LOGIN_PAGE

__all__ = ["course"]
"""The fixture."""
READABLE = json.dumps(
    {"cells": [{"cell_type": "code", "metadata": {}, "outputs": [], "source": "x = 1"}], "nbformat": 4}
).encode()
DAMAGED = {
    "empty": b"",
    "object": b"{}",
    "truncated": READABLE[:-9],
    "git-lfs-pointer": LFS_POINTER,
    "login-page": LOGIN_PAGE,
    "merge-conflict": CONFLICT,
}


def laid(
    course: Course, late: timedelta | None, data: bytes | None, place: str = "submitted", student: str = "ada"
) -> Path:
    """Create an attempt with these bytes, or without a notebook if they are None."""
    folder = hand_in(course, student, "one", late, place)
    if data is None:
        (folder / "one.ipynb").unlink()
    else:
        (folder / "one.ipynb").write_bytes(data)
    return folder


@pytest.mark.parametrize("damaged", [*DAMAGED.values(), None], ids=[*DAMAGED, "nothing"])
def test_the_last_attempt_that_can_be_read_counts(course: Course, damaged: bytes | None) -> None:
    """The last readable attempt counts, and students and staff get the reason."""
    laid(course, -3 * HOUR, READABLE, "earlier")
    good = laid(course, -2 * HOUR, READABLE, "earlier")
    laid(course, -HOUR, damaged)
    found = handins(course, "one")["ada"]
    assert good == found.folder
    (message,) = found.list_messages("de")
    assert "Der Versuch vom 04.05.2026, 11:00 Uhr (Europe/Berlin) ist nicht lesbar" in render_message(
        message, "de"
    )
    assert ["attempt-unreadable"] == [note.code for note in found.list_notes()]


@pytest.mark.parametrize("times", ["", "[one]\nend = 2026-05-04T12:00:00Z\n"], ids=["no-end", "an-end"])
def test_it_does_not_matter_how_often_something_damaged_came(course: Course, times: str) -> None:
    """Several damaged attempts change nothing, with or without a deadline."""
    course.exams.write_text(times)
    good = laid(course, -9 * HOUR, READABLE, "earlier")
    for hours in (8, 7, 6):
        laid(course, -hours * HOUR, LFS_POINTER, "earlier")
    laid(course, -HOUR, b"{}")
    found = handins(course, "one")["ada"]
    assert good == found.folder
    assert 4 == len(found.passed_over)


def test_if_nothing_can_be_read_the_last_one_counts(course: Course) -> None:
    """The last attempt needs manual review, without a message about other attempts."""
    laid(course, -2 * HOUR, b"", "earlier")
    last = laid(course, -HOUR, b"{}")
    found = handins(course, "one")["ada"]
    assert (last, ()) == (found.folder, found.passed_over)


def test_an_attempt_that_can_be_read_is_judged_by_its_own_time(course: Course) -> None:
    """A readable late attempt counts with its penalty if the timely one is damaged."""
    stated(course, 'late = "penalty"', 'late = "penalty"\ncounts = "in-time"')
    laid(course, -HOUR, CONFLICT, "earlier")
    late = laid(course, 3 * DAY, READABLE)
    found = handins(course, "one")["ada"]
    assert late == found.folder
    assert found.timing
    assert found.timing.late


def test_what_came_too_late_to_be_graded_takes_no_place(course: Course) -> None:
    """A refused late attempt does not replace the damaged timely one, which needs manual review."""
    course.exams.write_text('[one]\nend = 2026-05-04T10:00:00Z\nlate = "refuse"\n')
    damaged = laid(course, -HOUR, CONFLICT, "earlier")
    laid(course, DAY, READABLE)
    assert damaged == handins(course, "one")["ada"].folder


def test_a_damaged_attempt_of_a_member_does_not_take_the_group_s(course: Course) -> None:
    """A member's damaged attempt does not replace the group's readable one."""
    group(course, "red,ada,\nred,bob,\n")
    good = laid(course, -2 * HOUR, READABLE)
    laid(course, -HOUR, LOGIN_PAGE, student="bob")
    assert {good} == {one.folder for one in handins(course, "one").values()}


def test_notebooks_that_only_the_damaged_attempt_has_are_not_dropped(course: Course) -> None:
    """An attempt is passed over only if the other one has all its readable notebooks."""
    notebooks = 'notebooks = [{ name = "one" }, { name = "two" }]'
    rubric = RUBRIC.format(name="one", notebooks=notebooks, place='notebook = "one"')
    (course.rubrics / "one.toml").write_text(rubric)
    first = laid(course, -2 * HOUR, READABLE, "earlier")
    last = laid(course, -HOUR, CONFLICT)
    (last / "two.ipynb").write_bytes(READABLE)
    assert last == handins(course, "one")["ada"].folder
    (first / "two.ipynb").write_bytes(READABLE)
    assert first == handins(course, "one")["ada"].folder


def test_half_a_hand_in_is_no_damage(course: Course) -> None:
    """An attempt with one of two notebooks is deliberate, so the last attempt counts."""
    notebooks = 'notebooks = [{ name = "one" }, { name = "two" }]'
    rubric = RUBRIC.format(name="one", notebooks=notebooks, place='notebook = "one"')
    (course.rubrics / "one.toml").write_text(rubric)
    (laid(course, -2 * HOUR, READABLE, "earlier") / "two.ipynb").write_bytes(READABLE)
    last = laid(course, -HOUR, READABLE)
    assert last == handins(course, "one")["ada"].folder
