"""Answers that call functions of earlier answers: judged with the right results of those that are wrong.

A mistake in one function would otherwise cost points again in every function that calls it. Results only
become better by it: an item that fails with the student's own functions is judged once more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from autograder.checks.base import Observations
from autograder.checks.judging.results import Finding, result
from autograder.checks.options import place
from autograder.errors import RubricError
from autograder.messages import sentence
from autograder.records import Call, ItemResult, Message, Opaque, Ref, Scenario, Status, Tensor
from autograder.rubric import Item, Question, Rubric
from autograder.tables import hint

STAND_IN = "@stand-in"
"""The target of calls by which plans reach what stands in for functions in a box."""
RIGHT, PARTLY, NAMED = "carried.right", "carried.partly", "carried.named"
CODES = frozenset((RIGHT, PARTLY, NAMED))
COMPARED = frozenset(("count", "shape", "value"))
"""Kinds whose answers are functions where they have cases, and values otherwise."""
_LOST = (Status.FAILED, Status.NO_ANSWER)
_KEY = re.compile(r"[0-9a-f]{64}")
_DTYPE = re.compile(r"bool|u?int\d{1,2}|b?float\d{1,2}|complex\d{2,3}")
_NAME = re.compile(r"[^\W\d]\w*")


class ArgumentsSeen(Struct, frozen=True, eq=False):
    """A call of an earlier function whose result was not known: the student's word, as plain data."""

    name: str
    """Of the function."""
    key: str
    """The box's name for these arguments."""
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]


class KnownResult(Struct, frozen=True, eq=False):
    """What the reference made of such arguments."""

    value: Any = None
    raised: bool = False
    """An exception, of which nothing else is told."""


Known = Mapping[tuple[str, str], KnownResult]
"""By the function's name and the key of the arguments."""


def standing_in(
    plan: Sequence[Scenario], names: Sequence[str], known: Known, *, own: bool = True
) -> tuple[Scenario, ...]:
    """A plan in a box apart, in which known results stand in for functions; two scenarios for each of it.

    The first has one call more, at its beginning; the other asks which results were not known.

    Args:
        plan: what is asked.
        names: of the functions.
        known: their results.
        own: whether the student's own functions answer what is not known; one may end its box.
    """
    tables = {
        name: [[key, one.raised, one.value] for (of, key), one in known.items() if of == name]
        for name in names
    }
    put = Call(STAND_IN, attribute="put", args=(tables,), kwargs={"own": own})
    unknown = Call(STAND_IN, attribute="unknown")
    return tuple(
        scenario
        for one in plan
        for scenario in (
            Scenario(
                f"{one.name}: carried forward",
                (put, *one.calls),
                alone="carried",
                serves=one.serves,
                ours=True,
            ),
            Scenario(
                f"{one.name}: calls of others", (unknown,), alone="carried", serves=one.serves, ours=True
            ),
        )
    )


def answers_apart(observed: Sequence[Observations]) -> tuple[Observations, ...]:
    """What `standing_in` was answered, as the plan itself would have been."""
    return tuple(one[1:] for one in observed[::2])


def seen(observed: Sequence[Observations], names: Sequence[str]) -> Iterator[ArgumentsSeen]:
    """The calls whose results were not known, as far as they can be made of the reference.

    Arguments are numbers, arrays, texts and nests of them. A text with a slash could name a file that only
    the reference's box has.
    """
    for one in observed[1::2]:
        told = one[0].value if one and one[0].ok else ()
        for entry in told if isinstance(told, list | tuple) else ():
            if not (isinstance(entry, list | tuple) and len(entry) == 4):
                continue
            name, key, args, kwargs = entry
            if name not in names or not (isinstance(key, str) and _KEY.fullmatch(key)):
                continue
            fits = isinstance(args, list | tuple) and isinstance(kwargs, Mapping)
            if fits and _is_plain(args) and _is_plain(kwargs) and all(_is_name(word) for word in kwargs):
                yield ArgumentsSeen(name, key, tuple(args), dict(kwargs))


