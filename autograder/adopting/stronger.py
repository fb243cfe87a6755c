"""Adopted test cells as questions of other kinds, which say more: a proposal in the rubric's own form."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal

from msgspec import Struct

from autograder.adopting.asked import AskedCall, AskedTest, described
from autograder.adopting.key_module import OF_VARIABLE
from autograder.adopting.rubric_text import quoted, written
from autograder.adopting.stated import Unstated, hidden
from autograder.rubric import Item, Question
from autograder.rubric.lines import every_line

HIDDEN = 3
"""Calls with hidden inputs that a proposal has besides those of the test."""
_COMPARE = {
    "numpy": 'compare = { rtol = 1e-5, atol = 1e-6, dtype = "any" }',
    "torch": 'compare = { rtol = 1e-4, atol = 1e-5, dtype = "any" }',  # of single precision
}
ProposedKind = Literal["behaviour", "count", "value"]


class Proposal(Struct, frozen=True):
    """A question in the place of an adopted one."""

    question: str
    kind: ProposedKind
    answer: str
    text: str
    """Its table, as TOML."""
    more: str
    """What it says that the tests do not: a sentence."""


def proposal(
    question: Question, tests: Sequence[AskedTest], siblings: Sequence[AskedTest], *, module: str, cell: str
) -> Proposal:
    """The question that asks the same and more.

    Args:
        question: adopted, with one test for each of its items.
        tests: what each asks, in the order of the items.
        siblings: what other tests ask, for calls that succeed where this one has only those that must not.
        module: of the reference, made of the answer key.
        cell: grade_id of the cell that holds the answer.

    Raises:
        Unstated: there is none, and why.
    """
    reason = next((one.reason for one in tests if one.reason), "")
    if reason:
        raise Unstated(reason)
    answers = dict.fromkeys(one.answer for one in tests)
    if len(answers) > 1:
        raise Unstated(f"it is about several answers: {', '.join(answers)}")
    if question.options.get("all_or_nothing"):
        raise Unstated("its points are given for all tests together; items of other kinds have their own")
    answer = tests[0].answer
    if tests[0].hashed:
        return _hashed(question, tests, module, cell)
    known = [call for one in (*tests, *siblings) if one.answer == answer for call in one.calls]
    good = [call for call in known if not call.raises]
    if not good:
        raise Unstated("nothing but exceptions is expected of it; a question needs a call that succeeds")
    refuses = any(call.raises for one in tests for call in one.calls)
    counts = all(one.counts for one in tests) and not refuses
    kind: ProposedKind = "count" if counts else "behaviour"
    parts = [part for item, one in zip(question.items, tests, strict=True) for part in _parts(item, one)]
    looked_at = [call for part in parts for call in part.calls]
    cases = _cases(looked_at, good) if looked_at else {"call 1": (good[0], good[0])}
    library = "torch" if any(one.library == "torch" for one in tests) else "numpy"
    lines = [
        *_head(question, kind, answer, f"{module}:{answer}", cell),
        f'library = "{library}"',
        *(['precision = "float32"'] if library == "torch" else []),
        *([_COMPARE[library]] if kind == "behaviour" else []),
    ]
    for name, (_, call) in cases.items():
        lines += ["", "[[question.case]]", f"name = {quoted(name)}"]
        lines += [f"{key} = {toml(value)}" for key, value in described(call).items()]
    for part in parts:
        names = [name for name, (origin, _) in cases.items() if origin in part.calls]
        lines += ["", *_item(part, names if len(names) < len(cases) else [])]
    drawn = sum(name.startswith("hidden") or _is_drawn(call) for name, (_, call) in cases.items())
    more = f"which call is wrong, and {drawn} calls of {answer} with inputs that nobody has seen"
    if not looked_at:
        more = f"what came in the place of the exception; a call of {answer} that is right may not raise it"
    return Proposal(question.id, kind, answer, "\n".join(lines) + "\n", more)


class _Part(Struct, frozen=True):
    """One item of a proposal."""

    id: str
    item: Item
    points: Decimal
    calls: tuple[AskedCall, ...] = ()
    refused: AskedCall | None = None
    needs: tuple[str, ...] = ()


def _parts(item: Item, test: AskedTest) -> Iterator[_Part]:
    """An item for each condition that points hang on; else one for all calls.

    Exceptions besides are items of no points, without which that one earns nothing: as it was.
    """
    if test.calls[0].worth is not None:
        conditions: dict[int, list[AskedCall]] = {}
        for call in test.calls:
            conditions.setdefault(call.line, []).append(call)
        if sum((calls[0].worth or Decimal(0) for calls in conditions.values()), Decimal(0)) != item.points:
            raise Unstated("its parts do not add up to its points")
        for number, calls in enumerate(conditions.values(), start=1):
            yield _Part(f"{item.id}-{number}", item, calls[0].worth or Decimal(0), tuple(calls))
        return
    refused = [call for call in test.calls if call.raises]
    plain = tuple(call for call in test.calls if not call.raises)
    first = None if plain else refused.pop(0)
    own = [f"{item.id}-refuses-{number}" for number in range(1, len(refused) + 1)]
    yield _Part(item.id, item, item.points, plain, first, tuple(own))
    for name, call in zip(own, refused, strict=True):
        yield _Part(name, item, Decimal(0), refused=call)


def _cases(stated: Sequence[AskedCall], good: Sequence[AskedCall]) -> dict[str, tuple[AskedCall, AskedCall]]:
    """By name, the call of the test that a case comes from, and the call with what is stated or drawn."""
    distinct = [call for at, call in enumerate(stated) if call not in stated[:at]]
    found = {f"call {number}": (call, call) for number, call in enumerate(distinct, start=1)}
    drawn = [(call, _drawn(call, good)) for call in distinct]
    drawn = [(call, one) for call, one in drawn if described(one) != described(call)]
    for number in range(1, HIDDEN + 1) if drawn else ():
        found[f"hidden {number}"] = drawn[-number % len(drawn)]
    return found


def _is_drawn(call: AskedCall) -> bool:
    """Whether the test drew its arguments itself, so that here they are hidden anyhow."""
    return any(isinstance(one, dict) and "draw" in one for one in (*call.args, *call.kwargs.values()))


def _drawn(call: AskedCall, good: Sequence[AskedCall]) -> AskedCall:
    """A call with hidden inputs of the same form."""
    args = tuple(
        hidden(value, [one.args[at] for one in good if len(one.args) > at])
        for at, value in enumerate(call.args)
    )
    kwargs = {
        key: hidden(value, [one.kwargs[key] for one in good if key in one.kwargs])
        for key, value in call.kwargs.items()
    }
    return AskedCall(args, kwargs)


def _hashed(question: Question, tests: Sequence[AskedTest], module: str, cell: str) -> Proposal:
    """A variable compared itself, and not by its hash."""
    if not all(one.hashed for one in tests):
        raise Unstated("it is about a variable's hash and about calls")
    answer = tests[0].answer
    decimals = [one.decimals for one in tests if one.decimals is not None]
    absolute = 0.5 * 10.0 ** -max(decimals) if decimals else 1e-8
    lines = [
        *_head(question, "value", answer, f"{module}:{OF_VARIABLE}{answer}", cell),
        f'library = "numpy"\ncompare = {{ rtol = 1e-6, atol = {absolute:g}, dtype = "any" }}',
    ]
    for item in question.items:
        lines += ["", *_item(_Part(item.id, item, item.points), [])]
    more = f"how the value of {answer} differs, which a hash cannot tell; near values count"
    return Proposal(question.id, "value", answer, "\n".join(lines) + "\n", more)


def _head(question: Question, kind: str, answer: str, reference: str, cell: str) -> Iterator[str]:
    yield f"[[question]]\nid = {quoted(question.id)}\nkind = {quoted(kind)}"
    yield f"points = {written(question.points)}"
    for key, value in (("title", question.title), ("task", question.task), ("notebook", question.notebook)):
        if value:
            yield f"{key} = {toml(value)}"
    if question.bonus:
        yield "bonus = true"
    yield f"answer_cell = {quoted(cell)}\nanswer = {quoted(answer)}\nreference = {quoted(reference)}"


def _item(part: _Part, cases: Sequence[str]) -> Iterator[str]:
    item = part.item
    yield f"[[question.item]]\nid = {quoted(part.id)}\npoints = {written(part.points)}"
    yield f"text = {toml(item.text)}"
    if item.cell:
        yield f"cell = {quoted(item.cell)}"
    if part.needs or item.needs:
        yield f"needs = {toml([*item.needs, *part.needs])}"
    if cases:
        yield f"cases = {toml(list(cases))}"
    if part.refused is not None:
        yield f'property = "raises"\nraises = {toml(list(part.refused.raises))}'
        yield from (f"{key} = {toml(value)}" for key, value in described(part.refused).items())


def toml(value: Any) -> str:
    """A plain value on one line."""
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{quoted(str(key))} = {toml(one)}' for key, one in value.items())} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, Decimal):
        return written(value)
    return json.dumps(value)


def with_proposals(text: str, proposals: Mapping[str, str]) -> str:
    """A rubric's text with other tables in the place of questions.

    Args:
        text: of the rubric, which is valid.
        proposals: the tables, by question id.
    """
    names = [str(one["id"]) for one in tomllib.loads(text)["question"]]
    places, lines = every_line(text), re.split(r"(?<=\n)", text)
    starts = [places["question", number] - 1 for number in range(len(names))]
    changed = "".join(lines[: starts[0]])
    for name, start, end in zip(names, starts, [*starts[1:], len(lines)], strict=True):
        changed += f"{proposals[name].rstrip()}\n\n" if name in proposals else "".join(lines[start:end])
    return changed
