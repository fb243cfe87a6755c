"""The notebook for nbgrader's pages keeps the cells with marks and removes everything dangerous."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nbconvert.filters import markdown2html

from autograder.core.errors import GradebookError
from autograder.core.records import GradingResult
from autograder.store.gradebook import build_autograded_files, build_autograded_notebook, write_autograded
from autograder.store.gradebook.autograded import sanitise_markdown
from tests.pages.examples import HOSTILE, good, hostile, middling, png, release

RELEASES = {"exam": release()}


def cells(graded: GradingResult) -> list[dict[str, Any]]:
    """Return the cells of the autograded notebook."""
    notebook: dict[str, Any] = json.loads(build_autograded_notebook(graded.notebooks[0], release()))
    return list(notebook["cells"])


@pytest.mark.parametrize("graded", [good(), middling(), hostile()], ids=["good", "middling", "hostile"])
def test_the_notebook_is_valid(graded: GradingResult) -> None:
    """nbformat accepts the notebook."""
    notebook = json.loads(build_autograded_notebook(graded.notebooks[0], release()))
    assert nbformat.validator.isvalid(notebook)


def test_cells_keep_the_metadata_of_the_release() -> None:
    """Released cells keep nbgrader's metadata exactly; the student's own cells have none."""
    released = {cell["id"]: cell["metadata"] for cell in json.loads(release())["cells"]}
    found = cells(middling())
    ours = [cell for cell in found if cell["metadata"]]
    assert ["intro", "task3-b-answer", "task3-b-why", "mha-answer"] == [cell["id"] for cell in ours]
    assert [released[cell["id"]] for cell in ours] == [cell["metadata"] for cell in ours]


def test_outputs_are_text_and_verified_pictures() -> None:
    """HTML is replaced by its text, valid pictures are kept, and a stopped cell says so."""
    found = cells(middling())
    printed, table, picture, truncated = found[3]["outputs"]
    assert "epoch 1: 100%\n" == printed["text"]
    assert {"text/plain": "   loss\n1   3.2"} == table["data"]
    assert png() == picture["data"]["image/png"]
    assert "not kept" in truncated["text"]
    assert ["TypeError", "TypeError: mask is None"] == [
        found[4]["outputs"][0][key] for key in ("ename", "evalue")
    ]
    assert "cell-time" in found[5]["outputs"][0]["text"]


def test_hostile_outputs_have_no_dangerous_type() -> None:
    """Of displayed outputs, only plain text and pictures remain in the notebook."""
    types = {
        mime
        for cell in cells(hostile())
        for output in cell.get("outputs", ())
        for mime in output.get("data", ())
    }
    assert {"text/plain", "image/jpeg"} >= types


@pytest.mark.parametrize(
    "source",
    [
        *HOSTILE[1:],
        "[click](javascript:alert(1))",
        "[click]( JaVaScRiPt:alert(1))",
        "[click]: data:text/html,x\n[click]",
        "![pixel](https://evil.example/pixel.png)",
        "<https://evil.example>",
        r"$\href{javascript:alert(1)}{x}$",
        "&lt;script&gt;alert(1)&lt;/script&gt;",
        "```\n</code></pre><script>alert(1)</script>\n```",
        "~~~~~\n<img src=x onerror=alert(1)>\n```````",
    ],
)
def test_hostile_markdown_is_shown_as_text(source: str) -> None:
    """nbconvert creates no active element, link or picture from a student's text."""
    page = markdown2html(sanitise_markdown(source))
    assert [] == [
        sign for sign in ("<script", "<img", "<svg", "<a ", "<iframe", "<style", "<meta") if sign in page
    ]


@pytest.mark.parametrize(
    "source",
    [
        "Two matrices, each of $4 d_{model}^2$ numbers: **eight** in all.",
        "- a list\n- with `code`",
        "If 3 < 4 then $a < b$; see [the paper](https://example.org/paper).",
    ],
)
def test_ordinary_markdown_stays(source: str) -> None:
    """Emphasis, lists, code, formulas and web links are unchanged."""
    assert source == sanitise_markdown(source)


@given(st.text(st.characters(codec=None, exclude_categories=())))
def test_no_markdown_becomes_an_element_with_a_script(source: str) -> None:
    """Any text gives encodable Markdown without raw tags outside fences."""
    safe = sanitise_markdown(source)
    assert safe == safe.encode().decode()
    assert "<script" not in markdown2html(safe)


def test_files_are_written_once(tmp_path: Path) -> None:
    """The file is in nbgrader's folder and is not rewritten if nothing changed."""
    (path,) = files = build_autograded_files(tmp_path, good(), RELEASES)
    write_autograded(files)
    assert tmp_path / "autograded" / "ada" / "exam" / "exam.ipynb" == path
    before = path.stat().st_ino
    write_autograded(files)
    assert before == path.stat().st_ino
    assert ["exam.ipynb"] == [entry.name for entry in path.parent.iterdir()]


def test_an_unreadable_submission_is_the_release(tmp_path: Path) -> None:
    """For an unreadable submission, formgrader shows the released notebook."""
    graded = msgspec.structs.replace(good(), notebooks=())
    assert [release()] == list(build_autograded_files(tmp_path, graded, RELEASES).values())


@pytest.mark.parametrize("student", ["..", "a/b", "", ".", "a\0b", "a\\b"])
def test_names_that_leave_the_folder_are_refused(tmp_path: Path, student: str) -> None:
    """A student's name cannot lead outside the course folder."""
    graded = msgspec.structs.replace(good(), score=msgspec.structs.replace(good().score, student=student))
    with pytest.raises(GradebookError, match="name of a folder"):
        build_autograded_files(tmp_path, graded, RELEASES)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """A file in place of the folder raises a clear error."""
    (tmp_path / "autograded").write_text("")
    with pytest.raises(GradebookError, match="could not be written"):
        write_autograded(build_autograded_files(tmp_path, good(), RELEASES))
