"""Students receive nothing before submission that reveals accepted answers."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from autograder import rubric as rubrics
from autograder.course import Course
from autograder.grading import release_generation
from autograder.grading.verify.papers import with_sources
from autograder.notebook.document import parse_notebook
from autograder.notebook.student.rendering import as_html, as_text
from autograder.notebook.student.saved_notebook import report_on
from autograder.notebook.student_check import (
    FILE_NAME,
    collect_sentences,
    collect_sources,
    extract_specification,
)

COURSE = Course.from_folder(Path(__file__).parents[3])
NAMES = COURSE.list_assignments()
PUBLIC = {"id", "kind", "title", "symbols", "visible", "answer", "notebook", "text", "form", "library"}
"""Keys of a rubric with values that students may see."""
ENTRY = {
    "kind",
    "file",
    "languages",
    "title",
    "answer",
    "notebook",
    "cell",
    "names",
    "symbols",
    "library",
    "visible",
    "given",
    "closed",
}


def written(value: Any) -> Iterator[str]:
    """Yield every text and every number of three or more digits in a value."""
    if isinstance(value, dict):
        for key, one in value.items():
            if key not in PUBLIC:
                yield from written(one)
    elif isinstance(value, list):
        for one in value:
            yield from written(one)
    elif isinstance(value, str) and len(value) > 3:
        yield value
    elif isinstance(value, int | float) and len(str(value)) > 2 and not isinstance(value, bool):
        yield str(value)


@pytest.fixture(scope="module", params=NAMES)
def released(request: pytest.FixtureRequest) -> tuple[str, dict[str, bytes]]:
    """Return an assignment of the course, and the files made for students."""
    name = str(request.param)
    return name, release_generation.build_release_files(
        COURSE, rubrics.load_rubric(COURSE.locate_rubric(name))
    )


def hidden(name: str, files: dict[str, bytes]) -> set[str]:
    """Return rubric values that are not in notebooks, titles, visible checks or general sentences."""
    table = tomllib.loads(COURSE.locate_rubric(name).read_text("utf-8"))
    shown = "".join(data.decode() for file, data in files.items() if file != FILE_NAME) + str(
        collect_sentences()
    )
    shown += str([(question.get("title"), question.get("visible")) for question in table["question"]])
    return {text for question in table["question"] for text in written(question) if text not in shown}


def test_the_file_of_students_holds_nothing_hidden(released: tuple[str, dict[str, bytes]]) -> None:
    """No accepted answer, expected value, mistake or input of a shipped rubric is in ``coursecheck.py``."""
    name, files = released
    source = files[FILE_NAME].decode()
    specification = extract_specification(source)
    assert specification is not None
    found = hidden(name, files)
    assert found
    # The modules in the file are the same for every assignment, so only the specification is searched.
    assert json.dumps(json.dumps(collect_sources(), ensure_ascii=False), ensure_ascii=False) in source
    said = json.dumps(specification, ensure_ascii=False)
    numbers = set(re.findall(r"\d+(?:\.\d+)?", said))
    assert set() == {text for text in found if (text in numbers if text[0].isdigit() else text in said)}
    assert {"assignment", "language", "texts", "cells", "questions"} == set(specification)
    assert all(ENTRY == set(entry) for entry in specification["questions"].values())


@pytest.mark.parametrize("language", ["en", "de"])
def test_the_command_says_nothing_hidden(released: tuple[str, dict[str, bytes]], language: str) -> None:
    """Messages about entirely wrong answers contain nothing hidden, as text and as HTML."""
    name, files = released
    specification = extract_specification(files[FILE_NAME].decode())
    assert specification is not None
    wrong = {
        entry["cell"]: "".join(f"{one} = 'seven *'\n" for one in entry["names"]) or "Seven."
        for entry in specification["questions"].values()
    }
    for file, data in files.items():
        if file != FILE_NAME:
            paper = report_on(
                parse_notebook(with_sources(data, wrong)).cells, specification, file[:-6], language
            )
            assert paper.reports
            page = re.sub(r'style="[^"]*"', "", as_html(paper.reports))  # sizes in styles are not marks
            said = as_text(paper.reports) + page + "".join(map(str, paper.cells))
            assert [] == [text for text in hidden(name, files) if text in said]
