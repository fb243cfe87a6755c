"""Values that a test and a student's code both hold: each side has its own copy, and sends changes.

Runs in boxes, on both sides. A list, an array or a frame that crosses gets a key. Before the next crossing
each side compares its objects with the last state that the other side saw, so a change in place is visible
wherever Python would show it, and one object stays one object.
"""

from __future__ import annotations

import collections
import contextlib
import ctypes
import hashlib
import importlib
import json
import random
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from autograder.sandbox.inside import value_conversion

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
    if type(value) in _GENERATORS or is_copied(value):
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
    return read_state(value) if is_copied(value) else value


def _replace_content(target: Any, value: Any) -> None:
    """Make an object equal to another one, in place; a module or an optimizer from its state."""
    if is_copied(target):
        _replace_state(target, value)
    elif type(target) in _GENERATORS:
        parts = value_conversion.to_parts(value)
        assert parts is not None
        value_conversion.set_generator(target, parts[1][1])
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
    if is_optimizer(target):
        set_optimizer(target, value)
        return
    set_modes(target, value[0])
    for mine, theirs in zip(read_state(target)[1], value[1], strict=True):
        if mine is not theirs:
            _replace_content(mine, theirs)


# ---------------------------------------------------------------- modules and optimizers of torch
# Those that a test makes and passes to the student's code: only a test's side takes them apart. Those of a
# student's box stay there, behind a handle.


_OWN = "torch.nn.modules."
_NOT_COPIED = ("_flat_weights", "parametrizations")
"""Attributes of modules that keep parameters in more than one place."""
_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def is_layer(value: Any) -> bool:
    """Return whether it is a module of exactly a class of torch's, without hooks."""
    kind = type(value)
    if "torch" not in sys.modules or not str(kind.__module__).startswith(_OWN):
        return False
    fields: dict[str, Any] = vars(value)
    # Hooks would not be called when the other side uses its copy.
    return not any(fields.get(name) for name in _HOOKS) and not any(name in fields for name in _NOT_COPIED)


def is_optimizer(value: Any) -> bool:
    """Return whether it is an optimizer of exactly a class of torch's."""
    torch = sys.modules.get("torch")
    return torch is not None and type(value) is getattr(torch.optim, type(value).__name__, None)


def is_copied(value: Any) -> bool:
    """Return whether both sides get a copy of it, with the same state."""
    return is_layer(value) or is_optimizer(value)


def is_hooked(value: Any) -> bool:
    """Return whether it has hooks, which are not called when the other side's copy is used."""
    torch = sys.modules.get("torch")
    if torch is None:
        return False
    if isinstance(value, torch.Tensor):
        return bool(value._backward_hooks)  # noqa: SLF001
    return isinstance(value, torch.nn.Module) and any(
        vars(module).get(name) for module in value.modules() for name in _HOOKS
    )


def describe_optimizer(value: Any, mark: Callable[[Any], Any]) -> list[Any]:
    """Return the name of its class, and its groups with the state of each parameter."""
    hypers, states = read_state(value)
    groups = [[mark(item) for item in group["params"]] for group in value.param_groups]
    return [type(value).__name__, groups, hypers, [None if item is None else mark(item) for item in states]]


def build_optimizer(description: list[Any]) -> Any:
    """Build the optimizer of these parts."""
    name, groups, hypers, states = description
    torch = sys.modules["torch"]
    kind = getattr(torch.optim, name)
    if not issubclass(kind, torch.optim.Optimizer):
        raise TypeError(f"{name!r} is no optimizer")
    optimizer = kind([{**hyper, "params": params} for params, hyper in zip(groups, hypers, strict=True)])
    set_optimizer(optimizer, [hypers, states])
    return optimizer


def set_optimizer(optimizer: Any, new_state: list[Any]) -> None:
    """Put an optimizer into a state, as `read_state` returns it."""
    hypers, states = new_state
    parameters = [item for group in optimizer.param_groups for item in group["params"]]
    for group, hyper in zip(optimizer.param_groups, hypers, strict=True):
        group.update(hyper)
    for parameter, item in zip(parameters, states, strict=True):
        if item is not None:
            optimizer.state[parameter] = item


def describe_module(value: Any, mark: Callable[[Any], Any]) -> list[Any]:
    """Return module and name of its class, its plain attributes, parameters, buffers and children.

    Args:
        value: the module.
        mark: returns the value that is sent instead of a tensor.
    """
    # The attributes of an empty module exist on the other side as well.
    base = vars(sys.modules["torch"].nn.Module())
    plain = [[name, item] for name, item in vars(value).items() if name not in base]
    children = [[name, item] for name, item in value._modules.items()]  # noqa: SLF001
    parameters = [[name, mark(item)] for name, item in value._parameters.items()]  # noqa: SLF001
    buffers = [
        [name, mark(item), name not in value._non_persistent_buffers_set]  # noqa: SLF001
        for name, item in value._buffers.items()  # noqa: SLF001
    ]
    kind = type(value)
    return [kind.__module__, kind.__qualname__, value.training, plain, parameters, buffers, children]


def is_of_tensors(value: Any) -> bool:
    """Return whether it is the result of ``parameters()`` of a module."""
    torch = sys.modules.get("torch")
    return (
        torch is not None
        and type(value) is types.GeneratorType
        and value.gi_code is torch.nn.Module.parameters.__code__
    )


