"""Grade the corpus with nbgrader and otter, and record their marks.

Run ``python -m tests.exchange.adoption.record <bin>``.

``<bin>`` is the program folder of an environment with nbgrader 0.9.6 and otter-grader 7.0.0. Further
arguments restrict the assignments. The programs run the corpus without a sandbox.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path

from tests.exchange.adoption import courses, programs
from tests.exchange.adoption.courses import CorpusAssignment, Handed


def main(bin_folder: Path, names: list[str]) -> None:
    """Record the marks of each assignment."""
    courses.EXPECTED.mkdir(exist_ok=True)
    for name in names or courses.NAMES:
        assignment = courses.load(name)
        with tempfile.TemporaryDirectory(prefix="record-") as folder:
            record = _of_nbgrader if assignment.origin == "nbgrader" else _of_otter
            found = record(bin_folder, assignment, Path(folder))
        text = json.dumps(found, ensure_ascii=False, indent=1, sort_keys=True)
        (courses.EXPECTED / f"{name}.json").write_text(text + "\n", "utf-8")
        print(name, "recorded")


def _of_nbgrader(bin_folder: Path, assignment: CorpusAssignment, course: Path) -> dict[str, object]:
    source = assignment.write(course)
    programs.run_program(bin_folder / "nbgrader", course, "generate_assignment", assignment.name)
    released = _notebooks(course / "release" / assignment.name)
    for student, handed in courses.submissions(assignment, released).items():
        submitted = course / "submitted" / student / assignment.name
        shutil.copytree(source, submitted, ignore=shutil.ignore_patterns("*.ipynb"))
        for name, notebook in handed.items():
            (submitted / f"{name}.ipynb").write_text(json.dumps(notebook), "utf-8")
    marks = programs.have_nbgrader_grade(bin_folder / "nbgrader", course, assignment.name)
    return {"program": "nbgrader 0.9.6", "released": released, "marks": marks}


def _of_otter(bin_folder: Path, assignment: CorpusAssignment, folder: Path) -> dict[str, object]:
    source = assignment.write(folder / "source") / f"{assignment.name}.ipynb"
    scratch = folder / "scratch"
    scratch.mkdir()
    archive = programs.have_otter_assign(bin_folder / "otter", source, scratch)
    released = _notebooks(scratch / "made" / "student")
    submitted = {}
    for student, handed in courses.submissions(assignment, released).items():
        submitted[student] = folder / student / f"{assignment.name}.ipynb"
        submitted[student].parent.mkdir()
        submitted[student].write_text(json.dumps(handed[assignment.name]), "utf-8")
    marks = programs.have_otter_grade(bin_folder / "otter", archive, submitted)
    return {"program": "otter-grader 7.0.0", "released": released, "marks": marks}


def _notebooks(folder: Path) -> Handed:
    return {path.stem: json.loads(path.read_text("utf-8")) for path in sorted(folder.glob("*.ipynb"))}


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
