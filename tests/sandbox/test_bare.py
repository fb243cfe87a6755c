"""The level `none`: there is no protection, but an ordinary notebook leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from autograder.core.errors import BoxEnded, SandboxFault
from autograder.core.records import Call, Ending, Limits
from autograder.sandbox.base import Environment
from autograder.sandbox.inside import linux
from autograder.sandbox.levels import Isolation
from autograder.sandbox.outside.namespaces import BareSandbox
from autograder.sandbox.pool import start_sandbox
from autograder.sandbox.runtime import get_current_runtime
from tests.support.leftovers import adopted_orphans, descendants, settled, traces

pytestmark = pytest.mark.sandbox

FORKS = "import os, time\nif os.fork() == 0:\n    while True: time.sleep(1)"
KILLED_BROKER = """
import sys, time
sys.path.insert(0, {root!r})
from autograder.core.records import Limits
from autograder.sandbox.base import Environment
from autograder.sandbox.levels import Isolation
from autograder.sandbox.pool import start_sandbox
sandbox = start_sandbox(Environment(), Isolation.NONE)
box = sandbox.open(Limits())
box.run_cell({source!r}, seconds=5)
print(sandbox._folder, flush=True)
time.sleep(60)
"""


@pytest.fixture(scope="module", autouse=True)
def orphans() -> Iterator[None]:
    """Adopt all processes that are left behind."""
    with adopted_orphans():
        yield


@pytest.fixture
def bare() -> Iterator[BareSandbox]:
    """Return a sandbox without protection."""
    sandbox = BareSandbox(Environment())
    yield sandbox
    sandbox.close()


def boxes_of(sandbox: BareSandbox) -> list[str]:
    """Return the folders of boxes that still exist."""
    return [path.name for path in Path(sandbox._folder, "boxes").iterdir()]


def test_sandbox_says_what_it_is(bare: BareSandbox) -> None:
    """The self-test prints the level, how memory is limited, and the version of Landlock."""
    assert Isolation.NONE == bare.isolation
    assert bare.memory_bound in {"cgroup v1", "cgroup v2", "address space limit and watchdog"}
    assert linux.get_landlock_version() == bare.landlock


def test_box_works_in_a_folder_of_its_own(bare: BareSandbox) -> None:
    """Two boxes do not see each other's relative paths, and the folder is removed with its box."""
    first, second = (bare.open(Limits()) for _ in range(2))
    assert "" == first.run_cell("open('mine.txt', 'w').write('x')", seconds=5).error
    assert "" == second.run_cell("import os\nnames = os.listdir()", seconds=5).error
    names = second.ask([Call("names", read=True)], seconds=5)[0]
    assert [] == names.value
    assert 2 == len(boxes_of(bare))
    first.close()
    assert 1 == len(boxes_of(bare))
    second.close()
    assert [] == boxes_of(bare)


@pytest.mark.parametrize(
    ("source", "ending"),
    [
        pytest.param("import os\nos._exit(0)", Ending.EXITED, id="exits"),
        pytest.param("import os\nos.kill(os.getpid(), 9)", Ending.CRASHED, id="kills itself"),
        pytest.param("while True: pass", Ending.CELL_TIME, id="endless loop"),
    ],
)
def test_box_that_ends_is_cleaned_up_and_the_next_one_opens(
    bare: BareSandbox, source: str, ending: Ending
) -> None:
    """A forked process is ended as well, because it belongs to the box's process group."""
    bare.open(Limits()).close()
    before = traces()
    box = bare.open(Limits())
    assert "" == box.run_cell(FORKS, seconds=5).error
    with pytest.raises(BoxEnded) as caught:
        box.run_cell(source, seconds=1)
    assert ending is caught.value.ending
    assert before == settled(before)
    assert [] == boxes_of(bare)
    bare.open(Limits()).close()


def test_killed_zygote_is_our_fault_and_leaves_no_box() -> None:
    """The box dies with the zygote, and the broker removes the folder."""
    before = traces()
    sandbox = BareSandbox(Environment())
    box = sandbox.open(Limits())
    os.kill(sandbox.pid, signal.SIGKILL)
    with pytest.raises(SandboxFault):
        box.run_cell("while True: pass", seconds=5)
    sandbox.close()
    box.close()
    assert before == settled(before)
    assert not Path(sandbox._folder).exists()


def test_killed_grader_leaves_neither_processes_nor_its_folder() -> None:
    """The zygote notices that its broker has died, ends its boxes and removes the folder."""
    processes = descendants(os.getpid())
    code = KILLED_BROKER.format(root=get_current_runtime().package_root, source=FORKS)
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as grader:
        assert grader.stdout is not None
        folder = Path(grader.stdout.readline().strip())
        assert folder.is_dir()
        grader.kill()
    assert becomes_true(lambda: not folder.exists())
    assert becomes_true(lambda: processes == descendants(os.getpid()))


FINDS_FILES = """
import os, pathlib
(snapshot,) = pathlib.Path(os.environ["HF_HUB_CACHE"], "models--tiny", "snapshots").iterdir()
found = [pathlib.Path("words.txt").read_text(), (snapshot / "config.json").read_text()]
"""


def test_files_and_models_of_the_environment_are_found(tmp_path: Path) -> None:
    """Files are in the notebook's folder, and models also where the Hugging Face libraries look for them."""
    (tmp_path / "words.txt").write_text("hello")
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny" / "config.json").write_text("{}")
    files = tuple((name, tmp_path / name) for name in ("words.txt", "tiny"))
    sandbox = start_sandbox(Environment(files=files), Isolation.NONE)
    box = sandbox.open(Limits())
    assert "" == box.run_cell(FINDS_FILES, seconds=5).error
    found = box.ask([Call("found", read=True)], seconds=5)[0]
    box.close()
    sandbox.close()
    assert ["hello", "{}"] == found.value


def becomes_true(condition: Callable[[], bool], seconds: float = 300.0) -> bool:
    """Wait for a condition."""
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()
