"""Whether a rubric says everything in each of its languages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from autograder.rubric import Rubric

_TEXTS = ("text", "unknown", "name", "guide", "full", "half", "none")
"""Keys of texts inside a kind's options, and of those for graders. A plain string is for all languages."""


def untranslated(rubric: Rubric) -> list[str]:
    """The texts for students and graders that lack one of the assignment's languages, each with its place."""
    return [
        f"{place}: {language!r} is missing"
        for place, texts in _texts(rubric)
        for language in rubric.assignment.languages
        if texts and not texts.get(language)
    ]


def _texts(rubric: Rubric) -> Iterator[tuple[str, Mapping[str, Any]]]:
    assignment = rubric.assignment
    yield "[assignment]: title", assignment.title
    for task in assignment.tasks:
        yield f"task {task.id!r}: text", task.text
    if assignment.exam:
        yield "[assignment.exam]: aids", assignment.exam.aids
    for question in rubric.questions:
        yield f"question {question.id!r}: title", question.title
        yield from _inside(question.options, f"question {question.id!r}")
        for item in question.items:
            yield f"question {question.id!r}, item {item.id!r}: text", item.text
            yield f"question {question.id!r}, item {item.id!r}: shown", item.shown
            yield from _inside(item.options, f"question {question.id!r}, item {item.id!r}")


def _inside(options: Any, place: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The texts of named mistakes, cases, examples and the like, wherever they stand."""
    if isinstance(options, list | tuple):
        for entry in options:
            yield from _inside(entry, place)
    elif isinstance(options, Mapping):
        named = options.get("code") or options.get("id")
        inner = f"{place}, {named!r}" if isinstance(named, str) else place
        for key, value in options.items():
            if key in _TEXTS and isinstance(value, Mapping):
                yield f"{inner}: {key}", value
            elif key == "case" and isinstance(value, list | tuple):
                for number, case in enumerate(value, start=1):
                    yield from _inside(case, f"{inner}, case {number}")
            else:
                yield from _inside(value, f"{inner}, examples" if key == "examples" else inner)
