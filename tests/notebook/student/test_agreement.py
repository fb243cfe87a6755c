"""``check()`` in a notebook and ``autograder check`` of the saved file agree on every cell."""

from __future__ import annotations

import json
import linecache
from typing import Any

import nbformat
import pytest

from autograder import rubric as rubrics
from autograder.grading.verify.papers import with_sources
from autograder.notebook.document import parse_notebook
from autograder.notebook.release import load_release
from autograder.notebook.release_builder import build_release
from autograder.notebook.student.report import MISSING, PROBLEM, READY
from autograder.notebook.student.saved_notebook import report_on
from autograder.notebook.student_check import build_student_check, read_specification
from autograder.questions import list_forms
from autograder.questions.closed_lists import normalize_name, split_entries
from autograder.rubric import Rubric
from tests.support.code_course import write_empty_checks
from tests.support.small_course import answer, cell

NAME = "sheet"


RUBRIC = """
version = 1
[assignment]
name = "sheet"
points = 7
[assignment.symbols]
d = {}

[[question]]
id = "softmax"
kind = "code"
points = 1
answer = "softmax"

[[question]]
id = "Trainer"
kind = "code"
points = 1
answer = "Trainer"

[[question]]
id = "sources"
kind = "choice"
points = 1
answer = "sources"
names = ["query", "key", "value"]
[[question.item]]
id = "first"
points = 0.5
key = "first"
text = { en = "First" }
right = ["key"]
[[question.item]]
id = "second"
points = 0.5
key = "second"
text = { en = "Second" }
right = ["value"]

[[question]]
id = "changes"
kind = "choice"
points = 1
answer = "changes"
preset = "yes-no"
[[question.item]]
id = "all"
points = 1
text = { en = "All" }
right = ["yes"]

[[question]]
id = "tasks"
kind = "choice"
points = 1
answer = "tasks"
names = ["translation", "summarisation"]
[[question.item]]
id = "all"
points = 1
pick = 1
text = { en = "All" }
right = ["translation", "summarisation"]

[[question]]
id = "layers"
kind = "number"
points = 1
answer = "layers"
[[question.item]]
id = "all"
points = 1
text = { en = "All" }
value = 12

[[question]]
id = "size"
kind = "formula"
points = 1
answer = "size"
[[question.item]]
id = "all"
points = 1
text = { en = "All" }
accept = ["8*d^2"]
"""
GIVEN = {
    "softmax": "def softmax(x):\n    '''Rows that add up to one.'''\n    raise NotImplementedError",
    "Trainer": "class Trainer:\n    def __init__(self):\n        self.steps = 0\n\n"
    "    def step(self, x):\n        pass",
    "sources": 'sources = {"first": "...", "second": "..."}',
    "changes": 'changes = "..."  # yes or no',
    "tasks": '# tasks = "..."',
    "layers": "layers = None",
    "size": 'size = "..."',
}
PROMPT = "Choose among query, key and value. Name a task."


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> Rubric:
    """Return the rubric, with checks for the code questions."""
    folder = write_empty_checks(tmp_path_factory.mktemp("reference"), "softmax", "Trainer")
    return rubrics.parse_rubric(RUBRIC.encode(), reference=folder)


@pytest.fixture(scope="module")
def release(rules: Rubric) -> bytes:
    """Return a released notebook with stubs, placeholders and half a class."""
    cells = [nbformat.v4.new_markdown_cell(PROMPT)]
    for name, stub in GIVEN.items():
        cells.append(answer(f"{name}-answer", stub, f"{name} = {name!r}"))
        cells.append(cell(name, f'check("{name}")', grade=True, points=1))
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
    return build_release(nbformat.writes(notebook).encode(), rules, NAME)


@pytest.fixture(scope="module")
def checking(release: bytes, rules: Rubric) -> str:
    """Return the check file that is released with the notebook."""
    return build_student_check(rules, releases=[load_release(release, NAME)], forms=list_forms()).decode()


def in_notebook(checking: str, name: str, source: str, language: str = "en") -> list[tuple[str, str]]:
    """Return the output of ``check()`` after the cell ran, in a kernel that keeps cell sources."""
    place = f"<cell {name} {hash(source)}>"
    linecache.cache[place] = (len(source), None, source.splitlines(keepends=True), place)
    namespace: dict[str, Any] = {}
    exec(compile(source, place, "exec"), namespace)
    module: dict[str, Any] = {"__name__": "coursecheck"}
    exec(compile(checking, "coursecheck.py", "exec"), module)
    entry = json.loads(module["SPECIFICATION"])["questions"][name]
    report = module["_module"]("autograder.notebook.student.report").examine(name, entry, namespace, language)
    return [(line.state, line.text) for line in report.lines]


