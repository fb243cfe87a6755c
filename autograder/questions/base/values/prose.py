"""Prose: its words, whether it says anything, and which texts are equal.

Nothing here gives points.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable

MOST = 20_000
"""Characters that are examined; more than anyone writes in an exam."""


_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_CODE = re.compile(r"`[^`\n]*`|\$[^$\n]*\$")
_PLACEHOLDERS = frozenset(
    {
        *("your answer here", "write your answer here", "type your answer here", "enter your answer here"),
        *("your answer", "answer here", "double click to edit", "double-click to edit"),
        *("ihre antwort hier", "deine antwort hier", "hier antworten", "antwort hier", "ihre antwort"),
        *("deine antwort", "hier ihre antwort", "hier deine antwort", "todo", "to do", "tbd", "n/a"),
    }
)
_LONGEST_PLACEHOLDER = 100
_LETTERS = r"\w{0,60}"
"""Expansion of a star; bounded, so that no text makes a search slow."""
_SILENT = frozenset(".…-–—_,;:?!'\"")
_LIST_MARK = re.compile(r"(?:\d{1,2}|[A-Za-z])[.)]|[-*+•]")
_EMPHASIS = re.compile(r"(?<!\w)([*_`]{1,3})(?=\S)([^*_`\n]+?)(?<=\S)\1(?!\w)")
_SENTENCE_MARK = re.compile("[" + re.escape(".,;:!?…\"'„“”‚‘’«»‹›`´") + "]")
_QUOTES_AND_DASHES = str.maketrans({"–": "-", "—": "-", "−": "-", "‐": "-", "‑": "-"})
# Unicode Standard Annex #15, Stream-Safe Text Format: after 30 non-starters comes a U+034F.
_HIGHEST = 30
_JOINER = "\u034f"
_STAYS = ("<super>", "<sub>", "<fraction>")


def list_words(text: str) -> list[str]:
    """Return the words of a text, without formulas and code, in lower case."""
    return [word.casefold() for word in _WORD.findall(_CODE.sub(" ", text[:MOST]))]


def is_unwritten_text(text: str) -> bool:
    """Return whether a text says nothing: a placeholder, the marks of an empty list, or dots and dashes.

    Any other character may be an answer and is left to manual review.
    """
    lines = [line.strip() for line in text[:MOST].splitlines() if line.strip()]
    if len(lines) > 1 and all(_LIST_MARK.fullmatch(line) for line in lines):
        return True
    if len(text) <= _LONGEST_PLACEHOLDER and to_canonical(text).strip("-/ ") in _PLACEHOLDERS:
        return True
    return len(text) <= MOST and all(char in _SILENT or _is_invisible(char) for char in text)


def _is_invisible(char: str) -> bool:
    return char.isspace() or unicodedata.category(char) in ("Cc", "Cf")


def to_canonical(text: str) -> str:
    """Return a text without differences that mean nothing.

    Those are case, space, punctuation and emphasis, and different encodings of a letter in Unicode. Marks
    between letters or digits are kept (``2.5``, ``d_model``), and so are superscripts and signs of formulas
    (``n!``, ``a != b``). The part after `MOST` characters must be identical, because it is only hashed.
    """
    tail = text[MOST:]
    text = _limit_marks(text[:MOST])
    plain = "".join(
        char
        if char.isascii() or unicodedata.decomposition(char).startswith(_STAYS)
        else unicodedata.normalize("NFKC", char)
        for char in unicodedata.normalize("NFC", text)
        if char.isascii() or unicodedata.category(char) != "Cf"
    )
    plain = _EMPHASIS.sub(r"\2", plain.translate(_QUOTES_AND_DASHES).casefold())
    form = " ".join(_SENTENCE_MARK.sub(lambda mark: _keep_mark(plain, mark.start()), plain).split())
    if not tail:
        return form
    return f"{form} …{hashlib.sha256(tail.encode(errors='surrogatepass')).hexdigest()}"


def _limit_marks(text: str) -> str:
    """Return the text with a joiner after `_HIGHEST` marks on one letter, as in Unicode's stream-safe form.

    Sorting combining marks takes time quadratic in their number.
    """
    if text.isascii():
        return text
    written, height = [], 0
    for char in text:
        height = height + 1 if unicodedata.combining(char) else 0
        written.append(char)
        if height == _HIGHEST:
            written.append(_JOINER)
            height = 0
    return "".join(written)


def _keep_mark(text: str, position: int) -> str:
    """Return a mark between letters or digits or of a formula (such as ``n!``, ``a != b``), or a blank."""
    before, after = text[max(0, position - 2) : position], text[position + 1 : position + 2]
    if before[-1:].isalnum() and after.isalnum():
        return text[position]
    number = before[-1:].isnumeric() or before[-1:] == ")"
    name = before[-1:].isalpha() and not before[:-1].isalnum()
    return "!" if text[position] == "!" and (number or name or after == "=") else " "


def find_spans(text: str, sought: Iterable[str]) -> list[tuple[int, int]]:
    """Return the start and end of entries of a closed list in a text, in order, without overlaps.

    An entry is one word or several; ``*`` at an end of a word matches any letters. Case and the kind of space
    do not matter.
    """
    return merge_spans(
        (match.start(), match.end())
        for entry in sought
        for match in _compile_pattern(entry).finditer(text[:MOST])
    )


def merge_spans(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return starts and ends in order, with overlapping spans merged."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _compile_pattern(entry: str) -> re.Pattern[str]:
    words_of = (
        (_LETTERS if part.startswith("*") else "")
        + re.escape(part.strip("*"))
        + (_LETTERS if part.endswith("*") else "")
        for part in entry.split()
    )
    return re.compile(r"(?<!\w)" + r"\s+".join(words_of) + r"(?!\w)", re.IGNORECASE)
