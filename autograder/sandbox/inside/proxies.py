"""Stand-ins in a test for functions, classes and objects of the student's box. Runs in the judge's box.

Every operation on a handle is forwarded to the student's box. Protocols by which libraries query an object
implicitly, such as how it takes part in numpy's or torch's functions, are not answered: a student's object
does not decide how a test computes.
"""

from __future__ import annotations

import builtins
import contextlib
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from autograder.sandbox.inside.iterators import Coming
from autograder.sandbox.inside.library_classes import find_library, find_library_class

Ask = Callable[..., Any]
_NO_PROTOCOLS = (
    "__array_",
    "__torch_",
    "__cuda_",
    "__dlpack",
    "__dataframe",
    "__arrow",
    "_repr_",
    "_ipython",
)
"""Prefixes of names by which libraries ask an object to provide an operation."""
_REFLECTED = (
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "matmul",
    "and",
    "or",
    "xor",
    "lshift",
    "rshift",
)
_IN_PLACE = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor")
_ORDER = ("ne", "lt", "le", "gt", "ge")
_MEASURING = (*_ORDER, "eq", "contains", "sub", "truediv", "floordiv", "mod", "xor")
"""Operators by which tests measure how far a result is from the expected one."""
_COMPARING = frozenset(
    (
        *(f"__{form}{name}__" for name in _MEASURING for form in ("", "r", "i")),
        *("eq", *_ORDER, "equal", "equals", "isclose", "allclose", "sub", "subtract", "dist"),
        *("startswith", "endswith", "issubset", "issuperset", "isdisjoint"),
    )
)
"""Methods that do the same as these operators."""
_OF_DICTIONARIES = ("items", "keys", "values")
_NEAR = 0.1
"""Distance from 0 or 1 that tests with a tolerance expect of a difference or a quotient."""
_NOTHING_EQUALS = "a text that no honest object equals"
_OF_PYTHON = "types"
"""The module that names classes of functions, code and the like, which must not be called here."""
_STUDENTS = "student"
"""The module of classes that represent the student's."""


class CannotJudge(BaseException):
    """The test needs something that cannot cross from one box to the other. No test catches it."""


class StudentExit(Exception):
    """The student's code tried to end the program, or a fresh box has ended (its `Ending`)."""

    ending = ""


