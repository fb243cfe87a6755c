"""Runs tests without student code, and queries the student's box for what they use. Runs in the judge's box.

If a test needs something from the student's box, the request goes out as the answer to the current call, and
the next call brings the reply. The reply is under the student's control: plain values are built from known
parts only, all others become handles (see `proxies`). The student's code may call functions that the test has
passed to it (`callbacks`).
"""

from __future__ import annotations
import __future__

import builtins
import contextlib
import dataclasses
import functools
import importlib
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from autograder.sandbox.exchange import wire
from autograder.sandbox.inside import shared_values, value_conversion
from autograder.sandbox.inside.callbacks import OwnFunctions
from autograder.sandbox.inside.check_runner import Checks
from autograder.sandbox.inside.gradients import GradientBridge, is_part_of_a_graph, is_transformed
from autograder.sandbox.inside.proxies import (
    CannotJudge,
    ClassHandle,
    Handle,
    Proxies,
    StudentExit,
    TypeOfTests,
    get_name,
    get_table,
    is_instance,
)
from autograder.sandbox.inside.remote import HandleEncoder
from autograder.sandbox.inside.shared_values import (
    Encoded,
    Generators,
    SharedValues,
    has_other_numbers,
    is_trained,
)
from autograder.sandbox.inside.source_runner import run_test
from autograder.sandbox.inside.value_conversion import build_own_array

MOST_FRAMES = 6000
"""Limit of Python frames, for mutual calls between the student's code and the test's functions."""
_OF_DATACLASSES = ("fields", "replace", "asdict", "astuple", "is_dataclass")
"""Functions that inspect a class without calling its methods."""
_PLAIN_RESULTS = (
    "call",
    "call_by_name",
    "method",
    "get",
    "getitem",
    "name",
    "next",
    "len",
    "int",
    "float",
    "str",
    "repr",
)
"""Operations with plain results that a test can compare by itself."""


Exchange = Callable[..., Encoded]
"""Answers the current call with a request to the box of a number (``box=``), and returns the reply to it."""


class JudgeEncoder(HandleEncoder):
    """Encodes handles as the objects they represent, and functions, classes and modules by name."""

    def __init__(
        self,
        mark: Callable[[Any], Any],
        functions: OwnFunctions,
        *,
        proxies: Proxies,
        follow: Callable[[Any], str],
    ) -> None:
        super().__init__(self._encode_reference)
        self._proxies = proxies
        self._follow = follow
        self._mark = mark
        self._own = functions

    def encode(self, value: Any, depth: int = 0) -> Any:
        """Encode a value; a handle is not inspected, because its answers are under the student's control."""
        if is_instance(value, Handle):
            if get_table(value) is not self._proxies:
                raise CannotJudge("hands an object of one of the student's boxes to another one")
            return {"$": "ref", "v": get_name(value)}
        if is_instance(value, types.ModuleType):
            return self._encode_form("module", [value.__name__], depth)
        return super().encode(value, depth)

    def encode_other(self, value: Any, depth: int) -> Any:
        """Encode torch's own modules in parts, and the result of their ``parameters()`` as an iterator."""
        if shared_values.is_layer(value):
            return self._encode_form("layer", shared_values.describe_module(value, self._mark), depth)
        if shared_values.is_optimizer(value):
            return self._encode_form("optimizer", shared_values.describe_optimizer(value, self._mark), depth)
        if shared_values.is_of_tensors(value):
            return self._encode_form("iterator", [self._mark(parameter) for parameter in value], depth)
        return super().encode_other(value, depth)

    def _encode_leaf(self, torch: Any, value: Any) -> Any:
        """Encode a result of the student's computation as itself, with everything that it depends on."""
        handle, version = getattr(value, "student", (None, 0))
        is_unchanged = value._version == version  # noqa: SLF001 - shows changes in place
        if handle is not None and is_unchanged and get_table(handle) is self._proxies:
            return {"$": "ref", "v": get_name(handle)}
        if value.requires_grad and not value.is_leaf:
            return {
                "$": "form",
                "type": "computed",
                "v": [self._encode_tensor(torch, value), self._follow(value)],
            }
        return super()._encode_leaf(torch, value)

    def _encode_reference(self, value: Any) -> Any:
        student = self._proxies.find_student_handle(value)
        if student is not None:
            return {"$": "ref", "v": get_name(student)}
        if isinstance(value, BaseException):
            return self._encode_form("thrown", self._own.describe_exception(value), 0)
        parts = value_conversion.to_named_parts(value)
        if parts is not None:
            return {"$": "form", "type": parts[0], "v": list(parts[1])}
        description = self._own.describe_function(value)
        if description is None:
            raise CannotJudge(f"hands a {type(value).__name__} of its own to the student's code")
        return {"$": "form", "type": "own", "v": description}


