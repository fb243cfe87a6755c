"""Commands, links, tables and the tutorial of the documentation are correct."""

from __future__ import annotations

import ast
import json
import re
import shlex
import subprocess
import textwrap
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import typer
import yaml
from markdown_it import MarkdownIt

from autograder.authoring.doc_pages import render_pages
from autograder.cli import reference
from autograder.cli.app import app
from autograder.core import limits
from autograder.core.records import Limits
from autograder.questions import list_registered
from tests.cli.running import only_object
from tests.cli.running import run_cold as run
from tests.test_architecture import LAYERS

ROOT = Path(__file__).parents[1]
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text("utf-8")
    for path in sorted((ROOT / "docs").rglob("*.md"))
}
PAGES |= {name: (ROOT / name).read_text("utf-8") for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")}
TUTORIAL = PAGES["docs/instructors.md"]
COMMANDS: dict[str, Any] = dict(vars(typer.main.get_command(app))["commands"])


def anchors(text: str) -> set[str]:
    """Return the anchors of a page's headings, as code hosts generate them."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def code_blocks(text: str) -> Iterator[tuple[str, str]]:
    """Yield language and source of the code blocks of a page; indented ones are Python."""
    for token in MarkdownIt().parse(text):
        if token.type in {"fence", "code_block"}:
            yield token.info if token.type == "fence" else "python", token.content


def typed_commands() -> Iterator[tuple[str, list[str]]]:
    """Yield page and words of every ``autograder …``, except in the changelog, which names removed ones."""
    for page, text in PAGES.items():
        if page == "CHANGELOG.md":
            continue
        blocks = "".join(source for _, source in code_blocks(text)).replace("\\\n", " ")
        lines = re.sub(r"(?:^|\s)#.*", "", blocks, flags=re.MULTILINE)
        found = re.findall(r"(?:^|[ /])(?:autograder|nbexam) (.+)$", lines, re.MULTILINE)
        for command in found + re.findall(r"`(?:autograder|nbexam) ([^`\n]+)`", text):
            yield page, shlex.split(command)


def find_syntax_error(language: str, source: str) -> str:
    """Return what is wrong with the syntax of a code block, or an empty text."""
    try:
        match language:
            case "python":
                ast.parse(source)
            case "toml":
                tomllib.loads(source)
            case "json":
                json.loads(source)
            case "yaml":
                yaml.safe_load(source)
            case "":
                shell = ["bash", "-n"]
                subprocess.run(shell, input=source, capture_output=True, text=True, check=True)
            case "ini" | "markdown" | "text":
                pass
            case _:
                return "" if language.startswith("{") else f"unknown language {language}"
    except (SyntaxError, ValueError, yaml.YAMLError, subprocess.CalledProcessError) as error:
        return f"{error}: {source}"
    return ""


def block(language: str, number: int = 0) -> str:
    """Return a code block of the tutorial."""
    return re.findall(rf"^```{language}\n(.*?)^```", TUTORIAL, re.DOTALL | re.MULTILINE)[number]


SOLUTION = block("python", 0).split('"""')[1].strip()
"""The solution of the tutorial's function."""


def solution(code: str, stub: str) -> str:
    """Return an answer cell with the released hint and the marked solution."""
    return f"# {stub}\n### BEGIN SOLUTION\n{code.rstrip()}\n### END SOLUTION"


def tutorial_cells() -> list[dict[str, Any]]:
    """Return the cells of the notebook that the tutorial's table describes."""
    kinds = {
        "read-only": {"locked": True},
        "autograded answer": {"solution": True},
        "autograder tests": {"grade": True, "locked": True},
        "manually graded answer": {"grade": True, "solution": True},
    }
    written = {
        "mlp-answer": block("python", 1),
        "softmax-answer": solution(SOLUTION, "def softmax(scores): ..."),
    }
    rows = re.findall(r"^\| `([\w-]+)` \| ([\w -]+?) \| (\d*) *\| `(.*)` \|$", TUTORIAL, re.MULTILINE)
    cells = []
    for identifier, kind, points, content in rows:
        code = "prompt" not in identifier and kind != "manually graded answer"
        marks = {"grade": False, "solution": False, "locked": False, "task": False, **kinds[kind]}
        marks |= {"schema_version": 3, "grade_id": identifier, **({"points": int(points)} if points else {})}
        cells.append(
            {
                "cell_type": "code" if code else "markdown",
                "id": identifier,
                "metadata": {"nbgrader": marks},
                "source": written.get(identifier, content).rstrip(),
                **({"outputs": [], "execution_count": None} if code else {}),
            }
        )
    return cells


@pytest.fixture
def warmup(tmp_path: Path) -> Path:
    """Return the course that a reader of the tutorial has created."""
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook = {
        "cells": tutorial_cells(),
        "metadata": {"kernelspec": kernel},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    files = {
        "rubrics/warmup.toml": block("toml"),
        "reference/checks/softmax.py": block("python", 0),
        "assignments/warmup/warmup.ipynb": json.dumps(notebook),
    }
    for name, content in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, "utf-8")
    return tmp_path


def test_command_page_is_current() -> None:
    """docs/cli.md matches the commands; regenerate it with ``make docs``."""
    assert reference.render_reference() == PAGES["docs/cli.md"]


def test_make_targets_in_the_text_exist() -> None:
    """Every ``make`` target named on a page exists, except in the changelog, which names removed ones."""
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    pages = [text for name, text in PAGES.items() if name != "CHANGELOG.md"]
    told = {name for text in pages for name in re.findall(r"`make ([a-z-]+)", text)}
    assert set() == told - targets


@pytest.mark.parametrize(("page", "words"), list(typed_commands()))
def test_commands_in_the_text_exist(page: str, words: list[str]) -> None:
    """Every command and option named on a page exists."""
    name, *rest = words
    if name.startswith("--"):
        return
    assert name in COMMANDS, page
    command = getattr(COMMANDS[name], "commands", {}).get(next(iter(rest), ""), COMMANDS[name])
    options = {option for entry in command.params for option in entry.opts} | {"--help"}
    assert set() == {word.partition("=")[0] for word in rest if word.startswith("--")} - options, page


@pytest.mark.parametrize("page", PAGES)
def test_code_blocks_are_valid(page: str) -> None:
    """Python, TOML, JSON and YAML blocks parse, and blocks without a language are shell commands."""
    errors = [find_syntax_error(language, source) for language, source in code_blocks(PAGES[page])]
    assert [] == [error for error in errors if error]


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    """Relative links point to existing files and headings."""
    dead = []
    for target in re.findall(r"\]\(([^)\s]+)\)", PAGES[page]):
        if target.startswith(("http://", "https://")):
            continue
        path, _, anchor = target.partition("#")
        linked = ((ROOT / page).parent / path).resolve() if path else ROOT / page
        if not linked.exists() or (anchor and anchor not in anchors(linked.read_text("utf-8"))):
            dead.append(target)
    assert [] == dead


def test_pages_of_kinds_are_current() -> None:
    """The list of kinds, their pages and the tables of formulas match the output of ``make docs``."""
    made = render_pages(ROOT / "docs")
    assert made == {
        page.removeprefix("docs/"): text
        for page, text in PAGES.items()
        if page.startswith("docs/kinds/") or page in {"docs/rubric.md", "docs/formulas.md"}
    }


def test_every_page_of_a_kind_is_reached_from_the_list() -> None:
    """The overview or a kind's page links to every page of a kind."""
    told = PAGES["docs/rubric.md"] + "".join(PAGES[f"docs/kinds/{name}.md"] for name in list_registered())
    names = [page.rpartition("/")[2] for page in PAGES if page.startswith("docs/kinds/")]
    assert [] == [name for name in names if not re.search(rf"\]\((kinds/)?{re.escape(name)}[)#]", told)]


def test_table_of_budgets() -> None:
    """The operators' page lists every budget of the grader with its value."""
    found = re.findall(r"^\| `(\w+)` \| (\d+) \| \D", PAGES["docs/operators.md"], re.MULTILINE)
    assert msgspec.to_builtins(limits.Budgets()) == {name: int(most) for name, most in found}


def test_table_of_limits() -> None:
    """The operators' page lists every limit with its default and its range."""
    found = re.findall(
        r"^\| `(\w+)` \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|", PAGES["docs/operators.md"], re.MULTILINE
    )
    rows = {name: tuple(map(float, numbers)) for name, *numbers in found}
    defaults = msgspec.to_builtins(Limits())
    assert {name: (defaults[name], *limits.list_ranges()[name]) for name in defaults} == rows


def test_table_of_limits_that_are_met() -> None:
    """The grading page names all messages for every limit."""
    section = PAGES["docs/grading.md"].partition("### When a limit is met")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| .* \| (.*) \|$", section, re.MULTILINE)
    told = {name: set(re.findall(r"`([a-z.-]+)`", codes)) for name, codes in rows}
    expected: dict[str, set[str]] = {name: set() for name in Limits.__struct_fields__}
    for ending, name in limits.OF_ENDING.items():
        expected[name].add(f"ending.{ending.value}")
    for met, name in limits.OF_MET.items():
        expected[name].add(f"limit.{met.value}")
    assert expected == told


def test_layers_as_enforced() -> None:
    """The architecture page lists the enforced layers in order."""
    section = PAGES["docs/architecture.md"].partition("## Layers")[2].partition("\n## ")[0]
    shown = [set(re.findall(r"`(\w+)`", row)) for row in re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)]
    built = {path.stem for path in (ROOT / "autograder").iterdir() if not path.name.startswith((".", "__"))}
    assert [layer & built for layer in LAYERS] == shown


