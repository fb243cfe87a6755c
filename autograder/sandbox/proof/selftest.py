"""The self-test before the first student's code: run once per boot and configuration, then remembered.

Only a proof that every layer held is kept, in the course's private folder. It is valid as long as everything
that the sandbox depends on is unchanged (`compute_standing`); a file that others could have written is
ignored.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import stat
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from autograder.core import atomic
from autograder.core.errors import SandboxFault, SandboxUnavailable
from autograder.sandbox.base import Environment, Sandbox
from autograder.sandbox.proof import doctor
from autograder.sandbox.proof.doctor import Layer, Start
from autograder.sandbox.retry import retry_infrastructure
from autograder.sandbox.runtime import refuse_other_systems

FILE_NAME = "selftest.json"
MOST_BYTES = 1 << 16
MOST_NAMED = 3
_EMPTY = Environment()
_OF_PROCESS = ("CapEff", "CapBnd", "NoNewPrivs", "Seccomp", "Seccomp_filters")


class Proof(Struct, frozen=True, forbid_unknown_fields=True):
    """The stored result of a self-test in which every layer held."""

    standing: str
    tested_at: float
    """Seconds since the epoch."""
    canaries: tuple[str, ...]


def ensure(
    start: Start,
    private: Path,
    *,
    isolation: str = "namespaces",
    packages: Sequence[tuple[str, Path]] = (),
) -> Proof:
    """Prove that the sandbox holds, or that this was proven under the same circumstances.

    Args:
        start: starts the sandbox to be tested, in the same way as those that grade.
        private: the course's private folder, where the proof is kept.
        isolation: the level of the sandboxes that ``start`` returns.
        packages: those that students' boxes have, by their environments; there must be none.

    Raises:
        SandboxUnavailable: a canary reached something, or the self-test could not be finished; names the
            layer, the finding and the remedy.
    """
    refuse_other_systems()
    environment = Environment(packages=tuple(packages))
    now = compute_standing(isolation, environment)
    last = read_last_proof(private)
    if last is not None and last.standing == now:
        return last
    layers = _test_layers(_require_isolation(start, isolation), environment)
    _refuse_missing(layers)
    proof = Proof(now, time.time(), tuple(layer.name for layer in layers if layer.ok))
    with contextlib.suppress(OSError):  # if it cannot be stored, the next run tests again
        private.mkdir(mode=0o700, parents=True, exist_ok=True)
        atomic.write_bytes(private / FILE_NAME, msgspec.json.encode(proof), mode=0o600)
    return proof


def _test_layers(start: Start, environment: Environment) -> list[Layer]:
    """Run the tests, and repeat unfinished ones: a killed process proves nothing about the machine."""
    layers: list[Layer] = []

    def inspect_layers() -> None:
        layers[:] = doctor.examine(start, environment)
        holes = [layer for layer in layers if layer.required and layer.finished and not layer.ok]
        unfinished = [layer.name for layer in layers if not layer.finished]
        if unfinished and not holes:
            raise SandboxFault(f"not finished: {', '.join(unfinished)}")

    with contextlib.suppress(SandboxFault):  # the unfinished layers are in the list, and refused later
        retry_infrastructure(inspect_layers)
    return layers


def _require_isolation(start: Start, isolation: str) -> Start:
    """Wrap ``start`` to refuse other levels: a weaker level proves nothing about a stronger one."""

    def start_checked(environment: Environment) -> Sandbox:
        sandbox = start(environment)
        if sandbox.isolation != isolation:
            sandbox.close()
            raise SandboxUnavailable(f"expected isolation {isolation!r}, got {sandbox.isolation!r}")
        return sandbox

    return start_checked


def _refuse_missing(layers: list[Layer]) -> None:
    missing = [layer for layer in layers if layer.required and not layer.ok]
    if missing:
        summary = "; ".join(f"{layer.name}: {layer.found}. {layer.remedy}" for layer in missing[:MOST_NAMED])
        summary += f"; and {len(missing) - MOST_NAMED} more" if len(missing) > MOST_NAMED else ""
        raise SandboxUnavailable(
            f"the self-test of the sandbox failed, and nothing was graded. {summary}. "
            "All layers: autograder doctor"
        )


def read_last_proof(private: Path) -> Proof | None:
    """Read the stored proof; None if there is none, or if others could have written it."""
    try:
        # If others can write to the folder, they can place a proof in it.
        owned = stat.S_IMODE(private.lstat().st_mode) & 0o022 == 0 and private.lstat().st_uid == os.geteuid()
        if not owned or not stat.S_ISDIR(private.lstat().st_mode):
            return None
        # Opened without following links or blocking, then checked by descriptor, so that no race is possible.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with os.fdopen(os.open(private / FILE_NAME, flags), "rb") as file:
            status = os.fstat(file.fileno())
            trusted = stat.S_ISREG(status.st_mode) and status.st_nlink == 1
            if not trusted or status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o077:
                return None
            return msgspec.json.decode(file.read(MOST_BYTES), type=Proof)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None


def describe_last_proof(private: Path, isolation: str = "namespaces") -> str:
    """Describe the result of the last self-test."""
    proof = read_last_proof(private) if platform.system() == "Linux" else None
    if proof is None:
        return "none is remembered; the next grading makes one"
    when = datetime.fromtimestamp(proof.tested_at, tz=UTC).isoformat(sep=" ", timespec="seconds")
    try:
        counts = proof.standing == compute_standing(isolation)
    except OSError:
        counts = False
    validity = (
        "and it counts" if counts else "of another boot or configuration; the next grading makes a new one"
    )
    return f"{len(proof.canaries)} layers held at {when}, {validity}"


def compute_standing(isolation: str, environment: Environment = _EMPTY) -> str:
    """Return a digest of everything the sandbox depends on: boot, kernel, rights, interpreter, our code."""
    parts = [
        Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii"),
        platform.release(),
        platform.version(),
        platform.machine(),
        sys.version,
        sys.executable,
        sys.prefix,
        isolation,
        *(f"{name} {path}" for name, path in environment.packages),
        f"{os.getuid()} {os.geteuid()} {os.getgid()}",
        *(f"{name} {Path('/proc/self/ns', name).readlink()}" for name in ("user", "mnt", "pid", "net")),
        *_rights(),
        _accounting(),
        _program(),
    ]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _rights() -> list[str]:
    lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
    return [line for line in lines if line.partition(":")[0] in _OF_PROCESS]


def _accounting() -> str:
    """Return what decides which control groups are used; to find a driver would take longer than the rest."""
    own_groups = Path("/proc/self/cgroup").read_text(encoding="utf-8", errors="replace")
    mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    return own_groups + "\n".join(line for line in mounts if " - cgroup" in line)


def _program() -> str:
    """Return the SHA-256 of the sandbox's own source files and filters."""
    folder = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted((*folder.rglob("*.py"), *folder.rglob("filters/*.bpf"))):
        name = str(path.relative_to(folder))
        digest.update(name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
