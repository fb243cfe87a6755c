"""Test checks that open fresh boxes and define source there, in the real sandbox."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

from autograder.grading.pipeline import Grader, SubmittedFiles
from autograder.grading.verify.papers import with_sources
from autograder.messages import render_message
from autograder.sandbox.base import Box
from autograder.sandbox.session import Session
from tests.support.code_course import NAME, grade, open_grader

RIGHT = "def measure(thing):\n    return thing.size()\n"
pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

CHECKS = '''
from autograder.checking import assert_equal, check, raises, solution

solution(source="""
def measure(thing):
    return thing.size()
""")
SOURCE = "class Thing:\\n    def size(self): return 7\\n"

@check(points=1, title="In the notebook's own box")
def defines(student, reference, draw):
    assert_equal(student.measure(student.define(SOURCE).Thing()), 7)

@check(points=1, title="In many fresh boxes, one after another")
def many(student, reference, draw):
    for _ in range(6):
        fresh = student.again()
        assert_equal(fresh.measure(fresh.define(SOURCE).Thing()), 7)

@check(points=1, title="The first of many is gone")
def oldest(student, reference, draw):
    boxes = [student.again() for _ in range(6)]
    for fresh in [*boxes, boxes[0]]:
        fresh.measure(fresh.define(SOURCE).Thing())

@check(points=1, title="What raises there is the student's")
def raising(student, reference, draw):
    with raises(AttributeError):
        student.measure(student.define("class Thing: ...").Thing())

@check(points=1, title="A box that ends raises, too")
def ending(student, reference, draw):
    fresh = student.again()
    ends = fresh.define("import os\\nclass Thing:\\n    def size(self): os._exit(3)\\n").Thing()
    with raises(Exception):
        fresh.measure(ends)
    assert_equal(student.measure(student.define(SOURCE).Thing()), 7)
'''


@pytest.fixture(scope="module")
def grader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Grader]:
    with open_grader(tmp_path_factory.mktemp("fresh"), {"measure": (5, CHECKS)}) as opened:
        yield opened


def statuses(grader: Grader, source: str) -> dict[str, str]:
    return {result.item: result.status.value for result in grade(grader, {"measure": source}).score.items}


def test_a_check_opens_as_many_boxes_as_it_needs(grader: Grader) -> None:
    """Four boxes stay open; using an older one is an error of the check and needs manual review."""
    expected = dict.fromkeys(("defines", "many", "raising", "ending"), "passed") | {"oldest": "needs-review"}
    assert expected == statuses(grader, RIGHT)


def test_a_cell_that_ended_the_box_does_not_run_in_fresh_ones(
    grader: Grader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cell that ended the box is not run in fresh ones; only the submission's box is opened again."""
    opened: list[Session] = []
    open_box = Session._open_box

    def count_box(session: Session) -> Box:
        opened.append(session)
        return open_box(session)

    monkeypatch.setattr(Session, "_open_box", count_box)
    counts = []
    for ending in ("", "import os\nos._exit(3)\n"):
        opened.clear()
        release = grader.assignment.release_bytes[NAME]
        notebook = nbformat.reads(release.decode(), as_version=4)
        notebook.cells.insert(1, nbformat.v4.new_code_cell(ending))
        data = with_sources(nbformat.writes(notebook).encode(), {"measure-answer": RIGHT})
        graded = grader.grade(SubmittedFiles("s", {NAME: data}))
        assert 4 == graded.score.points
        counts.append(len(opened))
    assert counts[0] + 1 == counts[1]


def test_what_is_defined_does_not_name_itself(grader: Grader) -> None:
    """Student code finds no file and no text of the check in what it receives."""
    source = """
def measure(thing):
    kind = type(thing)
    looks = kind.__module__, kind.size.__code__.co_filename, "__file__" in kind.size.__globals__
    return thing.size() if looks == ("definitions", "<definitions>", False) else looks
"""
    assert {"defines": "passed", "many": "passed"}.items() <= statuses(grader, source).items()


COUNTS = """
from autograder.checking import assert_equal, check, solution

solution(source="def count():\\n    return 1\\n")

@check(points=1, title="As many calls as in a fresh box")
def counts(student, reference, draw):
    assert_equal([student.again().{name}() for _ in range(2)], {expected})

@check(points=1, title="Also in another check")
def counts_again(student, reference, draw):
    assert_equal(student.again().{name}(), {expected}[0])
"""
COUNTING = """
import pathlib
seen = []
def {name}():
    seen.append(1)
    path = pathlib.Path("kept")
    path.write_text(path.read_text() + "x" if path.exists() else "x")
    return len(seen) + len(path.read_text())
"""


def test_no_box_is_fresh_twice_for_the_same_checks(tmp_path: Path) -> None:
    """A fresh box is not reused for a second question, so it keeps nothing of the first one's calls."""
    checks = COUNTS.replace("def count()", "def {name}()")
    files = {name: (2, checks.format(name=name, expected=[2, 2])) for name in ("first", "second")}
    with open_grader(tmp_path, files) as grader:
        answers = {name: COUNTING.format(name=name) for name in files}
        answers["second"] = answers["second"].replace("seen", "others").replace("kept", "others")
        assert {"passed"} == {result.status.value for result in grade(grader, answers).score.items}


