"""The parts of the installation that a box sees."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import autograder
from autograder.sandbox import runtime
from autograder.sandbox.runtime import get_current_runtime


def test_modules_come_from_readable_places() -> None:
    """Every folder on the import path is readable in boxes, and exists."""
    found = get_current_runtime()
    assert found.sys_path
    for path in found.sys_path:
        assert Path(path).is_dir()
        assert any(Path(path).is_relative_to(readable) for readable in found.readable)


def test_this_interpreter_is_described() -> None:
    """The zygote uses the interpreter that runs the grader, and finds our package."""
    found = get_current_runtime()
    assert sys.executable == found.executable
    assert Path(autograder.__file__).is_relative_to(found.package_root)


def test_neither_homes_nor_the_whole_root_are_visible() -> None:
    """Only the installation itself is visible."""
    for path in get_current_runtime().readable:
        assert Path(path) not in {
            Path("/"),
            Path("/usr"),
            Path("/etc"),
            Path("/home"),
            Path.home(),
            Path.cwd(),
        }


def test_no_visible_place_lies_below_another() -> None:
    """No folder is mounted twice, because each view has to be confined."""
    folders = [Path(path) for path in get_current_runtime().readable if not Path(path).is_symlink()]
    assert [] == [(a, b) for a in folders for b in folders if a != b and a.is_relative_to(b)]


def test_our_own_installed_packages_are_masked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The grader's code is hidden from boxes, also if it is installed in the same folder as torch."""
    site = tmp_path / "site-packages"
    for name in ("autograder", "reference", "torch"):
        (site / name).mkdir(parents=True)
    monkeypatch.setattr(sys, "path", [str(site)])
    assert {str(site / "autograder"), str(site / "reference")} == set(get_current_runtime().masked)


def test_links_cover_nothing(tmp_path: Path) -> None:
    """If /lib is a link to /usr/lib, both are kept, as a link and as a folder."""
    real = tmp_path / "usr/lib"
    (real / "python3").mkdir(parents=True)
    link = tmp_path / "lib"
    link.symlink_to(real)
    paths = [str(real), str(link), str(real / "python3"), str(real)]
    assert (str(real), str(link)) == runtime._drop_nested(paths)
