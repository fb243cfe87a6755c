"""Make output of student code safe to show. All functions here assume that the text is hostile.

There are three independent layers: the allow-list of `build_table_document`, the sandboxed frame that shows
it, and the content security policy of page and frame (`POLICY`). None relies on another.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from urllib.parse import unquote

import nh3
from markupsafe import Markup, escape
from msgspec import Struct

from autograder import messages
from autograder.core.records import Message

POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""Content security policy of the page and of every frame in it: nothing is fetched, nothing runs."""

MOST_CHARACTERS = 20_000
"""Most characters of one output; longer ones are cut, and the page says so."""
MOST_HTML = 200_000
MOST_PROSE = 8 * 2**20
"""Most characters of one text of a course, pictures included."""
MOST_TAGS = 6_000
MOST_OPEN = 500
"""Most nested elements, by their tags; the cleaner takes quadratic time in the nesting."""
MOST_IN_TAG = 4_000
"""Most characters of one tag without quoted values; time is quadratic in the attributes, too."""
PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""Types that are shown as a picture."""


# Visually similar characters without meaning in Markdown, HTML and TeX.
_LOOKALIKES = str.maketrans({"<": "‹", ">": "›", "\\": "∖", "$": "＄", "`": "ˋ", "&": "＆", "|": "¦"})
_QUOTING = ("diagnosis.", "form.", "formula.")
"""Prefixes of the codes with sentences that quote formulas."""
_MARK = "\ue000"
"""Private-use character, which occurs in no sentence."""


def _split_words(text: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(text.split())


_TAGS = _split_words(
    "table thead tbody tfoot tr th td caption p div span br hr b strong i em u s del sub sup small code pre "
    "kbd samp ul ol li dl dt dd h1 h2 h3 h4 h5 h6 blockquote"
)
HEADINGS = _split_words("h1 h2 h3 h4 h5 h6")
_DROPPED_WITH_CONTENT = _split_words("script style template noscript iframe object svg math title textarea")
_MATH_TAGS = _split_words(
    "math mrow mi mn mo mtext mspace mfrac msqrt mroot msub msup msubsup munder mover munderover mtable mtr "
    "mtd mstyle mpadded mphantom semantics annotation"
)
_MATH_ATTRIBUTES = {
    "math": {"display", "aria-label"},
    "mo": {"stretchy", "fence", "form"},
    "mi": {"mathvariant"},
    "mspace": {"width"},
    "mtable": {"columnalign"},
}
_SPANS = {"colspan", "rowspan"}

_ANSI = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # control sequences: colours, cursor
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?"  # strings: titles, hyperlinks
    r"|\x1b[ -/]*[0-~]?"
)
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    "\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
_STACKED = re.compile(
    "([\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]{4})"
    "[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+"
)
_BROKEN = re.compile("[\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")

_FRAME_STYLE = (
    "body{margin:0;font:14px/1.45 system-ui,sans-serif;color:#1c2430;background:#fff;overflow-wrap:anywhere}"
    "table{border-collapse:collapse}td,th{border:1px solid #ccd3dd;padding:.2em .55em;text-align:right}"
    "pre,code{font:13px/1.45 ui-monospace,monospace;white-space:pre-wrap}"
    "@media(prefers-color-scheme:dark){body{color:#e4e9f1;background:#161b24}td,th{border-color:#3a4454}}"
)
_WITHOUT_SOURCE = re.compile(r"<img(?: alt=\"([^\"<>]*)\")?>")
"""Picture without source, as the cleaner writes it."""
_LESS = re.compile("<")
_OPENING = re.compile(r"<(/?)[A-Za-z]")
_QUOTED = re.compile(r"\"[^\"<>]*\"|'[^'<>]*'")
_LONG_TAG = re.compile(rf"<[^<>]{{{MOST_IN_TAG}}}")
_ATTRIBUTE = r"""\s++[A-Za-z][\w:-]*+\s*+=\s*+(?:"[^"<]*+"|'[^'<]*+'|[^\s"'<>=`]++)"""
_TAG = re.compile(rf"<(/?)([A-Za-z][A-Za-z0-9]*+)((?:{_ATTRIBUTE})*+)\s*+/?>")
"""Complete tag with values for all attributes, unlike the comparison ``a <b and c> d``."""
_PAIRED = _split_words("b strong i em u del sub sup small code kbd samp span")
"""Tags that have no effect without their end: ``x<b>c`` is a comparison."""
_SHOWN_AS_TEXT = frozenset({"s"})
"""Allowed in output, but in most texts about language models the start of a sequence."""
_LINES = re.compile(r"<(?:tr|br|p|li|h[1-6]|div|dt|dd|hr)\b|\n")


