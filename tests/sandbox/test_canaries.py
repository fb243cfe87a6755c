"""Each layer is removed in turn, and its canary must detect that."""

from __future__ import annotations

import os
import platform
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from autograder.core.errors import SandboxUnavailable
from autograder.sandbox.inside.seccomp import MACHINES, load_shipped_filter
from autograder.sandbox.outside import box, cgroups, namespaces, watch
from autograder.sandbox.pool import start_sandbox
from autograder.sandbox.proof import selftest
from autograder.sandbox.proof.canaries import CANARIES
from autograder.sandbox.proof.selftest import examine, is_healthy
from tests.support.broken_sandbox import BrokenSandbox, Edits, tried_here

Patch = pytest.MonkeyPatch

FORK = "linux.fork_into(linux.ALL_NAMESPACES)"
SHARED_NETWORK = "linux.fork_into(linux.ALL_NAMESPACES & ~0x40000000)"
SHARED_PROCESSES = "linux.fork_into(linux.ALL_NAMESPACES & ~0x20000000)"
UNSCOPED = {"scoped = 3 if version >= 6 else 0": "scoped = 0"}
UNFILTERED: Edits = {"jail.py": {"    linux.load_filter(program)": "    pass"}}
HANDED_ON = 'os.chdir("/w")\n    Path(".packages.zip").write_bytes(b"PK")'
OWN_USER = "else (uid, uid)"
CALLS = {
    "bpf": (321, 280),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "userfaultfd": (323, 282),
    "perf_event_open": (298, 241),
    "prlimit64": (302, 261),
}
"""Number of each system call on x86-64 and on ARM64."""
NUMBERS = {name: both[MACHINES.index(platform.machine())] for name, both in CALLS.items()}
SUBSYSTEMS = [name for name in CALLS if name != "prlimit64"]
VIEWS = '("/proc/cpuinfo", "/sys/devices/system/cpu")'


def no_groups(patch: Patch) -> None:
    """Simulate a machine without writable control groups."""
    patch.setattr(cgroups, "find_driver", lambda: None)


def no_watch(patch: Patch) -> None:
    """Disable control groups and the watchdog."""
    no_groups(patch)
    patch.setattr(watch.Watch, "find_exceeded_limit", lambda watching: None)


def no_deadline(patch: Patch) -> None:
    """Wait for calls a hundred times as long as they may take."""
    ask = box.NamespaceBox.ask

    def patient(self: box.NamespaceBox, calls: Any, *, seconds: float, total: float = 0.0) -> Any:
        return ask(self, calls, seconds=100 * seconds)

    patch.setattr(box.NamespaceBox, "ask", patient)


def no_flood(patch: Patch) -> None:
    """Accept any amount of output."""
    patch.setattr(box, "FLOOD_FACTOR", 1 << 20)


def bpf_instruction(code: int, value: int, otherwise: int = 0) -> bytes:
    """Return one struct sock_filter.

    ``otherwise`` is the number of instructions skipped if a comparison fails.
    """
    return struct.pack("HBBI", code, 0, otherwise, value)


def allowing(*numbers: int) -> Callable[[Patch], None]:
    """Return a system call filter that allows these calls on this machine before it checks the others."""

    def weaken(patch: Patch) -> None:
        load, equal, leave, allow = 0x20, 0x15, 0x06, 0x7FFF_0000
        number = [bpf_instruction(load, 0)]
        passing = [
            bpf_instruction(code, value, otherwise=otherwise)
            for call in numbers
            for code, value, otherwise in ((equal, call, 1), (leave, allow, 0))
        ]
        patch.setattr(
            namespaces, "load_shipped_filter", lambda: b"".join((*number, *passing, load_shipped_filter()))
        )

    return weaken


class Broken(Struct, frozen=True):
    """A sandbox that lacks a layer; ``canary`` must notice."""

    canary: str
    edits: Mapping[str, Mapping[str, str]] = {}
    outside: Callable[[Patch], None] = lambda patch: None


