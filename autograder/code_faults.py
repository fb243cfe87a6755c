"""Faults in code that a student wrote: where each one of a catalogue can be planted, and the code with it.

A fault is found in the syntax tree, by what an expression does and not by names or layout, and one expression
of the student's text is exchanged: comments and lines stay where they are. Nothing is run.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from autograder.syntax import parsed

_Nodes = Iterator[ast.AST]
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_NEEDS_BRACKETS = (ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp)
_FILLS = ("masked_fill", "masked_fill_")
_SOFTMAX = frozenset({"softmax", "log_softmax", "logsumexp"})
_REDUCTIONS = {
    "mean": "sum",
    "sum": "mean",
    "max": "min",
    "min": "max",
    "amax": "amin",
    "amin": "amax",
    "argmax": "argmin",
    "argmin": "argmax",
    "any": "all",
    "all": "any",
}
_FILLED = {"zeros": "ones", "ones": "zeros", "zeros_like": "ones_like", "ones_like": "zeros_like"}
_OTHER_AXIS = {-1: -2, -2: -1, -3: -2, 0: 1, 1: 0, 2: 1, 3: 2}
_SWAPPED: Mapping[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
_BOUNDARY: Mapping[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}


class PlantedFault(Struct, frozen=True):
    """One fault in one place."""

    fault: str
    """Its id in `CATALOGUE`."""
    line: int
    """Of the code, from 1."""
    source: str
    """The code with the fault in it."""


class _Place(Struct, frozen=True):
    """Where an expression stands."""

    parent: ast.AST
    function: ast.AST
    """The innermost function."""


_Rule = Callable[[ast.AST, _Place], _Nodes]


class CatalogueEntry(Struct, frozen=True):
    """One kind of fault."""

    id: str
    text: str
    """For staff."""
    rule: _Rule
    general: bool = False
    """Tried only where no other one is of use."""


def planted_faults(source: str) -> tuple[PlantedFault, ...]:
    """Everything that can be planted, in the order of the catalogue and of the code. Pure.

    Args:
        source: code that defines functions or classes; faults are planted into their bodies alone.

    Raises:
        SyntaxError: or another one of `autograder.syntax.UNREADABLE`: it is no Python.
    """
    tree, data = parsed(source), source.encode()
    starts = [0]
    for line in source.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    places = list(_places(tree))
    made: dict[str, PlantedFault] = {}
    unchanged = ast.dump(tree)
    for entry in CATALOGUE:
        for node, place in places:
            for instead in entry.rule(node, place):
                start = starts[node.lineno - 1] + node.col_offset
                end = starts[(node.end_lineno or 1) - 1] + (node.end_col_offset or 0)
                text = ast.unparse(ast.fix_missing_locations(instead))
                if isinstance(instead, _NEEDS_BRACKETS) and isinstance(place.parent, ast.expr):
                    text = f"({text})"
                changed = (data[:start] + text.encode() + data[end:]).decode()
                if changed not in made and _is_another(changed, unchanged):
                    made[changed] = PlantedFault(entry.id, node.lineno, changed)
    return tuple(made.values())


def _is_another(source: str, unchanged: str) -> bool:
    try:
        return ast.dump(parsed(source)) != unchanged
    except SyntaxError:
        return False


def _places(tree: ast.Module) -> Iterator[tuple[ast.expr | ast.stmt, _Place]]:
    """Every expression and statement of a function's body, in the order of the code.

    What only refuses an argument, describes a type or explains is left alone.
    """

    def walk(node: ast.AST, function: ast.AST | None) -> Iterator[tuple[ast.expr | ast.stmt, _Place]]:
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list", "type_params", "type_comment"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if not isinstance(child, ast.AST) or isinstance(
                    child, ast.Raise | ast.Assert | ast.JoinedStr
                ):
                    continue
                if function is not None and isinstance(child, ast.expr | ast.stmt):
                    yield child, _Place(node, function)
                yield from walk(child, child if isinstance(child, _FUNCTIONS) else function)

    return walk(tree, None)


# ---------------------------------------------------------------- what an expression does


def _name_of(call: ast.AST) -> str:
    """The last part of what is called; empty where nothing is."""
    called = call.func if isinstance(call, ast.Call) else None
    return (
        called.attr
        if isinstance(called, ast.Attribute)
        else called.id
        if isinstance(called, ast.Name)
        else ""
    )


def _whole(node: ast.AST | None) -> int | None:
    """A whole number that is written down; None: it is something else."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _whole(node.operand)
        return None if inner is None else -inner
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    return None


