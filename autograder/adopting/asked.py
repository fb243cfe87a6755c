"""What a test cell asks of an answer, as far as its text alone tells: which calls, which hashed variable.

Read are assertions about calls of one function with stated arguments, exceptions that are expected, loops
over stated values, partial credit (``if …: points += 1``), and hashes of one variable. Nothing is run.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from autograder.adopting.stated import Unstated, plain_value, stated_value
from autograder.syntax import UNREADABLE, parsed

_DIGEST = re.compile(r"[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{56}|[0-9a-f]{64}|[0-9a-f]{128}", re.IGNORECASE)
_DECIMALS = re.compile(r"\.(\d+)[efg]?$")
_COMPARING = re.compile(r"(all|is)?close|allclose_\w+|array_equal|equals?|approx|assert_\w+|almost_equal")
_RAISING = frozenset({"raises", "assertRaises", "assert_raises"})
_UNTOLD = frozenset({"print", "display"})


class AskedCall(Struct, frozen=True):
    """One call of the answer's function."""

    args: tuple[Any, ...] = ()
    """As a rubric states them."""
    kwargs: dict[str, Any] = {}
    raises: tuple[str, ...] = ()
    """The exceptions of which one is expected; empty: its result is looked at."""
    worth: Decimal | None = None
    """The points that hang on it, where the test says so."""
    line: int = 0
    """Of the condition on which they hang: calls of one line earn them together."""


class AskedTest(Struct, frozen=True):
    """What one test asks, or why that cannot be told."""

    answer: str = ""
    """The function that is called, or the variable whose hash is compared."""
    calls: tuple[AskedCall, ...] = ()
    counts: bool = False
    """All results are compared with whole numbers."""
    hashed: bool = False
    decimals: int | None = None
    """To which a variable is rounded before it is hashed."""
    library: str = "numpy"
    """Whose arrays are handed over: numpy or torch."""
    reason: str = ""
    """Why nothing of ours is known to ask the same; empty where it is."""


def read_test(
    code: str, *, is_doctest: bool, functions: Collection[str], names: Collection[str]
) -> AskedTest:
    """Read a test.

    Args:
        code: of the whole test.
        is_doctest: it is an interactive session.
        functions: that the answer key's cells define.
        names: all that they bind, functions included.
    """
    try:
        body = list(_examples(code)) if is_doctest else _body(parsed(code).body)
        reader = _Reader(functions, names)
        for node in body:
            reader.read(node)
        return reader.finished()
    except Unstated as error:
        return AskedTest(reason=str(error))
    except UNREADABLE as error:
        return AskedTest(reason=f"it is not plain Python: {error}")


def _examples(code: str) -> Iterator[ast.stmt]:
    """The statements of a session, what is expected as an assertion."""
    for example in doctest.DocTestParser().get_examples(code):
        for node in parsed(example.source).body:
            if isinstance(node, ast.Expr) and example.want:
                try:
                    expected = parsed(example.want.strip()).body
                except UNREADABLE as error:
                    raise Unstated("a session expects what is no value") from error
                if len(expected) != 1 or not isinstance(expected[0], ast.Expr):
                    raise Unstated("a session expects what is no value")
                compared = ast.Compare(node.value, [ast.Eq()], [expected[0].value])
                yield ast.copy_location(ast.Assert(compared, None), node)
            else:
                yield node


def _body(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements of a test; otter's stand in a function that is called at the end."""
    *before, last = body or [ast.Pass()]
    if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call) and before:
        function = before[-1]
        called = ast.unparse(last.value.func)
        if isinstance(function, ast.FunctionDef) and called == function.name:
            return [*before[:-1], *function.body]
    return body


