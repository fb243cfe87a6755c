"""Output of student code is displayed, but cannot run, fetch, hide or break out of the page."""

from __future__ import annotations

import base64
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.core.images import build_image_uri
from autograder.core.records import Message
from autograder.pages.feedback import sanitise
from autograder.pages.feedback.sanitise import (
    build_table_document,
    clean_html,
    clean_mathml,
    render_sentence,
    to_printable_text,
)
from tests.pages.examples import HOSTILE, png

ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()))
DANGEROUS = re.compile(
    r"<(?:script|style|iframe|svg|math|img|meta|link|base|form|input|a|object|embed|video|body|html|template)\b"
    r"|<[^>]*\b(?:on\w+|style|class|id|href|src|srcset|action|srcdoc)\s*=",
    re.IGNORECASE,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("10%\r50%\r100%\r\ndone\r\n", "100%\ndone\n"),
        ("a\x00b\x7fc", "a␀b␡c"),
        ("safe\u202egpj.exe", "safe⟨U+202E⟩gpj.exe"),
        ("zero\u200bwidth", "zero⟨U+200B⟩width"),
        ("tag\U000e0041", "tag⟨U+E0041⟩"),
        ("lone \ud800.", "lone \ufffd."),
        ("z" + "\u0335" * 90, "z" + "\u0335" * 4),
        ("tab\tand\nline", "tab\tand\nline"),
        ("größer ≥ 数 👩‍👩‍👧", "größer ≥ 数 👩‍👩‍👧"),
    ],
)
def test_hidden_characters_become_visible(text: str, shown: str) -> None:
    """Terminal codes are removed, hidden characters are spelled out, and ordinary text is unchanged."""
    assert shown == to_printable_text(text)


@given(ANY_TEXT)
def test_visible_text_always_encodes(text: str) -> None:
    """The result can be encoded as UTF-8 and contains no control or reordering characters."""
    shown = to_printable_text(text)
    assert shown == shown.encode().decode()
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", shown)


@pytest.mark.parametrize(
    "text", ["W" * 10**6, "\x1b[" * 10**6, "\x1b]" * 10**6, "\r" * 10**6, "\u0301" * 10**6]
)
def test_long_texts_are_cut(text: str) -> None:
    """A megabyte of any text is cut to the limit."""
    assert sanitise.MOST_CHARACTERS + 1 >= len(to_printable_text(text))


@pytest.mark.parametrize("fragment", HOSTILE)
def test_hostile_html_is_disarmed(fragment: str) -> None:
    """The allow-list removes everything that runs, fetches, links, styles or names elements."""
    assert not DANGEROUS.search(clean_html(fragment) or "")


@given(
    st.lists(
        st.sampled_from([*HOSTILE, "<p>", "</p>", "<!--", "<![CDATA[", "<table>", "<td ", "'", '"', ">"])
    )
)
def test_no_mixture_of_fragments_is_dangerous(parts: list[str]) -> None:
    """Attacks assembled from fragments are removed as well."""
    assert not DANGEROUS.search(clean_html("".join(parts)[:5000]) or "")


def test_tables_and_formatting_are_kept() -> None:
    """A data frame's table is kept without its classes and styles."""
    table = '<div><style scoped>td{}</style><table border="1" class="x"><tr><th>a</th><td>1</td></tr></table>'
    assert "<div><table><tbody><tr><th>a</th><td>1</td></tr></tbody></table></div>" == clean_html(table)


def test_spans_are_kept_small() -> None:
    """A cell may span columns, up to a limit."""
    table = '<table><tr><td colspan="2">a</td><td rowspan="65534">b</td></tr></table>'
    assert '<table><tbody><tr><td colspan="2">a</td><td>b</td></tr></tbody></table>' == clean_html(table)


@pytest.mark.parametrize("fragment", ["<div>" * 200_000, "<div>" * 39_000, "<b>" * 66_000])
def test_deep_or_long_html_is_refused(fragment: str) -> None:
    """HTML that is too deep or long is not cleaned but refused."""
    assert clean_html(fragment) is None


def test_the_frame_has_its_own_policy() -> None:
    """A frame's document contains a policy that forbids everything, before its content."""
    frame = build_table_document("<b>bold</b>")
    assert frame is not None
    head, _, body = frame.document.partition("</head>")
    assert "default-src &#x27;none&#x27;" in head
    assert "<body><b>bold</b></body></html>" == body


