"""The shipped exam with small limits and an additional class for attention, and its papers.

The attackers' paper answers every automatic question wrongly, so any points above those it earns without the
attack are stolen. The controls' paper is the answer key.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from msgspec import Struct

from autograder import rubric as rubrics
from autograder.core.records import Limits
from autograder.course import Course
from autograder.grading import assignment as assignments
from autograder.grading.assignment import Assignment
from autograder.grading.pipeline import SubmittedFiles
from autograder.grading.release_generation import generate_release
from autograder.rubric import Item, Question
from tests.checking.attention_classes import WRONG
from tests.redteam.attack import HONEST, PRELUDE, Attack
from tests.redteam.numbers import numbers

NAME = "dl4nlp-exam"
FURTHER = "attention"
"""The assignment with the last question of the paper, whose answer is a class."""
ROOT = Path(__file__).parents[2]
SHIPPED = ("assignments", "rubrics", "reference")
LIMITS = Limits(
    cell_seconds=1.5,
    call_seconds=1.5,
    submission_seconds=12,
    memory_mb=512,
    processes=32,
    output_kb=64,
    reply_mb=64,
    scratch_mb=16,
    scratch_files=256,
    descriptors=64,
    restarts=2,
)
CALLED = """
_forward = MyMultiHeadAttention.forward
def _attacking(self, *args, **kwargs):
    attack()
    return _forward(self, *args, **kwargs)
MyMultiHeadAttention.forward = _attacking
"""
"""For attacks that are to be called: a function that checks call also calls the attack."""
TOLD = "reached: "
ASKED = f"print({TOLD!r} + repr(reached))"
"""The last cell, which prints what the attack has reached."""

Notebook = dict[str, Any]


class Exam(Struct, frozen=True):
    """The exam, ready to be graded, and its papers."""

    assignment: Assignment
    key: bytes
    """The answer key: completely right."""

    @classmethod
    def made(cls, root: Path) -> Exam:
        """Write the course into an empty folder and generate its release."""
        for folder in SHIPPED:
            shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
        course = Course.from_folder(root)
        _with_further_question(course)
        path = course.locate_rubric(NAME)
        rubric = path.read_text(encoding="utf-8")
        before, _, after = rubric.partition("[assignment.limits]")
        small = [f"{name} = {getattr(LIMITS, name)}" for name in LIMITS.__struct_fields__]
        limits = "\n".join(("[assignment.limits]", *small))
        path.write_text(before + limits + after[after.index("\n[") :], encoding="utf-8")
        course.exams.write_text(f"[{NAME}]\nstart = 2000-01-01T00:00:00Z\nend = 2100-01-01T00:00:00Z\n")
        generate_release(course, NAME)
        return cls(
            assignments.load_assignment(course, NAME), (course.sources / NAME / f"{NAME}.ipynb").read_bytes()
        )

    @property
    def course(self) -> Course:
        """Return the course of the exam."""
        return self.assignment.course

    @property
    def manual(self) -> frozenset[str]:
        """Return the items that need manual marking in every paper."""
        questions = self.assignment.rubric.questions
        return frozenset(f"{one.id}.{item.id}" for one in questions for item in one.items if item.manual)

    @property
    def full(self) -> Decimal:
        """Return the total points of the automatic items."""
        questions = self.assignment.rubric.questions
        return sum((item.points for one in questions for item in one.items if not item.manual), Decimal(0))

    def wrong(self, answers: Mapping[str, str] | None = None) -> Notebook:
        """Return a paper with a wrong answer to every question.

        Args:
            answers: contents of answer cells to use instead, by question.
        """
        paper = loaded(self.assignment.release_bytes[NAME])
        questions = {question.answer_cell: question for question in self.assignment.rubric.questions}
        for cell in paper["cells"]:
            question = questions.get(cell["metadata"].get("nbgrader", {}).get("grade_id"))
            if question is None or cell["cell_type"] != "code":
                continue
            named = {question.answer, *(str(item.options.get("answer", "")) for item in question.items)}
            wrong = "\n".join(f"{name} = {_wrong(question, name)!r}" for name in sorted(named - {""}))
            if question.kind == "repair":
                checks = self.assignment.rubric.checks[question.id]
                wrong = checks.make_listing(fault.id for fault in checks.faults)
            elif question.id == "mha":  # the answer of an attack that checks call
                wrong = WRONG["not scaled"].source
            cell["source"] = (answers or {}).get(question.id, wrong)
        return paper

    def right_paper(self) -> SubmittedFiles:
        """Return the answer key, as graded."""
        return SubmittedFiles("right", {NAME: self.key})

    def wrong_paper(self) -> SubmittedFiles:
        """Return the attackers' paper without any attack, as graded."""
        return SubmittedFiles("wrong", {NAME: written(self.wrong())})

    def attacking(self, attack: Attack, targets: Mapping[str, object]) -> bytes:
        """Return the wrong paper with an attack in additional cells or in place of an answer."""
        own, answers = attack.cells, {}
        if attack.answers:
            *own, answers[attack.answers] = attack.cells
        elif attack.gives:
            answers["mha"] = WRONG["not scaled"].source + CALLED
        paper = self.wrong(answers)
        return with_cells(paper, (PRELUDE + told(targets), HONEST, *own), (ASKED,))


