"""Execution of checks on a student's namespace, and search for the mutant that explains a wrong answer."""

from __future__ import annotations

import contextlib
import functools
import importlib
import itertools
import linecache
import traceback
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from autograder.checking.check_parser import CheckFile, CheckItem, SourceMutant
from autograder.checking.comparing import is_same, is_tensor, show_value
from autograder.checking.dependencies import run_check
from autograder.checking.hidden_inputs import InputDraw, RecordedDraw
from autograder.checking.loader import (
    DefinedNames,
    SourceModules,
    get_results,
    load_source,
    make_namespace,
    replace_names,
)
from autograder.checking.objects import Objects, get_objects, install_objects
from autograder.checking.outcomes import (
    NOTHING,
    DiffersFromStudent,
    MissingName,
    Observations,
    Unclear,
    UnreadableFile,
    Wrong,
    collect_observations,
    observe_value,
)

Status = Literal["passed", "wrong", "raised", "missing", "unreadable", "unclear"]
_MOST_TEXT = 4000
_number = itertools.count()


@dataclass(frozen=True)
class CheckOutcome:
    """The outcome of one part of a check."""

    status: Status
    """``wrong``: the answer is; ``raised``: the student's code raised an exception; ``missing``: a name is;
    ``unreadable``: a file is; ``unclear``: manual review."""
    message: str = ""
    """For staff."""
    error: str = ""
    """The class of the exception, if the student's code raised one, or how a fresh sandbox of theirs
    ended."""
    name: str = ""
    """The name that is missing, or the path of the file."""
    share: float = 0.0
    """The share of the points that a wrong answer still earns."""
    told: Mapping[str, str] = field(default_factory=dict)
    """The text for students about a wrong answer instead of the check's, by language."""
    mistakes: tuple[str, ...] = ()
    """The mutants with the same values as the student."""
    carried: tuple[str, ...] = ()
    """Functions of the student's that had to be replaced by the solution's so that it passed."""
    values: tuple[str, ...] = ()
    """The drawn and compared values, if requested: a line for each."""


