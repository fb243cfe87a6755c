"""Test unread files: if they may hold the work, an empty notebook is not a final zero."""

from __future__ import annotations

import base64
import io
import zipfile
from decimal import Decimal
from pathlib import Path

import nbformat
import pytest

from autograder.core.records import GradingResult, ItemResult, Message, Status
from autograder.course import Course, Handin
from autograder.grading import assignment as assignments
from autograder.grading.batch import read_handin
from autograder.grading.pipeline import Grader
from autograder.grading.submitted_files import OtherFiles, review_ungraded_files
from autograder.notebook.release import load_release
from autograder.notebook.submission_reader import read_notebook
from autograder.pages.feedback.student_page import render_student_page
from autograder.sandbox.pool import Pool
from tests.grading.test_batch import CONTROL, FAULTS, FULL, NAME, hand_in, make_course, points
from tests.notebook.test_document import LFS_POINTER
from tests.pages.examples import png

pytestmark = pytest.mark.sandbox

UNTOUCHED = (FAULTS / "control-untouched" / "submission.ipynb").read_bytes()


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """Return the course with the small exam."""
    return make_course(tmp_path_factory.mktemp("unread"))


@pytest.fixture(scope="module")
def grader(course: Course, pool: Pool) -> Grader:
    """Return a grader of the course."""
    return Grader(assignments.load_assignment(course, NAME), pool)


def graded(grader: Grader, course: Course, student: str, files: dict[str, bytes]) -> GradingResult:
    """Return the result of a folder with these files."""
    folder: Path = hand_in(course, student, b"").parent
    (folder / f"{NAME}.ipynb").unlink()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return grader.grade(read_handin(grader.assignment, Handin(student, folder)))


def automatic(grading_result: GradingResult) -> set[Status]:
    """Return the statuses of the items that are not marked manually."""
    manual = {"formula.why", "essay.text"}
    return {
        result.status
        for result in grading_result.score.items
        if f"{result.question}.{result.item}" not in manual
    }


def test_an_untouched_notebook_beside_another_one_needs_review(grader: Grader, course: Course) -> None:
    """If the work may be in another notebook, the items need review; its name is shown."""
    grading_result = graded(
        grader, course, "ada", {f"{NAME}.ipynb": UNTOUCHED, f"{NAME}_final.ipynb": CONTROL}
    )
    assert {Status.NEEDS_REVIEW} == {item.status for item in grading_result.score.items}
    assert f"{NAME}_final.ipynb" in str(grading_result.score.items[0].student.params)
    assert "unread-files" in {note.code for note in grading_result.score.notes}


def test_an_untouched_notebook_alone_is_no_answer(grader: Grader, course: Course) -> None:
    """An unchanged notebook without other files is no answer."""
    grading_result = graded(grader, course, "bob", {f"{NAME}.ipynb": UNTOUCHED, "Thumbs.db": b"x"})
    assert {Status.NO_ANSWER} == automatic(grading_result)


@pytest.mark.parametrize(
    "name", ["answer.py", "answers.docx", "scan.pdf", "IMG_1.jpg", "export.html", "notes/answers.md", "a.txt"]
)
def test_an_untouched_notebook_beside_any_file_needs_review(
    name: str, grader: Grader, course: Course
) -> None:
    """An unchanged notebook with any other file needs review; students and staff see its name."""
    folder = hand_in(course, "gus", b"").parent
    (folder / "notes").mkdir(exist_ok=True)
    grading_result = graded(grader, course, "gus", {f"{NAME}.ipynb": UNTOUCHED, name: b"x"})
    (folder / name).unlink()
    assert {(Status.NEEDS_REVIEW, "review.unread")} == {
        (item.status, item.code) for item in grading_result.score.items
    }
    assert name in str(grading_result.score.items[0].student.params)
    assert name in grading_result.score.items[0].staff


def without_texts() -> bytes:
    """Return the right answers, with all texts as released."""
    notebook, blank = (nbformat.reads(data.decode(), 4) for data in (CONTROL, UNTOUCHED))
    stubs = {cell.metadata.get("nbgrader", {}).get("grade_id"): cell.source for cell in blank.cells}
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and cell.metadata.get("nbgrader", {}).get("solution"):
            cell.source = stubs[cell.metadata["nbgrader"]["grade_id"]]
    return nbformat.writes(notebook).encode()


