"""Run nbgrader and otter without a sandbox: only on the notebooks of the corpus."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from autograder.app.mark_comparison import PeerMarks, read_gradebook_marks, read_results_marks


def run_program(program: Path, folder: Path, *words: str | Path) -> None:
    """Run a command in a folder; exit code 1 is valid, as after a failed notebook."""
    path = f"{program.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"  # nbgrader needs alembic
    done = subprocess.run(
        [program, *words], cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, check=False
    )
    assert done.returncode in (0, 1), done.stderr.decode(errors="replace")


def have_nbgrader_grade(program: Path, course: Path, assignment: str) -> PeerMarks:
    """Release and autograde an assignment with nbgrader in a separate course folder; return the marks."""
    run_program(program, course, "generate_assignment", assignment, "--force")
    run_program(program, course, "autograde", assignment, "--force", "--Autograde.create_student=True")
    return read_gradebook_marks(course / "gradebook.db", assignment)


def have_otter_assign(program: Path, source: Path, folder: Path) -> Path:
    """Create otter's autograder of a source in an empty folder; return the archive."""
    shutil.copytree(source.parent, folder / "source", ignore=shutil.ignore_patterns("dist"))
    words = ("assign", "--no-run-tests", "--no-pdfs", source.name, folder / "made")
    run_program(program, folder / "source", *words)
    (archive,) = (folder / "made" / "autograder").glob("*.zip")
    return archive


def have_otter_grade(program: Path, archive: Path, submitted: Mapping[str, Path]) -> PeerMarks:
    """Grade each student's notebook with otter; a notebook at which it fails has no marks."""
    marks = {}
    for student, notebook in submitted.items():
        with tempfile.TemporaryDirectory(prefix="otter-") as name:
            folder = Path(name)
            shutil.copy(notebook, folder / notebook.name)
            run_program(
                program, folder, "run", "--no-logo", "-a", archive.resolve(), "-o", folder, notebook.name
            )
            if (folder / "results.json").is_file():
                marks[student] = read_results_marks(folder / "results.json")
    return marks
