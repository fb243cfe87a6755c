"""Values that a student's box sends in advance: names that the test uses, and attributes of objects.

Runs in the student's box. A value is sent in advance if it is small and cannot change unnoticed: numbers,
texts, functions, objects by handle, and containers and arrays that both sides share.
"""

from __future__ import annotations

import collections
import contextlib
import operator
import sys
import types
from collections.abc import Mapping
from typing import Any

import numpy as np

from autograder.sandbox.inside import forms

MOST_BYTES = 1 << 16
MOST_PARTS = 2000
MOST_ATTRIBUTES = 64
MOST_METHODS = 300
MOST_SHOWN = 32
"""Number of objects with attributes that are examined after each operation."""
_NUMBERS = frozenset((int, float, bool, complex, type(None)))
_FLAT = _NUMBERS | {str, bytes}
_OBJECTS = types.FunctionType | types.ModuleType | types.BuiltinFunctionType | types.MethodType | type
_PLAIN_BASES = (int, float, complex, str, bytes, bytearray, tuple, np.ndarray, np.generic, collections.deque)
ABSENT = object()


def is_steady(value: Any) -> bool:
    """Return whether a value may be sent in advance."""
    kind = type(value)
    if kind in _FLAT or isinstance(value, _OBJECTS):
        return kind in _NUMBERS or kind not in (str, bytes) or len(value) <= MOST_BYTES
    if kind is tuple and _is_named_tensor(value):
        return is_steady(value[1])
    if kind in (list, dict, set, tuple):
        inside = (*value, *value.values()) if kind is dict else value
        return (
            len(inside) <= MOST_PARTS
            and _FLAT.issuperset(map(type, inside))
            and len(repr(value)) <= MOST_BYTES
        )
    if kind is np.ndarray:
        return not value.dtype.hasobject and value.nbytes <= MOST_BYTES
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        leaf = kind in (torch.Tensor, torch.nn.Parameter) and value.is_leaf
        return bool(leaf and value.numel() * value.element_size() <= MOST_BYTES)
    if isinstance(value, _PLAIN_BASES) or str(kind.__module__).partition(".")[0] == "pandas":
        return False
    return forms.to_parts(value) is None


def _is_named_tensor(value: tuple[Any, ...]) -> bool:
    """Return whether it is an item of ``named_parameters()``."""
    torch = sys.modules.get("torch")
    return (
        torch is not None
        and len(value) == 2
        and type(value[0]) is str
        and type(value[1]) in (torch.Tensor, torch.nn.Parameter)
    )


def collect_attributes(value: Any) -> dict[str, Any]:
    """Return the attributes that an object itself holds, if its class leaves attribute access to Python."""
    kind = type(value)
    if not _is_usual(kind) or isinstance(value, _OBJECTS):
        return {}
    fields = getattr(value, "__dict__", None)
    if type(fields) is not dict or len(fields) > MOST_ATTRIBUTES:
        return {}
    return {
        name: attribute
        for name, attribute in (_collect_children(kind, fields) | fields).items()
        if type(name) is str and name[:1] != "_" and is_steady(attribute) and not _is_overridden(kind, name)
    }


