"""Markdown as HTML: formulas typeset, pictures inside the page, all of it sanitised."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from html import escape
from typing import Any

import mistune
from markupsafe import Markup

from autograder.feedback.sanitise import HEADINGS, clean_prose, printable_text
from autograder.feedback.typeset import mathml

Pictures = Mapping[str, str]
"""Data URIs by the address that a text uses for a picture."""


def prose(text: str, pictures: Pictures | None = None) -> Markup:
    """The HTML of a Markdown text.

    ``$…$`` and ``$$…$$`` are typeset; TeX that cannot be read stands there as it was written. A picture that
    is not among ``pictures`` becomes its description.
    """
    return _cleaned(text, _renderer(pictures or {}, headings=True))


@functools.lru_cache(maxsize=1024)
def given_prose(text: str) -> Markup:
    """A text of the course inside a page, whose outline its headings do not join."""
    return _cleaned(text, _renderer({}, headings=False), without=HEADINGS)


def written_prose(text: str) -> Markup:
    """A text of a student's: as `given_prose`, and without any picture."""
    return _cleaned(text, _renderer({}, headings=False), without=HEADINGS | {"img"}, hostile=True)


def _cleaned(
    text: str,
    renderer: Callable[[str], Any],
    *,
    without: frozenset[str] = frozenset(),
    hostile: bool = False,
) -> Markup:
    cleaned = clean_prose(str(renderer(text)), without=without, hostile=hostile)
    if cleaned is None:
        return Markup("<pre>{}</pre>").format(printable_text(text))
    return Markup(cleaned)  # noqa: S704 - through the allow-list


class _Renderer(mistune.HTMLRenderer):
    """Mistune's, with pictures that are at hand only."""

    def __init__(self, pictures: Pictures, *, headings: bool) -> None:
        super().__init__(escape=False)
        self._pictures = pictures
        self._headings = headings

    def heading(self, text: str, level: int, **attributes: Any) -> str:
        """A heading, or a line of its own in bold."""
        if self._headings:
            return super().heading(text, level, **attributes)
        return f"<p><strong>{text}</strong></p>\n"

    def image(self, text: str, url: str, title: str | None = None) -> str:
        """The picture itself, or what its description says."""
        del title
        described = Markup(text).striptags()  # noqa: S704 - of which only the text is used
        source = self._pictures.get(url)
        if source is None:
            return f"<em>[{escape(described or url)}]</em>"
        return f'<img src="{escape(source)}" alt="{escape(described)}">'


def _renderer(pictures: Pictures, *, headings: bool) -> Callable[[str], Any]:
    markdown = mistune.create_markdown(
        renderer=_Renderer(pictures, headings=headings), plugins=["math", "table", "strikethrough"]
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
