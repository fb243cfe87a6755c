"""The templates: an example question of each kind, as a Markdown file of fenced blocks in the kind's folder.

A template's blocks are named by the first line of their fence::

    ```toml assignment     settings the assignment needs: ``preload`` and ``symbols``; optional
    ```toml rubric         one [[question]]
    ```markdown prompt     the text of the question
    ```python given        code that students get; optional
    ```python answer       the answer cell, solution between markers (or ``markdown answer``)
    ```markdown ID         the answer key of a manually graded cell with this id; optional
    ```python checks       the checks of the question, for reference/checks; optional

In the names of such files, ``MODULE`` is replaced by the name of the assignment.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from msgspec import Struct

from autograder.core.errors import CourseError
from autograder.questions import load_kinds

FILE = "template.md"
"""Name of the template in the folder of a kind."""
_BLOCK = re.compile(r"^```(\w+) ([\w-]+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


class Template(Struct, frozen=True):
    """The example question of one kind."""

    kind: str
    rubric: str
    """The TOML text, with its comments."""
    prompt: str
    answer: str
    text_answer: bool
    """The answer is a text cell, not code."""
    assignment: Mapping[str, Any] = {}
    given: str = ""
    checks: str = ""
    written: Mapping[str, str] = {}
    """Answer key of each additional text cell, by its id."""

    @property
    def question(self) -> Mapping[str, Any]:
        """The question's table of the rubric."""
        # Points are exact, so they must not be read as floats.
        entry: Mapping[str, Any] = tomllib.loads(self.rubric, parse_float=Decimal)["question"][0]
        return entry


def list_kinds() -> tuple[str, ...]:
    """Return the names of the kinds that have a template."""
    return tuple(name for name, kind in load_kinds().items() if (kind.folder / FILE).is_file())


def load_template(kind: str, module: str) -> Template:
    """Return the template of the kind with the given name.

    Args:
        kind: a kind's name.
        module: the assignment's name as it occurs in names of files.

    Raises:
        CourseError: there is no such kind (with a suggestion).
    """
    available = list_kinds()
    if kind not in available:
        close = difflib.get_close_matches(kind, available, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"known are: {', '.join(available)}"
        raise CourseError(f"--kinds: there is no kind {kind!r}; {hint}")
    return _read_template(kind, module)


def _read_template(kind: str, module: str) -> Template:
    text = (load_kinds()[kind].folder / FILE).read_text("utf-8").replace("MODULE", module)
    blocks = {(language, name): body.rstrip("\n") for language, name, body in _BLOCK.findall(text)}
    named = {name: body for (_, name), body in blocks.items()}
    return Template(
        kind=kind,
        rubric=named["rubric"],
        prompt=named["prompt"],
        answer=named["answer"],
        text_answer=("markdown", "answer") in blocks,
        assignment=tomllib.loads(named.get("assignment", "")),
        given=named.get("given", ""),
        checks=named.get("checks", ""),
        written={
            name: body
            for (language, name), body in blocks.items()
            if language == "markdown" and name not in {"prompt", "answer"}
        },
    )


def choose_templates(names: Sequence[str], module: str) -> tuple[Template, ...]:
    """Load the templates of these kinds, each once and in the given order; all of them if no kind is named.

    Raises:
        CourseError: there is no such kind.
    """
    if not names:
        return tuple(_read_template(kind, module) for kind in list_kinds())
    templates = {template.kind: template for template in (load_template(name, module) for name in names)}
    return tuple(templates.values())
