"""Test that verify finds and names the defects of a course, and finds none in a correct one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import Struct

from autograder.core.errors import CourseError, RubricError
from autograder.course import Course
from autograder.grading import assignment as assignments
from autograder.grading.release_generation import generate_release
from autograder.grading.verify import Verification, VerifyFinding, verify
from autograder.sandbox.pool import Pool
from tests.support.small_course import NAME, changed, small_course

pytestmark = pytest.mark.sandbox


def verified(course: Course, name: str = NAME) -> Verification:
    """Return the result of verifying the course."""
    generate_release(course, name)
    with Pool() as pool:
        return verify(assignments.load_assignment(course, name), pool)


def places(verification: Verification) -> dict[tuple[str, str], VerifyFinding]:
    """Return the findings by paper and place."""
    return {(finding.paper, finding.place): finding for finding in verification.findings}


@pytest.mark.slow
def test_the_small_course_holds(tmp_path: Path) -> None:
    """Questions of all kinds in two notebooks verify without findings; only code needs boxes."""
    verification = verified(small_course(tmp_path))
    assert () == verification.findings
    assert ["mlp", "model", "layers", "activation", "places", "softmax", "thoughts"] == [
        matrix.question for matrix in verification.matrices
    ]
    assert 9 == verification.boxes == len(verification.matrices[5].rows)
    assert all(matrix.mistakes and matrix.alternatives for matrix in verification.matrices)
    assert 0 < verification.key.submission_seconds <= verification.most.submission_seconds
    assert verification.most.memory_mb > 1


def of_rubric(old: str, new: str) -> Callable[[Course], None]:
    """Return a defect in the rubric."""
    return lambda course: changed(course.locate_rubric(NAME), old, new)


def of_reference(old: str, new: str) -> Callable[[Course], None]:
    """Return a defect in the reference folder."""
    return lambda course: changed(course.reference / "small.py", old, new)


def of_checks(old: str, new: str) -> Callable[[Course], None]:
    """Return a defect in the checks."""
    return lambda course: changed(course.reference / "checks" / "softmax.py", old, new)


def of_notebook(name: str, old: str, new: str) -> Callable[[Course], None]:
    """Return a defect in a source notebook."""
    return lambda course: changed(course.sources / NAME / f"{name}.ipynb", old, new)


class Defect(Struct, frozen=True):
    """A defect that is planted in the course, and the expected finding."""

    plant: Callable[[Course], None]
    paper: str
    place: str
    expected: str
    got: str
    spreads: tuple[str, ...] = ()
    """Other places with findings."""


CANNOT_FAIL = Defect(
    of_checks("compare(student, reference, draw.normal(2, 3, 5))", "student.softmax(draw.normal(2, 3, 5))"),
    *("trial 'second axis' of softmax", "softmax.batch", "lost", "1 of 1 points (passed)"),
)
NO_TRIAL = Defect(
    of_rubric('trials = "small:trials"\n', ""),
    *("rubric", "softmax.overflow", "at least one trial that loses it", "kept by all 5 trials"),
)
ALTERNATIVE = Defect(
    of_reference('RIGHT.replace("weights", "w")', 'RIGHT.replace("weights.sum", "weights.max")'),
    *("trial 'other names' of softmax", "softmax.rows", "kept: all 2 points", "0 of 2 points (failed)"),
)
SHADOWED = Defect(
    of_rubric(
        '[[question.item.mistake]]\ncode = "embedding-counted"',
        '[[question.item.mistake]]\ncode = "one-more"\nwhen = 13\npoints = 0.5\n'
        'text = { en = "One too many." }\n\n[[question.item.mistake]]\ncode = "embedding-counted"',
    ),
    *("trial 'number: mistake embedding-counted: 13' of layers", "layers.number"),
    *("told as 'embedding-counted'", "told as 'one-more'"),
)
LOSES_MORE = Defect(
    of_reference('"loses": ["rows", "batch", "overflow"]', '"loses": ["rows", "overflow"]'),
    *("trial 'columns' of softmax", "softmax.batch", "kept: all 1 points", "0 of 1 points (failed)"),
)
POINTS = Defect(
    of_rubric(
        '[[question.item.mistake]]\ncode = "one-matrix-only"',
        '[[question.item.mistake]]\ncode = "half"\nwhen = "(2*d_model)^2"\npoints = 0.5\n'
        'text = { en = "Half of it." }\n\n[[question.item.mistake]]\ncode = "one-matrix-only"',
    ),
    "trial 'formula: mistake one-matrix-only: 4*d_model^2' of mlp",
    "mlp.formula",
    "1 of 2 points",
    "0.5 of 2 points (failed)",
)
WRONG_KEY = Defect(
    of_notebook("formulas", "layers = 12", "layers = 11"),
    *("answer key", "layers.number", "1 points", "0 of 1 points (failed)"),
)
LEFT_IN = Defect(
    of_notebook("formulas", "# layers = ...", "layers = 24 // 2"),
    *("release with comments", "layers.number", "0 points", "1 of 1 points (passed)"),
)
RAISES = Defect(
    of_notebook("code", '"import numpy\\n"', '"import numpi\\n"'),
    *("answer key", "code, cell 1", "a cell that runs", "raised ModuleNotFoundError"),
    spreads=("code, cell 3", "softmax"),
)
SLOW = Defect(
    of_notebook("formulas", 'import check"', 'import check\\nimport time\\ntime.sleep(1.2)"'),
    *("answer key", NAME, "at most 1 s, one part in 2 of cell_seconds", "1.2"),
)
MISLEADING = Defect(
    of_rubric(
        'kind = "code"\nnotebook = "code"\n',
        'kind = "code"\nnotebook = "code"\n'
        "visible = [{ args = [{ array = [[1.0, 1.0]] }], value = [[0.5, 0.6]] }]\n",
    ),
    *("answer key", "softmax, visible", "visible checks that pass"),
    "softmax(numpy.array([[1.0, 1.0]])) gives [[0.5, 0.5]]; expected [[0.5, 0.6]]",
)
SLOW_TRIAL = Defect(
    of_reference('RIGHT.replace("weights", "w")', '"import time\\ntime.sleep(1.2)\\n" + RIGHT'),
    *("trial 'other names' of softmax", "softmax", "at most 1 s, one part in 2 of cell_seconds", "1.2"),
)


@pytest.mark.slow
@pytest.mark.parametrize(
    "defects",
    [
        (CANNOT_FAIL, LOSES_MORE, POINTS, WRONG_KEY, LEFT_IN),
        (ALTERNATIVE, SLOW, SHADOWED),
        (NO_TRIAL, MISLEADING),
        (RAISES,),
        (SLOW_TRIAL,),
    ],
    ids=["checks and points", "alternative and time", "no trial", "raises", "slow trial"],
)
def test_each_defect_is_named(tmp_path: Path, defects: tuple[Defect, ...]) -> None:
    """Each defect is found at its place, with expected and actual values and a remedy."""
    course = small_course(tmp_path)
    for defect in defects:
        defect.plant(course)
    findings_by_place = places(verified(course))
    for defect in defects:
        assert (defect.paper, defect.place) in findings_by_place, sorted(findings_by_place)
        finding = findings_by_place[defect.paper, defect.place]
        assert defect.expected == finding.expected
        assert finding.got.startswith(defect.got)
        assert finding.remedy
    blamed = {place.partition(".")[0] for defect in defects for place in (defect.place, *defect.spreads)}
    assert blamed >= {place.partition(".")[0] for _, place in findings_by_place}


def test_a_formula_that_is_no_mistake_is_told_so(tmp_path: Path) -> None:
    """A named mistake that equals the right formula is reported."""
    course = small_course(tmp_path)
    changed(course.locate_rubric(NAME), 'when = "4*d_model^2"', 'when = "2*(2*d_model)^2"')
    (finding,) = [candidate for candidate in verified(course).findings if candidate.place == "mlp.formula"]
    assert "trial 'formula: mistake one-matrix-only: 2*(2*d_model)^2' of mlp" == finding.paper
    assert str(finding.remedy).startswith("this mistake is right")


def test_a_course_that_cannot_be_released_is_refused(tmp_path: Path) -> None:
    """Points that differ between notebook and rubric are reported when the release is made."""
    course = small_course(tmp_path)
    changed(
        course.locate_rubric(NAME),
        'kind = "number"\nnotebook = "formulas"\npoints = 1',
        'kind = "number"\npoints = 1',
    )
    with pytest.raises(RubricError, match=r"layers.*notebook"):
        verified(course)


def test_a_function_that_plants_nothing_useful_is_the_courses_fault(tmp_path: Path) -> None:
    """If a function returns no valid trials, the error names question, function and entry."""
    course = small_course(tmp_path)
    of_reference('"name": "columns"', '"nome": "columns"')(course)
    with pytest.raises(CourseError, match=r"'softmax': trials: 'small:trials': entry 1: .*nome"):
        verified(course)


def test_verify_quick_stops_before_the_trials(tmp_path: Path) -> None:
    """`--quick` grades only the answer key and the release."""
    course = small_course(tmp_path)
    for defect in (CANNOT_FAIL, WRONG_KEY):
        defect.plant(course)
    generate_release(course, NAME)
    with Pool() as pool:
        findings = verify(assignments.load_assignment(course, NAME), pool, quick=True).findings
    key = [(finding.paper, finding.place) for finding in findings if finding.paper != "rubric"]
    assert [("answer key", "layers.number")] == key
