"""The wheel: what it contains, and that it works without a checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PARTS = ("assignments", "rubrics", "reference")
pytestmark = pytest.mark.slow


def run(*words: str | Path, cwd: Path, path: Path | None = None) -> str:
    """Run Python and return its output; ``path`` is a folder of packages before all others."""
    environment = {**os.environ, "PYTHONPATH": str(path or "")}
    ended = subprocess.run(
        [sys.executable, *words], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    run("-m", "hatchling", "build", "--target", "wheel", "--directory", folder, cwd=ROOT)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the installed wheel."""
    folder = tmp_path_factory.mktemp("installed")
    run("-m", "pip", "install", "--quiet", "--no-deps", "--target", folder, wheel, cwd=folder)
    return folder


def list_tracked(*folders: str) -> set[str]:
    """Return the files of this repository in some folders."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", *folders], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return {name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()}


def test_wheel_contains_all_files_and_the_shipped_course(wheel: Path) -> None:
    """Files such as templates, translations and filters are in it, and nothing that is not tracked."""
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    shipped = {f"autograder/shipped/{name}" for name in list_tracked(*PARTS, "nbgrader_config.py")}
    assert names == list_tracked("autograder") | shipped


def test_wheel_begins_a_course_with_an_example_in_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    """No checkout is used: the packages of the folder come first, and the course is found in them."""
    where = run("-c", "import autograder; print(autograder.__file__)", cwd=tmp_path, path=installed)
    assert where.startswith(str(installed))
    run("-m", "autograder", "new", "--example", "attention", cwd=tmp_path, path=installed)
    copied = tmp_path / "assignments" / "attention" / "attention.ipynb"
    assert copied.read_bytes() == (ROOT / "assignments" / "attention" / "attention.ipynb").read_bytes()
    run("-m", "autograder", "generate", "attention", cwd=tmp_path, path=installed)
    assert (tmp_path / "release" / "attention" / "attention.ipynb").is_file()


def test_same_sources_make_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    """Whoever builds it again can compare."""
    run("-m", "hatchling", "build", "--target", "wheel", "--directory", tmp_path, cwd=ROOT)
    (again,) = tmp_path.glob("*.whl")
    assert again.read_bytes() == wheel.read_bytes()
