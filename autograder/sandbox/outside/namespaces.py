"""The real sandbox: a confined zygote that forks one confined box per submission (Linux).

This is the trusted side of every level of isolation, and the level `namespaces`. It starts the zygote as
a fresh program, requests boxes from it, bounds them from outside (deadlines, control groups, output counts)
and talks to them over two plain pipes.
"""

from __future__ import annotations

import base64
import contextlib
import difflib
import fcntl
import importlib.metadata
import json
import os
import secrets
import select
import socket
import stat
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from autograder.core.errors import PreloadMissing, SandboxFault, SandboxUnavailable
from autograder.core.limits import KERNEL_CPU_FACTOR
from autograder.core.records import Limits
from autograder.sandbox.base import Environment
from autograder.sandbox.inside.seccomp import load_shipped_filter
from autograder.sandbox.levels import Isolation
from autograder.sandbox.outside import cgroups
from autograder.sandbox.outside.box import NamespaceBox
from autograder.sandbox.outside.watch import CrowdingMonitor, Watch
from autograder.sandbox.runtime import Runtime, get_current_runtime, pack_packages, refuse_other_systems

START_SECONDS = 120.0
# 60578-61183 is the one range that neither distributions nor systemd assign; small enough for
# containers that map only 65,536 ids.
FIRST_UID, LAST_UID = 60_578, 61_183
CLAIMS = Path("/run/autograder")
"""Lock files of the user ids in use."""
CONTROL_MESSAGE = 1 << 17
_SPARE_PROCESSES = 8
"""Margin of a box's resource limit above its group's bound: the group must refuse first because it counts."""


