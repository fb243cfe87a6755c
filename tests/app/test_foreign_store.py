"""A store of somebody else's: a package that registers one is found by a course that names it, and used."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.app.stores import open_store
from autograder.assignment import Assignment, load
from autograder.course import Course
from autograder.errors import CourseError, NothingKept
from autograder.gradebook import Gradebook
from tests.grading.test_batch import CONTROL, NAME, hand_in, make_course

ROOT = Path(__file__).parents[2]
FILES = {
    "shelves.py": '''
"""A store on shelves, which last as long as the program."""

from autograder.errors import CourseError, NothingKept
from autograder.store import FrontEnd
from autograder.store.memory import MemoryStore

SHELVES = {}


class Shelf(MemoryStore):
    front_end = FrontEnd("the reading room", "the shelf", "take them off the shelf")


def opened(course, options, *, new):
    if options.keys() - {"number"}:
        raise CourseError(f"a shelf has a number, got {options}")
    place = (course.root, options["number"])
    if not new and place not in SHELVES:
        raise NothingKept(f"shelf {options['number']} is empty")
    return SHELVES.setdefault(place, Shelf())
''',
    "shelves-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: shelves\nVersion: 1.0\n",
    "shelves-1.0.dist-info/entry_points.txt": (
        "[autograder.stores]\nshelf = shelves:opened\nlost = gone:opened\n"
    ),
}
"""A package as it lies where it was installed."""


@pytest.fixture(scope="module")
def assignment(tmp_path_factory: pytest.TempPathFactory) -> Assignment:
    """Of a course of its own."""
    return load(make_course(tmp_path_factory.mktemp("class") / "course"), NAME)


@pytest.fixture
def course(assignment: Assignment) -> Course:
    """It says nothing of a store."""
    assignment.course.settings.unlink(missing_ok=True)
    return assignment.course


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder on the path in which the package is installed."""
    folder = tmp_path_factory.mktemp("site")
    for name, content in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content.lstrip("\n"), "utf-8")
    return folder


def told(place: Path, course: Course, code: str) -> object:
    """What a program prints as JSON that finds the package beside ours."""
    lines = (
        f"import json, sys\nfrom pathlib import Path\nsys.path.insert(0, {str(place)!r})\n"
        "from autograder.app import open_course\n"
        f"course, NAME = open_course(Path({str(course.root)!r})), {NAME!r}\n{code}"
    )
    done = subprocess.run(
        [sys.executable, "-c", lines], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
    )
    assert "" == done.stderr, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("text", [None, "", "[store]\n", '[store]\nkind = "nbgrader"\n'])
def test_a_course_that_names_none_has_nbgraders(
    course: Course, assignment: Assignment, text: str | None
) -> None:
    """Without a file, with an empty one, and where it is named."""
    if text is not None:
        course.settings.write_text(text)
    with pytest.raises(NothingKept, match="no gradebook yet"):
        open_store(assignment, new=False)
    with open_store(assignment, new=True) as store:
        assert isinstance(store, Gradebook)
    course.gradebook.unlink()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[store", r"course\.toml: not valid TOML"),
        ("[shelf]\n", r"course\.toml: unknown key 'shelf'; known are: store"),
        ("store = 3\n", r"course\.toml: store: expected a table"),
        ("[store]\nkind = 3\n", r"course\.toml: \[store\]: kind: expected a text in quotes, got 3"),
        ('[store]\nurl = "x"\n', r"course\.toml: \[store\]: unknown key 'url'; known are: kind"),
        ('[store]\nkind = "nbgradr"\n', "unknown store 'nbgradr'; did you mean 'nbgrader'"),
    ],
)
def test_what_is_wrong_with_the_file_is_named(
    course: Course, assignment: Assignment, text: str, said: str
) -> None:
    """Also where the package of the store is not installed; nothing is kept elsewhere instead."""
    course.settings.write_text(text)
    with pytest.raises(CourseError, match=said):
        open_store(assignment, new=True)
    assert not course.gradebook.exists()


def test_errors_of_its_package_are_told(place: Path, course: Course) -> None:
    """A name that is nearly right, a package that cannot be loaded, options that it does not know."""
    found = told(
        place,
        course,
        """
from autograder.app.stores import open_store
from autograder.assignment import load
from autograder.errors import CourseError

assignment, said = load(course, NAME), []
for text in ('kind = "shelv"', 'kind = "lost"', 'kind = "shelf"\\nnumbre = 3', 'kind = "shelf"\\nnumber = 3'):
    course.settings.write_text(f"[store]\\n{text}\\n")
    try:
        open_store(assignment, new=False)
    except CourseError as error:
        said.append(str(error))
print(json.dumps(said))
""",
    )
    assert [
        "unknown store 'shelv'; did you mean 'shelf'?",
        "store 'lost': shelves cannot be loaded: No module named 'gone'",
        "a shelf has a number, got {'numbre': 3}",
        "shelf 3 is empty",
    ] == found


@pytest.mark.slow
@pytest.mark.sandbox
def test_a_class_is_graded_into_it(place: Path, course: Course) -> None:
    """Grades and pages come from it, staff are sent to where it is marked, and nbgrader's is not made."""
    hand_in(course, "ada", CONTROL)
    course.settings.write_text('[store]\nkind = "shelf"\nnumber = 7\n')
    points, page = told(  # type: ignore[misc]
        place,
        course,
        """
from autograder.app.classes import feedback, grade, standings

graded = grade(course, NAME)
rows = standings(course, NAME).rows
feedback(course, NAME)
page = (course.root / "staff" / f"{NAME}-marking.html").read_text("utf-8")
print(json.dumps([[str(graded.outcomes[0].graded.score.points), str(rows["ada"].total)], page]))
""",
    )
    assert points[0] == points[1] != "0"
    assert "for each of them in the reading room, or" in page
    assert "formgrader" not in page
    assert not course.gradebook.exists()
