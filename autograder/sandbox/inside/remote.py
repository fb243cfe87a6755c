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

from autograder.checking.loading import define_module
from autograder.checking.objects import call_by_name, seed_generators
from autograder.sandbox.exchange import wire
from autograder.sandbox.inside import ahead, forms, layers
from autograder.sandbox.inside.callbacks import Abandoned, Callbacks
from autograder.sandbox.inside.generators import Generators, keep_states
from autograder.sandbox.inside.gradients import on_the_students_side, weighted
from autograder.sandbox.inside.iterators import OpenIterators
from autograder.sandbox.inside.plain import GuestEncoder, as_plain, own_array
from autograder.sandbox.inside.running import outcome
from autograder.sandbox.inside.shared import Encoded, Keyed, SharedValues

REMOTE = "@remote"
"""The target of calls by which tests reach it."""
MODELS = "autograder.checking.models"
"""The module with the functions that checks may run next to the student's objects."""
MOST_HANDLES = 100_000
MOST_CAUSES = 3
MOST_PRINTED = 200_000
MANY_NUMBERS = 256
DEEP = 16
"""Depth from which on containers are sent as a flat list, since frames are not nested deeper than 32."""
MANY_SHOWN = 8
"""Number of objects in a list that are sent with their attributes."""
Further = Callable[[Encoded, int], Encoded]
_PYTHONS = {kind: ["types", name] for name, kind in vars(types).items() if isinstance(kind, type)}
"""Python's own classes that only `types` has a name for: of generators, methods and the like."""
_KEYS = frozenset((str, int, float, bool, type(None), tuple))
_CONTAINERS = (list, tuple, dict)
_OPERATORS = (
    *(
        "add",
        "sub",
        "mul",
        "truediv",
        "floordiv",
        "mod",
        "pow",
        "matmul",
        "lshift",
        "rshift",
        "and_",
        "or_",
        "xor",
    ),
    *("iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "imatmul", "iand", "ior", "ixor"),
    *(
        "neg",
        "pos",
        "invert",
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
        "getitem",
        "setitem",
        "delitem",
        "contains",
    ),
    "index",
)
_BUILTINS = (
    "len",
    "next",
    "bool",
    "hash",
    "str",
    "repr",
    "format",
    "abs",
    "round",
    "int",
    "float",
    "reversed",
)


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
            return self._form("mapping", [[key, one] for key, one in value.items()], depth)
        if depth > DEEP and not self._flat:
            self._flat = True
            try:
                return self._form("flat", forms.flat_parts(value), depth)
            finally:
                self._flat = False
        if kind is list and len(value) > MANY_NUMBERS and (numbers := _numbers(value)) is not None:
            return self._form("numbers", numbers, depth)
        return super().encode(value, depth)

    def other(self, value: Any, depth: int) -> Any:
        """Encode tensors, values in parts, the plain base of a subclass of a number or text, or a handle."""
        if isinstance(value, Keyed):
            return self._form("shared", value.parts, depth)
        torch = sys.modules.get("torch")
        if torch is not None and isinstance(value, torch.Tensor):
            return self._leaf(torch, value)
        if isinstance(value, np.ndarray) and type(value) is not np.ndarray:
            return self.encode(np.array(value, copy=True, subok=False), depth + 1)
        parts = forms.parts_of(value) or (
            forms.named_tuple_parts(value) if isinstance(value, tuple) else None
        )
        if parts is not None:
            return self._form(*parts, depth)
        if not isinstance(value, type):
            for plain in (int, float, str):
                if isinstance(value, plain):
                    return self.encode(as_plain(value, plain), depth + 1)
        return self._handle(value)

    def _form(self, name: str, parts: Any, depth: int) -> dict[str, Any]:
        return {"$": "form", "type": name, "v": self.encode(parts, depth + 1)}

    def _leaf(self, torch: Any, value: Any) -> Any:
        """Encode a parameter with its gradient; the result of a computation also gets a handle."""
        with torch._C.DisableTorchFunctionSubclass():  # noqa: SLF001
            leaf, grad = bool(value.is_leaf), value.grad if value.is_leaf else None
        if not value.requires_grad:
            return self._tensor(torch, value)
        if not leaf:
            parts = [self._tensor(torch, value), self._handle(value), self._follows(value)]
            return {"$": "form", "type": "computed", "v": parts}
        name = "parameter" if isinstance(value, torch.nn.Parameter) else "leaf"
        parts = [self._tensor(torch, value), None if grad is None else self._tensor(torch, grad)]
        return {"$": "form", "type": name, "v": parts}


def _numbers(values: list[Any]) -> np.ndarray | None:
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
        self._callbacks = Callbacks(self._called_back)
        self._further = further
        self._generators = Generators()
        self._leaves: dict[str, Any] = {}
        self._watched = ahead.Watched(shell.user_ns)
        self._shown = ahead.Shown()
        self._tells_attributes = True
        self._iterators = OpenIterators()
        self._printed = io.StringIO()
        self._classes: set[str] = set()
        self._unseen: dict[type, Any] = {}
        self._token = os.urandom(4).hex()
        self._objects: dict[str, Any] = {}
        self._number = itertools.count()
        self._names: dict[int, str] = {}
        self._judge = ""
        self.shared = SharedValues("s", self._encoded)
        table = {name: getattr(operator, name) for name in _OPERATORS}
        table |= {name: getattr(builtins, name) for name in _BUILTINS}
        own = (
            "test",
            "name",
            "watch",
            "get",
            "set",
            "delete",
            "plain",
            "describe",
            "enter",
            "leave",
            "call_by_name",
            "beside",
        )
        # The judge names operations by these words, so these methods must keep their names.
        table |= {name: getattr(self, f"_{name}") for name in own}
        self._table: dict[str, Callable[..., Any]] = {
            **table,
            "call": lambda called, /, *args, **kwargs: called(*args, **kwargs),
            "method": self._method,
            "iter": self._iter,
            "module": importlib.import_module,
            "library": lambda module, name, /, *args, **kwargs: forms.named(module, name)(*args, **kwargs),
            "define": lambda source, names=(): define_module(source, names, shell.user_ns),
            "copy": copy.copy,
            "deepcopy": copy.deepcopy,
            "backward": self._backward,
            "forbid": forbid,
            "gradients": self._gradients,
        }

    def encoder(self) -> HandleEncoder:
        """Create an encoder for values that go out."""
        return HandleEncoder(self._reference, self._follows)

    def _follows(self, tensor: Any) -> list[str]:
        """Return the keys of the test's tensors that this tensor depends on."""
        wanted = {id(leaf): key for key, leaf in self._leaves.items()}
        # Walks the graph from results to leaves, which hold their tensor as `variable`.
        seen, waiting, found = set(), [tensor.grad_fn] if wanted else [], []
        while waiting:
            node = waiting.pop()
            if node is None or node in seen:
                continue
            seen.add(node)
            if (key := wanted.get(id(getattr(node, "variable", None)))) is not None:
                found.append(key)
            waiting += [one for one, _ in node.next_functions]
        return found

    def decoded(self, tag: str, tree: Mapping[str, Any]) -> Any:
        """Decode a value that is not plain."""
        if tag == "ref":
            return self._objects[tree["v"]]
        name, told = tree["type"], tree["v"]
        if name == "shared":
            return self.shared.received(told)
        if name == "computed":
            self._leaves[told[1]] = leaf = told[0].detach().requires_grad_()
            return leaf.clone()  # as in the test: no leaf, so it may be changed in place
        if name == "own":
            return self._callbacks.stub(*told)
        if name == "thrown":
            return self._callbacks.exception(*told)
        if name in ("layer", "optimizer"):
            return (layers.built if name == "layer" else layers.built_optimizer)(told)
        if name == "iterator":
            return iter(told)
        if name in ("named", "module"):
            module = importlib.import_module(told[0])
            return module if name == "module" else forms.named(told[0], told[1])
        return forms.from_parts(name, told)

    def do(self, tree: Any, arrays: Mapping[str, np.ndarray]) -> Encoded:
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
            self._judge, self.shared = tree[4], SharedValues("s", self._encoded)
            self._callbacks = Callbacks(self._called_back)
            for known in (self._classes, self._leaves, self._objects, self._names, self._unseen):
                known.clear()
            self._iterators.clear()
            self._shown.give_up()
        with self._callbacks.served():
            return self._carried_out(*self._read(tree, arrays))

    def _read(
        self, tree: Any, arrays: Mapping[str, np.ndarray]
    ) -> tuple[str, list[Any], dict[str, Any], Any]:
        operation, args, kwargs, beside, *_ = wire.Decoder(arrays, own_array, self.decoded).decode(tree)
        self.shared.forget(beside.get("forget", ()))
        self.shared.apply(beside.get("changes", ()))
        if "seed" in beside:
            seed_generators(beside["seed"])
            self._generators.moved()
        self._generators.restore(beside.get("states", {}))
        self._iterators.take(beside.get("taken", {}))
        return operation, args, kwargs, beside

    def _carried_out(
        self, operation: str, args: list[Any], kwargs: dict[str, Any], beside: dict[str, Any]
    ) -> Encoded:
        shown: list[Any] = [args[0]] if operation in ("get", "method") else []
        try:
            with contextlib.redirect_stdout(self._printed), _usual_torch(beside):
                value = self._table[operation](*args, **kwargs)
                told = {"v": value if operation == "beside" else self.shared.marked(value)}
                if operation in ("call_by_name", "beside"):  # both restore the generators
                    beside = {**beside, "kept": True}
                shown.append(value)
        except (TooManyObjects, Abandoned):
            raise
        except BaseException as error:  # noqa: BLE001 - SystemExit too is only an answer
            if isinstance(error, MemoryError):  # frees the memory of the failed computation
                error.__traceback__ = error.__context__ = None
                gc.collect()
            told = {"raised": self._raised(error)}
            shown.append(error)
        return self._with_news(told, shown, beside)

    def _called_back(self, how: str, key: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Have a function of the test's called, and meanwhile carry out the operations that it requests."""
        marked = [self.shared.marked(one) for one in args]
        called = [how, key, marked, {name: self.shared.marked(one) for name, one in kwargs.items()}]
        reply = self._with_news({"back": called}, [*args], {"seeded": True})
        while True:
            operation, told, keywords, beside = self._read(*self._further(reply, self._callbacks.open))
            if operation == "returned":
                return told[0]
            if operation == "threw":
                raise told[0]
            reply = self._carried_out(operation, told, keywords, beside)

    def _with_news(self, told: dict[str, Any], shown: list[Any], beside: Mapping[str, Any]) -> Encoded:
        """Encode a reply with all changes that the test's side does not know yet."""
        if text := self._printed.getvalue():
            told["printed"] = text[:MOST_PRINTED]
            self._printed.seek(0)
            self._printed.truncate()
        if changes := self.shared.changes():
            told["changes"] = changes
        if beside.get("seeded") and not beside.get("kept") and (states := self._generators.moved()):
            told["states"] = states
        if self.shared.any(layers.is_hooked):
            told["hooked"] = True
        newest = self.shared.newest
        try:
            return self._encoded(told | self._ahead(shown))
        except Exception:  # noqa: BLE001 - values not sent in advance are requested when used
            self.shared.forget_since(newest)
            told |= {"gone": self._watched.names, "hidden": self._shown.give_up()}
            return self._encoded(told | {"iterators": self._iterators.give_up()})

    def _ahead(self, shown: list[Any]) -> dict[str, Any]:
        """Collect names that have new values, and attributes of objects."""
        found: dict[str, Any] = {}
        bound, gone = self._watched.news()
        if bound:
            found["names"] = {name: self.shared.marked(one) for name, one in bound.items()}
        if gone:
            found["gone"] = gone
        if not self._tells_attributes:
            shown = []
        parts = (one for some in shown if type(some) in (list, tuple) for one in some[:MANY_SHOWN])
        for one in (*shown, *parts):
            if ahead.attributes(one):
                self._shown.show(self._handle(one), one)
        held, gone = self._shown.news()
        if held:
            found["attributes"] = [
                [name, {at: self.shared.marked(one) for at, one in own.items()}] for name, own in held.items()
            ]
        if gone:
            found["hidden"] = gone
        if coming := self._iterators.news(self.shared.marked):
            found["iterators"] = coming
        return found

    # ------------------------------------------------------------ operations

    def _test(self, code: str, doctest: bool) -> tuple[tuple[str, Any], ...]:  # noqa: FBT001 - as it is sent
        """Run a test in the notebook's own names; the outcome is under the student's control."""
        return tuple(outcome(code, self._shell.user_ns, doctest=doctest).items())

    def _watch(self, names: tuple[str, ...], attributes: bool = True) -> None:  # noqa: FBT001, FBT002 - as sent
        """Watch the names that a test uses: their values are sent now, and again when they change.

        Args:
            names: of the notebook.
            attributes: send attributes of objects in advance; a check seldom uses any.
        """
        self._watched.begin([*names])
        self._tells_attributes = attributes

    def _name(self, name: str) -> Any:
        found = self._shell.user_ns
        if name not in found:
            raise NameError(f"name '{name}' is not defined")
        return found[name]

    def _get(self, one: Any, name: str) -> Any:
        return getattr(one, name)

    def _method(self, one: Any, name: str, /, *args: Any, **kwargs: Any) -> Any:
        method = getattr(one, name)
        return self._iterators.called(method, method(*args, **kwargs))

    def _iter(self, one: Any) -> Any:
        return self._iterators.begun(iter(one), self._handle, self._put)

    def _put(self, one: Any, other: Any) -> None:
        """Replace an object that has a handle by another one."""
        name = self._names.pop(id(one), None)
        if name is not None:
            self._names[id(other)], self._objects[name] = name, other

    def _backward(self, tensor: Any, grad: Any, keys: tuple[str, ...]) -> list[Any]:
        """Take a gradient here; return those of the tensors that the test has computed."""
        weighted(tensor, grad).backward(retain_graph=True)
        found = []
        for key in keys:
            leaf = self._leaves.get(key)
            found.append(None if leaf is None else leaf.grad)
            if leaf is not None:
                leaf.grad = None
        return found

    def _gradients(self, tensor: Any, grad: Any, keys: tuple[str, ...], wanted: tuple[Any, ...]) -> Any:
        """Take a gradient here that leaves no state behind."""
        return on_the_students_side(tensor, grad, {key: self._leaves[key] for key in keys}, wanted)

    def _set(self, one: Any, name: str, value: Any) -> None:
        setattr(one, name, value)

    def _delete(self, one: Any, name: str) -> None:
        delattr(one, name)

    def _plain(self, one: Any) -> Any:
        """Return the content of an object of a subclass of a container; `Ellipsis` for other objects."""
        for plain in (dict, list, tuple):
            if isinstance(one, plain):
                return as_plain(one, plain)
        return set(set.__iter__(one)) if isinstance(one, set) else Ellipsis

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
            _PYTHONS.get(one)
            or ([one.__module__, one.__qualname__] if _of_library(one) and not _is_drawn(one) else one)
            for one in type.mro(kind)
        ]
        own: Any = kind.__hash__
        return [kind.__name__, bases, own is object.__hash__]

    def _enter(self, one: Any) -> Any:
        return type(one).__enter__(one)

    def _leave(self, one: Any, error: BaseException | None = None) -> Any:
        told = (None, None, None) if error is None else (type(error), error, error.__traceback__)
        return type(one).__exit__(one, *told)

    # ------------------------------------------------------------ handles

    def _encoded(self, value: Any) -> Encoded:
        encoder = self.encoder()
        tree = encoder.encode(value)
        if type(value) is dict and self._unseen:
            classes = []
            # Describing a class may bring up further ones.
            while self._unseen:
                kind, one = self._unseen.popitem()
                classes.append([self._handle(kind), [*self._describe(kind), ahead.methods(kind, one)]])
            tree["v"].append(["classes", encoder.encode(classes)])
        return tree, encoder.arrays

    def _reference(self, value: Any) -> dict[str, Any]:
        if (key := self._callbacks.key_of(value)) is not None:
            return {"$": "form", "type": "own", "v": [key]}
        return {"$": "ref", "v": self._handle(value), "type": self._kind(value)}

    def _handle(self, value: Any) -> str:
        name = self._names.get(id(value))
        if name is None:
            if len(self._objects) >= MOST_HANDLES:
                raise TooManyObjects("too many objects are held for a test")
            name = self._names[id(value)] = f"{self._token}-{next(self._number)}"
            # Kept alive by this, so that its id is not assigned to another object.
            self._objects[name] = value
        return name

    def _kind(self, value: Any) -> str:
        if isinstance(value, types.ModuleType):
            return f"module {value.__name__}"[:200]
        if isinstance(value, type):
            return f"class {value.__module__} {value.__qualname__}" if _of_library(value) else "class"
        if isinstance(
            value, types.FunctionType | types.MethodType | types.BuiltinFunctionType | functools.partial
        ):
            return "function"
        kind = self._handle(type(value))
        if kind not in self._classes:
            self._classes.add(kind)
            self._unseen[type(value)] = value
        return f"{'callable' if callable(value) else 'object'} {kind}"

    def _raised(self, error: BaseException, depth: int = 0) -> list[Any]:
        try:
            text = str(error)[:600]
        except BaseException:  # noqa: BLE001 - a hostile __str__ is not worth an answer of its own
            text = ""
        plain = error.args if all(type(one) in (str, int, float, bool) for one in error.args) else ()
        own, cause = self._callbacks.thrown(error), error.__cause__
        behind = self._raised(cause, depth + 1) if cause is not None and depth < MOST_CAUSES else None
        return [type(error).__name__[:80], text, type(error), error, list(plain), own, behind]


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
def _usual_torch(beside: Mapping[str, Any]) -> Iterator[None]:
    """Compute with gradients as requested, and in float32 if code names no type, whatever a cell set."""
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    before = torch.get_default_dtype()
    with torch.set_grad_enabled(beside.get("grad", True)):
        if before is torch.float32:
            yield
            return
        torch.set_default_dtype(torch.float32)
        try:
            yield
        finally:
            torch.set_default_dtype(before)


def _is_drawn(kind: type) -> bool:
    return kind.__module__.partition(".")[0] == forms.DRAWN


def _of_library(kind: type) -> bool:
    return (
        kind.__module__ not in ("__main__", None) and forms.named(kind.__module__, kind.__qualname__) is kind
    )
