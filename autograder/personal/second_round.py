"""A second round: an assignment made of one question, whose answer cell holds what a student handed in.

Its rubric and its source notebook follow from the question's. Each student gets a notebook of their own.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import tomli_w
from msgspec import Struct

from autograder import atomic
from autograder.assignment import Assignment
from autograder.course import Course
from autograder.errors import CourseError, Place
from autograder.messages import sentence
from autograder.notebook.document import joined, load_tree
from autograder.paths import files_below
from autograder.records import Cell, Submission
from autograder.rubric import Question, changed_question, read_tables
from autograder.syntax import UNREADABLE, defines, needed, parsed
from autograder.variants.expressions import has_placeholder
from autograder.wording import text_in

SUFFIX = "second"
_MAGIC = ("%", "!", "?")
_ELSEWHERE = ("task", "bonus", "notebook", "carry_forward", "answer_cell", "second_round")
"""Keys of a question that speak of what the new assignment does not have."""
_KEPT = ("preload", "languages", "limits", "symbols", "redraw")
_PROMPT = "second-round"
_MADE_BY = "# Made by autograder second-round"


class RoundFiles(Struct, frozen=True):
    """A second round as files of the course."""

    name: str
    """Of the assignment."""
    rubric: bytes
    notebook: bytes
    """The source, with its solution."""
    data: Mapping[str, Path]
    """What is given out beside it: path → file of the first round."""
    changed: bool
    """The question changes, and not the answer."""

    def write(self, course: Course) -> None:
        """Write rubric, source notebook and data files.

        Raises:
            CourseError: there is an assignment of this name that was not made so.
        """
        folder, rubric = course.sources / self.name, course.rubrics / f"{self.name}.toml"
        if rubric.exists() and not rubric.read_text("utf-8").startswith(_MADE_BY):
            raise CourseError(f"{rubric}: is no second round; rename that assignment")
        for path, file in self.data.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            atomic.copy(file, folder / path)
        folder.mkdir(parents=True, exist_ok=True)
        atomic.write(folder / f"{self.name}.ipynb", self.notebook)
        atomic.write(rubric, self.rubric)


def compose(first: Assignment, question: Question) -> RoundFiles:
    """Make the second round of a question.

    Args:
        first: the assignment that was sat.
        question: of it.

    Raises:
        CourseError: the question cannot have one; says why.
        RubricError: it is not valid as its ``second_round`` changes it.
    """
    where = f"{first.name}: question {question.id!r}"
    if question.file or not question.answer:
        raise CourseError(f"{where}: a second round is about an answer with a name, in a cell of code")
    table = read_tables(first.course.rubric(first.name).read_bytes(), first.name)
    entry = next(one for one in table["question"] if one.get("id") == question.id)
    if has_placeholder(entry):
        raise CourseError(
            f"{where}: what it asks is drawn for each student; a second round cannot follow yet"
        )
    languages = first.rubric.assignment.languages
    said: dict[str, Any] = {"title": {one: text_in(question.title, one) or question.id for one in languages}}
    changed: dict[str, Any] = entry
    text: dict[str, str] = {}
    solution = ""
    if question.second_round:
        changed, text, solution = changed_question(entry, Place(where), first.rubric.assignment)
    name = f"{first.name}-{question.id}-{SUFFIX}".replace(".", "-")
    own = {key: value for key, value in changed.items() if key not in _ELSEWHERE}
    own["item"] = [
        {key: value for key, value in item.items() if key != "cell"}
        for item in changed["item"]
        if not item.get("manual")
    ]
    own["points"] = sum((Decimal(item["points"]) for item in own["item"] if item["points"] > 0), Decimal(0))
    if not own["points"]:
        raise CourseError(f"{where}: people decide about all of it; a second round is judged by its checks")
    titles = {one: sentence("second-round.title", one, title=said["title"][one]) for one in languages}
    settings = {key: value for key, value in table["assignment"].items() if key in _KEPT}
    if settings.get("redraw") == "attempt":
        settings["redraw"] = "student"  # the fault is proved with the inputs that every attempt meets
    data = _data(first, question)
    notebook = {"name": name, "data": sorted({path.partition("/")[0] for path in data})}
    assignment = {"name": name, "title": titles, "points": own["points"], **settings, "notebooks": [notebook]}
    rubric = f"{_MADE_BY} of {first.name}, question {question.id}.\n" + tomli_w.dumps(
        {"version": 1, "assignment": assignment, "question": [own]}
    )
    prompts = {
        one: sentence("second-round.changed", one, title=said["title"][one], text=text[one])
        if text
        else sentence("second-round.prompt", one, title=said["title"][one])
        for one in languages
    }
    source = _notebook(first, question, prompts, solution, own["points"])
    return RoundFiles(name, rubric.encode(), source, data, bool(text))


def _data(first: Assignment, question: Question) -> dict[str, Path]:
    """The data files of the question's notebook."""
    stated = next(one for one in first.rubric.assignment.notebooks if one.name == question.notebook)
    folder, found = first.course.release(first.name), dict[str, Path]()
    for name in stated.data:
        path = folder / name
        found |= (
            {f"{name}/{inner}": one for inner, one in files_below(path)} if path.is_dir() else {name: path}
        )
    return found


