"""Test packages, data, starter files and results from the sources to marks in the real sandbox."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path

import nbformat
import pytest

from autograder.core.errors import CourseError, NotebookError
from autograder.core.records import FileState, GradingResult, Status, SubmissionFile
from autograder.course import Course, Handin
from autograder.grading import assignment as assignments
from autograder.grading.assignment import Assignment
from autograder.grading.batch import read_handin
from autograder.grading.pipeline import Grader, SubmittedFiles
from autograder.grading.release_generation import generate_release, list_kept_back
from autograder.grading.verify import verify
from autograder.messages import render_message
from autograder.sandbox.pool import Pool
from tests.support.files_course import LM, STARTER, written

pytestmark = pytest.mark.sandbox


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """Return a course with both assignments released."""
    course = written(tmp_path_factory.mktemp("files"))
    for name in ("captions", "model"):
        generate_release(course, name)
    return course


@pytest.fixture(scope="module")
def grader(course: Course, pool: Pool) -> Grader:
    """Return a grader of the assignment `captions`."""
    return Grader(assignments.load_assignment(course, "captions"), pool)


@pytest.fixture(scope="module")
def of_model(course: Course, pool: Pool) -> Grader:
    """Return a grader of the assignment `model`."""
    return Grader(assignments.load_assignment(course, "model"), pool)


def key(assignment: Assignment) -> dict[str, bytes | NotebookError]:
    """Return the files that the answer key submits with its notebooks."""
    return {path: file.read_bytes() for path, file in assignment.key_files.items()}


def handed(grader: Grader, changed: Mapping[str, bytes | NotebookError | None]) -> GradingResult:
    """Grade the key's notebook with these files; None omits one."""
    assignment = grader.assignment
    folder = assignment.course.sources / assignment.name
    files = {**key(assignment), **changed}
    notebooks = {path.stem: path.read_bytes() for path in folder.glob("*.ipynb")}
    there = {path: data for path, data in files.items() if data is not None}
    return grader.grade(SubmittedFiles("ada", notebooks, there))


def codes(graded: GradingResult) -> dict[str, str]:
    """Return the code of each question's only item, or its status if it has none."""
    return {result.question: result.code or result.status.value for result in graded.score.items}


def told(graded: GradingResult, path: str) -> SubmissionFile:
    """Return the report about a file."""
    return next(file for file in graded.files if file.path == path)


def test_the_release_holds_what_is_given_out_and_nothing_of_the_key(course: Course) -> None:
    """The release has data folders and starters without solutions, but no files of the answer key."""
    release = course.locate_release("captions")
    released_files = {path.relative_to(release).as_posix() for path in release.rglob("*") if path.is_file()}
    expected_files = {"captions.ipynb", "coursecheck.py", "features.npy", "captioning/__init__.py"}
    assert expected_files | {"captioning/layers.py", "captioning/rnn.py"} == released_files
    starter = (release / "captioning/rnn.py").read_text("utf-8")
    assert "2 *" not in starter
    assert "raise NotImplementedError()" in starter
    assert "def step(state):" in starter
    kept = {path.name for path in list_kept_back(course, "captions")}
    assert {"predictions.npy", "notes.txt"} == kept


def test_an_assignment_of_modules_alone_has_a_notebook_made_for_it(course: Course) -> None:
    """A notebook is generated for an assignment that consists of modules only."""
    paper = nbformat.reads((course.locate_release("model") / "model.ipynb").read_text("utf-8"), as_version=4)
    sources = {cell.metadata.nbgrader.grade_id: cell.source for cell in paper.cells}
    assert 'from lm import count\n\ncheck("count")' == sources["count"]
    assert not any(cell.metadata.nbgrader.solution for cell in paper.cells)
    assert not (course.sources / "model/model.ipynb").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "question", "mistake"),
    [("captions", "step", "mutant not doubled"), ("model", "count", "mutant parts of words")],
    ids=["captions", "model"],
)
def test_the_key_earns_everything_and_planted_files_lose_what_they_must(
    course: Course, pool: Pool, name: str, question: str, mistake: str
) -> None:
    """The key earns full marks, the release nothing, and planted files lose exactly their points."""
    assignment = assignments.load_assignment(course, name)
    verification = verify(assignment, pool)
    wrong = [row for matrix in verification.matrices for row in matrix.rows if row.findings or row.wrong]
    assert not wrong
    tried = [
        row.name for matrix in verification.matrices if matrix.question == question for row in matrix.rows
    ]
    assert {"solution", mistake} < set(tried)
    # Nothing is planted for a mean that the reference computes: the rubric has a gap there.
    assert {finding.place for finding in verification.findings} <= {"mean.number"}


def test_a_reference_reads_the_data_and_the_key_of_a_package(grader: Grader) -> None:
    """The reference has the data, the helpers and the key's version of the students' files."""
    assert {"step": "passed", "mean": "passed", "predictions": "passed"} == codes(handed(grader, {}))


