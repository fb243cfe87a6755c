"""nbgrader and otter called as programs: small ones that stand in for them, and the real ones (`apart`)."""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
from pathlib import Path

import pytest

from autograder.adopting.peers import exceptions_of, nbgrader_marks, otter_archive, otter_marks
from autograder.errors import CourseError
from tests.adopting import courses
from tests.cli.running import ROOT, only_object, run

NBGRADER = """
import json, pathlib, sqlite3, sys
verb, name, *options = sys.argv[1:]
here = pathlib.Path.cwd()
if verb == "generate_assignment":
    assert (here / "source" / name).is_dir()
    sys.exit()
assert verb == "autograde" and options[0] == "--force"
stated = dict(one[2:].split("=", 1) for one in options[1:])
assert stated["CourseDirectory.root"] == str(here)
assert stated["CourseDirectory.db_url"] == f"sqlite:///{here}/gradebook.db"
config = here / "nbgrader_config.py"
if config.is_file() and "boom" in config.read_text():
    print("[AutogradeApp | ERROR] the configuration says boom")
    sys.exit(1)
with sqlite3.connect(here / "gradebook.db") as book:
    book.executescript(pathlib.Path(__file__).with_name("tables.sql").read_text())
    for number, folder in enumerate(sorted(here.glob(f"submitted/*/{name}"))):
        text = "".join(path.read_text() for path in folder.glob("*.ipynb"))
        book.execute("insert into submitted_assignment values (?, 1, ?)", (number, folder.parent.name))
        book.execute("insert into submitted_notebook values (?, ?)", (number, number))
        book.execute("insert into grade values (7, ?, ?)", (number, 2.0 if "right" in text else 0.0))
sys.exit(1)  # as after a notebook that failed
"""
TABLES = """
create table assignment (id, name);
create table submitted_assignment (id, assignment_id, student_id);
create table submitted_notebook (id, assignment_id);
create table base_cell (id, name);
create table grade (cell_id, notebook_id, auto_score);
insert into assignment values (1, 'ps1');
insert into base_cell values (7, 'squares');
"""
OTTER = """
import json, pathlib, sys, zipfile
verb, *words = sys.argv[1:]
if verb == "assign":
    *options, notebook, made = words
    assert options == ["--no-run-tests", "--no-pdfs"] and pathlib.Path(notebook).is_file()
    folder = pathlib.Path(made) / "autograder"
    folder.mkdir(parents=True)
    with zipfile.ZipFile(folder / "one-autograder.zip", "w") as packed:
        packed.writestr("tests/q1.py", "")
else:
    nologo, a, archive, o, folder, notebook = words
    assert (verb, nologo, a, o) == ("run", "--no-logo", "-a", "-o") and pathlib.Path(archive).is_file()
    score = 1.0 if "right" in pathlib.Path(notebook).read_text() else 0.0
    found = {"tests": [{"name": "q1 - 1", "score": score}, {"name": "Public Tests", "score": None}]}
    (pathlib.Path(folder) / "results.json").write_text(json.dumps(found))
"""


def program(folder: Path, name: str, text: str) -> Path:
    """A program that does what a test says it has to."""
    path = folder / name
    path.write_text(f"#!{sys.executable}{textwrap.dedent(text)}")
    path.chmod(0o755)
    (folder / "tables.sql").write_text(TABLES)
    return path


def handed_in(folder: Path, name: str) -> dict[str, Path]:
    """What two students handed in."""
    found = {}
    for student, text in (("ada", "right"), ("alan", "wrong")):
        found[student] = folder / "submitted" / student / "ps1"
        found[student].mkdir(parents=True)
        (found[student] / name).write_text(json.dumps({"cells": [], "text": text}))
    return found


