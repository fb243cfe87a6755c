"""Three programs that grade the same class with their own commands; and lower bounds for comparison."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import peers_assignment as bench
from peers_assignment import NAME, Student

ROOT = Path(__file__).resolve().parents[1]
# As in a box: comparable processor times need one thread for each submission.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
SAMPLED_EVERY = 1.0
"""Seconds. A process cannot fork while its pages are counted: sampling every 0.2 s took a tenth of the
time."""
Marks = Mapping[str, Mapping[str, float]]
"""By student and exercise."""


class Cost(NamedTuple):
    """The cost of one command."""

    wall: float
    """Wall-clock seconds."""
    processor: float
    """Processor seconds of the command and of all its child processes."""
    peak_mb: float
    """Peak memory, shared pages counted once (PSS), where it can be read."""

    def __add__(self, other: Cost) -> Cost:  # type: ignore[override]
        """Return the cost of both, one after the other."""
        return Cost(
            self.wall + other.wall, self.processor + other.processor, max(self.peak_mb, other.peak_mb)
        )


def measure_command(command: Sequence[str | Path], folder: Path, log: Path, *, alone: bool = False) -> Cost:
    """Run a command to its end.

    Args:
        command: the program and its arguments.
        folder: working directory.
        log: its output is appended there.
        alone: count only its own memory, without that of its child processes.

    Raises:
        RuntimeError: it failed; its last lines are quoted.
    """
    done, programs = threading.Event(), Path(command[0]).parent  # nbgrader calls alembic by its name
    environment = {**os.environ, **ONE_THREAD, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # a program as it is installed has its bytecode
    began, peak = time.monotonic(), [0.0]
    with log.open("ab") as out:
        process = subprocess.Popen(
            [str(word) for word in command], cwd=folder, stdout=out, stderr=out, env=environment
        )
        root = process.pid
        # Child processes come and go, so the tree is listed anew at every sample.
        counted = (lambda: [root]) if alone else (lambda: list_descendants(root))
        watcher = threading.Thread(target=_watch_memory, args=(counted, done, peak))
        watcher.start()
        # wait4 reports the processor time of the whole process tree, which Popen.wait does not.
        _, status, used = os.wait4(process.pid, 0)
        wall = time.monotonic() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        done.set()
        watcher.join()
    if process.returncode not in {0, 1}:  # 1: a student's notebook failed
        last = log.read_text("utf-8", errors="replace")[-2000:]
        raise RuntimeError(f"{command[0]} ended with {process.returncode}: {last}")
    return Cost(wall, used.ru_utime + used.ru_stime, peak[0])


def _watch_memory(counted: Callable[[], list[int]], done: threading.Event, peak: list[float]) -> None:
    while not done.wait(SAMPLED_EVERY):
        peak[0] = max(peak[0], sum(read_memory_kb(pid) for pid in counted()) / 1024)


def list_descendants(root: int) -> list[int]:
    """Return a process and all its descendants."""
    parents: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            continue
    pids = {root}
    while more := {pid for pid, parent in parents.items() if parent in pids} - pids:
        pids |= more
    return sorted(pids)


def read_memory_kb(pid: int) -> int:
    """Return the kilobytes of a process, shared pages counted once; 0 if that cannot be read."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


