"""Test personal variants through the whole pipeline: released, answered, mixed up and graded."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from msgspec.structs import replace

from autograder import rubric as rubrics
from autograder.core.errors import CourseError
from autograder.core.records import GradingResult, Status
from autograder.course import Course, group_list
from autograder.grading import assignment as assignments
from autograder.grading.assignment import Assignment
from autograder.grading.personal_variants import VariantSet, make_variants, write_personal_releases
from autograder.grading.pipeline import Grader, SubmittedFiles
from autograder.grading.release_generation import build_release_files, generate_release
from autograder.sandbox.pool import Pool

pytestmark = [pytest.mark.sandbox, pytest.mark.long]

ROOT = Path(__file__).parents[3]
NAME = "variants-practice"
STUDENTS = ("ada", "bob", "émile", "x.y-z@w", "五")
FULL = Decimal(13)
SECRET = bytes(range(32))
"""With this secret, Ada and Bob have different numbers and faults."""


def course_at(root: Path) -> Course:
    """Return a copy of the course of the practice sheet, with its release."""
    for folder in ("assignments", "rubrics", "reference"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    course = Course.from_folder(root)
    course.private.mkdir(mode=0o700)
    (course.private / "secret").write_bytes(SECRET)
    (course.private / "secret").chmod(0o600)
    generate_release(course, NAME, "")  # grade the source, whose cells have both languages
    return course


class Class:
    """A course whose students have personal variants, and a grader for it."""

    def __init__(self, root: Path, pool: Pool) -> None:
        self.course = course_at(root)
        self.pool = pool
        self.written = write_personal_releases(self.course, NAME, STUDENTS, pool)
        self.assignment = assignments.load_assignment(self.course, NAME)
        self.made: VariantSet = make_variants(self.assignment, STUDENTS, pool)
        self.grader = Grader(self.assignment, pool)

    def key(self, student: str) -> bytes:
        """Return the answer key of a student's variant, as a submission."""
        return self.made.build_answer_key(self.made.variants[student])[NAME]

    def personal(self, student: str) -> bytes:
        """Return the notebook that a student was given."""
        return (self.course.locate_personal(student, NAME) / f"{NAME}.ipynb").read_bytes()

    def grade(self, student: str, notebook: bytes) -> GradingResult:
        """Return the result of a student's notebook."""
        return self.grader.grade(SubmittedFiles(student, {NAME: notebook}))


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Class]:
    """Return a class of five."""
    with Pool() as pool:
        yield Class(tmp_path_factory.mktemp("course"), pool)


def cells(notebook: bytes) -> dict[str, str]:
    """Return the sources of a notebook by grade_id."""
    return {
        cell["metadata"]["nbgrader"]["grade_id"]: "".join(cell["source"])
        for cell in json.loads(notebook)["cells"]
    }


def with_cell(notebook: bytes, grade_id: str, source: str) -> bytes:
    """Return the notebook with the text of one cell replaced."""
    tree = json.loads(notebook)
    for cell in tree["cells"]:
        if cell["metadata"]["nbgrader"]["grade_id"] == grade_id:
            cell["source"] = source
    return json.dumps(tree).encode()


def points(graded: GradingResult) -> dict[str, Decimal]:
    """Return points by question."""
    found: dict[str, Decimal] = {}
    for item in graded.score.items:
        found[item.question] = found.get(item.question, Decimal(0)) + item.points
    return found


def test_everybody_gets_another_sheet(room: Class) -> None:
    """All five notebooks differ in prompts and listings, and contain no solutions."""
    sheets = [cells(room.personal(student)) for student in STUDENTS]
    assert room.written.variants == len(STUDENTS) == len({sheet["scores-prompt"] for sheet in sheets})
    assert 1 < len({sheet["repair-answer"] for sheet in sheets})
    for sheet in sheets:
        assert "⟦" not in "".join(sheet.values())
        assert "BEGIN SOLUTION" not in "".join(sheet.values())
        assert sheet["title"] == sheets[0]["title"]


@pytest.mark.parametrize("student", STUDENTS)
def test_each_variants_key_scores_everything(room: Class, student: str) -> None:
    """The answer key of every variant earns all points if its own student submits it."""
    graded = room.grade(student, room.key(student))
    assert FULL == graded.score.points, [(item.item, item.staff) for item in graded.score.items]
    assert {"other-notebook"} == {note.code for note in graded.score.notes}  # a key has no label


