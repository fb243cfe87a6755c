"""The student check says whether an answer can be read, never whether it is right, and never raises."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import re
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder import rubric as rubrics
from autograder.notebook.student.report import examine
from autograder.notebook.student_check import SILENT, build_student_check, collect_sources
from autograder.questions import list_forms
from autograder.rubric import Rubric
from tests.support.code_course import write_empty_checks

ROOT = Path(__file__).parents[2]
TEXT = """
version = 1
[assignment]
name = "exam"
points = 11
languages = ["en", "de"]
[assignment.symbols]
d_model = { aliases = ["d", "d_{\\\\text{model}}"] }
n_heads = { aliases = ["h"] }
"""
KINDS = {
    "formula": ("formula", "size", {}),
    "relation": ("formula", "rule", {"form": "relation"}),
    "pair": ("formula", "pair", {"form": "tuple"}),
    "count": ("number", "total", {"value": 124439808}),
    "shape": ("shape", "shape", {}),
    "quantity": ("number", "memory", {"unit": "MB", "value": "4.5 MB"}),
    "entries": ("number", "counts", {"key": "wte"}),
    "table": ("table", "rows", {}),
    "code": ("code", "double", {}),
    "tick": ("choice", "tick", {}),
    "essay": ("written", "", {}),
}


def question(name: str, kind: str, answer: str, options: dict[str, str]) -> str:
    """Return a question of the rubric as TOML."""
    fields = {"id": name, "kind": kind, "points": 1, "answer": answer}
    item = {"id": "i", "points": 1, **options}
    lines = ["[[question]]", *(f"{key} = {json.dumps(value)}" for key, value in fields.items())]
    lines += [
        "[[question.item]]",
        'text = { en = "T" }',
        *(f"{k} = {json.dumps(v)}" for k, v in item.items()),
    ]
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def exam(tmp_path_factory: pytest.TempPathFactory) -> Rubric:
    """Return a rubric with a question of every kind that the check distinguishes."""
    text = TEXT + "".join(question(name, *rest) for name, rest in KINDS.items())
    folder = write_empty_checks(tmp_path_factory.mktemp("reference"), "code")
    return rubrics.parse_rubric(text.encode(), reference=folder)


@pytest.fixture(scope="module")
def module(exam: Rubric) -> dict[str, Any]:
    """Execute the released coursecheck.py as a notebook's import does; return its namespace."""
    namespace: dict[str, Any] = {"__name__": "coursecheck"}
    exec(compile(build_student_check(exam, forms=list_forms()), "coursecheck.py", "exec"), namespace)
    return namespace


@pytest.fixture(scope="module")
def say(module: dict[str, Any]) -> Callable[..., str]:
    """Return a function that calls the released ``check`` with some variables and returns its output."""

    def call(name: object, language: object = "", **variables: Any) -> str:
        printed = io.StringIO()
        notebook = {"check": module["check"], "name": name, "language": language, **variables}
        with contextlib.redirect_stdout(printed):
            exec("check(name, language)", notebook)
        return printed.getvalue()

    return call


def test_the_file_needs_only_the_standard_library(exam: Rubric) -> None:
    """All imports are from the standard library, included in the file, or replaced by it."""
    template = build_student_check(exam, forms=list_forms()).decode()
    texts = [template, *collect_sources().values()]
    names = {
        alias.name
        for text in texts
        for node in ast.walk(ast.parse(text))
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in (node.names if isinstance(node, ast.Import) else [ast.alias(node.module or "")])
    }
    foreign = {name for name in names if name.split(".")[0] not in sys.stdlib_module_names} - set(
        collect_sources()
    )
    ours = {"autograder.messages.catalogue", "autograder.core.records", "autograder.core.wording"}
    assert {"msgspec", "flint"} | ours == foreign


def test_the_modules_are_the_programs_own(module: dict[str, Any]) -> None:
    """The file contains the grader's modules unchanged, whatever the rubric."""
    carried = json.loads(module["SOURCES"])
    assert carried == {
        name: (ROOT / name.replace(".", "/")).with_suffix(".py").read_text("utf-8") for name in carried
    }
    assert "autograder.formulas.notation.parse" in carried


