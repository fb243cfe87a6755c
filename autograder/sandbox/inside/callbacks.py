"""Functions of a test that the student's code calls: they run in the judge's box, on plain data and handles.

Runs in boxes, on both sides. `OwnFunctions` keeps them on the test's side; `Callbacks` makes their stand-ins
in the student's box. The only requests to one are a call or, for an iterator, its next step.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
import os
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any

from autograder.sandbox.inside import value_conversion
from autograder.sandbox.inside.proxies import CannotJudge

MOST_OPEN = 150
"""Limit for nested calls of a test's functions: each takes some room on the stacks of both boxes."""
_FUNCTIONS = (
    types.FunctionType,
    types.MethodType,
    types.BuiltinFunctionType,
    types.MethodWrapperType,
    functools.partial,
    type(functools.lru_cache(lambda: None)),
)
_LIBRARIES = frozenset(("builtins", "itertools"))
_STEPS: dict[str, Callable[..., Any]] = {
    "next": next,
    "send": lambda iterator, value: iterator.send(value),
    "close": lambda iterator: iterator.close(),
}
"""Requests to an iterator: a name from the student's box is never looked up in an object."""
_KINDS: tuple[Any, ...] = tuple(type(inspect.Parameter.KEYWORD_ONLY))  # type: ignore[arg-type]
"""The kinds of parameters by the numbers that `inspect` gives them."""
_TEXT = frozenset(("__name__", "__qualname__", "__doc__"))


class AbandonedTest(BaseException):
    """The test is over, while one of its functions was still being called."""


class OwnFunctions:
    """The test's side: functions and iterators by key, and the exceptions they raised."""

    def __init__(self) -> None:
        self._number = itertools.count()
        self._functions: dict[str, Any] = {}
        self._keys: dict[int, str] = {}
        self._thrown: dict[str, BaseException] = {}
        self.open = 0

    def describe_function(self, value: Any) -> list[Any] | None:
        """Return key, kind, names and parameters; None for a value that is neither function nor iterator."""
        is_function = isinstance(value, _FUNCTIONS)
        kind = type(value)
        if not is_function and not (
            kind is types.GeneratorType or (kind.__module__ in _LIBRARIES and hasattr(kind, "__next__"))
        ):
            return None
        key = self._keys.get(id(value))
        if key is None:
            key = self._keys[id(value)] = f"own-{next(self._number)}"
            # Kept alive by this, so that its id is not assigned to another object.
            self._functions[key] = value
        names = {name: getattr(value, name, None) for name in sorted(_TEXT)}
        texts = [[name, text] for name, text in names.items() if type(text) is str]
        return (
            [key, "call", texts, _describe_parameters(value)] if is_function else [key, "next", texts, None]
        )

    def __getitem__(self, key: str) -> Any:
        return self._functions[key]

    def call_function(self, request: list[Any]) -> Any:
        """Carry out a request of the student's code.

        Args:
            request: how (``call``; for an iterator ``next``, ``send`` or ``close``), key, arguments and
                keywords.

        Raises:
            BaseException: as the function does.
        """
        how, key, args, kwargs = request
        function = self._functions[str(key)]
        if how not in (("call",) if isinstance(function, _FUNCTIONS) else _STEPS):
            raise CannotJudge("has a function or an iterator of its own asked for something else")
        if self.open >= MOST_OPEN:  # Python's own limit is higher: not the student's fault
            raise CannotJudge(f"it calls its own functions more than {MOST_OPEN} deep")
        self.open += 1
        try:
            if how == "call":
                return function(*args, **kwargs)
            return _STEPS[how](function, *args)
        finally:
            self.open -= 1

    def describe_exception(self, error: BaseException) -> list[Any]:
        """Describe an exception: the nearest known class, its own name, text, arguments, key."""
        key = f"error-{next(self._number)}"
        self._thrown[key] = error
        base = next(item for item in type(error).__mro__ if value_conversion.to_named_parts(item) is not None)
        plain = error.args if all(type(item) in (str, int, float, bool) for item in error.args) else ()
        return [base, type(error).__name__, str(error)[:600], list(plain), key]

    def get_exception(self, key: str) -> BaseException:
        """Return the exception that came back."""
        return self._thrown[key]


