"""The source notebook of a new assignment, with nbgrader's metadata."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

from autograder.authoring.templates import Template
from autograder.rubric import Question, Rubric

_KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
_TITLE = """\
# {name}

Write your answers into the cells below the questions. `check("…")` tells whether an answer has the right
form, never whether it is right."""


def notebook(rubric: Rubric, templates: Sequence[Template]) -> str:
    """The notebook as JSON; the same templates give the same text.

    Args:
        rubric: made of the templates; it says how many points each cell can bring.
        templates: one for each question, in order.
    """
    cells = [
        _cell("title", _TITLE.format(name=rubric.assignment.name), locked=True),
        _cell("setup", "from coursecheck import check", code=True, locked=True),
        *(
            cell
            for question, template in zip(rubric.questions, templates, strict=True)
            for cell in _question(question, template)
        ),
    ]
    tree = {
        "cells": cells,
        "metadata": {"kernelspec": _KERNEL, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(tree, indent=1, ensure_ascii=False) + "\n"


def _question(question: Question, template: Template) -> Iterator[dict[str, Any]]:
    identifier, points = question.id, question.cells()
    yield _cell(f"{identifier}-prompt", template.prompt, locked=True)
    if template.given:
        yield _cell(f"{identifier}-given", template.given, code=True, locked=True)
    if template.text_answer:
        yield _cell(identifier, template.answer, grade=True, solution=True, points=points[identifier])
        return
    yield _cell(f"{identifier}-answer", template.answer, code=True, solution=True)
    check = f'check("{identifier}")'
    yield _cell(identifier, check, code=True, grade=True, locked=True, points=points[identifier])
    for name, key in template.written.items():
        yield _cell(name, key, grade=True, solution=True, points=points[name])


def _cell(
    identifier: str, source: str, *, code: bool = False, points: Decimal | None = None, **marks: bool
) -> dict[str, Any]:
    nbgrader: dict[str, Any] = {
        "schema_version": 3,
        "grade_id": identifier,
        "grade": False,
        "solution": False,
        "locked": False,
        "task": False,
        **marks,
    }
    if points is not None:
        nbgrader["points"] = int(points) if points == int(points) else float(points)
    return {
        "cell_type": "code" if code else "markdown",
        "id": identifier,
        "metadata": {"nbgrader": nbgrader},
        "source": source,
        **({"outputs": [], "execution_count": None} if code else {}),
    }