class Frame(Struct, frozen=True):
    """Document for ``<iframe sandbox srcdoc>``, with its estimated height in pixels."""

    document: str
    height: int


def to_printable_text(text: str, most: int = MOST_CHARACTERS) -> str:
    """Return text without terminal codes; characters that hide or reorder others are spelled out.

    Always encodes to UTF-8. Text longer than ``most`` characters is cut and marked with ``…``.
    """
    # Cut roughly first, because cleaning a huge text takes time; codes may take up part of it.
    cut = text[: 4 * most]
    # Progress bars overwrite a line many times; only its last state is visible in a terminal.
    lines = (_keep_last_written(line) for line in _ANSI.sub("", cut).split("\n"))
    shown = _make_readable("\n".join(lines))
    return shown if len(shown) <= most and len(text) <= 4 * most else shown[:most] + "…"


def escape_markup(text: str, most: int = 8_000) -> str:
    """Return text without effect in Markdown, HTML and MathJax."""
    shown = to_printable_text(text, most).translate(_LOOKALIKES)
    return shown.replace("](", "] (").replace("]:", "] :").replace("][", "] [")


def render_sentence(message: Message, language: str, most: int = 2_000) -> str:
    """Return a message in words, or its code if the catalogue has no valid text, so that no page crashes."""
    try:
        text = messages.render_message(message, language)
    except (KeyError, IndexError, ValueError, AttributeError):
        text = message.text.get(language) or message.text.get("en") or message.code
    return to_printable_text(text, most)


def clean_input(text: str) -> str:
    """Return typed text for storage: printable, one character per line end, no surrounding space."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n").strip()
    return to_printable_text(plain, 12 * len(plain))  # a hidden character is spelled out with up to ten


def is_quoting(message: Message) -> bool:
    """Decide whether a message's placeholders contain formulas of the student."""
    return message.code.startswith(_QUOTING) and not message.text


def render_quoting_sentence(message: Message, language: str) -> Markup:
    """Return a message as markup, with quoted formulas of the student set as code."""
    if not is_quoting(message):
        return escape(render_sentence(message, language))
    # Marks are inserted first and replaced after escaping, so that no formula can forge markup.
    marks = {name: f"{_MARK}{place}{_MARK}" for place, name in enumerate(message.params)}
    marked = escape(render_sentence(Message(message.code, marks), language))
    for mark, value in zip(
        marks.values(), messages.fill_placeholders(message, language).values(), strict=True
    ):
        marked = marked.replace(mark, Markup("<code>{}</code>").format(to_printable_text(value)))
    return marked


def _is_cheap_to_clean(fragment: str) -> bool:
    """Decide whether the cleaner's time is proportional to the length."""
    inside = 0
    for tag in _OPENING.finditer(fragment):
        inside = max(0, inside - 1) if tag[1] else inside + 1
        if inside > MOST_OPEN:
            return False
    # Quoted values take linear time and may be long, such as pictures.
    return _LONG_TAG.search(_QUOTED.sub('""', fragment)) is None


def clean_html(fragment: str) -> str | None:
    """Return tables and text formatting of an HTML fragment, without links and styles; None if too long."""
    if len(fragment) > MOST_HTML or fragment.count("<") > MOST_TAGS or not _is_cheap_to_clean(fragment):
        return None
    return nh3.clean(
        _make_readable(fragment),
        tags=set(_TAGS),
        # Scripts and styles are dropped with their content; of other unknown tags the content is kept.
        clean_content_tags=set(_DROPPED_WITH_CONTENT),
        attributes={"td": _SPANS, "th": _SPANS},
        attribute_filter=_filter_span,
        # No scheme at all: output has no reason to link or load anything.
        url_schemes=set(),
        link_rel=None,
        strip_comments=True,
    )


def escape_other_tags(fragment: str, tags: frozenset[str]) -> str:
    """Return a fragment in which every ``<`` that begins none of ``tags`` is text.

    A student who writes about ``<mask>`` or that ``a<b and c>d`` must not lose these words to the cleaner.
    Takes linear time: a tag ends before the next ``<``.
    """
    tag_matches = [match for match in _TAG.finditer(fragment) if match[2].casefold() in tags]
    kept = {match.start() for match in tag_matches}
    opened: dict[str, list[int]] = {}
    for match in tag_matches:
        name = match[2].casefold()
        if name not in _PAIRED:
            continue
        if not match[1]:
            opened.setdefault(name, []).append(match.start())
        elif opened.get(name):
            opened[name].pop()
        else:
            kept.discard(match.start())
    # Tags that were never closed are text as well.
    kept.difference_update(*opened.values())
    return _LESS.sub(lambda less: "<" if less.start() in kept else "&lt;", fragment)