class Callbacks:
    """The student's side."""

    def __init__(self, call: Callable[[str, str, tuple[Any, ...], dict[str, Any]], Any]) -> None:
        """Prepare the callbacks of a test.

        Args:
            call: requests a call: how, key, arguments and keywords.
        """
        self._call = call
        self._lock = threading.RLock()
        self._stubs: dict[str, Any] = {}
        self._keys: dict[int, str] = {}
        self._thrown: dict[int, tuple[BaseException, str]] = {}
        self._serving = False
        self.open = 0

    @contextlib.contextmanager
    def accept_calls(self) -> Iterator[None]:
        """Accept calls of the test's functions, while the test waits for the result of an operation."""
        # With the process id: a forked child must not use the pipes of its parent.
        self._process, self._serving, self.open = os.getpid(), True, 0
        try:
            yield
        finally:
            self._serving = False

    def create_stub(
        self, key: str, how: str, texts: list[list[str]], parameters: list[list[Any]] | None
    ) -> Any:
        """Create the stand-in for a function or an iterator of the test's."""
        if key not in self._stubs:
            if how == "next":
                stub: Any = _OwnIterator(functools.partial(self._request_call, key))
            else:
                stub = _build_function(functools.partial(self._request_call, key, "call"), parameters)
            for name, text in texts if how == "call" else ():
                setattr(stub, name, text)
            self._stubs[key] = stub
            self._keys[id(stub)] = key
        return self._stubs[key]

    def find_key(self, value: Any) -> str | None:
        """Return the key of the object that a stub represents."""
        return self._keys.get(id(value))

    def find_thrown_key(self, error: BaseException) -> str | None:
        """Return the key of an exception that a function of the test's raised."""
        return self._thrown.get(id(error), (None, None))[1]

    def build_exception(self, base: Any, title: str, text: str, args: Any, key: str) -> BaseException:
        """Build the stand-in for an exception of the test's."""
        kind: Any = base if base.__name__ == title else type(title, (base,), {})
        try:
            error: BaseException = kind(*(args or ([text] if text else [])))
        except TypeError:
            error = kind.__new__(kind)
            error.args = (text,)
        # With the exception itself, so that its id is not assigned to another object.
        self._thrown[id(error)] = error, key
        return error

    def _request_call(self, key: str, how: str, /, *args: Any, **kwargs: Any) -> Any:
        # Threads of the student's code may call at the same time, but there is one pair of pipes.
        with self._lock:
            if not self._serving or self._process != os.getpid():
                raise RuntimeError("a function of a test can be called only while the test waits for it")
            self.open += 1
            try:
                return self._call(how, key, args, kwargs)
            finally:
                self.open -= 1


def _describe_parameters(function: Any) -> list[list[Any]] | None:
    """Return name, kind, whether there is a default, and the default; None if unknown or not plain."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (ValueError, TypeError):
        return None
    described = [
        [parameter.name, int(parameter.kind), parameter.default is not parameter.empty, parameter.default]
        for parameter in parameters
    ]
    if not all(_is_plain(parameter[3]) for parameter in described if parameter[2]):
        return None
    return [[*parameter[:3], parameter[3] if parameter[2] else None] for parameter in described]


def _is_plain(value: Any) -> bool:
    return type(value) in (str, bool, type(None)) or (type(value) is int and abs(value) < 1 << 31)


def _build_function(ask: Callable[..., Any], parameters: list[list[Any]] | None) -> Any:
    """Build a function that shows the parameters of another one to code that inspects them."""

    def function(*args: Any, **kwargs: Any) -> Any:
        return ask(*args, **kwargs)

    if parameters is not None:
        shown = [
            inspect.Parameter(name, _KINDS[kind], default=default if has_default else inspect.Parameter.empty)
            for name, kind, has_default, default in parameters
        ]
        function.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    return function


class _OwnIterator:
    """An iterator that continues in the judge's box."""

    def __init__(self, ask: Callable[..., Any]) -> None:
        self._asked = ask

    def __iter__(self) -> _OwnIterator:
        return self

    def __next__(self) -> Any:
        return self._asked("next")

    def send(self, value: Any) -> Any:
        return self._asked("send", value)

    def close(self) -> Any:
        return self._asked("close")
