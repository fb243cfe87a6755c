"""Consecutive cells: outputs, endings and limits are attributed to the right cell."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from autograder.core.records import Cell, CellRun, Ending, LimitKind, Limits
from autograder.sandbox.outside.namespaces import NamespaceSandbox
from autograder.sandbox.session import Session

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

PAST_THE_SHELL = "import os\n_ = os.write(1, b'{}')"
SWALLOWED = """
import os, time
children = []
while len(children) < 400:
    try:
        pid = os.fork()
    except OSError:
        break
    if pid == 0:
        time.sleep(20)
        os._exit(0)
    children.append(pid)
for pid in children:
    os.kill(pid, 9)
    os.waitpid(pid, 0)
"""


def runs(sandbox: NamespaceSandbox, sources: Sequence[str], **limits: float) -> list[CellRun | None]:
    """Return the run of each cell of a submission."""
    with Session(sandbox, [Cell(one) for one in sources], Limits(**limits)) as session:
        return session.run()


def texts(run: CellRun | None) -> list[str]:
    """Return what a cell printed."""
    assert run is not None
    return [output.data["text/plain"] for output in run.outputs]


def test_what_is_printed_past_the_shell_belongs_to_its_cell(plain_sandbox: NamespaceSandbox) -> None:
    """This holds if the next cell prints at once, and if one prints more than a pipe can hold."""
    flood = "import os\nfor _ in range(30): _ = os.write(1, b'x' * 5000)"
    sources = [PAST_THE_SHELL.format(n) if n % 3 else f"print({n})" for n in range(40)] + [flood, "7"]
    for _ in range(3):
        *found, flooded, last = runs(plain_sandbox, sources)
        assert [[f"{n}"] if n % 3 else [f"{n}\n"] for n in range(40)] == [texts(run) for run in found]
        assert [150_000] == [len(text) for text in texts(flooded)]
        assert ["7"] == texts(last)


def test_a_cell_that_closes_its_output_does_not_hold_up_the_others(plain_sandbox: NamespaceSandbox) -> None:
    """Pending output is unknown then, so each cell is answered separately."""
    found = runs(plain_sandbox, ["import os\nos.close(1)", "print(1)", "2"])
    assert [[], ["1\n"], ["2"]] == [texts(run) for run in found]


def test_the_cell_that_ends_the_box_is_named(plain_sandbox: NamespaceSandbox) -> None:
    """The cells before and after it run, and the limits that they met are reported."""
    found = runs(plain_sandbox, ["x = 1", SWALLOWED, "import os\nos._exit(3)", "x + 1"], processes=16)
    assert [None, None, Ending.EXITED, None] == [run.ending if run else run for run in found]
    assert [[], [LimitKind.PROCESSES], [], []] == [[one.met for one in run.met] for run in found if run]
    assert ["2"] == texts(found[3])


def test_a_cell_has_its_own_time(plain_sandbox: NamespaceSandbox) -> None:
    """A cell's limit does not depend on earlier cells; all together have the submission's time."""
    busy = "import time\nend = time.process_time() + {}\nwhile time.process_time() < end: pass"
    sources = [busy.format(0.4)] * 4 + [busy.format(9), "1"]
    found = runs(plain_sandbox, sources, cell_seconds=1.0)
    assert [None] * 4 + [Ending.CELL_TIME, None] == [run.ending if run else "none" for run in found]
    found = runs(plain_sandbox, [busy.format(0.4)] * 6, submission_seconds=1.4)
    assert [Ending.SUBMISSION_TIME] == [run.ending for run in found if run and run.ending]
    assert 3 <= len([run for run in found if run]) <= 4
