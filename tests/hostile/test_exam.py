"""Every attack in a notebook of the shipped exam, through the whole pipeline, between honest classmates.

The attackers' answers are wrong, so whatever they earn above what the same answers earn without the
attack is stolen.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path

import nbformat
import pytest

from autograder import assignment as assignments
from autograder.course import Course
from autograder.demo.attention import WRONG
from autograder.generate import generate
from autograder.grading import Grader, Handed
from autograder.records import Graded
from autograder.sandbox.pool import Pool
from reference.listings import listing
from tests.hostile.attack import PRELUDE
from tests.hostile.test_attacks import ATTACKS

pytestmark = pytest.mark.sandbox

NAME = "dl4nlp-exam"
ROOT = Path(__file__).parents[2]
LIMITS = """[assignment.limits]
cell_seconds = 1.5
call_seconds = 1.5
submission_seconds = 12
memory_mb = 512
processes = 32
output_kb = 64
reply_mb = 4
scratch_mb = 16
scratch_files = 256
restarts = 2
"""
FULL = Decimal(30)


class Exam:
    """The exam with small limits, and the papers that are handed in."""

    def __init__(self, root: Path, pool: Pool) -> None:
        for folder in ("assignments", "rubrics", "reference"):
            shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
        path = root / "rubrics" / f"{NAME}.toml"
        rubric = path.read_text(encoding="utf-8")
        before, _, after = rubric.partition("[assignment.limits]")
        path.write_text(before + LIMITS + after[after.index("\n[") :], encoding="utf-8")
        course = Course.at(root)
        generate(course, NAME)
        self.assignment = assignments.load(course, NAME)
        self.grader = Grader(self.assignment, pool)
        self.key = (course.sources / NAME / f"{NAME}.ipynb").read_bytes()

    def wrong(self, *attack: str) -> bytes:
        """A paper with a wrong answer to every question, and an attack as cells of its own."""
        paper = nbformat.reads(self.assignment.release_bytes[NAME].decode(), as_version=4)
        answers = {question.answer_cell: question for question in self.assignment.rubric.questions}
        for cell in paper.cells:
            question = answers.get(cell.metadata.get("nbgrader", {}).get("grade_id"))
            if question is None or cell.cell_type != "code":
                continue
            names = {question.answer, *(str(item.options.get("answer", "")) for item in question.items)} - {
                ""
            }
            cell.source = "\n".join(f'{name} = "7*n_voc"' for name in sorted(names))
            if question.kind == "repair":
                cell.source = listing()
            elif question.kind == "behaviour":
                cell.source = WRONG[0].source
        cells = [nbformat.v4.new_code_cell(source) for source in (PRELUDE, "world = {}", *attack) if source]
        paper.cells[1:1] = cells if attack else []
        return nbformat.writes(paper).encode()

    def grade(self, student: str, data: bytes) -> Graded:
        """Through the whole pipeline."""
        return self.grader.grade(Handed(student, {NAME: data}))


def points(graded: Graded) -> dict[str, Decimal]:
    """Points by item."""
    return {f"{item.question}.{item.item}": item.points for item in graded.score.items}


@pytest.fixture(scope="module")
def exam(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Exam]:
    """One exam for all."""
    with Pool() as pool:
        yield Exam(tmp_path_factory.mktemp("course") / "exam", pool)


@pytest.fixture(scope="module")
def class_(exam: Exam) -> dict[str, Graded]:
    """All attackers, two at a time, with an honest student after every tenth."""
    papers = {f"attack: {name}": exam.wrong(*attack.cells) for name, attack in ATTACKS.items()}
    names = list(papers)
    for place in range(0, len(names), 10):
        papers[f"honest {place}"] = exam.key
        names.insert(place, f"honest {place}")
    with ThreadPoolExecutor(2) as threads:
        return dict(zip(names, threads.map(lambda name: exam.grade(name, papers[name]), names), strict=True))


@pytest.fixture(scope="module")
def earned(exam: Exam) -> dict[str, Decimal]:
    """What the wrong paper earns by itself."""
    return points(exam.grade("wrong", exam.wrong()))


def test_the_wrong_paper_is_wrong(earned: dict[str, Decimal]) -> None:
    """There is much to steal: the attackers' paper by itself earns little."""
    assert sum(earned.values()) < 6


@pytest.mark.parametrize("name", ATTACKS)
def test_no_attack_earns_a_point(class_: dict[str, Graded], earned: dict[str, Decimal], name: str) -> None:
    """No item of an attacker's is worth more than the same answer without the attack."""
    found = points(class_[f"attack: {name}"])
    assert {} == {item: got for item, got in found.items() if got > earned[item]}


@pytest.mark.parametrize("name", ATTACKS)
def test_no_attack_passes_for_a_failure_of_ours(class_: dict[str, Graded], name: str) -> None:
    """What student code does to its box is never mistaken for our own fault."""
    codes = {note.code for note in class_[f"attack: {name}"].score.notes}
    assert set() == codes & {"sandbox-fault", "needs-review"}


def test_honest_classmates_keep_full_marks(class_: dict[str, Graded]) -> None:
    """Whoever is graded between the attackers gets what the answer key gets."""
    honest = {name: graded.score.points for name, graded in class_.items() if name.startswith("honest")}
    assert len(honest) > 9
    assert {FULL} == set(honest.values())
