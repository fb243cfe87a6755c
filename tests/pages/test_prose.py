"""Markdown: formulas are typeset, pictures are embedded, and nothing is active."""

from __future__ import annotations

import html
import re
from collections.abc import Callable

import pytest

from autograder.pages.feedback.prose import render_given_prose, render_prose, render_student_prose

PNG = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwAD"
    "hgGAWjR9awAAAABJRU5ErkJggg=="
)


@pytest.mark.parametrize(
    ("tex", "shown"),
    [
        (r"\frac{QK^\top}{\sqrt{d_k}}", r"<mfrac>.*<msqrt>"),
        (r"n_{\text{layers}}", r"<msub>.*<mtext>layers</mtext>"),
        (r"\mathbb{R}^{n \times d}", "<msup>"),
    ],
)
def test_tex_is_typeset(tex: str, shown: str) -> None:
    """Inline and display formulas between dollars become MathML."""
    for text in (f"The formula ${tex}$.", f"$$\n{tex}\n$$"):
        html = str(render_prose(text))
        assert re.search(shown, html, re.DOTALL), html
        assert "$" not in html


def test_tex_that_cannot_be_read_stays_readable() -> None:
    """An invalid formula is shown as written."""
    assert "<code>{{{</code>" in render_prose("So ${{{$ it is.")
    assert "<code>" in render_prose("$" + "x" * 5000 + "$")


def test_tables_are_tables() -> None:
    """A Markdown table becomes an HTML table."""
    html = render_prose("| a | b |\n|---|---|\n| 1 | `2` |\n")
    assert "<th>a</th>" in html
    assert "<code>2</code>" in html


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        '<img src="https://example.org/x.png" onerror="alert(1)">',
        "[link](javascript:alert(1))",
        '<svg onload="alert(1)"></svg>',
        "<style>body{display:none}</style>",
        r"$\text{<script>alert(1)</script>}$",
        r"$\href{javascript:alert(1)}{x}$",
        '<iframe src="file:///etc/passwd"></iframe>',
        "![p](file:///etc/passwd)",
        '<img src="data:text/html;base64,PHA+">',
    ],
)
def test_nothing_acts(text: str) -> None:
    """No text adds a script, style, link or address to the page."""
    html = str(render_prose(text)).lower()
    assert not re.search(r"<script|<style|<svg|<iframe|<a |onerror=|onload=|href=|src=", html), html


def test_pictures_at_hand_are_shown_and_others_described() -> None:
    """A picture of the assignment is embedded; other pictures are replaced by their description."""
    assert f'src="{PNG}"' in render_prose("![a point](dot.png)", {"dot.png": PNG})
    html = render_prose("![a **point**](https://example.org/dot.png)", {"dot.png": PNG})
    assert "<img" not in html
    assert "[a point]" in html


@pytest.mark.parametrize("show", [render_given_prose, render_student_prose])
def test_headings_of_a_text_do_not_join_the_pages_outline(show: Callable[[str], str]) -> None:
    """Headings in Markdown or HTML become separate lines without heading tags."""
    html = show("# One\n\n<h2>Two</h2>\n\ntext")
    assert "<h" not in html
    assert "<strong>One</strong>" in html
    assert "Two" in html


@pytest.mark.parametrize(
    "text",
    [
        "The model fills <mask> between <s> and </s>, <sep> ends a part and <pad> fills up.",
        "it holds if a<b and c>d for all",
        "three values a<b>c in order",
        "if d_head <n_heads and n>3 then",
        "<title> of the page",
        "<style> of the answer",
        "<script>loss(1)</script> is code",
        "my <textarea> and <object> and <template>",
        "<iframe>inside</iframe>",
        "<details><summary>short</summary>long</details>",
        "<!-- an answer that the student forgot to open",
        "before <!-- between --> behind",
        "<?xml what ?> and <![CDATA[ more ]]>",
        "an <Encoder> with <memory=4> and <x y='z'>",
    ],
)
def test_written_prose_keeps_every_word_at_angle_brackets(text: str) -> None:
    """Text in angle brackets is kept as text unless it is an allowed tag."""
    shown = str(render_student_prose(text))
    assert text in html.unescape(re.sub(r"</?p>", "", shown))
    assert set(re.findall(r"<[^>]*>", shown)) <= {"<p>", "</p>"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<b>one</b> <sub>two</sub>", "<b>one</b> <sub>two</sub>"),
        ("one<br>two<BR/>three", "one<br>two<br>three"),
        ("<div align='center'>one</div>", "<div>one</div>"),
        ("<table border=1><tr><td colspan='2'>one</table>", '<td colspan="2">one</td>'),
        ("~~gone~~", "<del>gone</del>"),
        ("[one](https://example.org) two", "one two"),
    ],
)
def test_written_prose_keeps_the_formatting_that_a_text_may_use(text: str, shown: str) -> None:
    """Allowed tags for tables and text are kept, with or without attributes."""
    assert shown in render_student_prose(text)


def test_what_students_write_shows_no_picture() -> None:
    """A picture in a student's text is replaced by its name; only checked outputs are shown."""
    assert "<img" not in render_student_prose(f"![a point](dot.png) <img src='{PNG}' alt='x'>")
    assert "[a point]" in render_student_prose(f"![a point]({PNG})")


@pytest.mark.parametrize(
    "text", ["[", "](", "*a ", "`", "> ", "- ", "$a", "<div>", "<a ", "|a", "~", "&", "![", "**a*b", "\\"]
)
def test_hostile_prose_closes_what_it_opens(text: str) -> None:
    """Any long text becomes markup with balanced tags."""
    shown = str(render_student_prose((text * 20_000)[:20_000]))
    opened = [tag for tag in re.findall(r"<([a-z]\w*)", shown) if tag not in ("br", "hr")]
    assert sorted(opened) == sorted(re.findall(r"</([a-z]\w*)", shown))


def test_what_would_take_long_to_clean_is_shown_as_it_was_written() -> None:
    """A text with a thousand open tags is escaped instead of cleaned."""
    assert str(render_student_prose("<div>" * 1000)).startswith("<pre>&lt;div&gt;")