BROKEN = {
    "folders of the machine": Broken(
        "private file system", {"jail.py": {VIEWS: '("/proc/cpuinfo", "/sys", "/var")'}}
    ),
    "a sixth device": Broken("private file system", {"jail.py": {'"urandom")': '"urandom", "tty")'}}),
    "/proc": Broken(
        "no process file system",
        {"jail.py": {VIEWS: '("/proc", "/sys/devices/system/cpu")', '"tmp", "proc", "etc"': '"tmp", "etc"'}},
    ),
    "a writable root": Broken(
        "read-only mounts", {"jail.py": {"linux.MS_BIND | linux.MS_RDONLY |": "linux.MS_BIND |"}}
    ),
    "writable views": Broken(
        "read-only mounts", {"linux.py": {"_ATTR_NOSUID | _ATTR_RDONLY": "_ATTR_NOSUID"}}
    ),
    "shared processes": Broken("own process namespace", {"jail.py": {FORK: SHARED_PROCESSES}}),
    "sockets of networks": Broken("no network", UNFILTERED),
    "the machine's network": Broken(
        "no socket of the machine",
        {"jail.py": {FORK: SHARED_NETWORK}, "linux.py": {"| CLONE_NEWNET ": "", **UNSCOPED}},
    ),
    "capabilities": Broken("no privileges", {"jail.py": {"linux.drop_capabilities()": "pass"}}),
    "securebits without their locks": Broken(
        "no privileges", {"linux.py": {"SECUREBITS = 0x2F": "SECUREBITS = 0x05"}}
    ),
    "no Landlock": Broken(
        "Landlock in the box", {"jail.py": {"    if linux.get_landlock_version():": "    if False:"}}
    ),
    "Landlock that is prepared and not enforced": Broken(
        "Landlock in the box",
        {
            "linux.py": {
                'syscall(_LANDLOCK_RESTRICT, ruleset, 0, purpose="landlock_restrict_self")': "pass",
            }
        },
    ),
    "programs": Broken("system call filter", UNFILTERED),
    "inherited descriptors": Broken(
        "no descriptors of the grader", {"zygote.py": {"    linux.close_from(len(high))": "    pass"}}
    ),
    "a leaked variable": Broken(
        "clean environment", {"zygote.py": {'        USER="student",': '        GRADEBOOK="here",'}}
    ),
    "a network of all boxes": Broken(
        "boxes apart", {"jail.py": {FORK: SHARED_NETWORK}, "linux.py": UNSCOPED}
    ),
    "processes of all boxes": Broken("boxes apart", {"jail.py": {FORK: SHARED_PROCESSES}}),
    "processes without end": Broken(
        "bounded processes", {"jail.py": {'resource.RLIMIT_NPROC: limits["processes"],': ""}}, no_groups
    ),
    "scratch space without end": Broken(
        "bounded scratch space", {"jail.py": {"size={limits['scratch_mb']}m": "size=64m"}}
    ),
    "files without end": Broken(
        "bounded scratch space", {"jail.py": {"nr_inodes={limits['scratch_files']}": "nr_inodes=9999"}}
    ),
    "memory without end": Broken(
        "bounded memory", {"zygote.py": {'if request["bound_address_space"]:': "if False:"}}, no_watch
    ),
    "time without end": Broken("bounded time", outside=no_deadline),
    "output without end": Broken("bounded output", outside=no_flood),
    "core files": Broken("bounded resources", {"jail.py": {"resource.RLIMIT_CORE: 0,": ""}}),
    "a limit of its own": Broken("bounded resources", outside=allowing(NUMBERS["prlimit64"])),
    "one user for all boxes": Broken("neighbours", {"jail.py": {OWN_USER: "else self._own"}}),
    "the reference in every box": Broken(
        "no reference",
        {"jail.py": {'os.chdir("/w")': HANDED_ON}},
    ),
    "bpf": Broken("kernel subsystems", outside=allowing(NUMBERS["bpf"])),
    "open files without end": Broken(
        "bounded resources", {"jail.py": {'resource.RLIMIT_NOFILE: limits["descriptors"],': ""}}
    ),
}


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.parametrize("case", BROKEN)
def test_a_missing_layer_is_found(monkeypatch: Patch, tmp_path: Path, case: str) -> None:
    """The self-test names the missing layer and what was reached."""
    broken = BROKEN[case]
    if broken.canary == "neighbours" and os.geteuid() != 0:
        pytest.skip("not applicable: an ordinary user's boxes share that user")
    broken.outside(monkeypatch)
    only = tuple(canary for canary in CANARIES if canary.name == broken.canary)
    monkeypatch.setattr(selftest, "CANARIES", only)
    layer = examine(BrokenSandbox(tmp_path, broken.edits).start)[-1]
    assert (broken.canary, False, True) == (layer.name, layer.ok, layer.finished)
    assert layer.found.startswith("reached: ")
    assert layer.remedy


