"""What pages do not repeat of what a box said, where the student's code was called with hidden inputs.

Code that is called sees what it is called with, and could write it into the text of an exception, or into the
name of a class, for the next attempt. So of such words a page repeats those of closed vocabularies, and those
that stand in the notebook anyway. Staff reads everything.
"""

from __future__ import annotations

import builtins
import functools
import re
from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from autograder.messages import localised
from autograder.records import ItemResult, Message

MOST_OWN = 3
"""Words of the notebook that one phrase repeats: which ones they are tells something as well."""
MOST_DIGITS = 4
MOST_NUMBERS = 6
_WORD = re.compile(r"[^\W\d]\w*")
_NUMBER = re.compile(r"\d+")
_EXCEPTIONS = frozenset(
    name for name, one in vars(builtins).items() if isinstance(one, type) and issubclass(one, BaseException)
)
_LIBRARIES = """
ReplyTooLarge _ArrayMemoryError OutOfMemoryError UFuncTypeError AxisError LinAlgError JSONDecodeError
UnpicklingError Empty Full
"""
_KNOWN = _EXCEPTIONS | frozenset(_LIBRARIES.split())


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
    if message.code != "raised":
        return message
    code, params = message.code, dict(message.params)
    text, error = str(params["text"]), str(params["error"])
    if not any(text in source for source in sources):
        code = "raised.withheld"
        del params["text"]
    if not _harmless(error, own()):
        params["error"] = localised("phrase.exception")
    return replace(message, code=code, params=params)


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