@pytest.mark.parametrize("student", STUDENTS)
def test_each_untouched_sheet_scores_nothing(room: Class, student: str) -> None:
    """A personal notebook without answers earns nothing, and is recognised as the student's."""
    graded = room.grade(student, room.personal(student))
    assert {Status.NO_ANSWER} == {item.status for item in graded.score.items}
    assert () == graded.score.notes


def test_solution_of_another_variant_loses_what_differs(room: Class) -> None:
    """Another variant's key loses the points of the questions that differ."""
    graded = room.grade("ada", room.key("bob"))
    own, other = (room.made.variants[student].values for student in ("ada", "bob"))
    assert own["d_model"] != other["d_model"]
    earned = points(graded)
    assert Decimal(0) == earned["projections"]
    assert Decimal(0) == earned["scores"]
    assert graded.score.points < FULL


def test_the_sheets_own_word_counts_for_nothing(room: Class) -> None:
    """A forged label, and prompts and given cells of another variant, change no mark."""
    tree = json.loads(room.key("ada"))
    tree["metadata"]["autograder"] = {"variant": room.made.variants["bob"].label}
    for cell in tree["cells"]:
        if cell["metadata"]["nbgrader"]["grade_id"].endswith("-prompt"):
            cell["source"] = "d_model = 1"
    graded = room.grade("ada", json.dumps(tree).encode())
    assert FULL == graded.score.points
    notes = [note.text for note in graded.score.notes if note.code == "other-notebook"]
    assert ["The notebook does not say that it is this student's. It says that it is that of bob."] == notes


@pytest.mark.parametrize(
    "label",
    [None, 5, [], {"variant": []}, {"variant": {"a": 1}}, {"variant": "\ud800"}, {"variant": "x" * 10**6}],
)
def test_hostile_labels_change_nothing(room: Class, label: object) -> None:
    """Marks do not depend on the notebook's metadata."""
    tree = json.loads(room.key("bob"))
    tree["metadata"]["autograder"] = label
    assert FULL == room.grade("bob", json.dumps(tree).encode()).score.points


def test_whoever_is_not_on_the_list_gets_the_common_variant(room: Class) -> None:
    """A student without a variant is graded with the common release, and staff see a note."""
    common = room.made.build_answer_key(room.assignment.rubric.variant)[NAME]
    graded = room.grade("stranger", common)
    assert FULL == graded.score.points
    assert ["common-variant"] == [note.code for note in graded.score.notes]


def test_an_id_is_the_same_however_its_accents_are_encoded(room: Class) -> None:
    """Different Unicode encodings of an id lead to the same variant."""
    assert FULL == room.grade("e\u0301mile", room.key("émile")).score.points


# ---------------------------------------------------------------- changes after the release


def changed(room: Class, tmp_path: Path) -> Course:
    """Return a copy of the course that a test may change."""
    shutil.copytree(room.course.root, tmp_path / "course", symlinks=True)
    return Course.from_folder(tmp_path / "course")


def rewrite(path: Path, old: str, new: str) -> None:
    """Replace a text that occurs once in a file."""
    text = path.read_text(encoding="utf-8")
    assert 1 == text.count(old)
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_a_new_version_keeps_the_variants(room: Class, tmp_path: Path) -> None:
    """A new rubric version with another mistake does not change the released variants."""
    course = changed(room, tmp_path)
    rewrite(course.locate_rubric(NAME), "version = 1\n", "version = 2\n")
    assignment = assignments.load_assignment(course, NAME)
    for student in STUDENTS:
        assert room.made.variants[student] == assignment.get_variant(student)


@pytest.mark.slow
def test_a_rubric_that_draws_otherwise_leaves_it_to_a_person(room: Class, tmp_path: Path) -> None:
    """If the rubric draws other values, affected students need manual review and lose no points."""
    course = changed(room, tmp_path)
    rewrite(course.locate_rubric(NAME), "integers = [2, 3, 5, 6]", "integers = [2, 3, 5, 6, 7]")
    assignment = replace(room.assignment, rubric=rubrics.load_rubric(course.locate_rubric(NAME)))
    grader = Grader(assignment, room.pool)
    graded = {
        student: grader.grade(SubmittedFiles(student, {NAME: room.key(student)})).score
        for student in STUDENTS
    }
    affected = {student: score for student, score in graded.items() if score.pending}
    assert {FULL} == {score.points for student, score in graded.items() if student not in affected}
    assert {Status.NEEDS_REVIEW} == {item.status for score in affected.values() for item in score.items}
    assert all("put its table [variant] back" in score.items[0].staff for score in affected.values())
    assert {} != affected != graded


