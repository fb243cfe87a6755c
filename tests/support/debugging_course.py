"""A course with one question of kind ``debugging``, and students who hand in texts for it."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path

import msgspec
import nbformat

from autograder import assignment as assignments
from autograder.checks.base import Draw, Evidence, Observations, TrialResults
from autograder.course import Course
from autograder.generate import generate
from autograder.grading.pipeline import Grader, SubmittedFiles
from autograder.kinds.general.debugging import DebuggingCheck
from autograder.kinds.general.debugging.listing import FaultyListing
from autograder.kinds.general.debugging.search import Search
from autograder.records import Answer, ItemResult, Observation
from autograder.sandbox.pool import Pool

ROOT = Path(__file__).parent.parent.parent
TASKS = ROOT / "reference" / "repair"
NAME = "sheet"
HEAD = (
    'version = 1\n[assignment]\nname = "sheet"\npoints = {points}\nlanguages = ["en"]\npreload = {preload}\n'
)


def task(name: str) -> tuple[str, str]:
    """The question of a task of the catalogue, and its module."""
    folder = TASKS / f"{name}.toml"
    return folder.read_text(encoding="utf-8"), (TASKS / f"{name}.py").read_text(encoding="utf-8")


class DebuggingCourse:
    """One question, made ready: its listings were run."""

    def __init__(self, root: Path, pool: Pool, question: str, module: str, redraw: str = "never") -> None:
        """Write the course, and compute what the listings give.

        Args:
            root: an empty folder.
            pool: of sandboxes.
            question: the rubric's table.
            module: the right listing, written where the question's ``reference`` says.
            redraw: who meets hidden inputs of their own.
        """
        table = tomllib.loads(question)["question"][0]
        path = root / "reference" / (table["reference"].partition(":")[0].replace(".", "/") + ".py")
        for folder in ("rubrics", f"assignments/{NAME}"):
            (root / folder).mkdir(parents=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        for folder in {path.parent, root / "reference"}:
            (folder / "__init__.py").write_text("")
        path.write_text(module, encoding="utf-8")
        preload = '["torch"]' if table.get("library", "torch") == "torch" else '["numpy"]'
        head = HEAD.format(points=table["points"], preload=preload) + f'redraw = "{redraw}"\n'
        text = head + question
        (root / "rubrics" / f"{NAME}.toml").write_text(text, encoding="utf-8")
        faults = [one["id"] for one in table["item"] if "edit" in one]
        self.right = module
        nbformat.write(
            _notebook(table, "...", module),
            root / "assignments" / NAME / f"{NAME}.ipynb",
        )
        self.course = Course.at(root)
        generate(self.course, NAME)
        self.assignment = assignments.load(self.course, NAME)
        self.grader = Grader(self.assignment, pool)
        self.question = self.assignment.rubric.questions[0]
        check = self.assignment.checks[self.question.id]
        assert isinstance(check, DebuggingCheck)
        assert faults == list(check.faults)
        self.check = check
        self.faults = tuple(faults)
        self.named = self.grader.sittings.common.named[self.question.id]
        self.listing: FaultyListing = check.listing(self.grader.sittings.common.expected[self.question.id])
        self.processor_seconds = 0.0
        """Of the box of the submission that was graded last."""

    @property
    def search(self) -> Search:
        """The probes that were chosen."""
        return self.check.search(self.named)

    def judge(self, observed: Sequence[Observations]) -> dict[str, ItemResult]:
        """The results of code that gave this for all probes, judged without a box."""
        return judged(self.check, self.named, observed)

    def sit(self, source: str) -> dict[str, ItemResult]:
        """The results of a student who writes this into the answer cell."""
        notebook = nbformat.reads(self.assignment.release_bytes[NAME].decode(), as_version=4)
        cell = next(one for one in notebook.cells if one.metadata.nbgrader.solution)
        cell.source = source
        data = nbformat.writes(notebook).encode()
        graded = self.grader.grade(SubmittedFiles("student", {NAME: data}))
        self.processor_seconds = graded.spent.processor_seconds
        return {item.item: item for item in graded.score.items}


def judged(
    check: DebuggingCheck, named: Sequence[TrialResults], observed: Sequence[Observations]
) -> dict[str, ItemResult]:
    """What a check says of code that gave this for all probes.

    Args:
        check: of the question.
        named: what its listings gave.
        observed: one entry per probe that was tried.
    """
    by_name = dict(zip(check.uses.names, observed, strict=True))
    again = [by_name[name] for name in check.search(named).asked_first]
    answer = Answer("a", "code", "code", changed=True)
    evidence = Evidence(answer, [(Observation(ok=True),)], again=again, named=named, draw=Draw(bytes(32)))
    further = [by_name[one.name.rpartition(": ")[2]] for one in check.further_calls(evidence)]
    evidence = msgspec.structs.replace(evidence, again=[*again, *further])
    return {one.item: one for one in check.judge(evidence)}


def _notebook(question: dict[str, object], stub: str, right: str) -> nbformat.NotebookNode:
    plain = {"schema_version": 3, "grade": False, "solution": False, "locked": True, "task": False}
    name, points = str(question["id"]), question["points"]

    def cell(grade_id: str, source: str, **flags: object) -> nbformat.NotebookNode:
        return nbformat.v4.new_code_cell(
            source, metadata={"nbgrader": {**plain, "grade_id": grade_id, **flags}}
        )

    solved = f"{stub}\n### BEGIN SOLUTION\n{right}\n### END SOLUTION"
    cells = [
        cell("setup", "from coursecheck import check"),
        cell(f"{name}-answer", solved, solution=True, locked=False),
        cell(name, f'check("{name}")', grade=True, points=points),
    ]
    metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return nbformat.v4.new_notebook(cells=cells, metadata=metadata)
