"""Rewrites Unicode and markup in a formula into the plain characters that `tokens` reads.

Every character is rewritten by itself or in a run of its kind, with a map back to the text as it was
handed in, so that an error points where the student looks.
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
"""Between superscript digits these stand before decimals, as in ``d⁰·⁵``: a sign of multiplication cannot,
because what follows it would be raised above nothing."""
_MARKUP: Mapping[str, str] = {
    "<sup>": "^{", "</sup>": "}", "<sub>": "_{", "</sub>": "}", "&middot;": "*", "&sdot;": "*",
    "&times;": "×", "&minus;": "-", "&nbsp;": "\u00a0", "&thinsp;": "\u00a0",
}  # fmt: skip
"""What a markdown cell may hold instead of LaTeX."""
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
"""LaTeX in an ordinary Python string: its backslash and letter became a control character."""


MAX_REWRITTEN = 6000
"""Characters; some become several."""
_FEWEST_TOKENS: Mapping[str, int] = {"^": 4, "(": 5}
"""By the first character of what is put in: an exponent is `^`, two brackets and a number at least."""
_PARTS = 3
"""For each token: itself, a rewritten character, and one that leaves nothing behind."""


def needs_rewriting(text: str) -> bool:
    """Whether a text holds anything but the plain characters."""
    return not (text.isascii() and text.isprintable()) or "<" in text or "&" in text


def rewrite(text: str, most: int = MAX_REWRITTEN) -> tuple[str, list[int]]:
    """Plain characters for all others, and for each of them where it came from.

    Args:
        text: the formula.
        most: so many tokens will be read; a text that must have more is not rewritten to its end.

    Raises:
        Unreadable: a character has no meaning in a formula, or the text becomes too long.
    """
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
        plain, width = _plain(text, position)
        parts.append(plain)
        origin.extend([position] * len(plain))
        position += width
        least += _FEWEST_TOKENS.get(plain[:1], 0)
        if least > most or len(parts) > _PARTS * most:
            raise Unreadable("too-many-parts", position - width, limit=str(most))
        if len(origin) > MAX_REWRITTEN:
            raise Unreadable("too-long", position, limit=str(MAX_REWRITTEN))
    return "".join(parts), [*origin, len(text)]


def _plain(text: str, position: int) -> tuple[str, int]:
    """What stands for the next characters, and how many they are."""
    character = text[position]
    if character in "<&":
        tag = _TAG.match(text, position)
        return (character, 1) if tag is None else (_MARKUP[tag.group().lower()], len(tag.group()))
    if character.isascii():
        mangled = text.startswith(_UNESCAPED.get(character, ((), ""))[0], position + 1)
        return (_UNESCAPED[character][1] if mangled else REWRITTEN.get(character, character)), 1
    for table, form in ((_RAISED, "^({})"), (_LOWERED, "_{}")):
        if character in table:
            end = _end_of_run(text, position, table)
            run = "".join(table.get(shifted, ".") for shifted in text[position:end])
            return form.format(run), end - position
    if character == "π" and (text[position + 1 : position + 2] or " ") in _AFTER_A_NAME:
        return "π", 1
    if character in REWRITTEN:
        return REWRITTEN[character], 1
    return _folded(text, position), 1


def _end_of_run(text: str, position: int, table: Mapping[str, str]) -> int:
    """Where a run of raised or lowered characters ends."""
    end = position
    while end < len(text):
        around = text[end - 1 : end] + text[end + 1 : end + 2]
        decimals = end > position and text[end] in _POINTS and len(around) == 2
        if not (text[end] in table or (decimals and _RAISED_DIGITS.issuperset(around))):
            break
        end += 1
    return end


def _folded(text: str, position: int) -> str:
    """The ordinary form of a wide, mathematical or Greek letter or digit, or of a fraction in one sign.

    Raises:
        Unreadable: there is none; or a fraction follows a number, which means a sum to some.
    """
    character = text[position]
    folded = unicodedata.normalize("NFKC", character)
    if len(folded) == 1 and ("\u0370" <= folded <= "\u03ff" or folded.isascii()):
        return folded
    above, stroke, below = folded.partition("\u2044")
    if stroke and above.isdecimal() and below.isdecimal() and folded.replace("\u2044", "").isascii():
        before = position - 1
        while before > 0 and text[before].isspace():
            before -= 1
        if before >= 0 and text[before].isdigit():
            raise Unreadable("two-numbers", position)
        return f"({above}/{below})"
    raise unknown(character, position)


def unknown(character: str, position: int) -> Unreadable:
    """What is said of a character without a meaning: by name where it is not seen, or taken for another."""
    category = unicodedata.category(character)
    name = unicodedata.name(character, "control character" if category == "Cc" else "no character")
    params = {"character": character, "number": f"U+{ord(character):04X}", "name": name}
    if category[0] in "CZM":
        return Unreadable("invisible-character", position, **params)
    if category in ("Ll", "Lu") and not character.isascii():
        return Unreadable("unknown-letter", position, **params)
    return Unreadable("unknown-character", position, character=character)
