"""Honest notebooks with several processes: the result is right, and independent of scheduling."""

from __future__ import annotations

import ast
import contextlib
import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from autograder.core.records import Call, Cell, Limits
from autograder.sandbox.outside.namespaces import NamespaceSandbox
from autograder.sandbox.session import Session
from tests.support.thorough import rotating

pytestmark = pytest.mark.sandbox

REPEATS_APART = 20
LIMITS = Limits(
    cell_seconds=300, call_seconds=300, submission_seconds=3600, processor_seconds=3600, processes=128
)
"""So generous that time decides nothing, even on a slow or busy machine."""
BUSY = """
import os
for _ in range({processes}):
    if os.fork() == 0:
        while True:
            pass
"""
ANSWER = Call("answer")


class HonestNotebook(Struct, frozen=True):
    """One notebook of `parallel.cells`."""

    title: str
    cells: tuple[Cell, ...]
    gives: Any
    """The expected result of its function `answer`."""
    torch: bool


def load_notebooks() -> list[HonestNotebook]:
    """Return all notebooks of `parallel.cells`."""
    text = (Path(__file__).parent / "parallel.cells").read_text(encoding="utf-8")
    titles_and_bodies = re.split(r"^# %% (.+)$", text, flags=re.MULTILINE)[1:]
    return [
        HonestNotebook(
            title=title,
            cells=tuple(Cell(source.strip()) for source in re.split(r"^# %%$", body, flags=re.MULTILINE)),
            gives=ast.literal_eval(re.findall(r"^# gives: (.+)$", body, flags=re.MULTILINE)[0]),
            torch="# needs: torch\n" in body,
        )
        for title, body in zip(titles_and_bodies[::2], titles_and_bodies[1::2], strict=True)
    ]


NOTEBOOKS = load_notebooks()
each_notebook = pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.title)


@pytest.fixture
def sandbox(notebook: HonestNotebook, request: pytest.FixtureRequest) -> NamespaceSandbox:
    """Return the shared sandbox that the notebook needs."""
    shared: NamespaceSandbox = request.getfixturevalue("torch_sandbox" if notebook.torch else "plain_sandbox")
    return shared


def run_notebook(sandbox: NamespaceSandbox, notebook: HonestNotebook) -> str:
    """Return the result of one run: errors, endings and outputs of cells, answer and notes."""
    with Session(sandbox, notebook.cells, LIMITS) as session:
        runs = session.run()
        (observation,) = session.ask([ANSWER])
    cells = [(run.error, run.ending, [output.data for output in run.outputs]) for run in runs if run]
    answer = observation.value if observation.ok else (observation.error, observation.message)
    return repr((cells, answer, observation.ending, [note.text for note in session.notes]))


def expected_run(notebook: HonestNotebook) -> str:
    """Return the result of `run_notebook` if everything works."""
    cells: list[object] = [("", None, [])] * len(notebook.cells)
    return repr((cells, notebook.gives, None, []))


@contextlib.contextmanager
def busy_neighbours(sandbox: NamespaceSandbox, count: int) -> Iterator[None]:
    """Keep all processors busy with boxes that compute without a pause."""
    source = BUSY.format(processes=os.cpu_count())
    with contextlib.ExitStack() as boxes:
        for _ in range(count):
            box = sandbox.open(LIMITS)
            boxes.callback(box.close)
            assert box.run_cell(source, seconds=60).error == ""
        yield


def test_there_are_at_least_forty_notebooks() -> None:
    """There is one for each way in which students use processes."""
    assert len({notebook.title for notebook in NOTEBOOKS}) >= 40


@each_notebook
def test_parallel_notebook_gives_the_right_answer(
    sandbox: NamespaceSandbox, notebook: HonestNotebook
) -> None:
    """A race between Python's resource tracker and start methods used to fail honest notebooks at random."""
    assert expected_run(notebook) == run_notebook(sandbox, notebook)


@pytest.mark.apart
@pytest.mark.parametrize("notebook", rotating(NOTEBOOKS, parts=6), ids=lambda notebook: notebook.title)
def test_parallel_notebook_gives_the_same_right_answer_beside_busy_neighbours(
    sandbox: NamespaceSandbox, plain_sandbox: NamespaceSandbox, notebook: HonestNotebook
) -> None:
    """Busy processors change the scheduling; only many runs find a rare race."""
    with busy_neighbours(plain_sandbox, 2):
        runs = Counter(run_notebook(sandbox, notebook) for _ in range(REPEATS_APART))
    assert runs == {expected_run(notebook): REPEATS_APART}
