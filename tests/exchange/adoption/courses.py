"""Assignments in the formats of nbgrader and otter, stored as text, with the submissions of a class.

A file of ``corpus/`` begins with its program's name; ``%%`` begins a cell, a file, or an answer that some
students give: ``%% answer <cell> wrong``. It gives twenty submissions: right, wrong, crashing and empty
ones, mixtures of these, and messy notebooks.
"""

from __future__ import annotations

import copy
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

CORPUS = Path(__file__).with_name("corpus")
EXPECTED = Path(__file__).with_name("expected")
NAMES = tuple(path.stem for path in sorted(CORPUS.glob("*.txt")))
Notebook = dict[str, Any]
_HASHED = re.compile(r"<(sha1|md5) ([^>]*)>")


class Block(NamedTuple):
    """A block of a corpus file."""

    words: list[str]
    text: str


class CorpusAssignment(NamedTuple):
    """An assignment of the corpus."""

    name: str
    origin: str
    notebooks: Mapping[str, Notebook]
    """The source notebooks."""
    files: Mapping[str, str]
    answers: Mapping[str, Mapping[str, list[str]]]
    """Answers by cell or question, and by type: right, wrong, crash."""

    def write(self, course: Path) -> Path:
        """Write the source files in the layout of the program; return their folder."""
        folder = course / "source" / self.name if self.origin == "nbgrader" else course
        for path, text in self.files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, "utf-8")
        for name, notebook in self.notebooks.items():
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{name}.ipynb").write_text(json.dumps(notebook), "utf-8")
        return folder


def load(name: str) -> CorpusAssignment:
    """Load an assignment of the corpus."""
    first, *blocks = _blocks((CORPUS / f"{name}.txt").read_text("utf-8"))
    origin = first.words[0]
    files = {one.words[1]: one.text + "\n" for one in blocks if one.words[0] == "file"}
    answers: dict[str, dict[str, list[str]]] = {}
    for one in blocks:
        if one.words[0] == "answer":
            answers.setdefault(one.words[1], {}).setdefault(one.words[2], []).append(one.text)
    cells = [one for one in blocks if one.words[0] not in {"file", "answer"}]
    notebooks: dict[str, Notebook] = {}
    at = name
    for one in cells:
        if one.words[0] == "notebook":
            at = one.words[1]
            continue
        into = notebooks.setdefault(at, _notebook())["cells"]
        if one.words[0] == "output":
            into[-1]["outputs"] = [_output(one.text)]
        else:
            into += (_nbgrader_cell if origin == "nbgrader" else _otter_cells)(one)
    for notebook in notebooks.values():
        notebook["cells"] = _joined_tests(notebook["cells"])
    for number, cell in enumerate(cell for one in notebooks.values() for cell in one["cells"]):
        cell["id"] = f"cell-{number}"
    for identifier, text in _right(notebooks, origin):
        answers.setdefault(identifier, {})["right"] = [text]
    return CorpusAssignment(name, origin, notebooks, files, answers)


def _blocks(text: str) -> Iterator[Block]:
    head, *parts = text.split("\n%% ")
    yield Block(head.split(), "")
    for part in parts:
        words, _, body = part.partition("\n")
        yield Block(words.split(), _HASHED.sub(_hashed, body.rstrip("\n")))


def _hashed(found: re.Match[str]) -> str:
    return hashlib.new(found.group(1), found.group(2).encode()).hexdigest()


def _notebook() -> Notebook:
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": [], "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def _cell(kind: str, text: str, metadata: Mapping[str, Any] | None = None) -> dict[str, Any]:
    code = {"outputs": [], "execution_count": None} if kind == "code" else {}
    return {"cell_type": kind, "metadata": dict(metadata or {}), "source": text, **code}


def _output(text: str) -> dict[str, Any]:
    if text.endswith("!"):  # printed
        return {"output_type": "stream", "name": "stdout", "text": text + "\n"}
    shown = {"text/plain": text}
    return {"output_type": "execute_result", "data": shown, "metadata": {}, "execution_count": 1}


def _nbgrader_cell(block: Block) -> list[dict[str, Any]]:
    kind, *words = block.words
    if not words:
        return [_cell(kind, block.text)]
    role, identifier, *points = words
    flags = {
        "schema_version": 3,
        "grade_id": identifier,
        "grade": role in {"test", "manual"},
        "solution": role in {"answer", "manual"},
        "locked": role in {"given", "test", "task-cell"},
        "task": role == "task-cell",
    }
    marks = {**flags, **({"points": float(points[0])} if points else {})}
    return [_cell(kind, block.text, {"nbgrader": marks})]


def _otter_cells(block: Block) -> list[dict[str, Any]]:
    kind, *words = block.words
    if kind == "config":
        return [_cell("raw", f"# ASSIGNMENT CONFIG\n{block.text}")]
    if kind == "question":
        return [_cell("raw", f"# BEGIN QUESTION\n{block.text}")]
    if kind in {"solution", "written"}:
        inner = _cell("code" if kind == "solution" else "markdown", block.text)
        return [_cell("raw", "# BEGIN SOLUTION"), inner, _cell("raw", "# END SOLUTION")]
    if kind == "test":
        text = f"# HIDDEN\n{block.text}" if words else block.text
        inner = _cell("code", text)
        return [_cell("raw", "# BEGIN TESTS"), inner]
    if kind == "end":
        return [_cell("raw", "# END TESTS"), _cell("raw", "# END QUESTION")]
    return [_cell(kind, block.text)]