def test_the_students_module_stands_in_the_package_that_was_given_out(grader: Grader) -> None:
    """The student's module is imported with the released helpers, and its mistakes are reported."""
    wrong = STARTER.replace("return 2 *", "return 3 *").encode()
    graded = handed(grader, {"captioning/rnn.py": wrong})
    assert "code.failed" == codes(graded)["step"]
    assert "passed" == codes(graded)["mean"]
    assert FileState.HANDED_IN is told(graded, "captioning/rnn.py").state
    assert "-    raise NotImplementedError()" in told(graded, "captioning/rnn.py").difference
    assert "+    return 3 * squashed(state)" in told(graded, "captioning/rnn.py").difference


def test_a_named_mistake_of_a_module_is_told(grader: Grader) -> None:
    """A named mistake of a module is recognised by a trial with the key's other files."""
    wrong = STARTER.replace("return 2 * squashed(state)", "return squashed(state + 0.0)").encode()
    graded = handed(grader, {"captioning/rnn.py": wrong})
    item = next(result for result in graded.score.items if result.question == "step")
    assert ("code.mistake", Decimal(1)) == (item.code, item.points)
    assert render_message(item.student, "en").endswith("It is not doubled.")


@pytest.mark.parametrize(
    ("content", "state", "code"),
    [
        (None, FileState.MISSING, "file.missing"),
        (b"0" * 20_000, FileState.TOO_LARGE, "file.too-large"),
        (NotebookError("symlink", "a link"), FileState.UNREADABLE, "file.unreadable"),
    ],
)
def test_a_result_that_is_not_there_is_told(
    grader: Grader, content: bytes | NotebookError | None, state: FileState, code: str
) -> None:
    """A missing or unreadable result is reported in its question and on the page; other marks stay."""
    if isinstance(content, bytes):
        content = NotebookError("too-large", "too large")
    graded = handed(grader, {"predictions.npy": content})
    assert {"step": "passed", "mean": "passed", "predictions": code} == codes(graded)
    assert state is told(graded, "predictions.npy").state
    item = next(result for result in graded.score.items if result.question == "predictions")
    assert Status.NO_ANSWER is item.status
    assert "predictions.npy" in render_message(item.student, "en")
    assert {f"file-{state.value}"} == {
        note.code for note in graded.score.notes if note.place == "predictions.npy"
    }


@pytest.mark.parametrize(
    ("content", "state", "code"),
    [
        (None, FileState.MISSING, "file.missing"),
        ("released", FileState.UNCHANGED, "file.unchanged"),
        (b"def step(state:\n", FileState.HANDED_IN, "answer.not-python"),
        (b"\xff\xfe\x00", FileState.HANDED_IN, "name.missing"),
    ],
)
def test_a_module_that_holds_no_answer_is_told(
    grader: Grader, content: bytes | str | None, state: FileState, code: str
) -> None:
    """A missing, unchanged or invalid module is reported."""
    starter = grader.assignment.starters["captioning/rnn.py"]
    graded = handed(grader, {"captioning/rnn.py": starter if isinstance(content, str) else content})
    assert {"step": code, "mean": "passed", "predictions": "passed"} == codes(graded)
    assert state is told(graded, "captioning/rnn.py").state


LOOKING = """
import os
from pathlib import Path


def refused(action):
    try:
        action()
    except OSError as error:
        return type(error).__name__
    return "done"


found = " ".join(path for path in (".packages.zip", "/data/predictions.npy") if Path(path).exists())
seen = [Path(top, name) for place in ("/w", "/data") for top, _, names in os.walk(place)
        for name in names if Path(top, name).is_file()]
leaks = [str(path) for path in seen if b"BEGIN " + b"SOLUTION" in path.read_bytes()]
large = Path("/data/features.npy")
REPORT = {
    "found": found,
    "leaks": leaks,
    "mounted": os.stat(large).st_dev != os.stat("/data").st_dev,
    "data": refused(lambda: open("features.npy", "ab")),
    "helper": refused(lambda: open("captioning/layers.py", "a")),
    "beside": refused(lambda: open("/data/new.txt", "w")),
    "own": refused(lambda: open("captioning/rnn.py", "a")),
    "scratch": refused(lambda: open("captioning/new.txt", "w")),
}
print(REPORT)


def step(state):
    return state
"""


def test_a_box_shows_the_files_read_only_and_nothing_of_the_key(grader: Grader) -> None:
    """Released data is mounted read-only, and only the student's files can be changed."""
    graded = handed(grader, {"captioning/rnn.py": LOOKING.encode()})
    outputs = [out for run in graded.notebooks[0].runs if run for out in run.outputs]
    shown = "".join(out.data["text/plain"] for out in outputs if out.kind == "stream")
    report = dict(eval(shown[shown.index("{") : shown.rindex("}") + 1]))
    refused = {report.pop(name) for name in ("data", "helper", "beside")}
    assert refused <= {"OSError", "PermissionError"}, refused
    assert {"found": "", "leaks": [], "mounted": True, "own": "done", "scratch": "done"} == report


def _submitted(course: Course, name: str, files: Mapping[str, bytes]) -> Path:
    folder = course.root / "submitted" / hashlib.sha256(repr(sorted(files)).encode()).hexdigest()[:8] / name
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    return folder


