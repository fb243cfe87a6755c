"""What takes the place of namespaces at the weaker levels: the watch on disk, the reaper, the filter."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.errors import BoxEnded, SandboxFault, SandboxUnavailable
from autograder.records import Call, Ending, Limits, Scenario
from autograder.sandbox.base import Environment
from autograder.sandbox.inside import linux, reduced, selfonly
from autograder.sandbox.levels import Isolation
from autograder.sandbox.outside import scratch
from autograder.sandbox.outside.box import NamespaceBox
from autograder.sandbox.outside.monitor import parent
from autograder.sandbox.outside.namespaces import ZygoteSandbox
from autograder.sandbox.outside.unjailed import BareSandbox, ReducedSandbox, threads_of
from autograder.sandbox.runtime import current_runtime
from tests.conftest import Levels
from tests.sandbox.test_confinement import STUBBORN_DAEMONS, zygotes
from tests.support.leftovers import fresh_seeds, settled, traces

pytestmark = [pytest.mark.sandbox, pytest.mark.alone]

SEEDS = fresh_seeds(70_000)
SMALL = Limits(memory_mb=256, processes=16, scratch_mb=8, scratch_files=64, descriptors=64)
WAIT = "\nimport time\ntime.sleep(4)"
FILLS = {
    "one file after the other": "for n in range(9): open(f'f{n}', 'wb').write(bytes(1 << 20))",
    "in the folder for temporary files": "import tempfile\n"
    "kept = [tempfile.NamedTemporaryFile() for n in range(9)]\n"
    "for f in kept: f.write(bytes(1 << 20)); f.flush()",
    "files without a name": "import tempfile\nkept = [tempfile.TemporaryFile() for n in range(9)]\n"
    "for f in kept: f.write(bytes(1 << 20)); f.flush()",
    "mapped files without a name or a descriptor": "import mmap, os, tempfile\nkept = []\n"
    "for n in range(9):\n"
    "    with tempfile.TemporaryFile() as f:\n        f.write(bytes(1 << 20)); f.flush()\n"
    "        kept.append(mmap.mmap(f.fileno(), 1 << 20))",
    "many files": "for n in range(99): open(f'f{n}', 'x').close()",
    "many links": "import os\nfor n in range(99): os.symlink('/', f'l{n}')",
    "many folders in folders": "import os\nfor n in range(99):\n    os.mkdir('d'); os.chdir('d')",
    "a folder that nobody may enter": "import os\nos.makedirs('d/e')\nfor n in range(99):\n"
    "    open(f'd/e/{n}', 'x').close()\nos.chmod('d/e', 0)\nos.chmod('d', 0)",
}
HARD_TO_REMOVE = """
import os, socket
os.makedirs('a/b/c')
open('a/b/c/file', 'w').write('x')
for folder in ('a/b/c', 'a/b', 'a'): os.chmod(folder, 0)
os.symlink('/', 'root')
os.symlink('/etc', 'etc')
os.mkfifo('pipe')
here = os.open('.', os.O_RDONLY)
for n in range(1500):
    os.mkdir('deep'); os.chdir('deep')
