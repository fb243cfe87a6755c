"""The shipped course: the demo grades it, and its assignments are examples to copy."""

from __future__ import annotations

import difflib
from pathlib import Path

import autograder
from autograder.authoring.new_assignment import NewAssignment, write_new_files
from autograder.core.errors import CourseError

PARTS = ("assignments", "rubrics", "reference")
CONFIGURATION = "nbgrader_config.py"
_NOT_SHIPPED = {"__pycache__", ".ipynb_checkpoints"}


def find_shipped_course() -> Path:
    """Return the folder of the shipped course: in the installed package, or in a checkout around it.

    Raises:
        CourseError: it is in neither.
    """
    package = Path(autograder.__file__).parent
    for folder in (package / "shipped", package.parent):
        if all((folder / part).is_dir() for part in PARTS):
            return folder
    raise CourseError(f"{package / 'shipped'}: the shipped course is missing; install the package again")


def list_examples() -> list[str]:
    """Return the names of the shipped assignments."""
    return sorted(path.stem for path in (find_shipped_course() / "rubrics").glob("*.toml"))


def copy_example(folder: Path, example: str) -> NewAssignment:
    """Copy a shipped assignment with the reference into a course. Never replace a file that differs.

    Args:
        folder: of a course, or empty, or not there yet.
        example: the name of the shipped assignment.

    Raises:
        CourseError: there is no such assignment, the folder holds something else, or another file is in the
            way. Nothing is written in these cases.
    """
    shipped, examples = find_shipped_course(), list_examples()
    if example not in examples:
        close = difflib.get_close_matches(example, examples, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"expected one of {', '.join(examples)}"
        raise CourseError(f"--example: there is no shipped assignment {example!r}; {hint}")
    copied = [shipped / "rubrics" / f"{example}.toml"]
    for part in (shipped / "assignments" / example, shipped / "reference"):
        copied += [path for path in sorted(part.rglob("*")) if path.is_file() and _is_shipped(path)]
    return write_new_files(
        folder.resolve(), {path.relative_to(shipped).as_posix(): path.read_bytes() for path in copied}
    )


def _is_shipped(path: Path) -> bool:
    return not _NOT_SHIPPED.intersection(path.parts)
