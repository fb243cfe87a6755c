"""Runs checks on a student's namespace, and finds the mutant that explains a wrong answer."""

from __future__ import annotations

import functools
import importlib
import itertools
import linecache
import traceback
import types
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from autograder.checking.comparing import is_same, is_tensor
from autograder.checking.drawing import InputDraw
from autograder.checking.holding import run_check
from autograder.checking.loading import (
    DefinedNames,
    SourceModules,
    load_source,
    namespace_of,
    results_of,
)
from autograder.checking.objects import Objects, install, objects
from autograder.checking.outcomes import DiffersFromStudent, MissingName, Unclear, Wrong, observe, observing
from autograder.checking.reading import CheckFile, SourceMutant

Status = Literal["passed", "wrong", "raised", "missing", "unclear"]
_MOST_TEXT = 4000
_number = itertools.count()


@dataclass(frozen=True)
class CheckOutcome:
    """What came of one part of a check."""

    status: Status
    """``wrong``: the answer is; ``raised``: the student's code raised an exception; ``missing``: a name is;
    ``unclear``: manual review."""
    message: str = ""
    """For staff."""
    error: str = ""
    """The class of the exception, if the student's code raised one."""
    name: str = ""
    """The name that is missing."""
    share: float = 0.0
    """Of the points, that a wrong answer still earns."""
    mistakes: tuple[str, ...] = ()
    """The mutants whose values are those of the student."""


