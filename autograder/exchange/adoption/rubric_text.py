"""The rubric of an adopted assignment, as text for people to read and change."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal

from autograder.exchange.adoption.records import FoundAssignment, FoundQuestion, FoundTest

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


def format_rubric(assignment: FoundAssignment, *, inside: bool = False) -> str:
    """Format the rubric as TOML.

    Args:
        assignment: the assignment.
        inside: judge tests inside the student's sandbox if they cannot be judged outside; else they are
            graded manually.
    """
    points = sum((question.points for question in assignment.questions), Decimal(0))
    head = _HEAD.format(
        origin=assignment.origin, name=quote_toml_text(assignment.name), points=format_toml_number(points)
    )
    return (
        "\n".join(
            (
                head.rstrip(),
                *_format_settings(assignment),
                *_format_notebooks(assignment),
                *_format_questions(assignment, inside=inside),
            )
        )
        + "\n"
    )


def quote_toml_text(text: str) -> str:
    """Quote a text in one line of TOML. The escapes of JSON are valid in TOML; only DEL needs one more."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def quote_block(text: str) -> str:
    """Quote a text of several lines in TOML, verbatim if TOML allows that."""
    # A literal string cannot contain its delimiter. TOML drops the newline after the opening quotes.
    if not text.endswith("'") and not _NOT_LITERAL.search(text):
        return f"'''\n{text}'''"
    return quote_toml_text(text)


def format_toml_number(points: Decimal) -> str:
    """Format a number without an exponent."""
    return f"{points.normalize():f}"


def _format_settings(assignment: FoundAssignment) -> Iterator[str]:
    if assignment.preload:
        yield f"preload = [{', '.join(map(quote_toml_text, assignment.preload))}]"
    if assignment.cell_start:
        yield f"cell_start = {quote_toml_text(assignment.cell_start)}"
    if assignment.seconds:
        yield f"\n[assignment.limits]\ncell_seconds = {assignment.seconds:g}"


def _format_notebooks(assignment: FoundAssignment) -> Iterator[str]:
    for notebook in assignment.notebooks:
        yield f"\n[[assignment.notebooks]]\nname = {quote_toml_text(notebook.name)}"
        for key, names in (("data", notebook.data), ("starter", notebook.starter)):
            if names:
                yield f"{key} = [{', '.join(map(quote_toml_text, names))}]"


def _format_questions(assignment: FoundAssignment, *, inside: bool) -> Iterator[str]:
    for question in assignment.questions:
        yield f"\n[[question]]\nid = {quote_toml_text(question.id)}"
        points = format_toml_number(question.points)
        yield f'kind = "{"tests" if question.tests else "written"}"\npoints = {points}'
        yield f"notebook = {quote_toml_text(question.notebook)}"
        if question.file:
            yield f"file = {quote_toml_text(question.file)}"
        else:
            yield f"answer_cell = {quote_toml_text(question.answer_cell)}"
        if question.tests:
            yield from _format_tests(assignment, question, inside=inside)
        else:
            text = quote_toml_text(f"The answer to {question.id}, read by a person")
            yield f'[[question.item]]\nid = "answer"\npoints = {points}\nmanual = true'
            yield from (f"cell = {quote_toml_text(question.cell)}",) if question.cell else ()
            yield f"text = {{ en = {text} }}"


def _format_tests(assignment: FoundAssignment, question: FoundQuestion, *, inside: bool) -> Iterator[str]:
    yield f'style = "{assignment.origin}"'
    if question.after:
        yield f"after = {quote_toml_text(question.after)}"
    if question.all_or_nothing:
        yield "all_or_nothing = true"
    if question.notebook_names:
        yield f"notebook_names = [{', '.join(map(quote_toml_text, question.notebook_names))}]"
    if inside and any(test.outside for test in question.tests):
        yield 'judged = "inside"'
    for test in question.tests:
        yield from _format_test(question, test, inside=inside)


def _format_test(question: FoundQuestion, test: FoundTest, *, inside: bool) -> Iterator[str]:
    yield f"[[question.item]]\nid = {quote_toml_text(test.id)}\npoints = {format_toml_number(test.points)}"
    if question.cell:
        yield f"cell = {quote_toml_text(question.cell)}"
    named = question.id if len(question.tests) == 1 else f"{question.id}, {test.id}"
    yield f"text = {{ en = {quote_toml_text(f'The tests of {named}')} }}"
    if test.outside and not inside:
        yield f"# Not judged outside of the student's box: {' '.join(test.outside.split())}.\nmanual = true"
        return
    for key, on in (("doctest", test.doctest), ("visible", test.visible)):
        if on:
            yield f"{key} = true"
    for key, message in (("success", test.success), ("failure", test.failure)):
        if message:
            yield f"{key} = {{ en = {quote_toml_text(message)} }}"
    yield f"code = {quote_block(test.code)}"
