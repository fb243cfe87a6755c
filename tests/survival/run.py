"""Kill a grader and its sandboxes repeatedly and count the losses: ``python -m tests.survival.run``.

A class is graded. At random points (seeded) the grading process, the zygote, its parent or a box's process 1
gets SIGKILL. When the grading process has died, the same command is run again. At the end everything is
compared with an undisturbed run. The last line is JSON.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from autograder.grading.grades import FAULTS
from autograder.sandbox.outside import cgroups
from autograder.sandbox.retry import MAX_LOST_BOXES
from tests.support.leftovers import descendants
from tests.survival import classroom, kills
from tests.survival.kills import Kill

PATIENCE_SECONDS = 300.0
MOST_LAUNCHES = 40
KILLS_PER_LAUNCH = 3
"""How many kills one submission survives if each costs one box (`autograder.sandbox.retry.MAX_FAULTS`)."""
PR_SET_CHILD_SUBREAPER = 36


class Survival:
    """One session of killing."""

    def __init__(self, folder: Path, students: int, preload: str, seed: int) -> None:
        self._folder = folder
        self._chance = random.Random(seed)
        self._template = folder / "template"
        classroom.make_class(self._template, students, preload).load_secret()
        self.findings: list[str] = []
        self.kills: Counter[str] = Counter()
        self.points: Counter[str] = Counter()
        self.launches = self.classes = self.again = self.marks = self.faults = 0
        self.slowest_end = 0.0
        self._undisturbed()

    def _undisturbed(self) -> None:
        """Return the marks of an undisturbed run."""
        root = self._folder / "undisturbed"
        shutil.copytree(self._template, root)
        started = time.monotonic()
        status, _ = self._launch(root, [])
        if status:
            sys.exit("the undisturbed run failed; nothing was killed")
        self._seconds = time.monotonic() - started
        self._wanted = classroom.state(root)
        shutil.copytree(root / ".autograder", self._folder / "known")

    def one_class(self, victims: list[str]) -> None:
        """Grade a class to its end with these kills; then compare."""
        self.classes += 1
        root = self._folder / f"class-{self.classes}"
        shutil.copytree(self._template, root)
        if self._chance.random() < 0.75:  # else the self-test and the reference would be disturbed, too
            shutil.copytree(self._folder / "known", root / ".autograder", dirs_exist_ok=True)
        interrupted = 0
        for _ in range(MOST_LAUNCHES):
            planned = victims[:KILLS_PER_LAUNCH] if victims else []
            while (
                planned.count("box") >= MAX_LOST_BOXES
            ):  # a submission that loses as many needs manual review
                planned.remove("box")
            if "broker" in planned:
                planned = planned[: planned.index("broker") + 1]
            plan = [kills.draw(self._chance, victim, self._seconds) for victim in planned]
            status, struck = self._launch(root, plan)
            for victim in struck:
                victims.remove(victim)
            self._kept(root)
            if os.WIFSIGNALED(status):
                interrupted += 1
                if struck.count("broker") != 1:
                    self.findings.append(f"class {self.classes}: a grader died that nobody killed")
            elif os.WEXITSTATUS(status):
                self.findings.append(f"class {self.classes}: a grader ended with {os.WEXITSTATUS(status)}")
            elif not victims or self._finished(root):
                break
        else:
            self.findings.append(f"class {self.classes}: not done after {MOST_LAUNCHES} launches")
        self._launch(root, [])  # the next run: nothing is left to grade, and leftovers are removed
        self._compare(root, interrupted)
        shutil.rmtree(root)

    def _finished(self, root: Path) -> bool:
        return len(classroom.current(root)) == len(self._wanted.results)

    # ------------------------------------------------------------ one launch

    def _launch(self, root: Path, plan: list[Kill]) -> tuple[int, list[str]]:
        """Run one grading process to its end; return its wait status and the killed victims."""
        self.launches += 1
        reader, writer = os.pipe()
        broker = os.fork()
        if broker == 0:
            os.close(reader)
            _grade(root, plan, writer)
        os.close(writer)
        os.set_blocking(reader, False)
        struck, timed, said = [], sorted((one.seconds, one.victim) for one in plan if not one.point), b""
        started, status = time.monotonic(), None
        while status is None:
            said += _read(reader)
            ended, code = os.waitpid(broker, os.WNOHANG)
            if ended:
                status = code
            elif timed and time.monotonic() - started >= timed[0][0]:
                victim = timed[0][1]
                if kills.strike(victim, broker):
                    timed.pop(0)
                    struck.append(victim)
                    self.points["at a random moment"] += 1
            if time.monotonic() - started > 300:
                self.findings.append("a grader did not end within 300 seconds")
                os.kill(broker, 9)
            time.sleep(0.002)
        said += _read(reader)
        os.close(reader)
        for line in said.decode().splitlines():
            word, _, rest = line.partition(" ")
            if word == "killed":
                victim, _, point = rest.partition(" ")
                struck.append(victim)
                self.points[point] += 1
        self._reported = [line.partition(" ")[2] for line in said.decode().splitlines() if line[:4] == "kept"]
        self.kills.update(struck)
        self._await_end()
        return status, struck

    def _await_end(self) -> None:
        """Check that all processes started by the grading process end by themselves."""
        started = time.monotonic()
        while left := descendants(os.getpid()):
            _reap()
            if time.monotonic() - started > PATIENCE_SECONDS:
                self.findings.append(f"{len(left)} processes were left")
                for pid in left:
                    os.kill(pid, 9)
                break
            time.sleep(0.005)
        _reap()
        self.slowest_end = max(self.slowest_end, time.monotonic() - started)

    # ------------------------------------------------------------ invariants

    def _kept(self, root: Path) -> None:
        """Check that reported marks are in the database, and right, or name a fault of ours.

        One kill may take several boxes of a submission, and several kills may exceed its retries. Then it
        needs manual review, and the next run grades it again, which `_compare` checks.
        """
        found = classroom.current(root)
        for student in self._reported:
            self.marks += 1
            notes = found.get(student, {}).get("score", {}).get("notes", ())
            if any(note["code"] in FAULTS for note in notes):
                self.faults += 1
            elif found.get(student) != self._wanted.results[student]:
                said = " / ".join(note["text"] for note in notes)
                says = f"it says: {said}" if student in found else "there is none"
                self.findings.append(
                    f"class {self.classes}: the reported result of {student} is not kept; {says}"
                )

    def _compare(self, root: Path, interrupted: int) -> None:
        found, wanted = classroom.state(root), self._wanted
        self.again += classroom.run_again(root)
        for student, result in wanted.results.items():
            if found.results.get(student) != result:
                self.findings.append(f"class {self.classes}: {student} has another result")
        parts = ("results", "marks", "rows", "files", "damage")
        differing = [part for part in parts if getattr(found, part) != getattr(wanted, part)]
        self.findings += [f"class {self.classes}: {part} differ" for part in differing]
        if "files" in differing:
            odd = sorted(set(found.files.items()) ^ set(wanted.files.items()))[:4]
            self.findings.append(f"class {self.classes}: {odd}")
        if classroom.interrupted(root) > interrupted:
            self.findings.append(f"class {self.classes}: more runs without an end than graders killed")
        groups = [path.name for path in cgroups.sweep_groups()]
        if groups:
            self.findings.append(f"class {self.classes}: control groups were left: {groups}")

    def figures(self) -> dict[str, Any]:
        """Return the statistics and findings."""
        return {
            "kills": sum(self.kills.values()),
            "by_victim": dict(sorted(self.kills.items())),
            "by_point": dict(sorted(self.points.items())),
            "classes": self.classes,
            "launches": self.launches,
            "marks_reported_and_checked": self.marks,
            "marks_that_name_a_fault_of_ours": self.faults,
            "submissions_run_again": self.again,
            "slowest_end_seconds": round(self.slowest_end, 2),
            "findings": self.findings,
        }


def _grade(root: Path, plan: list[Kill], writer: int) -> None:
    """Be the grading process; never return."""
    status = 1
    try:
        kills.arm(plan, lambda text: _say(writer, text))
        classroom.grade(root, lambda student: _say(writer, f"kept {student}"))
        status = 0
    except BaseException as error:
        _say(writer, f"failed {type(error).__name__}: {error}")
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        raise
    finally:
        os._exit(status)


def _say(writer: int, text: str) -> None:
    os.write(writer, f"{text}\n".encode())


def _read(reader: int) -> bytes:
    try:
        return os.read(reader, 1 << 16)
    except BlockingIOError:
        return b""


def _reap() -> None:
    """Collect orphans that were reparented to this process."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return