def test_python_3_9_can_read_every_module() -> None:
    """Released modules use no syntax newer than Python 3.9."""
    template = (ROOT / "autograder/notebook/coursecheck.py").read_text("utf-8")
    newer = []
    for name, text in {"the file itself": template, **collect_sources()}.items():
        try:
            ast.parse(text, name, feature_version=(3, 9))
        except SyntaxError:
            newer.append(name)
    assert newer == []


def test_an_installed_program_is_left_alone(module: dict[str, Any]) -> None:
    """The file's modules do not replace those of an installed autograder."""
    before = sys.modules["autograder.formulas.nodes"]
    assert module["_module"]("autograder.formulas.nodes") is not before
    assert sys.modules["autograder.formulas.nodes"] is before


FINE = "✓ "
NOT_A_MARK = (
    "This check looks at the form only and gives no marks. Answers are graded after you submit them.\n"
)
SYMBOLS = {
    "d_model": {"aliases": ["d"], "domain": "positive integer"},
    "n_heads": {"aliases": ["h"], "domain": "positive integer"},
}
FORMULA = {"kind": "formula", "answer": "size", "names": {"size": ""}, "symbols": SYMBOLS, "visible": []}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("formula", "8*d_model^2"),
        ("formula", "8 d_model² + 5·d"),
        ("formula", r"$8 \cdot d_{\text{model}}^{2}$"),
        ("formula", r"\frac{d_{model}}{h}"),
        ("formula", "8hd"),
        ("formula", "12 000 000 d"),
        ("formula", "sqrt(d_model)"),
        ("formula", 12),
        ("relation", "d_model = n_heads*4"),
        ("relation", "d_model < 4*n_heads"),
        ("relation", r"d_model \geqslant n_heads"),
        ("relation", "Eq(d_model, 4*n_heads)"),
        ("relation", "d_model = 2*n_heads = 4"),
        ("pair", ("3*d", "4*d")),
        ("count", 124439808),
        ("count", "124,439,808"),
        ("count", len),
        ("count", np.int64(7)),
        ("shape", (2, 3)),
        ("shape", "(d_model, n_heads)"),
        ("shape", np.zeros((2, 3))),
        ("shape", "torch.Size([2, 3])"),
        ("shape", r"\mathbb{R}^{d_model \times n_heads}"),
        ("shape", "2x3 x d_model"),
        ("quantity", "4.5 MB"),
        ("quantity", 4.5),
        ("quantity", np.float32(4.5)),
        ("quantity", (4.5, "MB")),
        ("entries", {"wte": 5}),
        ("entries", [5, 6]),
        ("table", [("wte", 5)]),
        ("table", {"wte": 5}),
        ("table", "| wte | 5 |"),
        ("code", len),
        ("code", dict),
        ("tick", "yes"),
        ("tick", ["a", "b"]),
    ],
)
def test_readable_answers_are_called_readable(say: Callable[..., str], name: str, value: Any) -> None:
    """Answers in every permitted notation and type are accepted, right or wrong."""
    assert FINE in say(name, **{KINDS[name][1]: value})


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("formula", None, "size is still empty (None)"),
        ("formula", ..., "size is still empty (...)"),
        ("formula", "  ", "size is still empty ('')"),
        (
            "formula",
            len,
            "size is of type builtin_function_or_method; expected a text with a formula, or a number",
        ),
        ("formula", (1, 2), "size is of type tuple"),
        ("formula", "8*(d_model", "at ▸ in “8*▸(d_model”: this bracket is never closed; “)” is missing."),
        ("formula", "8*d_model)", "at ▸ in “8*d_model▸)”: “)” closes a bracket that was never opened."),
        ("formula", "[d_model)", "“)” closes a bracket that was never opened."),
        (
            "formula",
            "8*dmodell",
            "at ▸ in “8*▸dmodell”: the name “dmodell” is not known. Did you mean “d_model”?",
        ),
        ("formula", "8*quux", "the name “quux” is not known. Use the symbols that the question names."),
        ("formula", "8 9", "two numbers are next to each other."),
        ("formula", "8*d_model +", "the formula ends too early: something is missing."),
        ("formula", "d" * 2001, "it is too long (limit: 2000 characters)."),
        ("relation", "d_model", "one equation or inequality with exactly one relation sign is expected."),
        ("pair", ("3*d", "4*q"), "at ▸ in “4*▸q”: the name “q” is not known."),
        ("count", 1.5, "total is of type float; expected a whole number"),
        ("count", True, "total is of type bool; expected a whole number"),
        ("shape", 7, "shape is of type int; expected a tuple such as (2, 3)"),
        ("shape", (-1, 3), "shape: -1 leaves a size open"),
        ("shape", (..., 3), "Ellipsis leaves a size open"),
        ("shape", "(d_model, -1)", "shape: -1 leaves a size open"),
        ("quantity", "a lot", "memory is of type str; expected a number, or a text such as '4.5 MB'"),
        ("quantity", True, "memory is of type bool"),
        ("entries", 5, "counts is of type int; expected a dictionary such as {'first': 1, 'second': 2}"),
        ("table", 5, "rows is of type int; expected a list of tuples, a dictionary, or a text with bars"),
        ("code", 7, "double is of type int; expected a function or a class"),
        ("tick", 3j, "tick is of type complex"),
    ],
)
def test_unreadable_answers_are_explained(
    say: Callable[..., str], name: str, value: Any, sentence: str
) -> None:
    """The sentence names the variable, what is wrong with its form, and where."""
    said = say(name, **{KINDS[name][1]: value})
    assert sentence in said
    assert FINE not in said


