"""Rewrite Unicode and markup in a formula into the plain characters that `tokens` reads.

Every character is rewritten alone or in a run of its kind, with a map back to the submitted text, so that an
error points to the right position.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

from autograder.formulas.errors import Unreadable

REWRITTEN: Mapping[str, str] = {
    "·": "*", "⋅": "*", "∙": "*", "•": "*", "∗": "*", "⸱": "*", "⨉": "×", "×": "×", "✕": "×", "⨯": "×",
    "✖": "×", "÷": "/", "∕": "/", "⁄": "/", "−": "-", "–": "-", "—": "-", "‐": "-", "‑": "-", "﹣": "-",
    "⸳": "*", "・": "*", "･": "*", "ˆ": "^", "∑": "\\sum ", "∏": "\\prod ", "∣": "|", "≠": "≠", "≈": "≈",
    "√": " sqrt ", "∛": " cbrt ", "π": " pi ", "⌈": "⌈", "⌉": "⌉", "⌊": "⌊", "⌋": "⌋",
    "\u00a0": "\u00a0", "\u2009": "\u00a0", "\u202f": "\u00a0", "\u2007": "\u00a0", "\u200a": "\u00a0",
    "\u2005": "\u00a0", "\u2006": "\u00a0", "\u2008": "\u00a0",
    "\u2002": "\u00a0", "\u2003": "\u00a0", "\u2004": "\u00a0", "\u205f": "\u00a0",
    "\u3000": "\u00a0", "\u200b": "", "\u200c": "", "\u200d": "", "\u2060": "", "\ufeff": "", "\u2061": "",
    "\u2062": "*", "\u2063": ",", "\u2064": "+", "\ufe0e": "", "\ufe0f": "", "\u00ad": "",
    "\u200e": "", "\u2028": " ", "\u2029": " ", "\x85": " ", "\x0b": " ",
    "’": "'", "′": "'",
}  # fmt: skip
_RAISED: Mapping[str, str] = dict(
    zip(
        "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᴰᴴᴸᴺᵀⱽ",
        "0123456789+-()abcdefghijklmnoprstuvwxyzDHLNTV",
        strict=True,
    )
)
_RAISED_DIGITS = frozenset("⁰¹²³⁴⁵⁶⁷⁸⁹")
_LOWERED: Mapping[str, str] = dict(
    zip("₀₁₂₃₄₅₆₇₈₉ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ", "0123456789aehijklmnoprstuvx", strict=True)
)
_POINTS = "·⋅.,˙"
"""Decimal points between superscript digits, as in ``d⁰·⁵``.