def test_new_variants_are_given_only_on_demand(room: Class, tmp_path: Path) -> None:
    """Released variants are replaced only with the option ``replace``."""
    course = changed(room, tmp_path)
    rewrite(course.locate_rubric(NAME), "integers = [2, 3, 5, 6]", "integers = [2, 3, 5, 7]")
    rewrite(course.sources / NAME / f"{NAME}.ipynb", "# Practice: transformers", "# Exercise: transformers")
    with pytest.raises(CourseError, match=r"were handed out other variants.*--replace"):
        write_personal_releases(course, NAME, STUDENTS, room.pool)
    assert room.personal("ada") == (course.locate_personal("ada", NAME) / f"{NAME}.ipynb").read_bytes()
    write_personal_releases(course, NAME, STUDENTS, room.pool, replace=True)
    assignment = assignments.load_assignment(course, NAME)
    factors = {assignment.derive_for_student(student).rubric.variant.values["factor"] for student in STUDENTS}
    assert factors <= {2, 3, 5, 7}
    assert b"# Exercise: transformers" in (course.locate_personal("ada", NAME) / f"{NAME}.ipynb").read_bytes()


def test_a_fault_that_joins_the_catalogue_changes_no_variant(room: Class, tmp_path: Path) -> None:
    """Adding a fault changes no variant, because variants use the catalogue stored at their release.

    This includes the variants of students who are added later.
    """
    course = changed(room, tmp_path)
    path = course.reference / "checks" / "decoder.py"
    before = '@fault(\n    old="self.self_attention(x, x, x, target_mask)"'
    new = '@fault("nn.ModuleList(", "list(", points=1, title={"en": "x"})\n'
    new += "def new(student, reference, draw): ...\n\n\n"
    rewrite(path, before, new + before)
    write_personal_releases(course, NAME, (*STUDENTS, "late"), room.pool)
    assignment = assignments.load_assignment(course, NAME)
    for student in STUDENTS:
        assert room.made.variants[student] == assignment.get_variant(student)
    assert "late" in (assignment.manifest.students if assignment.manifest else {})


def test_a_notebook_of_ones_own_names_ones_own_end(room: Class, tmp_path: Path) -> None:
    """A personal notebook states the student's extended end, and the common release the common end."""
    course = changed(room, tmp_path)
    rewrite(course.locate_rubric(NAME), "[assignment]\n", "[assignment]\nexam = { minutes = 60 }\n")
    source = course.sources / NAME / f"{NAME}.ipynb"
    rewrite(source, '"# Practice: tr', '"<!-- exam times en -->\\n", "# Practice: tr')
    times = f'[{NAME}]\nstart = 2026-02-12T10:00:00\nzone = "Europe/Berlin"\n'
    (course.root / "exams.toml").write_text(times + f"[{NAME}.students.bob]\nextra_minutes = 15\n")
    generate_release(course, NAME)
    write_personal_releases(course, NAME, STUDENTS, room.pool)
    for student, end in (("ada", "11:00"), ("bob", "11:15")):
        folder = course.locate_personal(student, NAME)
        assert f"**Your end:** 2026-02-12, {end} (Europe/Berlin)" in (folder / f"{NAME}.ipynb").read_text()
        assert (folder / f"{NAME}.ipynb").read_bytes() == assignments.load_assignment(
            course, NAME
        ).derive_for_student(student).release_bytes[NAME]
    assert (
        "**End:** 2026-02-12, 11:00 (Europe/Berlin). Any extension"
        in (course.locate_release(NAME) / f"{NAME}.ipynb").read_text()
    )
    (course.root / "exams.toml").write_text(times + f"[{NAME}.students.bobb]\nextra_minutes = 15\n")
    with pytest.raises(CourseError, match="'bobb' has an extension"):
        write_personal_releases(course, NAME, STUDENTS, room.pool)


@pytest.mark.parametrize("damage", ["missing", "changed"])
def test_a_notebook_that_is_gone_leaves_it_to_a_person(room: Class, damage: str) -> None:
    """If the released notebook of a student is missing or damaged, only that student needs manual review."""
    assert room.assignment.manifest is not None
    notebook = room.assignment.manifest.students["ada"].notebooks[NAME]
    path = room.course.locate_variants(NAME) / f"{notebook}.ipynb"
    before = path.read_bytes()
    try:
        path.unlink() if damage == "missing" else path.write_bytes(b"{}")
        scores = {student: room.grade(student, room.key(student)).score for student in ("ada", "bob")}
    finally:
        path.write_bytes(before)
    assert (Decimal(0), FULL) == (scores["ada"].points, scores["ada"].pending)
    assert FULL == scores["bob"].points


