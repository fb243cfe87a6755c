"""Configuration of the documentation site; ``make docs`` builds it into build/docs, without a network."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.metadata import version as get_version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sphinx.search.en import SearchEnglish

from autograder.messages.catalogue import list_areas, merge_tables

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "nbexam"
author = copyright = "The nbexam developers"  # noqa: A001
version = release = get_version("nbexam")
language = "en"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_heading_anchors = 4
default_role = "literal"  # docstrings put names in single backticks
highlight_language = "text"
nitpick_ignore_regex = [("py:.*", ".*")]  # types of Python and of libraries, whose pages are elsewhere

html_theme = "furo"
html_title = "nbexam"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = html_show_sourcelink = False

LABELS = ("autograder.messages.page", "autograder.web.sentences")
"""Tables of headings and buttons, which the list of messages leaves out."""
MESSAGES = "<!-- messages: made when the site is built -->"
REPAIRS: Mapping[str, str] = {
    '<p class="caption" role="heading">': '<p class="caption" role="heading" aria-level="2">',
    '<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="Pages">',
    '<aside class="toc-drawer': '<aside aria-label="This page" class="toc-drawer',
    "<pre>": '<pre tabindex="0">',  # wide blocks and tables scroll, also with the keyboard
    '<div class="table-wrapper': '<div tabindex="0" class="table-wrapper',
}
"""What the theme's HTML lacks for assistive technology, found by axe."""
GUIDES = "<!-- further guides: inserted when the site is built -->"


class QuestionSearch(SearchEnglish):
    """Search that ignores the words of a question: every other word has to occur on a page."""

    stopwords = SearchEnglish.stopwords | {
        *("i", "me", "my", "we", "us", "our", "you", "your", "he", "she", "they"),
        *("how", "what", "when", "where", "which", "who", "why", "can", "could", "do", "does", "did"),
        *("am", "has", "have", "had", "get", "got", "many", "much", "long", "from", "up", "about", "should"),
    }


def insert_generated(app: Sphinx, page: str, source: list[str]) -> None:
    """Insert the table of all sentences about answers, and the guides that the contents do not name."""
    if page == "messages":
        source[0] = source[0].replace(MESSAGES, render_messages())
    elif page == "index":
        pages = sorted(name for name in app.env.found_docs - {page} if "/" not in name)
        further = [name for name in pages if not re.search(rf"^{name}$|<{name}>$", source[0], re.MULTILINE)]
        source[0] = source[0].replace(GUIDES, "\n".join(further))
        app.env.note_reread()  # a new page changes the contents


def render_messages() -> str:
    """Render code and English sentence of each message as tables of Markdown, one for each area."""
    tables: dict[str, list[str]] = {}
    for code, sentence in sorted(merge_tables(area for area in list_areas() if area not in LABELS).items()):
        text = sentence if isinstance(sentence, str) else sentence[-1]
        escaped = re.sub(r"([\\`*_\[\]<>|&])", r"\\\1", " ".join(text.split()))
        head = ["", f"## {code.partition('.')[0]}", "", "| code | sentence |", "|---|---|"]
        tables.setdefault(code.partition(".")[0], head).append(f"| `{code}` | {escaped} |")
    return "\n".join(line for table in tables.values() for line in table)


def set_language(_app: Sphinx, page: str, _template: str, context: dict[str, Any], _tree: object) -> None:
    """Declare the language of a translated page, for screen readers and hyphenation."""
    folder, _, rest = page.partition("/")
    if rest and len(folder) == 2:
        context["language"] = folder


def repair_pages(app: Sphinx, _error: Exception | None) -> None:
    """Apply `REPAIRS` to the pages that were written."""
    for path in Path(app.outdir).rglob("*.html"):
        html = path.read_text("utf-8")
        for lacking, repaired in REPAIRS.items():
            html = html.replace(lacking, repaired)
        path.write_text(html, "utf-8")


def setup(app: Sphinx) -> None:
    """Register what this site adds to Sphinx."""
    app.add_search_language(QuestionSearch)
    app.connect("source-read", insert_generated)
    app.connect("html-page-context", set_language)
    app.connect("build-finished", repair_pages)
