"""Submissions that exhaust each budget of the grader, and their costs; the program prints a line for each.

Only the grader is measured, without the processes of boxes: peak memory since the last submission, processor
time, and bytes in the database and on the page.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat

from autograder.core.limits import compute_budgets
from autograder.course import Course
from autograder.grading import assignment as assignments
from autograder.grading.assignment import Assignment
from autograder.grading.pipeline import Grader, SubmittedFiles
from autograder.grading.release_generation import generate_release
from autograder.grading.store import encode_bounded
from autograder.pages.feedback.student_page import render_student_page
from autograder.sandbox.pool import Pool
from tests.conftest import start_sandbox
from tests.redteam.attack import PRELUDE

NAME = "worst"
CASES = 12
RUBRIC = f"""
version = 1
[assignment]
name = "{NAME}"
points = 10
languages = ["en"]
symbols.d_model = {{ aliases = ["d"] }}
[assignment.limits]
cell_seconds = 4
call_seconds = 2
submission_seconds = 10
processor_seconds = 30
[[question]]
id = "work"
kind = "code"
points = 2
answer = "work"
[[question]]
id = "table"
kind = "table"
points = 2
answer = "table"
[[question.column]]
id = "matrix"
kind = "key"
[[question.column]]
id = "parameters"
kind = "number"
[[question.row]]
id = "up"
cells = {{ parameters = 12 }}
[[question.row]]
id = "down"
cells = {{ parameters = 24 }}
[[question.item]]
id = "matrices"
points = 2
text = {{ en = "Both" }}
columns = ["parameters"]
rows = ["up", "down"]
[[question]]
id = "weights"
kind = "number"
points = 2
answer = "weights"
tolerance = {{ relative = "1%" }}
[[question.item]]
id = "weights"
points = 2
text = {{ en = "The weights" }}
value = 0.88
[[question]]
id = "formula"
kind = "formula"
points = 3
answer = "formula"
[[question.item]]
id = "formula"
points = 2
text = {{ en = "The formula" }}
accept = ["8*d_model^2"]
[[question.item]]
id = "why"
points = 1
manual = true
cell = "why"
text = {{ en = "Why" }}
[[question]]
id = "choice"
kind = "choice"
points = 1
answer = "choice"
preset = "yes-no"
[[question.item]]
id = "choice"
points = 1
text = {{ en = "Yes or no" }}
right = ["no"]
"""
RIGHT = {
    "work": "def work(x):\n    return x + 1",
    "table": "table = {'up': 12, 'down': 24}",
    "weights": "weights = 0.88",
    "formula": "formula = '8*d_model^2'",
    "choice": "choice = 'no'",
    "why": "Both matrices.",
}
POINTS = {"work": 2, "table": 2, "weights": 2, "formula": 2, "choice": 1}
CHECKS = f"""
from autograder.checking import assert_equal, check, solution

solution(source={RIGHT["work"]!r})


@check(points=2, title="One more")
def result(student, reference, draw):
    for number in range({CASES}):
        assert_equal(student.work(number), number + 1)
"""
COLLIDING = (
    """b'{"v":{"$":"dict","v":[' + b','.join(b'[{"$":"int","v":"%s"},0]' % hex(k * P).encode() """
    """for k in range(1, 90_000)) + b']}}'"""
)
PRIME = "P = (1 << 61) - 1\n"
TUPLES = """
M, A, B, S = (1 << 64) - 1, 11400714785074694791, 14029467366897019727, 2870177450012600261
INVERSE = pow(A, -1, 1 << 64), pow(B, -1, 1 << 64)
rotate = lambda x, by: ((x << by) | (x >> (64 - by))) & M
def second(first):
    '''What makes the hash of a pair the same for every first part.'''
    state = rotate((S + first * B) & M, 31) * A & M
    wanted = rotate(12345 * INVERSE[0] & M, 33)
    return (wanted - state) * INVERSE[1] & M
def alike(number):
    found = []
    for first in range(1 << 30):
        if second(first) < (1 << 61) - 1:
            found.append((first, second(first)))
            if len(found) == number:
                return found