@pytest.mark.parametrize(
    ("name", "needs_review"), [("answers.md", True), ("a.docx", True), ("data.csv", False)]
)
def test_texts_beside_a_notebook_without_texts_need_review(
    name: str, needs_review: bool, grader: Grader, course: Course
) -> None:
    """Blank texts need review if another file may contain them; code keeps its marks."""
    grading_result = graded(grader, course, f"hal-{name}", {f"{NAME}.ipynb": without_texts(), name: b"x"})
    texts = [
        result
        for result in grading_result.score.items
        if f"{result.question}.{result.item}" in {"formula.why", "essay.text"}
    ]
    expected = Status.NEEDS_REVIEW if needs_review else Status.NO_ANSWER
    assert {expected} == {result.status for result in texts}
    assert {Status.PASSED} == automatic(grading_result)


def with_text(grade_id: str, text: str, notebook: bytes) -> bytes:
    """Return the notebook with the text of one cell replaced."""
    tree = nbformat.reads(notebook.decode(), 4)
    for cell in tree.cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id") == grade_id:
            cell.source = text
    return nbformat.writes(tree).encode()


@pytest.mark.parametrize("name", ["4a.pdf", "Antworten.docx", "scan.jpg"])
def test_a_document_beside_a_notebook_is_named_and_blank_answers_need_review(
    name: str, grader: Grader, course: Course
) -> None:
    """A document is named and blank answers need review, also if another text is answered."""
    release = grader.assignment.releases[NAME].by_id["formula-answer"]
    notebook = with_text("formula-answer", release.source, with_text("essay", f"see {name}", without_texts()))
    grading_result = graded(grader, course, f"kim-{name}", {f"{NAME}.ipynb": notebook, name: b"x"})
    why = next(
        result
        for result in grading_result.score.items
        if (result.question, result.item) == ("formula", "why")
    )
    assert (Status.NEEDS_REVIEW, "review.written-beside") == (why.status, why.code)
    blank = next(
        result
        for result in grading_result.score.items
        if result.question == "formula" and result.item != "why"
    )
    assert (Status.NEEDS_REVIEW, "review.written-beside") == (blank.status, blank.code)
    assert name in "".join(
        note.text for note in grading_result.score.notes if note.code == "documents-beside"
    )
    remarks = [
        remark.message
        for remark in grading_result.notebooks[0].remarks
        if remark.message.code == "notebook.not-graded"
    ]
    assert [name] == [remark.params["files"] for remark in remarks]


def test_a_picture_that_a_text_shows_is_not_named_as_not_graded(grader: Grader, course: Course) -> None:
    """A picture that a text shows is part of the answer and not reported as ungraded."""
    notebook = with_text("essay", "![plot](plot.png)", CONTROL)
    picture = base64.b64decode(png())
    grading_result = graded(grader, course, "lea", {f"{NAME}.ipynb": notebook, "plot.png": picture})
    assert {"documents-beside", "picture-absent", "picture-not-shown"}.isdisjoint(
        note.code for note in grading_result.score.notes
    )
    assert f"data:image/png;base64,{png()}" in render_student_page(grading_result, grader.assignment.rubric)


@pytest.mark.parametrize(
    ("name", "data"), [("a.svg", b"<svg/>"), ("a.heic", b"x"), ("a.png", b"no PNG")], ids=str
)
def test_staff_are_told_of_a_picture_that_cannot_be_shown(
    name: str, data: bytes, grader: Grader, course: Course
) -> None:
    """A picture that cannot be shown is reported to the student and to staff."""
    notebook = with_text("essay", f"![plot]({name})", CONTROL)
    grading_result = graded(grader, course, f"max-{name}", {f"{NAME}.ipynb": notebook, name: data})
    (note,) = [note for note in grading_result.score.notes if note.code == "picture-not-shown"]
    assert name in note.text
    assert "essay" == note.place


def test_what_earned_nothing_needs_review_if_a_copy_has_another_answer(
    grader: Grader, course: Course
) -> None:
    """Unanswered items need review if a copy answers them; the student sees which file was graded."""
    files = {f"{NAME}.ipynb": without_texts(), f"{NAME} (1).ipynb": CONTROL}
    grading_result = graded(grader, course, "ivy", files)
    texts = [
        one
        for one in grading_result.score.items
        if f"{one.question}.{one.item}" in {"formula.why", "essay.text"}
    ]
    assert {(Status.NEEDS_REVIEW, "review.copy")} == {(one.status, one.code) for one in texts}
    assert {Status.PASSED} == automatic(grading_result)
    (remark,) = [
        one for one in grading_result.notebooks[0].remarks if one.message.code == "notebook.not-graded"
    ]
    assert {"file": f"{NAME}.ipynb", "files": f"{NAME} (1).ipynb"} == remark.message.params


