"""Second rounds: an accepted answer is handed back with a fault, and its checks decide about it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from autograder import assignment as assignments
from autograder.app.second_round import SecondRoundMade, outcomes, second_round
from autograder.app.stores import open_store
from autograder.cli.app import app
from autograder.errors import CourseError
from autograder.notebook.build import with_answer
from autograder.records import Graded, Status
from tests.support.second_course import FORMULA, IN_STEPS, NAME, RIGHT, WRONG, graded, hand_in, made

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

CODE, CHANGED = f"{NAME}-soften-second", f"{NAME}-weights-second"
STUDENTS = {
    "ada": (RIGHT, FORMULA),
    "bob": (WRONG, FORMULA),
    "cem": (IN_STEPS, FORMULA),
    "dora": (RIGHT, 'weights = "3*d_model^2"'),
    "eve": (IN_STEPS, 'weights = "4*d_model^2 "'),
}


class Rounds:
    """A graded class, and what came of both of its second rounds."""

    def __init__(self, root: Path) -> None:
        self.course = made(root, STUDENTS)
        graded(self.course, NAME)
        self.code = second_round(self.course, NAME, "soften")
        self.changed = second_round(self.course, NAME, "weights")
        hand_in(self.course, "ada", CODE, self.answered("ada", CODE, "soften-answer", RIGHT))
        given = self.notebook("cem", CODE)
        hand_in(self.course, "cem", CODE, given)
        touched = self.given("dora") + "\n# looked at it\n"
        hand_in(self.course, "dora", CODE, self.answered("dora", CODE, "soften-answer", touched))
        hand_in(self.course, "bob", CODE, given)
        graded(self.course, CODE)
        hand_in(self.course, "ada", CHANGED, self.notebook("ada", CHANGED))
        right = 'weights = "13/4*d_model^2"'
        hand_in(self.course, "bob", CHANGED, self.answered("bob", CHANGED, "weights-answer", right))
        graded(self.course, CHANGED)

    def notebook(self, student: str, name: str) -> bytes:
        """What a student was given."""
        return (self.course.personal(student, name) / f"{name}.ipynb").read_bytes()

    def given(self, student: str) -> str:
        """The code that a student was given."""
        cells = json.loads(self.notebook(student, CODE))["cells"]
        return "".join(
            next(
                one["source"]
                for one in cells
                if one["metadata"].get("nbgrader", {}).get("grade_id") == "soften-answer"
            )
        )

    def answered(self, student: str, name: str, cell: str, source: str) -> bytes:
        """A student's notebook with another answer."""
        return with_answer(self.notebook(student, name), cell, source)

    def results(self, name: str) -> dict[str, Graded]:
        """What was graded, by student."""
        with open_store(assignments.load(self.course, name), new=False) as store:
            return store.results(name)


@pytest.fixture(scope="module")
def rounds(tmp_path_factory: pytest.TempPathFactory) -> Rounds:
    """Made once."""
    return Rounds(tmp_path_factory.mktemp("rounds"))


def reasons(found: SecondRoundMade) -> dict[str, str]:
    """Why students have no second round."""
    return {one.student: one.reason for one in found.students if one.reason}


def test_only_accepted_answers_come_back(rounds: Rounds) -> None:
    """Whose answer lost something is told why there is no second round."""
    assert {"bob": "not-passed"} == reasons(rounds.code)
    assert {"dora": "not-passed"} == reasons(rounds.changed)
    told = (rounds.course.personal("bob", CODE) / "README.md").read_text()
    assert "did not pass all of its checks" in told


def test_a_fault_is_planted_that_the_checks_notice(rounds: Rounds) -> None:
    """The student's own code comes back with one line changed, and its comments kept."""
    for one in rounds.code.students:
        if one.fault is None:
            continue
        own, given = STUDENTS[one.student][0].split(), rounds.given(one.student).split()
        assert own != given
        assert one.fault.loses == one.tried[-1].loses != ()
    assert "# a copy" in rounds.given("cem")


