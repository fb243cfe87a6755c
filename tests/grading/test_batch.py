"""Test a class with every kind of broken file between honest notebooks, in the real sandbox."""

from __future__ import annotations

import shutil
import sqlite3
import tomllib
from decimal import Decimal
from pathlib import Path

import pytest

from autograder.core.errors import CourseError
from autograder.core.records import GradingResult, Limits, Status
from autograder.course import Course
from autograder.grading import assignment as assignments
from autograder.grading import batch
from autograder.grading.batch import Outcome
from autograder.notebook.files import MAX_BYTES
from autograder.notebook.student_check import FILE_NAME, build_student_check
from autograder.questions import list_forms
from autograder.sandbox.levels import Isolation
from autograder.sandbox.pool import Pool
from autograder.store.gradebook import Gradebook

pytestmark = pytest.mark.sandbox

NAME = "small-exam"
FAULTS = Path(__file__).parents[1] / "submissions" / "notebooks"
CONTROL = (FAULTS / "control-answered" / "submission.ipynb").read_bytes()
RUBRIC = """
version = 1
[assignment]
name = "small-exam"
points = 9
preload = ["numpy"]
[assignment.limits]
cell_seconds = 5
call_seconds = 2
[assignment.symbols]
d_model = { aliases = ["d", "d_{\\\\text{model}}"] }
[[question]]
id = "formula"
kind = "formula"
points = 3
answer = "projection_size"
[[question.item]]
id = "value"
points = 2
text = { en = "The size of one projection" }
accept = ["d_model^2"]
[[question.item]]
id = "why"
points = 1
manual = true
cell = "formula-why"
text = { en = "The reason" }
[[question]]
id = "double"
kind = "code"
points = 3
answer = "double"
[[question]]
id = "shape"
kind = "shape"
points = 1
answer = "score_shape"
reference = "arithmetic:scores"
[[question.item]]
id = "tuple"
points = 1
text = { en = "The shape of the scores" }
[[question]]
id = "essay"
kind = "written"
points = 2
[[question.item]]
id = "text"
points = 2
manual = true
text = { en = "The reason" }
"""


SCORES = "def scores():\n    return (2, 8, 128, 128)\n"
CHECKS = '''
from autograder.checking import assert_close, check, solution

solution(source="""
def double(x):
    return x + x
""")


@check(points=3, title="Twice the input")
def result(student, reference, draw):
    numbers = draw.normal(4, 3)
    assert_close(student.double(numbers), reference.double(numbers))
'''


def make_course(root: Path) -> Course:
    """Return a course with the small exam, its release and its reference."""
    for folder in ("assignments/small-exam", "rubrics", "reference", f"release/{NAME}", "submitted"):
        (root / folder).mkdir(parents=True)
    (root / "rubrics" / f"{NAME}.toml").write_text(RUBRIC, encoding="utf-8")
    (root / "reference" / "__init__.py").touch()
    (root / "reference" / "arithmetic.py").write_text(SCORES, encoding="utf-8")
    (root / "reference" / "checks").mkdir()
    (root / "reference" / "checks" / "double.py").write_text(CHECKS, encoding="utf-8")
    shutil.copyfile(FAULTS / "_course" / "release.ipynb", root / "release" / NAME / f"{NAME}.ipynb")
    course = Course.from_folder(root)
    from autograder import rubric as rubrics

    check = build_student_check(rubrics.load_rubric(course.locate_rubric(NAME)), forms=list_forms())
    (course.locate_release(NAME) / FILE_NAME).write_bytes(check)
    return course


def hand_in(course: Course, student: str, data: bytes) -> Path:
    """Write one student's file."""
    path = course.root / "submitted" / student / NAME / f"{NAME}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def grade(course: Course, isolation: Isolation = Isolation.NAMESPACES, **options: bool) -> dict[str, Outcome]:
    """Grade all submissions."""
    assignment = assignments.load_assignment(course, NAME)
    with Gradebook(course.gradebook) as gradebook, Pool(isolation=isolation) as pool:
        graded = batch.grade_class(assignment, course.list_handins(NAME), gradebook, pool, **options)
        return {outcome.student: outcome for outcome in graded}


def points(graded: GradingResult) -> dict[str, Decimal]:
    """Return points by item."""
    return {f"{result.question}.{result.item}": result.points for result in graded.score.items}


FULL = {
    "formula.value": Decimal(2),
    "formula.why": Decimal(0),
    "double.result": Decimal(3),
    "shape.tuple": Decimal(1),
    "essay.text": Decimal(0),
}


