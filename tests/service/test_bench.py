"""The markers' bench on the real sandbox: results of honest notebooks, and attacks by hostile ones."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from autograder.app import open_course
from autograder.core.errors import SandboxUnavailable, ServiceError
from autograder.core.records import Ending
from autograder.grading.release_generation import generate_release
from autograder.service.bench import MOST_SHOWN, MOST_SOURCE, Bench, BenchStatus, NotebookStatus, TryResult
from autograder.service.postgres import EmbeddedPostgres
from tests.service import course
from tests.support import small_course
from tests.support.leftovers import control_groups, descendants
from tests.support.secrecy import fixed

if TYPE_CHECKING:
    from autograder.service.models import Attempt, Offer

pytestmark = pytest.mark.sandbox
LIMITS = """\
[assignment.limits]
cell_seconds = 2
call_seconds = 0.5
memory_mb = 128
processes = 16
output_kb = 64
scratch_mb = 8
"""
HONEST = """\
x = []
kept = []

def double(value):
    return 2 * value

def told(value):
    print("heard", value)
    return {"value": value}

def softmax(scores):
    return scores
"""


@pytest.fixture
def proven(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip the self-test of the sandbox, which the bench of this module has run."""
    monkeypatch.setattr("autograder.service.bench.selftest.ensure", lambda *_, **__: None)


class Attempts:
    """The small course in the service with small limits, and attempts with a given code cell."""

    def __init__(self, folder: Path) -> None:
        from autograder.service.models import CourseRecord

        slug = f"bench-{CourseRecord.objects.count() + 1}"
        record = CourseRecord.objects.create(slug=slug, title=slug, secret=fixed(32))
        record.secret = open_course(folder).load_secret()
        record.save()
        self.folder = folder
        self.offer: Offer = course.offered(record, folder)
        self._number = 0

    def of(self, code: str) -> Attempt:
        """Return an attempt of a new student."""
        self._number += 1
        files = course.answered(self.folder, softmax_answer=code, layers_answer="layers = 12")
        return course.handed_in(self.offer, f"s{self._number}", files)