@pytest.mark.sandbox
@pytest.mark.skipif(os.geteuid() != 0, reason="not applicable: an ordinary user's boxes share that user")
def test_both_quotas_of_a_shared_user_are_found(monkeypatch: Patch, tmp_path: Path) -> None:
    """Descriptors in transit and memory of pipes are each used up by a neighbour, and each is reported."""
    only = tuple(canary for canary in CANARIES if canary.name == "neighbours")
    monkeypatch.setattr(selftest, "CANARIES", only)
    found = examine(BrokenSandbox(tmp_path, {"jail.py": {OWN_USER: "else self._own"}}).start)[-1].found
    assert "ETOOMANYREFS" in found
    assert "pipes of " in found


@pytest.mark.sandbox
@pytest.mark.parametrize("call", SUBSYSTEMS)
def test_a_filter_that_lets_one_call_pass_is_found(monkeypatch: Patch, call: str) -> None:
    """Each call to a kernel subsystem is tried separately, and reported if it is allowed."""
    allowing(NUMBERS[call])(monkeypatch)
    only = tuple(canary for canary in CANARIES if canary.name == "kernel subsystems")
    monkeypatch.setattr(selftest, "CANARIES", only)
    layer = examine()[-1]
    assert (False, f"reached: {[call]}") == (layer.ok, layer.found)


@pytest.mark.sandbox
def test_a_package_in_students_boxes_is_found(monkeypatch: Patch, tmp_path: Path) -> None:
    """If students' boxes contain the reference solution, the self-test refuses before grading starts."""
    (tmp_path / "solutions").mkdir()
    (tmp_path / "solutions/__init__.py").write_text("ANSWER = 42")
    only = tuple(canary for canary in CANARIES if canary.name == "no reference")
    monkeypatch.setattr(selftest, "CANARIES", only)
    packages = (("reference", tmp_path / "solutions"),)
    assert examine()[-1].ok
    with pytest.raises(SandboxUnavailable, match="no reference: reached"):
        selftest.ensure(start_sandbox, tmp_path / "private", packages=packages)


@pytest.mark.sandbox
def test_a_box_that_cannot_be_confined_is_not_healthy(tmp_path: Path) -> None:
    """If the last step of confinement fails, every canary reports it, and none counts as tried."""
    edits = {"jail.py": {"    linux.load_filter(program)": "    linux.load_filter(b'not a filter')"}}
    layers = examine(BrokenSandbox(tmp_path, edits).start)
    untried = {layer.name for layer in layers if not layer.finished}
    assert {canary.name for canary in tried_here()} == untried
    assert not is_healthy(layers)


@pytest.mark.sandbox
def test_an_unbroken_copy_holds(tmp_path: Path) -> None:
    """An unchanged copy of the sources passes, so the other tests' findings are due to their edits."""
    held = {layer.name for layer in examine(BrokenSandbox(tmp_path, {}).start) if layer.ok}
    assert {canary.name for canary in tried_here()} <= held


@pytest.mark.parametrize("name", [canary.name for canary in CANARIES])
def test_every_canary_has_its_missing_layer(name: str) -> None:
    """Every canary has a test in which it fails."""
    assert name in {broken.canary for broken in BROKEN.values()}
