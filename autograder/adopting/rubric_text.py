"""The rubric of an adopted assignment, as text for people to read and change."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal

from autograder.adopting.found import FoundAssignment, FoundQuestion, FoundTest

_HEAD = """\
# Adopted from {origin}: the notebooks stay as they are, and so do their tests. What is stated here counts:
# autograder adopt never writes over this file.
version = 1

[assignment]
name = {name}
points = {points}
adopted = "{origin}"
"""
_NOT_LITERAL = re.compile(r"'''|[^\t\n -~\u00a0-\U0010ffff]")


def rubric_text(found: FoundAssignment, *, inside: bool = False) -> str:
    """Format the rubric as TOML.

    Args:
        found: the assignment.
        inside: judge tests inside the student's sandbox if they cannot be judged outside; else they are
            graded manually.
    """
    points = sum((one.points for one in found.questions), Decimal(0))
    head = _HEAD.format(origin=found.origin, name=quoted(found.name), points=written(points))
    return (
        "\n".join((head.rstrip(), *_settings(found), *_notebooks(found), *_questions(found, inside=inside)))
        + "\n"
    )


def quoted(text: str) -> str:
    """Quote a text in one line of TOML. The escapes of JSON are valid in TOML; only DEL needs one more."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def block(text: str) -> str:
    """Quote a text of several lines in TOML, verbatim if TOML allows that."""
    # A literal string cannot contain its delimiter. TOML drops the newline after the opening quotes.
    if not text.endswith("'") and not _NOT_LITERAL.search(text):
        return f"'''\n{text}'''"
    return quoted(text)


def written(points: Decimal) -> str:
    """Format a number without an exponent."""
    return f"{points.normalize():f}"


def _settings(found: FoundAssignment) -> Iterator[str]:
    if found.preload:
        yield f"preload = [{', '.join(map(quoted, found.preload))}]"
    if found.cell_start:
        yield f"cell_start = {quoted(found.cell_start)}"
    if found.seconds:
        yield f"\n[assignment.limits]\ncell_seconds = {found.seconds:g}"


def _notebooks(found: FoundAssignment) -> Iterator[str]:
    for notebook in found.notebooks:
        yield f"\n[[assignment.notebooks]]\nname = {quoted(notebook.name)}"
        for key, names in (("data", notebook.data), ("starter", notebook.starter)):
            if names:
                yield f"{key} = [{', '.join(map(quoted, names))}]"


def _questions(found: FoundAssignment, *, inside: bool) -> Iterator[str]:
    for question in found.questions:
        yield f"\n[[question]]\nid = {quoted(question.id)}"
        yield f'kind = "{"tests" if question.tests else "written"}"\npoints = {written(question.points)}'
        yield f"notebook = {quoted(question.notebook)}"
        if question.file:
            yield f"file = {quoted(question.file)}"
        else:
            yield f"answer_cell = {quoted(question.answer_cell)}"
        if question.tests:
            yield from _testing(found, question, inside=inside)
        else:
            text = quoted(f"The answer to {question.id}, read by a person")
            yield f'[[question.item]]\nid = "answer"\npoints = {written(question.points)}\nmanual = true'
            yield from (f"cell = {quoted(question.cell)}",) if question.cell else ()
            yield f"text = {{ en = {text} }}"


def _testing(found: FoundAssignment, question: FoundQuestion, *, inside: bool) -> Iterator[str]:
    yield f'style = "{found.origin}"'
    if question.after:
        yield f"after = {quoted(question.after)}"
    if question.all_or_nothing:
        yield "all_or_nothing = true"
    if question.notebook_names:
        yield f"notebook_names = [{', '.join(map(quoted, question.notebook_names))}]"
    if inside and any(test.outside for test in question.tests):
        yield 'judged = "inside"'
    for test in question.tests:
        yield from _test(question, test, inside=inside)


def _test(question: FoundQuestion, test: FoundTest, *, inside: bool) -> Iterator[str]:
    yield f"[[question.item]]\nid = {quoted(test.id)}\npoints = {written(test.points)}"
    if question.cell:
        yield f"cell = {quoted(question.cell)}"
    named = question.id if len(question.tests) == 1 else f"{question.id}, {test.id}"
    yield f"text = {{ en = {quoted(f'The tests of {named}')} }}"
    if test.outside and not inside:
        yield f"# Not judged outside of the student's box: {' '.join(test.outside.split())}.\nmanual = true"
        return
    for key, on in (("doctest", test.doctest), ("visible", test.visible)):
        if on:
            yield f"{key} = true"
    for key, said in (("success", test.success), ("failure", test.failure)):
        if said:
            yield f"{key} = {{ en = {quoted(said)} }}"
    yield f"code = {block(test.code)}"
