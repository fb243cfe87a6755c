"""Values that a test and a student's code both hold: each side has its own copy, and tells of changes.

Runs in boxes, on both sides. A list, an array or a frame that crosses gets a key. Before the next crossing
each side compares what it holds with what the other one last saw, so a change in place is seen where Python
would show it, and one object stays one object.
"""

from __future__ import annotations

import collections
import hashlib
import json
import random
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from autograder.sandbox.inside import forms, layers

Encoded = tuple[Any, Mapping[str, np.ndarray]]
_CONTAINERS = (list, dict, set, bytearray, collections.deque, collections.Counter, collections.OrderedDict)
_GENERATORS = (random.Random, np.random.Generator, np.random.RandomState)
_FLAT = frozenset((int, float, str, bytes, bool, complex, type(None)))
_SHORT = 1 << 14
"""Bytes that are kept as they are, which is quicker than a digest."""
_DEEPEST = 8
_ALONE = 2
"""References to a value that nobody else holds: its entry's, and that of asking."""


class Keyed:
    """A value on its way, with its key; the value stays at home where the other side has it."""

    def __init__(self, key: str, value: Any, *, known: bool) -> None:
        self.parts = [key] if known else [key, value]


class SharedValues:
    """What one side holds, by key."""

    def __init__(
        self, prefix: str, encode: Callable[[Any], Encoded], also: Callable[[Any], bool] = lambda _: False
    ) -> None:
        self._prefix = prefix
        self._also = also
        self._encode = encode
        self._number = 0
        self._held: dict[str, list[Any]] = {}
        self._keys: dict[int, str] = {}

    def marked(self, value: Any) -> Any:
        """The value with its key, where it can be changed in place; else as it is."""
        key = self._keys.get(id(value))
        if type(value) is tuple and _has_held(value):
            return tuple(self.marked(one) for one in value)
        if key is None and not (_changeable(value) or self._also(value)):
            return value
        if key is not None:
            return Keyed(key, value, known=True)
        self._number += 1
        key = f"{self._prefix}{self._number}"
        inside = _with_inside(value, self.marked)
        self._hold(key, value)
        return Keyed(key, inside, known=False)

    def copied(self, value: Any, is_kept: Callable[[Any], bool]) -> Any:
        """The value as it is, for the other side to copy; with keys what is held, or is to be.

        Args:
            value: to go out.
            is_kept: whether a value that is not held yet gets a key.
        """
        if id(value) in self._keys or is_kept(value):
            return self.marked(value)
        kind = type(value)
        if kind in (list, tuple) and not _all_flat(value):
            return kind(self.copied(one, is_kept) for one in value)
        if kind is dict and not _all_flat(value.values()):
            return {key: self.copied(one, is_kept) for key, one in value.items()}
        return value

    def held(self, key: str) -> Any:
        """The own object of a key; None if nothing is held by it."""
        return self._held[key][0] if key in self._held else None

    def received(self, parts: list[Any]) -> Any:
        """The own object of what the other side has marked."""
        key, *value = parts
        if key not in self._held:
            self._hold(key, value[0])
        return self._held[key][0]

    def changes(self) -> list[list[Any]]:
        """Key and value of what was changed since the other side last saw it."""
        found = []
        for key, held in [*self._held.items()]:
            now = self._digest(held[0])
            if now != held[1]:
                found.append([key, _with_inside(_content(held[0]), self.marked)])
                held[1] = self._digest(held[0])
        return found

    def apply(self, changes: Iterable[list[Any]]) -> None:
        """Change the own objects as the other side has changed its copies."""
        for key, value in changes:
            if held := self._held.get(key):
                _replace(held[0], value)
                held[1] = self._digest(held[0])

    def let_go(self) -> list[str]:
        """Forget what nobody else here holds any more; the keys."""
        gone = [key for key, held in self._held.items() if sys.getrefcount(held[0]) <= _ALONE]
        self.forget(gone)
        return gone

    def forget(self, keys: Iterable[str]) -> None:
        """Let go of these."""
        for key in keys:
            if held := self._held.pop(key, None):
                self._keys.pop(id(held[0]), None)

    @property
    def newest(self) -> int:
        """How many got a key here until now."""
        return self._number

    def any(self, is_so: Callable[[Any], bool]) -> bool:
        """Whether something that is held is so."""
        return any(is_so(held[0]) for held in self._held.values())

    def forget_since(self, number: int) -> None:
        """Let go of what got its key here after so many: the other side did not get it."""
        self.forget(f"{self._prefix}{one}" for one in range(number + 1, self._number + 1))

    def _hold(self, key: str, value: Any) -> None:
        self._held[key] = [value, self._digest(value)]
        self._keys[id(value)] = key

    def _by_key(self, value: Any) -> Any:
        """What is held itself counts as one object in what holds it."""
        key = self._keys.get(id(value))
        if type(value) is tuple:
            return _with_inside(value, self._by_key)
        return value if key is None else Keyed(key, value, known=True)

    def _digest(self, value: Any) -> bytes:
        """What is another one when the value is."""
        content = _plain_content(value)
        if content is not None:
            return content if len(content) <= _SHORT else hashlib.blake2b(content, digest_size=16).digest()
        try:
            tree, arrays = self._encode(_with_inside(_content(value), self._by_key))
        except Exception:  # noqa: BLE001 - what cannot travel by now has not changed for the other side
            return b""
        digest = hashlib.blake2b(json.dumps(tree).encode(), digest_size=16)
        for array in arrays.values():
            digest.update(f"{array.dtype.str}{array.shape}".encode() + array.tobytes())
        return digest.digest()


