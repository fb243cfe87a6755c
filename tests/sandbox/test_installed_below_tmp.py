"""An installation below a folder that boxes use as scratch space, such as a checkout in /tmp."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from autograder.records import Call, Limits, Scenario
from autograder.sandbox.base import Environment
from autograder.sandbox.inside.jail import covered
from autograder.sandbox.outside.box import NamespaceBox
from autograder.sandbox.outside.launched import Launched
from autograder.sandbox.outside.namespaces import NamespaceSandbox
from autograder.sandbox.runtime import current_runtime

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
    """Installed packages below /tmp, readable for every user."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        installed = Path(folder, "lib", "site-packages")
        installed.mkdir(parents=True)
        (installed / "imported_late.py").write_text("ANSWER = 42\n")
        yield installed


@pytest.fixture(scope="module")
def box(packages: Path) -> Iterator[NamespaceBox]:
    """A box of a sandbox that imports from there."""
    runtime = current_runtime()
    moved = msgspec.structs.replace(
        runtime,
        sys_path=(*runtime.sys_path, str(packages)),
        readable=(*runtime.readable, str(packages)),
    )
    sandbox = NamespaceSandbox(Environment(), lambda: Launched(moved))
    box = sandbox.open(Limits())
    yield box
    box.close()
    sandbox.close()


def value(box: NamespaceBox, function: str, *arguments: str) -> object:
    """What a function of the box's returns."""
    return box.ask([Scenario("one", (Call(function, args=arguments),))], seconds=10)[0][0].value


def test_what_is_covered() -> None:
    """Only paths below a scratch folder are covered, not those whose names begin alike."""
    assert ["/tmp/a", "/dev/shm/b", "/w/c"] == covered(
        ["/usr/lib", "/tmp/a", "/tmpfiles", "/dev/shm/b", "/work", "/w/c"]
    )


def test_packages_below_tmp_can_be_imported(box: NamespaceBox) -> None:
    """Student code imports what is installed there, although /tmp is its own."""
    run = box.run_cell("import imported_late\ndef answer(): return imported_late.ANSWER", seconds=10)
    assert "" == run.error
    assert 42 == value(box, "answer")


def test_they_cannot_be_changed(box: NamespaceBox, packages: Path) -> None:
    """The packages are read-only (EROFS), while /tmp itself can be written."""
    box.run_cell(TRY_TO_WRITE, seconds=10)
    assert "OSError30" == value(box, "tried", str(packages / "imported_late.py"))
    assert "written" == value(box, "tried", "/tmp/notes.txt")
    assert "ANSWER = 42\n" == (packages / "imported_late.py").read_text()