def without_gradients(value: Any) -> Any:
    """The same numbers, of which no gradient is wanted."""
    if isinstance(value, Tensor):
        return msgspec.structs.replace(value, requires_grad=False)
    if isinstance(value, list | tuple):
        return type(value)(without_gradients(part) for part in value)
    if isinstance(value, Mapping):
        return {name: without_gradients(part) for name, part in value.items()}
    return value


def is_data(value: Any) -> bool:
    """Whether a value has a plain form that can be put into another box."""
    if isinstance(value, Opaque | Ref):
        return False
    if isinstance(value, Tensor):
        return bool(_DTYPE.fullmatch(value.dtype))
    if isinstance(value, Mapping):
        return all(is_data(part) for pair in value.items() for part in pair)
    return not isinstance(value, list | tuple) or all(map(is_data, value))


def _is_plain(value: Any) -> bool:
    return is_data(value) and not any("/" in text for text in _texts(value))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for pair in value.items():
            yield from _texts(pair)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _texts(part)


def _is_name(word: Any) -> bool:
    return isinstance(word, str) and bool(_NAME.fullmatch(word))


def is_code(question: Question) -> bool:
    """Whether the answer is a function or class, and the reference has the same one."""
    called = question.kind in COMPARED and "case" in question.options
    return bool(called and question.answer and question.reference)


def questions_before(question: Question, rubric: Rubric, named: Sequence[str]) -> tuple[str, ...]:
    """The questions of a ``carry_forward``, in the rubric's order.

    Raises:
        RubricError: one of them has no function that results could stand in for.
    """
    if not named:
        return ()
    where, key, ids = place(question), "carry_forward", [one.id for one in rubric.questions]
    before = rubric.questions[: ids.index(question.id)]
    here = {one.id: one for one in before if one.notebook == question.notebook}
    for name in named:
        if name not in here:
            text = f"{name!r} is no question before this one in its notebook; {hint(name, here)}"
            raise RubricError(text, where, key)
        if not is_code(here[name]):
            text = f"{name!r}: expected a question with cases, of kind count, shape or value, and a reference"
            raise RubricError(text, where, key)
    return tuple(name for name in here if name in named)


def wrong_before(
    rubric: Rubric, carries: Sequence[str], earlier: Mapping[str, ItemResult]
) -> tuple[Question, ...]:
    """Those of the questions whose functions are wrong."""
    return tuple(one for one in map(rubric.question, carries) if lost_points(one, earlier))


def lost_points(question: Question, earlier: Mapping[str, ItemResult]) -> bool:
    """Whether a function is wrong: an automatic item of its question failed, or was right only by others."""
    results = [earlier.get(f"{question.id}.{item.id}") for item in question.items if not item.manual]
    return any(one is not None and (one.status in _LOST or one.code in CODES) for one in results)


def gains(results: Iterable[ItemResult]) -> bool:
    """Whether an answer could be worth more with right functions of others; what is forbidden stays so."""
    return any(one.status in _LOST and not one.code.startswith("forbidden.") for one in results)


def better(
    question: Question, item: Item, own: Finding | None, again: Finding | None, names: str
) -> Finding | ItemResult | None:
    """What is said of an item: with the student's own functions, or better with right results of some.

    Args:
        question: that is judged.
        item: of it.
        own: the finding with all of the student's own functions.
        again: the finding with others in the place of some.
        names: of these.
    """
    if own is None or own.status not in _LOST:
        return own
    if again is None:
        said = Message(RIGHT, {"names": names})
        staff = f"as expected with the reference's {names}; with the student's own: {own.staff or own.code}"
        return msgspec.structs.replace(result(question, item, None), student=said, staff=staff, code=RIGHT)
    named = bool(again.message.text)
    if again.status is not Status.FAILED or (again.points, named) <= (own.points, bool(own.message.text)):
        return own
    staff = f"with the reference's {names}: {again.staff or again.code}"
    message = Message(PARTLY, {"names": names})
    if named:
        text = {
            language: f"{sentence(NAMED, language, names=names)} {words}"
            for language, words in again.message.text.items()
        }
        message = msgspec.structs.replace(again.message, text=text)
    return msgspec.structs.replace(again, message=message, staff=staff)
