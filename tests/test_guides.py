"""Closed lists for graders in shipped rubrics match right answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from autograder.core.wording import get_text
from autograder.messages import list_languages
from autograder.questions.base.judging.manual import read_manual_options
from autograder.questions.base.values import prose
from autograder.rubric import Item, Question, load_rubric

ROOT = Path(__file__).parents[1]
LINES = [
    pytest.param(path.stem, question, item, id=f"{path.stem}: {question.id}.{item.id}")
    for path in sorted((ROOT / "rubrics").glob("*.toml"))
    for question in load_rubric(path).questions
    for item in question.items
    if item.manual
]
KEYS = {
    (path.parent.name, cell["metadata"]["nbgrader"]["grade_id"]): "".join(cell["source"])
    for path in sorted((ROOT / "assignments").glob("*/*.ipynb"))
    for cell in json.loads(path.read_text("utf-8"))["cells"]
    if cell["metadata"].get("nbgrader", {}).get("solution")
}
"""The answer keys by assignment and cell."""


@pytest.mark.parametrize(("name", "question", "item"), LINES)
def test_closed_lists_find_right_answers(name: str, question: Question, item: Item) -> None:
    """A closed list that suggests a line matches the answer key or the example for full points."""
    guide = read_manual_options(question, item)
    assert guide.examples is not None
    names = (item.cell, question.answer_cell, question.id)
    key = next(KEYS[name, cell] for cell in names if (name, cell) in KEYS)
    for language in list_languages():
        right = f"{key}\n{get_text(guide.examples.full, language)}"
        assert prose.find_spans(right, guide.suggest) or not guide.suggest
