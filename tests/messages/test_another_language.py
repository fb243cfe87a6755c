"""A language is one file: with it, everything that students read is in that language."""

from __future__ import annotations

import contextlib
import datetime
import io
import json
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import numpy as np
import pytest

from autograder import rubric as rubrics
from autograder.core.records import (
    Cell,
    CellRun,
    Ending,
    ExecutedNotebook,
    GradingResult,
    LimitEvent,
    LimitKind,
)
from autograder.core.wording import format_number
from autograder.messages import catalogue, format_sentence, get_template, list_languages, load_sentences
from autograder.messages.translation_files import get_placeholders
from autograder.notebook.document import parse_notebook
from autograder.notebook.release import load_release
from autograder.notebook.release_builder import fill_title_page
from autograder.notebook.student.rendering import as_text
from autograder.notebook.student.saved_notebook import report_on
from autograder.notebook.student_check import FILE_NAME, build_student_check, read_specification
from autograder.pages.feedback.student_page import render_student_page
from autograder.pages.paper.sheet import make_sheet
from autograder.pages.paper.sheet import render_sheet as printed
from autograder.rubric import Rubric
from autograder.rubric.timestamps import Timing, Window
from autograder.store.gradebook.book import format_comments
from tests.messages.pseudo import LANGUAGE, accented, english, read, write
from tests.notebook.test_student_check import KINDS, TEXT, question
from tests.pages import examples
from tests.rubric.test_exam import GOOD
from tests.support.code_course import write_empty_checks

BERLIN = ZoneInfo("Europe/Berlin")
END = datetime.datetime(2026, 2, 12, 11, 30, tzinfo=BERLIN)
WINDOW = Window(END - datetime.timedelta(minutes=90), END, "Europe/Berlin")
ZONE = frozenset({"Europe", "Berlin", "UTC"})
NAMES = frozenset(
    {
        *("task", "mha", "ada", "grace", "model", "layers", "exam", "intro", "why", "answer", "formula"),
        *("plain", "masked", "mask", "mlp", "parameters", "all", "heads", "Decoder", "MultiHeadAttention"),
        *("TypeError", "text", "application", "check", "formla", "array", "dmodell", "wte", "none", "min"),
        *("None", "NoneType", "str", "float", "int", "tuple", "list", "dict", "ndarray", "function"),
        *("method", "builtin", "invalid", "syntax", "was", "never", "closed"),
    }
)
"""Words of the exam, its students, its notebooks and Python: names, types, media types, units, errors."""


