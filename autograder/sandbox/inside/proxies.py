"""What stands in a test for functions, classes and objects of the student's box. Runs in the judge's box.

Every operation on a handle is asked of the student's box. What libraries would ask of an object behind its
back, such as how it takes part in numpy's or torch's functions, has no answer here: a student's object does
not decide how a test computes.
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
"""How names begin by which libraries ask an object to take over."""
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
"""Operators by which tests look how far a result is from the expected one."""
_COMPARING = frozenset(
    (
        *(f"__{form}{name}__" for name in _MEASURING for form in ("", "r", "i")),
        *("eq", *_ORDER, "equal", "equals", "isclose", "allclose", "sub", "subtract", "dist"),
        *("startswith", "endswith", "issubset", "issuperset", "isdisjoint"),
    )
)
"""Methods that do what these operators do."""
_OF_DICTIONARIES = ("items", "keys", "values")
_NEAR = 0.1
"""So near to 0 or 1 is what tests by a tolerance expect of a difference or a quotient."""
_NOTHING_EQUALS = "a text that no honest object equals"
_OF_PYTHON = "types"
"""The module that has names for classes of functions, code and the like, which are not to be called here."""
_STUDENTS = "student"
"""The module of classes that stand for the student's."""


class CannotJudge(BaseException):
    """The test needs something that does not go from one box to the other. No test catches it."""


