"""Boxes see their own files and processes, the assignment's data, and nothing else."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.core.records import Call
from autograder.sandbox.base import Environment
from autograder.sandbox.outside.box import NamespaceBox
from autograder.sandbox.outside.namespaces import FIRST_UID, LAST_UID, NamespaceSandbox
from tests.conftest import start_sandbox
from tests.sandbox.contract import LIMITS

pytestmark = pytest.mark.sandbox


PRESENT = """
import os
import signal
def {}(x):
    try:
        {}
    except (OSError, ImportError):
        return False
    return True
"""
SEARCH = """
import sys
def texts(x, depth=0):
    if isinstance(x, str):
        yield x
    elif isinstance(x, (dict, list, tuple)) and depth < 6:
        for part in [*x, *x.values()] if isinstance(x, dict) else x:
            yield from texts(part, depth + 1)
def search(word):
    frame, seen = sys._getframe().f_back, []
    while frame:
        seen += [text for text in texts(dict(frame.f_locals)) if word in text and text != word]
        frame = frame.f_back
    return seen
"""


def value(box: NamespaceBox, expression: str) -> object:
    """Return the value of an expression in a box."""
    run = box.run_cell(f"import gc, os, sys\ngiven = {expression}", seconds=5)
    assert run.error == "", run
    (observation,) = box.ask([Call("given", read=True)], seconds=5)
    assert observation.ok, observation
    return observation.value


@pytest.fixture
def box(plain_sandbox: NamespaceSandbox) -> Iterator[NamespaceBox]:
    """Return a box."""
    opened = plain_sandbox.open(LIMITS, files={"own.csv": b"1"})
    yield opened
    opened.close()


@pytest.fixture
def other(plain_sandbox: NamespaceSandbox) -> Iterator[NamespaceBox]:
    """Return a second box of the same sandbox, open at the same time."""
    opened = plain_sandbox.open(LIMITS)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[NamespaceSandbox, Path]]:
    """Return a sandbox with a data file and a package, and their folder."""
    folder = tmp_path_factory.mktemp("secret-course")
    (folder / "corpus.txt").write_text("a b c")
    package = folder / "answers"
    package.mkdir()
    (package / "__init__.py").write_text("SOLUTION = 42")
    (package / "key.pem").write_text("private")
    (package / "link.py").symlink_to("/etc/passwd")
    environment = Environment(files=(("data.txt", folder / "corpus.txt"),), packages=(("answers", package),))
    sandbox = start_sandbox(environment)
    yield sandbox, folder
    sandbox.close()


def test_files_of_one_box_are_not_in_another(box: NamespaceBox, other: NamespaceBox) -> None:
    """Working directory, /tmp and /dev/shm are private to each box."""
    box.run_cell("for p in ('/w/a', '/tmp/b', '/dev/shm/c'): open(p, 'w').write('x')", seconds=5)
    assert ["a", "own.csv"] == value(box, "sorted(os.listdir('/w'))")
    assert [[], [], []] == value(other, "[os.listdir(p) for p in ('/w', '/tmp', '/dev/shm')]")


def test_a_file_of_one_box_does_not_outlive_it(plain_sandbox: NamespaceSandbox, box: NamespaceBox) -> None:
    """The next box starts empty."""
    value(box, "open('/tmp/marker', 'w').write('x')")
    box.close()
    later = plain_sandbox.open(LIMITS)
    assert [[], []] == value(later, "[os.listdir(p) for p in ('/w', '/tmp')]")
    later.close()


def test_processes_of_one_box_are_not_in_another(box: NamespaceBox, other: NamespaceBox) -> None:
    """Every box is process 1 of its own namespace and can signal no other process."""
    value(other, "os.fork() or __import__('time').sleep(99)")
    assert [1, 0] == value(box, "[os.getpid(), os.getppid()]")
    box.run_cell(PRESENT.format("there", "os.kill(x, 0)"), seconds=5)
    assert [] == value(box, "[p for p in range(2, 5000) if there(p)]")


def test_abstract_sockets_are_not_shared(box: NamespaceBox, other: NamespaceBox) -> None:
    """Each box has its own network namespace, which contains its abstract names."""
    listen = "import socket\ns = socket.socket(socket.AF_UNIX)\ns.bind('\\0meet')\ns.listen()"
    assert "" == other.run_cell(listen, seconds=5).error
    dial = "import socket\nsocket.socket(socket.AF_UNIX).connect('\\0meet')"
    assert "ConnectionRefusedError" == box.run_cell(dial, seconds=5).error


def test_a_box_has_five_descriptors(box: NamespaceBox) -> None:
    """Null, two for output, requests and replies; no other descriptor is inherited."""
    box.run_cell(PRESENT.format("is_open", "os.fstat(x)"), seconds=5)
    assert [0, 1, 2, 3, 4] == value(box, "[n for n in range(256) if is_open(n)]")


def test_the_root_holds_only_what_a_notebook_needs(box: NamespaceBox) -> None:
    """There is no home, no /proc with processes, and no configuration of the machine."""
    assert ["passwd"] == [name for name in value(box, "os.listdir('/etc')") if name != "ld.so.cache"]  # type: ignore[attr-defined]
    assert ["cpuinfo"] == value(box, "os.listdir('/proc')")
    assert [] == value(box, "os.listdir('/data')")
    assert {"full", "null", "random", "shm", "urandom", "zero"} == set(value(box, "os.listdir('/dev')"))  # type: ignore[call-overload]


def test_the_environment_is_a_notebooks_own(box: NamespaceBox) -> None:
    """The grader's environment is not visible in a box, and the program's name reveals nothing."""
    names = value(box, "sorted(os.environ)")
    assert not {"PYTHONPATH", "VIRTUAL_ENV", "SHELL", "PWD"} & set(names)  # type: ignore[call-overload]
    assert ["notebook"] == value(box, "sys.argv")


def test_data_files_are_beside_the_notebook_and_read_only(course: tuple[NamespaceSandbox, Path]) -> None:
    """They can be read under their names, and neither changed nor removed."""
    sandbox, folder = course
    box = sandbox.open(LIMITS)
    assert "a b c" == value(box, "open('data.txt').read()")
    for attempt in ("open('data.txt', 'w')", "os.remove('/data/data.txt')", "os.chmod('data.txt', 0o777)"):
        assert "OSError" == box.run_cell(f"import os\n{attempt}", seconds=5).error
    assert "a b c" == (folder / "corpus.txt").read_text()
    box.close()


def test_no_path_of_the_course_is_in_the_memory_of_a_box(course: tuple[NamespaceSandbox, Path]) -> None:
    """Student code cannot find the paths on this machine that the zygote was given."""
    sandbox, _ = course
    box = sandbox.open(LIMITS)
    box.run_cell(SEARCH, seconds=5)
    (observation,) = box.ask([Call("search", args=("secret-course",))], seconds=5)
    assert [] == observation.value
    box.close()


def test_only_modules_of_a_package_come_along(course: tuple[NamespaceSandbox, Path]) -> None:
    """Python files can be imported; other files and links are left out."""
    sandbox, _ = course
    box = sandbox.open(LIMITS)
    assert 42 == value(box, "__import__('answers').SOLUTION")
    names = value(box, "__import__('zipfile').ZipFile('.packages.zip').namelist()")
    assert ["answers/", "answers/__init__.py"] == names
    box.close()


def test_packages_are_only_where_they_were_asked_for(box: NamespaceBox) -> None:
    """The sandbox for students contains neither reference solutions nor the grader's code."""
    box.run_cell(PRESENT.format("found", "__import__(x)"), seconds=5)
    assert [] == value(box, "[n for n in ('answers', 'reference', 'autograder.grading') if found(n)]")