def test_an_unassigned_name_is_told_apart(say: Callable[..., str]) -> None:
    """If the answer cell has not been run, the student is asked to run it."""
    assert say("formula").startswith("○ formula: size does not exist yet. Give it a value in the answer cell")


def test_a_misspelt_question_is_suggested(say: Callable[..., str]) -> None:
    """A misspelt question id gets a suggestion."""
    assert say("formla") == (
        "There is no question formla. Is it spelt as in the notebook? Did you mean formula?\n"
    )


def test_german_is_spoken_on_request(say: Callable[..., str]) -> None:
    """The language can be chosen; an unknown one falls back to English."""
    assert say("essay", "de").startswith("· essay: Diese Antwort lässt sich hier nicht prüfen.")
    assert say("essay", "xx") == say("essay", "en")


def test_a_notebook_gets_html_without_anybodys_markup(
    module: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In IPython, the formula is rendered as MathML, and the student's text is escaped."""
    shown: list[dict[str, str]] = []
    display = types.SimpleNamespace(display=lambda bundle, raw: shown.append(bundle))
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shown))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    exec("check('formula')", {"check": module["check"], "size": "8 d²"})
    exec("check('formula')", {"check": module["check"], "size": "<img src=x onerror=alert(1)>"})
    right, wrong = (bundle["text/html"] for bundle in shown)
    assert "<msubsup><mi>d</mi><mtext>model</mtext><mrow><mn>2</mn></mrow></msubsup>" in right
    assert "size is read as 8*d_model^2" in repr(shown[0]["text/plain"])
    assert "<img" not in wrong
    assert "&lt;img" in wrong


def test_a_terminal_gets_no_control_characters(module: dict[str, Any]) -> None:
    """Control characters in an error are removed from terminal output."""
    show, look = (
        module["_module"](f"autograder.notebook.student.{name}") for name in ("rendering", "report")
    )
    report = look.Report("q", "", look.PROBLEM, (look.ReportLine(look.PROBLEM, "\x1b[31mred\u202e\n✓ fine"),))
    assert "✗ q:  [31mred  ✓ fine\n" == show.as_text([report])


def test_all_questions_are_looked_at_in_order(say: Callable[..., str]) -> None:
    """Without a name, every question is reported in order, followed by the number of answers."""
    said = say("", size="d", total=3)
    assert list(KINDS) == list(dict.fromkeys(re.findall(r"^\S (\S+): ", said, re.MULTILINE)))
    assert f"Questions answered: 2 of 10. Questions that cannot be checked here: 1.\n{NOT_A_MARK}" in said


