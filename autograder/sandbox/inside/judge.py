"""Runs tests where no student code is, and asks the student's box for what they use. Runs in the judge's box.

A test runs in a thread of its own. When it needs something of the student's it waits, the request goes out as
the answer to the present call, and the next call brings the reply. What it brings is the student's word:
plain values are built from known parts alone, everything else is a handle (see `proxies`).
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import importlib
import os
import queue
import sys
import threading
import types
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from autograder.sandbox.exchange import wire
from autograder.sandbox.inside import forms, generators, layers
from autograder.sandbox.inside.plain import own_array
from autograder.sandbox.inside.proxies import (
    CannotJudge,
    ClassHandle,
    Handle,
    Proxies,
    StudentExit,
    TypeOfTests,
    instance_of,
    name_of,
)
from autograder.sandbox.inside.remote import HandleEncoder
from autograder.sandbox.inside.running import outcome
from autograder.sandbox.inside.shared import Encoded, SharedValues

JUDGE = "@judge"
"""The target of calls that run tests."""
_PLAIN_RESULTS = ("call", "get", "getitem", "name", "next", "len", "int", "float", "str", "repr")
"""Operations whose plain results a test can compare by itself."""


class JudgeEncoder(HandleEncoder):
    """Handles go back as what they stand for; of a library's functions, classes and modules the names go."""

    def __init__(self, mark: Callable[[Any], Any]) -> None:
        super().__init__(_not_sent)
        self._mark = mark

    def encode(self, value: Any, depth: int = 0) -> Any:
        """A handle is not looked at: what it says of itself is the student's word."""
        if instance_of(value, Handle):
            return {"$": "ref", "v": name_of(value)}
        if instance_of(value, types.ModuleType):
            return self._form("module", [value.__name__], depth)
        return super().encode(value, depth)

    def other(self, value: Any, depth: int) -> Any:
        """A module of torch's own goes in parts, and what its ``parameters()`` gives as an iterator."""
        if layers.is_layer(value):
            return self._form("layer", layers.parts(value, self._mark), depth)
        if layers.is_of_tensors(value):
            return self._form("iterator", [self._mark(one) for one in value], depth)
        return super().other(value, depth)

    def _leaf(self, torch: Any, value: Any) -> Any:
        """What a computation of the student's gave goes back as itself, with all that it follows from."""
        handle, version = getattr(value, "student", (None, 0))
        if handle is not None and value._version == version:  # noqa: SLF001 - tells of changes in place
            return {"$": "ref", "v": name_of(handle)}
        return super()._leaf(torch, value)


def _not_sent(value: Any) -> Any:
    parts = forms.named_parts(value)
    if parts is None:
        raise CannotJudge(f"hands a {type(value).__name__} of its own to the student's code")
    return {"$": "form", "type": parts[0], "v": list(parts[1])}


class Namespace(dict[str, Any]):
    """The names of a test: its own, Python's, the libraries', and for all others the student's."""

    def __init__(self, student: Callable[[str], Any]) -> None:
        super().__init__(__name__="__main__", type=TypeOfTests)
        self._student = student

    def __missing__(self, name: str) -> Any:
        return self._student(name)

    def __contains__(self, name: object) -> bool:
        if super().__contains__(name):
            return True
        try:
            self._student(str(name))
        except (NameError, KeyError):
            return False
        return True

    def get(self, name: str, default: Any = None) -> Any:
        """As of a dictionary, with the student's names."""
        return self[name] if name in self else default  # noqa: SIM401 - `get` itself

    def copy(self) -> Namespace:
        """Itself: doctest would lose the student's names with a copy."""
        return self


