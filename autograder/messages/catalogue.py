"""The catalogue of sentences: English in tables, every other language in a file of its own.

A table is a module with a mapping ``SENTENCES`` of stable codes to English, one for each area. `AREAS` names
them; besides, every kind of question may bring one, as ``sentences.py`` in its folder. A sentence that
changes with a number is a pair: for one, and for more. Other languages stand in
``locale/<language>/LC_MESSAGES/autograder.po`` (those of another package's kind in ``locale`` beside its
table), under the code as context (``msgctxt``), and are compiled in memory when they are first needed;
``python -m autograder.messages`` brings these files up to date.
"""

from __future__ import annotations

import functools
import gettext
import importlib.util
import io
from collections.abc import Iterable, Mapping
from decimal import Decimal
from importlib.metadata import entry_points
from pathlib import Path
from types import MappingProxyType

from autograder.wording import LocalisedText

AREAS = (
    "autograder.messages.checks",
    "autograder.messages.formulas",
    "autograder.messages.limits",
    "autograder.messages.notebook",
    "autograder.messages.page",
    "autograder.messages.student",
    "autograder.web.words",
)
"""The modules that hold tables, wherever they lie. They are read when a sentence is first asked for."""
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
    return joined(areas())


@functools.cache
def areas() -> tuple[str, ...]:
    """The modules of all tables: those of `AREAS`, and of the kinds that bring one."""
    kinds = (f"{one.module}.sentences" for one in entry_points(group=KINDS))
    return tuple(dict.fromkeys((*AREAS, *(area for area in kinds if _file(area).is_file()))))


def is_ours(area: str) -> bool:
    """Whether a table belongs to this package, and its other languages to our `LOCALE`."""
    return area.startswith("autograder.")


def joined(tables: Iterable[str]) -> Mapping[str, Sentence]:
    """Code → English, of some tables.

    Raises:
        ValueError: a code stands in two of them.
    """
    found: dict[str, Sentence] = {}
    for area in tables:
        table = _table(area)
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


def localised(code: str, /, **params: object) -> LocalisedText:
    """Words in every language, to stand in the placeholder of a sentence."""
    return LocalisedText({language: sentence(code, language, **params) for language in languages()})


def locale_of(area: str) -> Path:
    """The folder of the other languages of a table: ours, or that beside a table of another package."""
    return LOCALE if is_ours(area) else _file(area).with_name("locale")


def translation_file(locale: Path, language: str) -> Path:
    """Where the sentences of a language lie."""
    return locale / language / "LC_MESSAGES" / f"{DOMAIN}.po"


def _file(area: str) -> Path:
    """Where a module lies, or would lie. Nothing is imported but the package that all of it is in."""
    package, *parts = area.split(".")
    spec = importlib.util.find_spec(package)
    folder = next(iter((spec and spec.submodule_search_locations) or ()), "")
    return Path(folder, *parts).with_suffix(".py")


def _table(area: str) -> Mapping[str, Sentence]:
    """The table of a module, which is run alone: the packages around it may hold whole kinds of questions."""
    spec = importlib.util.spec_from_file_location(area, _file(area))
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"{area}: there is no such table of sentences")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    table: Mapping[str, Sentence] = module.SENTENCES
    return table


@functools.cache
def _languages(locale: Path) -> tuple[str, ...]:
    return ("en", *sorted(path.parts[-3] for path in locale.glob(f"*/LC_MESSAGES/{DOMAIN}.po")))


@functools.cache
def _translations(locale: Path, language: str) -> gettext.NullTranslations:
    """One language, of our tables and then of those of others."""
    known = gettext.NullTranslations()
    for folder in (locale, *(locale_of(area) for area in areas() if not is_ours(area))):
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