class Namespace(dict[str, Any]):
    """The names of a test: its own, Python's, the libraries', and for all others the student's."""

    def __init__(
        self, student: Callable[[str], Any], module: Callable[[str], Any], imported: Callable[[], None]
    ) -> None:
        super().__init__(__name__="__main__", type=TypeOfTests)
        self._imported = imported
        self._student = student
        self._module = module
        self.absent: list[str] = []
        """Messages about modules that are not installed."""
        self["__builtins__"] = vars(builtins) | {"__import__": self._import_module}

    def __missing__(self, name: str) -> Any:
        return self._student(name)

    def __contains__(self, name: object) -> bool:
        if super().__contains__(name):
            return True
        try:
            self._student(str(name))
        except (NameError, KeyError):
            return False
        return True

    def get(self, name: str, default: Any = None) -> Any:
        """Return a value as a dictionary does; `__future__` features, which doctest looks up, are absent."""
        if name in __future__.all_feature_names:
            return default
        return self[name] if name in self else default  # noqa: SIM401 - `get` itself

    def _import_module(
        self, name: str, names: Any = None, local: Any = None, wanted: Any = (), level: int = 0
    ) -> Any:
        """Import as Python does; drawing libraries come from the student's box."""
        root = name.partition(".")[0]
        if root != value_conversion.DRAWN:
            try:
                imported = builtins.__import__(name, names, local, wanted, level)
            except ModuleNotFoundError as error:
                self.absent.append(str(error))
                raise
            self._imported()
            return imported
        drawn_module = self._module(name)
        return drawn_module if wanted or name == root else self._module(root)

    def copy(self) -> Namespace:
        """Return the namespace itself: doctest would lose the student's names with a copy."""
        return self