def test_a_forged_or_lost_record_is_refused(room: Class, tmp_path: Path) -> None:
    """An edited record of variants is rejected, and so is a missing one if there are personal notebooks."""
    course = changed(room, tmp_path)
    path = course.locate_variants(NAME) / "manifest.json"
    assert 0o600 == path.stat().st_mode & 0o777
    rewrite(path, '"ada"', '"eve"')
    with pytest.raises(CourseError, match="signature does not fit"):
        assignments.load_assignment(course, NAME)
    path.write_text("{", encoding="utf-8")
    with pytest.raises(CourseError, match="damaged"):
        assignments.load_assignment(course, NAME)
    path.unlink()
    with pytest.raises(CourseError, match="not the record of who got which"):
        assignments.load_assignment(course, NAME)


def test_a_student_has_the_assignment_they_were_asked(room: Class) -> None:
    """`Assignment.derive_for_student` returns the student's rubric, checks and notebooks."""
    derived: Assignment = room.assignment.derive_for_student("ada")
    assert room.personal("ada") == derived.release_bytes[NAME]
    assert room.made.variants["ada"] == derived.rubric.variant
    faults = {item.id for item in derived.rubric.get_question("repair").items}
    assert set(room.made.variants["ada"].faults["decoder"]) == faults
    assert room.assignment.rubric.assignment.points == derived.rubric.assignment.points
    assert room.assignment == room.assignment.derive_for_student("stranger")


def test_the_exam_may_draw_its_faults_without_changing_its_release(tmp_path: Path) -> None:
    """A table ``[variant]`` for the repair question leaves the common release of the exam unchanged."""
    course = course_at(tmp_path)
    path = course.locate_rubric("dl4nlp-exam")
    plain = build_release_files(course, rubrics.load_rubric(path))
    faults = [fault.id for fault in rubrics.load_rubric(path).checks["task5-a"].faults]
    items = "".join(f'\n[[question.item]]\nid = "{fault}"\n' for fault in faults)
    table = '[variant.draw.decoder]\nfaults = "task5-a"\n'
    text = path.read_text("utf-8").replace('checks = "decoder.py"\n', f'checks = "decoder.py"\n{items}')
    path.write_text(text + table, encoding="utf-8")
    drawing = rubrics.load_rubric(path)
    assert 8 == drawing.planted["decoder"]
    drawn = build_release_files(course, drawing)
    # The check for students does not contain anything that differs between variants.
    assert {"coursecheck.py"} >= {name for name in plain | drawn if plain[name] != drawn[name]}


def test_a_group_has_one_variant(room: Class, tmp_path: Path) -> None:
    """A group gets the variant of a member who has one, or of the first member.

    If two members have different variants, this is reported.
    """
    course = Course.from_folder(Path(shutil.copytree(room.course.root, tmp_path / "course", symlinks=True)))
    course.groups.write_text("group,student\nred,kim\nred,ada\nblue,lea\nblue,max\ngreen,bob\ngreen,émile\n")
    write_personal_releases(course, NAME, (*STUDENTS, "kim", "lea", "max"), room.pool)
    assignment = assignments.load_assignment(course, NAME)
    assert assignment.manifest
    drawn_for = {who: one.drawn_for for who, one in assignment.manifest.students.items() if one.drawn_for}
    assert {"kim": "ada", "max": "lea"} == drawn_for
    for one, other in (("kim", "ada"), ("max", "lea")):
        assert assignment.get_variant(one) == assignment.get_variant(other)
        assert assignment.get_rubric(one) == assignment.get_rubric(other)
        given = [(course.locate_personal(who, NAME) / f"{NAME}.ipynb").read_bytes() for who in (one, other)]
        assert given[0] == given[1]
    assert room.personal("ada") == (course.locate_personal("ada", NAME) / f"{NAME}.ipynb").read_bytes()
    (mixed,) = group_list.list_mixed_variants(group_list.load_groups(course, NAME), assignment.manifest)
    assert mixed.startswith("green (bob, émile): members were handed out 2 variants; ")
