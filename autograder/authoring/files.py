"""The rubric and the reference module of a new assignment, as text that is meant to be changed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from autograder.authoring.templates import Template

_HEAD = """\
# What there is to earn, and for what. Change numbers and texts, then run: autograder verify {name}
version = 1                                  # raise it with every change; each score names it

[assignment]
name = "{name}"
points = {points}                                   # the sum of the questions' points
languages = ["en"]                           # ["en", "de"]: texts are {{ en = "…", de = "…" }}
title = {{ en = "{name}" }}
"""


def rubric_file(name: str, templates: Sequence[Template]) -> str:
    """The rubric of all questions."""
    points = sum((Decimal(template.question["points"]) for template in templates), Decimal(0))
    preload = sorted({module for template in templates for module in template.assignment.get("preload", ())})
    text = _HEAD.format(name=name, points=points)
    if preload:
        text += f"preload = {json.dumps(preload)}".ljust(45) + "# imported before a submission starts\n"
    symbols: dict[str, Any] = {}
    for template in templates:
        symbols |= template.assignment.get("symbols", {})
    if symbols:
        text += "\n[assignment.symbols]                         # the names that formulas may use\n"
        text += "".join(f"{symbol} = {_inline(options)}\n" for symbol, options in symbols.items())
    return "\n".join((text, *(f"{template.rubric}\n" for template in templates)))


def _inline(options: dict[str, Any]) -> str:
    inside = ", ".join(f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in options.items())
    return f"{{ {inside} }}" if inside else "{}"


def reference_file(name: str, templates: Sequence[Template]) -> str:
    """One module for all questions, its imports first; empty where no question needs one."""
    imports: dict[str, None] = {}
    bodies = []
    for template in templates:
        lines = template.reference.split("\n")
        imports |= dict.fromkeys(line for line in lines if line.startswith(("import ", "from ")))
        body = "\n".join(line for line in lines if line not in imports).strip("\n")
        bodies += [body] if body else []
    if not bodies:
        return ""
    head = f'"""Right solutions of {name}, and wrong ones to try the checks on. Students never get this."""'
    above = "\n\n".join(filter(None, (head, "\n".join(sorted(imports, key=_import_order)))))
    return "\n\n\n".join((above, *bodies)) + "\n"


def _import_order(line: str) -> tuple[bool, str]:
    return line.startswith("from "), line
