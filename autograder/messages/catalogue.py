"""The catalogue of sentences: English in tables, every other language in a file of its own.

A table is a module with a mapping ``SENTENCES`` of stable codes to English, one for each area; `AREAS` names
ours, and a kind of question of another package brings one as ``sentences`` beside its checks. A sentence that
changes with a number is a pair: for one, and for more. Other languages stand in
``locale/<language>/LC_MESSAGES/autograder.po`` (of another package: in ``locale`` beside its table), under
the code as context (``msgctxt``), and are compiled in memory when they are first needed;
``python -m autograder.messages`` brings these files up to date.
"""

from __future__ import annotations

import functools
import gettext
import importlib
import io
from collections.abc import Iterable, Mapping
from decimal import Decimal
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType

from autograder.wording import Told

AREAS = (
    "autograder.messages.algebra",
    "autograder.messages.attention",
    "autograder.messages.audit",
    "autograder.messages.checks",
    "autograder.messages.counting",
    "autograder.messages.decoding",
    "autograder.messages.diagnoses",
    "autograder.messages.forbidden",
    "autograder.messages.forms",
    "autograder.messages.limits",
    "autograder.messages.memorisation",
    "autograder.messages.page",
    "autograder.messages.phrases",
    "autograder.messages.properties",
    "autograder.messages.quantities",
    "autograder.messages.repair",
    "autograder.messages.shapes",
    "autograder.messages.sheet",
    "autograder.messages.student",
    "autograder.messages.tables",
    "autograder.messages.timing",
    "autograder.messages.title_page",
    "autograder.messages.tracing",
    "autograder.messages.training",
    "autograder.messages.unreadable",
)
"""The modules that hold our tables. They are imported when a sentence is first asked for, so that a table
can lie with the part that says its sentences."""
KINDS = "autograder.kinds"
"""The group of entry points under which packages name their kinds of questions."""
LOCALE = Path(__file__).parents[1] / "locale"
DOMAIN = "autograder"
_MANY = 2

Sentence = str | tuple[str, str]
"""English, with placeholders in braces: one text, or one for a single thing and one for several."""


@functools.cache
def sentences() -> Mapping[str, Sentence]:
    """Code → English, of all tables.

    Raises:
        ValueError: a code stands in two tables.
    """
    return joined((*AREAS, *_foreign()))


def joined(areas: Iterable[str]) -> Mapping[str, Sentence]:
    """Code → English, of some tables.

    Raises:
        ValueError: a code stands in two of them.
    """
    found: dict[str, Sentence] = {}
    for area in areas:
        table: Mapping[str, Sentence] = importlib.import_module(area).SENTENCES
        twice = found.keys() & table.keys()
        if twice:
            raise ValueError(f"{area}: another table has these codes, too: {', '.join(sorted(twice))}")
        found.update(table)
    return MappingProxyType(found)


def languages() -> tuple[str, ...]:
    """Every language that there is: English, and those that have a file."""
    return _languages(LOCALE)


def template(code: str, language: str, number: int = _MANY) -> str:
    """A sentence with its placeholders; English where the language has none.

    Args:
        code: of the sentence.
        language: such as ``"de"``.
        number: of the things that are told of, where the sentence changes with it.

    Raises:
        KeyError: there is no such code.
    """
    english = sentences()[code]
    known = _translations(LOCALE, language if language in languages() else "en")
    if isinstance(english, str):
        return known.pgettext(code, english)
    return known.npgettext(code, *english, number)


def sentence(code: str, language: str, /, **params: object) -> str:
    """A sentence with what stands in its placeholders.

    Raises:
        KeyError: there is no such code, or a placeholder is not filled.
    """
    return template(code, language).format_map(params)


def counted(code: str, language: str, number: Decimal, /, **params: object) -> str:
    """The same for a sentence that changes with a number. A part of one thing is told like several things."""
    whole = int(number) if number == int(number) else _MANY
    return template(code, language, abs(whole)).format_map(params)


def told(code: str, /, **params: object) -> Told:
    """Words in every language, to stand in the placeholder of a sentence."""
    return Told({language: sentence(code, language, **params) for language in languages()})


def locale_of(area: str) -> Path:
    """The folder of the other languages of a table: ours, or that beside a table of another package."""
    spec = find_spec(area)
    return (
        LOCALE if area in AREAS or spec is None or not spec.origin else Path(spec.origin).with_name("locale")
    )


def translation_file(locale: Path, language: str) -> Path:
    """Where the sentences of a language lie."""
    return locale / language / "LC_MESSAGES" / f"{DOMAIN}.po"


@functools.cache
def _foreign() -> tuple[str, ...]:
    """The tables that kinds of other packages bring."""
    kinds = dict.fromkeys(f"{one.module}.sentences" for one in entry_points(group=KINDS))
    return tuple(area for area in kinds if area not in AREAS and find_spec(area))


@functools.cache
def _languages(locale: Path) -> tuple[str, ...]:
    return ("en", *sorted(path.parts[-3] for path in locale.glob(f"*/LC_MESSAGES/{DOMAIN}.po")))


@functools.cache
def _translations(locale: Path, language: str) -> gettext.NullTranslations:
    """One language, of our tables and then of those of others."""
    known = gettext.NullTranslations()
    for folder in (locale, *map(locale_of, _foreign())):
        path = translation_file(folder, language)
        if path.is_file():
            known.add_fallback(_compiled(path))
    return known


def _compiled(path: Path) -> gettext.GNUTranslations:
    from babel.messages.mofile import write_mo
    from babel.messages.pofile import read_po

    compiled = io.BytesIO()
    with path.open("rb") as file:
        write_mo(compiled, read_po(file, domain=DOMAIN))
    compiled.seek(0)
    return gettext.GNUTranslations(compiled)