def test_modules_alone_are_handed_in_without_a_notebook(course: Course, of_model: Grader) -> None:
    """Modules can be submitted without a notebook; their contents are part of the digest."""
    folder = _submitted(course, "model", {"lm.py": LM.encode(), "report.md": b"I saw two.\n"})
    files = read_handin(of_model.assignment, Handin("ada", folder))
    graded = of_model.grade(files)
    assert {"count": "passed", "report": "review.person"} == codes(graded)
    assert "+I saw two." in told(graded, "report.md").difference
    (folder / "lm.py").write_bytes(LM.replace("count(word)", "index(word)").encode())
    other = read_handin(of_model.assignment, Handin("ada", folder))
    assert other.compute_digest() != files.compute_digest()
    assert Decimal(0) == of_model.grade(other).score.points


def test_copies_are_read_under_the_names_that_are_meant(course: Course, grader: Grader) -> None:
    """Copies with a browser's suffix are read under the original name, unless there are two."""
    module = STARTER.replace("doubled", "twice").encode()
    folder = _submitted(course, "captions", {"rnn (1).py": module, "captions (2).ipynb": b"{}"})
    files = read_handin(grader.assignment, Handin("ada", folder))
    assert {"captioning/rnn.py": module} == files.files
    assert {"captions": b"{}"} == files.notebooks
    (folder / "captions-3.ipynb").write_bytes(b"{}")
    (folder / "captioning").mkdir()
    (folder / "captioning/rnn.py").write_bytes(b"pass")
    files = read_handin(grader.assignment, Handin("ada", folder))
    assert {"captioning/rnn.py": b"pass"} == files.files
    (left,) = files.notebooks.values()
    assert isinstance(left, NotebookError)
    assert "unread-files" == left.code
    assert {"captions (2).ipynb", "captions-3.ipynb"} <= set(files.unread)


def test_nothing_outside_of_a_submission_is_read(course: Course, of_model: Grader, tmp_path: Path) -> None:
    """Files behind symbolic links, linked folders and hard links are not read."""
    secret = tmp_path / "lm.py"
    secret.write_bytes(LM.encode())
    assignment = of_model.assignment
    places = {"link": Path.symlink_to, "name": Path.hardlink_to}
    for kind, made in places.items():
        folder = tmp_path / kind
        folder.mkdir()
        made(folder / "lm.py", secret)
        error = read_handin(assignment, Handin("eve", folder)).files["lm.py"]
        assert isinstance(error, NotebookError), kind
    captions = assignments.load_assignment(course, "captions")
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/rnn.py").write_bytes(STARTER.encode())
    (folder / "captioning").symlink_to(tmp_path / "elsewhere")
    error = read_handin(captions, Handin("eve", folder)).files["captioning/rnn.py"]
    assert isinstance(error, NotebookError)
    assert "symlink" == error.code


def test_a_release_made_again_forgets_what_is_not_given_out_any_more(tmp_path: Path) -> None:
    """Releasing again removes files that are no longer in the sources, and rejects links in them."""
    course = written(tmp_path)
    generate_release(course, "captions")
    package = course.sources / "captions/captioning"
    (package / "extra.py").write_text("x = 1\n")
    generate_release(course, "captions")
    assert (course.locate_release("captions") / "captioning/extra.py").is_file()
    (package / "extra.py").unlink()
    generate_release(course, "captions")
    assert not (course.locate_release("captions") / "captioning/extra.py").exists()
    (package / "extra.py").symlink_to("/etc/passwd")
    with pytest.raises(Exception, match="is a link; put the file itself there"):
        generate_release(course, "captions")


def test_a_module_that_is_called_as_a_library_is_refused(tmp_path: Path) -> None:
    """A module with the name of a library is rejected; names of data folders are free."""
    course = written(tmp_path)
    rubric = course.locate_rubric("captions")
    text = rubric.read_text("utf-8")
    for name, fault in (("random", "a module 'random'; rename yours"), ("numpy", "'numpy'"), ("json", None)):
        folder = course.sources / "captions" / name
        folder.mkdir()
        (folder / ("words.txt" if fault is None else "__init__.py")).write_text("x = 1\n")
        rubric.write_text(text.replace('data = ["', f'data = ["{name}", "', 1), "utf-8")
        if fault is None:
            assert generate_release(course, "captions")
        else:
            with pytest.raises(CourseError, match=fault):
                generate_release(course, "captions")


def test_marks_follow_the_data_and_the_keys_files(tmp_path: Path) -> None:
    """Each changed data file, helper or key file changes the digest, so the class is graded again."""
    course = written(tmp_path)
    seen = set()
    for path in ("", "features.npy", "captioning/layers.py", "captioning/rnn.py", "predictions.npy"):
        if path:
            with (course.sources / "captions" / path).open("ab") as file:
                file.write(b"\n# more\n")
        generate_release(course, "captions")
        seen.add(assignments.load_assignment(course, "captions").compute_digest())
    assert 5 == len(seen)
