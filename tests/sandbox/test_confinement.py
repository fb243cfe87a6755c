"""What student code may not do; test_isolation.py covers namespaces."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.core.errors import BoxEnded
from autograder.core.records import Call
from autograder.sandbox.outside.box import NamespaceBox
from autograder.sandbox.outside.namespaces import NamespaceSandbox
from autograder.sandbox.runtime import get_current_runtime
from tests.sandbox.contract import LIMITS
from tests.support.leftovers import descendants

pytestmark = pytest.mark.sandbox

TRIES = """
import ctypes, errno, os, resource, signal, socket
libc = ctypes.CDLL(None, use_errno=True)
def refused(step):
    try:
        step()
    except OSError as error:
        return errno.errorcode[error.errno]
    return 'done'
def call(*arguments):
    if libc.syscall(*arguments) < 0:
        raise OSError(ctypes.get_errno(), '')
"""


@pytest.fixture
def box(plain_sandbox: NamespaceSandbox) -> Iterator[NamespaceBox]:
    """Return a box in which the attempts are defined."""
    opened = plain_sandbox.open(LIMITS)
    run = opened.run_cell(TRIES, seconds=5)
    assert run.error == ""
    yield opened
    opened.close()


def value(box: NamespaceBox, expression: str) -> object:
    """Return the value of an expression in a box."""
    run = box.run_cell(f"given = {expression}", seconds=5)
    assert run.error == "", run
    (observation,) = box.ask([Call("given", read=True)], seconds=5)
    assert observation.ok, observation
    return observation.value


def refused(box: NamespaceBox, step: str) -> object:
    """Return the name of the error with which an attempt fails; ``"done"`` if it does not."""
    return value(box, f"refused(lambda: {step})")


def test_there_is_no_network(box: NamespaceBox) -> None:
    """No listener on this machine and no other address can be reached, by any family but UNIX."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        assert refused(box, f"socket.create_connection(('127.0.0.1', {port}), 1)") in {"EACCES", "EPERM"}
    families = "[refused(lambda: socket.socket(f, socket.SOCK_DGRAM)) for f in (2, 10, 16, 17, 38, 40)]"
    assert {"EACCES"} >= set(value(box, families)) - {"EPERM"}  # type: ignore[call-overload]


def test_an_abstract_socket_of_this_machine_is_out_of_reach(box: NamespaceBox) -> None:
    """Abstract sockets of other programs do not exist in a box, or refuse connections."""
    name = f"\0autograder-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(name)
        listener.listen()
        assert refused(box, f"socket.socket(socket.AF_UNIX).connect({name!r})") in {"ECONNREFUSED", "EPERM"}


@pytest.mark.parametrize("program", ["/bin/true", "/proc/self/exe", "own"])
def test_no_program_is_started(box: NamespaceBox, program: str) -> None:
    """Neither the machine's programs nor the box's own files can be executed."""
    box.run_cell("open('own', 'w').write('#!/bin/sh'); os.chmod('own', 0o755)", seconds=5)
    assert "EPERM" == refused(box, f"os.execv({program!r}, ['x'])")


@pytest.mark.parametrize(
    "step",
    [
        "call(101, 16, os.getppid(), 0, 0)",  # ptrace(PTRACE_ATTACH)
        "call(310, os.getppid(), 0, 0, 0, 0, 0)",  # process_vm_readv
        "call(272, 0x10000000)",  # unshare(CLONE_NEWUSER)
        "call(165, b'none', b'/tmp', b'tmpfs', 0, 0)",  # mount
        "call(321, 0, 0, 0)",  # bpf
        "call(250, 0, 0, 0, 0, 0)",  # keyctl
        "call(425, 1, 0)",  # io_uring_setup
        "os.setuid(0)",
        "os.setgroups([0])",
        "os.chroot('/')",
        "os.mknod('device', 0o20600, 0x103)",
        "os.memfd_create('x')",
        "os.setsid()",
    ],
)
@pytest.mark.skipif(os.uname().machine != "x86_64", reason="not applicable: the numbers are those of x86-64")
def test_the_kernel_is_asked_in_vain(box: NamespaceBox, step: str) -> None:
    """Tracing, namespaces, mounts, other identities and little-used interfaces are refused."""
    assert "EPERM" == refused(box, step)


def test_nobody_outside_is_signalled_or_limited(box: NamespaceBox, plain_sandbox: NamespaceSandbox) -> None:
    """Grader, zygote and other boxes cannot be found, signalled, changed or slowed down."""
    other = plain_sandbox.open(LIMITS)
    outside = [os.getpid(), plain_sandbox.pid, other.pid, *descendants(plain_sandbox.pid)]
    victims = [pid for pid in outside if pid != box.pid]
    missed = {"EPERM", "ESRCH", "EACCES", "ENOSYS"}
    # In a process namespace these numbers may belong to the box's own processes: number 1 is itself.
    victims = [pid for pid in victims if pid > 100]
    for step in (
        "os.kill(p, 0)",
        "os.kill(p, 19)",
        "os.kill(-p, 19)",
        "call(200, p, 19)",  # tkill
        "call(129, p, 19, bytes(128))",  # rt_sigqueueinfo
        "signal.pidfd_send_signal(os.pidfd_open(p), 19)",
        "resource.prlimit(p, resource.RLIMIT_NOFILE, (3, 3))",
        "os.sched_setaffinity(p, {0})",
        "os.setpriority(os.PRIO_PROCESS, p, 19)",
    ):
        found = value(box, f"[refused(lambda: {step}) for p in {victims}]")
        assert missed >= set(found), step  # type: ignore[call-overload]
    assert "" == other.run_cell("x = 1", seconds=5).error
    other.close()


