"""The honest controls: the answer key with what students have in their notebooks.

All must earn full marks.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import nbformat
from msgspec import Struct

from tests.redteam.attack import FOLDER, load
from tests.redteam.exam import Exam, Notebook, with_cells, written


class Control(Struct, frozen=True):
    """One honest student."""

    title: str
    paper: Callable[[Exam], bytes]
    """The submitted notebook."""


def _in_cells() -> list[Control]:
    return [Control(one.title, _with(one.cells)) for one in load(FOLDER / "honest.cells")]


def _with(cells: tuple[str, ...]) -> Callable[[Exam], bytes]:
    return lambda exam: with_cells(_key(exam), cells)


def _key(exam: Exam) -> Notebook:
    return nbformat.reads(exam.key.decode(), as_version=4)


def _windows(exam: Exam) -> bytes:
    """Use Windows line ends in the file and in every source."""
    paper = _key(exam)
    for cell in paper["cells"]:
        cell["source"] = cell["source"].replace("\n", "\r\n")
    return written(paper).replace(b"\n", b"\r\n")


def _kept_outputs(exam: Exam) -> bytes:
    """Keep outputs in the file, among them a picture and an error."""
    paper = _key(exam)
    for number, cell in enumerate(paper["cells"]):
        if cell["cell_type"] == "code":
            cell["execution_count"] = number
            cell["outputs"] = [
                nbformat.v4.new_output("stream", text="fine\n"),
                nbformat.v4.new_output(
                    "display_data", {"image/png": "iVBORw0KGgo=", "text/html": "<b>x</b>"}
                ),
                nbformat.v4.new_output("error", ename="E", evalue="e", traceback=["\x1b[31mE\x1b[0m"]),
            ]
    return written(paper)


def _moved(exam: Exam) -> bytes:
    """Move the last question to the front, with additional cells between all others."""
    paper = _key(exam)
    cells = paper["cells"]
    names = [cell["metadata"].get("nbgrader", {}).get("grade_id", "") for cell in cells]
    first = names.index("mha-prompt")
    setup = names.index("setup") + 1
    cells[:] = [*cells[:setup], *cells[first:], *cells[setup:first]]
    for place in range(len(cells), setup, -3):
        cells.insert(place, nbformat.v4.new_markdown_cell("my notes"))
        cells.insert(place, nbformat.v4.new_code_cell("notes = 1"))
    return written(paper)


def _by_another_tool(exam: Exam) -> bytes:
    """Save as a tool that splits sources into lines, adds metadata and drops cell ids."""
    paper = json.loads(written(_key(exam)))
    for cell in paper["cells"]:
        cell["source"] = "".join(cell["source"]).splitlines(keepends=True)
        cell["metadata"] |= {"id": "x1", "colab": {"base_uri": "https://example.org/"}, "tags": ["hidden"]}
        cell.pop("id", None)
    paper["metadata"] |= {
        "accelerator": "GPU",
        "colab": {"provenance": []},
        "kernelspec": {"name": "conda-nlp"},
    }
    return json.dumps(paper, indent=2).encode()


def _with_mark(exam: Exam) -> bytes:
    """Add a byte order mark."""
    return b"\xef\xbb\xbf" + exam.key


CONTROLS: tuple[Control, ...] = (
    *_in_cells(),
    Control("line ends of Windows", _windows),
    Control("outputs kept in the file", _kept_outputs),
    Control("cells moved and added", _moved),
    Control("saved by another tool", _by_another_tool),
    Control("a byte order mark", _with_mark),
)
"""All controls."""