def in_file(
    release: bytes, checking: str, name: str, source: str, language: str = "en"
) -> list[tuple[str, str]]:
    """Return the output of ``autograder check`` for the saved notebook."""
    saved = with_sources(release, {f"{name}-answer": source})
    paper = report_on(
        parse_notebook(saved).cells, read_specification(checking, "coursecheck.py"), NAME, language
    )
    (report,) = (one for one in paper.reports if one.question == name)
    return [(line.state, line.text) for line in report.lines]


DONE = "def softmax(x):\n    return x / x.sum()"
METHOD = GIVEN["Trainer"].replace("pass", "self.steps += 1")
CASES = [
    *(
        (name, source, MISSING)
        for name, source in GIVEN.items()
        if not source.startswith("#") and name != "size"
    ),
    ("softmax", GIVEN["softmax"] + "  # later\n", MISSING),
    ("softmax", "import math\n" + GIVEN["softmax"], MISSING),
    ("softmax", "def softmax(x):\n    pass", MISSING),
    ("softmax", "def softmax(x):\n    ...", MISSING),
    ("softmax", "def softmax(x):\n    y = x\n    raise NotImplementedError('soon')", MISSING),
    ("softmax", DONE, READY),
    ("softmax", "def softmax(x):\n    if x is None:\n        raise NotImplementedError\n    return x", READY),
    ("softmax", "softmax = 3", PROBLEM),
    ("Trainer", GIVEN["Trainer"].replace("\n\n", "\n\n    # a remark\n\n"), MISSING),
    ("Trainer", GIVEN["Trainer"].replace("steps = 0", "steps = 1"), MISSING),
    ("Trainer", "class Trainer:\n    '''To come.'''", MISSING),
    ("Trainer", METHOD, READY),
    ("Trainer", METHOD + "\n\n    def reset(self):\n        pass", READY),
    ("sources", 'sources = {"first": "key", "second": "..."}', MISSING),
    ("sources", 'sources = {"first": "key", "second": None}', MISSING),
    ("sources", 'sources = {"first": "", "second": "?"}', MISSING),
    ("sources", "sources = {}", MISSING),
    ("sources", 'sources = {"first": "keys!", "second": "value"}', PROBLEM),
    ("sources", 'sources = {"first": "output", "second": "value"}', PROBLEM),
    ("sources", 'sources = {"first": " KEY ", "second": "value or key"}', PROBLEM),
    ("sources", 'sources = {"first": "key (of the token)", "second": "the value"}', READY),
    ("sources", 'sources = {"first": " KEY ", "second": "Value."}', READY),
    ("sources", 'sources = ["key", "value"]', READY),
    ("sources", 'sources = ["key", "..."]', MISSING),
    ("changes", 'changes = "perhaps"', PROBLEM),
    ("changes", 'changes = "Ja"', READY),
    ("changes", "changes = True", READY),
    ("changes", 'changes = "TODO"', MISSING),
    ("tasks", 'tasks = "parsing"', READY),
    ("tasks", 'tasks = ["...", "..."]', MISSING),
    ("layers", "layers = ...", MISSING),
    ("layers", 'layers = "?"', MISSING),
    ("layers", "layers = 12", READY),
    ("size", 'size = "8*d^2"', READY),
    ("size", 'size = "8*"', PROBLEM),
    ("size", 'size = " "', MISSING),
]


@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}: {case[1][:40]}")
def test_both_say_the_same(release: bytes, checking: str, case: tuple[str, str, str], language: str) -> None:
    """Both give the same state and sentence, unless the file reports an untouched cell."""
    name, source, state = case
    notebook = in_notebook(checking, name, source, language)
    saved = in_file(release, checking, name, source, language)
    assert ([state], [state]) == ([one for one, _ in notebook], [one for one, _ in saved])
    untouched = in_file(release, checking, name, GIVEN[name], language)
    if state != READY and saved != untouched:
        assert notebook == saved


@pytest.mark.parametrize("text", ["...", "", " . ", "…", "[]", "'...'", "- …"])
def test_what_the_grader_takes_for_nothing_has_no_tick(release: bytes, checking: str, text: str) -> None:
    """Text without any readable name of an option is not reported as ready."""
    assert {""} == {normalize_name(one) for one in split_entries(text, ()) or ()}
    source = f"changes = {text!r}"
    for said in (in_notebook(checking, "changes", source), in_file(release, checking, "changes", source)):
        assert [MISSING] == [state for state, _ in said]


def test_a_list_that_students_do_not_see_is_not_given_away(checking: str) -> None:
    """A closed list that the notebook does not show is not in the specification; any name is accepted."""
    questions = read_specification(checking, "coursecheck.py")["questions"]
    assert ([], 3, 11) == tuple(
        questions[name]["closed"] if name == "tasks" else len(questions[name]["closed"])
        for name in ("tasks", "sources", "changes")
    )
    text = json.dumps(questions["sources"]["closed"]) + json.dumps(questions["changes"]["closed"])
    assert not {"key", "query", "yes", "ja"} & {one.strip('"[], ') for one in text.split()}