def test_pictures_are_what_they_say() -> None:
    """A PNG is accepted and encoded again; line breaks in the base64 are ignored."""
    data = png()
    expected = f"data:image/png;base64,{data}"
    assert [expected, expected] == [
        build_image_uri("image/png", data),
        build_image_uri("image/png", data[:40] + "\n" + data[40:]),
    ]


def jpeg(width: int, height: int) -> bytes:
    """Return the beginning of a JPEG of this size."""
    frame = b"\xff\xc0\x00\x11\x08" + height.to_bytes(2) + width.to_bytes(2) + b"\x03" + bytes(9)
    return b"\xff\xd8\xff\xe0\x00\x10JFIF\x00" + bytes(9) + frame


def test_jpegs_are_measured() -> None:
    """The size of a JPEG is read from its frame header."""
    data = base64.b64encode(jpeg(640, 480)).decode()
    assert f"data:image/jpeg;base64,{data}" == build_image_uri("image/jpeg", data)


@pytest.mark.parametrize(
    ("mime", "content"),
    [
        ("image/svg+xml", b"<svg/>"),
        ("image/png", b"<svg onload=alert(1)>"),
        ("image/png", b"\x89PNG\r\n\x1a\n"),
        ("image/png", b""),
        ("image/jpeg", base64.b64decode(png())),
        ("image/png", jpeg(64, 48)),
        ("image/png", base64.b64decode(png())[:16] + (60_000).to_bytes(4) * 2 + bytes(20)),
        ("image/png", base64.b64decode(png())[:16] + bytes(30)),
        ("image/jpeg", jpeg(60_000, 60_000)),
        ("image/jpeg", b"\xff\xd8\xff\xe0\x00\x00" * 50),
        ("image/png", base64.b64decode(png()) + bytes(4 * 2**20)),
    ],
)
def test_other_pictures_are_refused(mime: str, content: bytes) -> None:
    """A wrong type, a wrong signature, too many bytes or too many pixels are refused."""
    assert build_image_uri(mime, base64.b64encode(content).decode()) is None


@pytest.mark.parametrize("data", ["", "%%%", 'aGk=" onerror="alert(1)', "ünicode", "abc", "\ud800"])
def test_text_that_is_not_base64_is_refused(data: str) -> None:
    """Only strict base64 is accepted."""
    assert build_image_uri("image/png", data) is None


@given(st.sampled_from(["image/png", "image/jpeg"]), st.binary(max_size=200), st.booleans())
def test_no_bytes_break_the_picture_check(mime: str, content: bytes, framed: bool) -> None:
    """Any bytes give a data URI of the stated type, or None."""
    magic = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" if mime == "image/png" else b"\xff\xd8\xff"
    uri = build_image_uri(mime, base64.b64encode(magic * framed + content).decode())
    assert uri is None or uri.startswith(f"data:{mime};base64,")


def test_mathml_keeps_its_structure() -> None:
    """Presentation MathML is kept."""
    markup = '<math display="block"><mrow><mn>4</mn><msup><mi>d</mi><mn>2</mn></msup></mrow></math>'
    assert markup == clean_mathml(markup)


@pytest.mark.parametrize("text", HOSTILE)
def test_mathml_holds_no_other_markup(text: str) -> None:
    """All other markup inside MathML is removed."""
    cleaned = clean_mathml(
        f"<math><mtext>{text}</mtext><maction href='javascript:alert(1)'>x</maction></math>"
    )
    assert not DANGEROUS.search(cleaned.replace("<math>", ""))


@pytest.mark.parametrize(
    "text", ["[x](javascript:alert(1))", "![x](http://a)", "[x][y]", "[y]: http://a", "<b>$x$`y`|z&amp;\\("]
)
def test_in_comments_of_nbgrader_no_text_is_a_link_or_markup(text: str) -> None:
    """Markdown, formulas and HTML are escaped, because formgrader renders comments."""
    shown = sanitise.escape_markup(text)
    assert not re.search(r"\]\(|\]\[|\]:", shown)
    assert not set("<>$`|&\\") & set(shown)


def test_a_message_without_words_is_its_code() -> None:
    """An unknown code, or a text with a wrong placeholder, is shown unchanged."""
    assert ["no-such-code", "{wrong} {0}"] == [
        render_sentence(message, "en")
        for message in (Message("no-such-code"), Message("x", {}, {"en": "{wrong} {0}"}))
    ]
