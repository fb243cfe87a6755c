"""``autograder print`` on the command line."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.running import ROOT, run

NAME = "variants-practice"


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """Return a course that contains the practice sheet with variants."""
    for folder in ("assignments", "rubrics", "reference"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def test_an_html_page_where_it_was_asked_for(course: Path) -> None:
    """The suffix of --output selects the format; the release is not changed."""
    page = course / "sheet.html"
    done = run("print", NAME, "--language", "de", "--output", str(page), cwd=course)
    assert (0, "") == (done.returncode, done.stderr)
    assert f"wrote {page}" in done.stdout
    assert "Matrikelnummer" in page.read_text("utf-8")
    assert not (course / "release").exists()


def test_solutions_on_letter_paper_lie_below_paper(course: Path) -> None:
    """The page for graders has a separate file name."""
    done = run("print", NAME, "--solutions", "--paper", "letter", cwd=course)
    assert 0 == done.returncode, done.stderr
    page = (course / "paper" / f"{NAME}-solutions.html").read_text("utf-8")
    assert "size: letter" in page
    assert "Solutions, for graders only" in page


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--language", "fr"), "--language: expected one of en, de, got 'fr'"),
        (("--output", "sheet.docx"), "expected a file that ends in .html"),
        (("--student", "../ada"), "--student: '../ada' cannot be a student's id: it holds '/'"),
    ],
)
def test_wrong_options_are_sentences(course: Path, words: tuple[str, ...], said: str) -> None:
    """An unknown language or suffix is refused with a list of the valid ones."""
    done = run("print", NAME, *words, cwd=course)
    assert 3 == done.returncode
    assert said in " ".join(done.stderr.split())


@pytest.mark.slow
def test_a_students_own_variant(course: Path) -> None:
    """A student's sheet equals the notebook that they received, and states their name."""
    (course / "roster.csv").write_text(
        "id,first_name,last_name,email\nada,Ada,L,a@example.org\nalan,Alan,T,b@example.org\n"
    )
    assert 0 == run("generate", NAME, cwd=course).returncode
    for name in ("ada", "alan"):
        done = run("print", NAME, "--student", name, "--output", f"{name}.html", cwd=course)
        assert 0 == done.returncode, done.stderr
    sheets = {name: (course / f"{name}.html").read_text("utf-8") for name in ("ada", "alan")}
    assert "<b>ada</b>" in sheets["ada"]
    assert sheets["ada"].replace("ada", "alan") != sheets["alan"]
    done = run("print", NAME, "--student", "ada", "--solutions", "--output", "key.html", cwd=course)
    assert 0 == done.returncode, done.stderr
    assert 'id="item-' in (course / "key.html").read_text("utf-8")
    stranger = run("print", NAME, "--student", "eve", cwd=course)
    assert 3 == stranger.returncode
    assert "nothing was handed out to 'eve'" in stranger.stderr
    refused = run("print", "counting", "--student", "ada", cwd=course)
    assert 3 == refused.returncode
    assert "everybody has the same" in refused.stderr
