"""The shipped exam: notebook, rubric and reference say the same."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import string
import tomllib
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import nbformat
import pytest

from autograder.core.records import Answer, ItemResult, Status
from autograder.notebook.build import build_release
from autograder.notebook.read import read_notebook
from autograder.notebook.release import load_release
from autograder.questions import get_check_type
from autograder.questions.base.base import Evidence
from autograder.rubric import Item, Question
from reference import listings
from tests.demo.marking import RUBRIC, SOURCE, automatic, exam, marks, released
from tests.support.solution_lines import leaked, solution_fragments

NOTEBOOK = nbformat.reads(SOURCE.read_text(), as_version=4)
TASKS = {"1": 23, "2": 21, "3": 20, "4": 16, "5": 10}
NAME = "dl4nlp-exam"
RIGHT = {
    "query": "d_model*d_head",
    "mlp": "8*d_model^2",
    "output": "n_heads*d_head*d_model",
    "unsimplified": "4*n_heads*d_head*d_model + 8*d_model^2",
    "layer": "12*d_model^2",
    "wide": "16*d_model^2",
}
"""What is right where a formula of the rubric names an earlier result; in (e), ``layer`` is that of (d)."""
AUTOMATIC = [question for question in exam().questions if question.kind != "written"]


def cells(notebook: Any = NOTEBOOK) -> dict[str, Any]:
    """Cells by grade_id."""
    return {cell.metadata.nbgrader.grade_id: cell for cell in notebook.cells if "nbgrader" in cell.metadata}


def solved(question: Question) -> str:
    """The answer cell of the source notebook, without nbgrader's markers."""
    lines = cells()[question.answer_cell].source.splitlines()
    return "\n".join(line for line in lines if " SOLUTION" not in line)


def texts(table: Any, place: str = "") -> Iterator[tuple[str, Mapping[str, str]]]:
    """Every table of sentences of the rubric, with its place."""
    if isinstance(table, dict):
        for name, value in table.items():
            if name in ("text", "title", "unknown") and isinstance(value, dict):
                yield f"{place}.{name}", value
            else:
                yield from texts(value, f"{place}.{name}")
    elif isinstance(table, list):
        for number, value in enumerate(table):
            yield from texts(value, f"{place}[{number}]")


def formulas(when: object) -> tuple[object, ...]:
    """The formulas of a mistake."""
    return tuple(when) if isinstance(when, list | tuple) else (when,)


def mistakes(kind: str) -> list[object]:
    """Question, item and mistake, for every named mistake of a kind."""
    return [
        pytest.param(question, item, {**mistake, "when": when}, id=f"{item.id}-{mistake['code']}-{when}")
        for question in exam().questions
        for item in question.items
        for mistake in item.options.get("mistake", ())
        for when in formulas(mistake["when"])
        if question.kind == kind
    ]


def accepted() -> list[object]:
    """Question, item and formula, for everything the rubric accepts."""
    return [
        pytest.param(question, item, formula, id=f"{question.id}-{item.id}-{formula}")
        for question in exam().questions
        for item in question.items
        for formula in item.options.get("accept", ())
    ]


def test_the_source_is_a_valid_notebook_without_outputs() -> None:
    """The source is nbformat 4.5 with unique ids and holds nothing that was run."""
    nbformat.validate(json.loads(SOURCE.read_text()))
    assert (NOTEBOOK.nbformat, NOTEBOOK.nbformat_minor) == (4, 5)
    code = [cell for cell in NOTEBOOK.cells if cell.cell_type == "code"]
    assert [([], None)] * len(code) == [(cell.outputs, cell.execution_count) for cell in code]


def test_points_add_up() -> None:
    """The tasks are worth what their headings say."""
    assert TASKS == {task.id: task.points for task in exam().assignment.tasks}
    for task, points in TASKS.items():
        own = [question for question in exam().questions if question.task == task]
        assert points == sum(question.points for question in own)
        assert all(question.id.startswith(f"task{task}-") for question in own)
        stated = re.findall(r"\(\d+ \w+\)", cells()[f"task{task}"].source)
        assert [f"({points} points)", f"({points} Punkte)"] == stated
    assert Decimal(90) == exam().assignment.points == sum(TASKS.values())


@pytest.mark.parametrize("question", exam().questions, ids=lambda question: question.id)
def test_headings_state_the_points_of_the_rubric(question: Question) -> None:
    """Students read the points that the rubric gives, in both languages."""
    prompt = cells()[f"{question.id}-prompt"].source
    headings = [line for line in prompt.splitlines() if line.startswith("#")]
    english, german = ("point", "Punkt") if question.points == 1 else ("points", "Punkte")
    assert [f"({question.points} {word})" for word in (english, german)] == [
        heading[heading.rindex("(") :] for heading in headings
    ]


@pytest.mark.parametrize("question", exam().questions, ids=lambda question: question.id)
def test_a_question_is_called_the_same_everywhere(question: Question) -> None:
    """The heading in the notebook is the title on feedback pages, in both languages."""
    prompt = cells()[f"{question.id}-prompt"].source
    headings = [line for line in prompt.splitlines() if line.startswith("### ")]
    for heading, language in zip(headings, ("en", "de"), strict=True):
        found = re.fullmatch(r"### \((\w)\) (.+) \([\d.]+ \w+\)", heading)
        assert found
        title = question.title[language].partition(f"({found[1]}): ")[2]
        assert title.casefold().replace(",", ":") == found[2].casefold().replace(",", ":")