@pytest.mark.parametrize(
    ("name", "told"),
    [(f"{NAME} (1).ipynb", True), (f".ipynb_checkpoints/{NAME}-checkpoint.ipynb", False)],
    ids=["another notebook", "a checkpoint"],
)
@pytest.mark.parametrize("essay", ["TODO later", "see the other notebook"])
def test_markers_of_a_text_read_which_copy_has_another_one(
    name: str, essay: str, *, told: bool, grader: Grader, course: Course
) -> None:
    """Staff see which copy has another text, for each text that differs; checkpoints are ignored."""
    student = f"tom-{told}-{essay[:3]}"
    (hand_in(course, student, b"").parent / ".ipynb_checkpoints").mkdir()
    files = {f"{NAME}.ipynb": with_text("essay", essay, CONTROL), name: CONTROL}
    grading_result = graded(grader, course, student, files)
    items = {f"{result.question}.{result.item}": result for result in grading_result.score.items}
    assert (items["essay.text"].code == "review.copy") is told
    assert (name in items["essay.text"].staff) is told
    assert items["formula.why"].code == "review.person"
    assert {Status.PASSED} == automatic(grading_result)


@pytest.mark.parametrize("same", [False, True], ids=["another answer", "the same answer"])
def test_part_of_the_points_needs_review_if_a_copy_has_another_answer(*, same: bool, grader: Grader) -> None:
    """Items with partial points need review if a copy differs; staff see the points earned."""
    release = load_release(UNTOUCHED, NAME)
    submission = read_notebook(CONTROL, release, student="uma", assignment=NAME)
    copy = CONTROL if same else CONTROL.replace(b"d_model", b"d_modell")
    question = grader.assignment.rubric.get_question("formula")
    half, whole = Decimal("0.5"), Decimal(1)
    results = [
        ItemResult(question.id, item.id, Status.FAILED, half, whole, Message("passed"), "half right")
        for item in question.items
    ]
    other = OtherFiles(("old.ipynb",), (), {"old.ipynb": copy})
    reviewed = review_ungraded_files([question], {question.id: results}, other, submission, release)
    (first, *_) = reviewed[question.id]
    if same:
        assert first == results[0]
    else:
        assert (first.status, first.points, first.code) == (Status.NEEDS_REVIEW, 0, "review.copy")
        assert "0.5 of 1 points" in first.staff