class Ours:
    """This program: a course folder, and its command."""

    name = "autograder"

    def __init__(self, folder: Path, environment: Path, *, alone: bool = False) -> None:
        """Create the course; ``alone``: measure only the command's own memory."""
        self.folder, self._bin, self._alone = folder / self.name, environment / "bin", alone
        self._log = folder / f"{self.name}.log"
        self._write_course()
        self.release = (self.folder / "release" / NAME / f"{NAME}.ipynb").read_text("utf-8")

    def _write_course(self) -> None:
        """Write the course, and generate its release."""
        bench.write_our_course(self.folder)
        self.run_command("generate", NAME)

    def submit_class(self, notebooks: Mapping[str, str]) -> None:
        """Replace all submissions, and delete all results."""
        for name in ("submitted", "gradebook.db"):
            _remove_path(self.folder / name)
        self.submit_more(notebooks)

    def submit_more(self, notebooks: Mapping[str, str]) -> None:
        """Add submissions to the existing ones."""
        for student, text in notebooks.items():
            _put_file(self.folder / "submitted" / student / NAME / f"{NAME}.ipynb", text)

    def run_command(self, *words: str | Path) -> Cost:
        """Run a command of ours."""
        return measure_command([self._bin / "autograder", *words], self.folder, self._log, alone=self._alone)

    def grade_class(self) -> Cost:
        """Grade all submissions."""
        return self.run_command("grade", NAME)

    def read_marks(self) -> Marks:
        """Return the marks of all students."""
        to = self.folder / "marks.jsonl"
        self.run_command("grades", NAME, "--format", "jsonl", "--to", to, "--provisional")
        lines = [json.loads(line) for line in to.read_text("utf-8").splitlines()]
        return {
            line["student"]: {
                question["id"]: sum(float(item["points"] or 0) for item in question["items"])
                for question in line["questions"]
            }
            for line in lines
        }


class Adopted(Ours):
    """This program on an unchanged nbgrader course: its test cells, judged outside of the student's box."""

    name = "adopted"

    def _write_course(self) -> None:
        bench.write_nbgrader_course(self.folder)
        self.run_command("adopt")

    def read_marks(self) -> Marks:
        """Return the marks of all students, by exercise."""
        return {student: _sum_by_exercise(points) for student, points in super().read_marks().items()}


def _sum_by_exercise(points: Mapping[str, float]) -> dict[str, float]:
    """Sum points of tests to points of exercises."""
    return {
        exercise.id: sum(points[test.item] for test in exercise.tests)
        for exercise in bench.EXERCISES
        if any(test.item in points for test in exercise.tests)
    }


class Nbgrader:
    """nbgrader autograde, one command for the class."""

    name = "nbgrader"

    def __init__(self, folder: Path, environment: Path) -> None:
        self._folder, self._bin = folder / self.name, environment / "bin"
        bench.write_nbgrader_course(self._folder)
        self._log = folder / "nbgrader.log"
        self._run_command("generate_assignment", NAME)
        self.release = (self._folder / "release" / NAME / f"{NAME}.ipynb").read_text("utf-8")

    def _run_command(self, *words: str) -> Cost:
        return measure_command([self._bin / "nbgrader", *words], self._folder, self._log)

    def submit_class(self, notebooks: Mapping[str, str]) -> None:
        """Replace all submissions, and delete all results."""
        for name in ("submitted", "autograded", "gradebook.db"):
            _remove_path(self._folder / name)
        self._run_command("generate_assignment", NAME, "--force")
        for student, text in notebooks.items():
            _put_file(self._folder / "submitted" / student / NAME / f"{NAME}.ipynb", text)

    def grade_class(self) -> Cost:
        """Grade all submissions."""
        return self._run_command("autograde", NAME)

    def read_marks(self) -> Marks:
        """Return the marks of all students from its gradebook."""
        marks: dict[str, dict[str, float]] = {}
        statement = """
            SELECT submitted_assignment.student_id, base_cell.name, grade.auto_score FROM grade
            JOIN base_cell ON base_cell.id = grade.cell_id
            JOIN submitted_notebook ON submitted_notebook.id = grade.notebook_id
            JOIN submitted_assignment ON submitted_assignment.id = submitted_notebook.assignment_id
        """
        with sqlite3.connect(self._folder / "gradebook.db") as database:
            for student, test, score in database.execute(statement):
                marks.setdefault(student, {})[test] = float(score or 0)
        return {student: _sum_by_exercise(points) for student, points in marks.items()}


