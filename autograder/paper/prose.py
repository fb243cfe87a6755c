"""Markdown cells as HTML for paper: formulas typeset, pictures inside the page, all of it sanitised."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape
from typing import Any

import mistune
from markupsafe import Markup

from autograder.feedback.sanitise import clean_prose, printable_text
from autograder.feedback.tex import mathml

Pictures = Mapping[str, str]
"""Data URIs by the address that a text uses for a picture."""


def prose(text: str, pictures: Pictures | None = None) -> Markup:
    """The HTML of a Markdown text.

    ``$…$`` and ``$$…$$`` are typeset; TeX that cannot be read stands there as it was written. A picture that
    is not among ``pictures`` becomes its description.
    """
    raw = _renderer(pictures or {})(text)
    cleaned = clean_prose(str(raw))
    if cleaned is None:
        return Markup("<pre>{}</pre>").format(printable_text(text))
    return Markup(cleaned)  # noqa: S704 - through the allow-list


class _Renderer(mistune.HTMLRenderer):
    """Mistune's, with pictures that are at hand only."""

    def __init__(self, pictures: Pictures) -> None:
        super().__init__(escape=False)
        self._pictures = pictures

    def image(self, text: str, url: str, title: str | None = None) -> str:
        """The picture itself, or what its description says."""
        del title
        described = Markup(text).striptags()  # noqa: S704 - of which only the text is used
        source = self._pictures.get(url)
        if source is None:
            return f"<em>[{escape(described or url)}]</em>"
        return f'<img src="{escape(source)}" alt="{escape(described)}">'


def _renderer(pictures: Pictures) -> Callable[[str], Any]:
    markdown = mistune.create_markdown(
        renderer=_Renderer(pictures), plugins=["math", "table", "strikethrough"]
    )
    if markdown.renderer is not None:
        markdown.renderer.register("inline_math", lambda _renderer, text: _formula(text, "inline"))
        markdown.renderer.register("block_math", lambda _renderer, text: _formula(text, "block"))
    return markdown


def _formula(tex: str, display: str) -> str:
    """MathML, or the TeX itself; the result is sanitised with the text around it."""
    typeset = mathml(tex.strip(), display)
    shown = typeset or f"<code>{escape(tex.strip())}</code>"
    return f"<div>{shown}</div>\n" if display == "block" else shown
