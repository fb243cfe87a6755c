"""Withhold words of a sandbox from pages if the student's code was called with hidden inputs.

Code that is called sees its inputs, and could write them into the text of an exception or the name of a
class, for the next attempt. A page therefore repeats only words of closed vocabularies, and words that occur
in the notebook anyway. Staff see everything.
"""

from __future__ import annotations

import builtins
import functools
import re
from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from autograder.core.records import ItemResult, Message
from autograder.messages import build_localised_text

MOST_OWN = 3
"""Words of the notebook that one phrase may repeat: the choice of words carries information as well."""
MOST_DIGITS = 4
MOST_NUMBERS = 6
_WORD = re.compile(r"[^\W\d]\w*")
_NUMBER = re.compile(r"\d+")
_EXCEPTIONS = frozenset(
    name
    for name, kind in vars(builtins).items()
    if isinstance(kind, type) and issubclass(kind, BaseException)
)
_LIBRARIES = """
ReplyTooLarge _ArrayMemoryError OutOfMemoryError UFuncTypeError AxisError LinAlgError JSONDecodeError
UnpicklingError Empty Full
"""
_KNOWN = _EXCEPTIONS | frozenset(_LIBRARIES.split())


def redact_results(results: Iterable[ItemResult], sources: Sequence[str]) -> tuple[ItemResult, ...]:
    """Return the results with sentences for students that repeat nothing that only the sandbox could know.

    Args:
        results: of one question.
        sources: of the student's cells.
    """

    @functools.cache
    def collect_own_words() -> frozenset[str]:
        """Return the words of the notebook; most sentences contain none, so collect them lazily."""
        return frozenset(word for source in sources for word in _WORD.findall(source))

    return tuple(
        replace(result, student=_redact_message(result.student, collect_own_words, sources))
        for result in results
    )


def _redact_message(
    message: Message, collect_words: Callable[[], frozenset[str]], sources: Sequence[str]
) -> Message:
    if message.code != "raised":
        return message
    code, params = message.code, dict(message.params)
    text, error = str(params["text"]), str(params["error"])
    if not any(text in source for source in sources):
        code = "raised.withheld"
        del params["text"]
    if not _is_harmless(error, collect_words()):
        params["error"] = build_localised_text("phrase.exception")
    return replace(message, code=code, params=params)


def _is_harmless(phrase: str, own_words: frozenset[str]) -> bool:
    """Return whether a phrase consists of known words, a few words of the notebook, and short numbers."""
    # A hidden input could be encoded in many words or digits, so the number and length of both are bounded.
    words = [word for word in _WORD.findall(phrase) if word not in _KNOWN]
    numbers = _NUMBER.findall(phrase)
    return (
        len(words) <= MOST_OWN
        and own_words.issuperset(words)
        and len(numbers) <= MOST_NUMBERS
        and all(len(number) <= MOST_DIGITS for number in numbers)
    )
