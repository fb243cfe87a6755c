"""Every sentence is in the catalogue once, in every language, and nowhere else."""

from __future__ import annotations

import ast
import importlib.metadata
import re
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest

from autograder.core.records import Message, Status
from autograder.messages import (
    build_localised_text,
    catalogue,
    format_counted,
    format_sentence,
    list_languages,
    load_sentences,
    render_message,
)
from autograder.messages.catalogue import LOCALE
from autograder.messages.translation_files import TranslationFiles, find_faults

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "autograder"
OWN_USE = {"questions/base/values/prose.py", "authoring/new_assignment.py"}
"""Where the name of the language stands for something else: what language a text of a student is in, and an
example in a comment."""


@pytest.mark.parametrize("language", [language for language in list_languages() if language != "en"])
def test_every_sentence_is_translated(language: str) -> None:
    """No sentence lacks its translation, or a placeholder, or waits for somebody to look at it."""
    book = TranslationFiles()
    assert [] == list(find_faults(book.update_catalogue(language)))
    assert () == book.find_unused(language)


def test_the_files_are_as_the_command_writes_them() -> None:
    """Nothing is left to do for ``python -m autograder.messages``."""
    done = subprocess.run(
        [sys.executable, "-m", "autograder.messages", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert (0, "", "") == (done.returncode, done.stdout, done.stderr)


def test_english_and_german_are_there() -> None:
    """The files are found, whatever else somebody adds."""
    assert {"en", "de"} <= set(list_languages())
    assert "Note" == format_sentence("page.grade", "de")
    assert "Grade" == format_sentence("page.grade", "en") == format_sentence("page.grade", "no-such-language")
    assert "de" == LOCALE.joinpath("de").name


@pytest.mark.parametrize(
    ("number", "english", "german"),
    [
        ("1", "1 point is", "1 Punkt wird"),
        ("0.5", "0.5 points are", "0,5 Punkte werden"),
        ("1.5", "1.5 points are", "1,5 Punkte werden"),
        ("2", "2 points are", "2 Punkte werden"),
        ("0", "0 points are", "0 Punkte werden"),
    ],
)
def test_a_sentence_changes_with_its_number(number: str, english: str, german: str) -> None:
    """One point, and everything else in the plural, parts of a point as well."""
    points = Decimal(number)
    assert english in format_counted("page.pending", "en", points, points=number)
    assert german in format_counted("page.pending", "de", points, points=number.replace(".", ","))


def test_words_inside_of_a_sentence_follow_its_language() -> None:
    """A phrase that stands in a placeholder is said in the language around it."""
    message = Message("raised", {"what": "f", "error": build_localised_text("phrase.exception"), "text": "x"})
    assert ("f stopped with an exception: x", "f brach ab mit einer Exception: x") == (
        render_message(message, "en"),
        render_message(message, "de"),
    )


def test_what_is_filled_in_is_not_filled_again() -> None:
    """Braces in a student's text stay, and nothing of the program can be reached through them."""
    text = "{0} {what} {what.__class__}"
    assert f"f stopped with E: {text}" == format_sentence("raised", "en", what="f", error="E", text=text)
    with pytest.raises(KeyError):
        format_sentence("raised", "en", what="f")
    with pytest.raises(KeyError):
        format_sentence("no-such-code", "en")


def test_no_code_stands_in_two_tables() -> None:
    """Tables are joined, none covers another."""
    with pytest.raises(ValueError, match="page: another table has these codes, too: attempt"):
        catalogue.merge_tables(("autograder.messages.page", "autograder.messages.page"))


@pytest.mark.parametrize("path", sorted((PROGRAM / "messages").glob("*.py")), ids=lambda path: path.stem)
def test_no_code_stands_twice_in_a_module(path: Path) -> None:
    """A table is put together of several, of which the later one would win without a word."""
    found = [
        key.value
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Dict)
        for key in node.keys
        if isinstance(key, ast.Constant) and path.stem != "formulas"  # whose codes follow from the keys
    ]
    assert len(set(found)) == len(found)


def test_every_table_is_registered() -> None:
    """A module of sentences that the catalogue does not know would never be said."""
    holding = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in PROGRAM.rglob("*.py")
        if re.search(r"^SENTENCES\b.*= \{", path.read_text("utf-8"), re.MULTILINE)
        and "demo" not in path.parts
    }
    assert holding == set(filter(catalogue.is_ours, catalogue.list_areas()))