"""


def forged(tree: str) -> str:
    """Return the source of a function that forges its reply with this value."""
    return (
        "def work(x):\n    i = request_id()\n    value = " + tree + "\n"
        '    body = b\'{"id":"%s","n":%d,"call":0,"observed":\' % (i.encode(), x)\n'
        "    send(frame(body + value + b',\"seconds\":0}'))\n    time.sleep(60)\n"
    )


def answers(**changed: str) -> dict[str, str]:
    """Return the right answers with some replaced."""
    return {**RIGHT, **changed}


TOWER = "a" + "\u0316\u0301" * 450_000
SUBMISSIONS: dict[str, Callable[[], dict[str, str]]] = {
    "an honest one": answers,
    "large arrays in every call": lambda: answers(
        work="import numpy as np\ndef work(x):\n    return np.ones(63 << 20, np.uint8)"
    ),
    "arrays of another shape that hold what was asked": lambda: answers(
        work="import numpy as np\ndef work(x):\n    return np.full((1, 63 << 20), x + 1, np.uint8)"
    ),
    "a large array that is looked at many times": lambda: answers(
        work=forged('b\'{"v":[\' + b\',\'.join([b\'{"$":"numpy","k":"0"}\'] * 99999) + b\']}\'')
    ),
    "keys that collide": lambda: answers(work=PRIME + forged(COLLIDING)),
    "pairs that collide": lambda: answers(
        work=TUPLES + "ALIKE = alike(8000)\ndef work(x):\n    return dict.fromkeys(ALIKE, 0)"
    ),
    "junk in a key that nobody reads": lambda: answers(
        work=forged("b'{\"v\":0,\"junk\":[' + b','.join([b'{\"a\":[]}'] * 400_000) + b']}'")
    ),
    "lists in lists": lambda: answers(work="def work(x):\n    return [[[]]] * 60_000"),
    "many short texts": lambda: answers(work="def work(x):\n    return [str(i) for i in range(199_000)]"),
    "one long text": lambda: answers(work="def work(x):\n    return '\\U0001f600' * 300_000"),
    "large integers": lambda: answers(
        work="def work(x):\n    return [(1 << 65_000) + i for i in range(200)]"
    ),
    "small arrays": lambda: answers(work="import numpy as np\ndef work(x):\n    return [np.zeros(1)] * 6000"),
    "a reply that trickles": lambda: answers(
        work="def work(x):\n    send(frame(b'', lengths=(1, 60 << 20)))\n    while True: send(b' ')"
    ),
    "variables that are large": lambda: answers(
        table="table = {str(i): ['a' * 90] * 9 for i in range(9000)}",
        weights="import numpy as np\nweights = np.ones(15 << 20, np.float32)",
        formula="formula = '(' * 2000",
        choice="choice = ['a ' * 900] * 900",
    ),
    "space in a table": lambda: answers(table="table = 'a' + ' ' * 39_000 + 'b'"),
    "commas in a table": lambda: answers(table="table = 'a:' + ', ' * 19_000"),
    "marks on one letter": lambda: answers(why=TOWER, table=f"table = {TOWER[:60_000]!r}"),
    "a name with marks": lambda: answers(work=f"{TOWER[:60_000]} = 1", choice=f"choice = {TOWER[:40_000]!r}"),
}


def notebook(sources: dict[str, str]) -> nbformat.NotebookNode:
    """Return a notebook with a cell for each answer."""
    flags = {"schema_version": 3, "grade": False, "solution": False, "locked": False, "task": False}
    cells = []
    for name, source in sources.items():
        grade_id = f"{name}-answer" if name != "why" else "why"
        extra = {"grade": True, "points": 1} if name == "why" else {}
        metadata = {"nbgrader": {**flags, "solution": True, "grade_id": grade_id, **extra}}
        make = nbformat.v4.new_markdown_cell if name == "why" else nbformat.v4.new_code_cell
        cells.append(make(source, metadata=metadata, id=grade_id))
        if name in POINTS:
            own = {**flags, "grade": True, "locked": True, "grade_id": name, "points": POINTS[name]}
            check = f'from coursecheck import check\n\ncheck("{name}")'
            cells.append(nbformat.v4.new_code_cell(check, metadata={"nbgrader": own}, id=name))
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})


def load(root: Path) -> Assignment:
    """Return the assignment of a new course."""
    for folder in (f"assignments/{NAME}", "rubrics", "reference/checks"):
        (root / folder).mkdir(parents=True)
    (root / f"rubrics/{NAME}.toml").write_text(RUBRIC, encoding="utf-8")
    (root / "reference/checks/work.py").write_text(CHECKS, encoding="utf-8")
    marked = {
        name: text if name == "why" else f"### BEGIN SOLUTION\n{text}\n### END SOLUTION"
        for name, text in RIGHT.items()
    }
    marked["why"] = "### BEGIN SOLUTION\nBoth matrices.\n### END SOLUTION"
    nbformat.write(notebook(marked), root / f"assignments/{NAME}/{NAME}.ipynb")
    course = Course.from_folder(root)
    generate_release(course, NAME)
    return assignments.load_assignment(course, NAME)


def paper(release: bytes, sources: dict[str, str]) -> dict[str, Any]:
    """Return the released notebook with these answers, and the attackers' tools in the first cell."""
    tree: dict[str, Any] = json.loads(release)
    for cell in tree["cells"]:
        grade_id = cell.get("metadata", {}).get("nbgrader", {}).get("grade_id", "")
        name = grade_id.removesuffix("-answer")
        if name in sources and (name == "why" or grade_id != name):
            cell["source"] = sources[name]
    tree["cells"].insert(0, nbformat.v4.new_code_cell(PRELUDE))
    return tree


