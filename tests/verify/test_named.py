"""Verifying proves that named mistakes are told by their sentences, and earlier ones carried forward."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder import assignment as assignments
from autograder.sandbox.pool import Pool
from autograder.verify import VerifyFinding, verify
from tests.support.calling_course import COLUMNS, NAME, UNDIVIDED, calling_course
from tests.support.small_course import changed

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]


def findings(root: Path, pool: Pool, *changes: tuple[str, str]) -> dict[tuple[str, str], VerifyFinding]:
    """What verifying brings to light in a course with changes to its reference or rubric."""
    course = calling_course(root)
    for old, new in changes:
        path = course.reference / "calling.py"
        in_reference = old in path.read_text(encoding="utf-8")
        changed(path if in_reference else course.rubric(NAME), old, new)
    found = verify(assignments.load(course, NAME), pool)
    return {(one.paper, one.place): one for one in found.findings}


def test_the_course_of_functions_holds(tmp_path: Path, pool: Pool) -> None:
    """Each named mistake comes with its sentence and points, also on a wrong function before."""
    assert {} == findings(tmp_path, pool)


def test_mistakes_that_cannot_be_told_apart_are_named(tmp_path: Path, pool: Pool) -> None:
    """Two that give the same results on the drawn inputs are both not told."""
    same = COLUMNS.replace("powers", "p")
    found = findings(tmp_path, pool, (f'"source": {UNDIVIDED!r}', f'"source": {same!r}'))
    for trial, code in (("columns", "columns"), ("not divided", "undivided")):
        one = found.pop((f"trial {trial!r} of weights", "weights.rows"))
        assert f"told as {code!r}" == one.expected
        assert "cannot be told apart here: columns, undivided" in one.got
    assert {} == found


def test_a_trial_without_a_name_is_told_as_no_other(tmp_path: Path, pool: Pool) -> None:
    """Unless it says that it is the same mistake."""
    nothing = '"def weights(scores):\\n    return scores\\n", "loses": ["rows"]'
    same = f'{COLUMNS.replace("powers", "p")!r}, "loses": ["rows"]'
    (one,) = findings(tmp_path / "a", pool, (nothing, same)).values()
    assert ("trial 'nothing' of weights", "not told as the mistake of another trial") == (
        one.paper,
        one.expected,
    )
    assert one.got.startswith("told as 'columns'")
    stated = f'{same}, "codes": {{"rows": "columns"}}'
    assert {} == findings(tmp_path / "b", pool, (nothing, stated))


def test_what_too_little_shows_is_not_told(tmp_path: Path, pool: Pool) -> None:
    """Numbers that are not finite could come from anything, and the finding says what to do."""
    nowhere = "def weights(scores):\n    return scores * numpy.nan\n"
    (one,) = findings(tmp_path, pool, (f'"source": {UNDIVIDED!r}', f'"source": {nowhere!r}')).values()
    assert ("trial 'not divided' of weights", "told as 'undivided'") == (one.paper, one.expected)
    assert one.got.startswith("told as 'value.nan'")
    assert "too little differs" in one.remedy


def test_without_carrying_forward_a_mistake_costs_twice(tmp_path: Path, pool: Pool) -> None:
    """The planted right answers below a wrong one show it."""
    found = findings(tmp_path, pool, ('carry_forward = ["weights"]\n', ""))
    assert {
        ("trial 'right, on wrong weights' of attend", "attend.few"),
        ("trial 'right, on wrong weights' of attend", "attend.many"),
    } <= found.keys()