@pytest.fixture(scope="module")
def locale(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a locale folder that contains only the invented language."""
    folder = tmp_path_factory.mktemp("locale")
    write(folder)
    return folder


@pytest.fixture(autouse=True)
def another_language(locale: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use a catalogue with English and the invented language."""
    monkeypatch.setattr(catalogue, "LOCALE", locale)
    assert ("en", LANGUAGE) == list_languages()


def spoken(toml: str, reference: Path | None = None) -> Rubric:
    """Return the rubric with its texts also in the invented language."""
    said = re.sub(
        r'\ben = ("[^"]*")', lambda found: f"en = {found[1]}, {LANGUAGE} = {accented(found[1])}", toml
    )
    said = re.sub(r', de = "[^"]*"', "", said).replace('"en", "de"]', f'"en", "{LANGUAGE}"]')
    return rubrics.parse_rubric(said.encode(), "examples", reference=reference)


RUBRIC = spoken(examples.TOML)


def told(graded: GradingResult) -> GradingResult:
    """Return the result with its messages also in the invented language."""
    items = []
    for one in graded.score.items:
        texts = one.student.text
        more = {**texts, LANGUAGE: accented(texts["en"])} if texts else {}
        items.append(msgspec.structs.replace(one, student=msgspec.structs.replace(one.student, text=more)))
    return msgspec.structs.replace(graded, score=msgspec.structs.replace(graded.score, items=tuple(items)))


def every_ending() -> GradingResult:
    """Return a notebook whose cells ended in every way and met every limit."""
    runs = [CellRun(ending=one) for one in Ending]
    runs += [CellRun(met=(LimitEvent(one, measured=True),), truncated=True) for one in LimitKind]
    cells = tuple(Cell(f"x = {number}") for number in range(len(runs)))
    return examples.graded("ada", (), ExecutedNotebook("exam", cells, tuple(runs)), isolation="none")


@pytest.mark.parametrize("made", [examples.good, examples.middling, every_ending])
def test_the_feedback_page_speaks_it(made: Callable[[], GradingResult]) -> None:
    """Headings, verdicts, sums, limits and the submission time are translated."""
    late = datetime.timedelta(minutes=5)
    page = render_student_page(
        told(made()),
        RUBRIC,
        language=LANGUAGE,
        submitted_at=END + late,
        timing=Timing(WINDOW, late=late),
    )
    text = read(page)
    assert f'<html lang="{LANGUAGE}">' in page
    assert accented("Question by question") in text
    assert [] == english(text, NAMES | ZONE)


def test_comments_in_formgrader_speak_it() -> None:
    """The automatic comments at answers are translated."""
    commented = {
        ("exam", name) for question in RUBRIC.questions for name in (question.answer_cell, question.id)
    }
    for graded in (told(examples.good()), told(examples.middling())):
        texts = format_comments(graded.score, RUBRIC, commented, LANGUAGE)
        assert texts
        assert [] == english(" ".join(texts.values()), NAMES)


def test_every_sentence_is_said_in_it() -> None:
    """Every sentence is looked up in the catalogue."""
    for code in load_sentences():
        given = dict.fromkeys(
            get_placeholders(get_template(code, "en")), END if "%" in get_template(code, "en") else "7"
        )
        assert [] == english(format_sentence(code, LANGUAGE, **given)), code


@pytest.mark.parametrize("solutions", [False, True])
def test_the_sheet_on_paper_speaks_it(*, solutions: bool) -> None:
    """The sheets for students and for graders are translated."""
    released = examples.release()
    for text in ("# Exam", "Answer every question.", "YOUR ANSWER HERE", "YOUR CODE HERE"):
        released = released.replace(text.encode(), accented(text).encode())
    key = {"exam": released} if solutions else None
    page = printed(make_sheet(RUBRIC, {"exam": released}, language=LANGUAGE, key=key))
    header = " ".join(re.findall(r'content: "([^"]*)"', page))
    assert accented("Page") in header
    ids = {part for name, _, _ in examples.FAULTS for part in name.split("_")}
    assert [] == english(header + read(page), NAMES | ids)


def test_the_title_page_speaks_it() -> None:
    """The times and tasks of an exam are translated."""
    rubric = spoken(GOOD.replace('name = "exam"', 'name = "exam"\nlanguages = ["en", "de"]'))
    places = f"<!-- exam times {LANGUAGE} -->\n\n<!-- exam tasks {LANGUAGE} -->"
    text = fill_title_page(places, rubric, WINDOW, "cell 1")
    assert accented("Permitted aids") in text
    assert [] == english(text, ZONE)


@pytest.fixture(scope="module")
def questions(tmp_path_factory: pytest.TempPathFactory) -> Rubric:
    """Return a rubric with a question of every kind that students can check."""
    text = TEXT + "".join(question(name, *rest) for name, rest in KINDS.items())
    return spoken(text, write_empty_checks(tmp_path_factory.mktemp("reference"), "code"))


STATES: list[dict[str, Any]] = [
    {},
    dict.fromkeys((answer for _, answer, _ in KINDS.values()), None),
    dict.fromkeys((answer for _, answer, _ in KINDS.values()), "7 **"),
    dict.fromkeys((answer for _, answer, _ in KINDS.values()), 3.5),
    {"size": "8*dmodell", "rule": "d_model = 2*n_heads", "pair": ["d"], "total": "1.024", "shape": (None, 2)},
    {
        "size": "8*d",
        "total": "12",
        "shape": (2, "n_heads"),
        "memory": "4 MB",
        "counts": {"wte": 1},
        "rows": [(1,)],
    },
    {"double": np.array, "tick": "a", "counts": {"wte": ...}},
]
ASKED = frozenset({"exam", *KINDS, *(part for _, answer, _ in KINDS.values() for part in answer.split())})


@pytest.mark.parametrize("values", STATES)
def test_the_check_beside_the_notebook_speaks_it(questions: Rubric, values: dict[str, Any]) -> None:
    """The file that students run is translated for answers in every state."""
    source = build_student_check(questions, LANGUAGE)
    namespace: dict[str, Any] = {"__name__": "coursecheck"}
    exec(compile(source, FILE_NAME, "exec"), namespace)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec("check(); check('formla')", {"check": namespace["check"], **values})
    said = printed.getvalue()
    assert len(said) > 500
    assert [] == english(said, ASKED | NAMES)


ANSWERS = ("mlp_parameters = 2**", "all_layers = 7", "x = (", "class Decoder: ...")


def test_the_command_that_checks_a_file_speaks_it() -> None:
    """The output of ``autograder check`` for a saved notebook is translated."""
    release = load_release(examples.release(), "exam")
    source = build_student_check(RUBRIC, LANGUAGE, [release])
    specification = read_specification(source.decode(), FILE_NAME)
    tree = json.loads(examples.release())
    for number, cell in enumerate(tree["cells"]):
        if cell["metadata"]["nbgrader"]["solution"]:
            cell["source"] = ANSWERS[number % len(ANSWERS)]
    del tree["cells"][0]
    paper = report_on(parse_notebook(json.dumps(tree).encode()).cells, specification, "exam", LANGUAGE)
    said = as_text(paper.reports, [line.text for line in paper.cells])
    assert [] == english(said, NAMES)


def test_a_language_that_the_library_knows_brings_its_numbers() -> None:
    """Numbers use the decimal sign of the language, or the English one if the language is unknown."""
    assert ["2.5", "2,5", "2,5", "2.5"] == [
        format_number(Decimal("2.50"), language) for language in ("en", "de", "fr", LANGUAGE)
    ]
    assert "−1000" == format_number(Decimal("-1E+3"), "de")