def test_the_same_fault_is_planted_again(rounds: Rounds) -> None:
    """What was handed out stays; made anew, it is the same for the same secret and answer."""
    again = second_round(rounds.course, NAME, "soften", students=["cem"])
    assert [True] == [one.kept for one in again.students]
    before = rounds.given("cem")
    second_round(rounds.course, NAME, "soften", students=["cem", "ada", "dora", "eve"], replace_all=True)
    assert before == rounds.given("cem")


def test_points_are_given_for_a_repair_alone(rounds: Rounds) -> None:
    """Repaired: all points; untouched or only commented: none, though most checks pass."""
    found = {student: one.score for student, one in rounds.results(CODE).items()}
    points = {student: sum(item.points for item in score.items) for student, score in found.items()}
    assert {"ada": 3, "bob": 0, "cem": 0, "dora": 0} == points
    assert {Status.PASSED} == {item.status for item in found["ada"].items}
    assert {"second-round.repaired"} == {item.student.code for item in found["ada"].items}
    assert {Status.NO_ANSWER} == {item.status for item in found["cem"].items}
    kept = [item for item in found["dora"].items if item.student.code.startswith("second-round")]
    assert {"second-round.left"} >= {item.student.code for item in kept}
    outcome = {one.student: one.outcome for one in outcomes(rounds.course, CODE)}
    assert {"ada": "repaired", "cem": "left", "dora": "left", "eve": "missing"} == outcome


def test_who_was_given_nothing_back_waits_for_a_person(rounds: Rounds) -> None:
    """Somebody else's notebook brings no points, and is not taken for an answer."""
    assert {Status.NEEDS_REVIEW} == {item.status for item in rounds.results(CODE)["bob"].score.items}


def test_a_formula_is_asked_for_a_changed_model(rounds: Rounds) -> None:
    """The accepted formula is wrong now; what is right now is judged as any formula."""
    assert {"ada", "bob", "cem", "eve"} == {one.student for one in rounds.changed.students if one.fault}
    outcome = {one.student: one.outcome for one in outcomes(rounds.course, CHANGED)}
    assert {"ada": "left", "bob": "repaired", "cem": "missing", "eve": "missing"} == outcome
    prompt = json.loads(rounds.notebook("ada", CHANGED))["cells"][0]["source"]
    assert "Four heads share their keys." in "".join(prompt)


def test_what_cannot_have_a_second_round_is_refused(rounds: Rounds) -> None:
    """Errors name the questions that can be, and what is no second round."""
    with pytest.raises(CourseError, match="those that can be: soften, weights"):
        second_round(rounds.course, NAME)
    with pytest.raises(CourseError, match="no question 'x'"):
        second_round(rounds.course, NAME, "x")
    with pytest.raises(CourseError, match="no second round"):
        outcomes(rounds.course, NAME)


def test_an_assignment_of_ones_own_is_not_written_over(tmp_path: Path) -> None:
    """What somebody else called so stays."""
    course = made(tmp_path, {"ada": STUDENTS["ada"]})
    graded(course, NAME)
    (course.rubrics / f"{CODE}.toml").write_text("version = 1\n")
    with pytest.raises(CourseError, match="is no second round; rename"):
        second_round(course, NAME, "soften")


def test_the_command_tells_what_became_of_it(rounds: Rounds) -> None:
    """As a table and as JSON."""
    arguments = ["second-round", CODE, "--course", str(rounds.course.root), "--outcomes"]
    shown = CliRunner().invoke(app, arguments)
    assert "left: 2, missing: 1, repaired: 1" in " ".join(shown.output.split())
    told = json.loads(CliRunner().invoke(app, [*arguments, "--json"]).output)
    assert {"repaired", "left", "missing"} == {one["outcome"] for one in told["students"]}
    again = ["second-round", NAME, "--question", "soften", "--course", str(rounds.course.root), "--json"]
    made_again = json.loads(CliRunner().invoke(app, again).output)
    assert [True] * 4 == [one["kept"] for one in made_again["students"] if one["fault"]]