class ZygoteSandbox:
    """One zygote. Opens boxes for one environment; see `autograder.sandbox.base.Sandbox`."""

    isolation: str

    def __init__(self, environment: Environment, runtime: Runtime | None = None) -> None:
        """Start the zygote and wait until it is ready.

        Args:
            environment: contents of its boxes.
            runtime: the Python installation that it runs; by default the one that runs the grader.

        Raises:
            SandboxUnavailable: not Linux, or a layer of confinement is missing; names it and the remedy.
            PreloadMissing: the environment preloads a module that is not installed.
            SandboxFault: it could not be started. Whatever is raised, nothing is left behind.
        """
        refuse_other_systems()
        self._packages = pack_packages(environment.packages)
        self._lock = threading.Lock()
        self._runtime = runtime or get_current_runtime()
        with contextlib.ExitStack() as held:  # released in the opposite order
            try:
                self._start_zygote(held)
                self._configure(environment)
            except OSError as error:
                raise SandboxFault(f"the zygote could not be started: {error}") from error
            self._held = held.pop_all()

    def _start_zygote(self, held: contextlib.ExitStack) -> None:
        """Start the program, and register every resource it needs for release with ``held``."""
        # Each resource is registered as soon as it exists, so that a failure in a later step releases it.
        self._identity = self._claim_identity()
        if self._identity:
            held.callback(self._identity.release_user)
        self._cgroups = cgroups.find_driver()
        if self._cgroups:
            held.callback(self._cgroups.close)
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        held.callback(self._control.close)
        with theirs:
            self._process = _start_program(self._runtime, theirs)
        held.callback(self._end_program)
        self._crowding = None
        if self.own_users and self._identity is None:  # the boxes share the grader's user
            self._crowding = CrowdingMonitor(Limits().descriptors)
            held.callback(self._crowding.close)

    own_users = True
    """Whether, if started as root, the zygote and each box have a user id that nothing else uses."""

    def _claim_identity(self) -> Identity | None:
        """Claim an unused user id if we are root; otherwise boxes run as the user who grades."""
        return Identity() if self.own_users and os.geteuid() == 0 else None

    def _build_level_config(self) -> dict[str, Any]:
        """Return additional configuration for the zygote of this level."""
        return {}

    def _configure(self, environment: Environment) -> None:
        for _, path in environment.files:
            if path.exists() and not (path.is_file() or path.is_dir()):  # reading a pipe would block
                raise SandboxUnavailable(
                    f"{path}: not a regular file or a folder; boxes are given nothing else"
                )
        config = {
            "isolation": self.isolation,
            "sys_path": self._runtime.sys_path,
            "readable": self._runtime.readable,
            "masked": self._runtime.masked,
            "preload": environment.preload,
            "tests": environment.tests,
            "files": [(name, str(path)) for name, path in environment.files],
            "uid": self._identity.uid if self._identity else None,
            "uids": (FIRST_UID, LAST_UID),
            "filter": base64.b64encode(load_shipped_filter()).decode(),
            **self._build_level_config(),
        }
        self._control.settimeout(START_SECONDS)
        try:
            self._control.send(json.dumps(config).encode())
            report = json.loads(self._control.recv(CONTROL_MESSAGE) or b"{}")
        except TimeoutError:
            raise SandboxFault(f"the zygote did not start within {START_SECONDS:.0f} seconds") from None
        except (OSError, ValueError):
            report = {}
        self._control.settimeout(None)
        if not report.get("ready"):
            said = report.get("error") or self._read_last_words()
            if not said:  # a missing layer is named; silence means it was killed
                raise SandboxFault("the zygote was ended while it started")
            missing = explain_missing_module(str(report.get("missing", "")), environment.preload)
            raise missing or SandboxUnavailable(explain_failure(said))
        self.landlock = int(report["landlock"])

    @property
    def memory_bound(self) -> str:
        """The bound on a box's memory and processes: a version of control groups, or the watchdog."""
        return self._cgroups.name if self._cgroups else "address space limit and watchdog"

    def open(
        self, limits: Limits, *, seed: int = 0, files: Mapping[str, bytes] | None = None
    ) -> NamespaceBox:
        """Open a fresh box; see `autograder.sandbox.base.Sandbox.open`."""
        box = self._open_box(limits, seed)
        if every := {**(files or {}), **self._packages}:
            try:
                box.put_files(every)
            except SandboxFault:
                box.close()
                raise
        return box

    def _open_box(self, limits: Limits, seed: int) -> NamespaceBox:
        if self._control.fileno() < 0:
            raise SandboxFault("the sandbox is closed")
        bounds = msgspec.to_builtins(limits)
        # The kernel counts ticks and may end a box early; the exact limit is enforced from outside.
        bounds["processor_seconds"] *= KERNEL_CPU_FACTOR
        with contextlib.ExitStack() as held:  # released if the box is not opened
            group = None
            try:
                identity = self._claim_identity()
                if identity:
                    held.callback(identity.release_user)
                if self._cgroups:
                    group = self._cgroups.create_group(
                        memory_bytes=limits.memory_mb << 20, processes=limits.processes
                    )
            except SandboxUnavailable as error:
                raise SandboxFault(f"there is no user for a box: {error}") from error
            except OSError as error:
                raise SandboxFault(f"no control group could be made: {error}") from error
            if group:
                held.callback(group.remove)
                bounds["processes"] += _SPARE_PROCESSES
            if self._crowding:
                self._crowding.limit_descriptors(limits.descriptors)
            request = {
                "limits": bounds,
                "seed": seed,
                "bound_address_space": group is None,
                "uid": identity.uid if identity else None,
            }
            watch = Watch(limits, group, crowding=self._crowding)
            release_user = identity.release_user if identity else lambda: None
            box = NamespaceBox(self._send, request, limits, watch, release_user)
            held.pop_all()  # from here on they are the box's
        return box

    def _send(self, request: dict[str, Any], descriptors: list[int]) -> None:
        try:
            with self._lock:
                socket.send_fds(self._control, [json.dumps(request).encode()], descriptors)
        except OSError as error:
            raise SandboxFault(f"the zygote is gone: {error}") from error

    @property
    def pid(self) -> int:
        """The process that was started; the zygote is its only child."""
        return self._process.pid

    def is_alive(self) -> bool:
        """Return whether the zygote runs: its end of the control socket closes before its parent dies."""
        if self._process.poll() is not None or self._control.fileno() < 0:
            return False
        ended = select.poll()
        ended.register(self._control, 0)  # a hang-up is always reported
        return not ended.poll(0)

    def _read_last_words(self) -> str:
        """Return the last text that the program wrote before it ended; empty if it hangs."""
        try:
            _, text = self._process.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            return ""
        return text.decode(errors="replace")[-2000:]

    def _end_program(self) -> None:
        """End the program and all of its boxes."""
        with contextlib.suppress(OSError):
            # The zygote ends itself and its boxes when its socket closes.
            self._control.shutdown(socket.SHUT_RDWR)
        self._control.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stderr:
            self._process.stderr.close()

    def close(self) -> None:
        """End the zygote, and with it every box; see `autograder.sandbox.base.Sandbox.close`."""
        self._held.close()