def _is_keyword(place: _Place, *names: str) -> bool:
    return isinstance(place.parent, ast.keyword) and place.parent.arg in names


def _is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def _one_more(node: ast.AST) -> ast.AST:
    number: Any = getattr(node, "value", 0)
    return ast.Constant(number + 1)


def _is_power(node: ast.AST, exponent: float) -> bool:
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow)):
        return False
    try:
        return bool(ast.literal_eval(node.right) == exponent)
    except ValueError:
        return False


def _is_root(node: ast.AST) -> bool:
    return _name_of(node) == "sqrt" or _is_power(node, 0.5)


def _is_inverse_root(node: ast.AST) -> bool:
    divides = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and _is_root(node.right)
    return divides or _name_of(node) == "rsqrt" or _is_power(node, -0.5)


def _receiver(call: ast.AST) -> ast.expr | None:
    """What a method is called on; a function of a module has its first argument instead."""
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return None
    receiver = call.func.value
    is_module = isinstance(receiver, ast.Name) and receiver.id in ("torch", "np", "numpy", "F")
    return (call.args[0] if call.args else None) if is_module else receiver


def _with(node: ast.AST, **fields: object) -> ast.AST:
    made = copy.copy(node)
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def _renamed(call: ast.Call, name: str) -> ast.AST:
    key = "attr" if isinstance(call.func, ast.Attribute) else "id"
    return _with(call, func=_with(call.func, **{key: name}))


# ---------------------------------------------------------------- the catalogue's rules


def _scaling(node: ast.AST, place: _Place) -> _Nodes:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and _is_root(node.right):
        yield node.left
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        if _is_inverse_root(node.right):
            yield node.left
        elif _is_inverse_root(node.left):
            yield node.right
    elif isinstance(place.parent, ast.Assign) and (_is_root(node) or _is_inverse_root(node)):
        yield ast.Constant(1.0)


def _root(node: ast.AST, place: _Place) -> _Nodes:
    del place
    if isinstance(node, ast.Call) and _name_of(node) == "sqrt" and (inner := _inner(node)) is not None:
        yield inner
    elif isinstance(node, ast.BinOp) and _is_power(node, 0.5):
        yield node.left


def _inner(call: ast.Call) -> ast.expr | None:
    return call.args[0] if call.args else _receiver(call)


def _mask(node: ast.AST, place: _Place) -> _Nodes:
    if _name_of(node) in _FILLS and (receiver := _receiver(node)) is not None:
        targets = place.parent.targets if isinstance(place.parent, ast.Assign) else []
        if ast.unparse(receiver) not in map(ast.unparse, targets):  # a = a would give it away
            yield receiver
    elif isinstance(node, ast.Call) and _name_of(node) == "where" and len(node.args) == 3:
        yield from (one for one in node.args[1:] if _is_data(one))


def _is_data(node: ast.expr) -> bool:
    """Whether something is computed: no number, and no infinity of a library."""
    return not any(isinstance(one, ast.Constant) for one in ast.walk(node)) and not (
        isinstance(node, ast.UnaryOp) or (isinstance(node, ast.Attribute) and node.attr == "inf")
    )


def _filling(node: ast.AST, place: _Place) -> _Nodes:
    """What stands where the mask blocks."""
    parent = place.parent
    if not isinstance(parent, ast.Call) or node not in parent.args[1:]:
        return
    fills = _name_of(parent) in _FILLS and node is parent.args[-1]
    chooses = _name_of(parent) == "where" and len(parent.args) == 3
    if fills or (chooses and isinstance(node, ast.expr) and not _is_data(node)):
        yield ast.Constant(0.0)


def _inverted(node: ast.AST, place: _Place) -> _Nodes:
    parent = place.parent
    if not isinstance(parent, ast.Call) or _name_of(parent) not in (*_FILLS, "where"):
        return
    if node is not (parent.args[0] if parent.args else None):
        return
    if isinstance(node, ast.Compare) and type(node.ops[0]) in (ast.Eq, ast.NotEq):
        yield _with(node, ops=[_SWAPPED[type(node.ops[0])]()])
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
        yield node.operand
    elif isinstance(node, ast.Name | ast.Attribute):
        yield ast.UnaryOp(ast.Invert(), node)


