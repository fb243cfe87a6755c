"""Search for texts of a rubric that lack one of its languages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from autograder.core.errors import Place
from autograder.rubric import Rubric

_TEXTS = ("text", "unknown", "name", "guide", "full", "half", "none")
"""Keys of texts inside a kind's options, and of those for graders. A plain string is for all languages."""


def list_untranslated(rubric: Rubric) -> list[tuple[Place, str]]:
    """Return the texts for students and graders that lack a language of the assignment: place and problem."""
    return [
        (place, f"{language!r} is missing")
        for place, texts in _list_texts(rubric)
        for language in rubric.assignment.languages
        if texts and not texts.get(language)
    ]


def _list_texts(rubric: Rubric) -> Iterator[tuple[Place, Mapping[str, Any]]]:
    assignment = rubric.assignment
    yield Place("[assignment]: title", "assignment", "title"), assignment.title
    for number, task in enumerate(assignment.tasks):
        yield Place(f"task {task.id!r}: text", "assignment", "task", number, "text"), task.text
    if assignment.exam:
        yield Place("[assignment.exam]: aids", "assignment", "exam", "aids"), assignment.exam.aids
    for number, question in enumerate(rubric.questions):
        place = Place(f"question {question.id!r}", "question", number)
        yield place.extend(": title", "title"), question.title
        yield from _list_nested(question.options, place)
        for item_number, item in enumerate(question.items):
            inner = place.extend(f", item {item.id!r}", "item", item_number)
            yield inner.extend(": text", "text"), item.text
            yield inner.extend(": shown", "shown"), item.shown
            yield from _list_nested(item.options, inner)


def _list_nested(options: Any, place: Place) -> Iterator[tuple[Place, Mapping[str, Any]]]:
    """Yield the texts of named mistakes, examples and the like, at any depth."""
    if isinstance(options, list | tuple):
        for number, entry in enumerate(options):
            yield from _list_nested(entry, place.extend("", number))
    elif isinstance(options, Mapping):
        named = options.get("code") or options.get("id")
        inner = place.extend(f", {named!r}") if isinstance(named, str) else place
        for key, value in options.items():
            if key in _TEXTS and isinstance(value, Mapping):
                yield inner.extend(f": {key}", key), value
            else:
                yield from _list_nested(value, inner.extend(", examples" if key == "examples" else "", key))
