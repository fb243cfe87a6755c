"""Broken and hostile notebooks. The demo class has a few; none may change the marks of other students."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from msgspec import Struct

from autograder.authoring.demo.papers import load_table

Notebook = dict[str, Any]
"""A notebook as JSON."""


class Damage(Struct, frozen=True):
    """One way in which a file is damaged between student and grader."""

    portrait: str
    apply: Callable[[Notebook], bytes]
    readable: bool
    """Whether the answers can still be read from it."""
    lost: tuple[str, ...] = ()
    """Questions that lose their answer."""


class Attack(Struct, frozen=True):
    """One attack on the grader: code in an additional cell or in an answer cell."""

    portrait: str
    source: str
    instead_of: str = ""
    """The question that has the code in its answer cell; empty: an additional cell at the start."""
    slow: bool = False
    """The attack hangs until a limit stops it, which costs the run wall time."""


def dump_notebook(notebook: Notebook) -> bytes:
    """Serialise a notebook as its file."""
    return (json.dumps(notebook, indent=1, ensure_ascii=False) + "\n").encode()


def get_grade_id(cell: Mapping[str, Any]) -> str:
    """Return the grade_id of a cell; empty if it has no metadata of nbgrader."""
    return str(cell["metadata"].get("nbgrader", {}).get("grade_id", ""))


def _truncate_file(notebook: Notebook) -> bytes:
    whole = dump_notebook(notebook)
    # As after an interrupted upload.
    return whole[: len(whole) * 2 // 3]


def _make_empty_file(_notebook: Notebook) -> bytes:
    return b""


def _replace_with_pdf(_notebook: Notebook) -> bytes:
    return b"%PDF-1.7\n% this is an export, not a notebook\n%%EOF\n"


def _delete_checks(notebook: Notebook) -> bytes:
    kept = [cell for cell in notebook["cells"] if not cell["source"].startswith('check("')]
    return dump_notebook({**notebook, "cells": kept})


def _delete_answer(question: str, notebook: Notebook) -> bytes:
    kept = [cell for cell in notebook["cells"] if get_grade_id(cell) != f"{question}-answer"]
    return dump_notebook({**notebook, "cells": kept})


def _copy_cell(question: str, notebook: Notebook) -> bytes:
    cells: list[dict[str, Any]] = []
    for cell in notebook["cells"]:
        cells.append(cell)
        if get_grade_id(cell) == f"{question}-answer":
            # The copy keeps its grade_id, as when a student duplicates a cell in Jupyter.
            cells.append({**cell, "id": f"{cell['id']}-copy", "source": "copied_by_mistake = True"})
    return dump_notebook({**notebook, "cells": cells})


def _strip_metadata(notebook: Notebook) -> bytes:
    cells = [{**cell, "metadata": {}} for cell in notebook["cells"]]
    return dump_notebook({**notebook, "cells": cells, "metadata": {}})


def list_damages(question: str, copied: str) -> tuple[Damage, ...]:
    """Return the ways to damage a file.

    Args:
        question: loses its answer in one of them.
        copied: has its answer cell duplicated in another.
    """
    return (
        Damage("file cut off", _truncate_file, readable=False),
        Damage("check cells deleted", _delete_checks, readable=True),
        Damage("one answer cell deleted", partial(_delete_answer, question), readable=True, lost=(question,)),
        Damage("answer cell copied", partial(_copy_cell, copied), readable=True),
        Damage("all cell metadata stripped", _strip_metadata, readable=True),
        Damage("a PDF in place of the notebook", _replace_with_pdf, readable=False),
        Damage("empty file", _make_empty_file, readable=False),
    )


ATTACKS: tuple[Attack, ...] = tuple(Attack(**attack) for attack in load_table("attacks")["attack"])
"""Attacks that work for any assignment."""


def make_equal_to_everything(question: str, name: str, value: str) -> Attack:
    """Return an answer that claims to be equal to any value.

    Args:
        question: the question that it answers.
        name: the variable that is assigned.
        value: a wrong answer, as a text.
    """
    return Attack(
        "answers with an object that equals everything",
        "class Anything(str):\n    def __eq__(self, other):\n        return True\n\n"
        f"    __hash__ = str.__hash__\n\n\n{name} = Anything({value!r})",
        instead_of=question,
    )


def modify_flags(notebook: Notebook) -> Notebook:
    """Return the notebook with flags, points and locked cells changed in the student's favour."""
    cells = []
    for cell in notebook["cells"]:
        flags = cell["metadata"].get("nbgrader")
        if not flags:
            cells.append(cell)
            continue
        # The grader must not believe any of these fields: it reads flags and points from the release.
        changed = {**flags, "locked": False, "schema_version": 99}
        source = cell["source"]
        if flags["grade"]:
            changed["points"] = 1000
        if source.startswith('check("'):
            source = "1000"
        cells.append({**cell, "source": source, "metadata": {**cell["metadata"], "nbgrader": changed}})
    return {**notebook, "cells": cells}


def insert_forged_outputs(notebook: Notebook) -> Notebook:
    """Return the notebook with outputs that claim full marks below its check cells."""
    claim = {"output_type": "stream", "name": "stdout", "text": "38 of 38 points\n"}
    cells = [
        {**cell, "outputs": [claim], "execution_count": 1} if cell["source"].startswith('check("') else cell
        for cell in notebook["cells"]
    ]
    return {**notebook, "cells": cells}