@pytest.mark.slow
def test_a_signal_to_everybody_reaches_nobody_outside(
    box: NamespaceBox, plain_sandbox: NamespaceSandbox
) -> None:
    """kill(-1) ends at most the box itself; another box and the sandbox continue."""
    other = plain_sandbox.open(LIMITS)
    with contextlib.suppress(BoxEnded):
        box.run_cell("refused(lambda: os.kill(-1, 9)); refused(lambda: os.kill(0, 19))", seconds=1)
    assert "" == other.run_cell("x = 1", seconds=5).error
    assert plain_sandbox.is_alive()
    other.close()


def places() -> list[str]:
    """Return paths to which a student might write: interpreter, program, homes, the machine's folders."""
    runtime = get_current_runtime()
    folders = [
        *runtime.readable,
        runtime.package_root,
        str(Path.home()),
        *["/", "/etc", "/usr/lib", "/var/tmp", "/run"],
    ]
    return [folder for folder in folders if Path(folder).is_dir()]


def test_nothing_is_written_outside_its_scratch(box: NamespaceBox) -> None:
    """No file is created, truncated, renamed, linked, removed, or given other permissions or times."""
    attempts = value(box, f"[refused(lambda: open(p + '/canary', 'w')) for p in {places()!r}]")
    assert [] == [folder for folder in places() if Path(folder, "canary").exists()]
    # A box has its own /tmp, in which it may create files with the names of the machine's.
    outside = [one for one, place in zip(attempts, places(), strict=True) if not place.startswith("/tmp/")]  # type: ignore[call-overload]
    assert "done" not in outside
    assert [] == [place for place in places() if Path(place, "canary").exists()]


def test_a_file_within_reach_is_not_changed(box: NamespaceBox, tmp_path: Path) -> None:
    """Modules that boxes import and files of the grader's user keep content, mode, times and names."""
    module = Path(os.__file__).with_name("this.py")
    own = tmp_path / "own.txt"
    own.write_text("kept")
    for target in (module, own):
        before, content = target.stat(), target.read_bytes()
        for step in (
            "open(p, 'a').write('x')",
            "os.truncate(p, 0)",
            "os.close(os.open(p, os.O_RDONLY | os.O_TRUNC))",
            "os.chmod(p, 0o777)",
            "os.fchmod(os.open(p, os.O_RDONLY), 0o777)",
            "os.utime(p, (1, 1))",
            "os.remove(p)",
            "os.rename(p, 'mine')",
            "os.link(p, 'mine')",
            "os.chown(p, os.getuid(), -1)",
            "os.setxattr(p, 'user.x', b'x')",
        ):
            value(box, f"refused(lambda p={str(target)!r}: {step})")
        after = target.stat()
        kept = ("st_mode", "st_mtime_ns", "st_size", "st_ino", "st_nlink", "st_uid")
        assert [getattr(before, name) for name in kept] == [getattr(after, name) for name in kept]
        assert content == target.read_bytes()


def test_what_is_not_for_students_is_not_read(box: NamespaceBox, tmp_path: Path) -> None:
    """The grader's files, memory and environment and the machine's secrets cannot be read."""
    own = tmp_path / "own.txt"
    own.write_text("hidden")
    secret = [own, "/etc/shadow", *(f"/proc/{os.getpid()}/{name}" for name in ("mem", "environ", "maps"))]
    found = value(
        box, f"[refused(lambda: open(p, 'rb').read(9)) for p in {[str(path) for path in secret]!r}]"
    )
    assert {"EACCES", "ENOENT", "EPERM"} >= set(found)  # type: ignore[call-overload]


def test_who_runs_what_is_not_seen(box: NamespaceBox) -> None:
    """Processes, accounts and network tables are hidden."""
    found = value(
        box,
        f"[refused(lambda: open(p, 'rb').read(9)) for p in ('/proc/{os.getpid()}/cmdline', '/proc/net/tcp')]",
    )
    assert {"EACCES", "ENOENT"} >= set(found)  # type: ignore[call-overload]


def test_student_code_is_never_root(box: NamespaceBox) -> None:
    """Whoever runs the grader, no process of a box has user id 0 outside, root's groups or a capability."""
    status = Path(f"/proc/{box.pid}/status").read_text().splitlines()
    fields = {line.partition(":")[0]: line.split()[1:] for line in status}
    assert "0" not in fields["Uid"]
    assert "0" not in fields["Gid"]
    if os.geteuid() == 0:
        assert [] == [group for group in fields["Groups"] if group == "0"]
    assert ["0000000000000000"] * 3 == [fields[name][0] for name in ("CapInh", "CapPrm", "CapEff")]
    assert (["1"], ["2"]) == (fields["NoNewPrivs"], fields["Seccomp"])