@pytest.fixture(scope="module")
def handed(service_database: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> Attempts:
    """Return the attempts of a course for this module."""
    folder = tmp_path_factory.mktemp("bench")
    course = small_course.small_course(folder)
    rubric = folder / "rubrics" / f"{small_course.NAME}.toml"
    small_course.changed(rubric, "[assignment.limits]\ncell_seconds = 2\ncall_seconds = 2\n", LIMITS)
    generate_release(course, small_course.NAME)
    return Attempts(folder)


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    """Provide a bench for all tests of the module, and check that it leaves no control groups."""
    before = set(control_groups())
    with Bench(per_minute=10_000) as new_bench:
        yield new_bench
    assert set() == set(control_groups()) - before


def settled(bench: Bench, attempt: Attempt, notebook: str = "code") -> NotebookStatus:
    """Return the status of a notebook once it is prepared."""
    until = time.monotonic() + 300
    while (opened := bench.open_notebook(attempt, notebook)).standing is BenchStatus.PREPARING:
        assert time.monotonic() < until
        time.sleep(0.02)
    return opened


def asked(
    bench: Bench, attempt: Attempt, source: str, *, who: str = "ta", notebook: str = "code"
) -> TryResult:
    """Return the result of an input, waiting until the notebook is prepared."""
    settled(bench, attempt, notebook)
    while (
        tried := bench.try_input(attempt, source, who=who, notebook=notebook)
    ).standing is BenchStatus.PREPARING:
        time.sleep(0.02)
    return tried


@pytest.fixture(scope="module")
def honest(handed: Attempts) -> Attempt:
    """Return an attempt with a plain notebook."""
    return handed.of(HONEST)


def test_a_value_what_is_printed_and_an_exception(bench: Bench, honest: Attempt) -> None:
    """Value, output and error are returned separately, in Python's notation."""
    assert "6" == asked(bench, honest, "double(3)").value
    tried = asked(bench, honest, "told('a')")
    assert ("{'value': 'a'}", "heard a\n") == (tried.value, tried.output)
    assert "ZeroDivisionError: division by zero" == asked(bench, honest, "1 / 0").error
    assert "NameError: name 'absent' is not defined" == asked(bench, honest, "absent").error
    assert asked(bench, honest, "double(").error.startswith("SyntaxError")
    tried = asked(bench, honest, "None")
    assert ("", "", "") == (tried.value, tried.output, tried.error)
    assert "12" == asked(bench, honest, "layers", notebook="formulas").value


def test_every_input_meets_the_finished_state(bench: Bench, honest: Attempt) -> None:
    """Inputs do not affect each other: names, lists, modules, files and random numbers are reset."""
    for source, value in (
        ("x.append(1) or x", "[1]"),
        ("globals().setdefault('new', len(kept)) or kept.append(1) or kept", "[1]"),
        ("setattr(numpy, 'mark', getattr(numpy, 'mark', 0) + 1) or numpy.mark", "1"),
        ("open('note', 'a').write('x') and len(open('note').read())", "1"),
        ("len(__import__('os').listdir('/tmp'))", "0"),
    ):
        assert [value] * 3 == [asked(bench, honest, source).value for _ in range(3)], source
    drawn = {asked(bench, honest, "float(numpy.random.rand())").value for _ in range(3)}
    assert 1 == len(drawn)


def test_each_person_sees_their_own_inputs(bench: Bench, handed: Attempts) -> None:
    """Each marker sees their own inputs, the latest first."""
    attempt = handed.of(HONEST)
    for source, who in (("double(1)", "a"), ("double(2)", "b"), ("double(3)", "a")):
        asked(bench, attempt, source, who=who)
    tried = bench.list_last_tries(attempt, who="a", notebook="code")
    assert [("double(3)", "6"), ("double(1)", "2")] == [(entry.source, entry.value) for entry in tried]
    assert () == bench.list_last_tries(attempt, who="c", notebook="code")


def test_several_people_at_once(bench: Bench, handed: Attempts) -> None:
    """Concurrent inputs each get their own result."""
    attempts = [handed.of(HONEST) for _ in range(3)]
    for attempt in attempts:
        settled(bench, attempt)

    def one(number: int) -> str:
        while (
            tried := _tried(bench, attempts[number % 3], f"double({number})")
        ).standing is not BenchStatus.READY:
            assert tried.standing in {BenchStatus.BUSY, BenchStatus.PREPARING}
        return tried.value

    with ThreadPoolExecutor(6) as threads:
        assert [str(2 * number) for number in range(18)] == list(threads.map(one, range(18)))


def _tried(bench: Bench, attempt: Attempt, source: str) -> TryResult:
    return bench.try_input(attempt, source, who="ta", notebook="code")


HOSTILE_REPR = """\
import os, signal, sys, time

class Raises:
    def __repr__(self): raise ValueError("no repr")

class Huge:
    def __repr__(self): return "x" * 10**7

class Marked:
    def __repr__(self): return "\\x1b]0;title\\x07<script>alert(1)</script>\\x1b[31m\\u202eabc\\x00"

class Hangs:
    def __repr__(self):
        while True: pass

class Lies(Exception):
    def __str__(self): raise SystemExit

def noisy():
    for _ in range(1600): print("x" * 65536)

def flood():
    while True: os.write(1, b"x" * 65536)

def full():
    held = []
    while True: held.append(bytearray(1 << 24))

def forks():
    while True:
        try: os.fork()
        except OSError: pass

def many():
    made = 0
    while made < 200:
        try:
            if os.fork() == 0: time.sleep(60)
            made += 1
        except OSError: break
    return made
"""


def test_hostile_values_are_texts(bench: Bench, handed: Attempts) -> None:
    """Whatever an object's repr does, the result is short printable text or empty."""
    attempt = handed.of(HOSTILE_REPR)
    assert "" == asked(bench, attempt, "Raises()").value
    huge = asked(bench, attempt, "Huge()")
    assert len(huge.value) <= MOST_SHOWN + 1
    marked = asked(bench, attempt, "Marked()").value
    assert "<script>alert(1)</script>" in marked  # plain text; pages escape it
    assert not {char for char in marked if ord(char) < 32 or char in "\x7f\u202e"}
    lies = asked(bench, attempt, "(_ for _ in ()).throw(Lies('a'))")
    assert lies.ending is not None or lies.error
    assert "6" == asked(bench, attempt, "2 * 3").value


@pytest.mark.parametrize(
    ("source", "endings"),
    [
        ("Hangs()", {Ending.CELL_TIME}),
        ("time.sleep(100)", {Ending.CELL_TIME}),
        ("noisy()", {Ending.OUTPUT}),
        ("flood()", {Ending.OUTPUT}),
        ("full()", {Ending.MEMORY}),
        ("forks()", {Ending.CELL_TIME, Ending.MEMORY}),
        ("os._exit(0)", {Ending.EXITED}),
        ("os.kill(os.getpid(), signal.SIGSEGV) or __import__('ctypes').string_at(0)", {Ending.CRASHED}),
    ],
)
def test_what_ends_its_box_ends_nothing_else(
    bench: Bench, handed: Attempts, source: str, endings: set[Ending]
) -> None:
    """The result names the cause, and the next input works."""
    attempt = handed.of(HOSTILE_REPR)
    settled(bench, attempt)
    tried = asked(bench, attempt, source)
    caught = source == "full()" and tried.error.startswith("MemoryError")
    assert caught or tried.ending in endings, tried
    assert "6" == asked(bench, attempt, "2 * 3").value


def test_processes_end_with_their_box(bench: Bench, handed: Attempts) -> None:
    """Processes left by an input are killed soon, and their number is limited."""
    attempt = handed.of(HOSTILE_REPR)
    settled(bench, attempt)
    before = len(descendants(os.getpid()))
    result = asked(bench, attempt, "many()")
    assert int(result.value or 0) <= 16
    until = time.monotonic() + 300
    while len(descendants(os.getpid())) > before + 4:
        assert time.monotonic() < until
        time.sleep(0.05)


def test_nobody_kills_what_they_came_from(bench: Bench, handed: Attempts, honest: Attempt) -> None:
    """Signals cannot kill the first process of a box or the fork server, and other notebooks still work."""
    attempt = handed.of(HOSTILE_REPR)
    settled(bench, honest)
    zygotes = [process.pid for process in bench._pool._running.values()]  # type: ignore[attr-defined]
    for target in ("os.getppid()", "1", "-1", "os.getpid()"):
        asked(bench, attempt, f"os.kill({target}, signal.SIGKILL)")
        assert "6" == asked(bench, attempt, "2 * 3").value
    assert "8" == asked(bench, honest, "double(4)").value
    assert zygotes == [process.pid for process in bench._pool._running.values()]  # type: ignore[attr-defined]


def test_a_notebook_that_takes_everything_over_speaks_for_itself_alone(
    bench: Bench, handed: Attempts, honest: Attempt
) -> None:
    """A hostile notebook can only affect its own results, and cannot count earlier inputs."""
    attempt = handed.of(
        "import builtins, gc, os, sys\n"
        "count = [0]\n"
        "shell = get_ipython()\n"
        "run = type(shell).run_cell\n"
        "def lie(self, source, **options):\n"
        "    count[0] += 1\n"
        "    open('/w/asked', 'a').write('x')\n"
        "    return run(self, f'print({count[0]}, len(open(\"/w/asked\").read()), {source!r})', **options)\n"
        "type(shell).run_cell = lie\n"
        "builtins.print = print\n"
        "os.fork_before, os.fork = os.fork, lambda: 0\n"
    )
    first, second = (asked(bench, attempt, "double(4)") for _ in range(2))
    assert (first.output, first.value) == (second.output, second.value)
    assert "8" == asked(bench, honest, "double(4)").value


def test_replies_that_nobody_asked_for_end_the_box(bench: Bench, handed: Attempts) -> None:
    """A notebook that writes to the pipes itself violates the protocol and is stopped."""
    attempt = handed.of(
        "import os, threading, time\n"
        "def forge():\n"
        "    os.write(4, b'AG' + bytes(12))\n"
        "def later():\n"
        "    threading.Thread(target=lambda: (time.sleep(0.3), forge())).start()\n"
        "later()\n"
    )
    settled(bench, attempt)
    time.sleep(0.5)
    assert Ending.PROTOCOL is asked(bench, attempt, "1").ending
    assert Ending.PROTOCOL is asked(bench, attempt, "forge()").ending


def test_cells_that_end_their_box_are_left_out(bench: Bench, handed: Attempts) -> None:
    """As in grading, the other cells run without them."""
    attempt = handed.of("import os\nos._exit(3)")
    assert BenchStatus.READY is settled(bench, attempt).standing
    assert "NameError: name 'softmax' is not defined" == asked(bench, attempt, "softmax").error


@pytest.mark.usefixtures("proven")
def test_what_computes_on_is_taken_off(handed: Attempts, monkeypatch: pytest.MonkeyPatch) -> None:
    """A notebook that keeps computing after its cells is stopped."""
    monkeypatch.setattr("autograder.service.bench._LOOK_SECONDS", 0.1)
    monkeypatch.setattr("autograder.service.bench._IDLE_PROCESSOR_SECONDS", 0.2)
    attempt = handed.of(
        "import threading\n"
        "def on():\n"
        "    while True: pass\n"
        "threading.Thread(target=on, daemon=True).start()\n"
    )
    with Bench(boxes=1) as bench:
        settled(bench, attempt)
        until = time.monotonic() + 300
        while (opened := bench.open_notebook(attempt, "code")).standing is not BenchStatus.FAILED:
            assert time.monotonic() < until
            time.sleep(0.05)
        assert Ending.PROCESSOR_TIME is opened.ending


def test_what_is_no_notebook_says_so(bench: Bench, handed: Attempts) -> None:
    """The reason is shown, and nothing is run."""
    broken = course.handed_in(handed.offer, "broken", {"code.ipynb": b"<html>"})
    opened = settled(bench, broken)
    assert BenchStatus.FAILED is opened.standing
    assert opened.reason
    assert BenchStatus.FAILED is settled(bench, broken, "formulas").standing
    assert BenchStatus.FAILED is asked(bench, broken, "1").standing


def test_a_long_input_is_refused(bench: Bench, honest: Attempt) -> None:
    """A long input is rejected before it reaches the notebook."""
    with pytest.raises(ServiceError, match=str(MOST_SOURCE)):
        bench.try_input(honest, "1" * (MOST_SOURCE + 1), who="ta", notebook="code")


@pytest.mark.usefixtures("proven")
def test_inputs_are_counted_for_each_person(handed: Attempts, honest: Attempt) -> None:
    """The limit applies per marker."""
    with Bench(per_minute=2) as bench:
        settled(bench, honest)
        standings = [bench.try_input(honest, "1", who=who, notebook="code").standing for who in "aaab"]
    assert BenchStatus.OFTEN is standings[2]
    assert BenchStatus.OFTEN not in (*standings[:2], standings[3])


@pytest.mark.usefixtures("proven")
def test_few_notebooks_are_kept(handed: Attempts) -> None:
    """The least recently used notebooks are closed, and reopened on demand."""
    attempts = [handed.of(HONEST) for _ in range(3)]
    with Bench(most=2, boxes=1) as bench:
        for attempt in attempts:
            asked(bench, attempt, "double(1)")
        assert () == bench.list_last_tries(attempts[0], who="ta", notebook="code")
        assert 1 == len(bench.list_last_tries(attempts[1], who="ta", notebook="code"))
        assert "2" == asked(bench, attempts[0], "double(1)").value


@pytest.mark.usefixtures("proven")
def test_memory_bounds_what_is_kept(handed: Attempts) -> None:
    """If one notebook needs all memory, it is the only one, with a single box."""
    attempts = [handed.of(HONEST) for _ in range(2)]
    with Bench(memory_mb=1, boxes=3) as bench:
        for attempt in attempts:
            settled(bench, attempt)
            time.sleep(0.2)
        assert 1 == sum(1 for _ in bench._iterate_boxes())
        assert "2" == asked(bench, attempts[1], "double(1)").value


@pytest.mark.usefixtures("proven")
def test_what_nobody_uses_is_let_go(handed: Attempts, monkeypatch: pytest.MonkeyPatch) -> None:
    """Idle notebooks are closed with their sandbox."""
    monkeypatch.setattr("autograder.service.bench._LOOK_SECONDS", 0.05)
    with Bench(idle_seconds=0.2, boxes=1) as bench:
        attempt = handed.of(HONEST)
        asked(bench, attempt, "double(1)")
        until = time.monotonic() + 300
        while bench._notebooks or bench._pool._running:
            assert time.monotonic() < until
            time.sleep(0.05)


def test_nothing_runs_before_the_sandbox_is_proven(
    handed: Attempts, honest: Attempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in grading, no box is opened if the self-test fails."""

    def hole(*_: object, **__: object) -> None:
        raise SandboxUnavailable("a hole")

    monkeypatch.setattr("autograder.service.bench.selftest.ensure", hole)
    monkeypatch.setattr("autograder.sandbox.pool.PersistentSandbox.open", None)
    with Bench() as bench:
        until = time.monotonic() + 300
        while (opened := bench.open_notebook(honest, "code")).standing is BenchStatus.PREPARING:
            assert time.monotonic() < until
            time.sleep(0.02)
        assert BenchStatus.UNAVAILABLE is opened.standing


def test_a_machine_that_cannot_confine_runs_nothing(
    handed: Attempts, honest: Attempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bench is unavailable and does not retry immediately."""

    def refused(*_: object, **__: object) -> None:
        raise SandboxUnavailable("no namespaces")

    monkeypatch.setattr("autograder.sandbox.pool.Pool.get_sandbox", refused)
    with Bench() as bench:
        bench.open_notebook(honest, "code")
        until = time.monotonic() + 300
        while bench.open_notebook(honest, "code").standing is not BenchStatus.UNAVAILABLE:
            assert time.monotonic() < until
            time.sleep(0.02)
        assert BenchStatus.UNAVAILABLE is bench.try_input(honest, "1", who="ta", notebook="code").standing


def test_nothing_of_the_service_is_to_be_seen(bench: Bench, honest: Attempt) -> None:
    """Environment, files, database socket and class list of the service are not accessible."""
    names = asked(bench, honest, "sorted(__import__('os').environ)").value
    assert "DATABASE" not in names
    assert "AUTOGRADER" not in names
    folders = [folder for folder, _ in bench._loaded._kept.values()]
    secrets = [path for folder in folders for path in folder.rglob("secret")]
    assert secrets
    for path in (*secrets, *folders, "/etc/hostname", "/proc/1/environ"):
        assert asked(bench, honest, f"open({str(path)!r})").error.startswith(
            ("FileNotFoundError", "PermissionError")
        )
    connected = "__import__('socket').create_connection(('127.0.0.1', 5432))"
    assert "Error" in asked(bench, honest, connected).error


@pytest.mark.usefixtures("proven")
def test_it_ends_while_cells_run(handed: Attempts) -> None:
    """Closing the bench stops running cells quickly."""
    attempt = handed.of("import time\ntime.sleep(60)")
    before = threading.enumerate()
    bench = Bench()
    bench.open_notebook(attempt, "code")
    time.sleep(1.5)
    bench.close()
    assert BenchStatus.UNAVAILABLE is bench.open_notebook(attempt, "code").standing
    assert not [
        thread for thread in threading.enumerate() if thread.name.startswith("bench") and thread not in before
    ]