class NamespaceSandbox(ZygoteSandbox):
    """Full isolation: namespaces of every kind, a private file system, and the protection of every level."""

    isolation = Isolation.NAMESPACES


class BareSandbox(ZygoteSandbox):
    """The level `none`: forked processes, each in its own folder, with limits; no protection.

    For trying out notebooks; see `autograder.sandbox.inside.jail.BareConfinement`.
    """

    isolation = Isolation.NONE
    own_users = False

    def _start_zygote(self, held: contextlib.ExitStack) -> None:
        """Make the folder of all boxes, which is removed after the zygote has ended."""
        folder = tempfile.TemporaryDirectory(prefix="autograder-boxes-", ignore_cleanup_errors=True)
        self._folder = held.enter_context(folder)
        super()._start_zygote(held)

    def _build_level_config(self) -> dict[str, Any]:
        return {"folder": self._folder}


ENVIRONMENT = {
    "LANG": "C.UTF-8",
    "PYTHONHASHSEED": "0",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    # Otherwise each thread reserves 64 MB of addresses, and a box bounded by these has room for seven.
    "MALLOC_ARENA_MAX": "2",
    # Puts the memory of torch's import into huge pages from the start, if the system lets programs choose.
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
}
"""The environment variables of a zygote."""


def _start_program(runtime: Runtime, control: socket.socket) -> subprocess.Popen[bytes]:
    """Start the program that becomes a zygote, with its end of the control socket.

    The package's folder is passed as a descriptor, so that no name in its memory reveals to student code
    where the grader is installed.
    """
    package = os.open(runtime.package_root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    root = f"/proc/self/fd/{package}"
    # Imports nothing from user, site or current folders (-s -S -P), and writes no bytecode (-B).
    program = [runtime.executable, "-s", "-S", "-B", "-P", f"{root}/autograder/sandbox/inside/zygote.py"]
    try:
        return subprocess.Popen(
            [*program, str(control.fileno()), root],
            pass_fds=[control.fileno(), package],
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd="/",
        )
    finally:
        os.close(package)


class Identity:
    """A user id that no other zygote or box on this machine uses, held until released or until we die."""

    def __init__(self) -> None:
        """Claim a random free id: one that was just released may still be charged for its leftovers.

        Raises:
            SandboxUnavailable: all of them are taken, or ids cannot be claimed at all.
        """
        begin = secrets.randbelow(LAST_UID - FIRST_UID + 1)
        with _open_claims() as claims:
            for uid in (*range(FIRST_UID + begin, LAST_UID + 1), *range(FIRST_UID, FIRST_UID + begin)):
                lock = _lock_claim(claims, uid)
                if lock is not None:
                    self.uid, self._lock = uid, lock
                    return
        raise SandboxUnavailable(
            f"all user ids from {FIRST_UID} to {LAST_UID} are taken; end other graders first"
        )

    def release_user(self) -> None:
        """Release the id; the file stays, because removing it could remove the lock of another process."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


@contextlib.contextmanager
def _open_claims() -> Iterator[int]:
    """Open the folder of the lock files, which only root can enter.

    Names that any user may claim, such as abstract sockets or files below /tmp, would let any user of the
    machine take all ids and stop grading.

    Raises:
        SandboxUnavailable: it cannot be made, or belongs to another user.
    """
    try:
        CLAIMS.mkdir(mode=0o700, exist_ok=True)
        claims = os.open(CLAIMS, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise SandboxUnavailable(
            f"{CLAIMS}: the folder for claims of user ids cannot be used: {error.strerror}; root must be "
            f"able to write to {CLAIMS.parent} (in a container mount a tmpfs there)"
        ) from error
    try:
        # Checked by descriptor, so that the folder cannot be exchanged in between.
        status = os.fstat(claims)
        if status.st_uid != 0 or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise SandboxUnavailable(
                f"{CLAIMS}: expected a folder that only root can write to, found owner {status.st_uid} and "
                f"mode {stat.S_IMODE(status.st_mode):o}; remove it, and it is made anew"
            )
        yield claims
    finally:
        os.close(claims)


def _lock_claim(claims: int, uid: int) -> int | None:
    """Lock the file of a user id; None if it is held. The kernel unlocks it when its holder dies.

    Raises:
        SandboxUnavailable: the file cannot be opened or locked.
    """
    lock = -1
    try:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        lock = os.open(f"uid-{uid}", flags, 0o600, dir_fd=claims)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if lock >= 0:
            os.close(lock)
        if isinstance(error, BlockingIOError):
            return None
        raise SandboxUnavailable(f"{CLAIMS}/uid-{uid}: cannot be locked: {error.strerror}") from error
    return lock


# The first match counts, so "mount_setattr" must come before "mount", which it contains.
REMEDIES = (
    (
        ("unshare", "uid_map", "setgroups", "gid_map"),
        "User namespaces are switched off or restricted. Remedies: set kernel.unprivileged_userns_clone=1 "
        "and user.max_user_namespaces=10000; on Ubuntu 24.04 or later set "
        "kernel.apparmor_restrict_unprivileged_userns=0 or give this interpreter an AppArmor profile; in a "
        "container allow unshare and mount (Docker's --security-opt seccomp=unconfined --security-opt "
        "apparmor=unconfined), and run as an ordinary user or as root with --cap-add SYS_ADMIN; see "
        "docs/image.md.",
    ),
    (
        ("open_tree", "mount_setattr", "move_mount"),
        "The mount interface of Linux 5.12 or later is needed. Remedies: a newer kernel, or in a container a "
        "seccomp profile that allows these calls.",
    ),
    (
        ("mount", "pivot_root", "umount2"),
        "Mounting in a private namespace is refused. Remedies: in a container add an AppArmor profile that "
        "allows mounts, and as root CAP_SYS_ADMIN (docs/image.md), or run outside of the "
        "container.",
    ),
    (("seccomp",), "The kernel was built without CONFIG_SECCOMP_FILTER. Remedy: another kernel."),
    (
        ("ModuleNotFoundError", "ImportError", "Permission denied", "PermissionError"),
        "A module to preload is not installed, or not readable for other users (chmod -R o+rX its folder).",
    ),
)


def explain_missing_module(module: str, preload: Sequence[str]) -> PreloadMissing | None:
    """Explain a failed import if the missing module, or its package, is to be preloaded; otherwise None."""
    requested = next((name for name in preload if name == module or name.startswith(f"{module}.")), None)
    if requested is None or not module:
        return None
    close = difflib.get_close_matches(module, importlib.metadata.packages_distributions(), n=1)
    advice = f"did you mean {close[0]!r}? Otherwise" if close else "correct its name,"
    return PreloadMissing(
        f"preload: the module {requested!r} is not found: {advice} install {module!r} beside "
        "autograder, where "
        "boxes can read it, or take it out of the list"
    )


def explain_failure(error: str) -> str:
    """Return the failing call and its remedy."""
    for calls, remedy in REMEDIES:
        if any(call in error for call in calls):
            return f"the sandbox cannot be built here: {error}. {remedy}"
    return f"the sandbox cannot be built here: {error}"
