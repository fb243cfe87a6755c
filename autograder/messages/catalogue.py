"""The catalogue of sentences: English in tables, all other languages in translation files.

A table is a module with a mapping ``SENTENCES`` of stable codes to English, one per area. `AREAS` lists them;
in addition, every kind of question may have a table, ``sentences.py`` in its folder. A sentence that changes
with a number is a pair: singular and plural. Translations are in
``locale/<language>/LC_MESSAGES/autograder.po``, with the code as context (``msgctxt``). They are compiled in
memory on first use; ``python -m autograder.messages`` updates these files. Kinds of other packages speak
English.
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

from autograder.core.wording import LocalisedText

AREAS = (
    "autograder.messages.answers",
    "autograder.messages.faults",
    "autograder.messages.formulas",
    "autograder.messages.limits",
    "autograder.messages.mail",
    "autograder.messages.notebook",
    "autograder.messages.page",
    "autograder.messages.student",
    "autograder.messages.verify",
    "autograder.web.sentences",
)
"""The modules with tables. They are read when a sentence is first requested."""
KINDS = "autograder.questions"
"""The group of entry points with which packages register kinds of questions."""
LOCALE = Path(__file__).parent / "locale"
DOMAIN = "autograder"
_MANY = 2

Sentence = str | tuple[str, str]
"""English, with placeholders in braces: one text, or a singular and a plural."""


@functools.cache
def load_sentences() -> Mapping[str, Sentence]:
    """Load code → English from all tables.

    Raises:
        ValueError: two tables have the same code.
    """
    return merge_tables(list_areas())


@functools.cache
def list_areas() -> tuple[str, ...]:
    """List the modules of all tables: those of `AREAS`, and of the kinds that have one."""
    kinds = (f"{entry_point.module}.sentences" for entry_point in entry_points(group=KINDS))
    # Several kinds of a package may share one table.
    return tuple(dict.fromkeys((*AREAS, *(area for area in kinds if _get_module_path(area).is_file()))))


def is_ours(area: str) -> bool:
    """Decide whether a table belongs to this package, so that it is translated."""
    return area.startswith("autograder.")


def merge_tables(tables: Iterable[str]) -> Mapping[str, Sentence]:
    """Merge tables into code → English.

    Raises:
        ValueError: two tables have the same code.
    """
    merged: dict[str, Sentence] = {}
    for area in tables:
        table = _load_table(area)
        twice = merged.keys() & table.keys()
        if twice:
            raise ValueError(f"{area}: another table has these codes, too: {', '.join(sorted(twice))}")
        merged.update(table)
    return MappingProxyType(merged)


def list_languages() -> tuple[str, ...]:
    """Return all available languages: English, and those with a translation file."""
    return _list_languages(LOCALE)


def get_template(code: str, language: str, number: int = _MANY) -> str:
    """Return a sentence with its placeholders; English if the language has no translation.

    Args:
        code: of the sentence.
        language: such as ``"de"``.
        number: chooses singular or plural, if the sentence has both.

    Raises:
        KeyError: there is no such code.
    """
    english = load_sentences()[code]
    translations = _load_translations(LOCALE, language if language in list_languages() else "en")
    if isinstance(english, str):
        return translations.pgettext(code, english)
    return translations.npgettext(code, *english, number)


def format_sentence(code: str, language: str, /, **params: object) -> str:
    """Return a sentence with its placeholders filled, also by phrases in several languages.

    Raises:
        KeyError: there is no such code, or a placeholder has no value.
    """
    return get_template(code, language).format_map(_render_params(params, language))


def _render_params(params: Mapping[str, object], language: str) -> dict[str, object]:
    return {
        name: value.get_text(language) if isinstance(value, LocalisedText) else value
        for name, value in params.items()
    }


def format_counted(code: str, language: str, number: Decimal, /, **params: object) -> str:
    """Return a sentence that changes with a number. Fractions use the plural."""
    whole = int(number) if number == int(number) else _MANY
    # gettext's plural rules are defined for natural numbers.
    return get_template(code, language, abs(whole)).format_map(params)


def build_localised_text(code: str, /, **params: object) -> LocalisedText:
    """Return a sentence in every language, as the value for a placeholder of another sentence."""
    return LocalisedText(
        {language: format_sentence(code, language, **params) for language in list_languages()}
    )


def get_translation_file(locale: Path, language: str) -> Path:
    """Return the path of a language's translation file."""
    return locale / language / "LC_MESSAGES" / f"{DOMAIN}.po"


def _get_module_path(area: str) -> Path:
    """Return the path that a module has or would have. Only its top-level package is imported."""
    package, *parts = area.split(".")
    # `find_spec` of a submodule would import its parents.
    spec = importlib.util.find_spec(package)
    folder = next(iter((spec and spec.submodule_search_locations) or ()), "")
    return Path(folder, *parts).with_suffix(".py")


def _load_table(area: str) -> Mapping[str, Sentence]:
    """Load the table of a module, without its parent packages.

    Importing the package normally would import whole kinds of questions.
    """
    spec = importlib.util.spec_from_file_location(area, _get_module_path(area))
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"{area}: there is no such table of sentences")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    table: Mapping[str, Sentence] = module.SENTENCES
    return table


@functools.cache
def _list_languages(locale: Path) -> tuple[str, ...]:
    return ("en", *sorted(path.parts[-3] for path in locale.glob(f"*/LC_MESSAGES/{DOMAIN}.po")))


@functools.cache
def _load_translations(locale: Path, language: str) -> gettext.NullTranslations:
    """Return the translations into a language; none for English."""
    path = get_translation_file(locale, language)
    return _compile_translation(path) if path.is_file() else gettext.NullTranslations()


def _compile_translation(path: Path) -> gettext.GNUTranslations:
    # Imported late: runs in English do not need Babel.
    from babel.messages.mofile import write_mo
    from babel.messages.pofile import read_po

    compiled = io.BytesIO()
    with path.open("rb") as file:
        write_mo(compiled, read_po(file, domain=DOMAIN))
    compiled.seek(0)
    return gettext.GNUTranslations(compiled)
