"""What is imported before boxes are forked: what a rubric names, and what torch itself imports late.

Half of the time that torch takes to be imported goes into a package that it imports when an optimizer is used
for the first time. Where an assignment has none, nobody waits for it.
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from autograder.paths import files_below

LATE = "torch._dynamo"
"""Imported where torch is by then: what a library that is not known needs is not known either."""
_PLAIN = frozenset({"IPython", "matplotlib", "numpy", "pandas", "scipy", "sklearn", "torch"})
"""Packages that do not import it by themselves, when they are imported or later."""
_TEXTS = (".ipynb", ".py", ".toml")
_WORDS = (
    *("optim", "checkpoint", "compile", "dynamo", "functorch", "func", "flex_attention", "torch.export"),
    *("custom_op", "torch.cond", "profiler", "determinis", "flop_counter", "fake_tensor", "meta"),
)
"""One of them stands wherever `_USES` finds something: most texts are not searched."""
_USES = re.compile(
    r"\boptim\b|checkpoint|torch\.compile|import compile|(?<!\bre)\.compile\(|dynamo|functorch"
    r"|\bfunc import|import func\b|torch\.func\b|flex_attention"
    r"|torch\.export|custom_op|torch\.cond|profiler|determinis|flop_counter|fake_tensor|[\"'\\]meta[\"'\\]"
)
"""What of torch imports it, as it stands in a program: tried by tests one after the other."""


def preloaded(named: tuple[str, ...], places: Iterable[Path]) -> tuple[str, ...]:
    """The modules to import for an assignment, in order.

    Args:
        named: by the rubric.
        places: files and folders with all that staff have written for the assignment.
    """
    if LATE not in named and not _tops(named) <= _PLAIN | sys.stdlib_module_names:
        return (*named, LATE)
    return preloaded_for(named, _texts(places))


def preloaded_for(modules: tuple[str, ...], texts: Iterable[str]) -> tuple[str, ...]:
    """The same for one submission, whose code may use what the assignment does not.

    A call has no time to import it, and what torch does late must cost no student a point.

    Args:
        modules: for the assignment.
        texts: of the submission's cells and modules.
    """
    if LATE in modules or "torch" not in _tops(modules) or not any(map(_uses_late, texts)):
        return modules
    return (*modules, LATE)


def _tops(modules: tuple[str, ...]) -> set[str]:
    return {name.partition(".")[0] for name in modules}


def _texts(places: Iterable[Path]) -> Iterator[str]:
    for place in places:
        files = files_below(place) if place.is_dir() else [("", place)]
        for _, path in files:
            if path.suffix in _TEXTS and path.is_file():
                with contextlib.suppress(OSError):  # whoever needs the file says that it cannot be read
                    yield path.read_text(encoding="utf-8", errors="replace")


def _uses_late(text: str) -> bool:
    return any(word in text for word in _WORDS) and _USES.search(text) is not None
