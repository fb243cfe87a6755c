"""The self-test: which layers of confinement this machine has, and whether they hold.

A box is opened and canary code tries what no student code may do. Anything that succeeds is reported.
"""

from __future__ import annotations

import platform
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from autograder.errors import SandboxError
from autograder.records import Call, Limits, Scenario
from autograder.sandbox.base import Environment
from autograder.sandbox.pool import start_sandbox

if TYPE_CHECKING:
    from autograder.sandbox.namespaces import ZygoteSandbox


class Layer(Struct, frozen=True):
    """One layer of confinement, as found."""

    name: str
    ok: bool
    found: str
    remedy: str = ""
    required: bool = True


CANARIES: tuple[tuple[str, str, str], ...] = (
    (
        "private file system",
        "the root holds only what a notebook needs; /etc/shadow and /home are not there",
        "def canary():\n"
        "    import os\n"
        "    seen = [p for p in ('/etc/shadow', '/proc/1/environ', '/var', '/boot') if os.path.exists(p)]\n"
        "    return seen or None",
    ),
    (
        "read-only mounts",
        "nothing outside the scratch space can be written",
        "def canary():\n"
        "    import os, sysconfig\n"
        "    hit = []\n"
        "    places = ['/', '/usr/lib', '/data', *map(sysconfig.get_path, ('purelib', 'stdlib'))]\n"
        "    for p in places:\n"
        "        try:\n"
        "            open(os.path.join(p, 'canary'), 'w').close(); hit.append(p)\n"
        "        except OSError: pass\n"
        "    return hit or None",
    ),
    (
        "own process namespace",
        "no process outside can be seen or signalled",
        "def canary():\n"
        "    import os\n"
        "    hit = []\n"
        "    for pid in range(2, 300):\n"
        "        try: os.kill(pid, 0); hit.append(pid)\n"
        "        except OSError: pass\n"
        "    return hit or (None if os.getpid() == 1 and os.getppid() == 0 else [os.getpid()])",
    ),
    (
        "no network",
        "neither loopback nor any other address can be reached",
        "def canary():\n"
        "    import socket\n"
        "    try:\n"
        "        socket.create_connection(('127.0.0.1', PORT), timeout=1); return 'connected'\n"
        "    except OSError: return None",
    ),
    (
        "no privileges",
        "no user id, capability or namespace can be gained",
        "def canary():\n"
        "    import ctypes, os\n"
        "    libc = ctypes.CDLL(None, use_errno=True)\n"
        "    hit = []\n"
        "    if libc.unshare(0x10000000) == 0: hit.append('unshare')\n"
        "    if libc.mount(b'none', b'/w', b'tmpfs', 0, None) == 0: hit.append('mount')\n"
        "    try: os.setuid(0); hit.append('setuid')\n"
        "    except OSError: pass\n"
        "    return hit or (None if os.getuid() != 0 else ['uid 0'])",
    ),
    (
        "system call filter",
        "programs cannot be started and other processes cannot be traced",
        "def canary():\n"
        "    import ctypes, os\n"
        "    hit = []\n"
        "    libc = ctypes.CDLL(None, use_errno=True)\n"
        "    if libc.ptrace(0, 0, 0, 0) == 0: hit.append('ptrace')\n"
        "    if hasattr(os, 'memfd_create'):\n"
        "        try: os.memfd_create('x'); hit.append('memfd_create')\n"
        "        except OSError: pass\n"
        "    try: os.execv('/lib64/ld-linux-x86-64.so.2', ['x'])\n"
        "    except PermissionError: pass\n"
        "    except OSError: hit.append('exec is refused for another reason')\n"
        "    return hit or None",
    ),
    (
        "bounded processes",
        "a fork bomb stops at the limit",
        "def canary():\n"
        "    import os, signal\n"
        "    children = []\n"
        "    try:\n"
        "        while len(children) < 500:\n"
        "            pid = os.fork()\n"
        "            if pid == 0:\n"
        "                signal.pause()\n"
        "            children.append(pid)\n"
        "    except OSError: pass\n"
        "    for pid in children: os.kill(pid, 9)\n"
        "    return len(children) if len(children) >= LIMIT else None",
    ),
    (
        "bounded scratch space",
        "writing stops at the limit",
        "def canary():\n"
        "    try:\n"
        "        with open('/tmp/full', 'wb') as f:\n"
        "            for _ in range(64): f.write(bytes(1 << 20))\n"
        "    except OSError: return None\n"
        "    return '64 MB written'",
    ),
)


def examine(make: Callable[[Environment], ZygoteSandbox] = start_sandbox) -> list[Layer]:
    """Start a sandbox, run every canary in it, and say what was found; never raises SandboxError."""
    layers = [Layer("system", platform.system() == "Linux", f"{platform.system()} {platform.release()}")]
    limits = Limits(processes=24, scratch_mb=16, memory_mb=256)
    try:
        sandbox = make(Environment())
    except SandboxError as error:
        return [*layers, Layer("namespaces and mounts", ok=False, found="not available", remedy=str(error))]
    layers.append(Layer("namespaces and mounts", ok=True, found="user, mount, pid, net, ipc, uts, cgroup"))
    layers.append(Layer("bounded memory", ok=True, found=sandbox.memory_bound))
    landlock = f"ABI {sandbox.landlock}" if sandbox.landlock else "not in this kernel"
    remedy = (
        "" if sandbox.landlock else "optional: boot a kernel with lsm=landlock,… for a second file barrier"
    )
    layers.append(Layer("Landlock", bool(sandbox.landlock), landlock, remedy, required=False))
    listener = socket.create_server(("127.0.0.1", 0))
    try:
        port = listener.getsockname()[1]
        layers += [_canary(sandbox, limits, port, canary) for canary in CANARIES]
    finally:
        listener.close()
        sandbox.close()
    return layers


def _canary(sandbox: ZygoteSandbox, limits: Limits, port: int, canary: tuple[str, str, str]) -> Layer:
    """Run one canary in a box of its own; None is what it must return."""
    name, promise, code = canary
    remedy = "do not grade on this machine; report this as a hole"
    try:
        box = sandbox.open(limits)
        try:
            run = box.run_cell(f"PORT, LIMIT = {port}, {limits.processes}\n{code}", seconds=20)
            observed = box.ask([Scenario("canary", (Call("canary"),))], seconds=20)[0][0]
        finally:
            box.close()
    except SandboxError as error:
        return Layer(
            name, ok=False, found=str(error), remedy="see the message; the self-test could not finish"
        )
    if run.error or not observed.ok:
        found = run.error or observed.error or str(observed.ending)
        return Layer(name, ok=False, found=f"the canary failed: {found} {observed.message}", remedy=remedy)
    held = observed.value is None
    return Layer(name, held, promise if held else f"reached: {observed.value}", "" if held else remedy)


def healthy(layers: list[Layer]) -> bool:
    """Whether every required layer holds."""
    return all(layer.ok or not layer.required for layer in layers)