def _notebook(
    first: Assignment, question: Question, prompts: Mapping[str, str], solution: str, points: Decimal
) -> bytes:
    """The source: what was given before the question, its text, a right answer, and the points' cell."""
    path = first.course.source(first.name) / f"{question.notebook}.ipynb"
    tree = load_tree(atomic.read(path), [])
    cells: list[dict[str, Any]] = tree["cells"]
    flags = [cell.get("metadata", {}).get("nbgrader") or {} for cell in cells]
    ids = [one.get("grade_id") for one in flags]
    answer_cell = first.releases[question.notebook].answer_cell(question)
    at = ids.index(answer_cell)
    if cells[at]["cell_type"] != "code":
        raise CourseError(
            f"{first.name}: question {question.id!r}: a second round is about an answer in code"
        )
    given = [
        cell
        for cell, flag in zip(cells[:at], flags, strict=False)
        if cell["cell_type"] == "code" and not flag.get("solution") and not flag.get("grade")
    ]
    asked = at
    while asked and cells[asked - 1]["cell_type"] == "markdown" and not flags[asked - 1].get("solution"):
        asked -= 1
    texts = cells[asked:at] if asked else cells[max(at - 1, 0) : at]
    solution = solution or _key(cells, given, question.answer)
    answer = {
        **cells[at],
        "source": f"### BEGIN SOLUTION\n{solution.strip()}\n### END SOLUTION",
        "metadata": {"nbgrader": {**flags[at], "grade_id": f"{question.id}-answer", "grade": False}},
    }
    answer["metadata"]["nbgrader"].pop("points", None)
    prompt = {
        "id": _PROMPT,
        "cell_type": "markdown",
        "metadata": _locked(_PROMPT),
        "source": _in_languages(prompts),
    }
    graded: dict[str, Any] = {
        "id": hashlib.sha256(question.id.encode()).hexdigest()[:12],
        "cell_type": "code",
        "metadata": _locked(question.id, points),
        "source": f'check("{question.id}")',
        "outputs": [],
        "execution_count": None,
    }
    tree["cells"] = [prompt, *given, *texts, answer, graded]
    return (json.dumps(tree, ensure_ascii=False, indent=1) + "\n").encode()


def key_answer(first: Assignment, question: Question) -> str:
    """What the answer key's notebook has for an answer, with all that it needs; empty: it is not there."""
    path = first.course.source(first.name) / f"{question.notebook}.ipynb"
    return _key(load_tree(atomic.read(path), [])["cells"], (), question.answer)


def _key(cells: Sequence[Mapping[str, Any]], given: Collection[Mapping[str, Any]], answer: str) -> str:
    code = (cell for cell in cells if cell["cell_type"] == "code" and cell not in given)
    return needed(module(joined(cell["source"]) or "" for cell in code), answer)


def _locked(grade_id: str, points: Decimal | None = None) -> dict[str, Any]:
    flags = {"schema_version": 3, "grade_id": grade_id, "grade": points is not None, "solution": False}
    worth = {} if points is None else {"points": int(points) if points == int(points) else float(points)}
    return {"nbgrader": {**flags, "locked": True, "task": False, **worth}}


def _in_languages(texts: Mapping[str, str]) -> str:
    """A text cell in all languages, as source notebooks have it."""
    (_, first), *others = texts.items()
    return "\n".join([first, *(f"<!-- {language} -->\n{text}" for language, text in others)])


def module(sources: Iterable[str]) -> str:
    """Cells of code as one module: without magics, and without cells that are no Python."""
    return "\n\n".join(_readable(sources))


def _readable(sources: Iterable[str]) -> Iterator[str]:
    for source in sources:
        plain = "\n".join(line for line in source.split("\n") if not line.lstrip().startswith(_MAGIC))
        for text in (source, plain):  # a line of code may begin with % as well
            with contextlib.suppress(*UNREADABLE):
                parsed(text)
                yield text
                break


def own_answer(submission: Submission, answer: str) -> str:
    """What a student wrote for an answer, with all of their own cells that it needs; empty: it is not there.

    Args:
        submission: the notebook.
        answer: the name that the question asks for.
    """
    own = [cell.source for cell in submission.cells if isinstance(cell, Cell) and not cell.locked]
    listing = needed(module(own), answer)
    return listing if defines(listing, answer) else ""


def own_key(student: str, source: str) -> str:
    """What tells one student's notebook from all others."""
    return hashlib.sha256(f"{student}\0{source}".encode()).hexdigest()[:20]