def _axis_of(names: frozenset[str]) -> _Rule:
    def rule(node: ast.AST, place: _Place) -> _Nodes:
        if not isinstance(place.parent, ast.keyword | ast.Call):
            return
        axis = _OTHER_AXIS.get(found) if (found := _whole(node)) is not None else None
        if axis is not None and isinstance(node, ast.expr) and _is_axis(node, place, names):
            yield ast.Constant(axis)

    return rule


def _is_axis(node: ast.expr, place: _Place, names: frozenset[str]) -> bool:
    """Whether a number is the axis of a call: stated by keyword, or what stands after the array."""
    for call in ast.walk(place.function):
        if isinstance(call, ast.Call) and _name_of(call) in names:
            if any(one.value is node and one.arg in ("dim", "axis") for one in call.keywords):
                return True
            if call.args and call.args[-1] is node and _receiver(call) is not node:
                return True
    return False


def _transpose(node: ast.AST, place: _Place) -> _Nodes:
    del place
    if _name_of(node) in ("transpose", "swapaxes", "permute", "t") and (found := _receiver(node)) is not None:
        yield found
    elif isinstance(node, ast.Attribute) and node.attr in ("T", "mT"):
        yield node.value


def _reduction(node: ast.AST, place: _Place) -> _Nodes:
    if isinstance(node, ast.Call) and (other := _REDUCTIONS.get(_name_of(node))):
        yield _renamed(node, other)
    elif _is_keyword(place, "reduction") and isinstance(node, ast.Constant):
        yield from (ast.Constant(other) for name, other in _REDUCTIONS.items() if name == node.value)
    elif _is_keyword(place, "unbiased", "correction") and isinstance(node, ast.Constant):
        turned: Any = {True: False, False: True}.get(bool(node.value))
        yield ast.Constant(turned if isinstance(node.value, bool) else int(turned))


def _bounds(node: ast.AST, place: _Place) -> _Nodes:
    if isinstance(node, ast.Call) and _name_of(node) in ("range", "arange") and node.args:
        first, at = node.args[0], min(1, len(node.args) - 1)
        fewer = ast.BinOp(node.args[at], ast.Sub(), ast.Constant(1))
        yield _with(node, args=[*node.args[:at], fewer, *node.args[at + 1 :]])
        if len(node.args) > 1:
            yield _with(node, args=[ast.BinOp(first, ast.Add(), ast.Constant(1)), *node.args[1:]])
    elif isinstance(place.parent, ast.Slice) and (number := _whole(node)) is not None:
        if node is not place.parent.step:
            yield ast.Constant(number + 1 if number >= 0 else number - 1)
    elif _is_keyword(place, "diagonal"):
        if (number := _whole(node)) is not None:
            yield ast.Constant(0 if number else 1)
    elif isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _BOUNDARY:
        yield _with(node, ops=[_BOUNDARY[type(node.ops[0])]()])


def _initial(node: ast.AST, place: _Place) -> _Nodes:
    if isinstance(node, ast.Call) and (other := _FILLED.get(_name_of(node))):
        yield _renamed(node, other)
    elif isinstance(place.parent, ast.Assign) and isinstance(node, ast.Constant):
        targets = [one.id for one in place.parent.targets if isinstance(one, ast.Name)]
        stored = [
            one.id
            for one in ast.walk(place.function)
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
        ]
        if _is_number(node) and any(stored.count(name) > 1 for name in targets):
            yield _one_more(node)


def _bias(node: ast.AST, place: _Place) -> _Nodes:
    del place
    if isinstance(node, ast.Call) and _name_of(node) in ("Linear", "Conv1d", "Conv2d", "Conv3d", "LayerNorm"):
        stated = next((one for one in node.keywords if one.arg == "bias"), None)
        if stated is None and _name_of(node) != "LayerNorm":
            yield _with(node, keywords=[*node.keywords, ast.keyword("bias", ast.Constant(value=False))])
        elif stated is not None and isinstance(stated.value, ast.Constant):
            others = [one for one in node.keywords if one is not stated]
            turned = ast.keyword("bias", ast.Constant(not stated.value.value))
            yield _with(node, keywords=[*others, turned])


