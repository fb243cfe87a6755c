"""Individual notebooks of groups on the pages: what is submitted or missing, and who can see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from autograder.app import open_course
from autograder.core.records import ExecutedNotebook, Markdown
from autograder.grading.release_generation import generate_release
from tests.service import course
from tests.service.test_individual import RIGHT, grade_waiting, judged
from tests.support import small_course
from tests.support.small_course import NAME
from tests.web.people import Small, small
from tests.web.test_student import text

if TYPE_CHECKING:
    from pathlib import Path

    from autograder.core.records import GradingResult
    from autograder.rubric import Rubric
    from autograder.service.models import Attempt, CourseRecord

SECRET = "what only ada knows"


@pytest.fixture
def at(service_course: CourseRecord, tmp_path: Path) -> Small:
    """Return a course in which ada, bob and cleo are a group with an individual second notebook."""
    path = small_course.small_course(tmp_path / "course").locate_rubric(NAME)
    path.write_text(path.read_text().replace('{ name = "code" }', '{ name = "code", individual = true }'))
    generate_release(open_course(tmp_path / "course"), NAME)
    course_at = small(service_course, tmp_path / "course")
    course_at.offer.groups = {"red": ["ada", "bob", "cleo"]}
    course_at.offer.save()
    return course_at


def hand_in(at: Small, student: str, *names: str) -> Attempt:
    """Return an attempt with these notebooks."""
    files = course.answered(at.folder, layers_answer="layers = 12", softmax_answer=f"# {SECRET}\n{RIGHT}")
    return course.handed_in(at.offer, student, {f"{name}.ipynb": files[f"{name}.ipynb"] for name in names})


def with_notebooks(attempt: Attempt, rubric: Rubric) -> GradingResult:
    """Return a result that contains the submitted notebooks."""
    from msgspec.structs import replace

    from autograder.service import attempts

    handed = attempts.select_files_to_grade(attempt, rubric)
    shown = [
        ExecutedNotebook(name, (Markdown(data.decode()),), (None,))
        for name, data in handed.notebooks.items()
        if isinstance(data, bytes)
    ]
    return replace(judged(attempt, rubric), notebooks=tuple(shown))


def test_a_page_says_what_is_there_and_what_is_missing(at: Small) -> None:
    """The page lists files of the group and individual ones.

    An attempt with one part has no missing files.
    """
    pages = {who: at.client("student", who) for who in ("ada", "bob", "zoe")}
    place = f"{at.base}a/{NAME}/"
    empty = text(pages["bob"].get(place))
    assert "formulas.ipynb: not submitted yet" in empty
    assert "code.ipynb: not submitted yet" in empty
    hand_in(at, "ada", "formulas", "code")
    hand_in(at, "bob", "code")
    grade_waiting(at.offer)
    seen = {who: text(client.get(place)) for who, client in pages.items()}
    for who in ("ada", "bob"):
        assert "formulas.ipynb: submitted by ada" in seen[who]
        assert f"code.ipynb: submitted by {who}" in seen[who]
        assert "not submitted yet" not in seen[who]
    assert "counts for the group" in seen["bob"]
    assert "counts for your individual files" in seen["bob"]
    assert "counts for the group" not in seen["ada"]  # her attempt has both parts
    assert "Group files and individual files" not in seen["zoe"]
    alone = text(pages["bob"].get(f"{place}1/"))
    assert "counts for your individual files" in alone
    assert "formulas.ipynb" not in alone
    assert 200 == pages["bob"].get(f"{place}1/receipt").status_code


def test_nobody_sees_what_another_did_alone(at: Small) -> None:
    """Other members see individual parts neither in files nor in feedback."""
    from autograder.service import attempts, versions
    from autograder.web import assignment_details

    hand_in(at, "ada", "formulas", "code")
    attempt = course.handed_in(at.offer, "bob", {"code.ipynb": course.answered(at.folder)["code.ipynb"]})
    rubric = versions.load_rubric(at.offer.version)
    grade_waiting(at.offer, with_notebooks)
    at.offer.published_at = attempt.submitted_at
    at.offer.save()
    feedback = {
        who: assignment_details.render_feedback(at.offer, who, "en") or "" for who in ("ada", "bob", "cleo")
    }
    assert {"ada": True, "bob": False, "cleo": False} == {
        who: SECRET in page for who, page in feedback.items()
    }
    assert all("layers = 12" in page for page in feedback.values())
    place = f"{at.base}a/{NAME}/"
    for who in ("bob", "cleo"):
        client = at.client("student", who)
        assert SECRET not in text(client.get(place))
        number = 1 if who == "cleo" else 2
        assert 404 == client.get(f"{place}{number}/").status_code
        assert 404 == client.get(f"{place}{number}/files/code.ipynb").status_code
    assert SECRET not in str(attempts.select_files_to_grade(attempt, rubric).notebooks["code"])


def test_staff_form_groups_of_such_an_assignment(at: Small) -> None:
    """A member who leaves keeps their own submission, and exports have a line for each student."""
    from autograder.grading.store import Student
    from autograder.service import platform_files
    from autograder.service.store import DatabaseStore
    from autograder.web import assignment_details

    DatabaseStore(at.record).enroll_students(Student(student) for student in ("ada", "bob", "cleo"))
    hand_in(at, "ada", "formulas", "code")
    hand_in(at, "bob", "code")
    grade_waiting(at.offer)

    def points() -> dict[str, int]:
        lines = platform_files.build_grade_lines(at.offer, assignment_details.get_assignment(at.offer), "en")
        return {line.student: int(line.points) for line in lines if line.points is not None}

    assert {"ada": 4, "bob": 4, "cleo": 1} == points()
    place = f"{at.base}staff/a/{NAME}/groups/"
    client = at.client("instructor")
    assert 302 == client.post(place, {"group": "red", "members": "ada, cleo"}).status_code
    at.offer.refresh_from_db()
    grade_waiting(at.offer)
    assert {"ada": 4, "bob": 3, "cleo": 1} == points()
