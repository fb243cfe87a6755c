"""What variants need of the reference: catalogues of faults, listings with faults, computed values.

Everything is asked in one box, whatever the size of the class.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec
from msgspec.structs import replace

from autograder.assignment import Assignment
from autograder.errors import CourseError
from autograder.grading.expected import ReferenceObject, ask_reference, for_many
from autograder.records import Call, Limits, Scenario
from autograder.sandbox.base import Box
from autograder.sandbox.pool import Pool
from autograder.variants.arithmetic import Value
from autograder.variants.drawing import Fault, telling_lines

_NAME = "asked"


class Reference:
    """A box of the reference, asked for what variants are made of.

    Every method raises:
        CourseError: a function is missing, raises, or gives something else than it should; names it.
    """

    def __init__(self, box: Box, limits: Limits) -> None:
        self._box = box
        self._limits = limits

    def catalogue(self, module: str) -> tuple[Fault, ...]:
        """The faults a module offers, each with another id."""
        where = f"{module}:catalogue"
        answer = self._answers(where, [()])[0]
        try:
            faults = msgspec.convert(answer, tuple[Fault, ...], strict=True)
        except msgspec.ValidationError as error:
            raise CourseError(
                f"reference {where}: expected a list of faults with id, difficulty and text: {error}"
            ) from error
        if len({fault.id for fault in faults}) < len(faults):
            raise CourseError(f"reference {where}: two faults have the same id")
        for fault in faults:
            if "en" not in fault.text:
                raise CourseError(f"reference {where}: fault {fault.id!r}: an English text is needed")
        return self._with_lines(module, faults)

    def _with_lines(self, module: str, faults: tuple[Fault, ...]) -> tuple[Fault, ...]:
        """The faults with the lines that give each away."""
        right, *alone = self.listings(module, [(), *((fault.id,) for fault in faults)]).values()
        known = telling_lines(right)
        return tuple(
            replace(fault, lines=tuple(sorted(telling_lines(listing) - known)))
            for fault, listing in zip(faults, alone, strict=True)
        )

    def listings(self, module: str, planted: Sequence[tuple[str, ...]]) -> dict[tuple[str, ...], str]:
        """The listing with each of these sets of faults in it."""
        where = f"{module}:listing"
        found = dict(zip(planted, self._answers(where, [(list(faults),) for faults in planted]), strict=True))
        for faults, listing in found.items():
            if not isinstance(listing, str) or not listing.strip():
                raise CourseError(
                    f"reference {where}: expected a text for {', '.join(faults)}, got {listing!r}"
                )
        return {faults: listing.strip("\n") for faults, listing in found.items()}

    def computed(
        self, reference: str, arguments: Sequence[tuple[Value, ...]]
    ) -> dict[tuple[Value, ...], Value]:
        """What a function gives for each of these arguments."""
        found = dict(zip(arguments, self._answers(reference, arguments), strict=True))
        for given, value in found.items():
            if not isinstance(value, int | str) or isinstance(value, bool):
                raise CourseError(
                    f"reference {reference}: expected a whole number or a text for {given}, got {value!r:.80}"
                )
        return found

    def _answers(self, reference: str, calls: Sequence[tuple[Any, ...]]) -> list[Any]:
        plan = tuple(
            Scenario(f"call {number}", (Call(_NAME, args=args),)) for number, args in enumerate(calls, 1)
        )
        named = ReferenceObject("[variant]", reference, _NAME)
        observed = ask_reference(self._box, named, plan, self._limits)
        return [observations[0].value for observations in observed]


@contextmanager
def open_reference(assignment: Assignment, pool: Pool, variants: int) -> Iterator[Reference]:
    """A box of the reference, for as many variants.

    Raises:
        RubricError: a module that the rubric preloads is not installed.
        SandboxUnavailable: code cannot be confined on this machine.
    """
    limits = for_many(assignment.rubric.assignment.limits, variants)
    with assignment.preloading():
        box = pool.persistent(assignment.reference_environment()).open(limits)
    try:
        yield Reference(box, limits)
    finally:
        box.close()
