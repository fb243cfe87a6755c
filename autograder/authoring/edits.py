"""Changes of a rubric's file that leave all the rest of it as it was written, byte for byte.

A change is written where the value stands (`autograder.rubric.lines.written`). The file is then read again:
it has to say what it said before, but for the change, and to be a valid rubric. The line ``version`` stays:
hidden inputs are drawn for it, and what was asked for has to be the only thing that moves anybody.
"""

from __future__ import annotations

import copy
import json
import math
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from msgspec import Struct

from autograder import rubric as rubrics
from autograder.errors import Key, Place, RubricError
from autograder.kinds import make_check
from autograder.rubric import Question, Rubric
from autograder.rubric.lines import written

Path = tuple[Key, ...]

_MOST_POINTS = Decimal(10_000)
_CENT = Decimal("0.01")
_BYTE_ORDER_MARK = "\ufeff"
_CASES = "behaviour"
"""The kind to which cases can be added."""


class PointsEdit(Struct, frozen=True):
    """What an item is worth from now on; question, task and assignment follow as sums."""

    question: str
    item: str
    points: Decimal


class TextEdit(Struct, frozen=True):
    """How an item, or the title of a question, reads in one language."""

    question: str
    item: str
    """Empty: the question's title."""
    language: str
    text: str


class CaseEdit(Struct, frozen=True):
    """One more call of a ``behaviour`` question; the reference says what is right."""

    question: str
    item: str
    """That the case is for; empty: the first one that is about cases."""
    name: str
    """New among the question's cases; students are shown it."""
    target: str
    """What is called: the question's answer, or a method of it after a dot."""
    args: Sequence[Any] = ()
    kwargs: Mapping[str, Any] = {}


Edit = PointsEdit | TextEdit | CaseEdit


def edited(data: bytes, edits: Iterable[Edit]) -> bytes:
    """A rubric's file with changes.

    Args:
        data: the file, a valid rubric.
        edits: in order.

    Raises:
        RubricError: something that is to be changed is not there, or the changed rubric is not valid; says
            where and why.
    """
    edits = list(edits)
    before = rubrics.parse(data)
    text = data.decode("utf-8")
    mark, text = text[: text.startswith(_BYTE_ORDER_MARK)], text.removeprefix(_BYTE_ORDER_MARK)
    for edit in edits:
        if isinstance(edit, PointsEdit):
            text = _with_points(text, edit)
        elif isinstance(edit, TextEdit):
            text = _with_text(text, edit, before)
        else:
            text = _with_case(text, edit, before)
    if any(isinstance(edit, PointsEdit) for edit in edits):
        text = _with_sums(text)
    try:
        changed = (mark + text).encode("utf-8")
    except UnicodeEncodeError as error:
        raise RubricError("a text has half a character (a lone surrogate); write it again") from error
    after = rubrics.parse(changed)
    for name in {edit.question for edit in edits}:
        make_check(after.question(name), after)
    return changed


# ---------------------------------------------------------------- what is changed


def _with_points(text: str, edit: PointsEdit) -> str:
    place = Place(f"question {edit.question!r}, item {edit.item!r}")
    points = edit.points
    if not (points.is_finite() and abs(points) <= _MOST_POINTS and points == points.quantize(_CENT)):
        raise RubricError(
            f"expected a number with at most two decimals up to {_MOST_POINTS}, got {points}", place, "points"
        )
    return _set(text, (*_item(text, edit.question, edit.item), "points"), points)


def _with_sums(text: str) -> str:
    """The points of questions, tasks and the assignment as their parts add up to."""
    tree = _read(text)
    sums: dict[Path, Decimal] = {("assignment", "points"): Decimal(0)}
    tasks = {task["id"]: number for number, task in enumerate(tree["assignment"].get("task", ()))}
    sums |= {("assignment", "task", number, "points"): Decimal(0) for number in tasks.values()}
    for number, question in enumerate(tree["question"]):
        worth = sum((max(Decimal(item["points"]), Decimal(0)) for item in question["item"]), Decimal(0))
        sums["question", number, "points"] = worth
        if not question.get("bonus", False):
            sums["assignment", "points"] += worth
            if question.get("task") in tasks:
                sums["assignment", "task", tasks[question["task"]], "points"] += worth
    for path, points in sums.items():
        if Decimal(_at(tree, path)) != points:
            text = _set(text, path, points)
    return text


def _with_text(text: str, edit: TextEdit, rubric: Rubric) -> str:
    place = Place(f"question {edit.question!r}" + (f", item {edit.item!r}" if edit.item else ""))
    if edit.language not in rubric.assignment.languages:
        raise RubricError(
            f"expected one of {', '.join(rubric.assignment.languages)}, got {edit.language!r}", place, "text"
        )
    where = _item(text, edit.question, edit.item) if edit.item else _question(text, edit.question)
    key = "text" if edit.item else "title"
    table = (*where, key)
    there = _at(_read(text), where).get(key)
    if not there:
        whole = {edit.language: edit.text}
        return _set(text, table, whole) if there == {} else _add(text, (*where, "id"), key, whole)
    if edit.language in there:
        return _set(text, (*table, edit.language), edit.text)
    last = list(there)[-1]
    return _add(text, (*table, last), edit.language, edit.text)