def test_box_that_has_ended_is_not_given_to_another_question(tmp_path: Path) -> None:
    """A box that has ended, or in which functions fail, is not used for another question."""
    ending = """
from autograder.checking import check, raises, solution

solution(source="def leave():\\n    import os; os._exit(3)\\n")

@check(points=1, title="It ends")
def ends(student, reference, draw):
    with raises(Exception):
        student.again().leave()
"""
    checks = COUNTS.replace("def count()", "def {name}()").format(name="second", expected=[2, 2])
    with open_grader(tmp_path, {"first": (1, ending), "second": (2, checks)}) as grader:
        answers = {
            "first": "def leave():\n    import os; os._exit(3)",
            "second": COUNTING.format(name="second"),
        }
        assert {"passed"} == {result.status.value for result in grade(grader, answers).score.items}


def test_box_in_which_functions_fail_serves_no_other_check(tmp_path: Path) -> None:
    """A function that one question forbids works in the fresh boxes of another."""
    forbidding = """
from autograder.checking import assert_equal, check, forbid, solution
import torch

forbid("cumsum")
solution(source="import torch\\ndef add():\\n    return torch.ones(2).sum()\\n")

@check(points=1, title="Without what is forbidden")
def adds(student, reference, draw):
    assert_equal(float(student.add()), 2.0)
"""
    usual = """
from autograder.checking import assert_equal, check, solution
import torch

solution(source="import torch\\ndef steps():\\n    return torch.ones(2).cumsum(0)\\n")

@check(points=1, title="In a fresh box")
def steps(student, reference, draw):
    assert_equal(student.again().steps().tolist(), [1.0, 2.0])
"""
    files = {"first": (1, forbidding), "second": (1, usual)}
    reaches = "import torch\ndef add():\n    return getattr(torch.ones(2), name)(0)[-1]\nname = 'cum' + 'sum'"
    steps = "import torch\ndef steps():\n    return torch.ones(2).cumsum(0)"
    with open_grader(tmp_path, files, preload='"torch"') as grader:
        items = grade(grader, {"first": reaches, "second": steps}).score.items
    assert {"adds": "failed", "steps": "passed"} == {result.item: result.status.value for result in items}


MET = """
from autograder.checking import check, solution

solution(source="def leave(how): return how\\n")

@check(points=1, title="In the first box")
def first(student, reference, draw):
    student.leave("memory")

@check(points=1, title="In a fresh one")
def fresh(student, reference, draw):
    student.again().leave("exit")
"""
LEAVING = """
import os
def leave(how):
    if how == "exit":
        os._exit(3)
    bytearray(1 << 60)
"""


def test_students_read_which_limit_they_met_and_that_python_ended(tmp_path: Path) -> None:
    with open_grader(tmp_path, {"leave": (2, MET)}) as grader:
        score = grade(grader, {"leave": LEAVING}).score
    assert [(result.status.value, result.code) for result in score.items] == [
        ("failed", "limit.memory"),
        ("failed", "ending.exited"),
    ]
    assert "MemoryError" in score.items[0].staff
    assert render_message(score.items[1].student, "en").startswith(
        "Your code ended the whole Python process."
    )


LENGTHS = '''
import torch
from autograder.checking import assert_close, check, forbid, solution

forbid("scaled_dot_product_attention")
solution(source="""
import torch

def shift(x):
    return x + torch.arange(x.shape[1])[:, None]
""")

@check(points=1, title="The values are right")
def values(student, reference, draw):
    x = draw.normal(2, 5, 4)
    assert_close(student.shift(x), reference.shift(x))

@check(points=1, title="Every length gives the same in a fresh process")
def lengths(student, reference, draw):
    x = draw.normal(2, 6, 4)
    for length in (2, 6):
        here = student.shift(x[:, :length])
        assert_close(student.again().shift(x[:, :length]), here)
        assert_close(here, reference.shift(x[:, :length]))
'''
CACHED = """
import torch
table = None

def shift(x):
    global table
    if table is None:
        table = torch.arange(x.shape[1])[:, None]
    return x + torch.nn.functional.pad(table, (0, 0, 0, 9))[: x.shape[1]]
"""


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            "import torch\ndef shift(x):\n    return x + torch.arange(x.shape[1])[:, None]",
            {"values": "passed", "lengths": "passed"},
        ),
        (CACHED, {"values": "passed", "lengths": "failed"}),
    ],
    ids=["right", "remembers the first length"],
)
def test_forbidding_repeats_fresh_boxes_and_memory(
    tmp_path: Path, source: str, expected: dict[str, str]
) -> None:
    """Checks run again with forbidden functions disabled, in one box as before, and with fresh boxes."""
    hidden = "\nname = 'scaled_dot_product_' + 'attention'\nfunction = getattr(torch.nn.functional, name)\n"
    with open_grader(tmp_path, {"shift": (2, LENGTHS)}) as opened:
        results = grade(opened, {"shift": source + hidden}).score.items
    assert {result.item: result.status.value for result in results} == expected, [
        result.staff for result in results
    ]