@pytest.mark.slow
@pytest.mark.sandbox
def test_tutorial_proves_its_checks(warmup: Path) -> None:
    """With the tutorial's mutants, every check can fail; without them, the finding names the check."""
    bare = run("verify", "warmup", "--json", cwd=warmup)
    (missing,) = only_object(bare.stdout)["assignments"][0]["findings"]
    assert (1, "softmax.rows") == (bare.returncode, missing["place"])
    assert missing["got"].startswith("kept by all")
    checks = warmup / "reference/checks/softmax.py"
    checks.write_text(f"{block('python', 0)}\n\n{block('python', 2)}", "utf-8")
    proven = run("verify", "warmup", cwd=warmup)
    assert (0, "") == (proven.returncode, proven.stderr), proven.stdout
    assert re.search(r"softmax: (\d+) trials, (\d+) of \2 mistakes lose what they must", proven.stdout)


@pytest.mark.slow
@pytest.mark.sandbox
def test_tutorial_students_are_graded(warmup: Path) -> None:
    """A student of the tutorial's course gets the points that the rubric states."""
    written = run("generate", "warmup", cwd=warmup)
    assert (0, "") == (written.returncode, written.stderr)
    notebook = json.loads((warmup / "release/warmup/warmup.ipynb").read_text("utf-8"))
    answers = {
        "mlp-answer": 'mlp_parameters = "4 d^2"',
        "softmax-answer": textwrap.dedent(
            """
            import numpy

            def softmax(scores):
                weights = numpy.exp(scores)
                return weights / weights.sum(axis=-1, keepdims=True)
            """
        ),
    }
    for cell in notebook["cells"]:
        cell["source"] = answers.get(cell["metadata"].get("nbgrader", {}).get("grade_id"), cell["source"])
    folder = warmup / "submitted" / "ada" / "warmup"
    folder.mkdir(parents=True)
    (folder / "warmup.ipynb").write_text(json.dumps(notebook), "utf-8")
    graded = only_object(run("grade", "warmup", "--json", cwd=warmup).stdout)
    assert {"ada": 1.0} == graded["points"]
    assert 0.0 == graded["points waiting for a person"]
