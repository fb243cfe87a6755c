"""An installation below a folder that boxes use as scratch space, such as a checkout in /tmp."""

from __future__ import annotations

import importlib
import importlib.resources
import inspect
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from autograder.core.records import Call, Limits
from autograder.sandbox.base import Environment
from autograder.sandbox.inside.jail import INSTALLED, plan_moves, update_import_paths
from autograder.sandbox.outside.box import NamespaceBox
from autograder.sandbox.outside.namespaces import NamespaceSandbox
from autograder.sandbox.runtime import get_current_runtime

pytestmark = pytest.mark.sandbox

TRY_TO_WRITE = """
import os
def tried(path):
    try:
        with open(path, "w") as file:
            file.write("x")
    except OSError as error:
        return type(error).__name__ + str(error.errno)
    return "written"
"""


@pytest.fixture(scope="module")
def packages() -> Iterator[Path]:
    """Return installed packages below /tmp, readable for every user."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        installed = Path(folder, "lib", "site-packages")
        installed.mkdir(parents=True)
        (installed / "imported_late.py").write_text("ANSWER = 42\n")
        yield installed


@pytest.fixture(scope="module")
def box(packages: Path) -> Iterator[NamespaceBox]:
    """Return a box of a sandbox that imports from there."""
    runtime = get_current_runtime()
    moved = msgspec.structs.replace(
        runtime,
        sys_path=(*runtime.sys_path, str(packages)),
        readable=(*runtime.readable, str(packages)),
    )
    sandbox = NamespaceSandbox(Environment(), moved)
    box = sandbox.open(Limits())
    yield box
    box.close()
    sandbox.close()


def value(box: NamespaceBox, function: str, *arguments: str) -> object:
    """Return the result of a function in the box."""
    return box.ask([Call(function, args=arguments)], seconds=10)[0].value


def test_paths_below_scratch_space_are_moved() -> None:
    """Only they are moved, not paths that merely start alike; each has a separate target."""
    found = plan_moves(["/usr/lib", "/tmp/a", "/tmpfiles", "/dev/shm/b", "/work", "/w/c"])
    assert {"/tmp/a": f"{INSTALLED}/0", "/dev/shm/b": f"{INSTALLED}/1", "/w/c": f"{INSTALLED}/2"} == found


def test_scratch_space_shows_nothing_of_the_machine(box: NamespaceBox) -> None:
    """A box starts with empty scratch folders, also if libraries are installed there.

    No list of paths has them.
    """
    run = box.run_cell(
        "import os, sys\ndef listed(): return [os.listdir(p) for p in ('/w', '/tmp', '/dev/shm')]\n"
        "def searched(): return [p for p in sys.path if p.startswith('/tmp/')]",
        seconds=10,
    )
    assert "" == run.error
    assert [[], [], []] == value(box, "listed")
    assert [] == value(box, "searched")


def test_a_package_that_was_imported_before_its_files_moved_goes_on_importing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Submodules, source code of functions and data files are found at the new place."""
    before, now = tmp_path / "before", tmp_path / "now"
    package = before / "moved_package"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("def early(): return 'early'\n")
    (package / "late.py").write_text("VALUE = 42\n")
    (package / "table.txt").write_text("rows")
    monkeypatch.setattr(sys, "path", [*sys.path, str(before)])
    early = importlib.import_module("moved_package")
    try:
        before.rename(now)
        update_import_paths({str(before): str(now)})
        assert 42 == importlib.import_module("moved_package.late").VALUE
        assert "early" in inspect.getsource(early)
        assert "rows" == importlib.resources.files(early).joinpath("table.txt").read_text()
        assert str(now / "moved_package" / "__init__.py") == early.__file__
        assert str(before) not in sys.path
    finally:
        for name in ("moved_package", "moved_package.late"):
            sys.modules.pop(name, None)


def test_packages_below_tmp_can_be_imported(box: NamespaceBox) -> None:
    """Student code can import packages below /tmp, although its own /tmp is separate."""
    run = box.run_cell("import imported_late\ndef answer(): return imported_late.ANSWER", seconds=10)
    assert "" == run.error
    assert 42 == value(box, "answer")


def test_they_cannot_be_changed(box: NamespaceBox, packages: Path) -> None:
    """The packages are read-only (EROFS), while /tmp itself is writable."""
    box.run_cell(f"{TRY_TO_WRITE}\ndef place(): import imported_late as m; return m.__file__", seconds=10)
    assert f"{INSTALLED}/0/imported_late.py" == value(box, "place")
    assert "OSError30" == value(box, "tried", f"{INSTALLED}/0/imported_late.py")
    assert "written" == value(box, "tried", "/tmp/notes.txt")
    assert "ANSWER = 42\n" == (packages / "imported_late.py").read_text()
