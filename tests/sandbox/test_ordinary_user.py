"""The sandbox without root: the same contract, run by an unprivileged user."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.apart,
    pytest.mark.sandbox,
    pytest.mark.skipif(
        os.geteuid() != 0,
        reason="not applicable: run by an ordinary user, the whole suite shows this already",
    ),
]
UID = 61_999
"""An unused id: below those of containers, above those of people, different from our zygotes'."""
SCRIPT = Path(__file__).parents[1] / "support/ordinary_user.py"
SUBSET = (
    "tests/sandbox/test_contract.py",
    "tests/sandbox/test_bare.py",
    "tests/sandbox/test_confinement.py",
    "tests/sandbox/test_isolation.py",
    "tests/sandbox/test_box_cleanup.py",
    "tests/sandbox/test_doctor.py",
)


def as_user(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run this interpreter as an ordinary user."""
    environment = {
        "HOME": str(home),
        "TMPDIR": str(home),
        "PATH": os.environ["PATH"],
        "PYTHONDONTWRITEBYTECODE": "1",
        **{name: os.environ[name] for name in ("CI", "ROTATION", "THOROUGH") if name in os.environ},
    }
    command = [sys.executable, str(SCRIPT), str(UID), sys.executable, *arguments]
    options = {"capture_output": True, "text": True, "timeout": 2000, "stdin": subprocess.DEVNULL}
    return subprocess.run(command, env=environment, check=False, **options)  # type: ignore[call-overload, no-any-return]


@pytest.fixture
def home() -> Iterator[Path]:
    """Return a folder that the user can read and write; pytest's folders are private."""
    with tempfile.TemporaryDirectory(prefix="autograder-user-") as folder:
        Path(folder).chmod(0o777)
        yield Path(folder)


def test_the_user_has_no_privileges(home: Path) -> None:
    """The user has no id or group of root, no capability, and no access to root's home."""
    code = (
        "import os; print(os.getresuid(), os.getresgid(), os.getgroups());"
        "print([line.split()[1] for line in open('/proc/self/status') if line.startswith('CapEff')]);"
        "print(os.access('/etc/shadow', os.R_OK))"
    )
    done = as_user(home, "-c", code)
    assert "" == done.stderr
    ids = (UID, UID, UID)
    assert [f"{ids} {ids} []", "['0000000000000000']", "False"] == done.stdout.splitlines()


def passed(done: subprocess.CompletedProcess[str]) -> int:
    """Return how many tests passed; fail unless all did."""
    assert 0 == done.returncode, done.stdout[-4000:] + done.stderr[-2000:]
    assert "sandbox cannot be built" not in done.stdout
    found = re.search(r"(\d+) passed", done.stdout)
    return int(found[1]) if found else 0


def pytest_options(home: Path) -> tuple[str, ...]:
    """Return options for a test run that writes nothing into the repository."""
    return ("-m", "pytest", "-q", "-p", "no:cacheprovider", "--basetemp", str(home / "base"))


def test_the_contract_holds_for_an_ordinary_user(home: Path) -> None:
    """Contract, isolation, cleanup and self-test pass with user namespaces only."""
    chosen = ("-k", "not fake and not tensor and not torch")
    assert passed(as_user(home, *pytest_options(home), *chosen, *SUBSET)) > 80


def test_attacks_on_an_ordinary_users_sandbox_reach_nothing(home: Path) -> None:
    """Every file within reach would be the user's own."""
    chosen = ("-k", "files or identity or kernel or network or disk or answers")
    assert passed(as_user(home, *pytest_options(home), *chosen, "tests/redteam/test_boxes.py")) > 15
