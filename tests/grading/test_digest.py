"""What makes a class be graded again: whatever decides about marks, and nothing that only tells of them."""

from __future__ import annotations

import importlib.metadata
import shutil
from pathlib import Path

import msgspec
import pytest

from autograder import assignment as assignments
from autograder.assignment import TELLING, packages, program_digest
from autograder.kinds import registered
from tests.grading.test_batch import NAME, make_course
from tests.test_architecture import FILES, LAYERS, OURS, PROGRAM, imports, part

DECIDING = sorted(set().union(*LAYERS) - TELLING)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the program whose files can be changed."""
    root = tmp_path_factory.mktemp("program") / "autograder"
    shutil.copytree(PROGRAM, root, ignore=shutil.ignore_patterns("__pycache__"))
    return root


def files_of(root: Path, name: str) -> list[Path]:
    """All modules of a part of the program."""
    return sorted((root / name).rglob("*.py")) or [root / f"{name}.py"]


def changes(root: Path, path: Path) -> bool:
    """Whether another word in a file gives another digest."""
    before, content = program_digest(root), path.read_bytes()
    path.write_bytes(content + b"# another word\n")
    try:
        return before != program_digest(root)
    finally:
        path.write_bytes(content)


@pytest.mark.parametrize("name", DECIDING)
def test_every_part_that_decides_is_in(name: str, program: Path) -> None:
    """Of the parts that marks follow from, each module counts."""
    assert all(changes(program, path) for path in files_of(program, name)[:12])


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(TELLING))
def test_words_regrade_nobody(name: str, program: Path) -> None:
    """Another word on the command line, on a page or in a sentence leaves every result as it is."""
    assert not any(changes(program, path) for path in files_of(program, name)[:12])


def test_a_new_part_decides_until_it_is_said_not_to(program: Path) -> None:
    """What the list does not know counts, and so do the filters of system calls and a module that goes."""
    before = program_digest(program)
    (program / "judgement").mkdir()
    (program / "judgement" / "__init__.py").touch()
    with_more = program_digest(program)
    shutil.rmtree(program / "judgement")
    assert before != with_more
    assert before == program_digest(program)
    (filters,) = {path.parent for path in program.rglob("*.bpf")}
    assert changes(program, sorted(filters.glob("*.bpf"))[0])


def test_nothing_that_grading_imports_is_left_out() -> None:
    """Followed through all imports, judging needs no part that does not count but the sentences' names."""
    waiting = [
        name for name in OURS if part(name) in {"grading", "sandbox"} and name != "autograder.grading.batch"
    ]
    waiting += [entry.module for entry in registered().values()]  # which no import names
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in FILES and name not in seen:
            seen.add(name)
            parts = name.split(".")
            waiting += [*imports(name), *(".".join(parts[:end]) for end in range(1, len(parts)))]
    needed = {part(name) for name in seen} - {""}
    assert {"messages"} == needed & TELLING
    assert set(DECIDING) == needed - TELLING


def test_libraries_that_decide_are_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another version of flint, with which formulas are compared, or of what a rubric preloads, counts."""
    course = make_course(tmp_path / "course")
    assignment = assignments.load(course, NAME)
    preloading = msgspec.structs.replace(
        assignment.rubric.assignment, preload=("numpy", "rich.table", "json")
    )
    rubric = msgspec.structs.replace(assignment.rubric, assignment=preloading)
    digests = [assignment.digest(), msgspec.structs.replace(assignment, rubric=rubric).digest()]
    original = importlib.metadata.version
    for changed in ("python-flint", "rich", "numpy"):
        with monkeypatch.context() as patch:
            patch.setattr(
                importlib.metadata,
                "version",
                lambda name, other=changed: original(name) + "+" * (name == other),
            )
            digests.append(msgspec.structs.replace(assignment, rubric=rubric).digest())
    assert 5 == len(set(digests))


def test_a_preloaded_module_of_ones_own_counts_by_its_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no package brings a module, its file counts; a missing one is said to be missing."""
    module = tmp_path / "coursetools.py"
    module.write_text("VERSION = 1\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    first = packages(("coursetools.parts",))
    module.write_text("VERSION = 2\n", encoding="utf-8")
    assert first != packages(("coursetools.parts",))
    assert "nowhere_to_be_found absent" in packages(("nowhere_to_be_found",))
    assert packages() == packages(("json", "numpy.linalg"))