class _Reader:
    """Goes through the statements of one test."""

    def __init__(self, functions: Collection[str], names: Collection[str]) -> None:
        self._functions, self._names = functions, names
        self._values: dict[str, Any] = {}
        """What local names hold, as a rubric states it."""
        self._local: dict[str, ast.expr] = {}
        """What other local names are: expressions with calls of the answer, or references."""
        self._calls: list[tuple[str, AskedCall]] = []
        self._hashed: dict[str, int | None] = {}
        self._looked_at: set[str] = set()
        self._compared = self._refuses = False
        self._whole: list[bool] = []
        self._libraries: set[str] = set()

    def read(self, node: ast.stmt, worth: Decimal | None = None) -> None:
        """One statement.

        Raises:
            Unstated: nothing of ours is known to ask the same.
        """
        match node:
            case ast.Import() | ast.ImportFrom() | ast.Pass():
                return
            case ast.Assert():
                self._asserted(node.test, worth)
            case ast.Assign(targets=[target]) if _is_names(target):
                self._assigned(target, node.value)
            case ast.Expr(value=ast.Call() as call) if _last(call.func) in _UNTOLD:
                return
            case ast.Expr(value=ast.Call() as call) if _COMPARING.fullmatch(_last(call.func)):
                self._asserted(call, worth)
            case _:
                if not self._block(node, worth) and self._uses(node):
                    raise Unstated(f"line {node.lineno} does more than look at results of calls")

    def _block(self, node: ast.stmt, worth: Decimal | None) -> bool:
        """A loop, a condition of points, or an exception that is expected; whether it is one of these."""
        match node:
            case ast.For() if self._is_stated(node.iter):
                for value in ast.literal_eval(node.iter):
                    self._bind(node.target, value)
                    for inner in node.body:
                        self.read(inner, worth)
            case ast.If(orelse=[]) if (points := _worth(node.body)) is not None:
                self._asserted(node.test, points)
            case ast.Try(orelse=orelse, finalbody=[]) if (
                node.handlers and _fails([*node.body, *orelse]) and all(map(_passes, node.handlers))
            ):
                self._refused(node.body, [one.type for one in node.handlers], worth)
            case ast.With(items=[ast.withitem(context_expr=ast.Call() as call)]) if (
                _last(call.func) in _RAISING
            ):
                self._refused(node.body, call.args[:1], worth)
            case _:
                return False
        return True

    def finished(self) -> AskedTest:
        """The whole."""
        called = dict.fromkeys(name for name, _ in self._calls)
        if others := self._looked_at - {*self._hashed}:  # what else is asked of a hashed variable asks less
            named = ", ".join(sorted(others))
            raise Unstated(f"it looks at {named} otherwise than by calls or a hash")
        if self._hashed and not called:
            if len(self._hashed) > 1:
                raise Unstated(f"it is about several variables: {', '.join(self._hashed)}")
            ((name, decimals),) = self._hashed.items()
            return AskedTest(name, hashed=True, decimals=decimals)
        if self._hashed or len(called) > 1:
            raise Unstated(f"it is about several answers: {', '.join({**called, **self._hashed})}")
        if not called:
            raise Unstated("it calls no function of the answer's with arguments that are stated")
        if not (self._compared or self._refuses):
            raise Unstated("it looks at types and shapes alone, and not at values")
        calls = [one for _, one in self._calls]
        if len({one.worth is None for one in calls}) > 1:
            raise Unstated("points hang on some of its calls, and not on others")
        distinct = [one for at, one in enumerate(calls) if one not in calls[:at]]
        library = "torch" if "torch" in self._libraries else "numpy"
        whole = bool(self._whole) and all(self._whole)
        return AskedTest(next(iter(called)), tuple(distinct), whole, library=library)

    def _is_stated(self, node: ast.expr) -> bool:
        try:
            return isinstance(ast.literal_eval(node), list | tuple)
        except ValueError:
            return False

    def _bind(self, target: ast.expr, value: Any) -> None:
        match target:
            case ast.Name(id=name):
                self._values[name] = plain_value(value, target)
                self._local.pop(name, None)
            case ast.Tuple(elts=targets) if isinstance(value, list | tuple) and len(value) == len(targets):
                for one, inner in zip(targets, value, strict=True):
                    self._bind(one, inner)
            case _:
                raise Unstated(f"line {target.lineno} loops over what is not stated")

    def _assigned(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Tuple):
            together = isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts)
            parts = value.elts if together and isinstance(value, ast.Tuple) else [value] * len(target.elts)
            for one, part in zip(target.elts, parts, strict=True):
                self._name(ast.unparse(one), part, whole=together)
        else:
            self._name(ast.unparse(target), value)

    def _name(self, name: str, value: ast.expr, *, whole: bool = True) -> None:
        """A name of the test's own; ``whole``: it is the value, and not a part of it."""
        if name in self._names:
            raise Unstated(f"line {value.lineno} binds {name}, a name of the answer")
        self._values.pop(name, None)
        self._local[name] = value
        if whole and not self._uses(value):
            with contextlib.suppress(Unstated):
                self._values[name] = stated_value(value, self._values, self._libraries)
                del self._local[name]

    def _asserted(self, test: ast.expr, worth: Decimal | None) -> None:
        """An assertion, or the condition of some points: of each call the whole result is looked at."""
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
            for one in test.values:
                self._asserted(one, worth)
            return
        if self._hash(test):
            return
        found = list(self._calls_in(test))
        if not found:
            self._looked_at |= self._used(test)
        line = test.lineno if worth is not None else 0
        self._calls += [(name, replace(one, worth=worth, line=line)) for name, one in found]
        bare = test.operand if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) else test
        compares = isinstance(bare, ast.Compare) and not _measures(bare)
        closes = isinstance(bare, ast.Call) and (
            bool(_COMPARING.fullmatch(_last(bare.func))) or _last(bare.func) in self._functions
        )
        self._compared = self._compared or bool(found and (compares or closes))
        if found:
            self._whole.append(isinstance(bare, ast.Compare) and self._counts(bare))

    def _counts(self, test: ast.Compare) -> bool:
        """Whether the bare result of a call is compared with a whole number."""
        sides = [self._resolved(one) for one in (test.left, *test.comparators)]
        called = any(isinstance(one, ast.Call) and _last(one.func) in self._functions for one in sides)
        values = [self._values.get(one.id) if isinstance(one, ast.Name) else _literal(one) for one in sides]
        return called and any(isinstance(one, int) and not isinstance(one, bool) for one in values)

    def _hash(self, test: ast.expr) -> bool:
        """Whether a variable's hash is compared, and which."""
        if not (isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq)):
            return False
        sides = [test.left, test.comparators[0]]
        digests = [
            one
            for one in sides
            if isinstance(one, ast.Constant) and isinstance(one.value, str) and _DIGEST.fullmatch(one.value)
        ]
        if len(digests) != 1:
            return False
        other = self._resolved(next(one for one in sides if one is not digests[0]))
        names = self._used(other)
        if names <= {*self._functions}:
            return False  # the hash of what a call gives: all that it gives is compared instead
        if len(names) != 1:
            raise Unstated(f"line {test.lineno} hashes more than one variable of the answer's")
        self._hashed[names.pop()] = _decimals(other)
        return True

    def _refused(
        self, body: Sequence[ast.stmt], exceptions: Sequence[ast.expr | None], worth: Decimal | None
    ) -> None:
        """Calls that have to raise."""
        names: list[str] = []
        for one in exceptions:
            parts = one.elts if isinstance(one, ast.Tuple) else [one]
            names += [_last(part) if part is not None else "Exception" for part in parts]
        found = [call for node in body for call in self._calls_in(node)]
        kept = [node for node in body if not isinstance(node, ast.Raise) and not _fails([node])]
        if len(found) != 1 or len(kept) != 1 or not names:
            raise Unstated(f"line {body[0].lineno} expects an exception of more than one call")
        ((name, call),) = found
        self._calls.append((name, replace(call, raises=tuple(names), worth=worth)))
        self._refuses = True

    def _calls_in(self, node: ast.AST) -> Iterator[tuple[str, AskedCall]]:
        """Calls of the answer's functions, with arguments that a rubric can state."""
        for one in ast.walk(node):
            if isinstance(one, ast.Name) and isinstance(self._local.get(one.id), ast.expr):
                yield from self._calls_in(self._local[one.id])
            if isinstance(one, ast.Lambda) and self._uses(one):
                raise Unstated(f"line {one.lineno} calls the answer in a function of its own")
            if (
                isinstance(one, ast.Call)
                and isinstance(one.func, ast.Name)
                and one.func.id in self._functions
            ):
                args = tuple(stated_value(arg, self._values, self._libraries) for arg in one.args)
                kwargs = {
                    str(keyword.arg): stated_value(keyword.value, self._values, self._libraries)
                    for keyword in one.keywords
                    if keyword.arg
                }
                if len(kwargs) != len(one.keywords):
                    raise Unstated(f"line {one.lineno} hands over **{ast.unparse(one.keywords[-1].value)}")
                yield one.func.id, AskedCall(args, kwargs)

    def _resolved(self, node: ast.expr) -> ast.expr:
        return (
            self._resolved(self._local[node.id])
            if isinstance(node, ast.Name) and node.id in self._local
            else node
        )

    def _used(self, node: ast.AST) -> set[str]:
        """Names of the answer's in an expression, those behind local names included."""
        found: set[str] = set()
        for one in ast.walk(node):
            if isinstance(one, ast.Name):
                found |= {one.id} & {*self._names}
                if one.id in self._local:
                    found |= self._used(self._local[one.id])
        return found

    def _uses(self, node: ast.AST) -> bool:
        return bool(self._used(node))


