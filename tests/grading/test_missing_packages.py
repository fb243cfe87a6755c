"""Test that a missing package where notebooks are graded costs no points without manual review."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal

import nbformat
import pytest

from autograder.core.records import Answer, ItemResult, Message, Status
from autograder.grading import assignment as assignments
from autograder.grading.pipeline import Grader, SubmittedFiles
from autograder.grading.unreadable_answers import (
    IMPORT_FAILED,
    AnswerFacts,
    FailedImport,
    NotebookGaps,
    review_zeros,
)
from autograder.grading.verify.papers import with_sources
from autograder.sandbox.pool import Pool
from tests.support.calling_course import ATTEND, NAME, RIGHT, WEIGHTS, calling_course, results, sat

pytestmark = pytest.mark.sandbox

POINTS = Decimal(8)


@pytest.fixture(scope="module")
def grader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Grader]:
    """Return a grader of three functions, each of which calls the previous ones."""
    course = calling_course(tmp_path_factory.mktemp("course"))
    with Pool() as pool:
        yield Grader(assignments.load_assignment(course, NAME), pool)


@pytest.mark.parametrize(
    "start",
    [
        "import einops_is_not_here",
        "import einops_is_not_here as eo, numpy as np",
        "from einops_is_not_here import rearrange",
        "from einops_is_not_here.layers import Rearrange",
        "from math import no_such_name, sqrt\nsqrt(4)",
        "import math, einops_is_not_here\nmath.sqrt(4)",
        "import einops_is_not_here, math\nmath.sqrt(4)",
        "%matplotlib inline\nimport einops_is_not_here",
        "import einops_is_not_here\n!ls",
        "%load_ext tensorboard_is_not_here",
        "%load_ext tensorboard_is_not_here\n%tensorboard --logdir runs",
        "# my answer\n%%time",
        "%no_such_magic",
        "try:\n    import einops_is_not_here\nexcept ImportError:\n    pass",
    ],
    ids=repr,
)
def test_grade_keeps_all_points_when_an_unused_import_fails(start: str, grader: Grader) -> None:
    """A cell is run despite a failed import that it does not use; staff see which import failed."""
    graded = sat(grader, weights=f"{start}\n\n{WEIGHTS}")
    assert sum(item.points for item in graded.score.items) == POINTS
    failed = not start.startswith("try")
    assert {note.place for note in graded.score.notes if note.code == IMPORT_FAILED} == {"cell 2"} & (
        {"cell 2"} if failed else set()
    )


@pytest.mark.parametrize(
    "source",
    [
        "import einops_is_not_here\n"
        + WEIGHTS.replace("    return", "    einops_is_not_here.check(powers)\n    return"),
        "from einops_is_not_here import traced\n"
        + WEIGHTS.replace("    return", "    traced(powers)\n    return"),
        WEIGHTS.replace("    return", "    import einops_is_not_here\n    return"),
        "import einops_is_not_here\n\nclass Base(einops_is_not_here.Layer):\n    pass\n\n" + WEIGHTS,
        "import einops_is_not_here\n\n@einops_is_not_here.traced\n" + WEIGHTS,
    ],
    ids=["used in the function", "used by name", "imported in the function", "base of a class", "decorator"],
)
def test_grade_asks_a_person_when_an_answer_needs_a_missing_package(source: str, grader: Grader) -> None:
    """An answer that needs a missing package needs manual review, and the page names the package."""
    result = results(sat(grader, weights=source))["weights.rows"]
    assert (Status.NEEDS_REVIEW, "review.import") == (result.status, result.code)
    assert result.student.params["package"] == "einops_is_not_here"


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("from own_part import weights", "own_part.py"),
        ("from own_part import *", "own_part.py"),
        ("from own_part import rows as weights", "own_part.py"),
        ("import own_part\nweights = own_part.weights", "own_part.py"),
        ("import own_part\n" + WEIGHTS.replace("numpy.exp", "own_part.exp"), "own_part.py"),
        (WEIGHTS.replace("    powers", "    from own_part import exp\n    powers", 1), "own_part.py"),
        ("from own_part.rows import weights", "own_part/rows.py"),
        ("exec(open('own_part.py').read())", "own_part.py"),
        ("%run own_part.py", "own_part.py"),
    ],
    ids=repr,
)
def test_grade_names_a_module_that_was_handed_in_and_is_not_taken_along(
    source: str, name: str, grader: Grader
) -> None:
    """If a submitted module is not available to the notebook, students and staff see why."""
    sources = {f"{question}-answer": text for question, text in {**RIGHT, "weights": source}.items()}
    paper = with_sources(grader.assignment.release_bytes[NAME], sources)
    result = results(grader.grade(SubmittedFiles("ada", {NAME: paper}, beside=(name,))))["weights.rows"]
    assert (Status.NEEDS_REVIEW, "review.module") == (result.status, result.code)
    assert result.student.params["file"] == name
    assert name in result.staff


def test_grade_asks_a_person_about_blank_answers_beside_a_module_that_was_imported_whole(
    grader: Grader,
) -> None:
    """Blank answers need review if the notebook imports everything from a submitted module."""
    tree = json.loads(grader.assignment.release_bytes[NAME])
    tree["cells"].insert(1, nbformat.v4.new_code_cell("from my_answers import *"))
    paper = json.dumps(tree).encode()
    there = results(grader.grade(SubmittedFiles("ada", {NAME: paper}, beside=("my_answers.py",))))
    assert {(Status.NEEDS_REVIEW, "review.module")} == {
        (result.status, result.code) for result in there.values()
    }


def test_grade_opens_an_item_that_is_right_in_part_without_the_package(grader: Grader) -> None:
    """All items that lost points because of the missing name need review, also those with partial credit."""
    question = grader.assignment.rubric.get_question("weights")
    submission = grader.assignment.read_submission(NAME, grader.assignment.release_bytes[NAME], "ada")
    gaps = NotebookGaps((FailedImport(2, "einops", frozenset({"rearrange"})),))
    facts = AnswerFacts(
        question,
        grader.assignment.checks["weights"],
        Answer("weights-answer", "code", "rearrange()", changed=True),
        submission,
        (None,) * len(submission.cells),
        (),
        gaps,
        (),
        frozenset(),
    )
    half, staff = Decimal("0.5"), "a pass: NameError: name 'rearrange' is not defined"
    item = question.items[0].id
    given_result = ItemResult(
        "weights", item, Status.FAILED, half, Decimal(1), Message("raised"), staff, "raised"
    )
    (result,), notes = review_zeros([given_result], facts)
    assert (Status.NEEDS_REVIEW, Decimal(0), "review.import") == (result.status, result.points, result.code)
    assert "0.5 of 1 points" in result.staff
    assert not notes


def test_grade_still_fails_an_answer_that_raises_for_another_reason(grader: Grader) -> None:
    """A failed import does not excuse another error."""
    source = "import einops_is_not_here\n" + ATTEND.replace("weights(", "undefined_name(")
    item_results = results(sat(grader, attend=source))
    assert {Status.FAILED} == {item_results["attend.few"].status, item_results["attend.many"].status}


def test_grade_reports_a_syntax_error_as_such(grader: Grader) -> None:
    """A syntax error fails the item and is reported with its line."""
    result = results(sat(grader, weights=WEIGHTS.replace("(scores)", "(scores", 1)))["weights.rows"]
    assert (Status.FAILED, "answer.not-python") == (result.status, result.code)