@pytest.fixture(scope="module")
def class_(tmp_path_factory: pytest.TempPathFactory) -> tuple[Course, dict[str, Outcome]]:
    """Grade a class with each faulty file, problems of file systems, and honest students."""
    course = make_course(tmp_path_factory.mktemp("course"))
    for folder in sorted(FAULTS.iterdir()):
        if not folder.name.startswith("_"):
            hand_in(course, folder.name, (folder / "submission.ipynb").read_bytes())
    hand_in(course, "a-first-honest", CONTROL)
    hand_in(course, "z-last-honest", CONTROL)
    hand_in(course, "huge", CONTROL[:-3] + b" " * (MAX_BYTES + 1))
    padding = b'"metadata": {"padding": "' + b"x" * (50 << 20) + b'"},\n'
    hand_in(course, "fifty-megabytes", CONTROL.replace(b'"metadata": {', padding + b'"_": {', 1))
    hand_in(course, "dangling", b"").unlink()
    (course.root / "submitted/dangling" / NAME / f"{NAME}.ipynb").symlink_to("/nowhere")
    hand_in(course, "pointing", b"").unlink()
    honest = course.root / "submitted/a-first-honest" / NAME / f"{NAME}.ipynb"
    (course.root / "submitted/pointing" / NAME / f"{NAME}.ipynb").symlink_to(honest)
    (course.root / "submitted/folder-link").mkdir()
    (course.root / "submitted/folder-link" / NAME).symlink_to(honest.parent)
    hand_in(course, "directory", b"").unlink()
    (course.root / "submitted/directory" / NAME / f"{NAME}.ipynb").mkdir()
    (course.root / "submitted/nothing" / NAME).mkdir(parents=True)
    return course, grade(course)


@pytest.mark.parametrize("student", ["a-first-honest", "z-last-honest"])
def test_honest_classmates_keep_full_marks(class_: tuple[Course, dict[str, Outcome]], student: str) -> None:
    """Submissions of other students do not change an honest student's mark."""
    assert FULL == points(class_[1][student].graded)


def test_every_submission_has_a_result(class_: tuple[Course, dict[str, Outcome]]) -> None:
    """Every student with a folder gets a score with all items."""
    course, outcomes = class_
    assert {handin.student for handin in course.list_handins(NAME)} == set(outcomes)
    assert {len(FULL)} == {len(outcome.graded.score.items) for outcome in outcomes.values()}


@pytest.mark.parametrize(
    ("student", "code"),
    [
        ("dangling", "dangling-symlink"),
        ("directory", "directory"),
        ("folder-link", "symlink"),
        ("huge", "too-large"),
        ("nothing", "no-notebook"),
        ("pointing", "symlink"),
    ],
)
def test_what_is_no_file_of_their_own_is_refused(
    class_: tuple[Course, dict[str, Outcome]], student: str, code: str
) -> None:
    """Links, folders and missing files are not read; they get a note and need manual review."""
    graded = class_[1][student].graded
    assert [code] == [note.code for note in graded.score.notes]
    assert {Status.NEEDS_REVIEW} == {item.status for item in graded.score.items}


def test_fifty_megabytes_of_ballast_cost_no_point(class_: tuple[Course, dict[str, Outcome]]) -> None:
    """A large file with valid contents keeps full marks."""
    assert FULL == points(class_[1]["fifty-megabytes"].graded)


@pytest.mark.parametrize("folder", sorted(one.name for one in FAULTS.iterdir() if one.name[0] != "_"))
def test_a_broken_file_gets_a_clear_result(class_: tuple[Course, dict[str, Outcome]], folder: str) -> None:
    """A rejected file gives the reason in every item; a readable one has the expected notes."""
    expected = tomllib.loads((FAULTS / folder / "expected.toml").read_text(encoding="utf-8"))
    score = class_[1][folder].graded.score
    codes = {note.code for note in score.notes}
    if "code" in expected:
        assert {expected["code"]} == codes == {item.code for item in score.items}
        assert {Status.NEEDS_REVIEW} == {item.status for item in score.items}
    else:
        assert set(expected.get("graded_notes", expected["notes"])) <= codes
        assert "sandbox-fault" not in codes


def test_grading_again_changes_nothing(class_: tuple[Course, dict[str, Outcome]]) -> None:
    """Known results are not recomputed, and the database stays unchanged."""
    course, first = class_
    before = dump(course.gradebook)
    second = grade(course)
    assert {False} == {outcome.fresh for outcome in second.values()}
    assert {name: one.graded for name, one in first.items()} == {
        name: one.graded for name, one in second.items()
    }
    assert before == dump(course.gradebook)


def dump(database: Path) -> list[str]:
    """Return the contents of the database as text."""
    connection = sqlite3.connect(database)
    try:
        return list(connection.iterdump())
    finally:
        connection.close()


@pytest.mark.slow
def test_computing_again_gives_the_same_marks(class_: tuple[Course, dict[str, Outcome]]) -> None:
    """With the same secret, hidden inputs and marks stay the same."""
    course, first = class_
    second = grade(course, again=True)
    assert {name: points(outcome.graded) for name, outcome in first.items()} == {
        name: points(outcome.graded) for name, outcome in second.items()
    }