os.fchdir(here)
"""


def fresh(levels: Levels, isolation: Isolation, limits: Limits = SMALL) -> NamespaceBox:
    """A box that nothing has run in."""
    return levels.sandbox(isolation).open(limits, seed=next(SEEDS))


def value(box: NamespaceBox, expression: str) -> object:
    """What an expression gives in a box."""
    run = box.run_cell(f"import os\ngiven = {expression}", seconds=5)
    assert run.error == "", run
    return box.ask([Scenario("value", (Call("given", read=True),))], seconds=5)[0][0].value


@pytest.mark.parametrize("isolation", [Isolation.REDUCED, Isolation.NONE])
@pytest.mark.parametrize("source", FILLS.values(), ids=FILLS.keys())
def test_too_much_on_disk_ends_the_box(levels: Levels, isolation: Isolation, source: str) -> None:
    """However it is hidden, more bytes or files than the limit are noticed, and reported as that."""
    if "chmod" in source and isolation is Isolation.REDUCED and os.geteuid() != 0:
        pytest.skip("not applicable: here a change of mode changes nothing")
    if "chmod" in source and os.geteuid() != 0:
        pytest.skip("not applicable: `none` looks with the rights of the notebook's own user")
    box = fresh(levels, isolation)
    with pytest.raises(BoxEnded) as caught:
        box.run_cell(source + WAIT, seconds=5)
    assert Ending.DISK is caught.value.ending


@pytest.mark.parametrize("isolation", [Isolation.REDUCED, Isolation.NONE])
def test_what_is_allowed_on_disk_is_allowed(levels: Levels, isolation: Isolation) -> None:
    """Less than the limit, rewritten many times, ends nothing."""
    box = fresh(levels, isolation)
    source = (
        "for n in range(40):\n    open(f'f{n}', 'w').write('x')\n    open('a', 'wb').write(bytes(6 << 20))"
    )
    assert "" == box.run_cell(f"import time\n{source}\ntime.sleep(0.3)", seconds=9).error
    assert "" == box.run_cell("1", seconds=5).error
    box.close()


def test_one_file_is_no_longer_than_the_limit(levels: Levels) -> None:
    """The kernel itself refuses more in one file."""
    box = fresh(levels, Isolation.REDUCED)
    # A hole takes no space, so that the watch over the whole disk has nothing to end the box for.
    source = "file = open('f', 'wb')\nfile.seek(9 << 20)\nfile.write(b'x')\nfile.flush()"
    assert "OSError" == box.run_cell(source, seconds=5).error
    box.close()


@pytest.mark.parametrize("isolation", [Isolation.REDUCED, Isolation.NONE])
def test_every_folder_is_removed(levels: Levels, isolation: Isolation, tmp_path: Path) -> None:
    """Closed, linked, or deeper than any path is long; and what links lead to stays."""
    limits = Limits(scratch_files=4096)
    box = fresh(levels, isolation, limits)
    place = str(value(box, "os.path.dirname(os.getcwd())"))
    with contextlib.suppress(BoxEnded):  # so deep a folder may be noticed before the cell ends
        box.run_cell(HARD_TO_REMOVE, seconds=9)
    box.close()
    assert not os.path.lexists(place)
    assert Path("/etc/passwd").exists()


def test_a_tree_is_removed_without_following_anything(tmp_path: Path) -> None:
    """Links inside and a link in place of the folder are removed themselves."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("x")
    tree = tmp_path / "tree"
    (tree / "inner").mkdir(parents=True)
    (tree / "link").symlink_to(outside)
    (tree / "inner" / "link").symlink_to(outside)
    (tmp_path / "direct").symlink_to(outside)
    for name in ("tree", "direct", "absent"):
        scratch.remove_tree(str(tmp_path / name))
    assert ["outside"] == [entry.name for entry in tmp_path.iterdir()]
    assert "x" == (outside / "kept").read_text()


def test_files_in_shared_memory_go_with_the_box(levels: Levels) -> None:
    """As root, what a box's user leaves in the machine's shared folders counts as its own and is removed."""
    if os.geteuid() != 0:
        pytest.skip("not applicable: an ordinary user's boxes cannot make files there")
    box = fresh(levels, Isolation.REDUCED)
    name = f"left-{os.getpid()}"
    assert "" == box.run_cell(f"open('/dev/shm/{name}', 'w').write('x')", seconds=5).error
    assert Path("/dev/shm", name).exists()
    box.close()
    assert not Path("/dev/shm", name).exists()
    box = fresh(levels, Isolation.REDUCED)
    fill = f"for n in range(9): open(f'/dev/shm/{name}{{n}}', 'wb').write(bytes(1 << 20))"
    with pytest.raises(BoxEnded) as caught:
        box.run_cell(fill + WAIT, seconds=5)
    assert Ending.DISK is caught.value.ending
    assert [] == list(Path("/dev/shm").glob(f"{name}*"))


def test_an_ordinary_users_shared_memory_is_out_of_reach(levels: Levels) -> None:
    """Files there would be the user's own, and nobody could tell whose they are."""
    if os.geteuid() == 0:
        pytest.skip("not applicable: root's boxes have users of their own")
    box = fresh(levels, Isolation.REDUCED)
    assert "PermissionError" == box.run_cell("open('/dev/shm/left', 'w')", seconds=5).error
    box.close()


def test_an_ordinary_users_sockets_are_out_of_reach(levels: Levels, tmp_path: Path) -> None:
    """Message buses, key agents and container engines listen on paths, and would do what they are told."""
    if os.geteuid() == 0:
        pytest.skip("not applicable: root's boxes are strangers to every listener")
    box = fresh(levels, Isolation.REDUCED)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(tmp_path / "s"))
        path = str(tmp_path / "s")
        for step in (
            f"socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'x', {path!r})",
            f"socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b'x', {path!r})",
            f"socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW)[0].sendto(b'x', {path!r})",
            f"socket.socketpair()[0].sendto(b'x', {path!r})",
            f"socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)[0].sendmsg([b'x'], [], 0, {path!r})",
        ):
            box.run_cell(f"import socket\n{step}", seconds=5)
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.recv(10)
    box.close()


