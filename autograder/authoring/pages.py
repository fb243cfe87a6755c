"""The reference of rubrics: a page for each kind, copied from the folder of the kind, and the list of kinds.

``python -m autograder.authoring.pages docs`` writes them; a test fails if they are stale.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from autograder import atomic
from autograder.checks.kind import Kind
from autograder.kinds import kinds

OVERVIEW = "rubric.md"
BEGIN, END = "<!-- kinds: made by make docs -->", "<!-- kinds end here -->"
"""Lines of the overview that enclose the generated list of kinds."""


def pages(overview: str) -> Mapping[str, str]:
    """Return every page by its path below the folder of the documentation.

    Args:
        overview: the current page about rubrics.
    """
    found = {name: _pages_of(kind) for name, kind in kinds().items()}
    before, _, rest = overview.partition(f"{BEGIN}\n")
    _, _, after = rest.partition(f"{END}\n")
    rows = [_row(name, made[f"{name}.md"]) for name, made in found.items()]
    table = "\n".join(["| kind | |", "|---|---|", *rows])
    listed = {OVERVIEW: f"{before}{BEGIN}\n{table}\n{END}\n{after}"}
    return listed | {f"kinds/{place}": text for made in found.values() for place, text in made.items()}


def _pages_of(kind: Kind) -> dict[str, str]:
    """Return the kind's pages by name: ``reference.md``, and its continuations ``reference-….md``."""
    sections = sorted(kind.folder.glob("reference*.md"), key=lambda path: path.stem)
    return {
        f"{kind.name}{path.stem.removeprefix('reference')}.md": path.read_text("utf-8") for path in sections
    }


def _row(name: str, section: str) -> str:
    """Format a row of the list from a heading such as ``# `shape`: sizes, axis by axis``."""
    heading = section.partition("\n")[0].removeprefix(f"# `{name}`: ")
    return f"| [`{name}`](kinds/{name}.md) | {heading} |"


def main(words: Sequence[str]) -> int:
    """Write the pages into a folder and return the exit code."""
    if len(words) != 1:
        sys.stderr.write("usage: python -m autograder.authoring.pages docs\n")
        return 2
    folder = Path(words[0])
    (folder / "kinds").mkdir(exist_ok=True)
    for place, text in pages((folder / OVERVIEW).read_text("utf-8")).items():
        atomic.write(folder / place, text.encode())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
