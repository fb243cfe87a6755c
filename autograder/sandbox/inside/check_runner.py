"""Runs checks that are written in Python, on handles of a student's objects. Runs in the judge's box."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Protocol

from autograder.checking import models as _models  # noqa: F401 - runs next to the student's objects
from autograder.checking import transformers as _transformers  # noqa: F401 - files of checks import it
from autograder.checking.loader import DefinedNames
from autograder.checking.objects import Objects, install_objects
from autograder.checking.outcomes import MissingName
from autograder.checking.runner import CheckOutcome, CheckProgram
from autograder.checking.serialisation import unpack_checks
from autograder.sandbox.inside.proxies import CannotJudge, Handle, StudentExit, get_table, is_instance
from autograder.sandbox.inside.source_runner import MOST_TEXT

FORBIDDEN = "is forbidden here"
"""Part of the message of functions that were made to fail; see `guest.FunctionBlocker`."""


class StudentBox(Protocol):
    """A box in which a student's cells have run."""

    def resolve_name(self, name: str) -> Any:
        """Return the value of a name of the notebook.

        Raises:
            NameError: the notebook does not define it.
        """

    def define_module(self, source: str, names: Sequence[str] = ()) -> Any:
        """Run a source there and return its module; names of it replace those of the notebook."""

    def set_student_seed(self, seed: int) -> None:
        """Record a seed that was set in this box, and applies to the student's as well."""

    def allow_changes(self, value: Any) -> None:
        """Pass a value itself from now on, so that changes in place by the student's code are visible."""

    def open_again(self, forbidden: Sequence[str] = ()) -> StudentBox:
        """Return a fresh box in which the same cells ran.

        Args:
            forbidden: functions of torch fail there if their names contain one of these.
        """


