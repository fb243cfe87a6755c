"""Notebooks that were collected, but lie or are called otherwise than grading looks for them."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from autograder.course import Course


def misplaced(course: Course, assignment: str, notebooks: Collection[str]) -> list[str]:
    """A sentence for each notebook below submitted/ that is not graded for its place or its name.

    Args:
        course: whose folder of submissions.
        assignment: the assignment.
        notebooks: the names of its notebooks, without the ending.
    """
    submitted = course.root / "submitted"
    sentences = []
    for loose in _notebooks(submitted):
        wanted = f"<student>/{assignment}/{assignment}.ipynb"
        sentences.append(_sentence(submitted, loose, wanted))
    for student in sorted(entry for entry in submitted.iterdir() if _is_folder(entry)):
        try:
            sentences += _of_student(student, assignment, notebooks)
        except OSError as error:  # an archive may bring folders that nobody can enter
            name = ascii(student.name)[1:-1]
            sentences.append(f"submitted/{name} cannot be looked at: {error.strerror}; change its rights")
    return sentences


def _of_student(student: Path, assignment: str, notebooks: Collection[str]) -> list[str]:
    folder = student / assignment
    missing = [name for name in sorted(notebooks) if not (folder / f"{name}.ipynb").exists()]
    if not missing:
        return []
    wanted = f"{student.name}/{assignment}/{missing[0]}.ipynb"
    found = [one for one in _notebooks(folder) if one.stem not in notebooks]
    if not folder.exists():
        found += [one for one in _notebooks(student) if one.stem.startswith(missing[0])]
    return [_sentence(student.parent, one, wanted) for one in found]


def _sentence(submitted: Path, found: Path, wanted: str) -> str:
    place = ascii(str(found.relative_to(submitted)))[1:-1]
    return f"submitted/{place} is not graded; expected submitted/{ascii(wanted)[1:-1]}: move or rename it"


def _notebooks(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.ipynb")) if _is_folder(folder) else []


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()