def _is_names(target: ast.expr) -> bool:
    parts = target.elts if isinstance(target, ast.Tuple) else [target]
    return all(isinstance(one, ast.Name) for one in parts)


def _literal(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None


def _last(node: ast.expr) -> str:
    """The last part of a dotted name."""
    return ast.unparse(node).rpartition(".")[2]


def _measures(test: ast.Compare) -> bool:
    """Whether a comparison is about a type, a length or a shape."""
    sides = [test.left, *test.comparators]
    return any(
        (isinstance(one, ast.Call) and _last(one.func) in {"len", "type"})
        or (isinstance(one, ast.Attribute) and one.attr in {"shape", "dtype", "ndim", "size"})
        for one in sides
    )


def _worth(body: Sequence[ast.stmt]) -> Decimal | None:
    """The points that a condition is worth: ``points += 2``."""
    match list(body):
        case [ast.AugAssign(op=ast.Add(), value=ast.Constant(value=int() | float() as points))] if points > 0:
            return Decimal(str(points))
    return None


def _fails(body: Sequence[ast.stmt]) -> bool:
    return isinstance(body[-1], ast.Raise) or (
        isinstance(body[-1], ast.Assert) and _literal(body[-1].test) is False
    )


def _passes(handler: ast.ExceptHandler) -> bool:
    return all(isinstance(one, ast.Pass) for one in handler.body)


def _decimals(node: ast.expr) -> int | None:
    """To how many decimals a variable is rounded: ``round(x, 2)``, ``f"{x:.1f}"``."""
    for one in ast.walk(node):
        if isinstance(one, ast.Call) and _last(one.func) in {"round", "around"} and len(one.args) == 2:
            places = _literal(one.args[1])
            if isinstance(places, int):
                return places
        if isinstance(one, ast.FormattedValue) and one.format_spec is not None:
            found = _DECIMALS.search(ast.unparse(one.format_spec).strip("f'\""))
            if found:
                return int(found[1])
    return None


def described(call: AskedCall) -> Mapping[str, Any]:
    """A call as a case of a rubric has it."""
    return {
        **({"args": list(call.args)} if call.args else {}),
        **({"kwargs": call.kwargs} if call.kwargs else {}),
    }
