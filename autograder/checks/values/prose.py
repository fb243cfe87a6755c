"""Text that people read: its language, its length, whether it says anything, and which texts are the same.

Nothing here gives points. The language is told by frequent small words, which are another closed list in
each language, and by letters that only one of them has.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Literal

Language = Literal["en", "de", "other", "unknown"]

MOST = 20_000
"""Characters that are looked at; more than anybody writes in an exam."""


def _listed(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_CODE = re.compile(r"`[^`\n]*`|\$[^$\n]*\$")
_ENGLISH = _listed(
    "the of and to is that it for as are with this be by on not or from at which an but have has can "
    "its they their there if because so then than when what how will would was were more only each "
    "every all no into does do we you one other same between before after about them these those "
    "could should since while without whose who where also both such been being very just most many "
    "much any cannot doesn't don't it's isn't"
)
_GERMAN = _listed(
    "der die das und ist nicht ein eine einen einem einer eines den dem des zu mit für auf im von "
    "sich auch als an es wird werden sind aus bei nach wie nur noch über oder aber wenn weil dass "
    "daß kann man so durch vom zum zur hat haben hier keine kein keinen mehr sie er wir ihr ihre "
    "seine sein jede jeder jedes jedem alle dann denn also damit da ohne zwischen vor beim ins am "
    "wurde diese dieser dieses diesem nun sehr immer nichts etwas welche welcher welches bereits "
    "schon anhand sowie"
)
_OTHERS = _listed(
    "le la les des un une est et pour dans que qui pas sur avec sont ce cette il elle par plus au "
    "aux du el los las una es y para con por se no su como del lo al gli che di è per non sono della "
    "nel si het een van niet dat zijn op voor met ook worden wordt maar bij o os um uma não com em "
    "do da é ao nie jest się na że i w z oraz są ve bir bu için ile olarak değil och att det som "
    "inte är på av ett till"
)
"""French, Spanish, Italian, Dutch, Portuguese, Polish, Turkish, Swedish."""
_SHORTEST = 3
"""Fewer words than this tell no language, unless a letter does."""
_LEAST_SHARE = 0.13
"""Of the words are small words of a language, in any running text of that language."""
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
"""What a star stands for; bounded, so that no text makes a search slow."""
_SILENT = frozenset(".…-–—_,;:?!'\"")
_LIST_MARK = re.compile(r"(?:\d{1,2}|[A-Za-z])[.)]|[-*+•]")
_EMPHASIS = re.compile(r"(?<!\w)([*_`]{1,3})(?=\S)([^*_`\n]+?)(?<=\S)\1(?!\w)")
_SENTENCE_MARK = re.compile("[" + re.escape(".,;:!?…\"'„“”‚‘’«»‹›`´") + "]")
_QUOTES_AND_DASHES = str.maketrans({"–": "-", "—": "-", "−": "-", "‐": "-", "‑": "-"})
_HIGHEST = 30
_JOINER = "\u034f"
_STAYS = ("<super>", "<sub>", "<fraction>")


def words(text: str) -> list[str]:
    """The words of a text, without formulas and code, in lower case."""
    return [found.casefold() for found in _WORD.findall(_CODE.sub(" ", text[:MOST]))]


def language(text: str) -> Language:
    """The language a text is written in: English, German, another one, or nothing that tells.

    English terms in a German sentence do not decide: the small words around them do.
    """
    found = words(text)
    letters = [char for char in text[:MOST] if char.isalpha()]
    foreign = sum(not unicodedata.name(char, "").startswith("LATIN") for char in letters)
    greek = sum(unicodedata.name(char, "").startswith("GREEK") for char in letters)
    if letters and 2 * (foreign - greek) > len(letters):
        return "other"
    if len(found) < _SHORTEST:
        return "de" if any(set(word) & set("äöüß") for word in found) else "unknown"
    shares = {
        name: sum(word in small for word in found) / len(found)
        for name, small in (("en", _ENGLISH), ("de", _GERMAN), ("other", _OTHERS))
    }
    shares["de"] += sum(bool(set(word) & set("äöüß")) for word in found) / (2 * len(found))
    if shares["other"] > max(shares["en"], shares["de"]):
        return "other"
    if max(shares["en"], shares["de"]) < _LEAST_SHARE:
        return "unknown"
    return "en" if shares["en"] >= shares["de"] else "de"


def unwritten(text: str) -> bool:
    """Whether a text says nothing: a placeholder that was left, marks of an empty list, or dots and dashes.

    Any other sign may be an answer, and is left to a person.
    """
    lines = [line.strip() for line in text[:MOST].splitlines() if line.strip()]
    if len(lines) > 1 and all(_LIST_MARK.fullmatch(line) for line in lines):
        return True
    if len(text) <= _LONGEST_PLACEHOLDER and same_form(text).strip("-/ ") in _PLACEHOLDERS:
        return True
    return len(text) <= MOST and all(char in _SILENT or _unseen(char) for char in text)


def _unseen(char: str) -> bool:
    return char.isspace() or unicodedata.category(char) in ("Cc", "Cf")


def same_form(text: str) -> str:
    """What is left of a text when differences that mean nothing are taken away.

    Those are case, space, marks of sentences and emphasis, and ways to write a letter in Unicode. Marks
    between letters or digits stay (``2.5``, ``d_model``), and so do superscripts and signs of formulas
    (``n!``, ``a != b``).
    What comes after `MOST` characters must be the same letter for letter.
    """
    rest = text[MOST:]
    text = _low_towers(text[:MOST])
    plain = "".join(
        char
        if char.isascii() or unicodedata.decomposition(char).startswith(_STAYS)
        else unicodedata.normalize("NFKC", char)
        for char in unicodedata.normalize("NFC", text)
        if char.isascii() or unicodedata.category(char) != "Cf"
    )
    plain = _EMPHASIS.sub(r"\2", plain.translate(_QUOTES_AND_DASHES).casefold())
    form = " ".join(_SENTENCE_MARK.sub(lambda mark: _kept(plain, mark.start()), plain).split())
    if not rest:
        return form
    return f"{form} …{hashlib.sha256(rest.encode(errors='surrogatepass')).hexdigest()}"


def _low_towers(text: str) -> str:
    """The text with a joiner after so many marks on one letter, as Unicode's stream-safe form has them.

    Putting marks in order takes time that grows with the square of their number.
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


