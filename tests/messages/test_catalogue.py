"""Every sentence is in the catalogue exactly once per language."""

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
"""Files that use the name of a language otherwise: for the language of a student's text, and in a comment."""


@pytest.mark.parametrize("language", [language for language in list_languages() if language != "en"])
def test_every_sentence_is_translated(language: str) -> None:
    """Every sentence has a translation with all placeholders that is not marked for review."""
    book = TranslationFiles()
    assert [] == list(find_faults(book.update_catalogue(language)))
    assert () == book.find_unused(language)


def test_the_files_are_as_the_command_writes_them() -> None:
    """``python -m autograder.messages`` would change no file."""
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
    """English and German are found, regardless of other languages."""
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
    """The singular is used for exactly one point, the plural for everything else, including fractions."""
    points = Decimal(number)
    assert english in format_counted("page.pending", "en", points, points=number)
    assert german in format_counted("page.pending", "de", points, points=number.replace(".", ","))


def test_words_inside_of_a_sentence_follow_its_language() -> None:
    """A phrase in a placeholder is in the language of the surrounding sentence."""
    message = Message("raised", {"what": "f", "error": build_localised_text("phrase.exception"), "text": "x"})
    assert ("f stopped with an exception: x", "f brach ab mit einer Exception: x") == (
        render_message(message, "en"),
        render_message(message, "de"),
    )


def test_what_is_filled_in_is_not_filled_again() -> None:
    """Braces in a student's text stay, and give no access to the program's objects."""
    text = "{0} {what} {what.__class__}"
    assert f"f stopped with E: {text}" == format_sentence("raised", "en", what="f", error="E", text=text)
    with pytest.raises(KeyError):
        format_sentence("raised", "en", what="f")
    with pytest.raises(KeyError):
        format_sentence("no-such-code", "en")


def test_no_code_stands_in_two_tables() -> None:
    """Two tables with the same code raise an error."""
    with pytest.raises(ValueError, match="page: another table has these codes, too: attempt"):
        catalogue.merge_tables(("autograder.messages.page", "autograder.messages.page"))


@pytest.mark.parametrize("path", sorted((PROGRAM / "messages").glob("*.py")), ids=lambda path: path.stem)
def test_no_code_stands_twice_in_a_module(path: Path) -> None:
    """A code occurs once in a module, because a later table would silently override it."""
    found = [
        key.value
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Dict)
        for key in node.keys
        if isinstance(key, ast.Constant) and path.stem != "formulas"  # its codes are derived from the keys
    ]
    assert len(set(found)) == len(found)


def test_every_table_is_registered() -> None:
    """The catalogue contains every module of sentences."""
    holding = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in PROGRAM.rglob("*.py")
        if re.search(r"^SENTENCES\b.*= \{", path.read_text("utf-8"), re.MULTILINE)
        and "demo" not in path.parts
    }
    assert holding == set(filter(catalogue.is_ours, catalogue.list_areas()))


def test_no_german_stands_in_the_program() -> None:
    """No module contains a table by language; German texts are in the catalogue only."""
    found = {
        path.relative_to(PROGRAM).as_posix()
        for path in PROGRAM.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and node.value == "de"
    }
    assert set() == found - OWN_USE


def test_every_code_of_the_program_is_in_the_catalogue() -> None:
    """Every complete code in a module is in the catalogue."""
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
    """Every sentence of an area is used somewhere in the program."""
    sources = "".join(
        path.read_text("utf-8") for path in PROGRAM.rglob("*.py") if path.parent.name != "messages"
    )
    quoted = {*re.findall(r'"[a-z.-]+"', sources), *(f'"{status.value}"' for status in Status)}
    said = {code for code in load_sentences() if code.startswith(f"{area}.")}
    named = {code: code.partition(".")[2].removesuffix("-own") for code in said}
    assert set() == {code for code in said if not {f'"{code}"', f'"{named[code]}"'} & quoted}


@pytest.mark.parametrize("area", ["page", "sheet"])
def test_every_label_of_a_template_is_there(area: str) -> None:
    """Every label that templates and their modules use exists, and every label is used."""
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
    """The sentences of a kind from another package are merged into the catalogue, in English."""
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
"""Sentences that always count more than one: copies, and entries beyond the columns of a table."""


def test_no_sentence_counts_one_thing_in_the_plural() -> None:
    """A number that may be 1 comes after a colon, or its sentence has a singular and a plural form."""
    plural = re.compile(r"\{(count|person|missing)\} (?!was\b)(more )?[a-z]+s\b")
    known = {code for code, text in load_sentences().items() if isinstance(text, str) and plural.search(text)}
    assert known == ALWAYS_SEVERAL