def zipped(name: str, data: bytes) -> bytes:
    """Return an archive with one file."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(name, data)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(f".ipynb_checkpoints/{NAME}-checkpoint.ipynb", id="a checkpoint"),
        pytest.param(f".~{NAME}.ipynb", id="an autosave"),
        pytest.param("abgabe.zip", id="an archive"),
    ],
)
@pytest.mark.parametrize("main", ["untouched", "without texts"])
def test_blank_answers_need_review_if_a_hidden_or_packed_copy_has_them(
    name: str, main: str, grader: Grader, course: Course
) -> None:
    """Blank answers need review if a checkpoint or an archive contains them; other marks stay."""
    student = f"nia-{name.rpartition('/')[2]}-{main[0]}"
    folder = hand_in(course, student, b"").parent
    (folder / ".ipynb_checkpoints").mkdir()
    data = zipped(f"{NAME}.ipynb", CONTROL) if name.endswith(".zip") else CONTROL
    notebook = UNTOUCHED if main == "untouched" else without_texts()
    grading_result = graded(grader, course, student, {f"{NAME}.ipynb": notebook, name: data})
    texts = [
        result
        for result in grading_result.score.items
        if f"{result.question}.{result.item}" in {"formula.why", "essay.text"}
    ]
    assert {Status.NEEDS_REVIEW} == {result.status for result in texts}
    assert ({Status.NEEDS_REVIEW} if main == "untouched" else {Status.PASSED}) == automatic(grading_result)
    assert all(name in "".join(map(str, result.student.params.values())) for result in texts)


def test_a_checkpoint_with_an_older_answer_changes_nothing(grader: Grader, course: Course) -> None:
    """A checkpoint with another answer is ignored unless the answer in the notebook is blank."""
    folder = hand_in(course, "ole", b"").parent
    (folder / ".ipynb_checkpoints").mkdir()
    wrong = CONTROL.replace(b"d_model", b"d_modell")
    files = {f"{NAME}.ipynb": wrong, f".ipynb_checkpoints/{NAME}-checkpoint.ipynb": CONTROL}
    grading_result = graded(grader, course, "ole", files)
    assert "review.copy" not in {result.code for result in grading_result.score.items}
    assert "unread-files" not in {note.code for note in grading_result.score.notes}


def test_a_checkpoint_alone_is_named_as_what_was_handed_in(grader: Grader, course: Course) -> None:
    """A checkpoint without its notebook is named in the results of all items."""
    folder = hand_in(course, "pia", b"").parent
    (folder / ".ipynb_checkpoints").mkdir()
    name = f".ipynb_checkpoints/{NAME}-checkpoint.ipynb"
    grading_result = graded(grader, course, "pia", {name: CONTROL})
    assert {(Status.NEEDS_REVIEW, "unread-files")} == {
        (result.status, result.code) for result in grading_result.score.items
    }
    assert all(name in str(result.student.params) for result in grading_result.score.items)


def test_a_blank_or_equal_copy_leaves_a_missing_answer_as_it_is(grader: Grader, course: Course) -> None:
    """A blank or equal copy does not affect missing answers."""
    copies = {f"{NAME} (1).ipynb": UNTOUCHED, "old.ipynb": without_texts()}
    grading_result = graded(grader, course, "jan", {f"{NAME}.ipynb": without_texts(), **copies})
    assert Status.NEEDS_REVIEW not in {result.status for result in grading_result.score.items}


def test_an_answered_notebook_keeps_its_marks_beside_another_one(grader: Grader, course: Course) -> None:
    """An answered notebook keeps its marks, and the other notebook is named in a note."""
    grading_result = graded(grader, course, "cleo", {f"{NAME}.ipynb": CONTROL, "scratch.ipynb": UNTOUCHED})
    assert FULL == points(grading_result)
    assert {Status.PASSED} == automatic(grading_result)
    assert "scratch.ipynb" in "".join(note.text for note in grading_result.score.notes)


def test_a_notebook_of_another_name_is_graded_and_said(grader: Grader, course: Course) -> None:
    """A notebook with another name earns the same points, with a note."""
    grading_result = graded(grader, course, "dora", {"WMS hw.ipynb.txt": CONTROL})
    assert FULL == points(grading_result)
    assert ["taken-as"] == [note.code for note in grading_result.score.notes if note.code == "taken-as"]


@pytest.mark.parametrize(
    ("files", "code"),
    [
        pytest.param({}, "no-notebook", id="an-empty-folder"),
        pytest.param({f"{NAME}.html": b"<html>"}, "unread-files", id="an-export"),
        pytest.param({f"{NAME}.ipynb": LFS_POINTER}, "git-lfs-pointer", id="a-git-lfs-pointer"),
    ],
)
def test_what_cannot_be_graded_waits_for_a_person(
    grader: Grader, course: Course, files: dict[str, bytes], code: str
) -> None:
    """A submission that cannot be graded needs manual review, with the reason in every item and one note."""
    grading_result = graded(grader, course, f"x-{code}", files)
    assert {(Status.NEEDS_REVIEW, code)} == {(item.status, item.code) for item in grading_result.score.items}
    assert Decimal(0) == grading_result.score.points
    assert [code] == [note.code for note in grading_result.score.notes]


def test_unread_files_are_part_of_what_a_result_depends_on(grader: Grader, course: Course) -> None:
    """Unread files are part of the digest, so results are recomputed after they are removed."""
    graded(grader, course, "eve", {f"{NAME}.ipynb": UNTOUCHED})
    folder = course.root / "submitted" / "eve" / NAME
    alone = read_handin(grader.assignment, Handin("eve", folder)).compute_digest()
    (folder / "other.ipynb").write_bytes(CONTROL)
    assert alone != read_handin(grader.assignment, Handin("eve", folder)).compute_digest()


def rename_cells(notebook: bytes) -> bytes:
    """Return the notebook with the grade_ids of another assignment."""
    tree = nbformat.reads(notebook.decode(), 4)
    for cell in tree.cells:
        if cell.metadata.get("nbgrader"):
            cell.metadata.nbgrader.grade_id = f"other-{cell.metadata.nbgrader.grade_id}"
    return nbformat.writes(tree).encode()


@pytest.mark.parametrize("is_known", [False, True], ids=["of another one", "of the course"])
def test_a_notebook_of_another_assignment_is_named(grader: Grader, course: Course, *, is_known: bool) -> None:
    """A notebook of another assignment is reported once, instead of a remark at each cell."""
    if is_known:
        (course.root / "release" / "warmup").mkdir()
        (course.root / "release" / "warmup" / "warmup.ipynb").write_bytes(rename_cells(UNTOUCHED))
        (course.root / "rubrics" / "warmup.toml").touch()
    grading_result = graded(grader, course, f"ron-{is_known}", {f"{NAME}.ipynb": rename_cells(CONTROL)})
    codes = {item.code for item in grading_result.score.items}
    assert is_known == ({"other-assignment"} == codes)
    assert is_known == ("of the assignment 'warmup'" in str(grading_result.score.items[0].student.params))
    if is_known:
        (course.root / "rubrics" / "warmup.toml").unlink()
        assert {Status.NEEDS_REVIEW} == {item.status for item in grading_result.score.items}
