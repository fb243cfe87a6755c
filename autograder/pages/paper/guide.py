"""The guide for graders about an item: right answers, partial credit, and marking instructions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, ClassVar

from markupsafe import Markup, escape
from msgspec import Struct

from autograder import messages
from autograder.pages.feedback.labels import Labels
from autograder.pages.feedback.prose import render_prose
from autograder.pages.feedback.typeset import Typesetter
from autograder.questions import load_kind
from autograder.questions.base.judging.manual import Examples, read_manual_options
from autograder.rubric import Item, Question

_STATED = ("value", "right", "accept")
"""Keys of an item that state right answers, the simplest first."""
_ORDER = re.compile(r"\s*(?:\\?(?:O|o|Theta|Omega|omega)|[ΘΩω])\s*\(")
"""The beginning of a growth order that is written with its letter, which a rubric may omit."""
_PARTS = ("mistake", "remark", "step")


class SheetLabels(Labels):
    """The labels of sheets in one language; English if there is no translation."""

    area: ClassVar[str] = "sheet"

    def points(self, value: Decimal) -> str:
        """Return points with their unit. Templates call it by this name."""
        return messages.format_counted("sheet.points", self.language, value, number=self.number(value))


class GuideNote(Struct, frozen=True):
    """A line about an item."""

    label: str
    text: Markup


class ItemGuide(Struct, frozen=True):
    """The guide for one item of the rubric."""

    id: str
    text: str
    points: str
    notes: tuple[GuideNote, ...]


def build_item_guide(question: Question, item: Item, words: SheetLabels, typesetter: Typesetter) -> ItemGuide:
    """Return everything that the rubric says about an item, in words."""
    notes = (
        [*_list_manual_notes(question, item, words)]
        if item.manual
        else [*_list_automatic_notes(question, item, words, typesetter)]
    )
    if item.needs:
        notes.append(GuideNote(words("needs"), Markup(", ").join(item.needs)))
    return ItemGuide(item.id, words.pick(item.text, item.id), words.number(item.points), tuple(notes))


def _list_manual_notes(question: Question, item: Item, words: SheetLabels) -> Iterator[GuideNote]:
    yield GuideNote("", escape(words("by-person")))
    options = read_manual_options(question, item)
    examples = options.examples or Examples("", "")
    for key, text in (
        ("guide", words.pick(options.guide)),
        ("full", words.pick(examples.full)),
        ("half", words.pick(examples.half)),
        ("none", words.pick(examples.none)),
    ):
        if text:
            yield GuideNote(words(key), render_prose(text))
    if options.suggest:
        yield GuideNote(words("suggest"), escape(" · ".join(options.suggest)))


def _list_automatic_notes(
    question: Question, item: Item, words: SheetLabels, typesetter: Typesetter
) -> Iterator[GuideNote]:
    shown = _ValueRenderer(question, item, words, typesetter)
    right = [entry for key in _STATED for entry in _get_entries(item, key)]
    if not right:
        yield GuideNote("", escape(words("by-tests")))
    elif load_kind(question.kind).form == "choice":
        chosen = Markup(", ").join(map(shown, right))
        yield GuideNote(words("right"), chosen)
        if item.options.get("pick", 1) != 1:
            yield GuideNote("", escape(words("pick", number=item.options["pick"])))
    else:
        for number, entry in enumerate(right):
            # The first entry is the plainest form; the others are equally accepted.
            yield GuideNote(words("also-right" if number else "right"), shown(entry))
    for key in _PARTS:
        for entry in item.options.get(key, ()):
            if isinstance(entry, Mapping) and "when" in entry:
                yield _describe_part(entry, key, words, shown)


def _get_entries(item: Item, key: str) -> list[Any]:
    """Return the entries of a key: ``accept`` and ``right`` are lists, a ``value`` is a single entry."""
    if key not in item.options:
        return []
    value = item.options[key]
    return (
        list(value)
        if key != "value" and isinstance(value, Sequence) and not isinstance(value, str)
        else [value]
    )


def _describe_part(
    entry: Mapping[str, Any], key: str, words: SheetLabels, shown: _ValueRenderer
) -> GuideNote:
    label = words("full")
    if key != "remark":
        label = words("worth", points=words.points(Decimal(str(entry.get("points", 0)))))
    text = entry.get("text")
    said = words.pick(text) if isinstance(text, Mapping) else ""
    return GuideNote(label, Markup("{}{}").format(shown(entry["when"]), f" – {said}" if said else ""))


class _ValueRenderer:
    """Renders values from a rubric within a line."""

    def __init__(self, question: Question, item: Item, words: SheetLabels, typesetter: Typesetter) -> None:
        self._is_order = item.options.get("form") == "asymptotic"
        self._question, self._words, self._typesetter = question, words, typesetter
        self._form = load_kind(question.kind).form
        options = question.options.get("option", ())
        self._options = {
            str(option.get("id")): option.get("text") for option in options if isinstance(option, Mapping)
        }

    def __call__(self, value: Any) -> Markup:
        if isinstance(value, str) and self._form == "formula":
            order = self._is_order and not _ORDER.match(value)
            formula = self._typesetter.render_formula(f"O({value})" if order else value)
            # A formula that cannot be typeset is shown as it was written.
            if formula is not None:
                return formula
        if self._form == "number" and not isinstance(value, str):
            value = f"{value} {self._question.options.get('unit', '')}".strip()
        # Choices are stated by the ids of their options; graders need the text, too.
        text = self._options.get(str(value))
        if isinstance(text, Mapping):
            return Markup("<code>{}</code> ({})").format(value, self._words.pick(dict(text)))
        return Markup("<code>{}</code>").format(_to_text(value))


def _to_text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_to_text(entry)}" for key, entry in value.items())
    if isinstance(value, (list, tuple)):
        return f"({', '.join(map(_to_text, value))})"
    return str(value)