class Judge:
    """The tests of one submission, one after another."""

    def __init__(self, further: Exchange) -> None:
        """Prepare the tests of one box.

        Args:
            further: answers the current call with a request to a box, and returns the reply to it.
        """
        self._further = further
        self._box = 1
        self._seed: int | None = None
        self._is_silent = False
        self._others: list[Judge] = []
        self._may_change: list[Any] = []
        self._fresh_boxes = 0
        self._is_limited = False
        self._imports: Mapping[str, tuple[str, str]] = {}
        self._students: frozenset[str] = frozenset()
        self._generators = Generators()
        self._gradients = GradientBridge(self._ask_student)
        self._imported: Callable[[], None] = lambda: None
        self._checks = Checks()
        self._begin_again("")

    def prepare_process(self) -> None:
        """Prepare this process, which only runs tests: deeper recursion, libraries aware of handles."""
        sys.setrecursionlimit(MOST_FRAMES)
        self._imported = self._namespace._imported = self._gradients.patch_torch  # noqa: SLF001 - a class of this file
        self._imported()
        for name in _OF_DATACLASSES:
            setattr(dataclasses, name, self._wrap_function(getattr(dataclasses, name)))

    def judge_test(self, begin: Mapping[str, Any]) -> Encoded:
        """Run a test and return its outcome.

        Args:
            begin: ``code``, ``doctest``, ``shared``: the test, or ``check``
                (`check_runner.Checks.run_check`); ``imports``; ``students``: names that are the student's in
                any case; ``token``: changes with the student's box.
        """
        if begin["token"] != self._token:
            self._begin_again(begin["token"])
            self._checks.forget_answer()
        self._imports = {name: (module, attribute) for name, module, attribute in begin["imports"]}
        self._students = frozenset(begin["students"])
        return wire.Encoder().encode(self._compute_outcome(begin)), {}

    def _wrap_function(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a function of dataclasses to query the student's box about the student's objects."""

        @functools.wraps(function)
        def call_function(value: Any, /, *args: Any, **kwargs: Any) -> Any:
            if is_instance(value, Handle):
                return self._ask_student("library", "dataclasses", function.__name__, value, *args, **kwargs)
            return function(value, *args, **kwargs)

        return call_function

    def _begin_again(self, token: str) -> None:
        """Forget everything that belongs to a student's box that no longer exists."""
        self._token = token
        self._proxies = Proxies(self._ask_student)
        self._own = OwnFunctions()
        self._shared = SharedValues("j", self._encode_value, shared_values.is_copied)
        self._namespace = self._create_namespace()

    def _create_namespace(self) -> Namespace:
        return Namespace(self._find_name, functools.partial(self._ask_student, "module"), self._imported)

    def _compute_outcome(self, test: Mapping[str, Any]) -> dict[str, Any]:
        self._namespace = self._namespace if test["shared"] else self._create_namespace()
        for name in self._students:  # includes names bound by earlier tests, and `type`
            self._namespace.pop(name, None)
        self._own.open = 0
        self._gradients.begin_test()
        self._generators.collect_moved_states()
        self._seeded, self._plain = False, 0
        self._seed = None
        self._others = []
        self._may_change = []
        self._malformed = ""
        self._proxies.own_words.clear()
        self._proxies.sizes.clear()
        self._proxies.disputed = ""
        self._proxies.is_strict = "check" in test  # handles instead of library classes
        self._namespace.absent.clear()
        if "check" in test:
            result = self._checks.run_check(test["check"], self)
        else:
            result = run_test(test["code"], self._namespace, doctest=test["doctest"], refusals=CannotJudge)
        for other in self._others:
            self._take_doubts(other)
        if self._malformed:
            return {"malformed": self._malformed}
        # A test that fails because a module is missing says nothing about the answer.
        for absent in self._namespace.absent:
            if absent in result.get("message", ""):
                result = {"refused": f"it imports what is not there: {absent}", "printed": result["printed"]}
                break
        words = list(self._proxies.own_words)
        is_doubtful = words and (self._proxies.is_strict or not self._plain)
        doubt = self._proxies.disputed or (f"it rests on {', '.join(words)} alone" if is_doubtful else "")
        if doubt:  # a later check that reuses the answer would not show the doubt
            self._checks.forget_answer()
        return result | {"own_words": words[:20], "doubt": doubt[:200]}

    def set_student_seed(self, seed: int) -> None:
        """Make the student's box seed its generators, as was done here: states are long."""
        self._generators.collect_moved_states()
        self._seed = seed

    def allow_changes(self, value: Any) -> None:
        """Pass a value, and its parts, itself instead of copies; see `check_runner.StudentBox`."""
        self._may_change.append(value)
        parts = value.values() if type(value) is dict else value
        if type(value) in (list, tuple, dict):
            for part in parts:
                self.allow_changes(part)

    def _is_kept(self, value: Any) -> bool:
        return is_trained(value) or any(value is changeable for changeable in self._may_change)

    def _take_doubts(self, other: Judge) -> None:
        """Count the self-declared results of a fresh box as if this one had given them."""
        self._malformed = self._malformed or other._malformed
        self._proxies.disputed = self._proxies.disputed or other._proxies.disputed
        self._proxies.own_words |= other._proxies.own_words

    def define_module(self, source: str, names: Sequence[str] = ()) -> Any:
        """Run a source in the student's box and return its module; see `check_runner.StudentBox`."""
        self._is_silent = self._is_silent or bool(names)  # the right solution's source could be printed
        return self._ask_student("define", source, [*names])

    def open_again(self, forbidden: Sequence[str] = ()) -> Judge:
        """Return the judge of a fresh box in which the same cells ran; see `check_runner.StudentBox`."""
        other = Judge(self._further)
        other._others, other._may_change = self._others, self._may_change
        other._is_limited = bool(forbidden)
        alike = [judge for judge in self._others if judge._is_limited is other._is_limited]  # noqa: SLF001
        other._box = len(alike) + (wire.LIMITED_BOX if forbidden else 2)
        self._fresh_boxes += 1  # a new token: a reused box drops handles of other checks
        other._begin_again(f"{self._token} {self._fresh_boxes}")
        other._seeded, other._plain, other._malformed = False, 0, ""
        other._proxies.is_strict = self._proxies.is_strict
        other._generators.forget_states()
        self._others.append(other)
        if forbidden:
            other._ask_student("forbid", [*forbidden])
        return other

    def _ask_student(self, operation: str, /, *args: Any, **kwargs: Any) -> Any:
        reply = self._send_request(self._request(operation, args, kwargs))
        # The student's code may call functions of the test any number of times before it returns.
        while "back" in reply:
            reply = self._send_request(self._answer_callback(reply["back"]))
        if "hooked" in reply:
            raise CannotJudge("the student's code puts a hook on what is the test's")
        if "failed" in reply:
            raise CannotJudge(f"what the student's code returned could not be read: {reply['failed']}")
        if "ended" in reply:
            ended = StudentExit(f"a fresh process of the student's ended: {reply['ended']}")
            ended.ending = str(reply["ended"])
            raise ended
        if "raised" in reply:
            raise self._build_exception(reply["raised"])
        value = reply["v"]
        if operation in _PLAIN_RESULTS and value is not None and not is_instance(value, Handle):
            self._plain += not isinstance(value, types.ModuleType | type)
        return value

    def _answer_callback(self, request: Any) -> Encoded:
        """Call a function of the test's for the student's code, and return the request with its result."""
        open_before = self._own.open
        try:
            result = self._own.call_function(request)
        except CannotJudge:
            raise
        except BaseException as error:  # noqa: BLE001 - the student's code may catch what a function raises
            return self._request("threw", [error], {}, depth=open_before + 1)
        if any(map(is_part_of_a_graph, result if type(result) in (list, tuple) else [result])):
            raise CannotJudge("has a function whose gradients the student's code may take")
        return self._request("returned", [result], {}, depth=open_before + 1)

    def _request(
        self, operation: str, args: Sequence[Any], kwargs: Mapping[str, Any], *, depth: int | None = None
    ) -> Encoded:
        if any(map(is_transformed, args)):
            raise CannotJudge("has torch transform a function of the student's")
        extras: dict[str, Any] = {}
        if changes := self._shared.collect_changes():
            extras["changes"] = changes
        if gone := self._shared.drop_unused():
            extras["forget"] = gone
        if self._seed is not None:
            self._seeded, extras["seed"], self._seed = True, self._seed, None
        if moved := self._generators.collect_moved_states():
            self._seeded = True
            extras["states"] = moved
        if self._seeded:
            extras["seeded"] = True
        torch = sys.modules.get("torch")
        if torch is not None and not torch.is_grad_enabled():
            extras["grad"] = False
        try:
            # Functions that run next to the student's objects get copies: changes in them are not sent back.
            marked = args if operation == "beside" else map(self._mark_value, args)
            sent: list[Any] = [operation, [*marked]]
            sent += [{name: self._mark_value(value) for name, value in kwargs.items()}, extras]
            open_calls = self._own.open if depth is None else depth
            return self._encode_value([*sent, self._token, open_calls])
        except (wire.ProtocolError, TypeError, RuntimeError) as error:
            raise CannotJudge(f"hands over what cannot go to the student's code: {error}") from error

    def _send_request(self, request: Encoded) -> dict[str, Any]:
        try:
            message = self._decode_reply(*self._further(request, box=self._box))
            if self._proxies.is_strict:
                self._refuse_changes(message.get("changes", ()))
            self._generators.restore_states(message.get("states", {}))
            self._shared.apply_changes(message.get("changes", ()))
            self._proxies.record_classes(message.get("classes", ()))
        except wire.ProtocolError as error:  # this is the first time it is inspected
            self._malformed = str(error)[:200]
            raise CannotJudge("what the student's box replied is no value") from error
        except (wire.ClosedError, BrokenPipeError, CannotJudge):
            raise
        except Exception as error:  # noqa: BLE001 - malformed parts come from the student's box
            return {"failed": f"{type(error).__name__}: {error}"[:300]}
        if "printed" in message and not self._is_silent:
            sys.stdout.write(str(message["printed"]))
        return (
            message if message.keys() & {"v", "raised", "failed", "back", "ended"} else {"failed": "no reply"}
        )

    def _decode_reply(self, tree: Any, arrays: Mapping[str, np.ndarray]) -> Any:
        try:
            return wire.Decoder(wire.SingleUseArrays(arrays), build_own_array, self._decode_tagged).decode(
                tree
            )
        except KeyError as error:
            if error.args != ("torch",):
                raise
        importlib.import_module("torch")  # only the student's code has imported it
        return wire.Decoder(wire.SingleUseArrays(arrays), build_own_array, self._decode_tagged).decode(tree)

    def _mark_value(self, value: Any) -> Any:
        """Mark a value; a check sends copies, so that no answer changes the values it compares with."""
        if is_instance(value, Handle):
            return value
        if self._proxies.is_strict:
            return self._shared.copy_value(value, self._is_kept)
        return self._shared.mark_value(value)

    def _refuse_changes(self, changes: Sequence[Any]) -> None:
        """Refuse other numbers in a tensor that only gets gradients."""
        for key, value in changes:
            held = self._shared.get_held(key)
            if has_other_numbers(held, value) and not any(
                held is changeable for changeable in self._may_change
            ):
                raise CannotJudge("the student's code changes in place what takes gradients")

    def _encode_value(self, value: Any) -> Encoded:
        encoder = JudgeEncoder(
            self._mark_value, self._own, proxies=self._proxies, follow=self._gradients.follow_tensor
        )
        return encoder.encode(value), encoder.arrays

    def _decode_tagged(self, tag: str, tree: Mapping[str, Any]) -> Any:
        if tag == "ref":
            return self._proxies.get_handle(str(tree["v"]), str(tree.get("type", "")))
        if tag not in ("form", "opaque"):
            raise wire.ProtocolError(f"unknown tag {tag!r}")
        name, content = tree["type"], tree["v"]
        if name == "shared":
            return self._shared.receive_value(content)
        if name == "own":
            return self._own[content[0]]
        if name == "computed":
            return self._gradients.build_tensor(content[0], content[1], content[2])
        return value_conversion.from_parts(name, content)

    def _build_exception(self, description: list[Any]) -> BaseException:
        name, text, kind, error, args, own_key, cause = description
        if own_key is not None:
            return self._own.get_exception(own_key)
        error_class = kind if is_instance(kind, type) else self._proxies.get_exception_class(kind)
        if not issubclass(error_class, BaseException):
            return CannotJudge("the student's code raised something that is no exception")
        # Raised as themselves, these would pass every `except Exception` of a test and of ours.
        if not issubclass(error_class, Exception):
            return StudentExit(f"{name}: {text}")
        arguments = args or ([text] if text else [])
        if self._proxies.find_student_handle(error_class) is not None:
            raised: BaseException = error_class.__new__(error_class, *arguments)
        else:
            try:
                raised = error_class(*arguments)
            except TypeError:
                raised = error_class.__new__(error_class)
                raised.args = (text,)
        if is_instance(error, Handle):
            with contextlib.suppress(AttributeError, TypeError):
                raised.student, raised.told = error, text  # type: ignore[attr-defined]
        if cause is not None:
            raised.__cause__ = self._build_exception(cause)
        return raised

    def _find_name(self, name: str) -> Any:
        """Find the value of a name that the test has not defined."""
        if name.startswith("__"):
            raise KeyError(name)
        if name in self._students:
            return self.resolve_name(name)
        if name in self._imports:  # before builtins: `from numpy import sum` hides one
            module, attribute = self._imports[name]
            with contextlib.suppress(ImportError, AttributeError):
                imported = importlib.import_module(module)
                return functools.reduce(getattr, attribute.split("."), imported) if attribute else imported
        if hasattr(builtins, name):
            raise KeyError(name)
        return self.resolve_name(name)

    def resolve_name(self, name: str) -> Any:
        """Return the value of a name of the notebook; see `check_runner.StudentBox`."""
        value = self._ask_student("name", name)
        if is_instance(value, ClassHandle):
            stand_in = self._proxies.get_exception_class(value)
            value = stand_in if issubclass(stand_in, BaseException) else value
        return value
