"""The table of system calls and the filters compiled from it."""

from __future__ import annotations

import os
import platform
from collections import Counter

import pytest

from autograder.core.errors import SandboxUnavailable
from autograder.sandbox.inside import seccomp

GROUPS = (*seccomp.ALLOWED, *seccomp.REFUSED)
BY_ARGUMENT = {"clone", "socket", "fcntl", "prctl", "ioctl", "setsockopt", "prlimit64", "setrlimit"}


@pytest.mark.parametrize("machine", seccomp.MACHINES)
def test_the_shipped_filter_is_what_the_table_compiles_to(machine: str) -> None:
    """Compiling again gives the same bytes."""
    try:
        import pyseccomp  # noqa: F401
    except (ImportError, RuntimeError, OSError) as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"libseccomp is not installed, so the filter cannot be compiled again: {error}")
    assert (seccomp.FILTERS / f"{machine}.bpf").read_bytes() == seccomp.compile_filter(machine)


@pytest.mark.parametrize("machine", seccomp.MACHINES)
def test_a_shipped_filter_is_a_program_of_the_kernels(machine: str) -> None:
    """A filter consists of eight-byte instructions, at least one per group, within the kernel's limit."""
    program = (seccomp.FILTERS / f"{machine}.bpf").read_bytes()
    assert 0 == len(program) % 8
    assert len(GROUPS) < len(program) // 8 <= 4096


def test_no_call_stands_twice() -> None:
    """A call is either allowed, refused, or allowed for some arguments, and listed once."""
    names = [name for _, text in GROUPS for name in text.split()]
    assert [] == [name for name, count in Counter([*names, *BY_ARGUMENT]).items() if count > 1]


def test_every_group_has_a_reason_of_its_own() -> None:
    """The table gives a reason for each group."""
    reasons = [reason for reason, _ in GROUPS]
    assert len(reasons) == len(set(reasons))
    assert all(reason.strip() for reason in reasons)


@pytest.mark.parametrize(
    "name",
    [
        "execve",
        "execveat",
        "ptrace",
        "mount",
        "unshare",
        "setns",
        "bpf",
        "keyctl",
        "io_uring_setup",
        "memfd_create",
    ],
)
def test_the_doors_are_refused_by_name(name: str) -> None:
    """The most dangerous calls are listed as refused, and not merely missing."""
    assert name in {call for _, text in seccomp.REFUSED for call in text.split()}


@pytest.mark.parametrize(
    "name", ["clone3", "fchmodat2", "setxattr", "seccomp", "landlock_restrict_self", "mseal"]
)
def test_what_is_not_named_does_not_exist(name: str) -> None:
    """The default applies to them, so that libraries fall back."""
    assert name not in {call for _, text in GROUPS for call in text.split()}


def test_an_unknown_architecture_says_which_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a filter there is no grading; the error lists the known architectures."""
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    with pytest.raises(SandboxUnavailable, match="riscv64; supported are x86_64, aarch64"):
        seccomp.load_shipped_filter()