def _kept(text: str, at: int) -> str:
    """A mark between letters or digits, or of a formula: ``n!``, ``(n-1)!``, ``a != b``; else a blank."""
    before, after = text[max(0, at - 2) : at], text[at + 1 : at + 2]
    if before[-1:].isalnum() and after.isalnum():
        return text[at]
    number = before[-1:].isnumeric() or before[-1:] == ")"
    name = before[-1:].isalpha() and not before[:-1].isalnum()
    return "!" if text[at] == "!" and (number or name or after == "=") else " "


def spans(text: str, sought: Iterable[str]) -> list[tuple[int, int]]:
    """Where entries of a closed list stand in a text: beginnings and ends, in order, without overlaps.

    An entry is a word or several; ``*`` at an end of a word stands for any letters. Case and the kind of
    space do not matter.
    """
    return apart(
        (match.start(), match.end()) for entry in sought for match in _pattern(entry).finditer(text[:MOST])
    )


def apart(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Beginnings and ends in order; what overlaps is put together."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _pattern(entry: str) -> re.Pattern[str]:
    words_of = (
        (_LETTERS if part.startswith("*") else "")
        + re.escape(part.strip("*"))
        + (_LETTERS if part.endswith("*") else "")
        for part in entry.split()
    )
    return re.compile(r"(?<!\w)" + r"\s+".join(words_of) + r"(?!\w)", re.IGNORECASE)


def groups(texts: Sequence[tuple[str, str]]) -> list[tuple[str, ...]]:
    """Who wrote the same, up to trivial differences: the largest group first, then in the order given.

    Args:
        texts: (student, text) pairs.
    """
    found: dict[str, list[str]] = {}
    for student, text in texts:
        found.setdefault(same_form(text), []).append(student)
    return [tuple(students) for students in sorted(found.values(), key=len, reverse=True)]