def build_table_document(fragment: str) -> Frame | None:
    """Return the cleaned fragment as a separate document for a sandboxed frame; None if it is empty."""
    cleaned = clean_html(fragment)
    if cleaned is None or not cleaned.strip():
        return None
    lines = len(_LINES.findall(cleaned)) + len(cleaned) // 400
    document = (
        '<!doctype html><html><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(POLICY)}">'
        f"<title>output</title><style>{_FRAME_STYLE}</style></head><body>{cleaned}</body></html>"
    )
    return Frame(document, min(40 + 27 * lines, 480))


def clean_prose(
    fragment: str,
    *,
    without: frozenset[str] = frozenset(),
    hostile: bool = False,
    pictures: Mapping[str, str] | None = None,
) -> str | None:
    """Return a text with formulas and pictures for the page; None if too long.

    The same layers as for students' output: nothing is fetched, linked or run.

    Args:
        fragment: HTML.
        without: tags of which only the content is kept.
        hostile: it is not the course's: None also if cleaning would take long.
        pictures: for a hostile text, data URIs from `build_image_uri`, by the address that the text uses; no
            other picture is shown.
    """
    if len(fragment) > MOST_PROSE or fragment.count("<") > MOST_TAGS:
        return None
    if hostile:
        # Before cleaning, because the cleaner deletes everything that looks like an unknown tag.
        fragment = escape_other_tags(fragment, (_TAGS | _MATH_TAGS | {"img"}) - _SHOWN_AS_TEXT)
        if not _is_cheap_to_clean(fragment):
            return None

    left = MOST_PROSE  # one picture may be shown thousands of times

    def filter_attribute(tag: str, attribute: str, value: str) -> str | None:
        """Return an attribute's value, or None to drop it; pictures are replaced by their data URI."""
        nonlocal left
        if tag != "img" or attribute != "src":
            return _filter_prose_attribute(tag, attribute, value)
        uri = (pictures or {}).get(value) or (pictures or {}).get(unquote(value)) or ""
        left -= len(uri)
        return uri if uri and left >= 0 else None

    cleaned = nh3.clean(
        _make_readable(fragment),
        tags=set(_TAGS | _MATH_TAGS | {"img"}) - without,
        clean_content_tags=set(_DROPPED_WITH_CONTENT - {"math"}),
        attributes={**_MATH_ATTRIBUTES, "td": _SPANS, "th": _SPANS, "ol": {"start"}, "img": {"src", "alt"}},
        attribute_filter=filter_attribute if hostile else _filter_prose_attribute,
        url_schemes={"data", "attachment"} if hostile else {"data"},
        link_rel=None,
        strip_comments=True,
    )
    return _WITHOUT_SOURCE.sub(lambda match: f"<em>[{match[1] or '–'}]</em>", cleaned) if hostile else cleaned


def clean_mathml(markup: str) -> str:
    """Return presentation MathML without active attributes; our own output, checked once more."""
    return nh3.clean(
        _make_readable(markup),
        tags=set(_MATH_TAGS),
        clean_content_tags=set(_DROPPED_WITH_CONTENT - {"math"}),
        attributes={"math": _MATH_ATTRIBUTES["math"]},
        url_schemes=set(),
        link_rel=None,
    )


def _make_readable(text: str) -> str:
    """Return a text with hidden characters spelled out, stacked accents cut, broken characters replaced."""
    return _BROKEN.sub("\ufffd", _STACKED.sub(r"\1", _CONTROL.sub(_name_character, text)))


def _keep_last_written(line: str) -> str:
    """Return the visible part of a line that was overwritten (progress bars)."""
    return line.rstrip("\r").rpartition("\r")[2]


def _name_character(match: re.Match[str]) -> str:
    """Return a visible form of a control character."""
    code = ord(match[0])
    # Unicode has symbols for control characters.
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"⟨U+{code:04X}⟩"


def _filter_span(tag: str, attribute: str, value: str) -> str | None:
    """Return the value of a small row or column span; None otherwise."""
    return (
        # A span of thousands of cells would freeze the browser.
        value if attribute in _SPANS and re.fullmatch(r"[1-9][0-9]?", value) and tag in {"td", "th"} else None
    )


def _filter_prose_attribute(tag: str, attribute: str, value: str) -> str | None:
    """Return the value of a permitted attribute; None otherwise."""
    if tag == "img" and attribute == "src":
        return value if value.startswith(tuple(f"data:{mime};base64," for mime in PICTURES)) else None
    return _filter_span(tag, attribute, value) if attribute in _SPANS else value
