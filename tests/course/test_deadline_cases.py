"""Deadlines combined with groups, slip days and extensions: the attempt that counts, and its cost."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from msgspec import Struct

from autograder import rubric as rubrics
from autograder.course import Course, Handin
from autograder.course.counting_attempts import find_counting_attempts
from autograder.grading.grades import CellPoints, QuestionPoints, Standing

RUBRIC = """
version = 1
[assignment]
name = "{name}"
points = 10
[[question]]
id = "essay"
kind = "written"
points = 10
[[question.item]]
id = "text"
points = 10
manual = true
text = {{ en = "Reasons" }}
"""
ENDS = {name: datetime(2026, 5, day, 12, tzinfo=UTC) for name, day in (("hw1", 4), ("hw2", 18))}
PENALTY = 'late = "penalty"\npenalty = { per_day = 10, cap = 50, closed_after_hours = 168 }'
BANK = "days = 3\nmost = 2"
RED = "group,student\nred,ada\nred,bob\n"
RED_LATER = "group,student,assignment\nred,ada,hw2\nred,bob,hw2\n"
MINUTE, SECOND = 1 / 60, 1 / 3600
REFUSED, NOTHING = "refused", "nothing"

Counted = tuple[float, str, int]
"""Hours after the end at which the counting attempt was submitted, points off 8, slip days."""


class Case(Struct, frozen=True):
    """A course, its submissions, and the expected counting attempts."""

    attempts: Mapping[str, Mapping[str, list[float]]]
    """By student and assignment: hours after its end."""
    counts: Mapping[str, Mapping[str, Counted | str]]
    course: str = PENALTY
    own: Mapping[str, str] = {}
    """Further lines of each assignment's table."""
    slip: str = ""
    groups: str = ""
    grace: int = 10
    earned: str = "8"


def until(name: str, hours: float) -> str:
    """Return an individual end, some hours after the common one."""
    return f"end = {ENDS[name] + timedelta(hours=hours):%Y-%m-%dT%H:%M:%SZ}"


def alone(hours: list[float], counts: Counted | str, **other: str | int | Mapping[str, str]) -> Case:
    """Return a case of one student and the first assignment."""
    return Case({"ada": {"hw1": hours}}, {"ada": {"hw1": counts}}, **other)  # type: ignore[arg-type]


def of_red(
    attempts: Mapping[str, list[float]],
    ada: Counted | str,
    bob: Counted | str,
    **other: str | Mapping[str, str],
) -> Case:
    """Return a case of a group of two and the first assignment."""
    handed = {who: {"hw1": hours} for who, hours in attempts.items()}
    counts = {"ada": {"hw1": ada}, "bob": {"hw1": bob}}
    return Case(handed, counts, groups=RED, **other)  # type: ignore[arg-type]


STEPS = (
    'late = "penalty"\npenalty = { steps = [{ after_hours = 0, take = 5 }, { after_hours = 24, take = 20 }] }'
)
BOTH_LATE: Mapping[str, Mapping[str, list[float]]] = {"ada": {"hw1": [30], "hw2": [30]}}

