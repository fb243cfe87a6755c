"""Sizes that can come out equal: then code that takes one of them for the other gives the same numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from autograder.checks.planning.drawing import can_differ
from autograder.rubric import Question, Rubric
from autograder.verify.findings import VerifyFinding


def warnings(rubric: Rubric) -> Iterator[VerifyFinding]:
    """What is worth a look in the sizes of each question."""
    for question in rubric.questions:
        yield from _of_question(question)


def _of_question(question: Question) -> Iterator[VerifyFinding]:
    sizes = {
        name: [int(one) for one in choices]
        for name, choices in dict(question.options.get("sizes") or {}).items()
        if isinstance(choices, list | tuple)
    }
    if question.options.get("equal_sizes"):
        shared = sorted(_shared(sizes))
        if shared:
            yield _finding(
                question,
                f"{' and '.join(shared)} may come out equal",
                "leave out equal_sizes, unless they have to",
            )
    elif not can_differ(sizes):
        yield _finding(
            question,
            f"{', '.join(sizes)} always have two that are equal",
            "give them lists without common entries",
        )
    for name, case in _cases(question):
        stated = {size for part in _arguments(case) for size in _stated(part)}
        for size, choices in sizes.items():
            for value in sorted(stated & set(choices)):
                yield _finding(
                    question,
                    f"{size} can be drawn as {value}, and case {name!r} states a size of {value} as well",
                    f"take {value} out of {size}, or state another size there",
                )


def _finding(question: Question, got: str, remedy: str) -> VerifyFinding:
    return VerifyFinding("rubric", question.id, "sizes that differ, so that a wrong index shows", got, remedy)


def _shared(sizes: Mapping[str, list[int]]) -> set[str]:
    return {
        name
        for name, choices in sizes.items()
        for other, others in sizes.items()
        if name != other and set(choices) & set(others)
    }


def _cases(question: Question) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for number, case in enumerate(question.options.get("case") or (), start=1):
        if isinstance(case, Mapping):
            name = case.get("name") or str(number)
            yield (name if isinstance(name, str) else str(name.get("en", number))), case


def _arguments(case: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for part in (*case.get("args", ()), *dict(case.get("kwargs") or {}).values()):
        if isinstance(part, Mapping):
            yield part


def _stated(argument: Mapping[str, Any]) -> Iterator[int]:
    """The sizes that stand as numbers in a shape; an axis of one only broadcasts."""
    for size in argument.get("shape", ()):
        if isinstance(size, int) and size > 1:
            yield size