They cannot be multiplication signs, because the digits after them would have no base."""
_MARKUP: Mapping[str, str] = {
    "<sup>": "^{", "</sup>": "}", "<sub>": "_{", "</sub>": "}", "&middot;": "*", "&sdot;": "*",
    "&times;": "×", "&minus;": "-", "&nbsp;": "\u00a0", "&thinsp;": "\u00a0",
}  # fmt: skip
"""Markup that a Markdown cell may contain instead of LaTeX."""
_AFTER_A_NAME = frozenset(("_", *_LOWERED))
_TAG = re.compile("|".join(map(re.escape, _MARKUP)), re.IGNORECASE)
_UNCHANGED = re.compile("[ !-%'-;=-~Α-ΡΣ-Ωα-ορ-ω]+")
_UNESCAPED: Mapping[str, tuple[tuple[str, ...], str]] = {
    "\f": (("rac", "loor"), "\\f"),
    "\t": (("ext", "imes", "frac", "binom", "heta", "au", "an"), "\\t"),
    "\b": (("inom", "ullet", "egin", "ig", "eta"), "\\b"),
    "\r": (("ight", "ceil", "floor", "ho", "vert"), "\\r"),
    "\v": (("arepsilon", "artheta", "arphi", "arrho", "arsigma", "ert"), "\\v"),
    "\a": (("lpha", "st", "pprox"), "\\a"),
}
"""LaTeX in an ordinary Python string: a backslash and a letter became a control character."""


MAX_REWRITTEN = 6000
"""Limit on the length of the rewritten text; some characters become several."""
_FEWEST_TOKENS: Mapping[str, int] = {"^": 4, "(": 5}
"""First character of a rewritten run → its least number of tokens: an exponent is `^`, two brackets and a
number."""
_PARTS = 3
"""Limit on rewritten parts per token: the token itself, a rewritten character, and one that disappears."""


def needs_rewriting(text: str) -> bool:
    """Return whether a text contains anything but plain characters."""
    return not (text.isascii() and text.isprintable()) or "<" in text or "&" in text


def rewrite_characters(text: str, most: int = MAX_REWRITTEN) -> tuple[str, list[int]]:
    """Rewrite all characters as plain ones, and return the origin of each.

    Args:
        text: the formula.
        most: limit on tokens; a text that must have more is not rewritten to its end.

    Raises:
        Unreadable: a character has no meaning in a formula, or the text becomes too long.
    """
    # `origin` has one entry per rewritten character, so that offsets of errors can be mapped back.
    parts: list[str] = []
    origin: list[int] = []
    position = least = 0
    while position < len(text):
        unchanged = _UNCHANGED.match(text, position)
        if unchanged is not None:
            parts.append(unchanged.group())
            origin.extend(range(position, unchanged.end()))
            position = unchanged.end()
            continue
        plain, width = _to_plain(text, position)
        parts.append(plain)
        origin.extend([position] * len(plain))
        position += width
        least += _FEWEST_TOKENS.get(plain[:1], 0)
        # Stop early: a hostile text must not cost more than a long formula.
        if least > most or len(parts) > _PARTS * most:
            raise Unreadable("too-many-parts", position - width, limit=str(most))
        if len(origin) > MAX_REWRITTEN:
            raise Unreadable("too-long", position, limit=str(MAX_REWRITTEN))
    return "".join(parts), [*origin, len(text)]


def _to_plain(text: str, position: int) -> tuple[str, int]:
    """Return the replacement for the next characters, and how many of them it replaces."""
    character = text[position]
    if character in "<&":
        tag = _TAG.match(text, position)
        return (character, 1) if tag is None else (_MARKUP[tag.group().lower()], len(tag.group()))
    if character.isascii():
        mangled = text.startswith(_UNESCAPED.get(character, ((), ""))[0], position + 1)
        return (_UNESCAPED[character][1] if mangled else REWRITTEN.get(character, character)), 1
    for table, form in ((_RAISED, "^({})"), (_LOWERED, "_{}")):
        if character in table:
            end = _find_end_of_run(text, position, table)
            run = "".join(table.get(shifted, ".") for shifted in text[position:end])
            return form.format(run), end - position
    # Part of a name such as "π_θ", not the constant.
    if character == "π" and (text[position + 1 : position + 2] or " ") in _AFTER_A_NAME:
        return "π", 1
    if character in REWRITTEN:
        return REWRITTEN[character], 1
    return _fold_character(text, position), 1


def _find_end_of_run(text: str, position: int, table: Mapping[str, str]) -> int:
    """Return the end of a run of superscript or subscript characters."""
    end = position
    while end < len(text):
        around = text[end - 1 : end] + text[end + 1 : end + 2]
        decimals = end > position and text[end] in _POINTS and len(around) == 2
        if not (text[end] in table or (decimals and _RAISED_DIGITS.issuperset(around))):
            break
        end += 1
    return end


def _fold_character(text: str, position: int) -> str:
    """Return the ordinary form of a wide, mathematical or Greek letter or digit, or of a fraction character.

    Raises:
        Unreadable: there is none; or a fraction follows a number, which may mean a sum.
    """
    character = text[position]
    folded = unicodedata.normalize("NFKC", character)
    if len(folded) == 1 and ("\u0370" <= folded <= "\u03ff" or folded.isascii()):
        return folded
    # NFKC writes a fraction character such as ½ with U+2044 FRACTION SLASH.
    above, stroke, below = folded.partition("\u2044")
    if stroke and above.isdecimal() and below.isdecimal() and folded.replace("\u2044", "").isascii():
        before = position - 1
        while before > 0 and text[before].isspace():
            before -= 1
        if before >= 0 and text[before].isdigit():
            raise Unreadable("two-numbers", position)
        return f"({above}/{below})"
    raise describe_unknown(character, position)


def describe_unknown(character: str, position: int) -> Unreadable:
    """Return the error for a character without a meaning; invisible and confusable ones are named."""
    category = unicodedata.category(character)
    name = unicodedata.name(character, "control character" if category == "Cc" else "no character")
    params = {"character": character, "number": f"U+{ord(character):04X}", "name": name}
    if category[0] in "CZM":
        return Unreadable("invisible-character", position, **params)
    if category in ("Ll", "Lu") and not character.isascii():
        return Unreadable("unknown-letter", position, **params)
    return Unreadable("unknown-character", position, character=character)
