"""Configuration of the documentation site; ``make docs`` builds it into build/docs, without a network."""

from __future__ import annotations

import re
from importlib.metadata import version as get_version
from typing import TYPE_CHECKING, Any

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
nitpick_ignore_regex = [
    ("py:.*", ".*")
]  # types of Python and of libraries: their pages are not at hand offline
suppress_warnings = ["toc.empty_glob"]  # guides that the table of contents takes in once they exist

html_theme = "furo"
html_title = "nbexam"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = html_show_sourcelink = False

LABELS = ("autograder.messages.page", "autograder.web.words")
"""Tables of headings and buttons, which the list of messages leaves out."""
MESSAGES = "<!-- messages: made when the site is built -->"


def insert_messages(_app: Sphinx, page: str, source: list[str]) -> None:
    """Put the table of all sentences about answers into the page of messages."""
    if page == "messages":
        source[0] = source[0].replace(MESSAGES, render_messages())


def render_messages() -> str:
    """Render code and English sentence of each message as tables of Markdown, one for each area."""
    tables: dict[str, list[str]] = {}
    for code, sentence in sorted(merge_tables(area for area in list_areas() if area not in LABELS).items()):
        text = sentence if isinstance(sentence, str) else sentence[-1]
        escaped = re.sub(r"([^\w\s.,:;?!()'“”/-])", r"\\\1", " ".join(text.split()))
        head = ["", f"## {code.partition('.')[0]}", "", "| code | sentence |", "|---|---|"]
        tables.setdefault(code.partition(".")[0], head).append(f"| `{code}` | {escaped} |")
    return "\n".join(line for table in tables.values() for line in table)


def set_language(_app: Sphinx, page: str, _template: str, context: dict[str, Any], _tree: object) -> None:
    """Declare the language of a translated page, for screen readers and hyphenation."""
    folder, _, rest = page.partition("/")
    if rest and len(folder) == 2:
        context["language"] = folder


def setup(app: Sphinx) -> None:
    """Register what this site adds to Sphinx."""
    app.connect("source-read", insert_messages)
    app.connect("html-page-context", set_language)
