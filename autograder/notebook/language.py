"""Texts of a source notebook in several languages; a release shows one or all of them.

A Markdown cell is divided by comments on separate lines, which Jupyter does not show::

    ### (a) One matrix
    <!-- de -->
    ### (a) Eine Matrix
    <!-- all -->
    $$W_q$$

Text before the first mark is in the assignment's first language if the mark begins another one; otherwise it
is for all languages, as is all text after ``<!-- all -->``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from autograder.core.errors import NotebookError

ALL = "all"
_MARK = re.compile(r"[ \t]*<!--[ \t]*([A-Za-z]{2,3})[ \t]*-->[ \t]*")


class _LanguagePart(NamedTuple):
    language: str
    text: str


def select_language(text: str, languages: Sequence[str], wanted: str, place: str) -> str:
    """Return the text of one cell as a release shows it.

    Args:
        text: source of the cell.
        languages: languages of the assignment; unmarked text is in the first.
        wanted: one of them, or empty for all: the cell is only checked and returned unchanged.
        place: location of the cell, for error messages.

    Raises:
        NotebookError: ``language``; a mark names no language of the assignment, or a translated passage is
            not there once in every language.
    """
    parts = _split_parts(text, languages, place)
    if len(parts) == 1:
        return text
    _check_passages(parts, languages, place)
    if not wanted:
        return text
    return "\n\n".join(part.text for part in parts if part.text and part.language in (wanted, ALL))


def _split_parts(text: str, languages: Sequence[str], place: str) -> list[_LanguagePart]:
    """Return the parts of a text between its marks."""
    parts: list[_LanguagePart] = []
    language, lines, fenced = "", list[str](), False
    for line in text.split("\n"):
        # A mark inside a code block is text.
        fenced ^= line.lstrip().startswith(("```", "~~~"))
        mark = None if fenced else _MARK.fullmatch(line)
        if mark is None:
            lines.append(line)
            continue
        new = mark[1].lower()
        if new not in (*languages, ALL):
            expected = ", ".join((*languages, ALL))
            raise NotebookError("language", f"{place}: <!-- {new} -->: expected one of {expected}")
        # Text before the first mark is a translation only if another language follows.
        unmarked = ALL if new in (languages[0], ALL) else languages[0]
        parts.append(_LanguagePart(language or unmarked, "\n".join(lines).strip("\n")))
        language, lines = new, []
    parts.append(_LanguagePart(language or ALL, "\n".join(lines).strip("\n")))
    return parts


def _check_passages(parts: Sequence[_LanguagePart], languages: Sequence[str], place: str) -> None:
    """Refuse incomplete passages.

    A passage ends at a text for all languages, and at the next one in the first language.
    """
    passages: list[list[str]] = [[]]
    for part in parts:
        if part.language in (ALL, languages[0]):
            passages.append([])
        if part.language != ALL:
            passages[-1].append(part.language)
    for passage in passages:
        if passage and sorted(passage) != sorted(languages):
            raise NotebookError(
                "language",
                f"{place}: a translated passage: expected it once in each of {', '.join(languages)}; "
                f"got {', '.join(passage)}",
            )
