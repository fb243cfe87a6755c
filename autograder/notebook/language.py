"""Texts of a source notebook in several languages, of which a release shows one or all.

A Markdown cell is divided by comments on lines of their own, which Jupyter does not show::

    ### (a) One matrix
    <!-- de -->
    ### (a) Eine Matrix
    <!-- all -->
    $$W_q$$

What stands before the first mark is in the assignment's first language where the mark begins another one,
and otherwise for everybody, as is everything behind ``<!-- all -->``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from autograder.errors import NotebookError

ALL = "all"
_MARK = re.compile(r"[ \t]*<!--[ \t]*([A-Za-z]{2,3})[ \t]*-->[ \t]*")


class _LanguagePart(NamedTuple):
    language: str
    text: str


def in_language(text: str, languages: Sequence[str], wanted: str, place: str) -> str:
    """The text of one cell as a release shows it.

    Args:
        text: the cell's source.
        languages: of the assignment; the first is what unmarked text is in.
        wanted: one of them, or empty for all: the cell is only checked, and stays as it is.
        place: of the cell, for errors.

    Raises:
        NotebookError: ``language``; a mark names no language of the assignment, or a translated
            passage is not there once in every language.
    """
    parts = _parts(text, languages, place)
    if len(parts) == 1:
        return text
    _check(parts, languages, place)
    if not wanted:
        return text
    return "\n\n".join(part.text for part in parts if part.text and part.language in (wanted, ALL))


def _parts(text: str, languages: Sequence[str], place: str) -> list[_LanguagePart]:
    parts: list[_LanguagePart] = []
    language, lines, fenced = "", list[str](), False
    for line in text.split("\n"):
        fenced ^= line.lstrip().startswith(("```", "~~~"))
        mark = None if fenced else _MARK.fullmatch(line)
        if mark is None:
            lines.append(line)
            continue
        new = mark[1].lower()
        if new not in (*languages, ALL):
            known = ", ".join((*languages, ALL))
            raise NotebookError("language", f"{place}: <!-- {new} -->: expected one of {known}")
        unmarked = ALL if new in (languages[0], ALL) else languages[0]
        parts.append(_LanguagePart(language or unmarked, "\n".join(lines).strip("\n")))
        language, lines = new, []
    parts.append(_LanguagePart(language or ALL, "\n".join(lines).strip("\n")))
    return parts


def _check(parts: Sequence[_LanguagePart], languages: Sequence[str], place: str) -> None:
    """Every passage is complete; it ends at a text for all, and at the next one in the first language."""
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
