"""The printable page: one HTML file with a running header, laid out for paper."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import jinja2
from markupsafe import Markup

from autograder.feedback.sanitise import POLICY
from autograder.paper.answer_boxes import AnswerBox
from autograder.paper.sheet import Sheet

Size = Literal["a4", "letter"]


def render(sheet: Sheet, size: Size = "a4") -> str:
    """The sheet as HTML that fetches nothing and runs nothing.

    The header with the fields for name and number, and the page's number, stand in the margins of every page:
    browsers print them that know the margin boxes of CSS (Chromium from version 131).
    """
    words = sheet.words
    name = f"{words('name')}: {'_' * 26}   {words('number')}: {'_' * 14}"
    left = words("for-graders") if sheet.solutions else name
    right = f"{sheet.title} · {sheet.student}" if sheet.student else sheet.title
    text = (
        _environment()
        .get_template("sheet.html")
        .render(
            sheet=sheet,
            word=words,
            policy=POLICY,
            size={"a4": "A4", "letter": "letter"}[size],
            left=_css(left),
            right=_css(right),
            page=_css(f"{words('page')} "),
            of=_css(f" {words('of')} "),
            is_box=lambda entry: isinstance(entry, AnswerBox),
        )
    )
    return text.encode("utf-8", "replace").decode()


def _css(text: str) -> Markup:
    """A text between the quotes of CSS: whatever could end them, or the style sheet, becomes its number."""
    chars = (char if char.isalnum() or char in " _.:,·" else f"\\{ord(char):06x}" for char in text)
    return Markup("".join(chars))  # noqa: S704 - no sign that is left acts


def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
