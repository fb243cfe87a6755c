"""Personal variants on the command line: released with a class list, graded, reported and shown."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import pytest

from tests.cli.running import ROOT, only_object, run

pytestmark = pytest.mark.sandbox

NAME = "variants-practice"
STUDENTS = ("ada", "bob", "eve")


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a course with two listed students and three submissions.

    Ada also submits a copy of Bob's sheet.
    """
    root = tmp_path_factory.mktemp("course")
    for folder in ("assignments", "rubrics", "reference"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    (root / ".autograder").mkdir(mode=0o700)
    (root / ".autograder" / "secret").write_bytes(bytes(range(32)))
    (root / ".autograder" / "secret").chmod(0o600)
    with (root / "roster.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(
            [["id", "first_name", "last_name", "email"], *([student, "", "", ""] for student in STUDENTS[:2])]
        )
    return root


def generated(course: Path) -> dict[str, object]:
    """Return what ``generate`` prints."""
    done = run("generate", NAME, "--json", cwd=course)
    assert 0 == done.returncode, done.stderr
    return only_object(done.stdout)


@pytest.mark.slow
def test_a_class_list_makes_personal_releases(course: Path) -> None:
    """``generate`` writes a folder with the release's files for every listed student.

    Repeating it changes nothing.
    """
    first = generated(course)
    folders = [course / "personal" / student / NAME for student in STUDENTS[:2]]
    assert [str(folder) for folder in folders] == first["personal"]
    names = {path.name for path in (course / "release" / NAME).iterdir()}
    before = [{path.name: path.read_bytes() for path in folder.iterdir()} for folder in folders]
    assert [names, names] == [set(files) for files in before]
    assert before[0][f"{NAME}.ipynb"] != before[1][f"{NAME}.ipynb"]
    assert first == generated(course)
    assert before == [{path.name: path.read_bytes() for path in folder.iterdir()} for folder in folders]


def test_without_a_class_list_there_is_the_common_release_only(tmp_path: Path) -> None:
    """Without a class list there are no personal releases, and no sandbox is needed."""
    for folder in ("assignments", "rubrics", "reference"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    assert {"assignment", "kept_back", "written"} == set(generated(tmp_path))
    assert not (tmp_path / "personal").exists()