def test_while_grading_it_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    """The replacement used during grading accepts any call and prints nothing."""
    silent: dict[str, Any] = {"__name__": "coursecheck"}
    exec(SILENT.read_text("utf-8"), silent)
    assert silent["check"]("formula", language="de") is None
    assert silent["__getattr__"]("anything_else")(1) is None
    assert ("", "") == capsys.readouterr()


class Hostile:
    """An object whose every use raises."""

    def __getattribute__(self, name: str) -> Any:
        raise ValueError(name)

    def __eq__(self, other: object) -> bool:
        raise ValueError

    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize("name", [*KINDS, "nothing", None, 7, ["x"], "hostile"])
@pytest.mark.parametrize("language", ["", None, ["en"]])
def test_the_check_never_raises(say: Callable[..., str], name: object, language: object) -> None:
    """The check prints a message and raises nothing, for any question, language and values."""
    values = {KINDS[key][1]: Hostile() for key in KINDS if KINDS[key][1]}
    assert say(Hostile() if name == "hostile" else name, language, **values).strip()


@pytest.mark.parametrize(
    ("lost", "begins"),
    [
        (["SOURCES"], ["This answer could not", "Diese Antwort ließ sich"]),
        (["SOURCES", "SENTENCES"], ["This answer could not", "This answer could not"]),
    ],
)
def test_a_damaged_file_says_that_nothing_is_lost(exam: Rubric, lost: list[str], begins: list[str]) -> None:
    """A damaged file prints its message in the requested language as long as its sentences can be read."""
    namespace: dict[str, Any] = {"__name__": "coursecheck"}
    exec(compile(build_student_check(exam), "coursecheck.py", "exec"), namespace)
    namespace.update(dict.fromkeys(lost, "no data"))
    for language, begin in zip(("", "de"), begins, strict=True):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            namespace["check"]("formula", language)
        assert printed.getvalue().startswith(begin)


@settings(max_examples=200, deadline=None)
@given(text=st.text(max_size=60) | st.text("d8h()[]{}=+-*^_\\$ .,²", max_size=40))
def test_any_text_is_answered_with_one_sentence(text: str) -> None:
    """Any text as a formula gives exactly one line for its question."""
    assert 1 == len(examine("q", FORMULA, {"size": text}, "en").lines)


def test_only_what_automatic_items_read_is_looked_for(exam: Rubric) -> None:
    """Only names used by automatic items are checked; an answer used in two forms may have either."""
    text = (
        TEXT.replace("points = 11", "points = 3")
        + """
        [[question]]
        id = "q"
        kind = "formula"
        points = 3
        answer = "unused"
        item = [
            { id = "a", points = 1, text = { en = "T" }, answer = "x", form = "relation" },
            { id = "b", points = 1, text = { en = "T" }, answer = "x", form = "tuple" },
            { id = "c", points = 1, text = { en = "T" }, manual = true },
        ]
    """
    )
    namespace: dict[str, Any] = {"__name__": "coursecheck"}
    exec(build_student_check(rubrics.parse_rubric(text.encode()), forms=list_forms()), namespace)
    specification = json.loads(namespace["SPECIFICATION"])
    assert specification["questions"]["q"]["names"] == {"x": "any"}


@pytest.mark.parametrize(
    ("question", "value", "state"),
    [("translator", [("decode", print)], "ready"), ("chain", [1], "problem"), ("chain", print, "ready")],
)
def test_answers_to_code_questions_have_the_form_of_the_solution(
    question: str, value: Any, state: str
) -> None:
    """Code questions expect the form of the solution, for example a list if the check judges lists."""
    rubric = rubrics.load_rubric(ROOT / "rubrics" / "gpt2.toml")
    namespace: dict[str, Any] = {"__name__": "coursecheck"}
    exec(build_student_check(rubric, forms=list_forms()), namespace)
    entry = json.loads(namespace["SPECIFICATION"])["questions"][question]
    assert state == examine(question, entry, {entry["answer"]: value}, "en").state


def test_a_long_hostile_text_is_answered(say: Callable[..., str]) -> None:
    """Texts that cause catastrophic backtracking in naive patterns are answered."""
    for text in ("_{" * 1000, "\\text" * 400, "8 " * 1000, "(" * 2000, "1 000" * 400):
        assert say("formula", size=text).startswith("✗ formula: ")
