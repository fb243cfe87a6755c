"""Test ``autograder verify --explain`` in the sandbox: which checks pass for which answer."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path

import pytest
from typer.testing import CliRunner

from autograder.cli.app import app
from autograder.core.errors import CourseError
from autograder.course import Course
from autograder.grading.assignment import load_assignment
from autograder.grading.verify import verify
from autograder.grading.verify.explanation import Explainer
from autograder.sandbox.pool import Pool
from tests.support.code_course import NAME, code_course

SCALE = '''
from autograder.checking import Unclear, assert_equal, check, fault, mutant, planted, solution

solution(source="""
def scale(numbers, factor):
    return [factor * n for n in numbers if n is not None]
""")

@check(points=1, title="Right", parts=["few", "many"])
def right(student, reference, draw, part):
    numbers = draw.integers(1, 50, 2 if part == "few" else 8).tolist()
    found = student.scale(numbers, 3)
    if found == [7]:
        raise Unclear("seven")
    assert_equal(found, reference.scale(numbers, 3))

@fault("if n is not None", "if n", points=1, title="Zeros count")
def zeros(student, reference, draw):
    assert len(student.scale([0, 8], 1)) == 2

mutant("adds", "factor * n", "factor + n", title="It is a product.")
planted("lies", "def scale(numbers, factor):\\n    return [7]", loses=["right", "zeros"])
'''
OTHER = (
    SCALE.replace("scale", "stretch")
    + """
@check(points=1, title="One for each")
def length(student, reference, draw):
    assert len(student.stretch([1, 2, 3], 5)) == 3
"""
)
EXPLAIN = ("verify", NAME, "--explain", "scale")


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("explained")
    code_course(root, {"scale": (2, SCALE), "stretch": (3, OTHER)})
    (root / "mine.py").write_text("def scale(numbers, factor):\n    return [factor + n for n in numbers]\n")
    return root


def explain(course: Path, *options: str) -> tuple[int, list[str]]:
    result = CliRunner().invoke(app, [*EXPLAIN, *options, "--course", str(course)])
    return result.exit_code, result.output.splitlines()


@pytest.mark.sandbox
@pytest.mark.slow
def test_verify_explain_prints_checks_by_answers(course: Path) -> None:
    """The table shows undecided checks separately, and planted answers with unexpected results."""
    code, lines = explain(course)
    table = {line[:14].strip(): line[14:].split() for line in lines[:5]}
    assert 1 == code
    assert {
        "": ["right", "zeros"],
        "solution": ["✓", "✓"],
        "mutant adds": ["✗", "✓"],
    }.items() <= table.items()
    assert ["?", "✗", "expected", "to", "lose", "right,", "zeros"] == table["planted lies"]
    assert ["✓", "✗"] == table["fault zeros"]
    assert "right [few]   ? review   line 14: seven" in lines


@pytest.mark.sandbox
@pytest.mark.slow
def test_verify_explain_shows_inputs_and_values_of_an_answer(course: Path) -> None:
    code, lines = explain(course, "--answer", str(course / "mine.py"), "--values")
    at = next(index for index, line in enumerate(lines) if line.startswith("right [few]"))
    assert 1 == code
    assert lines[at].endswith("= adds")
    drawn, compared = lines[at + 1 : at + 3]
    first, second = ast.literal_eval(drawn.partition(" = ")[2].removeprefix("array"))
    assert drawn.startswith("    draw.integers(1, 50, 2) = ")
    assert f"    compared [{first + 3}, {second + 3}]; expected [{first * 3}, {second * 3}]" == compared


@pytest.mark.sandbox
@pytest.mark.slow
def test_verify_warns_of_checks_that_pass_for_no_work(course: Path) -> None:
    """A property that an unchanged input has as well is reported."""
    with Pool() as pool:
        verified = verify(load_assignment(Course.from_folder(course), NAME), pool)
    warned = {(warning.place, warning.got) for warning in verified.warnings}
    assert {
        ("stretch", "zeros, length: earned by an answer that returns its first argument"),
        ("scale", "zeros: earned by an answer that returns its first argument"),
        (
            "stretch",
            "zeros, length: manual review for an answer that returns nothing, an answer that returns ones",
        ),
        ("scale", "zeros: manual review for an answer that returns nothing, an answer that returns ones"),
    } == warned


QUESTIONS: Mapping[str, str] = {
    "scala": "question 'scala' is not there; did you mean 'scale'?",
    "gone": "question 'gone' is not there; known: scale, stretch",
}


@pytest.mark.parametrize(("question", "message"), QUESTIONS.items(), ids=QUESTIONS)
def test_explainer_refuses_other_questions(question: str, message: str, course: Path) -> None:
    with Pool() as pool, pytest.raises(CourseError, match=message[:40]) as raised:
        Explainer(load_assignment(Course.from_folder(course), NAME), pool, question, show_values=False)
    assert message == str(raised.value)
