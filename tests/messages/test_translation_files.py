"""Translation files follow the tables: new, changed and removed sentences."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder.messages import __main__ as command
from autograder.messages import catalogue
from autograder.messages.translation_files import TranslationFiles, find_faults

ENGLISH = {
    "a.one": "{count} of {total} are right.",
    "a.two": ("{n} point", "{n} points"),
    "a.three": "Right.",
    "a.four": "Right.",
}
GERMAN = {
    "a.one": "{count} von {total} sind richtig.",
    "a.two": ("{n} Punkt", "{n} Punkte"),
    "a.three": "Richtig.",
    "a.four": "Rechts.",
}


def table(folder: Path, monkeypatch: pytest.MonkeyPatch, english: dict[str, object]) -> TranslationFiles:
    """Return the translation files of one table in a folder."""
    book = TranslationFiles(locale=folder)
    monkeypatch.setattr(book, "sentences", english)
    return book


def translated(book: TranslationFiles, texts: dict[str, object]) -> list[str]:
    """Write these German translations; return the faults that the check finds."""
    german = book.update_catalogue("de")
    for message in german:
        if message.context:
            message.string = texts.get(message.context, "")
    book.write_catalogue(german, "de")
    return list(find_faults(book.update_catalogue("de")))


@pytest.fixture
def book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TranslationFiles:
    """Return four sentences in English and German."""
    made = table(tmp_path, monkeypatch, ENGLISH)
    assert [] == translated(made, GERMAN)
    return made


def test_what_is_written_is_read_again(book: TranslationFiles) -> None:
    """A second update leaves the file unchanged."""
    path = catalogue.get_translation_file(book.locale, "de")
    before = path.read_bytes()
    book.write_catalogue(book.update_catalogue("de"), "de")
    assert before == path.read_bytes()
    assert ("de",) == book.list_languages()
    assert b"EMAIL@ADDRESS" not in before


def test_equal_english_may_differ_in_german(book: TranslationFiles) -> None:
    """A translation belongs to a code, so equal English texts may have different translations."""
    known = catalogue._compile_translation(catalogue.get_translation_file(book.locale, "de"))
    assert ["Richtig.", "Rechts."] == [known.pgettext(code, "Right.") for code in ("a.three", "a.four")]


def test_a_new_sentence_waits_for_its_translation(
    book: TranslationFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check reports a new sentence, and its entry in the file is empty."""
    more = table(book.locale, monkeypatch, {**ENGLISH, "b.new": "New."})
    assert ["b.new: not translated"] == list(find_faults(more.update_catalogue("de")))


def test_a_translation_of_other_english_is_fuzzy(
    book: TranslationFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old translation is kept as fuzzy with the previous English text, but not used."""
    changed = table(book.locale, monkeypatch, {**ENGLISH, "a.three": "Correct."})
    german = changed.update_catalogue("de")
    assert ["a.three: marked as fuzzy: the English has changed"] == list(find_faults(german))
    changed.write_catalogue(german, "de")
    text = catalogue.get_translation_file(book.locale, "de").read_text("utf-8")
    assert '#, fuzzy\n#| msgid "Right."\nmsgctxt "a.three"\nmsgid "Correct."\nmsgstr "Richtig."' in text
    known = catalogue._compile_translation(catalogue.get_translation_file(book.locale, "de"))
    assert "Correct." == known.pgettext("a.three", "Correct.")
    assert ["a.three: marked as fuzzy: the English has changed"] == list(
        find_faults(changed.update_catalogue("de"))
    )


def test_a_sentence_that_gets_a_plural_is_translated_anew(
    book: TranslationFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A translation without plural forms cannot be used for a sentence with a plural."""
    changed = table(book.locale, monkeypatch, {**ENGLISH, "a.three": ("{n} is right.", "{n} are right.")})
    assert ["a.three: not translated"] == list(find_faults(changed.update_catalogue("de")))


def test_a_sentence_that_is_gone_is_told(book: TranslationFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sentence that was removed from the tables is reported and then deleted."""
    fewer = table(book.locale, monkeypatch, {"a.three": "Right."})
    assert ("a.four", "a.one", "a.two") == fewer.find_unused("de")
    fewer.write_catalogue(fewer.update_catalogue("de"), "de")
    assert () == fewer.find_unused("de")


@pytest.mark.parametrize(
    ("code", "text", "fault"),
    [
        ("a.one", "{count} sind richtig.", "a.one: the placeholder is missing: total"),
        ("a.one", "{count} von {totel}.", "a.one: the English has no placeholder totel"),
        ("a.three", "Ja, {what}.", "a.three: the English has no placeholder what"),
        ("a.two", ("{n} Punkt", "Punkte"), "a.two: the placeholder is missing: n"),
        ("a.two", ("{n} Punkt", ""), "a.two: not translated"),
        ("a.one", "", "a.one: not translated"),
    ],
)
def test_a_translation_that_cannot_be_filled_is_told(
    book: TranslationFiles, code: str, text: str | tuple[str, ...], fault: str
) -> None:
    """A missing or misspelt placeholder, a missing plural form and an empty text are reported."""
    assert fault in translated(book, {**GERMAN, code: text})


def test_the_command_begins_a_language(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A language as argument creates a file with every sentence; with --check nothing is written."""
    monkeypatch.setattr(catalogue, "LOCALE", tmp_path)
    assert 1 == command.main(["fr", "--check"])
    assert [] == list(tmp_path.iterdir())
    capsys.readouterr()
    assert 1 == command.main(["fr"])
    assert len(catalogue.load_sentences()) == capsys.readouterr().out.count("fr: ")
    text = catalogue.get_translation_file(tmp_path, "fr").read_text("utf-8")
    assert "Plural-Forms: nplurals=2; plural=(n > 1);" in text
    assert len(catalogue.load_sentences()) == text.count('msgctxt "')