def _with_case(text: str, edit: CaseEdit, rubric: Rubric) -> str:
    question = _question(text, edit.question)
    place = Place(f"question {edit.question!r}")
    table = _at(_read(text), question)
    if table.get("kind") != _CASES:
        raise RubricError(
            f"only a question of the kind {_CASES!r} takes cases, got {table.get('kind')!r}", place
        )
    stated = rubric.question(edit.question)
    item = edit.item or _about_cases(stated, place)
    answer, _, method = edit.target.partition(".")
    if answer != stated.answer:
        raise RubricError(f"expected a call of {stated.answer!r}, got {edit.target!r}", place, "case")
    case: dict[str, Any] = {"name": edit.name}
    case |= {"method": method} if method else {}
    case |= {"args": list(edit.args)} if edit.args else {}
    case |= {"kwargs": dict(edit.kwargs)} if edit.kwargs else {}
    text = _append(text, question, "case", case)
    cases = (*_item(text, edit.question, item), "cases")
    if _at(_read(text), cases[:-1]).get("cases"):
        text = _append(text, cases[:-1], "cases", edit.name)
    return text


def _about_cases(question: Question, place: Place) -> str:
    found = (item.id for item in question.items if not (item.manual or "property" in item.options))
    name = next(found, "")
    if not name:
        raise RubricError("none of its items is about cases", place, "case")
    return name


# ---------------------------------------------------------------- where it stands


def _read(text: str) -> dict[str, Any]:
    return tomllib.loads(text, parse_float=Decimal)


def _at(tree: Any, path: Path) -> Any:
    for key in path:
        tree = tree[key]
    return tree


def _question(text: str, name: str) -> Path:
    return _named(text, ("question",), name, "question")


def _item(text: str, question: str, name: str) -> Path:
    return _named(text, (*_question(text, question), "item"), name, f"question {question!r}: item")


def _named(text: str, path: Path, name: str, what: str) -> Path:
    entries = _at(_read(text), path)
    number = next((number for number, entry in enumerate(entries) if entry.get("id") == name), None)
    if number is None:
        known = ", ".join(str(entry.get("id")) for entry in entries)
        raise RubricError(f"there is no {name!r}; known: {known}", what)
    return (*path, number)


def _set(text: str, path: Path, value: Any) -> str:
    """The text with another value in the place of one that is there."""
    found = written(text)[path]

    def change(tree: Any) -> None:
        _at(tree, path[:-1])[path[-1]] = value

    return _checked(text, text[: found.start] + _toml(value) + text[found.end :], change, path)


def _add(text: str, beside: Path, key: str, value: Any) -> str:
    """The text with a key more, behind one that stands in the same table, and written as that one is."""
    found = written(text)[beside]
    if found.inline:
        added, end = f", {text[found.key : found.name]}{key} = {_toml(value)}", found.end
    else:
        end = _line_end(text, found.end)
        start = text.rfind("\n", 0, found.key) + 1
        added = f"{_newline(text)}{text[start : found.name]}{key} = {_toml(value)}"

    def change(tree: Any) -> None:
        _at(tree, beside[:-1])[key] = value

    return _checked(text, text[:end] + added + text[end:], change, (*beside[:-1], key))


def _append(text: str, table: Path, key: str, value: Any) -> str:
    """The text with an entry more in a list of a table; where there is none, as a table with brackets."""
    places = written(text)
    path = (*table, key)
    if path in places:
        entries = [place for place in places if len(place) == len(path) + 1 and place[:-1] == path]
        at = max((places[place].end for place in entries), default=places[path].start + 1)
        added = f", {_toml(value)}" if entries else _toml(value)
    else:
        at = _line_end(text, max(one.end for place, one in places.items() if place[: len(table)] == table))
        newline = _newline(text)
        lines = [f"[[{_header(table)}.{key}]]", *(f"{name} = {_toml(one)}" for name, one in value.items())]
        added = f"{newline}{newline}{newline.join(lines)}"

    def change(tree: Any) -> None:
        _at(tree, table).setdefault(key, []).append(value)

    return _checked(text, text[:at] + added + text[at:], change, path)


def _header(path: Path) -> str:
    return ".".join(str(key) for key in path if isinstance(key, str))


def _line_end(text: str, at: int) -> int:
    """The end of the line, without what ends it."""
    end = text.find("\n", at)
    end = len(text) if end < 0 else end
    return end - 1 if text[at:end].endswith("\r") else end


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _checked(text: str, changed: str, change: Callable[[Any], None], path: Path) -> str:
    """The changed text, if it says what the other one said but for the change.

    Raises:
        RubricError: it does not: the place is written in a way that this cannot change.
    """
    expected = copy.deepcopy(_read(text))
    change(expected)
    try:
        found = _read(changed)
    except tomllib.TOMLDecodeError:
        found = {}
    if _canonical(found) != _canonical(expected):
        raise RubricError(
            "written in a way that only a person can change; edit the file", ".".join(map(str, path))
        )
    return changed


def _canonical(tree: Any) -> str:
    """Equal for trees that say the same; numbers without point and exact ones are not told apart by type."""

    def plain(value: Any) -> str:
        return str(value.normalize()) if isinstance(value, Decimal) else repr(value)

    def whole(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: whole(one) for key, one in value.items()}
        if isinstance(value, list | tuple):
            return [whole(one) for one in value]
        if isinstance(value, int | float) and not isinstance(value, bool):
            return {"number": plain(Decimal(str(value)))}
        return {"number": plain(value)} if isinstance(value, Decimal) else value

    return json.dumps(whole(tree), sort_keys=True, default=repr)


def _toml(value: Any) -> str:
    """A plain value on one line.

    Raises:
        RubricError: a rubric has no way to write it.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
    if isinstance(value, Decimal):
        return format(value.normalize() if value else Decimal(0), "f")
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else str(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        inside = ", ".join(f"{_key(key)} = {_toml(one)}" for key, one in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    raise RubricError(f"a rubric cannot state {type(value).__name__} {value!r}")


def _key(name: str) -> str:
    bare = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if bare else _toml(name)
