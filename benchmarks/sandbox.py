"""Cost of the sandbox: `python benchmarks/sandbox.py [--json]`; compared with a bare fork in the same run.

A trivial submission opens a new box, runs the cells below, and closes the box. The bare fork is a process
with the same modules and the same shell that forks, runs the same cells and exits: the cost of a grader
without isolation; once as it is, and once with its memory gathered into huge pages like a zygote's. All are
measured in turns. With --json the last line is one JSON object.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from peers_tools import list_descendants, read_memory_kb

from autograder.core.records import Call, Limits, Tensor
from autograder.sandbox.base import Environment
from autograder.sandbox.outside.box import NamespaceBox
from autograder.sandbox.outside.namespaces import NamespaceSandbox

PRELOAD = ("numpy", "torch", "torch._dynamo")
CELLS = ("import torch", "def double(x):\n    return 2 * x", "total = double(21)\ntotal")
IDENTITY = "import torch\nbig = torch.zeros({numbers})\ndef take(x): pass\ndef give(): return big"
MEGABYTES = 32
BOXES = 16
TRAINING = """
import torch
from torch import nn
model = nn.Sequential(nn.Linear(64, 256), nn.TransformerEncoderLayer(256, 4, batch_first=True))
steps = torch.optim.Adam(model.parameters())
for _ in range(3):
    model(torch.randn(2, 5, 64)).sum().backward()
    steps.step()
"""
TICK_MS = 1000 / os.sysconf("SC_CLK_TCK")

FORKING = """
import gc, importlib, os, sys, time
sys.path.insert(0, sys.argv[1])
for name in {preload!r}:
    importlib.import_module(name)
import torch, torch._dynamo
from autograder.sandbox.inside import jail, linux
from autograder.sandbox.inside.shell import make_shell
torch.set_num_threads(1)
shell = make_shell()
gc.collect(); gc.freeze()
if sys.argv[2] == 'gathered':
    linux.gather_huge_pages(jail.open_proc())
print('ready', flush=True)
for line in sys.stdin:
    started = time.perf_counter()
    pid = os.fork()
    if pid == 0:
        for cell in {cells!r}:
            shell.run_cell(cell, store_history=True)
        os._exit(0)
    os.waitpid(pid, 0)
    print(time.perf_counter() - started, flush=True)
