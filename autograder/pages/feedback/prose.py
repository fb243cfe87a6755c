"""Markdown as HTML: formulas typeset, pictures embedded, all of it sanitised."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from html import escape
from typing import Any

import mistune
from markupsafe import Markup

from autograder.core.images import build_image_uri
from autograder.core.records import PastedPicture
from autograder.notebook.pictures import find_absent_pictures
from autograder.pages.feedback.sanitise import HEADINGS, clean_prose, to_printable_text
from autograder.pages.feedback.typeset import render_tex

Pictures = Mapping[str, str]
"""Data URIs by the address that a text uses for a picture."""


def render_prose(text: str, pictures: Pictures | None = None) -> Markup:
    """Return the HTML of a Markdown text.

    ``$…$`` and ``$$…$$`` are typeset; unreadable TeX stays as written. A picture that is not among
    ``pictures`` is replaced by its description.
    """
    return _clean_markup(text, _make_renderer(pictures or {}, headings=True))


@functools.lru_cache(maxsize=1024)
def render_given_prose(text: str) -> Markup:
    """Return a text of the course for a page; its headings do not become part of the page's outline."""
    # Headings become bold lines, because the page has its own outline.
    return _clean_markup(text, _make_renderer({}, headings=False), without=HEADINGS)


def render_student_prose(text: str, pictures: Pictures | None = None) -> Markup:
    """Return a student's text: like `render_given_prose`, but with embedded pictures only.

    Args:
        text: in Markdown, with or without HTML.
        pictures: see `map_picture_uris`.
    """
    renderer = _make_renderer({}, headings=False, hostile=True)
    return _clean_markup(text, renderer, without=HEADINGS, hostile=True, pictures=pictures)


def render_plain_prose(text: str, pictures: Pictures | None = None) -> Markup:
    """Return a text as written, with the pictures below it."""
    shown = (Markup('<img src="{}" alt="">').format(uri) for uri in (pictures or {}).values())
    return Markup("<pre>{}</pre>").format(to_printable_text(text)) + Markup("").join(shown)


def map_picture_uris(pictures: Iterable[PastedPicture]) -> dict[str, str]:
    """Return the valid pictures of a student's text, by the address that the text uses."""
    uri_by_address = {
        f"attachment:{picture.name}": build_image_uri(picture.mime, picture.data) for picture in pictures
    }
    return {address: uri for address, uri in uri_by_address.items() if uri is not None}


def list_picture_faults(text: str, pictures: Iterable[PastedPicture]) -> Iterator[tuple[str, str]]:
    """Yield the codes of sentences about pictures of a student's text that are not shown, with their names.

    Args:
        text: text of the student.
        pictures: pictures in the cell.
    """
    listed = tuple(pictures)
    absent = find_absent_pictures(text, listed)
    if absent:
        yield "picture-absent", ", ".join(to_printable_text(name, 80) for name in absent)
    left = set(
        find_absent_pictures(
            text, [picture for picture in listed if build_image_uri(picture.mime, picture.data)]
        )
    ) - set(absent)
    # The second case is a data URI that the cleaner will drop.
    if left or "data:image/" in text:
        yield "picture-missing", ""


def _clean_markup(
    text: str,
    renderer: Callable[[str], Any],
    *,
    without: frozenset[str] = frozenset(),
    hostile: bool = False,
    pictures: Pictures | None = None,
) -> Markup:
    """Render and sanitise a text; return it plain if sanitising is refused."""
    cleaned = clean_prose(str(renderer(text)), without=without, hostile=hostile, pictures=pictures)
    # Too long or too nested to clean: as plain text it is harmless.
    if cleaned is None:
        return render_plain_prose(text, pictures if hostile else None)
    return Markup(cleaned)  # noqa: S704 - through the allow-list


class _Renderer(mistune.HTMLRenderer):
    """Mistune's renderer, limited to embedded pictures."""

    def __init__(self, pictures: Pictures, *, headings: bool, hostile: bool) -> None:
        super().__init__(escape=False)
        self._pictures = pictures
        self._headings = headings
        self._hostile = hostile

    def heading(self, text: str, level: int, **attributes: Any) -> str:
        """Return a heading, or a separate line in bold."""
        if self._headings:
            return super().heading(text, level, **attributes)
        return f"<p><strong>{text}</strong></p>\n"

    def link(self, text: str, url: str, title: str | None = None) -> str:
        """Return a link; in a student's text, where links are not allowed, only its text."""
        return text if self._hostile else super().link(text, url, title)

    def image(self, text: str, url: str, title: str | None = None) -> str:
        """Return the picture itself, or its description."""
        del title
        described = Markup(text).striptags()  # noqa: S704 - only its text is used
        # In a student's text the cleaner inserts the pictures, because it sees those in HTML as well.
        source = url if self._hostile and url.startswith("attachment:") else self._pictures.get(url)
        if source is None:
            return f"<em>[{escape(described or url)}]</em>"
        return f'<img src="{escape(source)}" alt="{escape(described)}">'


def _make_renderer(pictures: Pictures, *, headings: bool, hostile: bool = False) -> Callable[[str], Any]:
    """Return a Markdown renderer with formulas, tables and strikethrough."""
    markdown = mistune.create_markdown(
        renderer=_Renderer(pictures, headings=headings, hostile=hostile),
        plugins=["math", "table", "strikethrough"],
    )
    # Replaces the plugin's own formulas, which expect a script in the browser.
    if markdown.renderer is not None:
        markdown.renderer.register("inline_math", lambda _renderer, text: _render_formula(text, "inline"))
        markdown.renderer.register("block_math", lambda _renderer, text: _render_formula(text, "block"))
    return markdown


def _render_formula(tex: str, display: str) -> str:
    """Return MathML, or the TeX itself; the result is sanitised with the text around it."""
    typeset = render_tex(tex.strip(), display)
    shown = typeset or f"<code>{escape(tex.strip())}</code>"
    return f"<div>{shown}</div>\n" if display == "block" else shown