@pytest.mark.slow
@pytest.mark.parametrize("isolation", [Isolation.REDUCED, Isolation.NONE])
@pytest.mark.parametrize("victim", ["reaper", "first process", "zygote", "broker's side"])
def test_whoever_is_killed_nothing_is_left(levels: Levels, isolation: Isolation, victim: str) -> None:
    """A reaper, a box or a zygote that dies, or a broker that lets go, leaves no process and no folder."""
    levels.sandbox(isolation)
    before, processes = traces(), zygotes()
    made = levels.fresh(isolation)
    box = made.open(SMALL, seed=next(SEEDS))
    assert "" == box.run_cell(STUBBORN_DAEMONS, seconds=5).error
    assert settle(lambda: len(zygotes() - processes) == 4)  # zygote, reaper, box, and one that left
    if victim == "broker's side":
        box._status.close()
        box._status, far = socket.socketpair()
        far.close()
        assert settle(lambda: len(zygotes() - processes) == 1)
    else:
        pid = {"reaper": parent(box.pid), "first process": box.pid, "zygote": made.pid}[victim]
        os.kill(pid, signal.SIGKILL)
        assert settle(lambda: len(zygotes() - processes) == (victim != "zygote"))
    # Who has ended the box's first process nobody can say; the others' end is never the student's fault.
    with pytest.raises(BoxEnded if victim == "first process" else SandboxFault):
        box.run_cell("x = 1", seconds=5)
    box.close()
    if victim != "zygote":
        made.open(SMALL, seed=next(SEEDS)).close()
    made.close()
    assert before == settled(before)


KILLED_BROKER = """
import os, sys, time
sys.path.insert(0, {root!r})
from autograder.records import Limits
from autograder.sandbox.base import Environment
from autograder.sandbox.levels import Isolation
from autograder.sandbox.pool import start_sandbox
sandbox = start_sandbox(Environment(), Isolation({isolation!r}))
box = sandbox.open(Limits())
box.run_cell({source!r}, seconds=5)
print(sandbox._folder, flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("isolation", [Isolation.REDUCED, Isolation.NONE])
def test_a_killed_grader_leaves_nothing(levels: Levels, isolation: Isolation) -> None:
    """The zygote and the reapers notice it, end every process and remove the folder."""
    levels.sandbox(isolation)
    processes = zygotes()
    root = current_runtime().package_root
    code = KILLED_BROKER.format(root=root, isolation=isolation.value, source=STUBBORN_DAEMONS)
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as grader:
        assert grader.stdout is not None
        folder = Path(grader.stdout.readline().strip())
        assert folder.is_dir()
        grader.kill()
    assert settle(lambda: zygotes() == processes and not folder.exists())


def test_a_fork_bomb_is_ended(levels: Levels) -> None:
    """Processes that go on forking whenever they can are bounded, and gone with the box."""
    before, processes = traces(), zygotes()
    box = fresh(levels, Isolation.REDUCED)
    bomb = "import os, time\nwhile True:\n    try: os.fork()\n    except OSError: time.sleep(0.001)"
    with pytest.raises(BoxEnded):
        box.run_cell(bomb, seconds=1)
    box.close()
    assert before.processes >= settled(before).processes
    assert processes >= zygotes()


@pytest.mark.parametrize("signals", [False, True])
def test_the_second_filter_lets_a_process_deal_with_itself(signals: bool) -> None:
    """Own signals, limits and pairs of sockets work; everybody else's do not; files keep modes and times."""
    code = f"""
import os, resource, signal, socket, sys, tempfile
sys.path.insert(0, {current_runtime().package_root!r})
from autograder.sandbox.inside import linux, selfonly
caught = []
signal.signal(signal.SIGUSR1, lambda *_: caught.append(1))
folder = tempfile.mkdtemp()
open(folder + '/f', 'w').write('kept')
linux.no_new_privileges()
linux.load_filter(selfonly.program(os.getpid(), signals={signals}, truncation=True))
os.kill(os.getpid(), signal.SIGUSR1)
signal.raise_signal(signal.SIGUSR1)
assert len(caught) == 2
resource.prlimit(0, resource.RLIMIT_CORE, (0, 0))
resource.prlimit(os.getpid(), resource.RLIMIT_CORE, (0, 0))
os.sched_setaffinity(0, os.sched_getaffinity(0))
a, b = socket.socketpair()
a.send(b'x')
assert b.recv(1) == b'x'
def refused(step):
    try:
        step()
    except OSError as error:
        return error.errno
outside = os.getppid()
shown = [refused(step) for step in (
    lambda: os.kill(outside, 0),
    lambda: os.pidfd_open(outside),
    lambda: resource.prlimit(outside, resource.RLIMIT_CORE),
    lambda: os.sched_setaffinity(outside, {{0}}),
    lambda: socket.socket(socket.AF_UNIX),
    lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM),
    lambda: a.connect('/nowhere'),
    lambda: os.truncate(folder + '/f', 0),
    lambda: os.open(folder + '/f', os.O_RDONLY | os.O_TRUNC),
)]
before = os.stat(folder + '/f')
os.chmod(folder + '/f', 0o777)
os.utime(folder + '/f', (1, 1))
after = os.stat(folder + '/f')
assert (before.st_mode, before.st_mtime_ns) == (after.st_mode, after.st_mtime_ns)
open(folder + '/f', 'w').write('new')
open(folder + '/f', 'r+').truncate(1)
os.remove(folder + '/f'), os.rmdir(folder)
print(shown)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert "" == done.stderr
    first = [1, 1] if signals else [None, None]
    assert f"{[*first, *[1] * 7]}\n" == done.stdout


def test_the_second_filter_exists_for_both_architectures(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is smaller on ARM64, where old calls do not exist, and refused elsewhere."""
    sizes = []
    for machine in selfonly.MACHINES:
        monkeypatch.setattr("platform.machine", lambda machine=machine: machine)
        sizes.append(len(selfonly.program(7, signals=True, truncation=True)))
    assert [0, 0] == [size % 8 for size in sizes]
    assert sizes[0] > sizes[1] > 0
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    with pytest.raises(OSError, match="riscv64"):
        selfonly.program(7, signals=True, truncation=True)


