"""The contents of the wheel, which works without a checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from tests.support.served import Served

ROOT = Path(__file__).parents[1]
PARTS = ("assignments", "rubrics", "reference")
pytestmark = [pytest.mark.long, pytest.mark.slow]


def run(*words: str | Path, cwd: Path) -> str:
    """Run a program and return its output."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    ended = subprocess.run(words, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel of this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder, cwd=ROOT)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the programs of a new environment that contains only the wheel and its dependencies."""
    environment = tmp_path_factory.mktemp("environment")
    venv.create(environment, with_pip=True)
    programs = environment / "bin"
    # Most modules are never imported, so they are not compiled. Sandboxes cannot store compiled files.
    pip = (programs / "python", "-m", "pip", "install", "--quiet", "--no-compile")
    wanted = f"nbexam[course,service] @ {wheel.as_uri()}"
    run(*pip, "--constraint", ROOT / "constraints.txt", wanted, cwd=environment)
    run(programs / "python", "-c", "import sympy, torch.optim", cwd=environment)
    return programs


def list_tracked(*folders: str) -> set[str]:
    """Return the files of this repository in some folders."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", *folders], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return {name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()}


def test_wheel_contains_all_files_and_the_shipped_course(wheel: Path) -> None:
    """The wheel contains all tracked files, such as templates and translations, and no others."""
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    shipped = {f"autograder/shipped/{name}" for name in list_tracked(*PARTS, "nbgrader_config.py")}
    assert names == list_tracked("autograder") | shipped


def test_installed_demo_is_graded_and_served(installed: Path, tmp_path: Path) -> None:
    """Without a checkout, the shipped course is found in the package."""
    where = run(installed / "python", "-c", "import autograder; print(autograder.__file__)", cwd=tmp_path)
    assert where.startswith(str(installed.parent))
    run(installed / "nbexam", "demo", "--students", "4", cwd=tmp_path)  # fails if a mark is not as expected
    with Served(tmp_path / "demo-course", program=[str(installed / "nbexam")]) as served:
        assert served.answers()


def test_installed_course_begins_with_templates_or_an_example(installed: Path, tmp_path: Path) -> None:
    """Templates and the example verify before they are released."""
    run(installed / "nbexam", "new", "mine", cwd=tmp_path)
    run(installed / "nbexam", "verify", "mine", cwd=tmp_path)
    run(installed / "nbexam", "new", "--example", "attention", cwd=tmp_path)
    copied = tmp_path / "assignments" / "attention" / "attention.ipynb"
    assert copied.read_bytes() == (ROOT / "assignments" / "attention" / "attention.ipynb").read_bytes()
    run(installed / "nbexam", "generate", "attention", cwd=tmp_path)
    assert (tmp_path / "release" / "attention" / "attention.ipynb").is_file()


def test_same_sources_make_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    """Builds are reproducible."""
    run(sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", tmp_path, cwd=ROOT)
    (again,) = tmp_path.glob("*.whl")
    assert again.read_bytes() == wheel.read_bytes()
