"""Write a new assignment, and a new course around it if the folder is empty.

Rubric, checks and source notebook are starting points for the author to change. They are made of templates:
an example question of each kind, as a Markdown file of fenced blocks in the kind's folder. The blocks of a
template are named by the first line of their fence::

    ```toml assignment     settings the assignment needs: ``preload`` and ``symbols``; optional
    ```toml rubric         one [[question]]
    ```markdown prompt     the text of the question
    ```python given        code that students get; optional
    ```python answer       the answer cell, solution between markers (or ``markdown answer``)
    ```markdown ID         the answer key of a manually graded cell with this id; optional
    ```python checks       the checks of the question, for reference/checks; optional

In the names of such files, ``MODULE`` is replaced by the name of the assignment.
"""

from __future__ import annotations

import difflib
import json
import keyword
import re
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from msgspec import Struct

from autograder import rubric as rubrics
from autograder.core import atomic
from autograder.core.errors import CourseError
from autograder.questions import load_kinds
from autograder.rubric import Question, Rubric

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
"""The course's ``nbgrader_config.py``. It imports nothing of this package: formgrader may run without it."""

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

COURSE_FILES = {"README.md": README, ".gitignore": IGNORED, "nbgrader_config.py": CONFIGURATION}
"""The files of a new course that belong to no assignment."""

_KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
_TITLE = """\
# {name}

Write your answers into the cells below the questions. `check("…")` tells whether an answer has the right
form, never whether it is right."""
_HEAD = """\
# What there is to earn, and for what. Change numbers and texts, then run: autograder verify {name}
version = 1                                  # raise it with every change; each score names it

[assignment]
name = "{name}"
points = {points}                                   # the sum of the questions' points
languages = ["en"]                           # ["en", "de"]: texts are {{ en = "…", de = "…" }}
title = {{ en = "{name}" }}
"""


class NewAssignment(Struct, frozen=True):
    """The files written for a new assignment."""

    files: tuple[Path, ...]
    course: bool
    """Whether a course was created around the assignment."""


def start_assignment(folder: Path, name: str, kinds: Sequence[str] = ()) -> NewAssignment:
    """Write the rubric, the notebook and the checks of a new assignment. Never replace a file.

    Args:
        folder: of a course, or empty, or not there yet.
        name: of the assignment.
        kinds: of its questions; all kinds if empty.

    Raises:
        CourseError: the name is not allowed or taken, there is no such kind, or the folder holds something
            else. Nothing is written in these cases.
    """
    if not NAME.fullmatch(name):
        raise CourseError(
            f"{name!r} cannot be an assignment's name: expected a letter, then up to 59 letters, digits, "
            "'-' or '_'"
        )
    # The name becomes part of the name of a Python module, which must be a valid identifier and no keyword.
    module = name.replace("-", "_")
    if keyword.iskeyword(module):
        module += "_"
    folder = folder.resolve()
    _is_new(folder)  # refuses a folder before the name of a kind
    templates = choose_templates(kinds, module)
    text = render_rubric(name, templates)
    checks = {
        f"reference/checks/{template.question['checks']}": f"{template.checks}\n"
        for template in templates
        if template.checks
    }
    files = {
        f"rubrics/{name}.toml": text,
        f"assignments/{name}/{name}.ipynb": render_notebook(_parse_rubric(text, checks), templates),
        **checks,
    }
    taken = [path for path in (*files, f"assignments/{name}") if (folder / path).exists()]
    if taken:
        raise CourseError(
            f"{folder / taken[0]} is there already, and nothing is replaced; choose another name"
        )
    return write_new_files(folder, {path: text.encode() for path, text in files.items()})