CASES: Mapping[str, Case] = {
    "within the grace": alone([5 * MINUTE], (5 * MINUTE, "0", 0)),
    "at its end": alone([10 * MINUTE], (10 * MINUTE, "0", 0)),
    "a second later it is late from the end on": alone(
        [10 * MINUTE + SECOND], (10 * MINUTE + SECOND, "1", 0)
    ),
    "at the end itself": alone([0], (0, "0", 0), grace=0),
    "a day": alone([24], (24, "1", 0)),
    "a day and a second": alone([24 + SECOND], (24 + SECOND, "2", 0)),
    "the cap": alone([144], (144, "5", 0)),
    "no slip day within the grace": alone([9 * MINUTE], (9 * MINUTE, "0", 0), slip=BANK),
    "a slip day": alone([15 * MINUTE], (15 * MINUTE, "0", 1), slip=BANK),
    "a day beyond the most": alone([49], (49, "1", 2), slip=BANK),
    "the bank is the course's": Case(
        BOTH_LATE, {"ada": {"hw1": (30, "0", 2), "hw2": (30, "1", 1)}}, slip=BANK
    ),
    "in the order that is stated": Case(
        BOTH_LATE,
        {"ada": {"hw2": (30, "0", 2), "hw1": (30, "1", 1)}},
        slip=f'{BANK}\nassignments = ["hw2", "hw1"]',
    ),
    "each member's own days": Case(
        {"ada": {"hw1": [30]}, "bob": {"hw1": [-1], "hw2": [30]}},
        {
            "ada": {"hw1": (30, "0", 2), "hw2": (30, "1", 1)},
            "bob": {"hw1": (-1, "0", 0), "hw2": (30, "0", 2)},
        },
        slip=BANK,
        groups=RED_LATER,
    ),
    "a member's extension is the group's": Case(
        {"bob": {"hw1": [20]}, "cleo": {"hw1": [20]}},
        {"ada": {"hw1": (20, "0", 0)}, "bob": {"hw1": (20, "0", 0)}, "cleo": {"hw1": (20, "1", 0)}},
        own={"hw1": f"[hw1.students.ada]\n{until('hw1', 24)}"},
        groups=RED,
    ),
    "an extension of the group": of_red(
        {"bob": [47]}, (47, "0", 0), (47, "0", 0), own={"hw1": f"[hw1.groups.red]\n{until('hw1', 48)}"}
    ),
    "the latest of both": of_red(
        {"bob": [40]},
        (40, "0", 0),
        (40, "0", 0),
        own={"hw1": f"[hw1.groups.red]\n{until('hw1', 24)}\n[hw1.students.ada]\n{until('hw1', 48)}"},
    ),
    "a slip day after the extension": of_red(
        {"bob": [25]},
        (25, "0", 1),
        (25, "0", 1),
        slip=BANK,
        own={"hw1": f"[hw1.groups.red]\n{until('hw1', 24)}"},
    ),
    "days count from the extension": of_red(
        {"bob": [49]}, (49, "2", 0), (49, "2", 0), own={"hw1": f"[hw1.groups.red]\n{until('hw1', 24)}"}
    ),
    "slip days after a member's extension": of_red(
        {"bob": [60]},
        (60, "0", 2),
        (60, "0", 2),
        slip=BANK,
        own={"hw1": f"[hw1.students.ada]\n{until('hw1', 24)}"},
    ),
    "extra minutes, then the grace": alone(
        [65 * MINUTE], (65 * MINUTE, "0", 0), own={"hw1": "[hw1.students.ada]\nextra_minutes = 60"}
    ),
    "beyond both": alone(
        [75 * MINUTE], (75 * MINUTE, "1", 0), own={"hw1": "[hw1.students.ada]\nextra_minutes = 60"}
    ),
    "refused but for slip days": alone([30], (30, "0", 2), course='late = "refuse"', slip=BANK),
    "none is spent where it buys nothing": Case(
        {"ada": {"hw1": [50], "hw2": [30]}},
        {"ada": {"hw1": REFUSED, "hw2": (30, "0", 2)}},
        course='late = "refuse"',
        slip=BANK,
    ),
    "none is spent on what is closed": Case(
        {"ada": {"hw1": [250], "hw2": [30]}}, {"ada": {"hw1": REFUSED, "hw2": (30, "0", 2)}}, slip=BANK
    ),
    "refused for the member without days": Case(
        {"ada": {"hw1": [30]}, "bob": {"hw2": [5]}},
        {"ada": {"hw1": (30, "0", 2), "hw2": REFUSED}, "bob": {"hw2": (5, "0", 1)}},
        course='late = "refuse"',
        slip="days = 2\nmost = 2",
        groups=RED_LATER,
    ),
    "refused for both": of_red({"bob": [5]}, REFUSED, REFUSED, course='late = "refuse"'),
    "accepted for one member": of_red(
        {"bob": [5]}, (5, "0", 0), (5, "1", 0), own={"hw1": '[hw1.students.ada]\nlate = "accept"'}
    ),
    "refused for one member": of_red(
        {"bob": [5]}, REFUSED, (5, "1", 0), own={"hw1": '[hw1.students.ada]\nlate = "refuse"'}
    ),
    "accepted for the group": of_red(
        {"bob": [5]}, (5, "0", 0), (5, "0", 0), own={"hw1": '[hw1.groups.red]\nlate = "accept"'}
    ),
    "accepted, and no slip day is spent": Case(
        BOTH_LATE,
        {"ada": {"hw1": (30, "0", 0), "hw2": (30, "0", 2)}},
        slip=BANK,
        own={"hw1": '[hw1.students.ada]\nlate = "accept"'},
    ),
    "a person decides": alone([5], (5, "0", 0), course='late = "review"'),
    "the first step": alone([1], (1, "0.5", 0), course=STEPS),
    "the second one, and not their sum": of_red({"ada": [25]}, (25, "2", 0), (25, "2", 0), course=STEPS),
    "the last attempt": alone([-1, 5], (5, "1", 0)),
    "the last one in time": alone([-1, 5], (-1, "0", 0), course=f'counts = "in-time"\n{PENALTY}'),
    "a late one that is taken, before one that is closed": alone([20, 200], (20, "1", 0)),
    "the group's last in time": of_red({"ada": [-2], "bob": [-1]}, (-1, "0", 0), (-1, "0", 0)),
    "the group's last": of_red({"ada": [-1], "bob": [5]}, (5, "1", 0), (5, "1", 0)),
    "the group's last in time where that is stated": of_red(
        {"ada": [-1], "bob": [5]}, (-1, "0", 0), (-1, "0", 0), course=f'counts = "in-time"\n{PENALTY}'
    ),
    "the group's last in time where a person decides": of_red(
        {"ada": [-1], "bob": [5]}, (-1, "0", 0), (-1, "0", 0), course='late = "review"'
    ),
    "the group's last before it is closed": of_red({"ada": [-1], "bob": [300]}, (-1, "0", 0), (-1, "0", 0)),
    "points": alone(
        [30], (30, "3", 0), course='late = "penalty"\npenalty = { per_day = 1.5, unit = "points" }'
    ),
    "of what was earned": alone(
        [30],
        (30, "1.6", 0),
        course='late = "penalty"\npenalty = { per_day = 10, unit = "percent-of-earned" }',
    ),
    "hours": alone([2.5], (2.5, "0.3", 0), course='late = "penalty"\npenalty = { per_hour = 1 }'),
    "the floor": alone(
        [30], (30, "3", 0), course='late = "penalty"\npenalty = { per_day = 50, floor = 20 }', earned="5"
    ),
    "never below nothing": alone(
        [1], (1, "3", 0), course='late = "penalty"\npenalty = { per_day = 50 }', earned="3"
    ),
    "a penalty of its own": Case(
        {"ada": {"hw1": [1], "hw2": [1]}},
        {"ada": {"hw1": (1, "1", 0), "hw2": (1, "2", 0)}},
        own={"hw2": "penalty = { per_day = 20 }"},
    ),
    "groups of one assignment": Case(
        {"bob": {"hw1": [-1]}, "cleo": {"hw2": [-2]}},
        {
            "ada": {"hw1": (-1, "0", 0), "hw2": (-2, "0", 0)},
            "bob": {"hw1": (-1, "0", 0), "hw2": NOTHING},
            "cleo": {"hw1": NOTHING, "hw2": (-2, "0", 0)},
        },
        groups="group,student,assignment\nred,ada,\nred,bob,\nblue,ada,hw2\nblue,cleo,hw2\n",
    ),
}