def test_nbgrader_works_in_a_copy_of_the_course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It makes the release anew and grades all, wherever it is called from; the course has no file more."""
    monkeypatch.chdir(tmp_path)
    course = tmp_path / "course"
    submitted = handed_in(course, "ps1.ipynb")
    (course / "source" / "ps1").mkdir(parents=True)
    before = sorted(course.rglob("*"))
    (tmp_path / "bin").mkdir()  # a name alone would be looked for where programs lie
    path = program(tmp_path / "bin", "nbgrader", NBGRADER)
    source = course / "source" / "ps1"
    marks, exceptions = nbgrader_marks(path.relative_to(tmp_path), course, source, "ps1", submitted)
    assert marks == {"ada": {"squares": 2.0}, "alan": {"squares": 0.0}}
    assert exceptions == {}
    assert sorted(course.rglob("*")) == before
    (course / "nbgrader_config.py").write_text("boom")
    with pytest.raises(CourseError, match=r"(?s)graded nobody; it said:.*the configuration says boom"):
        nbgrader_marks(path.relative_to(tmp_path), course, source, "ps1", submitted)


def test_the_exception_of_each_student_is_found() -> None:
    """The last one of each traceback, as nbgrader 0.9.6 prints them."""
    said = (
        "[AutogradeApp | ERROR] There was an error processing assignment: /tmp/c/submitted/bob/ps1\n"
        "[AutogradeApp | ERROR] Traceback (most recent call last):\n"
        '      File "/lib/reader.py", line 19, in parse_json\n'
        "        nb_dict = json.loads(s, **kwargs)\n"
        "    json.decoder.JSONDecodeError: Expecting value: line 2 column 1 (char 12)\n"
        "    \n"
        "    The above exception was the direct cause of the following exception:\n"
        "    \n"
        "    Traceback (most recent call last):\n"
        '      File "/lib/reader.py", line 25, in parse_json\n'
        "    nbformat.reader.NotJSONError: Notebook does not appear to be JSON\n"
        "    \n"
        "[AutogradeApp | INFO] Sanitizing /tmp/c/submitted/cy/ps1/ps1.ipynb\n"
        "    not.an.Error: of nobody\n"
    )
    assert exceptions_of(said) == {"bob": "nbformat.reader.NotJSONError: Notebook does not appear to be JSON"}


def test_otter_assigns_and_runs_notebook_by_notebook(tmp_path: Path) -> None:
    """Its results.json is read from a folder of its own."""
    source = tmp_path / "course" / "one.ipynb"
    submitted = handed_in(tmp_path / "course", "one.ipynb")
    source.write_text("{}")
    (tmp_path / "scratch").mkdir()
    path = program(tmp_path, "otter", OTTER)
    archive = otter_archive(path, source, tmp_path / "scratch")
    marks = otter_marks(path, archive, {one: folder / "one.ipynb" for one, folder in submitted.items()})
    assert marks == {"ada": {"q1": 1.0}, "alan": {"q1": 0.0}}
    assert not list((tmp_path / "course").rglob("results.json"))


STUDENTS = ("01-right", "02-empty", "03-wrong", "05-crash")
"""Of the twenty, for the real programs: they take seconds each."""


def real(name: str) -> Path:
    """The program itself; a test without it is skipped, and fails in CI: `make test-all` has both."""
    place = os.environ.get("OTTER", str(ROOT / "build" / "otter" / "bin" / "otter"))
    path = Path(sys.executable).with_name(name) if name == "nbgrader" else Path(place)
    if not path.is_file():
        pytest.skip(f"{path} is not there; make test-all installs it")
    return path


@pytest.mark.apart
@pytest.mark.sandbox
@pytest.mark.parametrize(("name", "peer", "questions"), [("series", "nbgrader", 6), ("words", "otter", 4)])
def test_the_program_itself_gives_the_same_marks(
    name: str, peer: str, questions: int, tmp_path: Path
) -> None:
    """``compare`` calls it, and all marks are the same, but where a person decides here."""
    path = real(peer)
    assignment = courses.load(name)
    recorded = json.loads((courses.EXPECTED / f"{name}.json").read_text("utf-8"))
    folder = assignment.write(tmp_path)
    assert run("adopt", str(tmp_path)).returncode in (0, 1)
    handed = courses.submissions(assignment, recorded["released"])
    for student in STUDENTS:
        into = tmp_path / "submitted" / student / name
        ignored = shutil.ignore_patterns("*.ipynb", "rubrics", "release", "submitted", ".*")
        shutil.copytree(folder, into, ignore=ignored)
        for notebook, content in handed[student].items():
            (into / f"{notebook}.ipynb").write_text(json.dumps(content), "utf-8")
    done = run("compare", name, "--course", str(tmp_path), f"--{peer}", str(path), "--json")
    assert done.returncode in (0, 1), done.stderr
    found = only_object(done.stdout)
    assert (found["peer"], found["remarks"]) == (peer, [])
    assert found["compared"] == len(STUDENTS) * questions
    waiting = {one["question"] for one in found["differences"]}
    assert waiting <= ({"limit_uses"} if peer == "nbgrader" else set()), found["differences"]
    assert all(one["reason"].startswith("A person decides here") for one in found["differences"])