class HandleObjects(Objects):
    """The student's objects in their box."""

    most_together: ClassVar[int] = 100

    def __init__(self, box: StudentBox) -> None:
        super().__init__()
        self._box = box

    def seed_generators(self, seed: int) -> None:
        """See `Objects.seed_generators`; the student's box seeds its own."""
        super().seed_generators(seed)
        self._box.set_student_seed(seed)

    def allow_changes(self, value: Any) -> None:
        """See `Objects.allow_changes`."""
        self._box.allow_changes(value)

    def run_beside(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """See `Objects.run_beside`."""
        handle = _find_handle(arguments)
        if handle is None:
            return super().run_beside(function, *arguments)
        return get_table(handle).ask("beside", function.__module__, function.__qualname__, *arguments)

    def call_by_name(self, function: Any, arguments: Mapping[str, Any], seed: int) -> Any:
        """See `Objects.call_by_name`; it is one operation."""
        if not is_instance(function, Handle):
            return super().call_by_name(function, arguments, seed)
        return get_table(function).ask("call_by_name", function, {**arguments}, seed)

    def is_handle(self, value: Any) -> bool:
        """See `Objects.is_handle`."""
        return is_instance(value, Handle)

    def get_contents(self, value: Any) -> Any:
        """See `Objects.get_contents`."""
        held = get_table(value).ask("plain", value)
        return None if held is Ellipsis else held

    def is_raised_by_student(self, error: BaseException) -> bool:
        """See `Objects.is_raised_by_student`."""
        return isinstance(error, StudentExit) or is_instance(vars(error).get("student"), Handle)

    def get_error_name(self, error: BaseException) -> str:
        """See `Objects.get_error_name`."""
        return (
            error.ending if isinstance(error, StudentExit) and error.ending else super().get_error_name(error)
        )

    def get_class_name(self, value: Any) -> str:
        """See `Objects.get_class_name`."""
        return (
            get_table(value).get_class_name(value)
            if is_instance(value, Handle)
            else super().get_class_name(value)
        )


def _find_handle(values: Iterable[Any]) -> Any:
    """Return the first handle among values, also within lists and tuples; None if there is none."""
    for value in values:
        handle = _find_handle(value) if type(value) in (list, tuple) else value
        if is_instance(handle, Handle):
            return handle
    return None


class Checks:
    """The files of checks of one judge's box."""

    def __init__(self) -> None:
        self._programs: dict[str, CheckProgram] = {}
        self._student: tuple[StudentBox, dict[str, DefinedNames]] | None = None

    def run_check(self, call: Mapping[str, Any], box: StudentBox) -> dict[str, Any]:
        """Run one part of a check; return the plain parts of a `autograder.core.records.CellOutcome`.

        Args:
            call: ``digest`` of the file of checks, ``check``, ``part``, ``seed`` in hexadecimal, and
                ``program``, the packed file, on its first use here.
            box: of the student.
        """
        printed = io.StringIO()
        undo = install_objects(HandleObjects(box))
        try:
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
                student = self._get_names(box, call["digest"])
                program = self._load_program(call["digest"], call.get("program", ""))
                seed = bytes.fromhex(call["seed"])
                shows = bool(call.get("show_values"))
                outcome = program.run(call["check"], call["part"], student, seed, show_values=shows)
                result = _describe_outcome(outcome)
                # Only a definite result can change if functions are forbidden.
                if call["forbidden"] and outcome.status in ("passed", "wrong", "raised"):
                    limited = _bind_names(box.open_again(call["forbidden"]), box, call["forbidden"])
                    other = program.run(call["check"], call["part"], limited, seed, name_mistakes=False)
                    result["forbidden"] = _explain_difference(outcome, other)
        except CannotJudge as error:
            result = {"refused": str(error)}
        finally:
            undo()
        return {**result, "printed": printed.getvalue()[:MOST_TEXT]}

    def forget_answer(self) -> None:
        """Forget the findings about an answer: the next one is another student's, or it is in doubt."""
        self._student = None

    def _get_names(self, box: StudentBox, digest: str) -> DefinedNames:
        """Return the names of a box: one object for all checks of a file, which share what they saw."""
        if self._student is None or self._student[0] is not box:
            self._student = box, {}
        names = self._student[1]
        if digest not in names:
            names[digest] = _bind_names(box)
        return names[digest]

    def _load_program(self, digest: str, packed: str) -> CheckProgram:
        if digest not in self._programs:
            self._programs[digest] = CheckProgram(unpack_checks(packed))
        return self._programs[digest]


def _explain_difference(usual: CheckOutcome, other: CheckOutcome) -> str:
    """Describe how the result of a check differs if forbidden functions fail; empty if it does not."""
    if other.status == "raised" and FORBIDDEN in other.message:
        return other.message
    if other.status == usual.status:
        return ""
    return ": ".join(filter(None, (f"it is {other.status} there, not {usual.status}", other.message)))


def _bind_names(
    box: StudentBox, first: StudentBox | None = None, forbidden: Sequence[str] = ()
) -> DefinedNames:
    """Bind the names of a box; further ones are opened by the first box, which numbers them."""
    first = first or box

    def find_value(name: str) -> Any:
        try:
            return box.resolve_name(name)
        except NameError:
            raise MissingName(name) from None

    return DefinedNames(
        find_value, lambda: _bind_names(first.open_again(forbidden), first, forbidden), box.define_module
    )


def _describe_outcome(outcome: CheckOutcome) -> dict[str, Any]:
    result: dict[str, Any] = {"values": [*outcome.values]} if outcome.values else {}
    if outcome.status == "passed":
        return {**result, "carried": [*outcome.carried]}
    if outcome.status == "unclear":
        return {**result, "refused": outcome.message or "the check cannot decide"}
    result |= {"message": outcome.message, "share": outcome.share, "mistakes": [*outcome.mistakes]}
    result["told"] = {**outcome.told}
    if outcome.status == "missing":
        return {**result, "error": "MissingName", "missing": outcome.name}
    if outcome.status == "unreadable":
        return {**result, "error": outcome.error, "missing": outcome.name}
    return {**result, "error": outcome.error or "Wrong", "raised": outcome.status == "raised"}
