"""Follow docs/authoring.md: run its commands, make its changes, and compare the marks."""

from __future__ import annotations

import json
import re
import shlex
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from autograder.notebook.release import load_release
from tests.cli.running import ROOT, only_object, run

pytestmark = pytest.mark.long

PAGE = (ROOT / "docs/authoring.md").read_text("utf-8")
NAME = "attention"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
STUDENTS = ("ada", "ben", "eve")


class Reader:
    """A reader who follows the page from top to bottom."""

    def __init__(self, course: Path) -> None:
        self.course = course
        self.typed: list[str] = []
        self.answered: dict[str, dict[str, str]] = {student: {} for student in STUDENTS}

    def follow(self) -> None:
        """Process every block in order, according to the sentence before it."""
        end = 0
        for found in BLOCK.finditer(PAGE):
            before, (language, body) = PAGE[end : found.start()], found.groups()
            end = found.end()
            if not language:
                for line in body.splitlines():
                    self.type(line)
                continue
            student = re.findall(r"`(\w+)`,\s+cell\s+`([\w-]+)`:\s*$", before)
            cell = re.findall(r"Cell\s+`([\w-]+)`", before)
            if student:
                self.answered[student[0][0]][student[0][1]] = body.rstrip("\n")
            elif language == "toml":
                self.replace_question(
                    re.findall(r"the\s+question\s+`(\w+)`\s+is\s+now:\s*$", before)[0], body
                )
            else:
                self.change(self.course / f"assignments/{NAME}/{NAME}.ipynb", {cell[-1]: body.rstrip("\n")})

    def type(self, line: str) -> None:
        """Run a command and require an empty standard error."""
        words = shlex.split(line)
        assert "autograder" == words[0], line
        if words[1] == "grade":
            self.hand_in()
        done = run(*words[1:], cwd=self.course)
        assert (0, "") == (done.returncode, done.stderr), f"{line}\n{done.stdout}\n{done.stderr}"
        self.typed.append(words[1])

    def replace_question(self, identifier: str, text: str) -> None:
        """Replace the tables of a question in the rubric."""
        path = self.course / f"rubrics/{NAME}.toml"
        questions = re.split(r"^(?=\[\[question\]\])", path.read_text("utf-8"), flags=re.MULTILINE)
        old = [entry for entry in questions if f'\nid = "{identifier}"\nkind' in entry]
        assert 1 == len(old)
        path.write_text("".join(f"{text}\n" if entry == old[0] else entry for entry in questions), "utf-8")

    def change(self, path: Path, sources: dict[str, str]) -> None:
        """Replace the sources of cells in a notebook."""
        notebook: dict[str, Any] = json.loads(path.read_text("utf-8"))
        cells = {cell["metadata"]["nbgrader"]["grade_id"]: cell for cell in notebook["cells"]}
        for name, source in sources.items():
            cells[name]["source"] = source
        path.write_text(json.dumps(notebook), "utf-8")

    def hand_in(self) -> None:
        """Submit the release with each student's answers."""
        release = (self.course / f"release/{NAME}/{NAME}.ipynb").read_bytes()
        for student, answers in self.answered.items():
            path = self.course / f"submitted/{student}/{NAME}/{NAME}.ipynb"
            path.parent.mkdir(parents=True)
            path.write_bytes(release)
            self.change(path, answers)


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    """Return a reader who has followed the page in an empty folder."""
    made = Reader(tmp_path_factory.mktemp("authoring"))
    made.follow()
    return made


@pytest.mark.sandbox
def test_all_commands_were_typed(reader: Reader) -> None:
    """The page creates, verifies, releases, prints and grades an assignment."""
    assert ["new", "verify", "verify", "generate", "print", "print", "grade", "feedback"] == reader.typed
    assert {"ada": 5, "ben": 4, "eve": 0} == {name: len(cells) for name, cells in reader.answered.items()}


@pytest.mark.sandbox
def test_marks_are_those_of_the_page(reader: Reader) -> None:
    """Right, half-right and empty notebooks earn the points stated on the page."""
    rows = re.findall(r"^\| `(\w+)` \| (\d+) \| (\d+) \|$", PAGE, re.MULTILINE)
    assert list(STUDENTS) == [student for student, _, _ in rows]
    found = only_object(run("grade", NAME, "--json", cwd=reader.course).stdout)
    assert {student: float(points) for student, points, _ in rows} == found["points"]
    assert sum(int(waiting) for _, _, waiting in rows) == found["points waiting for a person"]
    for student, points, waiting in rows:
        alone = only_object(run("grade", NAME, "--student", student, "--json", cwd=reader.course).stdout)
        assert (float(points), float(waiting)) == (
            alone["points"][student],
            alone["points waiting for a person"],
        )


@pytest.mark.sandbox
def test_the_release_asks_the_new_question(reader: Reader) -> None:
    """The release and the printed sheet contain the page's question without its solution."""
    release = load_release((reader.course / f"release/{NAME}/{NAME}.ipynb").read_bytes(), NAME)
    text = "\n".join(cell.source for cell in release.cells)
    sheet = (reader.course / "sheet.html").read_text("utf-8")
    solutions = (reader.course / "solutions.html").read_text("utf-8")
    assert "the key and the value of every token" in text
    assert "the key and the value of every token" in sheet
    assert "2*batch*length*d_model" not in text + sheet
    assert "2*batch*length*d_model" in solutions
    assert Decimal(10) == sum(cell.points or Decimal(0) for cell in release.cells)


@pytest.mark.sandbox
def test_students_read_what_the_page_says(reader: Reader) -> None:
    """The message of the named mistake is on the page of that student only."""
    pages = {
        student: "".join(
            path.read_text("utf-8") for path in (reader.course / f"feedback/{student}").rglob("*.html")
        )
        for student in STUDENTS
    }
    said = "That is one of the two things a layer keeps of each token."
    assert ["ben"] == [student for student, page in pages.items() if said in page]
    assert "Each head has scores of its own." in pages["ben"]