class Handle:
    """An object of the student's box."""

    __slots__ = ("__weakref__", "_ask", "_name", "_of")
    __array_ufunc__ = None

    def __init__(self, table: Proxies, name: str, of: str) -> None:
        object.__setattr__(self, "_ask", table)
        object.__setattr__(self, "_name", name)
        object.__setattr__(self, "_of", of)

    def __getattribute__(self, name: str) -> Any:
        table = table_of(self)
        if name == "__class__":
            return table.stand_in(self)
        if name.startswith(_NO_PROTOCOLS):
            raise AttributeError(name)
        if name in ("__copy__", "__deepcopy__"):  # the copy module looks them up in the object
            return object.__getattribute__(self, name)
        if name == "__dict__":
            return table.ask("call", table.attribute(self, "__dict__").copy)  # of a class: a read-only view
        return table.attribute(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        table_of(self).ask("set", self, name, value)

    def __delattr__(self, name: str) -> None:
        table_of(self).ask("delete", self, name)

    def __eq__(self, other: object) -> bool:
        return table_of(self).equal(self, other)

    def __hash__(self) -> int:
        return table_of(self).hash_of(self)

    def __bool__(self) -> bool:
        return bool(table_of(self).truth("bool", self))

    def __len__(self) -> int:
        return int(table_of(self).truth("len", self))

    def __contains__(self, one: object) -> bool:
        return table_of(self).contains(self, one)

    def __iter__(self) -> Iterator[Any]:
        return table_of(self).iterate(self)

    def __next__(self) -> Any:
        table = table_of(self)
        name = object.__getattribute__(self, "_name")
        return table.coming.next_of(name, lambda: table.ask("next", self), table.count)

    def __format__(self, form: str) -> str:
        return str(table_of(self).ask("format", self, form))

    def __pow__(self, other: Any, modulus: Any = None) -> Any:
        if modulus is not None:
            raise CannotJudge("takes a power of the student's object modulo something")
        return table_of(self).combine("pow", self, other)

    def __copy__(self) -> Any:
        return table_of(self).ask("copy", self)

    def __deepcopy__(self, memo: Any) -> Any:
        return table_of(self).ask("deepcopy", self)

    def __enter__(self) -> Any:
        return table_of(self).ask("enter", self)

    def __exit__(self, _kind: object, error: object, _: object) -> bool:
        """Pass on an exception, which may be caught there; a failed assertion of the test is not shown."""
        table = table_of(self)
        if error is None or not isinstance(error, Exception) or type(error) is AssertionError:
            table.ask("leave", self)
            return False
        caught = bool(table.ask("leave", self, error))
        if caught and not instance_of(getattr(error, "student", None), Handle):
            table.own_words[f"{table.title(self)}.__exit__"] = None
        return caught

    def __mro_entries__(self, bases: Any) -> Any:
        raise CannotJudge("derives a class from the student's")


def _operator(name: str) -> Callable[..., Any]:
    def operate(self: Handle, *others: Any) -> Any:
        return table_of(self).ask(name, self, *others)

    return operate


def _arithmetic(name: str, *, swapped: bool = False) -> Callable[[Handle, Any], Any]:
    def operate(self: Handle, other: Any) -> Any:
        return table_of(self).combine(name, self, other, swapped=swapped)

    return operate


def _order(name: str) -> Callable[[Handle, Any], Any]:
    def compare(self: Handle, other: Any) -> Any:
        return table_of(self).compare(name, self, other)

    return compare


def _fill(kind: type) -> None:
    """Define the operators that are forwarded unchanged."""
    for one in ("getitem", "setitem", "delitem", "neg", "pos", "invert"):
        setattr(kind, f"__{one}__", _operator(one))
    for one in _REFLECTED:
        name = f"{one}_" if one in ("and", "or") else one
        if one != "pow":
            setattr(kind, f"__{one}__", _arithmetic(name))
        setattr(kind, f"__r{one}__", _arithmetic(name, swapped=True))
    for one in _IN_PLACE:
        setattr(kind, f"__i{one}__", _arithmetic(f"i{one}"))
    for one in ("str", "repr", "abs", "round", "int", "float", "index", "reversed"):
        setattr(kind, f"__{one}__", _operator(one))
    for one in _ORDER:
        setattr(kind, f"__{one}__", _order(one))


_fill(Handle)


class CallableHandle(Handle):
    """A function of the student's, or an object that can be called."""

    __slots__ = ()

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call it in the student's box."""
        return table_of(self).ask("call", self, *args, **kwargs)


class MethodHandle(CallableHandle):
    """A method of an object, which is fetched only if it is used for something other than a call."""

    __slots__ = ("_method", "_object")

    def __init__(self, table: Proxies, one: Any, method: str) -> None:
        super().__init__(table, "", "")
        object.__setattr__(self, "_object", one)
        object.__setattr__(self, "_method", method)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call it in the student's box."""
        one, method = object.__getattribute__(self, "_object"), object.__getattribute__(self, "_method")
        if method in _OF_DICTIONARIES and table_of(self).is_strict:
            held = table_of(self).ask("plain", one)
            if instance_of(held, dict):
                return getattr(held, method)(*args, **kwargs)
        if method in _COMPARING:
            for other in (*args, *kwargs.values()):
                table_of(self).refuse_own_word(method, one, other)
        return table_of(self).ask("method", one, method, *args, **kwargs)


class ClassHandle(CallableHandle):
    """A class of the student's box."""

    __slots__ = ()

    def __getattribute__(self, name: str) -> Any:
        if name == "__bases__":
            return table_of(self).bases(self)
        return super().__getattribute__(name)

    def __instancecheck__(self, one: object) -> bool:
        if not instance_of(one, Handle):
            known = table_of(self).known_class(self)
            return known is not None and isinstance(one, known)
        table = table_of(one)
        own = table.class_of(one)
        return own is not None and table.derives(own, self)

    def __subclasscheck__(self, one: object) -> bool:
        return instance_of(one, ClassHandle) and table_of(one).derives(one, self)


class KnownType(type):
    """Makes ``type(x)`` of a handle the student's class; for other objects it behaves as always."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Return the type of one object, or a new class."""
        if len(args) == 1 and instance_of(args[0], Handle):
            return table_of(args[0]).type_of(args[0])
        return builtins.type(*args, **kwargs)

    def __instancecheck__(cls, one: object) -> bool:
        return instance_of(one, type) or instance_of(one, ClassHandle)

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is builtins.type

    def __hash__(cls) -> int:
        return hash(builtins.type)


class TypeOfTests(metaclass=KnownType):
    """The value of the name ``type`` in tests."""


def instance_of(one: object, kind: type) -> bool:
    """Return whether it really is of a class; `isinstance` would believe a handle's own claim."""
    return issubclass(type(one), kind)


def table_of(handle: Any) -> Proxies:
    """Return the table that a handle belongs to."""
    table: Proxies = object.__getattribute__(handle, "_ask")
    return table


def name_of(handle: Any) -> str:
    """Return its name in the student's box."""
    name: str = object.__getattribute__(handle, "_name")
    if not name:
        one, method = object.__getattribute__(handle, "_object"), object.__getattribute__(handle, "_method")
        found = table_of(handle).ask("get", one, method)
        if not instance_of(found, Handle):
            raise CannotJudge(f"looks at {method}, which is another thing each time")
        name = name_of(found)
        object.__setattr__(handle, "_name", name)
    return name


class Proxies:
    """Handles by name, and the known facts about their classes."""

    def __init__(self, ask: Ask, count: Callable[[Any], None]) -> None:
        """Prepare the handles of one student's box.

        Args:
            ask: carries out an operation there.
            count: called with values that were sent in advance and are used now.
        """
        self._send = ask
        self.count = count
        self.coming = Coming()
        self._methods: dict[str, frozenset[str]] = {}
        self._attributes: dict[str, dict[str, Any]] = {}
        self._combined: set[str] = set()
        """Names of handles on results of arithmetic with a value of the test, or derived from those."""
        self.own_words: dict[str, None] = {}
        self.disputed = ""
        self.sizes: dict[tuple[str, str], int] = {}
        """By handle and source: the number of parts an object yielded, and the number it reported."""
        self.is_strict = False
        """Whether nothing counts that a student's class says about its object, whatever else a test sees."""
        self._handles: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()
        self._described: dict[str, tuple[str, list[Any]]] = {}
        self._stand_ins: dict[str, type] = {}
        self._stood_for: dict[type, Any] = {}
        self._hashes: dict[str, bool] = {}

    def ask(self, operation: str, /, *args: Any, **kwargs: Any) -> Any:
        """Carry out an operation in the student's box."""
        found = self._send(operation, *args, **kwargs)
        if self._combined and any(map(self._is_combined, args)):
            self._note_combined(found)
        return found

    def handle(self, name: str, kind: str) -> Any:
        """Return the stand-in for an object: a module or class of a library itself, else a handle.

        Everything from the student's box that a check uses runs in their box: there functions may be
        forbidden, and a library's object cannot decide how it compares. Only exceptions, which are raised
        here, and types of numbers are used themselves.
        """
        word, _, rest = kind.partition(" ")
        if word == "module" and not self.is_strict and (found := find_library(rest)) is not None:
            return found
        if word == "class" and rest:
            module, _, qualname = rest.partition(" ")
            known = find_library_class((module, qualname)) if module != _OF_PYTHON else None
            if known is not None and (not self.is_strict or issubclass(known, BaseException | np.generic)):
                return known
        made = self._handles.get(name)
        if made is None:
            form = {"class": ClassHandle, "function": CallableHandle, "callable": CallableHandle}.get(
                word, Handle
            )
            made = form(self, name, rest if word in ("object", "callable") else "")
            self._handles[name] = made
        return made

    def attribute(self, handle: Any, name: str) -> Any:
        """Return an attribute, as the student's box has it."""
        own = name_of(handle) if type(handle) is not MethodHandle else ""
        if name in (held := self._attributes.get(own, {})):
            self.count(found := held[name])
            if own in self._combined:
                self._note_combined(found)
            return found
        kind = object.__getattribute__(handle, "_of")
        if kind and name in self._methods.get(kind, ()):
            return MethodHandle(self, handle, name)
        found = self.ask("get", handle, name)
        is_own = name in _COMPARING or name in _OF_DICTIONARIES
        return MethodHandle(self, handle, name) if is_own and instance_of(found, CallableHandle) else found

    def told(
        self, classes: Iterable[list[Any]], attributes: Iterable[list[Any]], hidden: Iterable[str]
    ) -> None:
        """Record news from the student's box; attributes are valid until it sends newer ones."""
        for name, (title, bases, by_identity, methods) in classes:
            self._describe(name, title, bases, by_identity)
            self._methods[name] = frozenset(methods)
        self._attributes |= dict(attributes)
        for name in hidden:
            self._attributes.pop(name, None)

    def forget(self) -> None:
        """Forget attributes that were sent in advance; they are requested when they are used."""
        self._attributes.clear()

    # ------------------------------------------------------------ truth

    def truth(self, operation: str, handle: Any, *others: Any) -> Any:
        """Return the claim of a student's class about its own object, and note that it is a claim."""
        found = self.ask(operation, handle, *others)
        if operation == "len" and self._holds_another(handle, found):
            self.disputed = f"{self.title(handle)}.__len__ says what the object does not hold"
        if operation == "len" and self.is_strict:
            self._note_size(handle, "len", found)
        if operation != "len" and not (instance_of(handle, CallableHandle) and operation == "bool"):
            self.own_words[f"{self.title(handle)}.__{operation}__"] = None
        return found

    def iterate(self, handle: Any) -> Iterator[Any]:
        """Iterate over the parts that a container really holds, whatever its class returns instead."""
        own = self.class_of(handle)
        if not self.is_strict or own is None or not instance_of(self.type_of(handle), ClassHandle):
            found: Iterator[Any] = self.ask("iter", handle)
            return found
        held = self.ask("plain", handle)
        return iter(held) if held is not Ellipsis else self._counted(handle, self.ask("iter", handle))

    def _counted(self, handle: Any, parts: Any) -> Iterator[Any]:
        number = 0
        with contextlib.suppress(StopIteration):
            while True:
                yield next(parts)
                number += 1
        self._note_size(handle, "iter", number)

    def _note_size(self, handle: Any, told_by: str, number: Any) -> None:
        """Doubt an object that reports one number of parts, and yields another."""
        name = name_of(handle)
        self.sizes[name, told_by] = number
        if len({self.sizes.get((name, one), number) for one in ("len", "iter")}) > 1:
            self.disputed = f"{self.title(handle)}.__len__ says what the object does not give"

    def _holds_another(self, handle: Any, length: Any) -> bool:
        """Return whether a subclass of a container reports another length than the container itself has."""
        if self.class_of(handle) is None or not issubclass(self.stand_in(handle), list | dict | tuple | set):
            return False
        held = self.ask("plain", handle)
        return held is not Ellipsis and bool(length != len(held))

    def contains(self, handle: Any, value: Any) -> bool:
        """Return ``in``: for two handles the student's answer; for plain data only real members count."""
        if instance_of(value, Handle):
            return bool(self.truth("contains", handle, value))
        held = self.ask("plain", handle)
        if held is Ellipsis or value not in held:  # a subclass may override `__contains__`
            self.refuse_own_word("contains", handle, value)
        return True

    def equal(self, handle: Any, other: Any) -> bool:
        """Return ``==``: for two handles the student's answer; for plain data only real contents count."""
        if handle is other:
            return True
        if instance_of(other, Handle):
            return bool(self.truth("eq", handle, other))
        if instance_of(handle, CallableHandle):
            return self.known_class(handle) is other
        held = self.ask("plain", handle)
        if held is not Ellipsis:
            return bool(held == other)
        if self.is_strict:
            self.refuse_own_word("eq", handle, other)
        elif self.ask("eq", handle, _NOTHING_EQUALS) is True:  # never shows the expected value
            self.disputed = f"{self.title(handle)}.__eq__ says equal to anything"
        return False

    def compare(self, operation: str, handle: Any, other: Any) -> Any:
        """Return ``<`` and the like, by the student's class; ``!=`` with plain data as `is_equal`."""
        if operation == "ne" and not instance_of(other, Handle):
            return not self.equal(handle, other)
        self.refuse_own_word(operation, handle, other)
        return self.truth(operation, handle, other)

    def combine(self, operation: str, handle: Any, other: Any, *, swapped: bool = False) -> Any:
        """Return the result of arithmetic with a student's object, by its class."""
        name = operation.strip("_")
        if self.is_strict or name.removeprefix("i") in _MEASURING:
            self.refuse_own_word(name, handle, other)
        found = self.ask(operation, *((other, handle) if swapped else (handle, other)))
        if not instance_of(other, Handle):
            self._note_combined(found)
        return found

    def refuse_own_word(self, operation: str, handle: Any, other: Any) -> None:
        """Refuse arithmetic and comparisons of a student's object with a value of the test.

        A class with a ``__sub__`` that returns 0, or a ``__lt__`` that returns True, meets every tolerance.
        The value is not sent to the student's code either, which would learn the value that a test expects.
        """
        if not instance_of(other, Handle):
            name = operation.strip("_")
            raise CannotJudge(
                f"has {self.title(handle)} itself say what {name} with a value of the test gives"
            )

    def _is_combined(self, value: Any) -> bool:
        return instance_of(value, Handle) and object.__getattribute__(value, "_name") in self._combined

    def _note_combined(self, found: Any) -> None:
        """Follow a sum or a product of a student's object and a value of the test.

        Some tests are about operators, so a test may look at their results. But the results must be
        distinguishable: a class could return a value near 0 or 1 for every difference.
        """
        if instance_of(found, Handle):
            self._combined.add(name_of(found))
        elif _is_near_0_or_1(found):
            self.disputed = "a student's object itself says what arithmetic with a value of the test gives"

    # ------------------------------------------------------------ classes

    def class_of(self, handle: Any) -> Any:
        """Return the handle of an object's class; None for functions and classes."""
        name = object.__getattribute__(handle, "_of")
        return self.handle(name, "class") if name else None

    def type_of(self, handle: Any) -> Any:
        """Return the result of ``type``."""
        if instance_of(handle, ClassHandle):
            return type
        own = self.class_of(handle)
        if own is None:
            return type(lambda: None)
        described = self._mro(own)[1][0]
        return own if instance_of(described, ClassHandle) else described

    def known_class(self, handle: Any) -> type | None:
        """Return the library's class that a handle refers to; None for other objects."""
        found = self._mro(handle)[1][0] if instance_of(handle, ClassHandle) else None
        return found if instance_of(found, type) else None

    def bases(self, kind: Any) -> tuple[Any, ...]:
        """Return all bases of a class: those of libraries as the classes themselves."""
        known = self.known_class(kind)
        return tuple(self._mro(kind)[1][1:]) if known is None else (known,)

    def derives(self, kind: Any, other: Any) -> bool:
        """Return whether a class is another one, or derives from it."""
        known = self.known_class(other)
        return any(one is other or (one is known and known is not None) for one in self._mro(kind)[1])

    def stand_in(self, handle: Any) -> type:
        """Return a real class in place of an object's class, derived from its bases in libraries."""
        own = self.class_of(handle)
        if own is None:
            return type if instance_of(handle, ClassHandle) else type(lambda: None)
        return self._stand_in(own)

    def exception(self, kind: Any) -> type[BaseException]:
        """Return the class under which an exception of the student's is raised here."""
        return self._stand_in(kind)

    def _stand_in(self, kind: Any) -> type:
        name = name_of(kind)
        if name not in self._stand_ins:
            title, kinds = self._mro(kind)
            bases = [one for one in kinds if instance_of(one, type)]
            if bases and bases[0] is kinds[0]:
                made = bases[0]
            elif bases and issubclass(bases[0], BaseException):
                made = self._derived_exception(kind, title, kinds[1:])
            else:
                made = _derived(title, bases or [object])
            self._stand_ins[name] = made
            self._stood_for[made] = kind
        return self._stand_ins[name]

    def _derived_exception(self, kind: Any, title: str, kinds: list[Any]) -> type:
        """Derive a class from the stand-ins of its bases, so that ``except`` and ``issubclass`` work."""
        bases = [self._stand_in(one) if instance_of(one, ClassHandle) else one for one in kinds]
        table = self

        def __init__(error: Any, /, *args: Any, **kwargs: Any) -> None:  # noqa: N807 - of the class that is made
            error.student = table.ask("call", kind, *args, **kwargs)
            error.told = str(error.student)

        own = {"__getattr__": _of_raised, "__str__": _text_of_raised, "__init__": __init__}
        return type(title, tuple(bases), {"__module__": _STUDENTS, **own})

    def stands_for(self, value: Any) -> Any:
        """Return the handle of the student's class or exception that a value represents; otherwise None."""
        if isinstance(value, type):
            return self._stood_for.get(value) if value.__module__ == _STUDENTS else None
        if isinstance(value, BaseException) and instance_of(one := vars(value).get("student"), Handle):
            return one
        return None

    def hash_of(self, handle: Any) -> int:
        """Return the hash by the student's class, if it defines one."""
        own = self.class_of(handle)
        if own is not None and not self._by_identity(own):
            return int(self.ask("hash", handle))
        return hash(name_of(handle))

    def _by_identity(self, kind: Any) -> bool:
        self._mro(kind)
        return self._hashes[name_of(kind)]

    def _mro(self, kind: Any) -> tuple[str, list[Any]]:
        name = name_of(kind)
        if name not in self._described:
            self._describe(name, *self.ask("describe", kind))
        return self._described[name]

    def _describe(self, name: str, title: str, told: list[Any], by_identity: bool) -> None:  # noqa: FBT001
        self._hashes[name] = bool(by_identity)
        own, *others = [find_library_class(one) if instance_of(one, list) else one for one in told]
        own = self.handle(name, "class") if own is None else own
        self._described[name] = str(title), [own, *(one for one in others if one is not None)]

    def title(self, handle: Any) -> str:
        """Return the name of an object's class."""
        own = self.class_of(handle)
        return "function" if own is None else self._mro(own)[0]


def _is_near_0_or_1(value: Any) -> bool:
    """Return whether all numbers in a plain value are near 0 or 1."""
    if isinstance(value, list | tuple):
        return all(map(_is_near_0_or_1, value))
    try:
        numbers = np.abs(np.asarray(value, complex))
    except (TypeError, ValueError, RuntimeError):
        return False
    return bool(np.all(np.minimum(numbers, np.abs(numbers - 1)) < _NEAR))


def _of_raised(error: Any, name: str) -> Any:
    """Return an attribute of an exception from the student's box."""
    if name.startswith("__") or "student" not in vars(error):
        raise AttributeError(f"{type(error).__name__!r} object has no attribute {name!r}")
    return getattr(error.student, name)


def _text_of_raised(error: Any) -> str:
    """Return the text of an exception, by the student's class."""
    return vars(error)["told"] if "told" in vars(error) else BaseException.__str__(error)


def _derived(title: str, bases: list[type]) -> type:
    """Derive a class of this name from the first base that can have subclasses."""
    for base in bases:
        try:
            return type(title, (base,), {"__module__": _STUDENTS})
        except TypeError:
            continue
    return object
