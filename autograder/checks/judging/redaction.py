"""What pages do not repeat of what a box said, where the student's code was called with hidden inputs.

Code that is called sees what it is called with, and could write it into the text of an exception, or into the
name of a class, for the next attempt. So of such words a page repeats those of closed vocabularies, and those
that stand in the notebook anyway. Staff reads everything.
"""

from __future__ import annotations

import builtins
import functools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec.structs import replace

from autograder.messages import localised
from autograder.records import Ending, ItemResult, Message, Scenario

MOST_OWN = 3
"""Words of the notebook that one phrase repeats: which ones they are tells something as well."""
MOST_DIGITS = 4
MOST_NUMBERS = 6
_WORD = re.compile(r"[^\W\d]\w*")
_NUMBER = re.compile(r"\d+")
_EXCEPTIONS = frozenset(
    name for name, one in vars(builtins).items() if isinstance(one, type) and issubclass(one, BaseException)
)
_TYPES = """
None True False NoneType bool int float complex str bytes list tuple dict set frozenset function method type
object module range generator map filter zip slice builtin_function_or_method partial Tensor Parameter Size
ndarray Sequential ModuleList ModuleDict Linear Embedding Dropout LayerNorm Fraction Decimal float16 float32
float64 bfloat16 int8 int16 int32 int64 uint8 complex64 complex128 cpu meta weight bias in_proj_weight
in_proj_bias running_mean running_var num_batches_tracked ReplyTooLarge e inf nan _ArrayMemoryError
OutOfMemoryError UFuncTypeError AxisError LinAlgError JSONDecodeError UnpicklingError Empty Full
"""
_KNOWN = _EXCEPTIONS | frozenset(_TYPES.split()) | {word for one in Ending for word in one.value.split("-")}
_NAMED: Mapping[str, str] = {
    "error": "phrase.exception",
    "text": "phrase.left-out",
    "form": "phrase.other-class",
    "got": "phrase.something-else",
    "came": "phrase.something-else",
    "entries": "…",
    "names": "…",
    "place": "…",
    "value": "…",
    "first": "…",
    "second": "…",
    "shape": "(…)",
}
"""Placeholders that hold words of the box, and what stands there instead: a sign, or a phrase by its code."""
_WITHOUT_TEXT = {"raised": "raised.withheld"}
"""Sentences that end in such words, and the same without."""


def has_hidden_inputs(plan: Sequence[Scenario]) -> bool:
    """Whether a box was given anything that could be repeated."""
    return any(call.args or call.kwargs for one in plan for call in one.calls)


def redacted(results: Iterable[ItemResult], sources: Sequence[str]) -> tuple[ItemResult, ...]:
    """The results, with sentences for students that repeat nothing which only the box could know.

    Args:
        results: of one question.
        sources: of the student's cells.
    """

    @functools.cache
    def own() -> frozenset[str]:
        """Most sentences hold nothing of the box, and nothing is looked for."""
        return frozenset(word for source in sources for word in _WORD.findall(source))

    return tuple(replace(one, student=_message(one.student, own, sources)) for one in results)


def _message(message: Message, own: Callable[[], frozenset[str]], sources: Sequence[str]) -> Message:
    code, params = message.code, dict(message.params)
    for name in params.keys() & _NAMED.keys():
        phrase = params[name]
        if name == "names" and not message.code.startswith("weights."):
            continue  # the rubric's own
        stands = name == "text" and any(str(phrase) in source for source in sources)
        if isinstance(phrase, str) and not stands and (name == "text" or not _harmless(phrase, own())):
            instead = _NAMED[name]
            params[name] = localised(instead) if instead.startswith("phrase.") else instead
            code = _WITHOUT_TEXT.get(code, code) if name == "text" else code
    return message if params == dict(message.params) else replace(message, code=code, params=params)


def _harmless(phrase: str, own: frozenset[str]) -> bool:
    """Whether a phrase is made of known words, few of the notebook's, and short numbers."""
    words = [word for word in _WORD.findall(phrase) if word not in _KNOWN]
    numbers = _NUMBER.findall(phrase)
    return (
        len(words) <= MOST_OWN
        and own.issuperset(words)
        and len(numbers) <= MOST_NUMBERS
        and all(len(number) <= MOST_DIGITS for number in numbers)
    )