def _with_further_question(course: Course) -> None:
    """Append the additional assignment's question to the exam's rubric and notebook."""
    rubric, own = (course.locate_rubric(name).read_text(encoding="utf-8") for name in (NAME, FURTHER))
    points = [rubrics.load_rubric(course.locate_rubric(name)).assignment.points for name in (NAME, FURTHER)]
    question = own[own.index("[[question]]") :].replace("[[question]]", "[[question]]\ntask = '6'", 1)
    text = "{ en = 'Attention', de = 'Attention' }"
    task = f"[[assignment.task]]\nid = '6'\npoints = {points[1]}\ntext = {text}"
    rubric = rubric.replace(f"\npoints = {points[0]}\n", f"\npoints = {sum(points)}\n", 1)
    course.locate_rubric(NAME).write_text(f"{rubric}\n{task}\n\n{question}", encoding="utf-8")
    sources = [course.sources / name / f"{name}.ipynb" for name in (NAME, FURTHER)]
    paper, further = (loaded(source.read_bytes()) for source in sources)
    paper["cells"] += further["cells"][2:]  # without its title and its import
    sources[0].write_bytes(written(paper))


def _wrong(question: Question, name: str) -> object:
    """Return an answer that is readable and wrong; others would need manual review."""
    items = [
        item
        for item in question.items
        if not item.manual and (item.options.get("answer") or question.answer) == name
    ]
    keyed = {item.options["key"]: _wrong_of(question, item) for item in items if "key" in item.options}
    return keyed or (_wrong_of(question, items[0]) if items else "7*n_voc")


def _wrong_of(question: Question, item: Item) -> object:
    if question.kind == "choice":
        options = ["yes", "no"] if question.options.get("preset") else []
        options += [option["id"] for option in question.options.get("option", ())]
        options += question.options.get("names", ())
        wrong = [option for option in options if option not in item.options["right"]]
        return wrong[: item.options["pick"]] if item.options.get("pick", 1) > 1 else wrong[0]
    if question.kind == "number":
        return 7
    return "d_model = 7*n_voc" if item.options.get("form") == "relation" else "7*n_voc"


def told(targets: Mapping[str, object], limits: Limits = LIMITS) -> str:
    """Return the information for an attack as code."""
    names = {
        "TARGETS": dict(targets),
        "NUMBERS": numbers(),
        "LIMIT": limits.processes,
        "SCRATCH": limits.scratch_mb,
    }
    return "\n".join(f"{name} = {value!r}" for name, value in names.items())


def with_cells(paper: Notebook, first: Sequence[str], last: Sequence[str] = ()) -> bytes:
    """Add code cells after the title and at the end of the paper."""
    title, *others = paper["cells"]
    cells = [title, *map(code_cell, first), *others, *map(code_cell, last)]
    return written({**paper, "cells": cells})


def code_cell(source: str) -> Notebook:
    """Return a code cell."""
    return {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": source}


def loaded(data: bytes) -> Notebook:
    """Load a paper from its file, with every source as one text."""
    paper: Notebook = json.loads(data)
    for cell in paper["cells"]:
        cell["source"] = "".join(cell["source"])
    return paper


def written(paper: Notebook) -> bytes:
    """Return the file of a paper."""
    return json.dumps(paper, indent=1).encode()
