"""Build the image and start it with the options of compose.yaml: `python -m tests.image --engine docker`.

Needs a container engine and some minutes. Any failure gives exit code 1.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
WORKER: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))["services"]["worker"]
SECCOMP, APPARMOR = "seccomp=", "apparmor="
MOST_SECONDS = 1800.0
PROBE = """
import sys, urllib.request
text = urllib.request.urlopen("http://127.0.0.1:8000/metrics").read().decode()
sys.exit(text if 'state="graded"} 0' in text else 0)
"""
"""Exit with 0 as soon as one attempt is graded."""
NO_SANDBOX = 4
"""Exit status of `autograder doctor` if a required layer is missing."""


def list_options(*, without: str = "") -> list[str]:
    """Return the worker's options for ``run``, omitting the security option with this prefix."""
    options = ["--user", WORKER["user"], "--pids-limit", str(WORKER["pids_limit"])]
    options += ["--read-only"] if WORKER["read_only"] else []
    options += [word for name in WORKER["cap_drop"] for word in ("--cap-drop", name)]
    options += [word for mount in WORKER["tmpfs"] for word in ("--tmpfs", mount)]
    for option in WORKER["security_opt"]:
        # Compose reads the profile from its own folder, `run` from the current one.
        text = option.replace("=./", f"={ROOT}/")
        options += [] if without and option.startswith(without) else ["--security-opt", text]
    return options


class Trial:
    """The trial of an image with an engine, and its failures."""

    def __init__(self, engine: str, image: str) -> None:
        self._engine = engine
        self.image = image
        self.failures: list[str] = []

    def run(self, options: Sequence[str], command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """Run a command in a new container."""
        return self.call("run", "--rm", *options, self.image, *command)

    def call(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command of the engine."""
        return subprocess.run([self._engine, *words], cwd=ROOT, capture_output=True, text=True, check=False)

    def expect(self, what: str, ended: subprocess.CompletedProcess[str], status: int = 0) -> None:
        """Print and record whether a command ended with the expected status."""
        print(f"{'ok' if ended.returncode == status else 'WRONG':6} {what}", flush=True)
        if ended.returncode != status:
            self.failures.append(what)
            print(f"exit code {ended.returncode}\n{ended.stdout[-3000:]}{ended.stderr[-3000:]}")


def try_sandbox(trial: Trial) -> None:
    """The sandbox works with the options of compose.yaml, and fails without a required one."""
    doctor = ("autograder", "doctor")
    trial.expect("the sandbox holds with the options of compose.yaml", trial.run(list_options(), doctor))
    needed = [SECCOMP, *([APPARMOR] if Path("/sys/module/apparmor/parameters/enabled").exists() else [])]
    for option in needed:
        ended = trial.run(list_options(without=option), doctor)
        trial.expect(f"doctor says what is missing without {option}…", ended, NO_SANDBOX)
    write = trial.run(list_options(), ("sh", "-c", "! touch /opt/nbexam/x && ! touch /etc/x && touch /tmp/x"))
    trial.expect("nothing but /tmp can be written", write)


def try_service(trial: Trial) -> None:
    """Pages, an embedded database and a worker in one container grade the demo."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o777)
        name = f"nbexam-trial-{time.time_ns()}"
        serve = ("autograder", "serve", "/srv/course", "--demo", "--host", "0.0.0.0", "--workers", "2")
        volume = ("--volume", f"{folder}:/srv/course")
        started = trial.call("run", "--detach", "--name", name, *list_options(), *volume, trial.image, *serve)
        trial.expect("the service starts", started)
        try:
            until = time.monotonic() + MOST_SECONDS
            told = trial.call("exec", name, "python3", "-c", PROBE)
            while told.returncode and time.monotonic() < until:
                time.sleep(2)
                told = trial.call("exec", name, "python3", "-c", PROBE)
            trial.expect("a worker in it grades what the class of the demo submitted", told)
        finally:
            trial.call("stop", "--time", "60", name)
            trial.call("rm", "--force", name)


def main() -> int:
    """Build and test the image; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.image")
    parser.add_argument("--engine", default="docker", help="docker or podman")
    parser.add_argument("--image", default="nbexam:local", help="name of the image")
    parser.add_argument("build", nargs="*", help="further options of the build, after --")
    given = parser.parse_args()
    print("building", flush=True)
    built = subprocess.run(
        [given.engine, "build", "--tag", given.image, *given.build, "."], cwd=ROOT, check=False
    )
    if built.returncode:
        return 1
    trial = Trial(given.engine, given.image)
    try_sandbox(trial)
    try_service(trial)
    return 1 if trial.failures else 0


if __name__ == "__main__":
    sys.exit(main())