@pytest.mark.parametrize("language", ["en", "de"])
def test_an_exam_can_be_released_in_one_language(language: str) -> None:
    """Every text that students read is there in the language chosen, and no other language is left."""
    release = build_release(SOURCE.read_bytes(), exam(), NAME, language).decode()
    one = cells(nbformat.reads(release, as_version=4))
    prompts = {name: cell.source for name, cell in one.items() if name.endswith("-prompt")}
    assert len(prompts) == len(exam().questions)
    words = {"en": " the ", "de": " Sie "}
    for name, text in prompts.items():
        assert "<!--" not in text, name
        assert text.count("\n#") == 0, name
        assert words["de" if language == "en" else "en"] not in _unquoted(text), name


def test_the_release_holds_no_solution() -> None:
    """No line of a solution can be found in the release."""
    fragments = solution_fragments(SOURCE.read_bytes())
    assert len(fragments) > 30
    assert leaked(fragments, released()) == ()


def test_the_given_classes_are_the_references() -> None:
    """The locked cell before the faulty listing is the reference's, to the letter."""
    assert listings.GIVEN.strip() == cells()["task5-a-given"].source


def test_students_receive_the_listing_with_all_eight_faults() -> None:
    """The release's answer cell is the faulty listing and the usual stub below it."""
    release = cells(nbformat.reads(released().decode(), as_version=4))
    listing, _, stub = release["task5-a-answer"].source.partition("\n# Repair")
    checks = exam().checks["task5-a"]
    assert 8 == len(checks.faults)
    assert checks.make_listing(fault.id for fault in checks.faults).strip() == listing.strip()
    assert stub.splitlines()[1:] == ["# YOUR CODE HERE", "raise NotImplementedError()"]


def test_the_solution_is_the_right_listing() -> None:
    """What the source notebook holds between the markers is the listing without faults."""
    _, _, rest = cells()["task5-a-answer"].source.partition("### BEGIN SOLUTION\n")
    assert listings.RIGHT.strip() == rest.removesuffix("### END SOLUTION").strip()


def test_what_is_needed_is_at_hand() -> None:
    """The pages tell every part of the library that the listings use; the aids stand on the title page."""
    code = "\n".join(cells()[name].source for name in ("task5-a-given", "task5-a-answer"))
    used = set(re.findall(r"\b(?:nn|torch)\.[A-Za-z]\w+", code)) - {"torch.nn"}
    assert {"nn.Embedding", "nn.ModuleList"} < used
    assert {name for name in used if name not in cells()["task5-pages"].source} == set()
    stated = exam().assignment.exam
    assert stated is not None
    assert {"calculator", "dictionary"} <= set(re.findall(r"\w+", stated.aids["en"]))
    assert {"Taschenrechner", "Wörterbuch"} <= set(re.findall(r"\w+", stated.aids["de"]))


@pytest.mark.parametrize("question", AUTOMATIC, ids=lambda question: question.id)
def test_the_answer_key_earns_everything(question: Question) -> None:
    """The source notebook's own answers earn all points of the automatic items."""
    given = cells()["task5-a-given"].source if question.id == "task5-a" else ""
    full = {item.id: item.points for item in question.items if not item.manual}
    assert full == automatic(marks(question.id, solved(question), given=given, earlier=_earlier(question)))


@pytest.mark.slow
@pytest.mark.parametrize(("question", "item", "mistake"), mistakes("formula"))
def test_each_named_mistake_is_named(question: Question, item: Item, mistake: Mapping[str, Any]) -> None:
    """An answer that makes a mistake of the rubric earns its points and reads its sentence."""
    names = "|".join(RIGHT)
    right = RIGHT | ({"layer": RIGHT["unsimplified"]} if question.id == "task3-e" else {})
    written = re.sub(rf"\b({names})\b", lambda name: f"({right[name[1]]})", mistake["when"])
    result = _answered(question, item, written)
    assert (mistake["code"], mistake.get("points", Decimal(0))) == (result.code, result.points)
    assert mistake["text"] == result.student.text
    assert result.status is Status.FAILED


@pytest.mark.parametrize(("question", "item", "formula"), accepted())
def test_each_accepted_answer_is_right(question: Question, item: Item, formula: str) -> None:
    """Every formula that the rubric accepts earns full points."""
    result = _answered(question, item, formula)
    assert (Status.PASSED, item.points) == (result.status, result.points)


@pytest.mark.parametrize(
    ("part", "formula"),
    [
        ("a", "d_model^2/n_heads"),
        ("b", "8*n_heads*d_head*d_model"),
        ("d", "12*d_model^2"),
        ("d", "4*n_heads*d_head*d_model + 8*n_heads^2*d_head^2"),
    ],
)
def test_a_relation_used_early_costs_a_fifth(part: str, formula: str) -> None:
    """What is right under the choice of (e) alone costs the same share wherever it is not made yet."""
    question = exam().get_question(f"task3-{part}")
    item = question.get_item("formula")
    result = _answered(question, item, formula)
    assert (Status.FAILED, item.points * Decimal("0.8")) == (result.status, result.points)
    assert "formula.early" == result.code


