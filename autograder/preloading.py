"""What is imported before boxes are forked: what a rubric names, and what torch itself imports late.

Half of the time that torch takes to be imported goes into packages that it imports when an optimizer is used
for the first time, or a gradient is given to it. Where an assignment has none, nobody waits for them.
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from autograder.paths import files_below

SYMBOLIC = "torch.fx.experimental.symbolic_shapes"
"""A third of it, sympy above all."""
COMPARING = "torch.distributed.tensor"
"""Half of it, what is in `SYMBOLIC` too; ``torch.testing`` imports it at its first comparison."""
LATE = "torch._dynamo"
"""All of it. Imported where torch is by then: what a library that is not known needs is not known either."""
_PARTS = (SYMBOLIC, COMPARING, LATE)
"""Each has what is in those before it."""
_PLAIN = frozenset({"IPython", "matplotlib", "numpy", "pandas", "scipy", "sklearn", "torch"})
"""Packages that do not import it by themselves, when they are imported or later."""
_TEXTS = (".ipynb", ".py", ".toml")
_WORDS = {
    SYMBOLIC: (
        *("backward(", "autograd", "vjp", "jvp", "vhp", "hvp", "npool", "broadcast_shapes", "key_padding"),
        *("gradcheck", "vectorize", "MultivariateNormal", "Wishart", "Gumbel", "Pareto", "Weibull"),
        *("Kumaraswamy", "InverseGamma"),
    ),
    COMPARING: ("assert_close", "assert_allclose", "jit"),
    LATE: (
        *("optim", "checkpoint", "compile", "dynamo", "functorch", "func", "flex_attention", "torch.export"),
        *("custom_op", "torch.cond", "profiler", "determinis", "flop_counter", "fake_tensor", "meta"),
        "forward_ad",
    ),
}
"""One of them stands wherever `_USES` finds something: most texts are not searched."""
_USES = {
    SYMBOLIC: re.compile(
        r"\.backward\((?!\s*(retain_graph|\)))|autograd\.(grad|backward)\b"
        r"|autograd import [^\n;]*\b(grad|backward)\b|\b(vjp|jvp|vhp|hvp)\b|[Uu]npool|broadcast_shapes"
        r"|key_padding|gradcheck|vectorize *=|MultivariateNormal|Wishart|Gumbel\("
        r"|Pareto|Weibull|Kumaraswamy|InverseGamma"
    ),
    COMPARING: re.compile(
        r"assert_close|torch\.testing(\.| import [^\n;]*)assert_allclose"
        r"|\bjit\.trace|\bjit import [^\n;]*trace"
    ),
    LATE: re.compile(
        r"\boptim\b|checkpoint|torch\.compile|import compile|(?<!\bre)\.compile\(|dynamo|functorch"
        r"|\bfunc import|import func\b|torch\.func\b|flex_attention"
        r"|torch\.export|forward_ad|custom_op|torch\.cond|profiler|determinis|flop_counter|fake_tensor|[\"'\\]meta[\"'\\]"
    ),
}
"""What of torch imports it, as it stands in a program: tried by tests one after the other."""


def preloaded(named: tuple[str, ...], places: Iterable[Path]) -> tuple[str, ...]:
    """The modules to import for an assignment, in order.

    Args:
        named: by the rubric.
        places: files and folders with all that staff have written for the assignment.
    """
    if LATE not in named and not _tops(named) <= _PLAIN | sys.stdlib_module_names:
        return (*named, LATE)
    texts = tuple(_texts(places))
    late = next((one for one in reversed(_PARTS) if _lacks(one, named, texts)), None)
    return (*named, late) if late else named


def preloaded_for(modules: tuple[str, ...], texts: Iterable[str]) -> tuple[str, ...]:
    """The same for one submission, whose code may use what the assignment does not.

    A call has no time to import it, and what torch does late must cost no student a point. All of it is
    imported: one more fork server serves them all.

    Args:
        modules: for the assignment.
        texts: of the submission's cells and modules.
    """
    texts = tuple(texts)
    return (*modules, LATE) if any(_lacks(one, modules, texts) for one in _PARTS) else modules


def _lacks(late: str, modules: tuple[str, ...], texts: tuple[str, ...]) -> bool:
    """Whether the texts use what is imported late, and it is not among the modules."""
    if not {*_PARTS[_PARTS.index(late) :]}.isdisjoint(modules) or "torch" not in _tops(modules):
        return False
    return any(any(word in text for word in _WORDS[late]) and _USES[late].search(text) for text in texts)


def _tops(modules: tuple[str, ...]) -> set[str]:
    return {name.partition(".")[0] for name in modules}


def _texts(places: Iterable[Path]) -> Iterator[str]:
    for place in places:
        files = files_below(place) if place.is_dir() else [("", place)]
        for _, path in files:
            if path.suffix in _TEXTS and path.is_file():
                with contextlib.suppress(OSError):  # whoever needs the file says that it cannot be read
                    yield path.read_text(encoding="utf-8", errors="replace")
