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

from autograder.sandbox.inside.value_conversion import find_library, find_library_class

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
_IN_PLACE = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor")
_REFLECTED = (*_IN_PLACE, "lshift", "rshift")
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
        table = get_table(self)
        if name == "__class__":
            return table.get_stand_in(self)
        if name.startswith(_NO_PROTOCOLS):
            raise AttributeError(name)
        if name in ("__copy__", "__deepcopy__"):  # the copy module looks them up in the object
            return object.__getattribute__(self, name)
        if name == "__dict__":
            return table.ask(
                "call", table.get_attribute(self, "__dict__").copy
            )  # of a class: a read-only view
        return table.get_attribute(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        get_table(self).ask("set", self, name, value)

    def __delattr__(self, name: str) -> None:
        get_table(self).ask("delete", self, name)

    def __eq__(self, other: object) -> bool:
        return get_table(self).is_equal(self, other)

    def __hash__(self) -> int:
        return get_table(self).compute_hash(self)

    def __bool__(self) -> bool:
        return bool(get_table(self).ask_truth("bool", self))

    def __len__(self) -> int:
        return int(get_table(self).ask_truth("len", self))

    def __contains__(self, value: object) -> bool:
        return get_table(self).has_member(self, value)

    def __iter__(self) -> Iterator[Any]:
        return get_table(self).iterate_parts(self)

    def __next__(self) -> Any:
        return get_table(self).ask("next", self)

    def __format__(self, form: str) -> str:
        return str(get_table(self).ask("format", self, form))

    def __pow__(self, other: Any, modulus: Any = None) -> Any:
        if modulus is not None:
            raise CannotJudge("takes a power of the student's object modulo something")
        return get_table(self).combine_values("pow", self, other)

    def __copy__(self) -> Any:
        return get_table(self).ask("copy", self)

    def __deepcopy__(self, memo: Any) -> Any:
        return get_table(self).ask("deepcopy", self)

    def __enter__(self) -> Any:
        return get_table(self).ask("enter", self)

    def __exit__(self, _kind: object, error: object, _: object) -> bool:
        """Pass on an exception, which may be caught there; a failed assertion of the test is not shown."""
        table = get_table(self)
        if error is None or not isinstance(error, Exception) or type(error) is AssertionError:
            table.ask("leave", self)
            return False
        caught = bool(table.ask("leave", self, error))
        if caught and not is_instance(getattr(error, "student", None), Handle):
            table.own_words[f"{table.get_class_name(self)}.__exit__"] = None
        return caught

    def __mro_entries__(self, bases: Any) -> Any:
        raise CannotJudge("derives a class from the student's")


def _build_operator(name: str) -> Callable[..., Any]:
    def apply_operator(self: Handle, *operands: Any) -> Any:
        return get_table(self).ask(name, self, *operands)

    return apply_operator


def _build_arithmetic(name: str, *, swapped: bool = False) -> Callable[[Handle, Any], Any]:
    def apply_operator(self: Handle, other: Any) -> Any:
        return get_table(self).combine_values(name, self, other, swapped=swapped)

    return apply_operator


def _build_comparison(name: str) -> Callable[[Handle, Any], Any]:
    def compare(self: Handle, other: Any) -> Any:
        return get_table(self).compare_order(name, self, other)

    return compare


def _fill_operators(kind: type) -> None:
    """Define the operators that are forwarded unchanged."""
    for operator in ("getitem", "setitem", "delitem", "neg", "pos", "invert"):
        setattr(kind, f"__{operator}__", _build_operator(operator))
    for operator in _REFLECTED:
        name = f"{operator}_" if operator in ("and", "or") else operator
        if operator != "pow":
            setattr(kind, f"__{operator}__", _build_arithmetic(name))
        setattr(kind, f"__r{operator}__", _build_arithmetic(name, swapped=True))
    for operator in _IN_PLACE:
        setattr(kind, f"__i{operator}__", _build_arithmetic(f"i{operator}"))
    for operator in ("str", "repr", "abs", "round", "int", "float", "index", "reversed"):
        setattr(kind, f"__{operator}__", _build_operator(operator))
    for operator in _ORDER:
        setattr(kind, f"__{operator}__", _build_comparison(operator))


_fill_operators(Handle)


class CallableHandle(Handle):
    """A function of the student's, or an object that can be called."""

    __slots__ = ()

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call it in the student's box."""
        return get_table(self).ask("call", self, *args, **kwargs)


class MethodHandle(CallableHandle):
    """A method of an object, which is fetched only if it is used for something other than a call."""

    __slots__ = ("_method", "_object")

    def __init__(self, table: Proxies, owner: Any, method: str) -> None:
        super().__init__(table, "", "")
        object.__setattr__(self, "_object", owner)
        object.__setattr__(self, "_method", method)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call it in the student's box."""
        owner, method = object.__getattribute__(self, "_object"), object.__getattribute__(self, "_method")
        if method in _OF_DICTIONARIES and get_table(self).is_strict:
            held = get_table(self).ask("plain", owner)
            if is_instance(held, dict):
                return getattr(held, method)(*args, **kwargs)
        if method in _COMPARING:
            for other in (*args, *kwargs.values()):
                get_table(self).refuse_own_word(method, owner, other)
        return get_table(self).ask("method", owner, method, *args, **kwargs)


class ClassHandle(CallableHandle):
    """A class of the student's box."""

    __slots__ = ()

    def __getattribute__(self, name: str) -> Any:
        if name == "__bases__":
            return get_table(self).list_bases(self)
        return super().__getattribute__(name)

    def __instancecheck__(self, value: object) -> bool:
        if not is_instance(value, Handle):
            library_class = get_table(self).find_known_class(self)
            return library_class is not None and isinstance(value, library_class)
        table = get_table(value)
        kind = table.get_class(value)
        return kind is not None and table.is_derived(kind, self)

    def __subclasscheck__(self, candidate: object) -> bool:
        return is_instance(candidate, ClassHandle) and get_table(candidate).is_derived(candidate, self)


class KnownType(type):
    """Makes ``type(x)`` of a handle the student's class; for other objects it behaves as always."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Return the type of one object, or a new class."""
        if len(args) == 1 and is_instance(args[0], Handle):
            return get_table(args[0]).get_type(args[0])
        return builtins.type(*args, **kwargs)

    def __instancecheck__(cls, value: object) -> bool:
        return is_instance(value, type) or is_instance(value, ClassHandle)

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is builtins.type

    def __hash__(cls) -> int:
        return hash(builtins.type)


class TypeOfTests(metaclass=KnownType):
    """The value of the name ``type`` in tests."""


def is_instance(value: object, kind: type) -> bool:
    """Return whether it really is of a class; `isinstance` would believe a handle's own claim."""
    return issubclass(type(value), kind)


def get_table(handle: Any) -> Proxies:
    """Return the table that a handle belongs to."""
    table: Proxies = object.__getattribute__(handle, "_ask")
    return table


def get_name(handle: Any) -> str:
    """Return its name in the student's box."""
    name: str = object.__getattribute__(handle, "_name")
    if not name:
        owner, method = object.__getattribute__(handle, "_object"), object.__getattribute__(handle, "_method")
        bound_method = get_table(handle).ask("get", owner, method)
        if not is_instance(bound_method, Handle):
            raise CannotJudge(f"looks at {method}, which is another thing each time")
        name = get_name(bound_method)
        object.__setattr__(handle, "_name", name)
    return name


class Proxies:
    """Handles by name, and the known facts about their classes."""

    def __init__(self, ask: Ask) -> None:
        """Prepare the handles of one student's box.

        Args:
            ask: carries out an operation there.
        """
        self._send = ask
        self._methods: dict[str, frozenset[str]] = {}
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
        result = self._send(operation, *args, **kwargs)
        if self._combined and any(map(self._is_combined, args)):
            self._note_combined(result)
        return result

    def get_handle(self, name: str, kind: str) -> Any:
        """Return the stand-in for an object: a module or class of a library itself, else a handle.

        Everything from the student's box that a check uses runs in their box: there functions may be
        forbidden, and a library's object cannot decide how it compares. Only exceptions, which are raised
        here, and types of numbers are used themselves.
        """
        word, _, path = kind.partition(" ")
        if word == "module" and not self.is_strict and (library := find_library(path)) is not None:
            return library
        if word == "class" and path:
            module, _, qualname = path.partition(" ")
            library_class = find_library_class((module, qualname)) if module != _OF_PYTHON else None
            if library_class is not None and (
                not self.is_strict or issubclass(library_class, BaseException | np.generic)
            ):
                return library_class
        handle = self._handles.get(name)
        if handle is None:
            form = {"class": ClassHandle, "function": CallableHandle, "callable": CallableHandle}.get(
                word, Handle
            )
            handle = form(self, name, path if word in ("object", "callable") else "")
            self._handles[name] = handle
        return handle

    def get_attribute(self, handle: Any, name: str) -> Any:
        """Return an attribute, as the student's box has it."""
        kind = object.__getattribute__(handle, "_of")
        if kind and name in self._methods.get(kind, ()):
            return MethodHandle(self, handle, name)
        value = self.ask("get", handle, name)
        is_own = name in _COMPARING or name in _OF_DICTIONARIES
        return MethodHandle(self, handle, name) if is_own and is_instance(value, CallableHandle) else value

    def record_classes(self, classes: Iterable[list[Any]]) -> None:
        """Record what the student's box says about classes that it sends objects of."""
        for name, (title, bases, by_identity, methods) in classes:
            self._record_class(name, title, bases, by_identity)
            self._methods[name] = frozenset(methods)

    # ------------------------------------------------------------ truth

    def ask_truth(self, operation: str, handle: Any, *operands: Any) -> Any:
        """Return the claim of a student's class about its own object, and note that it is a claim."""
        answer = self.ask(operation, handle, *operands)
        if operation == "len" and self._has_wrong_length(handle, answer):
            self.disputed = f"{self.get_class_name(handle)}.__len__ says what the object does not hold"
        if operation == "len" and self.is_strict:
            self._note_size(handle, "len", answer)
        if operation != "len" and not (is_instance(handle, CallableHandle) and operation == "bool"):
            self.own_words[f"{self.get_class_name(handle)}.__{operation}__"] = None
        return answer

    def iterate_parts(self, handle: Any) -> Iterator[Any]:
        """Iterate over the parts that a container really holds, whatever its class returns instead."""
        kind = self.get_class(handle)
        if not self.is_strict or kind is None or not is_instance(self.get_type(handle), ClassHandle):
            parts: Iterator[Any] = self.ask("iter", handle)
            return parts
        held = self.ask("plain", handle)
        return iter(held) if held is not Ellipsis else self._count_parts(handle, self.ask("iter", handle))

    def _count_parts(self, handle: Any, parts: Any) -> Iterator[Any]:
        number = 0
        with contextlib.suppress(StopIteration):
            while True:
                yield next(parts)
                number += 1
        self._note_size(handle, "iter", number)

    def _note_size(self, handle: Any, source: str, number: Any) -> None:
        """Doubt an object that reports one number of parts, and yields another."""
        name = get_name(handle)
        self.sizes[name, source] = number
        if len({self.sizes.get((name, other_source), number) for other_source in ("len", "iter")}) > 1:
            self.disputed = f"{self.get_class_name(handle)}.__len__ says what the object does not give"

    def _has_wrong_length(self, handle: Any, length: Any) -> bool:
        """Return whether a subclass of a container reports another length than the container itself has."""
        if self.get_class(handle) is None or not issubclass(
            self.get_stand_in(handle), list | dict | tuple | set
        ):
            return False
        held = self.ask("plain", handle)
        return held is not Ellipsis and bool(length != len(held))

    def has_member(self, handle: Any, value: Any) -> bool:
        """Return ``in``: for two handles the student's answer; for plain data only real members count."""
        if is_instance(value, Handle):
            return bool(self.ask_truth("contains", handle, value))
        held = self.ask("plain", handle)
        if held is Ellipsis or value not in held:  # a subclass may override `__contains__`
            self.refuse_own_word("contains", handle, value)
        return True

    def is_equal(self, handle: Any, other: Any) -> bool:
        """Return ``==``: for two handles the student's answer; for plain data only real contents count."""
        if handle is other:
            return True
        if is_instance(other, Handle):
            return bool(self.ask_truth("eq", handle, other))
        if is_instance(handle, CallableHandle):
            return self.find_known_class(handle) is other
        held = self.ask("plain", handle)
        if held is not Ellipsis:
            return bool(held == other)
        if self.is_strict:
            self.refuse_own_word("eq", handle, other)
        elif self.ask("eq", handle, _NOTHING_EQUALS) is True:  # never shows the expected value
            self.disputed = f"{self.get_class_name(handle)}.__eq__ says equal to anything"
        return False

    def compare_order(self, operation: str, handle: Any, other: Any) -> Any:
        """Return ``<`` and the like, by the student's class; ``!=`` with plain data as `is_equal`."""
        if operation == "ne" and not is_instance(other, Handle):
            return not self.is_equal(handle, other)
        self.refuse_own_word(operation, handle, other)
        return self.ask_truth(operation, handle, other)

    def combine_values(self, operation: str, handle: Any, other: Any, *, swapped: bool = False) -> Any:
        """Return the result of arithmetic with a student's object, by its class."""
        name = operation.strip("_")
        if self.is_strict or name.removeprefix("i") in _MEASURING:
            self.refuse_own_word(name, handle, other)
        result = self.ask(operation, *((other, handle) if swapped else (handle, other)))
        if not is_instance(other, Handle):
            self._note_combined(result)
        return result

    def refuse_own_word(self, operation: str, handle: Any, other: Any) -> None:
        """Refuse arithmetic and comparisons of a student's object with a value of the test.

        A class with a ``__sub__`` that returns 0, or a ``__lt__`` that returns True, meets every tolerance.
        The value is not sent to the student's code either, which would learn the value that a test expects.
        """
        if not is_instance(other, Handle):
            name = operation.strip("_")
            raise CannotJudge(
                f"has {self.get_class_name(handle)} itself say what {name} with a value of the test gives"
            )

    def _is_combined(self, value: Any) -> bool:
        return is_instance(value, Handle) and object.__getattribute__(value, "_name") in self._combined

    def _note_combined(self, value: Any) -> None:
        """Follow a sum or a product of a student's object and a value of the test.

        Some tests are about operators, so a test may look at their results. But the results must be
        distinguishable: a class could return a value near 0 or 1 for every difference.
        """
        if is_instance(value, Handle):
            self._combined.add(get_name(value))
        elif _is_near_0_or_1(value):
            self.disputed = "a student's object itself says what arithmetic with a value of the test gives"

    # ------------------------------------------------------------ classes

    def get_class(self, handle: Any) -> Any:
        """Return the handle of an object's class; None for functions and classes."""
        name = object.__getattribute__(handle, "_of")
        return self.get_handle(name, "class") if name else None

    def get_type(self, handle: Any) -> Any:
        """Return the result of ``type``."""
        if is_instance(handle, ClassHandle):
            return type
        kind = self.get_class(handle)
        if kind is None:
            return type(lambda: None)
        described = self._get_mro(kind)[1][0]
        return kind if is_instance(described, ClassHandle) else described

    def find_known_class(self, handle: Any) -> type | None:
        """Return the library's class that a handle refers to; None for other objects."""
        first_base = self._get_mro(handle)[1][0] if is_instance(handle, ClassHandle) else None
        return first_base if is_instance(first_base, type) else None

    def list_bases(self, kind: Any) -> tuple[Any, ...]:
        """Return all bases of a class: those of libraries as the classes themselves."""
        known_class = self.find_known_class(kind)
        return tuple(self._get_mro(kind)[1][1:]) if known_class is None else (known_class,)

    def is_derived(self, kind: Any, other: Any) -> bool:
        """Return whether a class is another one, or derives from it."""
        known_class = self.find_known_class(other)
        return any(
            base is other or (base is known_class and known_class is not None)
            for base in self._get_mro(kind)[1]
        )

    def get_stand_in(self, handle: Any) -> type:
        """Return a real class in place of an object's class, derived from its bases in libraries."""
        kind = self.get_class(handle)
        if kind is None:
            return type if is_instance(handle, ClassHandle) else type(lambda: None)
        return self._build_stand_in(kind)

    def get_exception_class(self, kind: Any) -> type[BaseException]:
        """Return the class under which an exception of the student's is raised here."""
        return self._build_stand_in(kind)

    def _build_stand_in(self, kind: Any) -> type:
        name = get_name(kind)
        if name not in self._stand_ins:
            title, kinds = self._get_mro(kind)
            bases = [base for base in kinds if is_instance(base, type)]
            if bases and bases[0] is kinds[0]:
                created = bases[0]
            elif bases and issubclass(bases[0], BaseException):
                created = self._derive_exception(kind, title, kinds[1:])
            else:
                created = _derive_class(title, bases or [object])
            self._stand_ins[name] = created
            self._stood_for[created] = kind
        return self._stand_ins[name]

    def _derive_exception(self, kind: Any, title: str, kinds: list[Any]) -> type:
        """Derive a class from the stand-ins of its bases, so that ``except`` and ``issubclass`` work."""
        bases = [self._build_stand_in(base) if is_instance(base, ClassHandle) else base for base in kinds]
        table = self

        def __init__(error: Any, /, *args: Any, **kwargs: Any) -> None:  # noqa: N807 - of the class that is made
            error.student = table.ask("call", kind, *args, **kwargs)
            error.told = str(error.student)

        members = {
            "__getattr__": _get_student_attribute,
            "__str__": _format_student_error,
            "__init__": __init__,
        }
        return type(title, tuple(bases), {"__module__": _STUDENTS, **members})

    def find_student_handle(self, value: Any) -> Any:
        """Return the handle of the student's class or exception that a value represents; otherwise None."""
        if isinstance(value, type):
            return self._stood_for.get(value) if value.__module__ == _STUDENTS else None
        if isinstance(value, BaseException) and is_instance(handle := vars(value).get("student"), Handle):
            return handle
        return None

    def compute_hash(self, handle: Any) -> int:
        """Return the hash by the student's class, if it defines one."""
        kind = self.get_class(handle)
        if kind is not None and not self._is_hashed_by_identity(kind):
            return int(self.ask("hash", handle))
        return hash(get_name(handle))

    def _is_hashed_by_identity(self, kind: Any) -> bool:
        self._get_mro(kind)
        return self._hashes[get_name(kind)]

    def _get_mro(self, kind: Any) -> tuple[str, list[Any]]:
        name = get_name(kind)
        if name not in self._described:
            self._record_class(name, *self.ask("describe", kind))
        return self._described[name]

    def _record_class(self, name: str, title: str, bases: list[Any], by_identity: bool) -> None:  # noqa: FBT001
        self._hashes[name] = bool(by_identity)
        first, *further = [find_library_class(base) if is_instance(base, list) else base for base in bases]
        first = self.get_handle(name, "class") if first is None else first
        self._described[name] = str(title), [first, *(base for base in further if base is not None)]

    def get_class_name(self, handle: Any) -> str:
        """Return the name of an object's class."""
        kind = self.get_class(handle)
        return "function" if kind is None else self._get_mro(kind)[0]


def _is_near_0_or_1(value: Any) -> bool:
    """Return whether all numbers in a plain value are near 0 or 1."""
    if isinstance(value, list | tuple):
        return all(map(_is_near_0_or_1, value))
    try:
        numbers = np.abs(np.asarray(value, complex))
    except (TypeError, ValueError, RuntimeError):
        return False
    return bool(np.all(np.minimum(numbers, np.abs(numbers - 1)) < _NEAR))


def _get_student_attribute(error: Any, name: str) -> Any:
    """Return an attribute of an exception from the student's box."""
    if name.startswith("__") or "student" not in vars(error):
        raise AttributeError(f"{type(error).__name__!r} object has no attribute {name!r}")
    return getattr(error.student, name)


def _format_student_error(error: Any) -> str:
    """Return the text of an exception, by the student's class."""
    return vars(error)["told"] if "told" in vars(error) else BaseException.__str__(error)


def _derive_class(title: str, bases: list[type]) -> type:
    """Derive a class of this name from the first base that can have subclasses."""
    for base in bases:
        try:
            return type(title, (base,), {"__module__": _STUDENTS})
        except TypeError:
            continue
    return object
