"""The self-test: which layers of confinement this machine has, and whether they hold.

Boxes are opened and canary code tries everything that student code must not do (canaries.py). Any success is
reported, and so is a canary that could not be tried: a layer that is not known to hold does not hold.
"""

from __future__ import annotations

import contextlib
import os
import platform
import secrets
import socket
from collections.abc import Callable, Iterator

from msgspec import Struct

from autograder.core.errors import SandboxError, SandboxFault
from autograder.core.records import Call
from autograder.sandbox.base import Box, Environment, Sandbox
from autograder.sandbox.pool import start_sandbox
from autograder.sandbox.proof.canaries import CANARIES, LIMITS, Canary, build_settings

Start = Callable[[Environment], Sandbox]

HOLE = "do not grade on this machine; report this as a hole"
UNFINISHED = "see the message; the self-test could not finish"
SHARED = "boxes share your user: what the kernel grants to a user, one can use up for the others"
ALONE = "optional: grade as root, or with --workers 1 what the note shared-user names"
_EMPTY = Environment()


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
        finished = not isinstance(error, SandboxFault)
        missing = Layer("namespaces and mounts", ok=False, found="not available", remedy=str(error))
        return [*layers, _mark_finished(missing, finished=finished)]
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


def _mark_finished(layer: Layer, *, finished: bool) -> Layer:
    return Layer(layer.name, layer.ok, layer.found, layer.remedy, layer.required, finished)
