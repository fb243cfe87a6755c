"""The one way to render pages: the environment of all templates, and pages as files with their policy."""

from __future__ import annotations

import base64
import functools
import hashlib
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from autograder.pages.feedback.sanitise import POLICY

TEMPLATES = Path(__file__).parents[1] / "templates"
SCRIPT = Markup((TEMPLATES / "sort.js").read_text("utf-8"))  # noqa: S704 - ours, and nothing is put into it
"""Sorts tables of the class ``sortable`` by a click on a heading. Without it they keep their order."""
_DIGEST = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()


def make_environment(loader: jinja2.BaseLoader, *, auto_reload: bool = False) -> jinja2.Environment:
    """Return the environment of templates, the same for pages as files and for those of the service."""
    environment = jinja2.Environment(
        loader=loader,
        auto_reload=auto_reload,
        # Templates show students' texts, so all values are escaped.
        autoescape=True,
        # A misspelt name must fail in tests, not render as nothing.
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["sentence_start"] = capitalise_sentence
    return environment


def fill_template(template: str, *, sortable: bool = False, **values: Any) -> str:
    """Render a page as one file, which fetches nothing; lone surrogates become question marks.

    Args:
        template: name of the template.
        sortable: permit the script that sorts tables, by its hash; without it no script runs.
        values: of the template.
    """
    policy = f"{POLICY}; script-src 'sha256-{_DIGEST}'" if sortable else POLICY
    shared = {"policy": policy, "script": SCRIPT if sortable else "", "language": "en"}
    text = _load_environment().get_template(template).render(shared | values)
    # Names of files and students' texts can contain lone surrogates, which UTF-8 cannot encode.
    return text.encode("utf-8", "replace").decode()


@functools.cache
def _load_environment() -> jinja2.Environment:
    """Return the environment with its compiled templates: compiling costs more than rendering."""
    return make_environment(jinja2.FileSystemLoader(TEMPLATES))


def capitalise_sentence(text: str) -> str:
    """Return a sentence with a capital first letter, unless it begins with a path or file name."""
    first = text.partition(" ")[0]
    return text if "/" in first or "." in first.rstrip(".") else text[:1].upper() + text[1:]