def write_new_files(folder: Path, files: Mapping[str, bytes]) -> NewAssignment:
    """Write the files of an assignment, and begin a course around it if there is none.

    Args:
        folder: of a course, or empty, or not there yet.
        files: by path in the course; a file that is there already must be the same.

    Raises:
        CourseError: the folder holds something else, a file differs, or one cannot be written.
    """
    is_new = _is_new(folder)
    # Everything is checked before the first write: an error leaves the folder as it was.
    for path, data in files.items():
        if (folder / path).exists() and (folder / path).read_bytes() != data:
            raise CourseError(f"{folder / path} is there already and differs; nothing is replaced")
    written = {path: data for path, data in files.items() if not (folder / path).exists()}
    if is_new:
        written |= {
            path: text.encode() for path, text in COURSE_FILES.items() if not (folder / path).exists()
        }
    try:
        for subfolder in FOLDERS:
            (folder / subfolder).mkdir(parents=True, exist_ok=True)
        for path, data in written.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            atomic.write_bytes(folder / path, data)
    except OSError as error:
        raise CourseError(f"{error.filename or folder}: cannot be written: {error.strerror}") from error
    return NewAssignment(tuple(folder / path for path in written), is_new)


def _parse_rubric(rubric: str, checks: Mapping[str, str]) -> Rubric:
    """Parse the rubric of templates with checks that are not written to the course yet."""
    # The parser reads the files of checks, which are not in the course yet.
    with tempfile.TemporaryDirectory() as folder:
        for path, text in checks.items():
            (Path(folder) / path).parent.mkdir(parents=True, exist_ok=True)
            (Path(folder) / path).write_text(text, "utf-8")
        return rubrics.parse_rubric(rubric.encode(), reference=Path(folder) / rubrics.REFERENCE)


def _is_new(folder: Path) -> bool:
    """Decide whether a new course is needed; hidden files and a README do not make a folder non-empty.

    Raises:
        CourseError: the folder is neither a course nor empty.
    """
    if all((folder / subfolder).is_dir() for subfolder in FOLDERS[:2]):
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