def _right(notebooks: Mapping[str, Notebook], origin: str) -> Iterator[tuple[str, str]]:
    for notebook in notebooks.values():
        question, before = "", ""
        for cell in notebook["cells"]:
            flags = cell["metadata"].get("nbgrader", {})
            if flags.get("solution") and not flags["grade"]:
                yield flags["grade_id"], cell["source"]
            if origin == "otter":
                if found := re.match(r"# BEGIN QUESTION\nname: (\S+)", cell["source"]):
                    question = found.group(1)
                if before == "# BEGIN SOLUTION" and cell["cell_type"] == "code":
                    yield question, cell["source"]
                before = cell["source"]


def _joined_tests(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the cells with one block of tests per question, or none for questions without tests."""
    kept: list[dict[str, Any]] = []
    inside = False
    for cell in cells:
        edge = cell["source"] if cell["cell_type"] == "raw" else ""
        if (edge == "# BEGIN TESTS" and inside) or (edge == "# END TESTS" and not inside):
            continue
        inside = edge == "# BEGIN TESTS" or (inside and edge != "# END TESTS")
        kept.append(cell)
    return kept


Handed = Mapping[str, Notebook]
"""Notebooks by name."""


def submissions(assignment: CorpusAssignment, released: Handed) -> Mapping[str, Handed]:
    """Return the submissions of twenty students, by type.

    Args:
        assignment: of the corpus.
        released: the notebooks as students got them.
    """
    own = {
        identifier: [*one["right"], *one.get("wrong", []), *one.get("crash", []), ""]
        for identifier, one in assignment.answers.items()
    }
    first = {
        "01-right": {key: one["right"][0] for key, one in assignment.answers.items()},
        "02-empty": {},
        "03-wrong": {key: one["wrong"][0] for key, one in assignment.answers.items()},
        "04-otherwise-wrong": {key: one["wrong"][-1] for key, one in assignment.answers.items()},
        "05-crash": {key: one["crash"][0] for key, one in assignment.answers.items()},
    }
    mixed = {
        f"{number:02}-mixed": {
            key: texts[(number * (place + 1) + place) % len(texts)]
            for place, (key, texts) in enumerate(own.items())
        }
        for number in range(6, 16)
    }
    handed = {name: _answered(assignment, released, given) for name, given in {**first, **mixed}.items()}
    messy: dict[str, Callable[[CorpusAssignment, Notebook], None]] = {
        "16-scratch": _scratch,
        "17-defined-again": _defined_again,
        "18-warns": _warns,
        "19-tests-edited": _tests_edited,
        "20-as-saved": _as_saved,
    }
    for name, change in messy.items():
        handed[name] = _answered(assignment, released, first["01-right"])
        for notebook in handed[name].values():
            change(assignment, notebook)
    return handed


def _answered(assignment: CorpusAssignment, released: Handed, given: Mapping[str, str]) -> Handed:
    found = copy.deepcopy(dict(released))
    for notebook in found.values():
        for identifier, cell in _answer_cells(assignment, notebook):
            if given.get(identifier):
                cell["source"] = given[identifier]
    return found


def _answer_cells(assignment: CorpusAssignment, notebook: Notebook) -> Iterator[tuple[str, dict[str, Any]]]:
    last: dict[str, Any] = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        text = "".join(cell["source"])
        if assignment.origin == "nbgrader":
            flags = cell["metadata"].get("nbgrader", {})
            if flags.get("grade_id") in assignment.answers:
                yield flags["grade_id"], cell
        elif found := re.search(r"grader\.check\([\"'](\w+)", text):
            yield found.group(1), last
        last = cell


def _scratch(_: CorpusAssignment, notebook: Notebook) -> None:
    """Add cells of the student, of which one raises an error and one is not valid Python."""
    notebook["cells"].insert(2, _own_cell("print('trying')\n1 / 0", "scratch-1"))
    notebook["cells"].insert(5, _own_cell("x = = 2", "scratch-2"))


def _defined_again(assignment: CorpusAssignment, notebook: Notebook) -> None:
    """Add a wrong version of an answer at the end."""
    for identifier, _ in list(_answer_cells(assignment, notebook))[:1]:
        notebook["cells"].append(_own_cell(assignment.answers[identifier]["wrong"][0], "again"))


def _warns(assignment: CorpusAssignment, notebook: Notebook) -> None:
    """Make the first function issue a warning whenever it is called."""
    for _, cell in list(_answer_cells(assignment, notebook))[:1]:
        lines = cell["source"].split("\n")
        at = next((at for at, line in enumerate(lines) if line.startswith("def ")), None)
        if at is not None:
            lines.insert(at + 1, "    import warnings; warnings.warn('slow')")
            cell["source"] = "\n".join(lines)


def _tests_edited(_: CorpusAssignment, notebook: Notebook) -> None:
    """Add prints to the tests, as a student who inspected them."""
    for cell in notebook["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("grade") and cell["cell_type"] == "code":
            cell["source"] = "print('testing')\n" + "".join(cell["source"])


def _as_saved(_: CorpusAssignment, notebook: Notebook) -> None:
    """Save the notebook after a run, with execution counts, outputs and an IPython magic."""
    notebook["cells"].insert(1, _own_cell("%config InlineBackend.figure_format = 'svg'", "magic"))
    for number, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] == "code":
            cell["execution_count"] = number
            cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "done\n"}]


def _own_cell(text: str, identifier: str) -> dict[str, Any]:
    return {**_cell("code", text), "id": identifier}