@pytest.mark.slow
def test_a_killed_run_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stopped run keeps its results, and the next run grades the remaining students."""
    monkeypatch.setattr(batch, "GATHERED_SECONDS", 0.0)  # otherwise all six would be recorded together
    course = make_course(tmp_path / "course")
    for number in range(6):
        hand_in(course, f"student-{number}", CONTROL)
    assignment = assignments.load_assignment(course, NAME)
    with Gradebook(course.gradebook) as gradebook, Pool() as pool:
        run = batch.grade_class(assignment, course.list_handins(NAME), gradebook, pool, workers=1)
        stopped_after = [next(run).student, next(run).student]
        run.close()
    outcomes = grade(course)
    resumed = {student for student, outcome in outcomes.items() if not outcome.fresh}
    assert set(stopped_after) <= resumed
    assert len(resumed) < len(outcomes)
    assert {tuple(FULL.items())} == {tuple(points(one.graded).items()) for one in outcomes.values()}


@pytest.mark.slow
def test_a_weaker_result_never_passes_for_a_stronger_one(tmp_path: Path) -> None:
    """A weaker isolation level never replaces a stronger one; results are upgraded to a stronger level."""
    course = make_course(tmp_path / "course")
    hand_in(course, "ada", CONTROL)
    graded = []
    for isolation in (Isolation.NONE, Isolation.NONE, Isolation.NAMESPACES, Isolation.NONE):
        outcome = grade(course, isolation)["ada"]
        graded.append((outcome.fresh, outcome.graded.score.isolation))
        assert FULL == points(outcome.graded)
    assert graded == [
        (True, "none"),
        (False, "none"),
        (True, "namespaces"),
        (False, "namespaces"),
    ]
    with sqlite3.connect(course.gradebook) as connection:
        runs = [row[0] for row in connection.execute("select isolation from autograder_run order by id")]
        comments = "".join(text or "" for (text,) in connection.execute("select auto_comment from comment"))
    connection.close()
    assert ["none", "namespaces"] == runs
    assert "isolation" not in comments
    outcome = grade(course, Isolation.NONE, again=True)["ada"]
    assert (True, "none") == (outcome.fresh, outcome.graded.score.isolation)


@pytest.mark.slow
def test_a_new_submission_replaces_the_old_result(tmp_path: Path) -> None:
    """A resubmission is graded, and both attempts are kept."""
    course = make_course(tmp_path / "course")
    hand_in(course, "ada", CONTROL.replace(b"return 2 * x", b"return 3 * x"))
    first = grade(course)["ada"]
    hand_in(course, "ada", CONTROL)
    second = grade(course)["ada"]
    assert (Decimal(0), Decimal(3)) == (
        points(first.graded)["double.result"],
        points(second.graded)["double.result"],
    )
    with sqlite3.connect(course.gradebook) as connection:
        assert (2,) == connection.execute("select count(*) from autograder_result").fetchone()
    connection.close()
    with Gradebook(course.gradebook) as gradebook:
        assert second.graded == gradebook.load_results(NAME, whole=False)["ada"]
        assert gradebook.load_results(NAME)["ada"].notebooks[0].cells


def test_a_reference_that_raises_is_not_remembered(tmp_path: Path) -> None:
    """A failing reference is reported before grading, and its failure is not cached."""
    course = make_course(tmp_path / "course")
    right = (course.reference / "arithmetic.py").read_text(encoding="utf-8")
    (course.reference / "arithmetic.py").write_text("def scores():\n    return 1 @ 'no'\n", encoding="utf-8")
    hand_in(course, "ada", CONTROL)
    with pytest.raises(CourseError, match=r"'shape'.*arithmetic:scores.* failed: TypeError"):
        grade(course)
    (course.reference / "arithmetic.py").write_text(right, encoding="utf-8")
    assert FULL == points(grade(course)["ada"].graded)


def test_a_secret_that_others_can_read_is_refused(tmp_path: Path) -> None:
    """A course secret that other users can read is rejected."""
    course = make_course(tmp_path / "course")
    course.load_secret()
    (course.private / "secret").chmod(0o644)
    hand_in(course, "ada", CONTROL)
    with pytest.raises(CourseError, match="chmod 600"):
        grade(course)


@pytest.mark.parametrize(
    ("cores", "gigabytes", "workers"),
    [(1, 64, 4), (2, 24, 5), (2, 8, 4), (2, 2, 3), (8, 64, 12), (64, 256, 96), (1, 1, 1)],
)
def test_more_than_the_cores_work_at_a_time(
    monkeypatch: pytest.MonkeyPatch, cores: int, gigabytes: int, workers: int
) -> None:
    """There are 1.5 workers per core; on few cores, three more than cores if memory allows."""
    pages = {"SC_PHYS_PAGES": gigabytes << 18, "SC_PAGE_SIZE": 4096}
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    monkeypatch.setattr("os.sysconf", pages.__getitem__)
    assert workers == batch._count_workers(Limits(memory_mb=2048))