def render_notebook(rubric: Rubric, templates: Sequence[Template]) -> str:
    """Return the notebook as JSON; the same templates give the same text.

    Args:
        rubric: made of the templates; it gives the maximum points of each cell.
        templates: one for each question, in order.
    """
    cells = [
        _make_cell("title", _TITLE.format(name=rubric.assignment.name), locked=True),
        _make_cell("setup", "from coursecheck import check", code=True, locked=True),
        *(
            cell
            for question, template in zip(rubric.questions, templates, strict=True)
            for cell in _make_question_cells(question, template)
        ),
    ]
    tree = {
        "cells": cells,
        "metadata": {"kernelspec": _KERNEL, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(tree, indent=1, ensure_ascii=False) + "\n"


def _make_question_cells(question: Question, template: Template) -> Iterator[dict[str, Any]]:
    identifier, points = question.id, question.list_cells()
    yield _make_cell(f"{identifier}-prompt", template.prompt, locked=True)
    if template.given:
        yield _make_cell(f"{identifier}-given", template.given, code=True, locked=True)
    if template.text_answer:
        yield _make_cell(identifier, template.answer, grade=True, solution=True, points=points[identifier])
        return
    yield _make_cell(f"{identifier}-answer", template.answer, code=True, solution=True)
    check = f'check("{identifier}")'
    yield _make_cell(identifier, check, code=True, grade=True, locked=True, points=points[identifier])
    for name, key in template.written.items():
        yield _make_cell(name, key, grade=True, solution=True, points=points[name])


def _make_cell(
    identifier: str, source: str, *, code: bool = False, points: Decimal | None = None, **flags: bool
) -> dict[str, Any]:
    nbgrader: dict[str, Any] = {
        "schema_version": 3,
        "grade_id": identifier,
        "grade": False,
        "solution": False,
        "locked": False,
        "task": False,
        **flags,
    }
    if points is not None:
        # nbgrader stores points as JSON numbers; whole points stay integers, as formgrader writes them.
        nbgrader["points"] = int(points) if points == int(points) else float(points)
    return {
        "cell_type": "code" if code else "markdown",
        "id": identifier,
        "metadata": {"nbgrader": nbgrader},
        "source": source,
        **({"outputs": [], "execution_count": None} if code else {}),
    }


def render_rubric(name: str, templates: Sequence[Template]) -> str:
    """Format the rubric with all questions."""
    points = sum((Decimal(template.question["points"]) for template in templates), Decimal(0))
    preload = sorted({module for template in templates for module in template.assignment.get("preload", ())})
    text = _HEAD.format(name=name, points=points)
    if preload:
        text += f"preload = {json.dumps(preload)}".ljust(45) + "# imported before a submission starts\n"
    symbols: dict[str, Any] = {}
    for template in templates:
        symbols |= template.assignment.get("symbols", {})
    if symbols:
        text += "\n[assignment.symbols]                         # the names that formulas may use\n"
        text += "".join(
            f"{symbol} = {_format_inline_table(options)}\n" for symbol, options in symbols.items()
        )
    return "\n".join((text, *(f"{template.rubric}\n" for template in templates)))


def _format_inline_table(options: dict[str, Any]) -> str:
    inside = ", ".join(f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in options.items())
    return f"{{ {inside} }}" if inside else "{}"


FILE = "template.md"
"""Name of the template in the folder of a kind."""
_BLOCK = re.compile(r"^```(\w+) ([\w-]+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


class Template(Struct, frozen=True):
    """The example question of one kind."""

    kind: str
    rubric: str
    """The TOML text, with its comments."""
    prompt: str
    answer: str
    text_answer: bool
    """The answer is a text cell, not code."""
    assignment: Mapping[str, Any] = {}
    given: str = ""
    checks: str = ""
    written: Mapping[str, str] = {}
    """Answer key of each additional text cell, by its id."""

    @property
    def question(self) -> Mapping[str, Any]:
        """The question's table of the rubric."""
        # Points are exact, so they must not be read as floats.
        entry: Mapping[str, Any] = tomllib.loads(self.rubric, parse_float=Decimal)["question"][0]
        return entry


def list_kinds() -> tuple[str, ...]:
    """Return the names of the kinds that have a template."""
    return tuple(name for name, kind in load_kinds().items() if (kind.folder / FILE).is_file())


def load_template(kind: str, module: str) -> Template:
    """Return the template of the kind with the given name.

    Args:
        kind: a kind's name.
        module: the assignment's name as it occurs in names of files.

    Raises:
        CourseError: there is no such kind (with a suggestion).
    """
    available = list_kinds()
    if kind not in available:
        close = difflib.get_close_matches(kind, available, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"known are: {', '.join(available)}"
        raise CourseError(f"--kinds: there is no kind {kind!r}; {hint}")
    return _read_template(kind, module)


def _read_template(kind: str, module: str) -> Template:
    text = (load_kinds()[kind].folder / FILE).read_text("utf-8").replace("MODULE", module)
    blocks = {(language, name): body.rstrip("\n") for language, name, body in _BLOCK.findall(text)}
    named = {name: body for (_, name), body in blocks.items()}
    return Template(
        kind=kind,
        rubric=named["rubric"],
        prompt=named["prompt"],
        answer=named["answer"],
        text_answer=("markdown", "answer") in blocks,
        assignment=tomllib.loads(named.get("assignment", "")),
        given=named.get("given", ""),
        checks=named.get("checks", ""),
        written={
            name: body
            for (language, name), body in blocks.items()
            if language == "markdown" and name not in {"prompt", "answer"}
        },
    )


def choose_templates(names: Sequence[str], module: str) -> tuple[Template, ...]:
    """Load the templates of these kinds, each once and in the given order; all of them if no kind is named.

    Raises:
        CourseError: there is no such kind.
    """
    if not names:
        return tuple(_read_template(kind, module) for kind in list_kinds())
    templates = {template.kind: template for template in (load_template(name, module) for name in names)}
    return tuple(templates.values())
