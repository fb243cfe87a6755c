"""Planted outputs of every form that is refused: below the key's cell something changes what it gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

from autograder.checks.base import Trial
from autograder.kinds.general.score.options import TENSORS, ScoreQuestion
from autograder.records import Answer
from autograder.rubric import Question

_NUMBERS = """
def _numbers(outputs):
    import numpy

    return numpy.asarray(outputs) if isinstance(outputs, (list, tuple)) else outputs
"""
_CONSTANT = """
_first = []


def _change(outputs):
    _first.append(outputs[:1])
    return _first[0] * len(outputs) if isinstance(outputs, list) else _first[0][[0] * len(outputs)]
"""
_MOVED = """
def _change(outputs):
    moved = [*range(1, len(outputs)), 0]
    return [outputs[row] for row in moved] if isinstance(outputs, list) else outputs[moved]
"""
_NEGATIVE = """
def _change(outputs):
    outputs = _numbers(outputs)
    moved = outputs * 0
    moved[..., 0] += 5
    moved[..., 1] -= 5
    return outputs + moved
"""
_CALLED = """
class _Planted:
    def __init__(self, right):
        self._right = right

    def __getattr__(self, name):
        return getattr(self._right, name)

    def {method}(self, *args):
        return _change(self._right{attribute}(*args))


{name} = _Planted({name})
"""
_REMOVED = """
import os

os.remove({file!r})
"""
_WRITTEN = """
with open({file!r}, "rb") as _file:
    _data = _file.read()
_start = 8 + int.from_bytes(_data[:8], "little")
with open({file!r}, "wb") as _file:
    _file.write({written})
"""
_OF_CHECKPOINTS: Mapping[str, tuple[str, str]] = {
    "cut off": ("safetensors", "_data[: len(_data) // 2]"),
    "not in the format": ("safetensors", '__import__("pickle").dumps([1.0])'),
    "NaN": ("not-finite", '_data[:_start] + b"\\xff" * (len(_data) - _start)'),
}
"""Name → the code that it must have, and the bytes that stand in the file."""


def _simple(expression: str) -> str:
    return f"\ndef _change(outputs):\n    return {expression}\n"


def planted(
    question: Question, items: Sequence[str], options: ScoreQuestion, key: Answer
) -> tuple[Trial, ...]:
    """The answer key's outputs made wrong in every way, each of which earns nothing.

    Args:
        question: of the rubric.
        items: that are measured.
        options: of the question.
        key: the answer key's answer.
    """
    needing = [item.id for item in question.items if set(item.needs) & set(items)]
    lost = tuple(dict.fromkeys((*items, *needing)))
    if options.reads and question.file == options.reads:  # no cell, below which something could change it
        return tuple(
            Trial(name, "", lost, dict.fromkeys(items, Decimal(0)), dict.fromkeys(items, code), files=files)
            for name, code, files in _handed_in(options.reads)
        )
    if key.cell_type != "code":
        return ()
    return tuple(
        Trial(
            name,
            f"{key.source.rstrip()}\n{below}",
            lost,
            points=dict.fromkeys(items, Decimal(0)),
            codes=dict.fromkeys(items, code),
        )
        for name, code, below in _below(question.answer, options)
    )


def _handed_in(file: str) -> Iterator[tuple[str, str, Mapping[str, bytes | None]]]:
    """Of each trial its name, the code that it must have, and what is handed in."""
    yield "no file", "score.no-file", {file: None}
    if file.endswith(TENSORS):
        yield "cut off", "score.safetensors", {file: (64).to_bytes(8, "little") + b"{"}
        yield "not in the format", "score.safetensors", {file: b"\x80\x04]."}
    else:
        yield "no table", "score.file", {file: b"no table"}


def _below(name: str, options: ScoreQuestion) -> Iterator[tuple[str, str, str]]:
    """Of each trial its name, the code that it must have, and what stands below the key's cell."""
    if options.asks == "file":
        yield "no file", "score.no-file", _REMOVED.format(file=options.reads)
        if options.reads.endswith(TENSORS):
            for done, (code, written) in _OF_CHECKPOINTS.items():
                yield done, f"score.{code}", _WRITTEN.format(file=options.reads, written=written)
        else:
            yield "no table", "score.file", _WRITTEN.format(file=options.reads, written='b"no table"')
        return
    if options.asks == "call":
        method = options.method
        attribute = f".{method}" if method else ""
        planting = _CALLED.format(name=name, method=method or "__call__", attribute=attribute)
    else:
        planting = f"\n{name} = _change({name})\n"
    for done, code, change in _changes(options):
        yield done, code, f"{_NUMBERS}{change}{planting}"


def _changes(options: ScoreQuestion) -> Iterator[tuple[str, str, str]]:
    """The same with the function that changes the outputs."""
    yield "nothing", "value.none", _simple("None")
    yield "always the same", "score.constant", _CONSTANT
    yield "one too few", "score.shape", _simple("outputs[:-1]")
    if options.asks == "call" and options.batch > 1:
        yield "of another example of the batch", "score.batch", _MOVED
    if options.gives == "texts":
        yield "numbers", "score.texts", _simple("[0 for _ in outputs]")
        return
    yield "a text", "value.form", _simple("'outputs'")
    yield "NaN", "score.not-finite", _simple("_numbers(outputs) * float('nan')")
    if options.gives == "probabilities":
        yield "half as much again", "score.sum", _simple("_numbers(outputs) * 1.5")
        yield "negative", "score.negative", _NEGATIVE
    elif options.gives == "log-probabilities":
        yield "not normalised", "score.sum", _simple("_numbers(outputs) + 1")
    elif options.gives == "classes":
        yield "between classes", "score.whole", _simple("_numbers(outputs) + 0.5")
        if options.classes:
            yield "no class", "score.class", _simple(f"_numbers(outputs) + {options.classes}")