def survive(folder: Path, wanted: int, students: int, *, seed: int, preload: str) -> dict[str, Any]:
    """Kill as often as requested and return the statistics."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    started = time.monotonic()
    mounts, open_files = _mounts(), _open_files()
    session = Survival(folder, students, preload, seed)
    chance = random.Random(seed + 1)
    while sum(session.kills.values()) < wanted:
        left = wanted - sum(session.kills.values())
        spared = [1 / (1 + session.kills[victim]) ** 2 for victim in kills.VICTIMS]
        session.one_class(chance.choices(kills.VICTIMS, spared, k=min(left, chance.randint(2, 8))))
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{sum(session.kills.values())} kills")
    if _mounts() != mounts:
        session.findings.append("mounts were left")
    if _open_files() > open_files:
        session.findings.append("descriptors were left")
    if left_files := [path.name for path in (folder / "tmp").iterdir()]:
        session.findings.append(f"temporary files were left: {left_files[:5]}")
    return {
        "seed": seed,
        "seconds": round(time.monotonic() - started, 1),
        **session.figures(),
    }


def _mounts() -> int:
    return len(Path("/proc/self/mountinfo").read_text().splitlines())


def _open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def main() -> None:
    """Parse, kill, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--students", type=int, default=14)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--preload", default="numpy", help="a module that every zygote imports, e.g. torch")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 31)
    sys.stderr.write(f"seed {seed}\n")
    with tempfile.TemporaryDirectory(prefix="autograder-survival-") as name:
        os.environ["TMPDIR"] = tempfile.tempdir = str(Path(name, "tmp"))
        Path(name, "tmp").mkdir()
        figures = survive(Path(name), options.kills, options.students, seed=seed, preload=options.preload)
    for key, value in figures.items():
        sys.stdout.write(f"{key}: {value}\n")
    sys.stdout.write(json.dumps(figures) + "\n")
    sys.exit(bool(figures["findings"]))


if __name__ == "__main__":
    main()
