"""Test cells from rubric to feedback: right, wrong, empty and crashing answers, outside and inside."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest

from autograder.core.records import CellOutcome, CellTest
from autograder.grading.assignment import load_assignment
from autograder.grading.pipeline import Grader
from autograder.sandbox.base import Box
from autograder.sandbox.judge_session import CellTester
from autograder.sandbox.pool import Pool
from autograder.sandbox.timeouts import SubmissionTimeouts
from tests.questions.general.tests_course import SQUARES, sat, told, write_tests_course

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]


@pytest.fixture(scope="module")
def graders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Grader]]:
    """Return graders of the same course, with tests judged outside and inside."""
    with Pool() as pool:
        yield {
            place: Grader(
                load_assignment(
                    write_tests_course(tmp_path_factory.mktemp(place), inside=place == "inside"), "tests"
                ),
                pool,
            )
            for place in ("outside", "inside")
        }


FULL = {
    "squares_test.values": ("3", "passed"),
    "squares_test.refused": ("1", "passed"),
    "scaled_test.arrays": ("4", "passed"),
    "last.one": ("1", "passed"),
    "last.two": ("1", "passed"),
}
ANSWERS = {
    "right": ({}, FULL),
    "a wrong value in the hidden part": (
        {"squares": SQUARES.replace("i**2", "min(i, 4) ** 2")},
        {**FULL, "squares_test.values": ("0", "tests.failed")},
    ),
    "nothing is refused": (
        {"squares": "def squares(n):\n    return [i**2 for i in range(1, n + 1)]"},
        {**FULL, "squares_test.refused": ("0", "tests.raised")},
    ),
    "empty": (
        {"squares": ""},
        {
            **FULL,
            "squares_test.values": ("0", "no-answer"),
            "squares_test.refused": ("0", "no-answer"),
            "scaled_test.arrays": ("0", "tests.failed"),
        },
    ),
    "changed in place": (
        {"scaled": "def scaled(x):\n    x *= 3\n    return x"},
        {**FULL, "scaled_test.arrays": ("0", "tests.failed")},
    ),
    "part of the points": (
        {"squares": SQUARES + "\n\nkept = squares\ndef squares(n):\n    return kept(n) if n != 2 else []"},
        {**FULL, "scaled_test.arrays": ("1.5", "tests.partial")},
    ),
    "all or nothing": (
        {"scaled": "def scaled(x):\n    return x + x + x.astype(float)"},
        {**FULL, "last.one": ("0", "tests.failed"), "last.two": ("0", "tests.together")},
    ),
    "it ends the box": (
        {"scaled": "import os\ndef scaled(x):\n    os._exit(0)"},
        {
            **FULL,
            "scaled_test.arrays": ("0", "ending.exited"),
            "last.one": ("0", "ending.exited"),
            "last.two": ("0", "tests.together"),
        },
    ),
    "it never ends": (
        {"squares": SQUARES.replace("if n < 1:", "while n == 5:\n        n = 5\n    if n < 0:")},
        {
            **FULL,
            "squares_test.values": ("0", "ending.call-time"),
            "squares_test.refused": ("0", "tests.raised"),
        },
    ),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_marks_outside(graders: dict[str, Grader], name: str) -> None:
    """Each answer earns the points of its tests, which run at their places in the notebook."""
    written, expected = ANSWERS[name]
    graded = sat(graders["outside"], **written)
    assert expected == told(graded), [result.staff for result in graded.score.items]
    assert "namespaces" == graded.score.isolation


@pytest.mark.parametrize("place", ["outside", "inside"])
def test_grade_does_not_run_a_test_again_that_is_known_to_run_out_of_time(
    place: str, graders: dict[str, Grader], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A test with a known timeout is skipped in the second run; all results stay the same."""
    ran: list[str] = []
    run_test = CellTester.run

    def count(self: CellTester, test: CellTest, student: Box, left: float = math.inf) -> CellOutcome:
        ran.append(test.name)
        return run_test(self, test, student, left)

    monkeypatch.setattr(CellTester, "run", count)
    written, _ = ANSWERS["it never ends"]
    first = sat(graders[place], **written)
    ran_first, ran[:] = ran[:], []
    again = sat(graders[place], timeouts=SubmissionTimeouts(first.timeouts), **written)
    assert [name for name in ran_first if name not in ran] == ["squares_test.values"]
    assert again.score.items == first.score.items
    assert again.timeouts == first.timeouts


def test_marks_inside(graders: dict[str, Grader]) -> None:
    """Tests in the student's box give the same results, and each result says where the test ran."""
    graded = sat(graders["inside"])
    assert FULL == told(graded), [result.staff for result in graded.score.items]
    assert "namespaces, tests inside" == graded.score.isolation
    assert all("own box" in result.staff for result in graded.score.items)
