"""The student's end of a test that runs elsewhere: carries out one operation at a time. Runs in their box.

Objects without a plain form are kept here, and a handle is sent instead. Nothing here is trusted after
student code has run: its answers are under the student's control, and arrive as plain data or as handles.
"""

from __future__ import annotations

import builtins
import contextlib
import copy
import functools
import gc
import importlib
import importlib.util
import io
import itertools
import operator
import os
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from autograder.checking.loader import define_module
from autograder.checking.objects import call_by_name, seed_generators
from autograder.sandbox.exchange import wire
from autograder.sandbox.inside import shared_values, value_conversion
from autograder.sandbox.inside.callbacks import AbandonedTest, Callbacks
from autograder.sandbox.inside.gradients import build_weighted_sum, compute_student_gradients
from autograder.sandbox.inside.shared_values import Encoded, Generators, KeyedValue, SharedValues, keep_states
from autograder.sandbox.inside.source_runner import run_test
from autograder.sandbox.inside.value_conversion import GuestEncoder, as_plain, build_own_array

MODELS = "autograder.checking.models"
"""The module with the functions that checks may run next to the student's objects."""
MOST_HANDLES = 100_000
MOST_METHODS = 300
MOST_CAUSES = 3
MOST_PRINTED = 200_000
MANY_NUMBERS = 256
DEEP = 16
"""Depth from which on containers are sent as a flat list, since frames are not nested deeper than 32."""
Further = Callable[[Encoded, int], Encoded]
_PYTHONS = {kind: ["types", name] for name, kind in vars(types).items() if isinstance(kind, type)}
"""Python's own classes that only `types` has a name for: of generators, methods and the like."""
_KEYS = frozenset((str, int, float, bool, type(None), tuple))
_CONTAINERS = (list, tuple, dict)


class TooManyObjects(MemoryError):
    """A test holds more objects than any answer needs; this was not raised by the student's code."""


class HandleEncoder(GuestEncoder):
    """Adds further known types in parts, and handles for all other objects."""

    def __init__(
        self, handle: Callable[[Any], dict[str, Any]], follows: Callable[[Any], list[str]] = lambda _: []
    ) -> None:
        super().__init__()
        self._follows = follows
        self._flat = False
        self._handle = handle

    def encode(self, value: Any, depth: int = 0) -> Any:
        """Encode a value; a dictionary with other keys is sent in pairs, and many numbers as an array."""
        kind = type(value)
        if kind not in _CONTAINERS:
            return super().encode(value, depth)
        if kind is dict and not _KEYS.issuperset(map(type, value)):
            return self._encode_form("mapping", [[key, item] for key, item in value.items()], depth)
        if depth > DEEP and not self._flat:
            self._flat = True
            try:
                return self._encode_form("flat", value_conversion.flatten_containers(value), depth)
            finally:
                self._flat = False
        if kind is list and len(value) > MANY_NUMBERS and (numbers := _pack_numbers(value)) is not None:
            return self._encode_form("numbers", numbers, depth)
        return super().encode(value, depth)

    def encode_other(self, value: Any, depth: int) -> Any:
        """Encode tensors, values in parts, the plain base of a subclass of a number or text, or a handle."""
        if isinstance(value, KeyedValue):
            return self._encode_form("shared", value.parts, depth)
        torch = sys.modules.get("torch")
        if torch is not None and isinstance(value, torch.Tensor):
            return self._encode_leaf(torch, value)
        # A subclass such as a masked array decides itself how it compares: only its numbers are sent.
        if isinstance(value, np.ndarray) and type(value) is not np.ndarray:
            return self.encode(np.array(value, copy=True, subok=False), depth + 1)
        parts = value_conversion.to_parts(value) or (
            value_conversion.to_named_tuple_parts(value) if isinstance(value, tuple) else None
        )
        if parts is not None:
            return self._encode_form(*parts, depth)
        if not isinstance(value, type):
            for plain in (int, float, str):
                if isinstance(value, plain):
                    return self.encode(as_plain(value, plain), depth + 1)
        return self._handle(value)

    def _encode_form(self, name: str, parts: Any, depth: int) -> dict[str, Any]:
        return {"$": "form", "type": name, "v": self.encode(parts, depth + 1)}

    def _encode_leaf(self, torch: Any, value: Any) -> Any:
        """Encode a parameter with its gradient; the result of a computation also gets a handle."""
        # A subclass of the student's could answer for these attributes with code of its own.
        with torch._C.DisableTorchFunctionSubclass():  # noqa: SLF001
            leaf, grad = bool(value.is_leaf), value.grad if value.is_leaf else None
        if not value.requires_grad:
            return self._encode_tensor(torch, value)
        if not leaf:
            parts = [self._encode_tensor(torch, value), self._handle(value), self._follows(value)]
            return {"$": "form", "type": "computed", "v": parts}
        name = "parameter" if isinstance(value, torch.nn.Parameter) else "leaf"
        parts = [
            self._encode_tensor(torch, value),
            None if grad is None else self._encode_tensor(torch, grad),
        ]
        return {"$": "form", "type": name, "v": parts}


