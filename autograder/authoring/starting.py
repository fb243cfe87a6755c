"""Writes a new assignment, and a new course around it where the folder is empty."""

from __future__ import annotations

import keyword
import re
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from autograder import atomic
from autograder import rubric as rubrics
from autograder.authoring.cells import notebook
from autograder.authoring.files import reference_file, rubric_file
from autograder.authoring.templates import chosen
from autograder.errors import CourseError

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,59}")
FOLDERS = ("assignments", "rubrics", "reference")

README = """\
# A course

- `assignments/` holds notebooks with their solutions, `rubrics/` what there is to earn, `reference/` code.
- `autograder new NAME` makes an assignment, `verify` proves its checks, `generate` writes `release/NAME/`.
- Submissions lie in `submitted/<student>/NAME/`; `autograder grade NAME` grades them.
- `.autograder/` holds the secret that hidden inputs are drawn from: keep it, and show it to nobody.
"""

CONFIGURATION = '''\
"""Makes this folder a course of nbgrader's, and keeps nbgrader from grading it."""

from nbconvert.exporters import NotebookExporter
from nbgrader.converters.base import NbGraderException

c = get_config()  # noqa: F821 - nbgrader puts this name here

# Without this, formgrader lists no assignment.
c.CourseDirectory.source_directory = "assignments"


class Refused(NotebookExporter):
    """What autograde makes before it does anything else: so nothing is run, and nothing is written."""

    def __init__(self, parent, **_options):
        folders = parent.coursedir
        student = "" if folders.student_id == "*" else f" --student {folders.student_id}"
        sentence = (
            "nbgrader's autograde is switched off in this course: it would run student code without a "
            "sandbox and replace automatic scores by 0. Nothing was run or changed. Grade with this command, "
            f"in the folder of the course: autograder grade {folders.assignment_id}{student}"
        )
        parent.log.error(sentence)
        raise NbGraderException(sentence)


# Asked by `nbgrader autograde` and by the button of formgrader.
c.Autograde.exporter_class = Refused
'''
"""The course's ``nbgrader_config.py``. It stands alone: formgrader may run where this package is not."""

IGNORED = "".join(
    f"/{name}\n"
    for name in (
        ".autograder/",
        "autograded/",
        "bonus.csv",
        "earlier/",
        "exams.toml",
        "feedback/",
        "gradebook.db",
        "grades.csv",
        "paper/",
        "personal/",
        "release/",
        "roster.csv",
        "staff/",
        "submitted/",
    )
)


class Started(Struct, frozen=True):
    """What was written."""

    files: tuple[Path, ...]
    course: bool
    """Whether a course was begun around the assignment."""


def start(folder: Path, name: str, kinds: Sequence[str] = ()) -> Started:
    """Write the rubric, the notebook and the reference of a new assignment. Nothing is ever replaced.

    Args:
        folder: of a course, or empty, or not there yet.
        name: of the assignment.
        kinds: of its questions; all where none is named.

    Raises:
        CourseError: the name is not allowed or taken, there is no such kind, or the folder holds
            something else; nothing is written then.
    """
    if not NAME.fullmatch(name):
        raise CourseError(
            f"{name!r} cannot be an assignment's name: expected a letter, then up to 59 letters, digits, "
            "'-' or '_'"
        )
    module = name.replace("-", "_")
    if keyword.iskeyword(module):
        module += "_"
    folder = folder.resolve()
    begun = _is_new(folder)
    templates = chosen(kinds, module)
    reference = reference_file(name, templates)
    text = rubric_file(name, templates)
    files = {
        f"rubrics/{name}.toml": text,
        f"assignments/{name}/{name}.ipynb": notebook(rubrics.parse(text.encode()), templates),
        **({f"reference/{module}.py": reference} if reference else {}),
    }
    taken = [
        path for path in (*files, f"assignments/{name}", f"reference/{module}") if (folder / path).exists()
    ]
    if taken:
        raise CourseError(
            f"{folder / taken[0]} is there already, and nothing is replaced; choose another name"
        )
    if begun:
        more = {"README.md": README, ".gitignore": IGNORED, "nbgrader_config.py": CONFIGURATION}
        files |= {path: text for path, text in more.items() if not (folder / path).exists()}
    try:
        for one in FOLDERS:
            (folder / one).mkdir(parents=True, exist_ok=True)
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            atomic.write(folder / path, text.encode())
    except OSError as error:
        raise CourseError(f"{error.filename or folder}: cannot be written: {error.strerror}") from error
    return Started(tuple(folder / path for path in files), begun)


def _is_new(folder: Path) -> bool:
    """Whether a course is to be begun there: hidden files and a README do not matter.

    Raises:
        CourseError: the folder is neither a course nor empty.
    """
    if all((folder / one).is_dir() for one in FOLDERS[:2]):
        return False
    if not folder.exists():
        return True
    if folder.is_dir() and all(
        entry.name.startswith(".") or entry.name == "README.md" for entry in folder.iterdir()
    ):
        return True
    raise CourseError(
        f"{folder}: expected a course folder with assignments/ and rubrics/, or an empty folder to begin "
        "a course in (choose one with --course)"
    )
