"""The reference of rubrics: a page for each kind, copied from the folder of the kind, and the list of kinds.

``python -m autograder.authoring.pages docs`` writes them; a test fails if they are stale.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from autograder.core import atomic
from autograder.questions import load_kinds
from autograder.questions.base.kind import Kind

OVERVIEW = "rubric.md"
BEGIN, END = "<!-- kinds: made by make docs -->", "<!-- kinds end here -->"
"""Lines of the overview that enclose the generated list of kinds."""


def render_pages(overview: str) -> Mapping[str, str]:
    """Return every page by its path below the folder of the documentation.

    Args:
        overview: the current page about rubrics.
    """
    pages_by_kind = {name: _read_kind_pages(kind) for name, kind in load_kinds().items()}
    before, _, from_list = overview.partition(f"{BEGIN}\n")
    _, _, after = from_list.partition(f"{END}\n")
    rows = [_format_row(name, kind_pages[f"{name}.md"]) for name, kind_pages in pages_by_kind.items()]
    table = "\n".join(["| kind | |", "|---|---|", *rows])
    listed = {OVERVIEW: f"{before}{BEGIN}\n{table}\n{END}\n{after}"}
    return listed | {
        f"kinds/{path}": text for kind_pages in pages_by_kind.values() for path, text in kind_pages.items()
    }


def _read_kind_pages(kind: Kind) -> dict[str, str]:
    """Return the kind's pages by name: ``reference.md``, and its continuations ``reference-….md``."""
    sections = sorted(kind.folder.glob("reference*.md"), key=lambda path: path.stem)
    return {
        f"{kind.name}{path.stem.removeprefix('reference')}.md": path.read_text("utf-8") for path in sections
    }


def _format_row(name: str, section: str) -> str:
    """Format a row of the list from a heading such as ``# `shape`: sizes, axis by axis``."""
    heading = section.partition("\n")[0].removeprefix(f"# `{name}`: ")
    return f"| [`{name}`](kinds/{name}.md) | {heading} |"


def run_command(words: Sequence[str]) -> int:
    """Write the pages into a folder and return the exit code."""
    if len(words) != 1:
        sys.stderr.write("usage: python -m autograder.authoring.pages docs\n")
        return 2
    folder = Path(words[0])
    (folder / "kinds").mkdir(exist_ok=True)
    for path, text in render_pages((folder / OVERVIEW).read_text("utf-8")).items():
        atomic.write_bytes(folder / path, text.encode())
    return 0


if __name__ == "__main__":
    sys.exit(run_command(sys.argv[1:]))
