"""The generated parts of the documentation: a page for each kind, copied from its folder, and tables.

``python -m autograder.authoring.doc_pages docs`` writes them; a test fails if they are stale.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from autograder.authoring import formula_tables
from autograder.core import atomic
from autograder.questions import load_kinds
from autograder.questions.base.kind import Kind

OVERVIEW, FORMULAS = "rubric.md", "formulas.md"


def render_pages(docs: Path) -> Mapping[str, str]:
    """Return every page with generated content by its path below the folder of the documentation.

    Args:
        docs: the folder, with the current pages about rubrics and formulas.
    """
    pages_by_kind = {name: _read_kind_pages(kind) for name, kind in load_kinds().items()}
    rows = [_format_row(name, kind_pages[f"{name}.md"]) for name, kind_pages in pages_by_kind.items()]
    overview, formulas = ((docs / name).read_text("utf-8") for name in (OVERVIEW, FORMULAS))
    pages = {
        OVERVIEW: replace_sections(overview, {"kinds": "\n".join(["| kind | for |", "|---|---|", *rows])}),
        FORMULAS: replace_sections(formulas, formula_tables.render_sections()),
    }
    return pages | {
        f"kinds/{path}": text for kind_pages in pages_by_kind.values() for path, text in kind_pages.items()
    }


def replace_sections(page: str, sections: Mapping[str, str]) -> str:
    """Return a page with the text between each section's two marking lines replaced."""
    for name, text in sections.items():
        begin, end = f"<!-- {name}: made by make docs -->\n", f"<!-- end of {name} -->\n"
        before, _, from_section = page.partition(begin)
        page = f"{before}{begin}{text}\n{end}{from_section.partition(end)[2]}"
    return page


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
        sys.stderr.write("usage: python -m autograder.authoring.doc_pages docs\n")
        return 2
    folder = Path(words[0])
    (folder / "kinds").mkdir(exist_ok=True)
    for path, text in render_pages(folder).items():
        atomic.write_bytes(folder / path, text.encode())
    return 0


if __name__ == "__main__":
    sys.exit(run_command(sys.argv[1:]))
