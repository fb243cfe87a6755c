"""All shipped assignments: valid sources, releases without solutions, and both languages."""

from __future__ import annotations

import re
import string
import tomllib
from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
import pytest

from autograder.notebook.release_builder import build_release
from autograder.rubric import Question, Rubric, load_rubric
from tests.support.solution_lines import leaked, solution_fragments

ROOT = Path(__file__).parents[1]
NAMES = sorted(path.stem for path in (ROOT / "rubrics").glob("*.toml"))
TASKS = {
    "dl4nlp-exam": ({"1": 23, "2": 21, "3": 20, "4": 16, "5": 10}, 90),
    "gpt2": ({"1": 27, "2": 20, "3": 20, "4": 13, "5": 20}, 100),
}
"""The points of each task and of the whole assignment."""


@cache
def rubric_of(name: str) -> Rubric:
    return load_rubric(ROOT / "rubrics" / f"{name}.toml")


def source_of(name: str) -> bytes:
    return (ROOT / "assignments" / name / f"{name}.ipynb").read_bytes()


def read_cells(notebook: bytes) -> dict[str, str]:
    """Return the sources of a notebook's cells by grade_id."""
    cells = nbformat.reads(notebook.decode(), as_version=4).cells
    return {cell.metadata.nbgrader.grade_id: cell.source for cell in cells if "nbgrader" in cell.metadata}


@pytest.mark.parametrize("name", NAMES)
def test_the_source_is_a_valid_notebook_without_outputs(name: str) -> None:
    """The source is nbformat 4.5 with unique ids and without outputs."""
    notebook = nbformat.reads(source_of(name).decode(), as_version=4)
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [([], None)] * len(code) == [(cell.outputs, cell.execution_count) for cell in code]


@pytest.mark.parametrize("language", ["", "en", "de"])
@pytest.mark.parametrize("name", NAMES)
def test_the_release_holds_no_solution(name: str, language: str) -> None:
    """The release contains no line of a solution, and only the chosen language."""
    fragments = solution_fragments(source_of(name))
    release = build_release(source_of(name), rubric_of(name), name, language)
    assert fragments
    assert leaked(fragments, release) == ()
    prompts = {cell: text for cell, text in read_cells(release).items() if cell.endswith("-prompt")}
    assert prompts
    if language and name in TASKS:
        foreign = {"en": " Sie ", "de": " the "}[language]
        for cell, text in prompts.items():
            assert "<!--" not in text, cell
            assert text.count("\n#") == 0, cell
            assert foreign not in remove_quotes(text), cell


def remove_quotes(text: str) -> str:
    """Return a text without quotations, which stay in their language."""
    lines = (line for line in text.splitlines() if not line.startswith((">", "1.", "2.", "3.", "4.")))
    return re.sub(r"„[^“]*“|\*[^*]*\*|`[^`]*`", "", "\n".join(lines))


@pytest.mark.parametrize("name", TASKS)
def test_points_add_up(name: str) -> None:
    """The tasks and the total are worth the points stated in the rubric."""
    rubric, (tasks, points) = rubric_of(name), TASKS[name]
    assert tasks == {task.id: task.points for task in rubric.assignment.tasks}
    for task in tasks:
        assert tasks[task] == sum(question.points for question in rubric.questions if question.task == task)
    assert Decimal(points) == rubric.assignment.points == sum(tasks.values())


@pytest.mark.parametrize(
    ("name", "question"),
    [
        pytest.param(name, question, id=f"{name}-{question.id}")
        for name in TASKS
        for question in rubric_of(name).questions
    ],
)
def test_headings_state_title_and_points_of_the_rubric(name: str, question: Question) -> None:
    """Headings in the notebook state title and points of the feedback pages, in both languages."""
    lines = read_cells(source_of(name))[f"{question.id}-prompt"].splitlines()
    headings = [line for line in lines if line.startswith("### ")]
    words = ("point", "Punkt") if question.points == 1 else ("points", "Punkte")
    for heading, language, word in zip(headings, ("en", "de"), words, strict=True):
        found = re.fullmatch(rf"### \((\w)\) (.+) \({question.points} {word}\)", heading)
        assert found
        title = question.title[language].partition(f"({found[1]}): ")[2]
        assert title.casefold().replace(",", ":") == found[2].casefold().replace(",", ":")


def list_texts(table: Any, place: str = "") -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield every table of sentences of a rubric, with its place."""
    if isinstance(table, dict):
        for name, value in table.items():
            if name in ("text", "title", "unknown") and isinstance(value, dict):
                yield f"{place}.{name}", value
            else:
                yield from list_texts(value, f"{place}.{name}")
    elif isinstance(table, list):
        for number, value in enumerate(table):
            yield from list_texts(value, f"{place}[{number}]")


@pytest.mark.parametrize("name", NAMES)
def test_every_sentence_stands_in_both_languages(name: str) -> None:
    """Titles, items, mistakes and remarks exist in English and German, with the same placeholders."""
    found = dict(list_texts(tomllib.loads((ROOT / "rubrics" / f"{name}.toml").read_text("utf-8"))))
    assert found
    assert {place: text for place, text in found.items() if {"en", "de"} != set(text)} == {}
    placeholders = {
        place: {
            tuple(name for _, name, _, _ in string.Formatter().parse(line) if name) for line in text.values()
        }
        for place, text in found.items()
    }
    assert {place: names for place, names in placeholders.items() if len(names) != 1} == {}