class CheckProgram:
    """A file of checks, loaded to be run in this process."""

    def __init__(self, file: CheckFile, root: str = "") -> None:
        """Load nothing yet.

        Args:
            file: as it was read.
            root: the parent folder of the reference, for tracebacks and debuggers.
        """
        self.file = file
        self._root = root
        self._sources = SourceModules(file.modules, root)
        self._sources.install()
        self._mutants: dict[str, DefinedNames | None] = {}
        self._explaining: dict[str, None] = {}

    def close(self) -> None:
        """Remove the importer of the file's modules."""
        self._sources.remove()

    @functools.cached_property
    def _module(self) -> types.ModuleType:
        return importlib.import_module(self.file.module)

    @functools.cached_property
    def reference(self) -> DefinedNames:
        """The solution's names; those of an empty module if there is none."""
        if self.file.solution_module:
            module = importlib.import_module(self.file.solution_module)
            return make_namespace(lambda: module, self.file.names)
        return self.load_answer(self.file.solution, "<solution>")

    def load_answer(self, source: str, file: str) -> DefinedNames:
        """Run an answer in this process.

        Raises:
            Exception: whatever it raises.
        """
        source = "\n\n".join(filter(None, (self.file.given, source)))
        return make_namespace(lambda: load_source(source, file, f"answer_{next(_number)}"), {})

    def run(
        self,
        check: str,
        part: str,
        student: DefinedNames,
        seed: bytes,
        *,
        name_mistakes: bool = True,
        show_values: bool = False,
    ) -> CheckOutcome:
        """Run one part of a check; find the mutants that explain a wrong answer.

        Args:
            check: its id.
            part: its name; empty if there is only one.
            student: the names of the answer.
            seed: of the hidden inputs.
            name_mistakes: look for these mutants, which takes about as long as a check for each.
            show_values: record the drawn and compared values.
        """
        draw = (RecordedDraw if show_values else InputDraw)(seed, tensors=self.file.uses_torch)
        with collect_observations() as observations:
            outcome = self._run_once(check, part, student, draw)
        if isinstance(draw, RecordedDraw):
            outcome = replace(outcome, values=tuple(_list_values(draw, observations)))
        observed, item = observations.values, self.file.get_check(check)
        # Faults of listings are not explained by mutants: each fault has its own check.
        is_lost = outcome.status in ("wrong", "raised") and not item.edits
        if is_lost and item.carry and self._can_pass_carried(item, part, student, seed):
            return CheckOutcome("passed", outcome.message, carried=item.carry, values=outcome.values)
        if not (name_mistakes and is_lost and any(map(_is_telling, observed))):
            return outcome
        # A mutant explains an item only if it explains all of its wrong parts.
        # Kept with the answer and not with the program, which serves other submissions as well.
        candidates = get_results(student).setdefault(f"mutants of {check}", self._list_mutants(check))
        # In place, because the list is cached: later parts only try the mutants that are left.
        candidates[:] = self._find_mistakes(candidates, check, part, seed, observed)
        return replace(outcome, mistakes=tuple(mutant.name for mutant in candidates))

    def _list_mutants(self, check: str) -> list[SourceMutant]:
        """Return the mutants that may explain why a check fails."""
        return [
            mutant
            for mutant in self.file.mutants
            if (mutant.title or mutant.points) and (mutant.loses is None or check in mutant.loses)
        ]

    def _can_pass_carried(self, item: CheckItem, part: str, student: DefinedNames, seed: bytes) -> bool:
        """Return whether a check passes if the solution's functions replace earlier ones.

        The student's code can inspect them there, so that no other information leaves that sandbox.
        """
        try:
            fresh = student.again()
            replace_names(fresh, self.file.extract_carried(item), item.carry)
        except Exception:  # noqa: BLE001 - it is judged as it is
            return False
        draw = InputDraw(seed, tensors=self.file.uses_torch)
        return self._run_once(item.id, part, fresh, draw).status == "passed"

    def _run_once(self, check: str, part: str, student: DefinedNames, draw: InputDraw) -> CheckOutcome:
        try:
            function = getattr(self._module, check)
            item = self.file.get_check(check)
            values = [item_part.value for item_part in item.parts if part and item_part.name == part]
            # So that code of the student's that draws numbers gives the same in every run of this check.
            get_objects().seed_generators(int.from_bytes(draw.origin[:4], "little"))
            run_check(function, student, self.reference, draw, *values, once=bool(item.edits))
        except DiffersFromStudent:
            raise
        except Exception as error:  # noqa: BLE001 - every exception is an outcome
            return self._explain_error(error, student)
        return CheckOutcome("passed")

    def _explain_error(self, error: Exception, student: DefinedNames) -> CheckOutcome:
        raw = _get_text(error)
        text = f"{self._find_line(error, is_silent=not raw)}{raw}"
        # The order matters: MissingName is an AttributeError, and Wrong an AssertionError.
        if isinstance(error, MissingName):
            return CheckOutcome("missing", text, name=error.missing)
        if isinstance(error, UnreadableFile):
            return CheckOutcome("unreadable", text, type(error).__name__, error.path)
        if isinstance(error, Wrong):
            return CheckOutcome("wrong", text, share=min(max(error.share, 0.0), 1.0), told=error.told)
        if get_objects().is_raised_by_student(error):
            observe_value(f"raised {type(error).__name__}")
            return CheckOutcome("raised", raw, get_objects().get_error_name(error)[:80])  # students read it
        if isinstance(error, AssertionError):
            return CheckOutcome("wrong", text)
        if isinstance(error, Unclear):
            return CheckOutcome("unclear", text)
        if isinstance(error, TypeError) and (wrong := self._find_uncallable(student)):
            return CheckOutcome("wrong", wrong)
        return CheckOutcome("unclear", f"the check itself raised {type(error).__name__}: {text}")

    def _find_uncallable(self, student: DefinedNames) -> str:
        """Describe a name that is callable in the solution, but not in the answer; empty if there is none."""
        for name in self.file.student_names:
            with contextlib.suppress(Exception):  # it is not there, or belongs to the student alone
                value, right = getattr(student, name), getattr(self.reference, name)
                if callable(right) and not callable(value):
                    return f"{name} is a {type(value).__name__}, which cannot be called"
        return ""

    def _find_line(self, error: Exception, *, is_silent: bool) -> str:
        """Return the line of the check that raised an exception, with its source if there is no message."""
        file = self._sources.get_filename(self.file.module)
        lines = [
            frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file
        ]
        if not lines or lines[-1] is None:
            return ""
        source = linecache.getline(file, lines[-1], vars(self._module)).strip() if is_silent else ""
        return f"line {lines[-1]}: {source}"

    def _find_mistakes(
        self,
        mutants_to_try: Sequence[SourceMutant],
        check: str,
        part: str,
        seed: bytes,
        observed: Sequence[Any],
    ) -> list[SourceMutant]:
        """Return the mutants with the same values, trying those first that explained an earlier check."""
        # Each trial takes about as long as the check, and a mistake in a function shows in several checks
        # of it.
        likely = [mutant for mutant in mutants_to_try if mutant.name in self._explaining]
        unlikely = [mutant for mutant in mutants_to_try if mutant.name not in self._explaining]
        for mutants in (likely, unlikely):
            matching = [
                mutant for mutant in mutants if self._is_same_mistake(mutant, check, part, seed, observed)
            ]
            if matching:
                self._explaining |= dict.fromkeys(mutant.name for mutant in matching)
                return matching
        return []

    def _is_same_mistake(
        self, mutant: SourceMutant, check: str, part: str, seed: bytes, observed: Sequence[Any]
    ) -> bool:
        file = f"<mutant {mutant.name}>"
        # Exceptions from the mutant's file then count as raised by the answer.
        undo = install_objects(Objects([file]))
        try:
            if mutant.name not in self._mutants:
                self._mutants[mutant.name] = self._load_mutant(mutant.source, file)
            namespace = self._mutants[mutant.name]
            if namespace is None:
                return False

            def is_next(index: int, value: Any) -> bool:
                return index < len(observed) and is_same(value, observed[index])

            draw = InputDraw(seed, tensors=self.file.uses_torch)
            with collect_observations(is_next) as observations:
                outcome = self._run_once(check, part, namespace, draw)
            return outcome.status in ("wrong", "raised") and len(observations.values) == len(observed)
        except DiffersFromStudent:
            return False
        finally:
            undo()

    def _load_mutant(self, source: str, file: str) -> DefinedNames | None:
        try:
            return self.load_answer(source, file)
        except Exception:  # noqa: BLE001 - `verify` reports a mutant that does not even run
            return None


def _list_values(draw: RecordedDraw, observations: Observations) -> list[str]:
    lines = [f"{call} = {show_value(value)}" for call, value in draw.drawn]
    for value, expected in zip(observations.values, observations.expected, strict=True):
        beside = "" if expected is NOTHING else f"; expected {show_value(expected)}"
        lines.append(f"compared {show_value(value)}{beside}")
    return [" ".join(line.split()) for line in lines]


def _is_telling(value: Any) -> bool:
    """Return whether a value identifies a mistake: no boolean, no exception, no 0 or 1."""
    if is_tensor(value) or isinstance(value, np.ndarray):
        return int(np.prod(tuple(value.shape))) > 1
    if isinstance(value, bool | str | type(None)):
        return False
    if isinstance(value, int | float | complex):
        return value not in (0, 1)
    return isinstance(value, list | tuple | dict) and len(value) > 1


def _get_text(error: BaseException) -> str:
    text = vars(error).get("told")  # its text in the student's sandbox; a library class may have none here
    try:
        return (text if isinstance(text, str) else str(error))[:_MOST_TEXT]
    except Exception:  # noqa: BLE001 - the class may be the student's
        return ""