def test_an_ordinary_user_without_landlock_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing else would keep student code from that user's files."""
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr(linux, "landlock_version", lambda: 0)
    with pytest.raises(SandboxUnavailable, match="needs Landlock"):
        ReducedSandbox(Environment())


def test_a_folder_closed_to_other_users_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As root, boxes have users of their own, who could not enter their own folders."""
    if os.geteuid() != 0:
        pytest.skip("not applicable: an ordinary user's boxes have that user's id")
    tmp_path.chmod(0o700)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(SandboxUnavailable, match="set TMPDIR"):
        ReducedSandbox(Environment())
    assert [] == list(tmp_path.iterdir())


def test_folders_of_killed_graders_are_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What nobody claims is removed; what is claimed, new or not ours by name is left."""
    for name in ("boxes-dead", "boxes-living", "other"):
        (tmp_path / f"autograder-{name}" / "inner").mkdir(parents=True)
    claim = scratch.claim(str(tmp_path / "autograder-boxes-living"))
    scratch.sweep(str(tmp_path))
    assert 3 == len(list(tmp_path.iterdir()))
    monkeypatch.setattr(scratch, "UNCLAIMED_SECONDS", 0)
    time.sleep(0.02)
    scratch.sweep(str(tmp_path))
    assert ["autograder-boxes-living", "autograder-other"] == sorted(one.name for one in tmp_path.iterdir())
    os.close(claim)


def test_hidden_parts_of_a_readable_tree_are_not_readable(tmp_path: Path) -> None:
    """Landlock allows and cannot forbid: everything beside the hidden part is named."""
    for name in ("site/autograder/a.py", "site/numpy/n.py", "site/six.py", "plain/x.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    site, plain = str(tmp_path / "site"), str(tmp_path / "plain")
    trees, listed = reduced._unmasked([str(tmp_path), "/etc/passwd"], [f"{site}/autograder"])
    assert sorted([plain, f"{site}/numpy", f"{site}/six.py", "/etc/passwd"]) == sorted(trees)
    assert [str(tmp_path)] == listed


def test_threads_of_a_user_are_counted() -> None:
    """At least this process's own; nobody has none."""
    assert threads_of(os.getuid()) >= 1
    assert 0 == threads_of(61_998)


@pytest.mark.parametrize("make", [ReducedSandbox, BareSandbox])
def test_every_sandbox_says_what_it_is(make: type[ZygoteSandbox]) -> None:
    """Level, bound of the memory and version of Landlock, as the self-test prints them."""
    sandbox = make(Environment())
    assert sandbox.isolation in {"reduced", "none"}
    assert sandbox.memory_bound in {"cgroup v1", "cgroup v2", "address space limit and watchdog"}
    assert linux.landlock_version() == sandbox.landlock
    sandbox.close()


def settle(reached: Callable[[], bool], seconds: float = 5.0) -> bool:
    """Whether something becomes so within that time."""
    deadline = time.monotonic() + seconds
    while not reached() and time.monotonic() < deadline:
        time.sleep(0.02)
    return reached()