def _pack_numbers(values: list[Any]) -> np.ndarray | None:
    """Return many numbers of one plain type as an array; None for other values."""
    kinds = set(map(type, values))
    if kinds == {float}:
        return np.array(values)
    # Within the range of int64, with a margin.
    if kinds == {int} and max(map(abs, values)) < 1 << 62:
        return np.array(values, np.int64)
    return None


class Remote:
    """The objects of the notebook that a test reaches, by handles that last as long as the box."""

    def __init__(self, shell: Any, further: Further, forbid: Callable[[Any], Any] = list) -> None:
        """Prepare the operations on a notebook.

        Args:
            shell: the shell with the notebook's names.
            further: answers the current operation with a call of a function of the test's, and returns the
                next operation of the same depth.
            forbid: makes functions of torch fail from now on if their names contain one of some patterns.
        """
        self._shell = shell
        self._callbacks = Callbacks(self._call_test_function)
        self._further = further
        self._generators = Generators()
        self._leaves: dict[str, Any] = {}
        self._printed = io.StringIO()
        self._classes: set[str] = set()
        self._unseen: dict[type, Any] = {}
        self._token = os.urandom(4).hex()
        self._objects: dict[str, Any] = {}
        self._number = itertools.count()
        self._names: dict[int, str] = {}
        self._judge = ""
        self.shared = SharedValues("s", self._encode_value)
        operations = ("test", "name", "plain", "describe", "enter", "leave", "call_by_name", "beside")
        # The judge names operations by these words, so these methods must keep their names.
        self._table: dict[str, Callable[..., Any]] = {
            **{name: getattr(self, f"_{name}") for name in operations},
            "call": lambda called, /, *args, **kwargs: called(*args, **kwargs),
            "method": lambda target, name, /, *args, **kwargs: getattr(target, name)(*args, **kwargs),
            "get": getattr,
            "set": setattr,
            "delete": delattr,
            "module": importlib.import_module,
            "library": lambda module, name, /, *args, **kwargs: value_conversion.find_by_name(module, name)(
                *args, **kwargs
            ),
            "define": lambda source, names=(): define_module(source, names, shell.user_ns),
            "copy": copy.copy,
            "deepcopy": copy.deepcopy,
            "backward": self._run_backward,
            "forbid": forbid,
            "gradients": self._compute_gradients,
        }

    def _find_operation(self, name: str) -> Callable[..., Any]:
        """Return an operation: one of ours, an operator, or a function of Python's such as ``len``."""
        operation: Callable[..., Any] = (
            self._table.get(name) or getattr(operator, name, None) or getattr(builtins, name)
        )
        return operation

    def create_encoder(self) -> HandleEncoder:
        """Create an encoder for values that go out."""
        return HandleEncoder(self._encode_reference, self._find_followed_keys)

    def _find_followed_keys(self, tensor: Any) -> list[str]:
        """Return the keys of the test's tensors that this tensor depends on."""
        wanted = {id(leaf): key for key, leaf in self._leaves.items()}
        # Walks the graph from results to leaves, which hold their tensor as `variable`.
        seen, waiting, keys = set(), [tensor.grad_fn] if wanted else [], []
        while waiting:
            node = waiting.pop()
            if node is None or node in seen:
                continue
            seen.add(node)
            if (key := wanted.get(id(getattr(node, "variable", None)))) is not None:
                keys.append(key)
            waiting += [next_node for next_node, _ in node.next_functions]
        return keys

    def decode_tagged(self, tag: str, tree: Mapping[str, Any]) -> Any:
        """Decode a value that is not plain."""
        if tag == "ref":
            return self._objects[tree["v"]]
        name, content = tree["type"], tree["v"]
        if name == "shared":
            return self.shared.receive_value(content)
        if name == "computed":
            # A leaf of this side, so that gradients of the student's computation stop here and can be sent
            # back.
            self._leaves[content[1]] = leaf = content[0].detach().requires_grad_()
            return leaf.clone()  # as in the test: no leaf, so it may be changed in place
        if name == "own":
            return self._callbacks.create_stub(*content)
        if name == "thrown":
            return self._callbacks.build_exception(*content)
        if name in ("layer", "optimizer"):
            return (shared_values.build_module if name == "layer" else shared_values.build_optimizer)(content)
        if name == "iterator":
            return iter(content)
        if name in ("named", "module"):
            module = importlib.import_module(content[0])
            return module if name == "module" else value_conversion.find_by_name(content[0], content[1])
        return value_conversion.from_parts(name, content)

    def run_operation(self, tree: Any, arrays: Mapping[str, np.ndarray]) -> Encoded:
        """Carry out one operation.

        Args:
            tree: its name in the table, operands, keywords, the changes of the test since the last operation
                (shared values, and states of generators), the token of the judge's box, and the number of
                open calls of the test's functions.
            arrays: the arrays of the tree.

        Returns:
            A dictionary: ``v``, the value, or ``raised``, or ``back``, a call of a function of the
            test's; the printed text, and the changes on this side.
        """
        # A new judge knows neither what was sent to the one before, nor the keys. A test that runs here has
        # no judge.
        if tree[0] != "test" and tree[4] != self._judge:
            self._judge, self.shared = tree[4], SharedValues("s", self._encode_value)
            self._callbacks = Callbacks(self._call_test_function)
            for store in (self._classes, self._leaves, self._objects, self._names, self._unseen):
                store.clear()
        with self._callbacks.accept_calls():
            return self._execute_operation(*self._decode_request(tree, arrays))

    def _decode_request(
        self, tree: Any, arrays: Mapping[str, np.ndarray]
    ) -> tuple[str, list[Any], dict[str, Any], Any]:
        operation, args, kwargs, extras, *_ = wire.Decoder(
            arrays, build_own_array, self.decode_tagged
        ).decode(tree)
        self.shared.forget_keys(extras.get("forget", ()))
        self.shared.apply_changes(extras.get("changes", ()))
        if "seed" in extras:
            seed_generators(extras["seed"])
            self._generators.collect_moved_states()
        self._generators.restore_states(extras.get("states", {}))
        return operation, args, kwargs, extras

    def _execute_operation(
        self, operation: str, args: list[Any], kwargs: dict[str, Any], extras: dict[str, Any]
    ) -> Encoded:
        try:
            with contextlib.redirect_stdout(self._printed), _use_torch_defaults(extras):
                value = self._find_operation(operation)(*args, **kwargs)
                reply = {"v": value if operation == "beside" else self.shared.mark_value(value)}
                if operation in ("call_by_name", "beside"):  # both restore the generators
                    extras = {**extras, "kept": True}
        except (TooManyObjects, AbandonedTest):
            raise
        except BaseException as error:  # noqa: BLE001 - SystemExit too is only an answer
            if isinstance(error, MemoryError):  # frees the memory of the failed computation
                error.__traceback__ = error.__context__ = None
                gc.collect()
            reply = {"raised": self._describe_exception(error)}
        return self._encode_reply(reply, extras)

    def _call_test_function(self, how: str, key: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Have a function of the test's called, and meanwhile carry out the operations that it requests."""
        marked = [self.shared.mark_value(value) for value in args]
        called = [how, key, marked, {name: self.shared.mark_value(value) for name, value in kwargs.items()}]
        reply = self._encode_reply({"back": called}, {"seeded": True})
        while True:
            operation, operands, keywords, extras = self._decode_request(
                *self._further(reply, self._callbacks.open)
            )
            if operation == "returned":
                return operands[0]
            if operation == "threw":
                raise operands[0]
            reply = self._execute_operation(operation, operands, keywords, extras)

    def _encode_reply(self, reply: dict[str, Any], extras: Mapping[str, Any]) -> Encoded:
        """Encode a reply with all changes that the test's side does not know yet."""
        if text := self._printed.getvalue():
            reply["printed"] = text[:MOST_PRINTED]
            self._printed.seek(0)
            self._printed.truncate()
        if changes := self.shared.collect_changes():
            reply["changes"] = changes
        if (
            extras.get("seeded")
            and not extras.get("kept")
            and (states := self._generators.collect_moved_states())
        ):
            reply["states"] = states
        if self.shared.has_any(shared_values.is_hooked):
            reply["hooked"] = True
        return self._encode_value(reply)

    # ------------------------------------------------------------ operations

    def _test(self, code: str, doctest: bool) -> tuple[tuple[str, Any], ...]:  # noqa: FBT001 - as it is sent
        """Run a test in the notebook's own names; the outcome is under the student's control."""
        return tuple(run_test(code, self._shell.user_ns, doctest=doctest).items())

    def _name(self, name: str) -> Any:
        namespace = self._shell.user_ns
        if name not in namespace:
            raise NameError(f"name '{name}' is not defined")
        return namespace[name]

    def _run_backward(self, tensor: Any, grad: Any, keys: tuple[str, ...]) -> list[Any]:
        """Take a gradient here; return those of the tensors that the test has computed."""
        build_weighted_sum(tensor, grad).backward(retain_graph=True)
        gradients = []
        for key in keys:
            leaf = self._leaves.get(key)
            gradients.append(None if leaf is None else leaf.grad)
            if leaf is not None:
                leaf.grad = None
        return gradients

    def _compute_gradients(
        self, tensor: Any, grad: Any, keys: tuple[str, ...], wanted: tuple[Any, ...]
    ) -> Any:
        """Take a gradient here that leaves no state behind."""
        return compute_student_gradients(tensor, grad, {key: self._leaves[key] for key in keys}, wanted)

    def _plain(self, target: Any) -> Any:
        """Return the content of an object of a subclass of a container; `Ellipsis` for other objects."""
        for plain in (dict, list, tuple):
            if isinstance(target, plain):
                return as_plain(target, plain)
        return set(set.__iter__(target)) if isinstance(target, set) else Ellipsis

    def _beside(self, module: str, name: str, /, *args: Any) -> Any:
        """Call a function of ours on the student's objects here, on copies, in one step."""
        if module != MODELS:
            raise ValueError(f"{module} is not {MODELS}")
        with keep_states():
            return getattr(_OWN_MODELS, name)(*args)

    def _call_by_name(self, called: Any, arguments: dict[str, Any], seed: int) -> Any:
        """Call by the names that a check gives; the seed applies to this call alone."""
        with keep_states():
            return call_by_name(called, arguments, seed)

    def _describe(self, kind: type) -> list[Any]:
        """Return the name of a class, and its bases: by handle, or by their path in a library."""
        bases = [
            _PYTHONS.get(base)
            or (
                [base.__module__, base.__qualname__]
                if _is_from_library(base) and not _is_drawn(base)
                else base
            )
            for base in type.mro(kind)
        ]
        hash_method: Any = kind.__hash__
        return [kind.__name__, bases, hash_method is object.__hash__]

    def _enter(self, target: Any) -> Any:
        return type(target).__enter__(target)

    def _leave(self, target: Any, error: BaseException | None = None) -> Any:
        details = (None, None, None) if error is None else (type(error), error, error.__traceback__)
        return type(target).__exit__(target, *details)

    # ------------------------------------------------------------ handles

    def _encode_value(self, value: Any) -> Encoded:
        encoder = self.create_encoder()
        tree = encoder.encode(value)
        if type(value) is dict and self._unseen:
            classes = []
            # Describing a class may bring up further ones.
            while self._unseen:
                kind, instance = self._unseen.popitem()
                classes.append(
                    [self._get_handle(kind), [*self._describe(kind), list_methods(kind, instance)]]
                )
            tree["v"].append(["classes", encoder.encode(classes)])
        return tree, encoder.arrays

    def _encode_reference(self, value: Any) -> dict[str, Any]:
        if (key := self._callbacks.find_key(value)) is not None:
            return {"$": "form", "type": "own", "v": [key]}
        return {"$": "ref", "v": self._get_handle(value), "type": self._describe_kind(value)}

    def _get_handle(self, value: Any) -> str:
        name = self._names.get(id(value))
        if name is None:
            if len(self._objects) >= MOST_HANDLES:
                raise TooManyObjects("too many objects are held for a test")
            name = self._names[id(value)] = f"{self._token}-{next(self._number)}"
            # Kept alive by this, so that its id is not assigned to another object.
            self._objects[name] = value
        return name

    def _describe_kind(self, value: Any) -> str:
        if isinstance(value, types.ModuleType):
            return f"module {value.__name__}"[:200]
        if isinstance(value, type):
            return f"class {value.__module__} {value.__qualname__}" if _is_from_library(value) else "class"
        if isinstance(
            value, types.FunctionType | types.MethodType | types.BuiltinFunctionType | functools.partial
        ):
            return "function"
        kind = self._get_handle(type(value))
        if kind not in self._classes:
            self._classes.add(kind)
            self._unseen[type(value)] = value
        return f"{'callable' if callable(value) else 'object'} {kind}"

    def _describe_exception(self, error: BaseException, depth: int = 0) -> list[Any]:
        try:
            text = str(error)[:600]
        except BaseException:  # noqa: BLE001 - a hostile __str__ is not worth an answer of its own
            text = ""
        plain = (
            error.args if all(type(argument) in (str, int, float, bool) for argument in error.args) else ()
        )
        own_key, cause = self._callbacks.find_thrown_key(error), error.__cause__
        behind = (
            self._describe_exception(cause, depth + 1) if cause is not None and depth < MOST_CAUSES else None
        )
        return [type(error).__name__[:80], text, type(error), error, list(plain), own_key, behind]


def _load_apart(name: str) -> types.ModuleType:
    """Load a second copy of a module: cells that import it cannot replace functions of this copy."""
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_OWN_MODELS = _load_apart(MODELS)


@contextlib.contextmanager
def _use_torch_defaults(extras: Mapping[str, Any]) -> Iterator[None]:
    """Compute with gradients as requested, and in float32 if code names no type, whatever a cell set."""
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    before = torch.get_default_dtype()
    with torch.set_grad_enabled(extras.get("grad", True)):
        if before is torch.float32:
            yield
            return
        torch.set_default_dtype(torch.float32)
        try:
            yield
        finally:
            torch.set_default_dtype(before)


def list_methods(kind: type, instance: Any) -> list[str]:
    """Return the names of the functions in a class, which an instance has as its methods."""
    if kind.__getattribute__ is not object.__getattribute__:  # type: ignore[comparison-overlap]
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


def _is_drawn(kind: type) -> bool:
    return kind.__module__.partition(".")[0] == value_conversion.DRAWN


def _is_from_library(kind: type) -> bool:
    return (
        kind.__module__ not in ("__main__", None)
        and value_conversion.find_by_name(kind.__module__, kind.__qualname__) is kind
    )