def _collect_children(kind: type, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the children of a torch module: found if neither the object nor its class has the name."""
    torch = sys.modules.get("torch")
    module = None if torch is None else torch.nn.Module
    if module not in type.mro(kind) or kind.__getattr__ is not module.__getattr__:  # type: ignore[attr-defined]
        return {}
    modules = fields.get("_modules")
    if type(modules) is not dict or len(modules) > MOST_ATTRIBUTES:
        return {}
    names = {name for base in type.mro(kind) for name in vars(base)}
    return {name: child for name, child in modules.items() if name not in names}


def list_methods(kind: type, instance: Any) -> list[str]:
    """Return the names of the functions in a class, which an instance has as its methods."""
    if not _is_usual(kind):
        return []
    fields = getattr(instance, "__dict__", {})
    functions: dict[str, Any] = {}
    for base in type.mro(kind)[:-1]:
        for name, function in vars(base).items():
            functions.setdefault(name, function)
    names = [
        name
        for name, function in functions.items()
        if type(function) is types.FunctionType and name[:1] != "_" and name not in fields
    ]
    return names[:MOST_METHODS]


def _is_usual(kind: Any) -> bool:
    """Return whether a class leaves attribute access to Python."""
    return bool(kind.__getattribute__ is object.__getattribute__)


def _is_overridden(kind: type, name: str) -> bool:
    """Return whether a data descriptor of the class, such as a property, hides the object's attribute."""
    for base in type.mro(kind):
        if name in vars(base):
            descriptor = type(vars(base)[name])
            # Python consults data descriptors before the object's own attributes.
            return hasattr(descriptor, "__set__") or hasattr(descriptor, "__delete__")
    return False


class AttributeTracker:
    """Objects that a test has seen: their attributes are sent, and sent again when they change."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Any, list[Any]]] = {}
        self._new: dict[str, Any] = {}

    def add_object(self, name: str, value: Any) -> None:
        """Track an object that goes out under this name; if there are too many, drop the oldest ones."""
        if name not in self._known:
            self._new[name] = value

    def collect_changes(self) -> tuple[dict[str, dict[str, Any]], list[str]]:
        """Return name → attributes of changed objects, and names of objects that are no longer sent."""
        updates: dict[str, dict[str, Any]] = {}
        changed = {
            name: value
            for name, (value, before) in self._known.items()
            if not _are_identical(_list_parts(value), before)
        }
        for name, value in (changed | self._new).items():
            if fields := collect_attributes(value):
                updates[name] = fields
                self._known[name] = value, _list_parts(value)
        self._new = {}
        over = [*self._known][: max(0, len(self._known) - MOST_SHOWN)]
        gone = [*over, *(name for name in changed if name not in updates)]
        for name in gone:
            del self._known[name]
            updates.pop(name, None)
        return updates, gone

    def give_up(self) -> list[str]:
        """Stop sending the attributes of all objects, and return their names."""
        gone = [*self._known]
        self._known, self._new = {}, {}
        return gone


def _list_parts(value: Any) -> list[Any]:
    """List everything that decides which attributes an object has."""
    kind, fields = type(value), {}
    with contextlib.suppress(AttributeError):
        # Not by `one.__dict__`, which the class could answer.
        fields = object.__getattribute__(value, "__dict__")
    inner = fields.get("_modules")
    inner = inner if type(inner) is dict else {}
    parts: list[Any] = [kind, *fields, *fields.values(), *inner, *inner.values()]
    for base in type.mro(kind):
        parts += vars(base).values()
    return parts


def _are_identical(now: list[Any], before: list[Any]) -> bool:
    # By identity: comparing by value would run methods of the student's classes.
    return len(now) == len(before) and all(map(operator.is_, now, before))


class NameTracker:
    """Names of the notebook that a test uses, with the values that were last sent."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        self._names = names
        self._told: dict[str, Any] = {}

    def watch_names(self, wanted: list[str]) -> None:
        """Watch these names from now on; no value has been sent yet."""
        self._told = dict.fromkeys(wanted, ABSENT)

    @property
    def names(self) -> list[str]:
        """All of them, to be requested again."""
        return [*self._told]

    def collect_changes(self) -> tuple[dict[str, Any], list[str]]:
        """Return names with new values, and names with values that cannot be sent in advance any more."""
        bound: dict[str, Any] = {}
        gone: list[str] = []
        for name, before in self._told.items():
            now = self._names.get(name, ABSENT)
            if now is before:
                continue
            self._told[name] = now
            if now is not ABSENT and is_steady(now):
                bound[name] = now
            else:
                gone.append(name)
        return bound, gone