class CheckProgram:
    """A file of checks, loaded to be run in this process."""

    def __init__(self, file: CheckFile, root: str = "") -> None:
        """Load nothing yet.

        Args:
            file: as it was read.
            root: the folder in which the reference lies, for tracebacks and debuggers.
        """
        self.file = file
        self._root = root
        self._sources = SourceModules(file.modules, root)
        self._sources.install()
        self._mutants: dict[str, DefinedNames | None] = {}
        self._explaining: dict[str, None] = {}

    def close(self) -> None:
        """Import nothing from here any more."""
        self._sources.remove()

    @functools.cached_property
    def _module(self) -> types.ModuleType:
        return importlib.import_module(self.file.module)

    @functools.cached_property
    def reference(self) -> DefinedNames:
        """The solution's names; those of an empty module if none is stated."""
        if self.file.solution_module:
            module = importlib.import_module(self.file.solution_module)
            return namespace_of(lambda: module, self.file.names)
        return self.load_answer(self.file.solution, "<solution>")

    def load_answer(self, source: str, file: str) -> DefinedNames:
        """Run an answer in this process.

        Raises:
            Exception: whatever it raises.
        """
        source = "\n\n".join(filter(None, (self.file.given, source)))
        return namespace_of(lambda: load_source(source, file, f"answer_{next(_number)}"), {})

    def run(
        self, check: str, part: str, student: DefinedNames, seed: bytes, *, name_mistakes: bool = True
    ) -> CheckOutcome:
        """Run one part of a check; find the mutants that explain a wrong answer.

        Args:
            check: its id.
            part: its name; empty if there is only one.
            student: the names of the answer.
            seed: of the hidden inputs.
            name_mistakes: look for these mutants, which takes about as long as a check for each.
        """
        with observing() as observed:
            outcome = self._run(check, part, student, seed)
        is_lost = outcome.status in ("wrong", "raised") and not self.file.check(check).edits
        if not (name_mistakes and is_lost and any(map(_is_telling, observed))):
            return outcome
        # A mutant explains an item only if it explains all of its wrong parts.
        known = results_of(student).setdefault(f"mutants of {check}", self._list_mutants(check))
        known[:] = self._find_mistakes(known, check, part, seed, observed)
        return replace(outcome, mistakes=tuple(mutant.name for mutant in known))

    def _list_mutants(self, check: str) -> list[SourceMutant]:
        """Return the mutants that may explain why a check fails."""
        return [
            mutant
            for mutant in self.file.mutants
            if (mutant.title or mutant.points) and (mutant.loses is None or check in mutant.loses)
        ]

    def _run(self, check: str, part: str, student: DefinedNames, seed: bytes) -> CheckOutcome:
        try:
            function = getattr(self._module, check)
            item = self.file.check(check)
            values = [one.value for one in item.parts if part and one.name == part]
            draw = InputDraw(seed, tensors=self.file.uses_torch)
            objects().seed_generators(int.from_bytes(seed[:4], "little"))
            run_check(function, student, self.reference, draw, *values, once=bool(item.edits))
        except DiffersFromStudent:
            raise
        except Exception as error:  # noqa: BLE001 - every exception is an outcome
            return self._explain(error)
        return CheckOutcome("passed")

    def _explain(self, error: Exception) -> CheckOutcome:
        raw = _text(error)
        text = f"{self._line(error)}{raw}"
        if isinstance(error, MissingName):
            return CheckOutcome("missing", text, name=error.missing)
        if isinstance(error, Wrong):
            return CheckOutcome("wrong", text, share=min(max(error.share, 0.0), 1.0))
        if objects().is_raised_by_student(error):
            observe(f"raised {type(error).__name__}")
            return CheckOutcome("raised", raw, type(error).__name__[:80])  # students read it
        if isinstance(error, AssertionError):
            return CheckOutcome("wrong", text)
        if isinstance(error, Unclear):
            return CheckOutcome("unclear", text)
        return CheckOutcome("unclear", f"the check itself raised {type(error).__name__}: {text}")

    def _line(self, error: Exception) -> str:
        """Return the line of the check at which an exception came out; without a text, what stands there."""
        file = self._sources.get_filename(self.file.module)
        lines = [
            frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file
        ]
        if not lines or lines[-1] is None:
            return ""
        source = linecache.getline(file, lines[-1], vars(self._module)).strip() if not str(error) else ""
        return f"line {lines[-1]}: {source}"

    def _find_mistakes(
        self, told: Sequence[SourceMutant], check: str, part: str, seed: bytes, observed: Sequence[Any]
    ) -> list[SourceMutant]:
        """Return those of some mutants that give the same; first those that explained an earlier check."""
        likely = [mutant for mutant in told if mutant.name in self._explaining]
        others = [mutant for mutant in told if mutant.name not in self._explaining]
        for mutants in (likely, others):
            found = [
                mutant for mutant in mutants if self._gives_the_same(mutant, check, part, seed, observed)
            ]
            if found:
                self._explaining |= dict.fromkeys(mutant.name for mutant in found)
                return found
        return []

    def _gives_the_same(
        self, mutant: SourceMutant, check: str, part: str, seed: bytes, observed: Sequence[Any]
    ) -> bool:
        file = f"<mutant {mutant.name}>"
        undo = install(Objects([file]))
        try:
            if mutant.name not in self._mutants:
                self._mutants[mutant.name] = self._load_mutant(mutant.source, file)
            namespace = self._mutants[mutant.name]
            if namespace is None:
                return False

            def is_next(index: int, value: Any) -> bool:
                return index < len(observed) and is_same(value, observed[index])

            with observing(is_next) as values:
                outcome = self._run(check, part, namespace, seed)
            return outcome.status in ("wrong", "raised") and len(values) == len(observed)
        except DiffersFromStudent:
            return False
        finally:
            undo()

    def _load_mutant(self, source: str, file: str) -> DefinedNames | None:
        try:
            return self.load_answer(source, file)
        except Exception:  # noqa: BLE001 - `verify` reports a mutant that does not even run
            return None


def _is_telling(value: Any) -> bool:
    """Return whether a value says more than that it is wrong: no truth value, no exception, no 0 or 1."""
    if is_tensor(value) or isinstance(value, np.ndarray):
        return int(np.prod(tuple(value.shape))) > 1
    if isinstance(value, bool | str | type(None)):
        return False
    if isinstance(value, int | float | complex):
        return value not in (0, 1)
    return isinstance(value, list | tuple | dict) and len(value) > 1


def _text(error: BaseException) -> str:
    try:
        return str(error)[:_MOST_TEXT]
    except Exception:  # noqa: BLE001 - the class may be the student's
        return ""
