"""Tests of some students run on code of others: the test in one box, the solution in another.

What a test asks the solution's box for is looked at on the way: behaviour alone, nothing of how it is
written. A test that changes something there gets a copy of the box, and so does one that fails, once more,
with a judge that has seen nothing. A test meets the answer key among the others, at places that nobody can
foresee.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import math
import re
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from autograder.errors import BoxEnded, SandboxFault
from autograder.records import CellOutcome, CellTest, Ending, Limits, Ref, Structured
from autograder.sandbox.base import Box, BranchingBox, Sandbox, Usage
from autograder.sandbox.retry import retry_infrastructure
from autograder.sandbox.testing import TIMED_OUT, CellTester, Imports
from autograder.stream import Stream, derived

KEY = ""
"""The name of the answer key among the solutions."""
LEAST_KEY_RUNS = 5
"""Times that each test meets the key."""
TOGETHER = 20
"""Solutions whose boxes are open at the same time, for each worker."""
_OF_TORCH = re.compile(
    r"(Tensor|float16|bfloat16|float32|float64|int32|int64|bool|relu|tanh|sigmoid|softmax|log_softmax|exp|log|"
    r"sqrt|abs|sin|cos|sum|mean|add|sub|mul|div|matmul|zeros|ones|eye|arange|tensor|cat|stack)"
    r"|nn\.[A-Z][A-Za-z0-9]*|optim\.[A-Z][A-Za-z]*"
    r"|nn\.functional\.(relu|gelu|silu|tanh|sigmoid|softmax|log_softmax|cross_entropy|mse_loss|layer_norm|linear)"
)
"""What a test may hand over of torch: types, and functions that compute."""
_CHANGING = frozenset({"set", "delete", "setitem", "delitem", "enter", "leave"})
_FOR_ALL = frozenset({"__name__", "__class__", "__len__", "__iter__", "__next__", "__call__", "__getitem__"})
_OPERATIONS = (
    "name watch call method get set delete plain describe enter leave copy deepcopy backward "
    "add sub mul truediv floordiv mod pow matmul lshift rshift and_ or_ xor iadd isub imul itruediv "
    "ifloordiv imod ipow imatmul iand ior ixor neg pos invert eq ne lt le gt ge getitem setitem delitem "
    "contains index len iter next bool hash str repr format abs round int float reversed"
)
_KNOWN = frozenset(_OPERATIONS.split())
_TWO_SIDED = "add sub mul truediv floordiv mod pow matmul lshift rshift and_ or_ xor eq ne lt le gt ge"
_BINARY = frozenset(_TWO_SIDED.split())
"""Operations whose first operand may be the test's."""
"""What a test may ask for; an operation that is new in `sandbox.inside.remote` is looked at first."""
_OF_DATACLASSES = frozenset({"replace", "asdict", "astuple", "fields", "is_dataclass"})
_LIBRARIES_OWN = (
    "os sys io inspect builtins importlib subprocess gc ctypes types dis linecache pickle marshal shutil "
    "pathlib tokenize traceback runpy code codeop pdb operator functools package jit source getsource"
)
_DEEP = frozenset(_LIBRARIES_OWN.split())
"""What a library imports for itself, and what reads code: no test of behaviour needs it."""
_BY_NAME = ("get", "set", "delete", "method")
"""Operations on an attribute."""
_INNER = ("f_", "gi_", "cr_", "ag_", "tb_", "co_", "func_")
"""How attributes begin that lead to frames and code."""


class PairOutcome(Struct, frozen=True):
    """What came of one test on one solution."""

    passed: bool
    refused: str = ""
    """Why the test tells nothing: it asks for what it may not, or cannot be run."""
    words: str = ""
    """What it raised, for staff."""
    late: bool = False
    """Its time was over, which may be the machine's fault."""


