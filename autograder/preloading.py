"""What is imported before boxes are forked: what a rubric names, and what torch itself imports late.

Half of the time that torch takes to be imported goes into a package that it imports when an optimizer is used
for the first time. Where an assignment has none, nobody waits for it.
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from autograder.paths import files_below

LATE = "torch._dynamo"
"""Imported where torch is by then: what a library that is not known needs is not known either."""
_PLAIN = frozenset({"IPython", "matplotlib", "numpy", "pandas", "scipy", "sklearn", "torch"})
"""Packages that do not import it by themselves, when they are imported or later."""
_TEXTS = (".ipynb", ".py", ".toml")
_USES = re.compile(
    rb"\boptim\b|checkpoint|torch\.compile|import compile|(?<!\bre)\.compile\(|dynamo|functorch"
    rb"|\bfunc import|import func\b|torch\.func\b|flex_attention"
    rb"|torch\.export|custom_op|torch\.cond|profiler|determinis|flop_counter|fake_tensor|[\"'\\]meta[\"'\\]"
)
"""What of torch imports it, as it stands in a program: tried by tests one after the other."""


def preloaded(named: tuple[str, ...], places: Iterable[Path]) -> tuple[str, ...]:
    """The modules to import, in order. Code that needs the late one all the same imports it in its own box.

    Args:
        named: by the rubric.
        places: files and folders with all that staff have written for the assignment.
    """
    tops = {name.partition(".")[0] for name in named}
    plain = tops <= _PLAIN | sys.stdlib_module_names
    if LATE in named or (plain and "torch" not in tops):
        return named
    return named if plain and not any(map(_uses_late, places)) else (*named, LATE)


def _uses_late(place: Path) -> bool:
    files = files_below(place) if place.is_dir() else [("", place)]
    texts = [path for _, path in files if path.suffix in _TEXTS and path.is_file()]
    for path in texts:
        with contextlib.suppress(OSError):  # whoever needs the file says that it cannot be read
            if _USES.search(path.read_bytes()):
                return True
    return False
