"""Checks that open fresh boxes of the student's, and define source there, in the real sandbox."""

from __future__ import annotations

from collections.abc import Iterator

import nbformat
import pytest

from autograder.assignment import load
from autograder.grading.pipeline import Grader, SubmittedFiles
from autograder.sandbox.base import Box
from autograder.sandbox.pool import Pool
from autograder.sandbox.session import Session
from autograder.verify.papers import with_sources
from tests.support.code_course import NAME, code_course, grade

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
    course = code_course(tmp_path_factory.mktemp("fresh"), {"measure": (5, CHECKS)})
    with Pool() as pool:
        yield Grader(load(course, NAME), pool)


def statuses(grader: Grader, source: str) -> dict[str, str]:
    return {one.item: one.status.value for one in grade(grader, {"measure": source}).score.items}


def test_a_check_opens_as_many_boxes_as_it_needs(grader: Grader) -> None:
    """Four are kept; asking an older one is a mistake of the check's, which costs nobody a point."""
    expected = dict.fromkeys(("defines", "many", "raising", "ending"), "passed") | {"oldest": "needs-review"}
    assert expected == statuses(grader, RIGHT)


def test_a_cell_that_ended_the_box_does_not_run_in_fresh_ones(
    grader: Grader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the submission's own box is opened once more: an endless cell would take its time in each."""
    opened: list[Session] = []
    open_box = Session._opened

    def count_box(session: Session) -> Box:
        opened.append(session)
        return open_box(session)

    monkeypatch.setattr(Session, "_opened", count_box)
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
    """The student's code finds no file, and no text of the check, around what it gets."""
    source = """
def measure(thing):
    kind = type(thing)
    looks = kind.__module__, kind.size.__code__.co_filename, "__file__" in kind.size.__globals__
    return thing.size() if looks == ("definitions", "<definitions>", False) else looks
"""
    assert {"defines": "passed", "many": "passed"}.items() <= statuses(grader, source).items()
