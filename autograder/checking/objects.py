"""Access of checks to the student's objects.

Without a sandbox these are ordinary Python objects of the same process. In the judge's sandbox they are
handles, and the sandbox replaces the methods of `Objects` (`install_objects`).
"""

from __future__ import annotations

import importlib
import inspect
import random
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np


class LateModule:
    """A proxy that imports a module on first use: sandboxes import our modules before they are confined."""

    def __init__(self, name: str) -> None:
        """Import nothing yet."""
        self._name = name

    def __getattr__(self, name: str) -> Any:
        module = sys.modules.get(self._name) or importlib.import_module(self._name)
        return getattr(module, name)


STUDENT_FILE = "<answer>"
"""The file name under which a student's code is compiled if it has no file."""


class Objects:
    """The student's objects in the same process."""

    most_together: ClassVar[int] = 1
    """Calls that are made in one step, if each step has a cost."""

    def __init__(self, student_files: Sequence[str] = (STUDENT_FILE,)) -> None:
        self._student_files = frozenset(student_files)

    def run_beside(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function of ours in the process of the student's objects, with any number of operations.

        Args:
            function: at the top level of `autograder.checking.models`. Its result cannot be trusted, because
                the student's code can change anything that is computed there.
            arguments: plain data, or objects of the student's. From a sandbox the function gets copies.
        """
        return function(*arguments)

    def call_by_name(self, function: Any, arguments: Mapping[str, Any], seed: int) -> Any:
        """Call a function by name if its signature has all the names, otherwise by position; seed before."""
        return call_by_name(function, arguments, seed)

    def seed_generators(self, seed: int) -> None:
        """Seed the generators of the check and of the student's code."""
        seed_generators(seed)

    def allow_changes(self, value: Any) -> None:
        """Pass a value itself instead of copies. In one process there are no copies."""

    def is_handle(self, value: Any) -> bool:
        """Return whether a value represents an object that cannot leave the student's sandbox."""
        del value
        return False

    def get_contents(self, value: Any) -> Any:
        """Return the actual contents of a handle on a container of the student's.

        None if it is no container.
        """
        del value

    def is_raised_by_student(self, error: BaseException) -> bool:
        """Return whether the student's code raised an exception, rather than the check."""
        trace = error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename in self._student_files:
                return True
            trace = trace.tb_next
        return isinstance(error, AttributeError) and self._is_students(error.obj)

    def _is_students(self, value: Any) -> bool:
        """Return whether a class or function is defined in a student's file, or an object's class is."""
        owner = value if isinstance(value, type | types.FunctionType) else type(value)
        module = sys.modules.get(owner.__module__)
        return getattr(module, "__file__", None) in self._student_files

    def get_error_name(self, error: BaseException) -> str:
        """Return the name of an exception of the student's code, or how their process ended."""
        return "MemoryError" if isinstance(error, MemoryError) else type(error).__name__  # also NumPy's

    def get_class_name(self, value: Any) -> str:
        """Return the name of a value's class, for messages."""
        return type(value).__name__


def call_by_name(function: Any, arguments: Mapping[str, Any], seed: int) -> Any:
    """See `Objects.call_by_name`."""
    names = _list_parameters(function)
    seed_generators(seed)
    return function(**arguments) if names.issuperset(arguments) else function(*arguments.values())


def _list_parameters(function: Any) -> frozenset[str]:
    """Return the names of a callable's parameters; for a module of torch those of its ``forward``."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(function, torch.nn.Module):
        function = function.forward
    plain = function.__func__ if type(function) is types.MethodType else function
    if type(plain) is types.FunctionType and not plain.__dict__:  # no decorator says otherwise
        code = plain.__code__
        return frozenset(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
    try:
        return frozenset(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return frozenset()


def seed_generators(seed: int) -> None:
    """Seed random, numpy and, if it is loaded, torch."""
    random.seed(seed)
    np.random.seed(seed % 2**32)  # students use the global generator
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.default_generator.manual_seed(seed)  # torch.manual_seed looks for devices each time


_current: list[Objects] = [Objects()]


def install_objects(objects: Objects) -> Callable[[], None]:
    """Access the student's objects in another way; return a function that undoes it."""
    _current.append(objects)
    return lambda: _current.remove(objects)


def get_objects() -> Objects:
    """Return the current access to the student's objects."""
    return _current[-1]