@pytest.mark.parametrize(("question", "item", "mistake"), mistakes("choice"))
def test_each_choice_that_is_wrong_by_name_is_named(
    question: Question, item: Item, mistake: Mapping[str, Any]
) -> None:
    """A wrong choice reads its sentence; in a closed list, a right one beside it still earns its part."""
    options = item.options
    name, chosen, points = options.get("answer", question.answer), mistake["when"], Decimal(0)
    if options.get("pick", 1) > 1:
        chosen, points = [options["right"][0], chosen], item.points / options["pick"]
    written = {options["key"]: chosen} if "key" in options else chosen
    result = marks(question.id, f"{name} = {written!r}")[item.id]
    assert (mistake["code"], points) == (result.code, result.points)
    assert mistake["text"] == result.student.text


def test_the_untouched_release_is_no_answer_anywhere() -> None:
    """A student who hands the release back has answered nothing: every item is NO_ANSWER."""
    submission = read_notebook(
        released(), load_release(released(), "dl4nlp-exam"), student="nobody", assignment="dl4nlp-exam"
    )
    assert {False} == {answer.changed for answer in submission.answers.values()}
    for question in exam().questions:
        check = get_check_type(question.kind)(question, exam())
        answer = submission.answers.get(question.answer_cell) or submission.answers[question.id]
        results = _judged(check, answer, submission.answers)
        assert [Status.NO_ANSWER] * len(question.items) == [result.status for result in results]


def test_every_sentence_stands_in_both_languages() -> None:
    """Titles, items, mistakes and remarks are there in English and in German."""
    found = dict(texts(tomllib.loads(RUBRIC.read_text())))
    assert len(found) > 100
    assert {place: text for place, text in found.items() if {"en", "de"} != set(text)} == {}
    placeholders = {
        place: {
            tuple(name for _, name, _, _ in string.Formatter().parse(line) if name) for line in text.values()
        }
        for place, text in found.items()
    }
    assert {place: names for place, names in placeholders.items() if len(names) != 1} == {}


def test_mistakes_do_not_give_the_answer_away() -> None:
    """No sentence about a mistake quotes an accepted formula."""
    for question in exam().questions:
        for item in question.items:
            accepted = [text.replace(" ", "") for text in item.options.get("accept", ())]
            for mistake in item.options.get("mistake", ()):
                for line in mistake["text"].values():
                    assert [text for text in accepted if text in line.replace(" ", "")] == []


def test_the_trainers_arguments_are_those_of_the_library() -> None:
    """Every field of transformers.Seq2SeqTrainingArguments can be named in an answer."""
    names = set(exam().get_question("task5-b").options["names"])
    assert set() == _fields() - names


def _fields() -> set[str]:
    """The annotated fields of the dataclasses, read from their source: importing it takes seconds."""
    package = importlib.util.find_spec("transformers")
    assert package is not None
    assert package.submodule_search_locations is not None
    folder = Path(package.submodule_search_locations[0])
    wanted = {"training_args.py": "TrainingArguments", "training_args_seq2seq.py": "Seq2SeqTrainingArguments"}
    found: set[str] = set()
    for file, name in wanted.items():
        for node in ast.parse((folder / file).read_text()).body:
            if isinstance(node, ast.ClassDef) and node.name == name:
                found |= {
                    line.target.id
                    for line in node.body
                    if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
                }
    assert len(found) > 100
    return {name for name in found if not name.startswith("_") and name not in ("framework",)}


def _earlier(question: Question) -> dict[str, ItemResult]:
    """A right (h), before (i) that carries it on."""
    if question.id != "task3-i":
        return {}
    before = exam().get_question("task3-h")
    return {f"task3-h.{item}": result for item, result in marks("task3-h", solved(before)).items()}


def _answered(question: Question, item: Item, formula: str) -> ItemResult:
    """The result of one item whose variable holds a formula."""
    name = item.options.get("answer", question.answer)
    source = "\n".join(f'{other} = ""' for other in _names(question) if other not in (name, ""))
    return marks(question.id, f'{source}\n{name} = "{formula}"', earlier=_earlier(question))[item.id]


def _unquoted(text: str) -> str:
    """A text without what it quotes from elsewhere, which stays in its language."""
    lines = (line for line in text.splitlines() if not line.startswith((">", "1.", "2.", "3.", "4.")))
    return re.sub(r"„[^“]*“|\*[^*]*\*|`[^`]*`", "", "\n".join(lines))


def _names(question: Question) -> set[str]:
    return {question.answer, *(item.options.get("answer", question.answer) for item in question.items)}


def _judged(check: Any, answer: Answer, answers: Mapping[str, Answer]) -> tuple[ItemResult, ...]:
    results: tuple[ItemResult, ...] = check.judge(Evidence(answer, (), (), {}, answers))
    return results