def _residual(node: ast.AST, place: _Place) -> _Nodes:
    del place
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        for kept, dropped in ((node.right, node.left), (node.left, node.right)):
            used = {one.id for one in ast.walk(kept) if isinstance(one, ast.Name)}
            if isinstance(dropped, ast.Name) and isinstance(kept, ast.Call) and dropped.id in used:
                yield kept


def _summand(node: ast.AST, place: _Place) -> _Nodes:
    del place
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add)):
        return
    if isinstance(node.right, ast.Name | ast.Attribute):
        yield node.left


def _argument(node: ast.AST, place: _Place) -> _Nodes:
    """Another parameter of the function; of three or more each is tried."""
    if not isinstance(node, ast.Name) or not isinstance(place.parent, ast.Call) or node is place.parent.func:
        return
    if not isinstance(place.function, _FUNCTIONS):
        return
    parameters = [one.arg for one in place.function.args.args]
    passed = {
        one.id
        for call in ast.walk(place.function)
        if isinstance(call, ast.Call)
        for one in call.args
        if isinstance(one, ast.Name)
    }
    others = [one for one in parameters if one not in (node.id, "self") and one in passed]
    if node.id in parameters:
        yield from (ast.Name(one, ast.Load()) for one in others)


def _update(node: ast.AST, place: _Place) -> _Nodes:
    del place
    if isinstance(node, ast.AugAssign):
        yield ast.Assign([node.target], node.value)


# ---------------------------------------------------------------- general mutations


def _operator(node: ast.AST, place: _Place) -> _Nodes:
    del place
    if isinstance(node, ast.BinOp) and (other := _SWAPPED.get(type(node.op))):
        yield _with(node, op=other())
    elif isinstance(node, ast.BoolOp):
        yield _with(node, op=_SWAPPED[type(node.op)]())
    elif isinstance(node, ast.Compare) and len(node.ops) == 1 and (other := _SWAPPED.get(type(node.ops[0]))):
        yield _with(node, ops=[other()])
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield node.operand


def _constant(node: ast.AST, place: _Place) -> _Nodes:
    del place
    if _is_number(node):
        yield _one_more(node)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield ast.Constant(not node.value)


def _branches(node: ast.AST, place: _Place) -> _Nodes:
    del place
    if isinstance(node, ast.IfExp):
        yield _with(node, body=node.orelse, orelse=node.body)


def _deleted(node: ast.AST, place: _Place) -> _Nodes:
    del place
    is_call = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    if is_call and "__init__" not in ast.dump(node):
        yield ast.Pass()


CATALOGUE = (
    CatalogueEntry("scaling", "what divides by a root is dropped", _scaling),
    CatalogueEntry("root", "a root is forgotten", _root),
    CatalogueEntry("mask", "the mask is not applied", _mask),
    CatalogueEntry("mask-value", "what is masked gets another value than minus infinity", _filling),
    CatalogueEntry("mask-inverted", "the mask blocks what it should leave open", _inverted),
    CatalogueEntry("softmax-axis", "the softmax goes along another axis", _axis_of(_SOFTMAX)),
    CatalogueEntry("axis", "a reduction goes along another axis", _axis_of(frozenset(_REDUCTIONS))),
    CatalogueEntry("transpose", "axes are not exchanged", _transpose),
    CatalogueEntry("reduction", "another reduction", _reduction),
    CatalogueEntry("bounds", "off by one", _bounds),
    CatalogueEntry("initial", "another initial value", _initial),
    CatalogueEntry("bias", "a bias is dropped, or one too many", _bias),
    CatalogueEntry("residual", "the residual connection is dropped", _residual),
    CatalogueEntry("summand", "a summand is dropped", _summand),
    CatalogueEntry("argument", "another argument of the function is passed on", _argument),
    CatalogueEntry("update", "assigned where it should be added", _update),
    CatalogueEntry("operator", "another operator", _operator, general=True),
    CatalogueEntry("constant", "another constant", _constant, general=True),
    CatalogueEntry("branches", "two branches are exchanged", _branches, general=True),
    CatalogueEntry("deleted", "a statement is missing", _deleted, general=True),
)
"""Faults that people make; then general mutations."""