def files(release: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the submissions with their names."""
    for name, sources in SUBMISSIONS.items():
        yield name, json.dumps(paper(release, sources())).encode()
    cell = nbformat.v4.new_code_cell("")
    tree = paper(release, answers())
    tree["cells"] += [{**cell, "id": f"x{n}", "source": "# " + "x" * 40_000} for n in range(390)]
    yield "cells of fifteen megabytes", json.dumps(tree).encode()
    tree = paper(release, answers())
    stream = {"output_type": "stream", "name": "stdout", "text": "x" * (50 << 20) + "\U0001f600"}
    tree["cells"] += [{**cell, "outputs": [stream]}]
    yield "outputs of fifty megabytes", json.dumps(tree, ensure_ascii=False).encode()
    tree = paper(release, answers())
    tree["cells"] += [{**cell, "metadata": {"nbgrader": {"junk": [{"a": 1}] * 290_000}}}]
    yield "as many values as are read", json.dumps(tree).encode()
    tree["cells"] += ["no cell"]
    padded = json.dumps({**tree, "junk": "\U0001f600" + "x" * (10 << 20)}, ensure_ascii=False)
    yield "an irregular notebook of fifteen megabytes", padded.encode()
    tree = paper(release, answers())
    shown = "from IPython.display import HTML, display\n"
    nested = "for i in range(20): display(HTML('<ul><li>' * 3000))\nprint('<' * 200_000)"
    tree["cells"] += [{**cell, "source": shown + nested}]
    yield "output that takes long to clean", json.dumps(tree).encode()


def reset_peak() -> None:
    """Reset the peak memory of this process."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def peak_mb() -> float:
    """Return the peak memory since `reset_peak`."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def measure(grader: Grader, path: Path, page: Callable[[Any], str]) -> dict[str, Any]:
    """Grade one submission, store it and render its page."""
    reset_peak()
    content = path.read_bytes()
    before = resource.getrusage(resource.RUSAGE_SELF)
    graded = grader.grade(SubmittedFiles("ada", {NAME: content}))
    limits = grader.assignment.rubric.assignment.limits
    stored = len(encode_bounded(graded, compute_budgets(limits).stored_mb))
    shown = page(graded)
    after = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "points": {item.question + "." + item.item: float(item.points) for item in graded.score.items},
        "codes": {item.question + "." + item.item: item.code for item in graded.score.items},
        "notes": sorted({note.code for note in graded.score.notes}),
        "processor": round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 2),
        "memory": round(peak_mb()),
        "stored": stored,
        "page": len(shown.encode()),
        "handed in": len(content),
    }


def write(release: Path, folder: Path) -> None:
    """Write the submissions to files, in a separate process because this needs much memory."""
    for number, (name, content) in enumerate(files(release.read_bytes())):
        (folder / f"{number:02} {name}").write_bytes(content)


def main(wanted: str) -> None:
    """Print a line of JSON for each submission whose name contains the given word."""
    with tempfile.TemporaryDirectory() as folder, Pool(start_sandbox) as pool:
        root, handed = Path(folder) / "course", Path(folder) / "handed in"
        root.mkdir()
        handed.mkdir()
        assignment = load(root)
        release = Path(folder) / "release"
        release.write_bytes(assignment.release_bytes[NAME])
        command = [sys.executable, "-m", "tests.grading.worst", "--write", str(release), str(handed)]
        subprocess.run(command, check=True)
        grader = Grader(assignment, pool)
        for path in sorted(handed.iterdir()):
            name = path.name.partition(" ")[2]
            if wanted in name:
                measurement = measure(
                    grader, path, lambda graded: render_student_page(graded, assignment.rubric)
                )
                sys.stdout.write(json.dumps({"name": name, **measurement}) + "\n")
                sys.stdout.flush()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--write"]:
        write(Path(sys.argv[2]), Path(sys.argv[3]))
    else:
        main(sys.argv[1] if len(sys.argv) > 1 else "")