class StudentExit(Exception):
    """The student's code tried to end the program, or a fresh box of theirs has ended (its `Ending`)."""

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
        if name in ("__copy__", "__deepcopy__"):  # copy looks for them in the object itself
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
        """An exception is told, and may be caught there; that the test found something wrong is not."""
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
    """The operators that are asked as they are."""
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
    """A method of an object, which is looked up only when something else is done with it than to call it."""

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
    """So that ``type(x)`` of a handle is the student's class; of all else it is what it always is."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """The type of one thing, or a new class."""
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
    """Stands in tests under the name ``type``."""


def instance_of(one: object, kind: type) -> bool:
    """Whether it really is of a class; `isinstance` would believe what a handle says of itself."""
    return issubclass(type(one), kind)


def table_of(handle: Any) -> Proxies:
    """Whose handle it is."""
    table: Proxies = object.__getattribute__(handle, "_ask")
    return table


def name_of(handle: Any) -> str:
    """Its name in the student's box."""
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
    """Handles by name, and what is known of their classes."""

    def __init__(self, ask: Ask, count: Callable[[Any], None]) -> None:
        """Of one student's box.

        Args:
            ask: carries out an operation there.
            count: is told of values that were sent ahead and are used now.
        """
        self._send = ask
        self.count = count
        self.coming = Coming()
        self._methods: dict[str, frozenset[str]] = {}
        self._attributes: dict[str, dict[str, Any]] = {}
        self._combined: set[str] = set()
        """Names of handles on what arithmetic with a value of the test gave, and on what follows from it."""
        self.own_words: dict[str, None] = {}
        self.disputed = ""
        self.sizes: dict[tuple[str, str], int] = {}
        """By handle: how many parts an object had when it was gone through, and what it said of that."""
        self.is_strict = False
        """Whether nothing that a student's class says of its object counts, whatever else a test sees."""
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
        """What stands for an object: a module or class of a library itself, else a handle.

        What a check uses of the student's runs in their box, whatever it is: there functions may be
        forbidden, and a library's object cannot decide how it compares. Only exceptions, which are raised
        here, and types of numbers are themselves.
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
        """An attribute, as the student's box has it."""
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
        """What the student's box says ahead; attributes hold until it says something else of the object."""
        for name, (title, bases, by_identity, methods) in classes:
            self._describe(name, title, bases, by_identity)
            self._methods[name] = frozenset(methods)
        self._attributes |= dict(attributes)
        for name in hidden:
            self._attributes.pop(name, None)

    def forget(self) -> None:
        """What was told ahead; it is asked for where it is used."""
        self._attributes.clear()

    # ------------------------------------------------------------ truth

    def truth(self, operation: str, handle: Any, *others: Any) -> Any:
        """What a class of the student's says of its own object."""
        found = self.ask(operation, handle, *others)
        if operation == "len" and self._holds_another(handle, found):
            self.disputed = f"{self.title(handle)}.__len__ says what the object does not hold"
        if operation == "len" and self.is_strict:
            self._note_size(handle, "len", found)
        if operation != "len" and not (instance_of(handle, CallableHandle) and operation == "bool"):
            self.own_words[f"{self.title(handle)}.__{operation}__"] = None
        return found

    def iterate(self, handle: Any) -> Iterator[Any]:
        """``iter``: of a container the parts that it really holds, whatever its class gives instead."""
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
        """Doubt an object that says how many parts it has, and gives another number of them."""
        name = name_of(handle)
        self.sizes[name, told_by] = number
        if len({self.sizes.get((name, one), number) for one in ("len", "iter")}) > 1:
            self.disputed = f"{self.title(handle)}.__len__ says what the object does not give"

    def _holds_another(self, handle: Any, length: Any) -> bool:
        """Whether a subclass of a container tells another length than the container itself has."""
        if self.class_of(handle) is None or not issubclass(self.stand_in(handle), list | dict | tuple | set):
            return False
        held = self.ask("plain", handle)
        return held is not Ellipsis and bool(length != len(held))

    def contains(self, handle: Any, value: Any) -> bool:
        """``in``: of two handles the student's word; of plain data only what a container really holds."""
        if instance_of(value, Handle):
            return bool(self.truth("contains", handle, value))
        held = self.ask("plain", handle)
        if held is Ellipsis or value not in held:  # a subclass may have a `__contains__` of its own
            self.refuse_own_word("contains", handle, value)
        return True

    def equal(self, handle: Any, other: Any) -> bool:
        """``==``: of two handles the student's word; with plain data only what a container really holds."""
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
        elif (
            self.ask("eq", handle, _NOTHING_EQUALS) is True
        ):  # what is expected is not shown to the student's code
            self.disputed = f"{self.title(handle)}.__eq__ says equal to anything"
        return False

    def compare(self, operation: str, handle: Any, other: Any) -> Any:
        """``<`` and the like, by the student's class; ``!=`` with plain data as `equal`."""
        if operation == "ne" and not instance_of(other, Handle):
            return not self.equal(handle, other)
        self.refuse_own_word(operation, handle, other)
        return self.truth(operation, handle, other)

    def combine(self, operation: str, handle: Any, other: Any, *, swapped: bool = False) -> Any:
        """Return what arithmetic with a student's object gives, by its class."""
        name = operation.strip("_")
        if self.is_strict or name.removeprefix("i") in _MEASURING:
            self.refuse_own_word(name, handle, other)
        found = self.ask(operation, *((other, handle) if swapped else (handle, other)))
        if not instance_of(other, Handle):
            self._note_combined(found)
        return found

    def refuse_own_word(self, operation: str, handle: Any, other: Any) -> None:
        """Refuse arithmetic and comparisons of a student's object with a value of the test.

        A class whose ``__sub__`` gives 0, or whose ``__lt__`` is true, meets every tolerance. The value does
        not go to the student's code either, which would know what the next test expects.
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

        Operators are what some tests are about, so the test may look at what they give. It has to see the
        right value then: one near 0 or 1 is what a class would say of every difference.
        """
        if instance_of(found, Handle):
            self._combined.add(name_of(found))
        elif _is_near_0_or_1(found):
            self.disputed = "a student's object itself says what arithmetic with a value of the test gives"

    # ------------------------------------------------------------ classes

    def class_of(self, handle: Any) -> Any:
        """The handle of an object's class; None of functions and classes."""
        name = object.__getattribute__(handle, "_of")
        return self.handle(name, "class") if name else None

    def type_of(self, handle: Any) -> Any:
        """What ``type`` gives."""
        if instance_of(handle, ClassHandle):
            return type
        own = self.class_of(handle)
        if own is None:
            return type(lambda: None)
        described = self._mro(own)[1][0]
        return own if instance_of(described, ClassHandle) else described

    def known_class(self, handle: Any) -> type | None:
        """The library's class that a handle is on; None if it is on anything else."""
        found = self._mro(handle)[1][0] if instance_of(handle, ClassHandle) else None
        return found if instance_of(found, type) else None

    def bases(self, kind: Any) -> tuple[Any, ...]:
        """All that a class derives from: of libraries the classes themselves."""
        known = self.known_class(kind)
        return tuple(self._mro(kind)[1][1:]) if known is None else (known,)

    def derives(self, kind: Any, other: Any) -> bool:
        """Whether a class is another one, or derives from it."""
        known = self.known_class(other)
        return any(one is other or (one is known and known is not None) for one in self._mro(kind)[1])

    def stand_in(self, handle: Any) -> type:
        """A real class in the place of an object's: derived from what a library has of its bases."""
        own = self.class_of(handle)
        if own is None:
            return type if instance_of(handle, ClassHandle) else type(lambda: None)
        return self._stand_in(own)

    def exception(self, kind: Any) -> type[BaseException]:
        """The class under which an exception of the student's is raised here."""
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
        """Below what stands for its bases: ``except`` and ``issubclass`` see what derives from what."""
        bases = [self._stand_in(one) if instance_of(one, ClassHandle) else one for one in kinds]
        table = self

        def __init__(error: Any, /, *args: Any, **kwargs: Any) -> None:  # noqa: N807 - of the class that is made
            error.student = table.ask("call", kind, *args, **kwargs)
            error.told = str(error.student)

        own = {"__getattr__": _of_raised, "__str__": _text_of_raised, "__init__": __init__}
        return type(title, tuple(bases), {"__module__": _STUDENTS, **own})

    def stands_for(self, value: Any) -> Any:
        """The handle of the class or the exception of the student's in whose place a value is; None else."""
        if isinstance(value, type):
            return self._stood_for.get(value) if value.__module__ == _STUDENTS else None
        if isinstance(value, BaseException) and instance_of(one := vars(value).get("student"), Handle):
            return one
        return None

    def hash_of(self, handle: Any) -> int:
        """As the student's class says, where it says something of its own."""
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
        """The name of an object's class."""
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
    """What an exception has beside its text is in the student's box."""
    if name.startswith("__") or "student" not in vars(error):
        raise AttributeError(f"{type(error).__name__!r} object has no attribute {name!r}")
    return getattr(error.student, name)


def _text_of_raised(error: Any) -> str:
    """As the student's class tells it."""
    return vars(error)["told"] if "told" in vars(error) else BaseException.__str__(error)


def _derived(title: str, bases: list[type]) -> type:
    """A class of this name below the first base that can have one."""
    for base in bases:
        try:
            return type(title, (base,), {"__module__": _STUDENTS})
        except TypeError:
            continue
    return object