def test_no_german_stands_in_the_program() -> None:
    """What people read in German is in the catalogue: no module has a table by language."""
    found = {
        path.relative_to(PROGRAM).as_posix()
        for path in PROGRAM.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and node.value == "de"
    }
    assert set() == found - OWN_USE


def test_every_code_of_the_program_is_in_the_catalogue() -> None:
    """No module says a sentence that is not there, as far as the code stands in it whole."""
    codes = []
    folders = ("pages", "store", "notebook", "cli", "questions")
    for path in (path for folder in folders for path in (PROGRAM / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            called = node.func if isinstance(node, ast.Call) and node.args else None
            name = getattr(called, "id", getattr(called, "attr", ""))
            if name in {
                "format_sentence",
                "get_template",
                "build_localised_text",
                "format_counted",
            } and isinstance(node, ast.Call):
                code = node.args[0]
                whole = [code.body, code.orelse] if isinstance(code, ast.IfExp) else [code]
                codes += [one.value for one in whole if isinstance(one, ast.Constant)]
    assert len(codes) > 40
    assert set() == set(codes) - set(load_sentences())


@pytest.mark.parametrize("area", ["student", "title", "comment", "phrase"])
def test_every_sentence_of_an_area_is_said(area: str) -> None:
    """No sentence is kept that nothing says: what follows the area stands in the program's source."""
    sources = "".join(
        path.read_text("utf-8") for path in PROGRAM.rglob("*.py") if path.parent.name != "messages"
    )
    quoted = {*re.findall(r'"[a-z.-]+"', sources), *(f'"{status.value}"' for status in Status)}
    said = {code for code in load_sentences() if code.startswith(f"{area}.")}
    named = {code: code.partition(".")[2].removesuffix("-own") for code in said}
    assert set() == {code for code in said if not {f'"{code}"', f'"{named[code]}"'} & quoted}


@pytest.mark.parametrize("area", ["page", "sheet"])
def test_every_label_of_a_template_is_there(area: str) -> None:
    """Templates and the modules beside them name their words without the area; each word is used."""
    call = {"page": "label", "sheet": "word"}[area]
    paths = [path for path in (PROGRAM / "pages").rglob("*.*") if path.suffix in {".py", ".html"}]
    sources = "".join(path.read_text("utf-8") for path in paths)
    called = set(re.findall(rf"\b{call}s?\(\s*['\"]([a-z-]+(?:\.[a-z-]+)*)['\"]\s*[,)]", sources))
    codes = {code.partition(".")[2] for code in load_sentences() if code.startswith(f"{area}.")}
    assert called
    assert set() == called - codes
    begun = re.findall(r"['\"]([a-z-]+[.-])(?:\{|['\"] ~)", sources)
    quoted = {
        *re.findall(r"['\"]([a-z.-]+)['\"]", sources),
        *re.findall(r'"(?:page|sheet)\.([a-z.-]+)"', sources),
    }
    assert [] == [code for code in codes if code not in quoted and not code.startswith(tuple(begun))]


def test_another_packages_kind_brings_its_sentences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table beside a kind that a package names is joined, and is said in English."""
    kind = tmp_path / "toy_kind_of_sentences"
    kind.mkdir()
    kind.joinpath("__init__.py").write_text("raise SystemExit('is not needed for a sentence')", "utf-8")
    kind.joinpath("sentences.py").write_text('SENTENCES = {"toy.wrong": "{what} squeaks."}\n', "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    point = importlib.metadata.EntryPoint("toy", f"{kind.name}:ToyCheck", catalogue.KINDS)
    monkeypatch.setattr(catalogue, "entry_points", lambda *, group: [point] if group == point.group else [])
    caches = (catalogue.load_sentences, catalogue.list_areas)
    for one in caches:
        one.cache_clear()
    try:
        assert "It squeaks." == format_sentence("toy.wrong", "de", what="It")
        assert "Note" == format_sentence("page.grade", "de")
    finally:
        for one in caches:
            one.cache_clear()


ALWAYS_SEVERAL = {"student.cell-copied", "table.width"}
"""Sentences about more than one: copies, and entries beyond the columns of a table."""


def test_no_sentence_counts_one_thing_in_the_plural() -> None:
    """``keeps 1 tokens``: a number that may be 1 stands behind a colon, or the sentence has two forms."""
    plural = re.compile(r"\{(count|person|missing)\} (?!was\b)(more )?[a-z]+s\b")
    known = {code for code, text in load_sentences().items() if isinstance(text, str) and plural.search(text)}
    assert known == ALWAYS_SEVERAL