def build_module(description: list[Any]) -> Any:
    """Build the module of these parts."""
    torch = sys.modules["torch"]
    module, name, training, plain, parameters, buffers, children = description
    kind = getattr(importlib.import_module(module), name)
    # Not by the constructor, which needs arguments and would draw new parameters.
    layer = kind.__new__(kind)
    torch.nn.Module.__init__(layer)
    vars(layer).update(plain, training=training)
    for title, item in parameters:
        layer.register_parameter(title, None if item is None else _to_parameter(torch, item))
    for title, item, persistent in buffers:
        layer.register_buffer(title, item, persistent=persistent)
    for title, item in children:
        layer.add_module(title, item)
    return layer


def read_state(value: Any) -> list[Any]:
    """Return the part that changes while it is used: modes, and tensors with their gradients.

    For an optimizer: the settings of its groups, and the state of each parameter.
    """
    if is_optimizer(value):
        hypers = [
            {name: item for name, item in group.items() if name != "params"} for group in value.param_groups
        ]
        return [hypers, [value.state.get(item) for group in value.param_groups for item in group["params"]]]
    return [[item.training for item in value.modules()], [*value.parameters(), *value.buffers()]]


def set_modes(value: Any, flags: list[bool]) -> None:
    """Set whether it and each of its children are in training mode."""
    for module, training in zip(value.modules(), flags, strict=True):
        module.training = training


def _to_parameter(torch: Any, value: Any) -> Any:
    if type(value) is torch.nn.Parameter:
        return value
    parameter = torch.nn.Parameter(value.detach(), requires_grad=value.requires_grad)
    parameter.grad = value.grad
    return parameter


# ---------------------------------------------------------------- generators of random numbers
# Their states go along, so that a seed set by a test is valid in the student's box.


_PYTHONS: Any = random.getstate.__self__  # type: ignore[attr-defined]
"""Python's global generator, even if a notebook replaces it."""


_SIZE_OF_STATE = 2500
"""Bytes of NumPy's Mersenne Twister: 624 words and a position."""


class _NumpyGenerator:
    """NumPy's global generator; only a state that has moved is read in full, because that takes 30 µs."""

    def __init__(self) -> None:
        self._memory: bytes | None = None
        self._state: Any = None

    def get_state(self) -> Any:
        """Return its state, as `np.random.get_state` does."""
        generator = np.random.get_bit_generator()  # type: ignore[attr-defined] # it lacks a declaration
        is_usual = type(generator) is np.random.MT19937
        memory = ctypes.string_at(generator.ctypes.state_address, _SIZE_OF_STATE) if is_usual else None
        # A spare normal number, which is not in this memory, can be used up while the memory stays the same;
        # without one, only code that puts back a state of its own could bring one there.
        if memory is None or memory != self._memory or self._state[3]:
            self._memory, self._state = memory, np.random.get_state()
        return self._state

    def restore_state(self, state: Any) -> None:
        """Put it into a state that it had."""
        if self.get_state() is not state:
            self.set_state(state)

    def set_state(self, state: Any) -> None:
        """Put it into a state."""
        np.random.set_state(state)
        self._memory = None


_NUMPYS = _NumpyGenerator()


class Generators:
    """The global generators of a box, and the states that the other box last knew."""

    def __init__(self) -> None:
        self._random: Any = None
        self._numpy: Any = None
        self._torch = b""
        self.collect_moved_states()

    def collect_moved_states(self) -> dict[str, Any]:
        """Return the states that have moved since the last call, as plain values and arrays."""
        states: dict[str, Any] = {}
        if (pythons := _PYTHONS.getstate()) != self._random:
            self._random = pythons
            version, numbers, spare = pythons
            states["random"] = [version, np.array(numbers, np.int64), spare]
        numpys = _NUMPYS.get_state()
        state = (numpys[1].tobytes(), *map(int, numpys[2:4]), float(numpys[4]))
        if state != self._numpy:
            self._numpy = state
            states["numpy"] = [numpys[1], *state[1:]]
        if (torch := sys.modules.get("torch")) is not None:
            torchs = torch.default_generator.get_state().numpy()
            if (drawn := torchs.tobytes()) != self._torch:
                self._torch, states["torch"] = drawn, torchs
        return states

    def forget_states(self) -> None:
        """Assume that the other box knows none of the states."""
        self._random = self._numpy = None
        self._torch = b""

    def restore_states(self, states: dict[str, Any]) -> None:
        """Put the generators into these states, which the other box knows.

        Raises:
            Exception: of any type, if they are no states: they may be under the student's control.
        """
        if "random" in states:
            version, numbers, spare = states["random"]
            _PYTHONS.setstate((version, tuple(map(int, numbers)), spare))
        if "numpy" in states:
            _NUMPYS.set_state(("MT19937", np.array(states["numpy"][0], np.uint32), *states["numpy"][1:]))
        if "torch" in states:
            torch = sys.modules["torch"]
            torch.set_rng_state(torch.from_numpy(np.array(states["torch"], np.uint8)))
        # The other box knows these states, so they must not count as moved.
        if states:
            self.collect_moved_states()


@contextlib.contextmanager
def keep_states() -> Iterator[None]:
    """Restore the present states of the global generators afterwards."""
    pythons, numpys = _PYTHONS.getstate(), _NUMPYS.get_state()
    torch = sys.modules.get("torch")
    torchs = None if torch is None else torch.default_generator.get_state()
    try:
        yield
    finally:
        _PYTHONS.setstate(pythons)
        _NUMPYS.restore_state(numpys)
        if torch is not None and torchs is not None:
            torch.default_generator.set_state(torchs)