"""
PARTS = {
    "pipes and control group": "_connect",
    "fork and namespaces": "_await_fork",
    "confinement": "_await_ready",
    "cells": "run_cell",
    "kill, exit and collecting": "_read_final_report",
}


class BareFork:
    """A process with the same modules and shell as a zygote, which forks for the cells and waits."""

    def __init__(self, pages: str) -> None:
        root = str(Path(__file__).resolve().parents[1])
        program = FORKING.format(preload=PRELOAD, cells=CELLS)
        self._process = subprocess.Popen(
            [sys.executable, "-c", program, root, pages],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdin
        assert self._process.stdout
        self._asks, self._answers = self._process.stdin, self._process.stdout
        self._answers.readline()

    def measure_submission(self) -> float:
        """Return the seconds of one submission."""
        self._asks.write("\n")
        self._asks.flush()
        return float(self._answers.readline())

    def close(self) -> None:
        """End the process."""
        self._asks.close()
        self._process.wait()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    sandbox = NamespaceSandbox(Environment(preload=PRELOAD))
    figures: dict[str, float | str] = {}
    try:
        figures |= (
            measure_trivial(sandbox, options.rounds)
            | measure_idle(sandbox)
            | measure_calls(sandbox)
            | measure_tensors(sandbox)
        )
        figures |= measure_together(sandbox)
        part_times = measure_parts(sandbox, options.rounds)
    finally:
        sandbox.close()
    figures["memory_bound"] = sandbox.memory_bound
    for name, value in figures.items():
        print(f"{name:28} {value}")
    print("where the time of a trivial submission goes, in milliseconds (means):")
    for name, value in part_times.items():
        print(f"  {name:26} {value}")
    if options.json:
        print(json.dumps({**figures, "parts_ms": part_times}))


def measure_trivial(sandbox: NamespaceSandbox, rounds: int) -> dict[str, float]:
    """Measure opening, a whole trivial submission, its processor time, and the same with a bare fork."""
    bare, gathered = BareFork("as they are"), BareFork("gathered")
    opened, whole, forked, gathering = [], [], [], []
    zygote = find_zygote(sandbox)
    spent = 0.0
    for _ in range(rounds):
        before = read_processor_ms(zygote) + 1000 * time.process_time()
        started = time.perf_counter()
        box = sandbox.open(Limits())
        opened.append(time.perf_counter() - started)
        run_submission(box)
        whole.append(time.perf_counter() - started)
        spent += read_processor_ms(zygote) + 1000 * time.process_time() - before
        forked.append(bare.measure_submission())
        gathering.append(gathered.measure_submission())
    bare.close()
    gathered.close()
    fork = statistics.median(forked)
    return {
        "spawn_ms_p50": to_milliseconds(statistics.median(opened)),
        "spawn_ms_p95": to_milliseconds(statistics.quantiles(opened, n=20)[-1]),
        "submission_ms_p50": to_milliseconds(statistics.median(whole)),
        "fork_ms_p50": to_milliseconds(fork),
        "ratio_to_fork": round(statistics.median(whole) / fork, 2),
        "gathered_fork_ms_p50": to_milliseconds(statistics.median(gathering)),
        "ratio_to_gathered_fork": round(statistics.median(whole) / statistics.median(gathering), 2),
        "cpu_ms_per_submission": round(spent / rounds, 1),
    }


def run_submission(box: NamespaceBox) -> None:
    """Run the cells, and close the box."""
    for cell in CELLS:
        box.run_cell(cell, seconds=10)
    box.close()


def measure_parts(sandbox: NamespaceSandbox, rounds: int) -> dict[str, float]:
    """Return the milliseconds of each part of a trivial submission, timed on the trusted side."""
    took: dict[str, list[float]] = {name: [] for name in PARTS}
    # Wrapping the methods keeps timing code out of the sandbox itself.
    timed = {method: _wrap_with_timer(NamespaceBox, method, took[name]) for name, method in PARTS.items()}
    try:
        for _ in range(rounds):
            run_submission(sandbox.open(Limits()))
    finally:
        for method, original in timed.items():
            setattr(NamespaceBox, method, original)
    return {name: to_milliseconds(sum(seconds) / rounds) for name, seconds in took.items()}


def _wrap_with_timer(kind: type, method: str, took: list[float]) -> Callable[..., object]:
    original: Callable[..., object] = getattr(kind, method)

    @functools.wraps(original)
    def call_and_time(*args: object, **kwargs: object) -> object:
        started = time.perf_counter()
        try:
            return original(*args, **kwargs)
        finally:
            took.append(time.perf_counter() - started)

    setattr(kind, method, call_and_time)
    return original


def measure_idle(sandbox: NamespaceSandbox) -> dict[str, float]:
    """Return the private memory of a box before any code runs."""
    box = sandbox.open(Limits())
    try:
        rollup = Path(f"/proc/{box.pid}/smaps_rollup").read_text()
    finally:
        box.close()
    # Private pages only: all others are shared with the zygote.
    kilobytes = sum(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Private_"))
    return {"idle_child_private_mb": round(kilobytes / 1024, 1)}


def measure_together(sandbox: NamespaceSandbox) -> dict[str, float]:
    """Return the memory of the sandbox and many boxes that have trained a small model, shared pages once."""
    boxes = [sandbox.open(Limits()) for _ in range(BOXES)]
    try:
        for box in boxes:
            box.run_cell(TRAINING, seconds=20)
        megabytes = sum(read_memory_kb(pid) for pid in list_descendants(sandbox.pid)) / 1024
    finally:
        for box in boxes:
            box.close()
    return {f"{BOXES}_boxes_mb": round(megabytes)}


def measure_calls(sandbox: NamespaceSandbox) -> dict[str, float]:
    """Return the round-trip time of one small call."""
    box = sandbox.open(Limits())
    try:
        box.run_cell(CELLS[1], seconds=10)
        once = Call("double", args=(21,))
        seconds = [measure_time(lambda: box.ask([once], seconds=10)) for _ in range(300)]
    finally:
        box.close()
    return {"call_ms_p50": to_milliseconds(statistics.median(seconds))}


def measure_tensors(sandbox: NamespaceSandbox) -> dict[str, float]:
    """Measure the throughput of a large tensor in both directions; the slower one counts."""
    # 2**18 float32 values are one megabyte.
    numbers = MEGABYTES << 18
    box = sandbox.open(Limits())
    try:
        box.run_cell(IDENTITY.format(numbers=numbers), seconds=10)
        big = Tensor(np.zeros(numbers, np.float32), "float32")
        take, give = Call("take", args=(big,)), Call("give")
        into = statistics.median(measure_time(lambda: box.ask([take], seconds=10)) for _ in range(7))
        out = statistics.median(measure_time(lambda: box.ask([give], seconds=10)) for _ in range(7))
    finally:
        box.close()
    return {
        "tensor_mb_per_s": round(MEGABYTES / max(into, out)),
        "tensor_in_mb_per_s": round(MEGABYTES / into),
        "tensor_out_mb_per_s": round(MEGABYTES / out),
    }


def measure_time(action: Callable[[], object]) -> float:
    """Return the seconds that an action takes."""
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def find_zygote(sandbox: NamespaceSandbox) -> int:
    """Return the process that forks the boxes: the only child of the one we started."""
    outer = sandbox.pid
    return int(Path(f"/proc/{outer}/task/{outer}/children").read_text().split()[0])


def read_processor_ms(pid: int) -> float:
    """Return the processor time of a process and of all the children it has waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    # utime, stime, cutime and cstime of proc(5), counted after the program's name.
    return sum(int(field) for field in fields[11:15]) * TICK_MS


def to_milliseconds(seconds: float) -> float:
    """Convert seconds to milliseconds, rounded."""
    return round(1000 * seconds, 2)


if __name__ == "__main__":
    main()
