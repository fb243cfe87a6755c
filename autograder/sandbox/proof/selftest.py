"""The self-test: which layers of confinement this machine has, and whether they hold.

Boxes are opened and canary code tries everything that student code must not do (canaries.py). Any success is
reported, and so is a canary that could not be tried: a layer that is not known to hold does not hold.

Before the first student's code it is run once per boot and configuration, then remembered. Only a proof that
every layer held is kept, in the course's private folder. It is valid as long as everything that the sandbox
depends on is unchanged (`hash_sandbox_basis`); a file that others could have written is ignored.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import secrets
import socket
import stat
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from autograder.core import atomic
from autograder.core.errors import SandboxError, SandboxFault, SandboxUnavailable
from autograder.core.records import Call
from autograder.sandbox.base import Box, Environment, Sandbox
from autograder.sandbox.pool import start_sandbox
from autograder.sandbox.proof.canaries import CANARIES, LIMITS, Canary, build_settings
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
    now = hash_sandbox_basis(isolation, environment)
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
        layers[:] = examine(start, environment)
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
        counts = proof.standing == hash_sandbox_basis(isolation)
    except OSError:
        counts = False
    validity = (
        "and it counts" if counts else "of another boot or configuration; the next grading makes a new one"
    )
    return f"{len(proof.canaries)} layers held at {when}, {validity}"


def hash_sandbox_basis(isolation: str, environment: Environment = _EMPTY) -> str:
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
        *_read_rights(),
        _describe_accounting(),
        _hash_program(),
    ]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _read_rights() -> list[str]:
    lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
    return [line for line in lines if line.partition(":")[0] in _OF_PROCESS]


def _describe_accounting() -> str:
    """Return what decides which control groups are used; to find a driver would take longer than the rest."""
    own_groups = Path("/proc/self/cgroup").read_text(encoding="utf-8", errors="replace")
    mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    return own_groups + "\n".join(line for line in mounts if " - cgroup" in line)


def _hash_program() -> str:
    """Return the SHA-256 of the sandbox's own source files and filters."""
    folder = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted((*folder.rglob("*.py"), *folder.rglob("filters/*.bpf"))):
        name = str(path.relative_to(folder))
        digest.update(name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


Start = Callable[[Environment], Sandbox]

HOLE = "do not grade on this machine; report this as a hole"
UNFINISHED = "see the message; the self-test could not finish"
SHARED = "boxes share your user: what the kernel grants to a user, one can use up for the others"
ALONE = "optional: grade as root, or with --workers 1 what the note shared-user names"


class Layer(Struct, frozen=True):
    """One layer of confinement, with the finding about it."""

    name: str
    ok: bool
    found: str
    remedy: str = ""
    required: bool = True
    finished: bool = True
    """False if our own side failed, so that trying again is worthwhile."""


def examine(make: Start = start_sandbox, environment: Environment = _EMPTY) -> list[Layer]:
    """Start a sandbox, run every canary of its level, and return the findings; raises no SandboxError.

    Args:
        make: starts a sandbox.
        environment: its contents.
    """
    layers = [Layer("system", platform.system() == "Linux", f"{platform.system()} {platform.release()}")]
    try:
        sandbox = make(environment)
    except SandboxError as error:
        name, finished = "namespaces and mounts", not isinstance(error, SandboxFault)
        missing = Layer(name, ok=False, found="not available", remedy=str(error), finished=finished)
        return [*layers, missing]
    try:
        layers += _describe_equipment(sandbox)
        with _open_listeners(sandbox) as names:
            for canary in (candidate for candidate in CANARIES if sandbox.isolation in candidate.levels):
                if canary.own_users and os.geteuid() != 0:
                    layers.append(Layer(canary.name, ok=False, found=SHARED, remedy=ALONE, required=False))
                    continue
                layers.append(_try_once(sandbox, names, canary))
                if not layers[-1].finished and not sandbox.is_alive():
                    break  # the others would fail in the same way
    finally:
        sandbox.close()
    return layers


def is_healthy(layers: list[Layer]) -> bool:
    """Return whether every required layer holds."""
    return all(layer.ok or not layer.required for layer in layers)


def _describe_equipment(sandbox: Sandbox) -> list[Layer]:
    """List the layers that the sandbox reports about itself; only full isolation has all of them."""
    layers = []
    if sandbox.isolation == "namespaces":
        description = "user, mount, pid, net, ipc, uts, cgroup"
        layers.append(Layer("namespaces and mounts", ok=True, found=description))
    memory_bound = getattr(sandbox, "memory_bound", "")
    if memory_bound:
        layers.append(Layer("memory and process accounting", ok=True, found=memory_bound))
    version = getattr(sandbox, "landlock", None)
    if version is not None:
        description = f"ABI {version} of the kernel" if version else "not in this kernel"
        remedy = "" if version else "optional: boot a kernel with lsm=landlock,… for a second file barrier"
        layers.append(Layer("Landlock", bool(version), description, remedy, required=False))
    return layers


@contextlib.contextmanager
def _open_listeners(sandbox: Sandbox) -> Iterator[str]:
    """Open sockets on this side that no box may reach; yield the source code that names them."""
    name = f"autograder-canary-{secrets.token_hex(8)}"
    with socket.create_server(("127.0.0.1", 0)) as network, socket.socket(socket.AF_UNIX) as local:
        local.bind(f"\0{name}")
        local.listen()
        landlock = int(getattr(sandbox, "landlock", 0))
        yield build_settings(network.getsockname()[1], name, landlock)


def _try_once(sandbox: Sandbox, names: str, canary: Canary) -> Layer:
    try:
        return _run_canary(sandbox, names, canary)
    except SandboxError as error:
        return Layer(canary.name, ok=False, found=str(error), remedy=UNFINISHED, finished=False)


def _run_canary(sandbox: Sandbox, names: str, canary: Canary) -> Layer:
    """Run one canary in its own box; it must return None or end the box in one of the ways it names."""
    with contextlib.ExitStack() as boxes:
        # The neighbour stays open until the canary has run.
        if canary.neighbour:
            neighbour_box = _open_box(sandbox, boxes)
            left = neighbour_box.run_cell(names + canary.neighbour, seconds=20)
            if left.error:
                return Layer(canary.name, ok=False, found=f"the neighbour failed: {left.error}", remedy=HOLE)
        box = _open_box(sandbox, boxes)
        run = box.run_cell(names + canary.code, seconds=20)
        observed = box.ask([Call("canary")], seconds=canary.seconds)[0]
    if not run.error and observed.ending is not None and observed.ending in canary.ends:
        return Layer(canary.name, ok=True, found=canary.promise)
    if run.error or not observed.ok:
        problem = run.error or observed.error or str(observed.ending)
        text = f"the canary failed: {problem} {observed.message}"
        return Layer(canary.name, ok=False, found=text, remedy=HOLE)
    if observed.value is not None:
        return Layer(canary.name, ok=False, found=f"reached: {str(observed.value)[:500]}", remedy=HOLE)
    return Layer(canary.name, ok=True, found=canary.promise)


def _open_box(sandbox: Sandbox, boxes: contextlib.ExitStack) -> Box:
    box = sandbox.open(LIMITS)
    boxes.callback(box.close)
    return box
