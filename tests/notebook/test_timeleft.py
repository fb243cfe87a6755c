"""The check beside the notebook tells how much time is left."""

from __future__ import annotations

import contextlib
import io
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from autograder.notebook.student_check import build_student_check, read_specification
from autograder.notebook.timeleft import time_left
from autograder.questions import list_forms
from autograder.rubric.lateness import Penalty, Terms
from autograder.rubric.timestamps import Window
from tests.demo.marking import exam

END = datetime(2026, 2, 12, 11, 30, tzinfo=ZoneInfo("Europe/Berlin"))
WINDOW = Window(END - timedelta(minutes=90), END, "Europe/Berlin")
SPECIFICATION = {
    "language": "en",
    "times": {"start": WINDOW.start.isoformat(), "end": END.isoformat(), "zone": "Europe/Berlin"},
}


@pytest.mark.parametrize(
    ("before", "said"),
    [
        (91, ""),
        (90, "Time left: 1 h 30 min. The deadline is at 11:30 (Europe/Berlin)"),
        (59.5, "Time left: 59 min."),
        (0.5, "Time left: 0 min."),
        (-0.5, "The deadline was at 11:30 (Europe/Berlin)."),
        (-61, ""),
    ],
)
def test_the_time_left_is_told_during_the_exam(before: float, said: str) -> None:
    """From the start on, and for an hour after the end; later and before, nobody is alarmed."""
    told = time_left(SPECIFICATION, now=END.astimezone(UTC) - timedelta(minutes=before))
    assert told.startswith(said)
    assert bool(said) == bool(told)


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "The deadline is on 2026-02-12 at 11:30 (Europe/Berlin)"),
        ("de", "Die Abgabefrist endet am 12.02.2026 um 11:30 Uhr (Europe/Berlin)"),
    ],
)
def test_an_end_on_another_day_has_its_date(language: str, said: str) -> None:
    """Homework runs for days: the hour alone would be taken for that of today."""
    times = {**SPECIFICATION["times"], "start": (END - timedelta(days=7)).isoformat()}
    told = time_left({"times": times}, language, END - timedelta(hours=11, minutes=31))
    assert said in told
    assert "2026" not in time_left({"times": times}, language, END - timedelta(hours=11, minutes=29))


def _released(window: Window | None) -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": "coursecheck"}
    exec(
        compile(build_student_check(exam(), window=window, forms=list_forms()), "coursecheck.py", "exec"),
        namespace,
    )
    return namespace


def test_a_check_during_the_exam_ends_with_the_time_left() -> None:
    """In a release that knows the end; in others it says what it always says."""
    now = datetime.now(UTC)
    running = Window(now - timedelta(minutes=10), now + timedelta(minutes=30, seconds=30), "UTC")
    said = []
    for window in (running, None):
        namespace, out = _released(window), io.StringIO()
        with contextlib.redirect_stdout(out):
            namespace["check"]("task1-g")
        said.append(out.getvalue().splitlines())
    assert said[0][:-1] == said[1]
    assert said[0][-1].startswith("Time left: 30 min.")


def test_a_deadline_alone_counts_down_at_any_time() -> None:
    """Without a start there is no too early; what the check says of the window is read back as it was."""
    deadline = Window(None, END, "Europe/Berlin")
    check = build_student_check(exam(), window=deadline, forms=list_forms()).decode()
    stated = read_specification(check, "coursecheck.py")
    assert {"end": END.isoformat(), "zone": "Europe/Berlin"} == stated["times"]
    told = time_left(stated, "en", END.astimezone(UTC) - timedelta(days=2))
    assert told.startswith("Time left: 48 h 0 min. The deadline is on 2026-02-12 at 11:30")


def test_the_check_says_what_being_late_costs() -> None:
    """Before the end and for two weeks after it, in the reader's language."""
    terms = Terms("penalty", penalty=Penalty(per_day=Decimal(10)))
    check = build_student_check(
        exam(), window=Window(None, END, "UTC", terms=terms), forms=list_forms()
    ).decode()
    stated = read_specification(check, "coursecheck.py")
    rule = "Late penalty: 10 percent of the possible points for each day that has begun."
    for since, said in ((-2, True), (1, True), (13, True), (15, False)):
        told = time_left(stated, "en", END.astimezone(UTC) + timedelta(days=since))
        assert said is told.endswith(rule)
    assert "Abzug wegen Verspätung: 10 Prozent" in time_left(stated, "de", END.astimezone(UTC))