def _all_flat(values: Iterable[Any]) -> bool:
    return _FLAT.issuperset(map(type, values))


def _plain_content(value: Any) -> bytes | None:
    """All of a value of numbers and texts, without encoding it; None of others."""
    kind = type(value)
    if kind is np.ndarray and not value.dtype.hasobject:
        return f"{value.dtype.str}{value.shape}".encode() + bytes(value.tobytes())
    if (kind is dict and _all_flat(value) and _all_flat(value.values())) or (
        kind in (list, set) and _all_flat(value)
    ):
        return repr(value).encode("utf-8", "surrogatepass")
    torch = sys.modules.get("torch")
    if torch is not None and kind in (torch.Tensor, torch.nn.Parameter):
        try:
            parts = [value.detach().numpy()] + ([] if value.grad is None else [value.grad.detach().numpy()])
        except (RuntimeError, TypeError):  # it has no such form
            return None
        told = f"{value.requires_grad}{[(one.dtype.str, one.shape) for one in parts]}"
        return b"".join((told.encode(), *(one.tobytes() for one in parts)))
    return None


def _changeable(value: Any) -> bool:
    kind = type(value)
    if kind in _CONTAINERS or kind is np.ndarray or kind in _GENERATORS:
        return True
    torch, pandas = sys.modules.get("torch"), sys.modules.get("pandas")
    if torch is not None and (kind is torch.Tensor or kind is torch.nn.Parameter):
        return bool(value.is_leaf)
    return pandas is not None and kind in (
        getattr(pandas, "DataFrame", None),
        getattr(pandas, "Series", None),
    )


def is_trained(value: Any) -> bool:
    """Whether it is there to be changed, or to get gradients or draw: a copy would be of no use."""
    if type(value) in _GENERATORS or layers.is_copied(value):
        return True
    torch = sys.modules.get("torch")
    is_tensor = torch is not None and type(value) in (torch.Tensor, torch.nn.Parameter)
    return is_tensor and bool(value.is_leaf and value.requires_grad)


def differs_inside(own: Any, told: Any) -> bool:
    """Whether a tensor that gets gradients has other numbers on the other side; a parameter may have."""
    torch = sys.modules.get("torch")
    if torch is None or type(own) is not torch.Tensor or not own.requires_grad:
        return False
    if not isinstance(told, torch.Tensor) or own.shape != told.shape:
        return True
    return not torch.equal(own.detach().nan_to_num(), told.detach().nan_to_num())


def _has_held(values: Iterable[Any], depth: int = 0) -> bool:
    """Whether there are tensors, arrays or the like in it, however deep."""
    return depth < _DEEPEST and any(
        (_changeable(one) and type(one) not in _CONTAINERS)
        or (type(one) in (list, tuple) and _has_held(one, depth + 1))
        or (type(one) is dict and _has_held(one.values(), depth + 1))
        for one in values
    )


def _with_inside(value: Any, mark: Callable[[Any], Any]) -> Any:
    """A container with tensors in it, in which each is held for itself."""
    kind = type(value)
    if kind in (list, tuple) and _has_held(value):
        return kind(mark(one) for one in value)
    if kind is dict and _has_held(value.values()):
        return {key: mark(one) for key, one in value.items()}
    return value


def _content(value: Any) -> Any:
    return layers.state(value) if layers.is_copied(value) else value


def _replace(own: Any, value: Any) -> None:
    """Make an object equal to another one, in place; a module or an optimizer from its state."""
    if layers.is_copied(own):
        _replace_state(own, value)
    elif type(own) in _GENERATORS:
        found = forms.parts_of(value)
        assert found is not None
        forms.set_generator(own, found[1][1])
    elif isinstance(own, list | bytearray):
        own[:] = value
    elif isinstance(own, dict | set):
        own.clear()
        own.update(value)
    elif isinstance(own, collections.deque):
        own.clear()
        own.extend(value)
    elif isinstance(own, np.ndarray):
        own[...] = value
    elif type(own).__module__.startswith("torch"):
        own.data.copy_(value.data)
        own.requires_grad_(value.requires_grad)
        own.grad = value.grad
    else:
        own._update_inplace(value)  # noqa: SLF001 - as pandas' own methods with inplace=True


def _replace_state(own: Any, value: Any) -> None:
    if layers.is_optimizer(own):
        layers.set_optimizer(own, value)
        return
    layers.modes(own, value[0])
    for mine, one in zip(layers.state(own)[1], value[1], strict=True):
        if mine is not one:
            _replace(mine, one)
