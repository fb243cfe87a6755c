"""Values that a test and a student's code both hold: each side has its own copy, and sends changes.

Runs in boxes, on both sides. A list, an array or a frame that crosses gets a key. Before the next crossing
each side compares its objects with the last state that the other side saw, so a change in place is visible
wherever Python would show it, and one object stays one object.
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
"""Size in bytes up to which content is kept as it is, which is faster than a digest."""
_DEEPEST = 8
_ALONE = 2
"""References to a value that is held only here: that of its entry, and that of the query."""


class KeyedValue:
    """A value in transit, with its key; only the key is sent if the other side has the value."""

    def __init__(self, key: str, value: Any, *, is_known: bool) -> None:
        self.parts = [key] if is_known else [key, value]


class SharedValues:
    """The objects that one side holds, by key."""

    def __init__(
        self, prefix: str, encode: Callable[[Any], Encoded], also: Callable[[Any], bool] = lambda _: False
    ) -> None:
        self._prefix = prefix
        self._also = also
        self._encode = encode
        self._number = 0
        self._held: dict[str, list[Any]] = {}
        self._keys: dict[int, str] = {}

    def mark_value(self, value: Any) -> Any:
        """Return the value with its key if it can be changed in place; otherwise unchanged."""
        key = self._keys.get(id(value))
        if type(value) is tuple and _has_held(value):
            return tuple(self.mark_value(item) for item in value)
        if key is None and not (_is_changeable(value) or self._also(value)):
            return value
        if key is not None:
            return KeyedValue(key, value, is_known=True)
        self._number += 1
        key = f"{self._prefix}{self._number}"
        inside = _mark_inside(value, self.mark_value)
        self._store_value(key, value)
        return KeyedValue(key, inside, is_known=False)

    def copy_value(self, value: Any, is_kept: Callable[[Any], bool]) -> Any:
        """Return the value as it is, for the other side to copy; values that are or will be held get keys.

        Args:
            value: the value to send.
            is_kept: decides whether a value that is not held yet gets a key.
        """
        if id(value) in self._keys or is_kept(value):
            return self.mark_value(value)
        kind = type(value)
        if kind in (list, tuple) and not _are_all_flat(value):
            return kind(self.copy_value(item, is_kept) for item in value)
        if kind is dict and not _are_all_flat(value.values()):
            return {key: self.copy_value(item, is_kept) for key, item in value.items()}
        return value

    def get_held(self, key: str) -> Any:
        """Return the local object of a key; None if there is none."""
        return self._held[key][0] if key in self._held else None

    def receive_value(self, parts: list[Any]) -> Any:
        """Return the local object for a value that the other side has marked."""
        key, *value = parts
        if key not in self._held:
            self._store_value(key, value[0])
        return self._held[key][0]

    def collect_changes(self) -> list[list[Any]]:
        """Return key and value of objects that were changed since the other side last saw them."""
        changed = []
        for key, held in [*self._held.items()]:
            now = self._compute_digest(held[0])
            if now != held[1]:
                changed.append([key, _mark_inside(_get_content(held[0]), self.mark_value)])
                # Anew: marking its parts may have given them keys, which are part of the digest.
                held[1] = self._compute_digest(held[0])
        return changed

    def apply_changes(self, changes: Iterable[list[Any]]) -> None:
        """Change the local objects as the other side has changed its copies."""
        for key, value in changes:
            if held := self._held.get(key):
                _replace_content(held[0], value)
                held[1] = self._compute_digest(held[0])

    def drop_unused(self) -> list[str]:
        """Forget objects that are held only here, and return their keys."""
        gone = [key for key, held in self._held.items() if sys.getrefcount(held[0]) <= _ALONE]
        self.forget_keys(gone)
        return gone

    def forget_keys(self, keys: Iterable[str]) -> None:
        """Forget the objects of these keys."""
        for key in keys:
            if held := self._held.pop(key, None):
                self._keys.pop(id(held[0]), None)

    def has_any(self, is_so: Callable[[Any], bool]) -> bool:
        """Return whether any held object satisfies the condition."""
        return any(is_so(held[0]) for held in self._held.values())

    def _store_value(self, key: str, value: Any) -> None:
        self._held[key] = [value, self._compute_digest(value)]
        # The entry keeps the value alive, so that its id is not assigned to another object.
        self._keys[id(value)] = key

    def _mark_held(self, value: Any) -> Any:
        """Replace a held object by its key inside the object that contains it."""
        key = self._keys.get(id(value))
        if type(value) is tuple:
            return _mark_inside(value, self._mark_held)
        return value if key is None else KeyedValue(key, value, is_known=True)

    def _compute_digest(self, value: Any) -> bytes:
        """Return bytes that change whenever the value does."""
        content = _read_plain_content(value)
        if content is not None:
            return content if len(content) <= _SHORT else hashlib.blake2b(content, digest_size=16).digest()
        try:
            tree, arrays = self._encode(_mark_inside(_get_content(value), self._mark_held))
        except Exception:  # noqa: BLE001 - a value that cannot travel counts as unchanged
            return b""
        digest = hashlib.blake2b(json.dumps(tree).encode(), digest_size=16)
        for array in arrays.values():
            digest.update(f"{array.dtype.str}{array.shape}".encode() + array.tobytes())
        return digest.digest()


def _are_all_flat(values: Iterable[Any]) -> bool:
    return _FLAT.issuperset(map(type, values))


def _read_plain_content(value: Any) -> bytes | None:
    """Return the content of numbers and texts without encoding it; None for other values."""
    kind = type(value)
    if kind is np.ndarray and not value.dtype.hasobject:
        return f"{value.dtype.str}{value.shape}".encode() + bytes(value.tobytes())
    if (kind is dict and _are_all_flat(value) and _are_all_flat(value.values())) or (
        kind in (list, set) and _are_all_flat(value)
    ):
        # Exact types only, so that no method of a student's class runs.
        return repr(value).encode("utf-8", "surrogatepass")
    torch = sys.modules.get("torch")
    if torch is not None and kind in (torch.Tensor, torch.nn.Parameter):
        try:
            parts = [value.detach().numpy()] + ([] if value.grad is None else [value.grad.detach().numpy()])
        except (RuntimeError, TypeError):  # it has no numpy form
            return None
        header = f"{value.requires_grad}{[(part.dtype.str, part.shape) for part in parts]}"
        return b"".join((header.encode(), *(part.tobytes() for part in parts)))
    return None


def _is_changeable(value: Any) -> bool:
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
    """Return whether it is meant to be changed, to get gradients or to draw: a copy would be useless."""
    if type(value) in _GENERATORS or layers.is_copied(value):
        return True
    torch = sys.modules.get("torch")
    is_tensor = torch is not None and type(value) in (torch.Tensor, torch.nn.Parameter)
    return is_tensor and bool(value.is_leaf and value.requires_grad)


def has_other_numbers(held: Any, received: Any) -> bool:
    """Return whether a tensor that gets gradients has other numbers on the other side; parameters may."""
    torch = sys.modules.get("torch")
    if torch is None or type(held) is not torch.Tensor or not held.requires_grad:
        return False
    if not isinstance(received, torch.Tensor) or held.shape != received.shape:
        return True
    return not torch.equal(held.detach().nan_to_num(), received.detach().nan_to_num())


def _has_held(values: Iterable[Any], depth: int = 0) -> bool:
    """Return whether it contains tensors, arrays or the like, at any depth."""
    return depth < _DEEPEST and any(
        (_is_changeable(value) and type(value) not in _CONTAINERS)
        or (type(value) in (list, tuple) and _has_held(value, depth + 1))
        or (type(value) is dict and _has_held(value.values(), depth + 1))
        for value in values
    )


def _mark_inside(value: Any, mark: Callable[[Any], Any]) -> Any:
    """Return a container that has tensors in it with each of them marked separately."""
    kind = type(value)
    if kind in (list, tuple) and _has_held(value):
        return kind(mark(item) for item in value)
    if kind is dict and _has_held(value.values()):
        return {key: mark(item) for key, item in value.items()}
    return value


def _get_content(value: Any) -> Any:
    return layers.read_state(value) if layers.is_copied(value) else value


def _replace_content(target: Any, value: Any) -> None:
    """Make an object equal to another one, in place; a module or an optimizer from its state."""
    if layers.is_copied(target):
        _replace_state(target, value)
    elif type(target) in _GENERATORS:
        parts = forms.to_parts(value)
        assert parts is not None
        forms.set_generator(target, parts[1][1])
    elif isinstance(target, list | bytearray):
        target[:] = value
    elif isinstance(target, dict | set):
        target.clear()
        target.update(value)
    elif isinstance(target, collections.deque):
        target.clear()
        target.extend(value)
    elif isinstance(target, np.ndarray):
        target[...] = value
    elif type(target).__module__.startswith("torch"):
        target.data.copy_(value.data)
        target.requires_grad_(value.requires_grad)
        target.grad = value.grad
    else:
        target._update_inplace(value)  # noqa: SLF001 - as pandas' own methods with inplace=True


def _replace_state(target: Any, value: Any) -> None:
    if layers.is_optimizer(target):
        layers.set_optimizer(target, value)
        return
    layers.set_modes(target, value[0])
    for mine, theirs in zip(layers.read_state(target)[1], value[1], strict=True):
        if mine is not theirs:
            _replace_content(mine, theirs)
