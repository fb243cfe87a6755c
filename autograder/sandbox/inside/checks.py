"""Runs checks that are written in Python, on handles of a student's objects. Runs in the judge's box."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Mapping
from typing import Any

from autograder.checking.loading import DefinedNames
from autograder.checking.objects import Objects, install
from autograder.checking.outcomes import MissingName
from autograder.checking.packing import unpack_checks
from autograder.checking.running import CheckOutcome, CheckProgram
from autograder.sandbox.inside.proxies import CannotJudge, Handle, StudentExit, instance_of, table_of
from autograder.sandbox.inside.running import MOST_TEXT

FORBIDDEN = "is forbidden here"
"""What functions say that were made to fail; see `recorder`."""
LookUp = Callable[[str], Any]


class HandleObjects(Objects):
    """The student's objects in their box."""

    def __init__(self, seed_student: Callable[[int], None]) -> None:
        super().__init__()
        self._seed_student = seed_student

    def seed_generators(self, seed: int) -> None:
        """See `Objects.seed_generators`; the student's box seeds its own."""
        super().seed_generators(seed)
        self._seed_student(seed)

    def call_by_name(self, function: Any, arguments: Mapping[str, Any], seed: int) -> Any:
        """See `Objects.call_by_name`; it is one operation."""
        if not instance_of(function, Handle):
            return super().call_by_name(function, arguments, seed)
        return table_of(function).ask("call_by_name", function, {**arguments}, seed)

    def is_handle(self, value: Any) -> bool:
        """See `Objects.is_handle`."""
        return instance_of(value, Handle)

    def contents(self, value: Any) -> Any:
        """See `Objects.contents`."""
        held = table_of(value).ask("plain", value)
        return None if held is Ellipsis else held

    def is_raised_by_student(self, error: BaseException) -> bool:
        """See `Objects.is_raised_by_student`."""
        return isinstance(error, StudentExit) or instance_of(vars(error).get("student"), Handle)

    def class_name(self, value: Any) -> str:
        """See `Objects.class_name`."""
        return table_of(value).title(value) if instance_of(value, Handle) else super().class_name(value)


class Checks:
    """The files of checks of one judge's box."""

    def __init__(self) -> None:
        self._programs: dict[str, CheckProgram] = {}

    def run(
        self,
        call: Mapping[str, Any],
        look_up: LookUp,
        look_up_again: Callable[..., LookUp],
        seed_student: Callable[[int], None],
    ) -> dict[str, Any]:
        """Run one part of a check; return the plain parts of a `autograder.records.CellOutcome`.

        Args:
            call: ``digest`` of the file of checks, ``check``, ``part``, ``seed`` in hexadecimal, and
                ``program``, the packed file, the first time it is used here.
            look_up: gives what a name of the notebook stands for; raises NameError.
            look_up_again: gives the same for a fresh box; of one in which some names are forbidden.
            seed_student: is told of seeds that were set in this box, and hold in the student's.
        """
        printed = io.StringIO()
        undo = install(HandleObjects(seed_student))
        try:
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
                student = _names(look_up, look_up_again)
                program = self._program(call["digest"], call.get("program", ""))
                seed = bytes.fromhex(call["seed"])
                outcome = program.run(call["check"], call["part"], student, seed)
                told = _told(outcome)
                if call["forbidden"] and outcome.status in ("passed", "wrong", "raised"):
                    limited = _names(look_up_again(call["forbidden"]), look_up_again)
                    other = program.run(call["check"], call["part"], limited, seed, name_mistakes=False)
                    told["forbidden"] = _told_forbidden(outcome, other)
        except CannotJudge as error:
            told = {"refused": str(error)}
        finally:
            undo()
        return {**told, "printed": printed.getvalue()[:MOST_TEXT]}

    def _program(self, digest: str, packed: str) -> CheckProgram:
        if digest not in self._programs:
            self._programs[digest] = CheckProgram(unpack_checks(packed))
        return self._programs[digest]


def _told_forbidden(usual: CheckOutcome, other: CheckOutcome) -> str:
    """What it says of an answer that a check comes out otherwise where forbidden functions fail."""
    if other.status == "raised" and FORBIDDEN in other.message:
        return other.message
    return "" if other.status == usual.status else f"comes out otherwise: {other.message}"


def _names(look_up: LookUp, look_up_again: Callable[..., LookUp]) -> DefinedNames:
    def find(name: str) -> Any:
        try:
            return look_up(name)
        except NameError:
            raise MissingName(name) from None

    return DefinedNames(find, lambda: _names(look_up_again(), look_up_again))


def _told(outcome: CheckOutcome) -> dict[str, Any]:
    if outcome.status == "passed":
        return {}
    if outcome.status == "unclear":
        return {"refused": outcome.message or "the check cannot decide"}
    told = {"message": outcome.message, "share": outcome.share, "mistakes": [*outcome.mistakes]}
    if outcome.status == "missing":
        return {**told, "error": "MissingName", "missing": outcome.name}
    return {**told, "error": outcome.error or "Wrong", "raised": outcome.status == "raised"}