class Judge:
    """The tests of one submission, one after another."""

    def __init__(self) -> None:
        self._requests: queue.SimpleQueue[Encoded] = queue.SimpleQueue()
        self._replies: queue.SimpleQueue[Encoded] = queue.SimpleQueue()
        self._imports: Mapping[str, tuple[str, str]] = {}
        self._students: frozenset[str] = frozenset()
        self._begin_again()

    def do(self, tree: Any, arrays: Mapping[str, np.ndarray]) -> Encoded:
        """Begin a test or bring it a reply; what it asks for next, or its outcome.

        Args:
            tree: ``[test, imports, names]`` to begin, else ``[reply]``.
            arrays: beside it.
        """
        if len(tree) == 1:
            self._replies.put((tree[0], arrays))
        else:
            test, imports, names, again = wire.Decoder(arrays, own_array, self._decoded).decode(tree)
            if again:
                self._begin_again()
            self._imports = {name: (module, attribute) for name, module, attribute in imports}
            self._students = frozenset(names)
            threading.Thread(target=self._run, args=(test,), daemon=True).start()
        return self._requests.get()

    def _begin_again(self) -> None:
        """Forget what belongs to a student's box that is not there any more."""
        self._token = os.urandom(8).hex()
        self._proxies = Proxies(self._ask)
        self._shared = SharedValues("j", self._encoded, layers.is_layer)
        self._namespace = Namespace(self._name)

    # ------------------------------------------------------------ the test's thread

    def _run(self, test: Mapping[str, Any]) -> None:
        self._namespace = self._namespace if test["shared"] else Namespace(self._name)
        self._known: dict[str, Any] = {}
        self._states, self._seeded, self._plain = generators.states(), False, 0
        self._proxies.own_words.clear()
        self._proxies.disputed = ""
        found = outcome(test["code"], self._namespace, doctest=test["doctest"], refusals=CannotJudge)
        words = list(self._proxies.own_words)
        doubt = self._proxies.disputed or (
            f"it rests on {', '.join(words)} alone" if words and not self._plain else ""
        )
        found |= {"own_words": words[:20], "doubt": doubt[:200]}
        self._requests.put((wire.Encoder().encode({"done": found}), {}))

    def _ask(self, operation: str, *args: Any, **kwargs: Any) -> Any:
        changed = {"changes": self._shared.changes(), "forget": self._shared.let_go(), "seeded": self._seeded}
        now = generators.states()
        moved = {name: one for name, one in now.items() if not generators.same(one, self._states.get(name))}
        if moved:
            self._seeded = changed["seeded"] = True
            changed["states"] = moved
        if (torch := sys.modules.get("torch")) is not None:
            changed["grad"] = torch.is_grad_enabled()
        sent: list[Any] = [operation, [self._marked(one) for one in args]]
        sent += [{name: self._marked(one) for name, one in kwargs.items()}, changed, self._token]
        try:
            request = self._encoded({"ask": sent})
        except (wire.ProtocolError, TypeError) as error:
            raise CannotJudge(f"hands over what cannot go to the student's code: {error}") from error
        told = self._exchanged(request)
        self._states = now
        if "states" in told:
            generators.restore(told["states"])
            self._states = generators.states()
        self._shared.apply(told.get("changes", ()))
        if "printed" in told:
            sys.stdout.write(str(told["printed"]))
        if "failed" in told:
            raise CannotJudge(f"what the student's code returned could not be read: {told['failed']}")
        if "raised" in told:
            raise self._exception(*told["raised"])
        found = told["v"]
        if operation in _PLAIN_RESULTS and not instance_of(found, Handle) and found is not None:
            self._plain += not isinstance(found, types.ModuleType | type)
        return found

    def _exchanged(self, request: Encoded) -> dict[str, Any]:
        out, err = sys.stdout, sys.stderr  # each call of the box sets its own
        self._requests.put(request)
        tree, arrays = self._replies.get()
        sys.stdout, sys.stderr = out, err
        try:
            told = wire.Decoder(arrays, own_array, self._decoded).decode(tree)
        except Exception as error:  # noqa: BLE001 - parts that fit no form are the student's word
            return {"failed": f"{type(error).__name__}: {error}"[:200]}
        return (
            told
            if isinstance(told, dict) and ("v" in told or "raised" in told or "failed" in told)
            else {"failed": "no reply"}
        )

    def _marked(self, value: Any) -> Any:
        return value if instance_of(value, Handle) else self._shared.marked(value)

    def _encoded(self, value: Any) -> Encoded:
        encoder = JudgeEncoder(self._marked)
        return encoder.encode(value), encoder.arrays

    def _decoded(self, tag: str, tree: Mapping[str, Any]) -> Any:
        if tag == "ref":
            return self._proxies.handle(str(tree["v"]), str(tree.get("type", "")))
        name, told = tree["type"], tree["v"]
        if name == "shared":
            return self._shared.received(told)
        if name == "computed":
            return computed(told[0], told[1], self._ask)
        return forms.from_parts(name, told)

    def _exception(self, name: str, text: str, kind: Any, error: Any, args: list[Any]) -> BaseException:
        made = kind if instance_of(kind, type) else self._proxies.exception(kind)
        if not issubclass(made, BaseException):
            return CannotJudge("the student's code raised something that is no exception")
        if not issubclass(made, Exception):
            return StudentExit(f"{name}: {text}")
        try:
            raised: BaseException = made(*(args or ([text] if text else [])))
        except TypeError:
            raised = Exception.__new__(made)
            raised.args = (text,)
        if instance_of(error, Handle):
            with contextlib.suppress(AttributeError, TypeError):
                raised.student, raised.told = error, text  # type: ignore[attr-defined]
        return raised

    def _name(self, name: str) -> Any:
        """What a name stands for that the test has not defined."""
        if name.startswith("__"):
            raise KeyError(name)
        if hasattr(builtins, name) and name not in self._students:
            raise KeyError(name)
        if name in self._imports and name not in self._students:
            module, attribute = self._imports[name]
            with contextlib.suppress(ImportError, AttributeError):
                imported = importlib.import_module(module)
                return functools.reduce(getattr, attribute.split("."), imported) if attribute else imported
        if name not in self._known:
            found = self._ask("name", name)
            if instance_of(found, ClassHandle):
                stand_in = self._proxies.exception(found)
                found = stand_in if issubclass(stand_in, BaseException) else found
            if not (instance_of(found, Handle) or instance_of(found, type)):
                return found  # it may be another one after the next call
            self._known[name] = found
        return self._known[name]


def computed(value: Any, handle: Any, ask: Callable[..., Any]) -> Any:
    """A tensor that follows from a computation of the student's: its gradient is taken in their box."""
    torch = sys.modules["torch"]

    class TakenBack(torch.autograd.Function):  # type: ignore[misc,name-defined]
        @staticmethod
        def forward(ctx: Any, one: Any) -> Any:  # noqa: ARG004
            return one.clone()

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:  # noqa: ARG004
            ask("backward", handle, grad)

    made = TakenBack.apply(value.detach().requires_grad_())
    made.student = handle, made._version  # noqa: SLF001 - see `JudgeEncoder`
    return made