class CrossRun(Struct, frozen=True, eq=False):
    """Everything that a run needs."""

    sandbox: Sandbox
    limits: Limits
    solutions: Mapping[str, Sequence[str]]
    """Cells of each solution, by name; the answer key under `KEY`."""
    tests: Mapping[str, str]
    """Code of each test, by name."""
    names: frozenset[str]
    """What a test may ask the solution's box for."""
    imports: Imports
    secret: bytes
    seconds: float = 2.0
    """Of processor time for each pair."""

    def outcomes(self, workers: int, done: Callable[[int], None] = lambda _: None) -> Outcomes:
        """Run every test on every solution, and on the key several times.

        Args:
            workers: parts that run at the same time.
            done: hears after each part how many pairs were run in it.
        """
        found = Outcomes({name: [] for name in self.tests}, {name: {} for name in self.tests})
        wrong: set[str] = set()
        with ThreadPoolExecutor(workers) as threads:
            for part in threads.map(functools.partial(self._part, wrong), self._parts()):
                for test, solution, outcome in part:
                    if solution == KEY:
                        found.on_key[test].append(outcome)
                    else:
                        found.on_solutions[test][solution] = outcome
                done(len(part))
        return found

    def _parts(self) -> Iterator[list[str]]:
        """Solutions that are open together, with the key at places that follow from the secret."""
        names = [name for name in self.solutions if name != KEY]
        stream = Stream(derived(self.secret, "class against class"), "order")
        order = [names[at] for at in stream.some(len(names), len(names))]
        parts = [order[at : at + TOGETHER] for at in range(0, len(order), TOGETHER)] or [[]]
        each = max(1, -(-LEAST_KEY_RUNS // len(parts)))
        for part in parts:
            for _ in range(each):
                part.insert(stream.below(len(part) + 1), KEY)
            yield part

    def _part(self, wrong: set[str], part: Sequence[str]) -> list[tuple[str, str, PairOutcome]]:
        """The pairs of some solutions; a test that failed on the key meets the key alone from then on.

        Where its time was over there, it meets nothing more of the part.

        Args:
            wrong: the tests of which that is known, of all parts; grows.
            part: solutions, with the key among them.
        """
        found = []
        with contextlib.ExitStack() as boxes:

            def warm(opened: Callable[[], Box]) -> _Warm:
                return boxes.enter_context(contextlib.closing(_Warm(opened)))

            open_ = {name: warm(functools.partial(self._solution, name)) for name in dict.fromkeys(part)}
            for test, code in self.tests.items():
                judge, again, watch = warm(self._judge), warm(self._judge), _Watch(self.names)
                for solution in part:
                    if solution != KEY and test in wrong:
                        continue
                    outcome = self._pair(code, open_[solution], judge, watch)
                    failed = solution != KEY and not outcome.passed and not outcome.refused
                    if failed or outcome.late:
                        # What fails by chance, or keeps count, seldom does so twice for one that forgets.
                        second = self._pair(code, open_[solution], again, watch, apart=True)
                        outcome = second if second.passed or second.refused else outcome
                    found.append((test, solution, outcome))
                    if solution == KEY and not outcome.passed:
                        wrong.add(test)
                        if outcome.late:
                            break
                judge.close()
                again.close()
        return found

    @property
    def _box_limits(self) -> Limits:
        """Those of one submission hold for each pair (`seconds`); a box has hundreds of them."""
        return replace(self.limits, processor_seconds=86_400)

    def _judge(self) -> Box:
        return self.sandbox.open(self._box_limits, seed=1)

    def _solution(self, name: str) -> Box:
        """A box in which a solution is defined.

        Raises:
            BoxEnded: its code ends it.
        """
        box = self.sandbox.open(self._box_limits)
        for source in self.solutions[name]:
            box.run_cell(source, seconds=self.limits.cell_seconds)
        return box

    def _pair(
        self, code: str, solution: _Warm, judge: _Warm, watch: _Watch, *, apart: bool = False
    ) -> PairOutcome:
        """What came of a pair; what fails on our side is run again.

        Raises:
            SandboxFault: it failed each time.
        """
        return retry_infrastructure(lambda: self._once(code, solution, judge, watch, apart=apart))

    def _once(self, code: str, solution: _Warm, judge: _Warm, watch: _Watch, *, apart: bool) -> PairOutcome:
        test = CellTest("test", code, seconds=self.seconds, shared=False, students=tuple(self.names))
        tester = CellTester(judge.lent, self.imports, watch.refused)
        apart = apart or watch.touched
        try:
            with solution.copy() if apart else contextlib.nullcontext(solution.lent()) as box:
                outcome = tester.run(test, box)
        except BoxEnded as ended:  # the solution's cells end every box
            outcome = CellOutcome(ending=ended.ending)
        except SandboxFault:
            solution.close()
            judge.close()
            raise
        if outcome.ending is not None or (watch.touched and not apart):
            solution.close()
        words = ": ".join(one for one in (outcome.error, outcome.message) if one)
        if outcome.ending is Ending.CALL_TIME:
            words = f"it took longer than {self.seconds:g} seconds of processor time"
        elif outcome.ending is not None:
            words = f"the solution's box ended: {outcome.ending.value}"
        why = outcome.refused or (outcome.doubt if outcome.passed else "")
        late = outcome.ending is Ending.CALL_TIME or outcome.refused == TIMED_OUT
        return PairOutcome(outcome.passed and not why, why, words[:300], late)


class _Watch:
    """Looks at what one test asks for."""

    def __init__(self, names: frozenset[str]) -> None:
        self._names = names
        self.touched = False
        """It changes what the solution's box holds; the next one would meet that."""

    def refused(self, asked: Sequence[Any]) -> str:
        """See `refused`."""
        try:  # a judge's box that was taken over says what it likes
            told = dict(asked[3]) if len(asked) > 3 else {}
            self.touched = self.touched or asked[0] in _CHANGING or bool(told.get("changes"))
            return refused(asked, self._names)
        except (TypeError, ValueError, IndexError, AttributeError):
            return "it asks in a form that nobody knows"


class Outcomes(Struct, frozen=True, eq=False):
    """What came of a run."""

    on_key: dict[str, list[PairOutcome]]
    on_solutions: dict[str, dict[str, PairOutcome]]
    """Test → solution → outcome; of a test that fails on the key, only what it met before that was seen."""


def refused(asked: Sequence[Any], names: frozenset[str]) -> str:
    """Why a test may not ask for something: it would see how the solution is written. Empty where it may.

    Args:
        asked: the operation, its operands and keywords, as the judge's box states them.
        names: what it may ask for by name.
    """
    operation, operands, keywords = asked[0], list(asked[1]), dict(asked[2])
    library = operation == "library" and operands[:1] == ["dataclasses"] and operands[1:2]
    if operation not in _KNOWN and not (library and library[0] in _OF_DATACLASSES):
        return "it runs code of its own beside the solution"
    if operation in ("name", "watch"):
        wanted = operands[0] if operands and isinstance(operands[0], tuple) else operands[:1]
        others = [one for one in wanted if one not in names]
        return f"it asks for {others[:1]}, which is no part of the question" if others or not wanted else ""
    binary = operation in _BINARY
    if not binary and not library and not (operands and isinstance(operands[0], Ref)):
        return "it does what has nothing to do with the solution, beside the solution"
    if operation in _BY_NAME:
        name = operands[1] if len(operands) > 1 else ""
        if not isinstance(name, str) or (_is_inner(name) and name not in _FOR_ALL):
            return f"it looks at {name!r}, which shows how the solution is written"
    beside = [*asked[3].values()] if len(asked) > 3 else []
    handed = [*_named([*operands, *keywords.values()]), *_named(beside)]
    if binary and handed and operation not in ("eq", "ne"):
        return f"it computes with {handed[0]} beside the solution"
    foreign = next((one for one in handed if not _is_harmless(one)), None)
    return f"it hands {foreign} to the solution" if foreign else ""


def _is_inner(name: str) -> bool:
    """Whether a name leads to code, to frames or to what a library imports for itself."""
    return name.startswith(("_", *_INNER)) or name in _DEEP


def _named(values: Iterable[Any]) -> Iterator[str]:
    """Modules, functions and classes that stand among arguments, by where they are found."""
    for value in values:
        if isinstance(value, Structured):
            parts = list(value.parts) if isinstance(value.parts, list | tuple) else []
            if value.type_name == "module":
                yield f"the module {'.'.join(map(str, parts))}"
            elif value.type_name == "named":
                yield ".".join(map(str, parts))
            elif value.type_name in ("layer", "optimizer"):
                yield ".".join(
                    map(str, parts[:2] if value.type_name == "layer" else ["torch.optim", *parts[:1]])
                )
                yield from _named(parts)
            else:
                yield from _named(parts)
        elif isinstance(value, list | tuple | set | frozenset):
            yield from _named(value)
        elif isinstance(value, Mapping):
            yield from _named([*value.keys(), *value.values()])


def _is_harmless(path: str) -> bool:
    """Whether something of a library's is a number's type, or a function that computes."""
    root, _, rest = path.partition(".")
    if root == "builtins":
        kind = getattr(builtins, rest, None)
        return rest in ("int", "float", "str", "bool", "list", "tuple", "dict", "set", "bytes", "object") or (
            isinstance(kind, type) and issubclass(kind, Exception)
        )
    if root == "torch":
        return _OF_TORCH.fullmatch(rest) is not None
    own = getattr({"numpy": np, "math": math}.get(root), rest, None)
    return isinstance(own, np.ufunc | types.BuiltinFunctionType) or (
        isinstance(own, type) and issubclass(own, np.generic | np.ndarray) and own is not np.memmap
    )


class _Warm:
    """A box that is opened once, and copied for each use; one that has ended is opened anew."""

    def __init__(self, opened: Callable[[], Box]) -> None:
        self._opened = opened
        self._box: Box | None = None

    def lent(self) -> Box:
        """The box itself, which is given back instead of closed.

        Raises:
            BoxEnded: the box cannot be made.
            SandboxFault: our side failed.
        """
        self._box = self._box or self._opened()
        return _Lent(self._box, self.close)

    @contextlib.contextmanager
    def copy(self) -> Iterator[Box]:
        """A copy, as long as it is used.

        Raises:
            BoxEnded: the box cannot be made.
            SandboxFault: our side failed.
        """
        box = self._box = self._box or self._opened()
        if not isinstance(box, BranchingBox):
            raise SandboxFault("this sandbox cannot copy a box")
        box.branch()
        try:
            yield _Lent(box, self.close)
        finally:
            try:
                box.rejoin()
            except (BoxEnded, SandboxFault):
                self.close()

    def close(self) -> None:
        """End the box."""
        box, self._box = self._box, None
        if box is not None:
            box.close()


class _Lent:
    """A box that its owner keeps, as long as nobody ends it; otherwise as `autograder.sandbox.base.Box`."""

    crowded = False

    def __init__(self, box: Box, end: Callable[[], None]) -> None:
        self._end = end
        self.run_cell, self.run_cells = box.run_cell, box.run_cells
        self.ask, self.hand_on = box.ask, box.hand_on
        self.computed, self.delayed = box.computed, box.delayed

    def close(self) -> Usage:
        """End the box of the owner, who opens another one."""
        self._end()
        return Usage()
