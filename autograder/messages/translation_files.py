"""Updates the translation files from the tables, and finds faults in them."""

from __future__ import annotations

import io
import string
from collections.abc import Iterator, Mapping
from pathlib import Path

from babel.messages.catalog import Catalog, Message
from babel.messages.pofile import read_po, write_po

from autograder.messages import catalogue
from autograder.messages.catalogue import (
    DOMAIN,
    Sentence,
    get_translation_file,
    is_ours,
    list_areas,
    merge_tables,
)

_WIDTH = 110
_NOT_KEPT = (
    *('"Report-Msgid-Bugs-To:', '"POT-Creation-Date:', '"PO-Revision-Date:', '"Last-Translator:'),
    *('"Language-Team:', '"Generated-By:'),
)
"""Header lines without information, or with values that change on each run."""
_HEADER = "# Sentences of autograder, {language}. Translate msgstr; msgctxt is the sentence's stable code."


class TranslationFiles:
    """Our tables of sentences, with the folder of their translations."""

    def __init__(self, locale: Path | None = None) -> None:
        """Read the tables.

        Args:
            locale: the folder of the translations; default: that of this package.
        """
        self.sentences: Mapping[str, Sentence] = merge_tables(filter(is_ours, list_areas()))
        self.locale = locale or catalogue.LOCALE

    def list_languages(self) -> tuple[str, ...]:
        """Return the languages that have a file."""
        return tuple(sorted(path.parts[-3] for path in self.locale.glob(f"*/LC_MESSAGES/{DOMAIN}.po")))

    def read_catalogue(self, language: str) -> Catalog:
        """Read the file of a language; empty if there is no such file."""
        path = get_translation_file(self.locale, language)
        if not path.is_file():
            return Catalog(locale=language, domain=DOMAIN)
        with path.open("rb") as file:
            return read_po(file, locale=language, domain=DOMAIN)

    def update_catalogue(self, language: str) -> Catalog:
        """Return a language's catalogue with exactly the sentences of the tables, ordered by code.

        If the English text has changed, the translation is kept but marked as fuzzy: it is not used until it
        has been reviewed.
        """
        known_messages = {
            message.context: message for message in self.read_catalogue(language) if message.context
        }
        new = Catalog(
            locale=language,
            domain=DOMAIN,
            project=DOMAIN,
            version="1",
            header_comment=_HEADER.format(language=language),
            fuzzy=False,
        )
        for code, english in sorted(self.sentences.items()):
            before = known_messages.get(code)
            if before is None:
                new.add(english, context=code)
                continue
            changed = _get_forms(before.id) != _get_forms(english)
            same_form = isinstance(before.id, str) == isinstance(english, str)
            new.add(
                english,
                # A sentence that became a pair, or the reverse, needs another number of translations.
                before.string if same_form else None,
                flags={"fuzzy"} if changed or before.fuzzy else (),
                user_comments=before.user_comments,
                previous_id=_get_forms(before.id) if changed else before.previous_id,
                context=code,
            )
        return new

    def find_unused(self, language: str) -> tuple[str, ...]:
        """Return codes in a language's file that no table has."""
        codes = (message.context for message in self.read_catalogue(language) if message.context)
        return tuple(code for code in codes if code not in self.sentences)

    def write_catalogue(self, catalogue: Catalog, language: str) -> None:
        """Write the file of a language."""
        written = io.BytesIO()
        write_po(written, catalogue, width=_WIDTH, ignore_obsolete=True, include_previous=True)
        lines = written.getvalue().decode().splitlines(keepends=True)
        path = get_translation_file(self.locale, language)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(line for line in lines if not line.startswith(_NOT_KEPT)), encoding="utf-8")


def find_faults(catalogue: Catalog) -> Iterator[str]:
    """Find everything that needs attention, each with the code of the sentence."""
    for message in catalogue:
        if not message.context:
            continue
        if not all(_get_forms(message.string)):
            yield f"{message.context}: not translated"
        elif message.fuzzy:
            yield f"{message.context}: marked as fuzzy: the English has changed"
        else:
            yield from (f"{message.context}: {error}" for error in message.check(catalogue))
            yield from _check_placeholders(message)


def _check_placeholders(message: Message) -> Iterator[str]:
    wanted = set[str]().union(*map(get_placeholders, _get_forms(message.id)))
    for text in _get_forms(message.string):
        strange = get_placeholders(text) - wanted
        if strange:
            yield f"{message.context}: the English has no placeholder {', '.join(sorted(strange))}"
    # Only the last form must have all placeholders: a singular may spell its number out.
    lacking = wanted - get_placeholders(_get_forms(message.string)[-1])
    if lacking:
        yield f"{message.context}: the placeholder is missing: {', '.join(sorted(lacking))}"


def get_placeholders(text: str) -> set[str]:
    """Return the placeholders of a text."""
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def _get_forms(text: str | tuple[str, ...] | list[str] | None) -> tuple[str, ...]:
    """Return the singular and plural of a sentence; a single form if it does not change with a number."""
    return (text or "",) if isinstance(text, str | None) else tuple(text)