class Otter:
    """otter run, one command for each submission."""

    name = "otter"

    def __init__(self, folder: Path, environment: Path) -> None:
        self._folder, self._bin = folder / self.name, environment / "bin"
        self._log = folder / "otter.log"
        bench.write_otter_source(self._folder / f"{NAME}.ipynb")
        measure_command([self._bin / "otter", "assign", f"{NAME}.ipynb", "dist"], self._folder, self._log)
        self._archive = next((self._folder / "dist" / "autograder").glob("*.zip"))
        self.release = (self._folder / "dist" / "student" / f"{NAME}.ipynb").read_text("utf-8")
        self._handed: list[str] = []

    def submit_class(self, notebooks: Mapping[str, str]) -> None:
        """Replace all submissions, and delete all results."""
        for name in ("submitted", "results"):
            _remove_path(self._folder / name)
        self._handed = list(notebooks)
        for student, text in notebooks.items():
            _put_file(self._folder / "submitted" / student / f"{NAME}.ipynb", text)

    def grade_class(self) -> Cost:
        """Grade all submissions, one after another."""
        total = Cost(0, 0, 0)
        for student in self._handed:
            to = self._folder / "results" / student
            to.mkdir(parents=True)
            notebook = self._folder / "submitted" / student / f"{NAME}.ipynb"
            words: list[str | Path] = ["run", "--no-logo", "-a", self._archive, "-o", to, notebook]
            total = total + measure_command([self._bin / "otter", *words], to, self._log)
        return total

    def read_marks(self) -> Marks:
        """Return the marks of all students with results."""
        marks: dict[str, dict[str, float]] = {}
        for path in (self._folder / "results").glob("*/results.json"):
            tests = json.loads(path.read_text("utf-8"))["tests"]
            marks[path.parent.name] = {
                test["name"].replace("_", "-"): float(test["score"]) for test in tests if "score" in test
            }
        return marks


FORKING = """
import gc, json, os, sys, time
sys.path.insert(0, sys.argv[1])
import torch
torch.set_num_threads(1)
gathered = sys.argv[2] == "gathered"
papers = json.load(open(sys.argv[3]))
gc.collect(); gc.freeze()
if gathered:
    from autograder.sandbox.inside import jail, linux
    linux.gather_huge_pages(jail.open_proc())
began = time.monotonic()
used = 0.0
for cells in papers:
    pid = os.fork()
    if pid == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        space = {"__name__": "__main__"}
        for cell in cells:
            try:
                exec(cell, space)
            except Exception:
                pass
        os._exit(0)
    _, _, rusage = os.wait4(pid, 0)
    used += rusage.ru_utime + rusage.ru_stime
print(json.dumps([time.monotonic() - began, used]))
"""


def measure_floor(kind: str, students: Sequence[Student], folder: Path) -> Cost:
    """Return the cost of a notebook with its tests, executed without isolation, one at a time.

    Args:
        kind: ``import`` (a process that only imports torch), ``process`` (one for each submission), ``fork``
            (from a process with torch) or ``gathered`` (the same, with its memory in huge pages).
        students: the students with the answers to run.
        folder: for files.
    """
    log = folder / "floor.log"
    if kind == "import":
        return measure_command([sys.executable, "-c", "import torch"], folder, log)
    papers = [list_cells(student) for student in students]
    if kind == "process":
        total = Cost(0, 0, 0)
        for cells in papers:
            path = folder / "floor.py"
            path.write_text("import sys\nsys.path.insert(0, '')\n" + _guard_cells(cells), "utf-8")
            total = total + measure_command([sys.executable, path], folder, log)
        return Cost(total.wall / len(papers), total.processor / len(papers), total.peak_mb)
    papers_path = folder / "papers.json"
    papers_path.write_text(json.dumps(papers), "utf-8")
    words = [sys.executable, "-c", FORKING, ROOT, kind, papers_path]
    completed = subprocess.run(
        [str(word) for word in words], stdout=subprocess.PIPE, check=True, env={**os.environ, **ONE_THREAD}
    )
    wall, used = json.loads(completed.stdout)
    return Cost(wall / len(papers), used / len(papers), 0.0)


def list_cells(student: Student) -> list[str]:
    """Return the code of a submission, tests included."""
    cells = [bench.IMPORTS]
    for exercise in bench.EXERCISES:
        cells.append(student.answers[exercise.id])
        cells += [test.code for test in exercise.tests]
    return cells


def _guard_cells(cells: Sequence[str]) -> str:
    return "\n".join(f"try:\n    exec({cell!r})\nexcept Exception:\n    pass" for cell in cells)


def _put_file(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def _remove_path(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
