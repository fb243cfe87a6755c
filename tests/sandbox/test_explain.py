"""Every call that a machine may refuse has its own remedy."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from autograder.core.errors import PreloadMissing, SandboxFault, SandboxUnavailable
from autograder.sandbox.base import Environment
from autograder.sandbox.outside import namespaces
from autograder.sandbox.outside.namespaces import NamespaceSandbox, explain_failure, explain_missing_module
from autograder.sandbox.runtime import get_current_runtime
from tests.sandbox.contract import LIMITS


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        (
            "OSError: [Errno 1] unshare(0x7e020000): Operation not permitted",
            "kernel.unprivileged_userns_clone=1",
        ),
        ("OSError: [Errno 28] unshare(0x10000000): No space left on device", "user.max_user_namespaces"),
        (
            "OSError: [Errno 1] writing uid_map: Operation not permitted",
            "apparmor_restrict_unprivileged_userns=0",
        ),
        ("OSError: [Errno 1] writing setgroups: Permission denied", "User namespaces"),
        ("OSError: [Errno 38] open_tree('/usr/lib'): Function not implemented", "Linux 5.12"),
        ("OSError: [Errno 1] mount_setattr('/usr/lib'): Operation not permitted", "seccomp profile"),
        ("OSError: [Errno 1] move_mount('/mnt/usr/lib'): Operation not permitted", "Linux 5.12"),
        ("OSError: [Errno 1] mount('none', '/', None, ''): Operation not permitted", "CAP_SYS_ADMIN"),
        ("OSError: [Errno 1] pivot_root: Operation not permitted", "Mounting in a private namespace"),
        ("OSError: [Errno 22] seccomp(SET_MODE_FILTER): Invalid argument", "CONFIG_SECCOMP_FILTER"),
        ("ModuleNotFoundError: No module named 'torch'", "A module to preload is not installed"),
        ("PermissionError: [Errno 13] Permission denied: '/opt/x'", "chmod -R o+rX"),
    ],
)
def test_a_failing_call_names_its_remedy(error: str, remedy: str) -> None:
    """The message contains the call and the remedy."""
    message = explain_failure(error)
    assert error in message
    assert remedy in message


def test_an_unknown_failure_is_told_as_it_is() -> None:
    """No remedy is better than a wrong one."""
    assert "the sandbox cannot be built here: odd" == explain_failure("odd")


@pytest.mark.sandbox
def test_a_module_that_is_not_there_is_named(plain_sandbox: NamespaceSandbox) -> None:
    """If a module to preload is not installed, the error says so when the sandbox starts."""
    with pytest.raises(
        PreloadMissing, match=r"preload: the module 'no_such_module' is not found: "
    ) as caught:
        NamespaceSandbox(Environment(preload=("no_such_module",)))
    assert "isolation" not in str(caught.value)


def test_only_a_module_that_is_asked_for_is_the_rubrics_error() -> None:
    """A missing package is the rubric's error, too; a missing import of the module itself is not."""
    assert "did you mean 'numpy'?" in str(explain_missing_module("nunpy", ["json", "nunpy.linalg"]))
    assert explain_missing_module("triton", ["torch"]) is None
    assert explain_missing_module("", ["torch"]) is None


@pytest.mark.sandbox
def test_an_interpreter_that_ends_at_once_is_reported(
    plain_sandbox: NamespaceSandbox, tmp_path: Path
) -> None:
    """The error contains the output, and the start does not hang."""
    broken = msgspec.structs.replace(get_current_runtime(), package_root=str(tmp_path))
    with pytest.raises(SandboxUnavailable, match="autograder"):
        NamespaceSandbox(Environment(), broken)


@pytest.mark.sandbox
def test_a_data_file_that_is_missing_is_named(plain_sandbox: NamespaceSandbox, tmp_path: Path) -> None:
    """The error contains its path."""
    with pytest.raises(SandboxUnavailable, match=r"absent\.txt"):
        NamespaceSandbox(Environment(files=(("a.txt", tmp_path / "absent.txt"),)))


@pytest.mark.sandbox
def test_a_filter_the_kernel_refuses_opens_no_box(
    plain_sandbox: NamespaceSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Confinement fails closed: without the filter no box opens."""
    monkeypatch.setattr(namespaces, "load_shipped_filter", lambda: bytes(64))
    sandbox = NamespaceSandbox(Environment())
    try:
        with pytest.raises(SandboxFault, match="seccomp"):
            sandbox.open(LIMITS)
    finally:
        sandbox.close()