def test_a_box_is_nobody_on_this_machine(plain_sandbox: NamespaceSandbox, box: NamespaceBox) -> None:
    """As root, its processes have a user id that no account, zygote or other box has."""
    if os.geteuid() != 0:
        pytest.skip(
            "not applicable: an ordinary user's boxes have that user's id, and nothing of the user's in view"
        )
    uid = Path(f"/proc/{box.pid}").stat().st_uid
    second, beside = start_sandbox(Environment()), plain_sandbox.open(LIMITS)
    others = [plain_sandbox.pid, second.pid, beside.pid]
    users = [uid, *(Path(f"/proc/{pid}").stat().st_uid for pid in others)]
    maps = [Path(f"/proc/{pid}/uid_map").read_text().split() for pid in (box.pid, beside.pid)]
    second.close()
    beside.close()
    assert len(users) == len(set(users))
    assert all(FIRST_UID <= user <= LAST_UID for user in users)
    # Outside, the box's own user id belongs to its user, and there is no other.
    assert [["1000", str(users[0]), "1"], ["1000", str(users[3]), "1"]] == maps


def test_signals_work_however_the_grader_was_started() -> None:
    """A grader in the background ignores interrupts, but a notebook that interrupts itself is interrupted."""
    numbers = (signal.SIGINT, signal.SIGHUP, signal.SIGTERM)
    before = [signal.signal(number, signal.SIG_IGN) for number in numbers]
    try:
        sandbox = start_sandbox(Environment())
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
    box = sandbox.open(LIMITS)
    try:
        asked = "[signal.getsignal(n) == signal.SIG_DFL for n in (signal.SIGHUP, signal.SIGTERM)]"
        box.run_cell("import signal", seconds=5)
        assert [True, True] == value(box, asked)
        run = box.run_cell("os.kill(os.getpid(), signal.SIGINT)\nimport time\ntime.sleep(2)", seconds=5)
    finally:
        box.close()
        sandbox.close()
    assert "KeyboardInterrupt" == run.error