def written(root: Path, case: Case) -> Course:
    """Return a course with the submissions of a case."""
    stated = [f'[course]\nzone = "UTC"\ngrace_minutes = {case.grace}\n{case.course}']
    stated += [f"[course.slip_days]\n{case.slip}"] if case.slip else []
    for name in ENDS:
        stated.append(f"[{name}]\n{until(name, 0)}\n{case.own.get(name, '')}")
        for folder in (f"assignments/{name}", "rubrics", "submitted"):
            (root / folder).mkdir(parents=True, exist_ok=True)
        (root / f"rubrics/{name}.toml").write_text(RUBRIC.format(name=name))
    (root / "exams.toml").write_text("\n".join(stated))
    (root / "roster.csv").write_text("id\nada\nbob\ncleo\n")
    if case.groups:
        (root / "groups.csv").write_text(case.groups)
    for student, handed in case.attempts.items():
        for name, hours in handed.items():
            places = [f"earlier/{student}/{name}/{one}" for one in range(len(hours) - 1)]
            for place, late in zip((*places, f"submitted/{student}/{name}"), hours, strict=True):
                (root / place).mkdir(parents=True)
                moment = ENDS[name] + timedelta(hours=late)
                (root / place / "timestamp.txt").write_text(f"{moment:%Y-%m-%d %H:%M:%S} UTC")
    return Course.from_folder(root)


def told(handin: Handin, name: str, earned: Decimal) -> Counted | str:
    """Return the counting attempt of a student in the notation of cases."""
    timing = handin.timing
    assert timing is not None
    assert handin.submitted_at is not None
    if timing.refused:
        return REFUSED
    cell = CellPoints("essay", Decimal(10), earned, earned, earned, settled=True, pending=False)
    question = QuestionPoints("essay", bonus=False, possible=Decimal(10), cells=(cell,))
    total = Standing(handin.student, (question,), deduction=timing.deduction).total
    late = (handin.submitted_at - ENDS[name]).total_seconds() / 3600
    return (late, f"{(earned - total).normalize():f}", timing.slip.used if timing.slip else 0)


@pytest.mark.parametrize("name", CASES)
def test_what_counts_and_what_it_costs(name: str, tmp_path: Path) -> None:
    """The expected attempt counts for every student of the case."""
    case = CASES[name]
    course = written(tmp_path / name, case)
    for assignment in ENDS:
        counting = find_counting_attempts(course, rubrics.load_rubric(course.locate_rubric(assignment)))
        found = {one.student: told(one, assignment, Decimal(case.earned)) for one in counting.handins}
        foreseen = {who: counts[assignment] for who, counts in case.counts.items() if assignment in counts}
        assert foreseen == {who: rounded(found.get(who, NOTHING), foreseen[who]) for who in foreseen}


def rounded(found: Counted | str, like: Counted | str) -> Counted | str:
    """Return the found attempt, with the expected hours if they differ by less than a second."""
    if isinstance(found, tuple) and isinstance(like, tuple) and abs(found[0] - like[0]) < SECOND:
        return (like[0], *found[1:])
    return found
