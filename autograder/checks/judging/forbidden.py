"""What a question forbids by name: told from the source, and seen while the answer runs.

Two witnesses. The source is read, never run: it shows names that the answer reaches, also under another
name, and ways of reaching things whose names cannot be read. In the box a recorder, one of torch's own
function modes, writes down every function of torch that a call goes through, by whatever name it was
reached; a cell that was not read here cannot hide it.

What was recorded was used. What only stands in the source goes to a person: it may never run.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from autograder.checks.base import Observations
from autograder.checks.judging.results import Finding, failed, review
from autograder.checks.values.literal import code_tree
from autograder.checks.values.quoting import quote
from autograder.records import Call, Ref

INSIDE: Mapping[str, tuple[str, ...]] = {
    "MultiheadAttention": ("multi_head_attention_forward", "native_multi_head_attention"),
    "scaled_dot_product_attention": ("flash_attention", "efficient_attention"),
    # torch.func and torch.autograd.functional end in these as well
    "autograd": ("function grad", "function backward", "Tensor.backward", "_make_dual"),
}
"""Forbidden name → the functions of torch behind it."""
UNREADABLE_NAMES = frozenset(
    ("eval", "exec", "compile", "__import__", "importlib", "globals", "locals", "vars", "builtins", "sys")
)
UNREADABLE_ATTRIBUTES = frozenset(
    ("__dict__", "__getattribute__", "_C", "_VF", "ops", "jit", "overrides", "import_module")
)
"""Names by which anything can be reached, or the recorder left out."""
UNREADABLE = UNREADABLE_NAMES | UNREADABLE_ATTRIBUTES
_HARMLESS = frozenset(
    ("stdout", "stderr", "stdin", "maxsize", "float_info", "version", "version_info", "argv")
)
"""What of ``sys`` leads to nothing else."""
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
MOST_RECORDED = 2000
RECORDER = "recorder"
ADDED = 5
"""Calls that recording adds."""
_RECORDER = """
import torch.overrides
class Recorder(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        self.seen[str(function)[:200]] = True
        return function(*args, **(kwargs or {}))
    def __call__(self, called, *args, **kwargs):
        self.seen = {}
        with self:
            called(*args, **kwargs)
        return list(self.seen)
recorder = Recorder()
"""


class Mention(msgspec.Struct, frozen=True):
    """One place of the source."""

    name: str
    line: int


def recording(calls: Sequence[Call]) -> tuple[Call, ...]:
    """The calls, and the last one once more: then the result is the list of functions it went through."""
    last = calls[-1]
    return (
        *calls,
        Call(last.target, attribute=last.attribute, read=True, keep="called"),
        Call("@builtins", attribute="dict", keep="space"),
        Call("@builtins", attribute="exec", args=(_RECORDER, Ref("space"))),
        Call(Ref("space"), attribute="__getitem__", args=("recorder",), keep=RECORDER),
        msgspec.structs.replace(
            last, target=Ref(RECORDER), attribute="", args=(Ref("called"), *last.args), keep=""
        ),
    )


def finding(
    source: str, entry: str, forbidden: Sequence[str], observations: Observations, calls: int
) -> Finding | None:
    """What is to be said of the whole answer.

    Args:
        source: of the answer's cell.
        entry: the name that is called.
        forbidden: the question's names.
        observations: of a scenario of `recording`.
        calls: how many it has; 0 when nothing was to be recorded.

    Returns:
        None when nothing was found; FAILED when a forbidden function was called; NEEDS_REVIEW when the
        source gives reason to look.
    """
    told = observations[calls - 1].value if len(observations) >= calls > 0 else None
    seen = [one for one in told[:MOST_RECORDED] if isinstance(one, str)] if isinstance(told, list) else []
    used = [name for name in forbidden if any(_within(name, text) for text in seen)]
    found = mentions(source, entry, forbidden)
    places = ", ".join(f"{one.name} (line {one.line})" for one in found)
    if used:
        names = ", ".join(used)
        staff = f"{entry}: forbidden, and called: {quote(names)}; in the source: {quote(places) or 'nothing'}"
        return failed("forbidden.used", staff, what=entry, names=names)
    if found:
        return review(f"{entry}: in the source, but not seen to be called: {quote(places)}", "forbidden.look")
    if len(observations) >= calls > 0 and observations[calls - 1 - ADDED].ok and not isinstance(told, list):
        return review(f"{entry}: what it calls could not be recorded", "forbidden.look")
    return None


def mentions(source: str, entry: str, forbidden: Sequence[str]) -> tuple[Mention, ...]:
    """Forbidden names, and ways round them, in what an answer reaches within its cell.

    Args:
        source: of the cell; what is not Python has none.
        entry: the name that is called.
        forbidden: names of functions, classes or modules; a name the cell defines itself is its own.
    """
    if not any(name in source for name in (*forbidden, *UNREADABLE, "getattr")):
        return ()  # without reading further: most answers are as innocent as this
    tree = code_tree(source)
    if tree is None:
        return ()
    own, names = _Own(tree), frozenset(forbidden)
    found = {mention for node in _reached(tree, entry) for mention in _mentions(node, own, names)}
    return tuple(sorted(found, key=lambda one: (one.line, one.name)))


def _within(name: str, text: str) -> bool:
    """Whether a function's text is that of the name, or of what lies behind it."""
    return any(
        re.search(rf"(?<![A-Za-z]){re.escape(one)}(?![a-z])", text) for one in (name, *INSIDE.get(name, ()))
    )


def _reached(tree: ast.Module, entry: str) -> Iterator[ast.stmt]:
    """The statements of the module's level that the entry needs, by the names that stand in them."""
    binding: dict[str, list[ast.stmt]] = {}
    for node in tree.body:
        for name in _bound(node):
            binding.setdefault(name, []).append(node)
    waiting, seen, done = [entry], {entry}, set()
    while waiting:
        for node in binding.get(waiting.pop(), ()):
            if id(node) in done:
                continue
            done.add(id(node))
            yield node
            names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)} - seen
            seen |= names
            waiting += names


def _bound(node: ast.stmt) -> Iterator[str]:
    """The names that a statement binds, also below an ``if`` or ``try``, and attributes it sets."""
    if isinstance(node, _DEFINITIONS):
        yield node.name
        return
    for one in ast.walk(node):
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
            yield one.id
        elif isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store):
            yield from (name.id for name in ast.walk(one) if isinstance(name, ast.Name))
        elif isinstance(one, _DEFINITIONS):
            yield one.name
        elif isinstance(one, ast.alias):
            yield (one.asname or one.name).split(".")[0]


class _Own:
    """What a cell calls by names of its own: a name like a forbidden one is no use of that.

    Attributes:
        names: what it defines or assigns, parameters included, unless it is what an import brings.
        attributes: methods, and attributes that are set.
    """

    def __init__(self, tree: ast.Module) -> None:
        nodes = list(ast.walk(tree))
        imported = {(one.asname or one.name).split(".")[0] for one in nodes if isinstance(one, ast.alias)}
        defined = {one.name for one in nodes if isinstance(one, _DEFINITIONS)}
        stored = {one.id for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
        given = {one.arg for one in nodes if isinstance(one, ast.arg)}
        self.names = (defined | stored | given) - imported
        self.attributes = defined | {
            one.attr for one in nodes if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store)
        }

    def has(self, node: ast.Name | ast.Attribute) -> bool:
        """Whether a name or attribute is the cell's own: what it belongs to does not come from an import."""
        if isinstance(node, ast.Name):
            return node.id in self.names
        root = node.value
        while isinstance(root, ast.Attribute | ast.Call | ast.Subscript):
            root = root.func if isinstance(root, ast.Call) else root.value
        return (
            node.attr in self.attributes
            and isinstance(root, ast.Name)
            and (root.id in self.names or root.id == "super")
        )


def _mentions(node: ast.stmt, own: _Own, forbidden: frozenset[str]) -> Iterator[Mention]:
    harmless = {
        id(one.value) for one in ast.walk(node) if isinstance(one, ast.Attribute) and one.attr in _HARMLESS
    }
    for one in ast.walk(node):
        line = getattr(one, "lineno", 0)
        if isinstance(one, ast.Name | ast.Attribute):
            bare = isinstance(one, ast.Name)
            name = one.id if isinstance(one, ast.Name) else one.attr
            unreadable = name in (UNREADABLE_NAMES if bare else UNREADABLE_ATTRIBUTES) and not _of_self(one)
            unreadable = unreadable and not (name == "sys" and id(one) in harmless)
            if unreadable or (name in forbidden and not own.has(one)):
                yield Mention(name, line)
        elif isinstance(one, ast.alias) and set(one.name.split(".")) & (forbidden | UNREADABLE - {"sys"}):
            yield Mention(one.name, line)
        elif isinstance(one, ast.Constant) and isinstance(one.value, str) and one.value in forbidden:
            yield Mention(one.value, line)
        elif isinstance(one, ast.Call) and _is_getattr(one):
            yield Mention("getattr", line)


def _of_self(node: ast.Name | ast.Attribute) -> bool:
    """An attribute of ``self``: not a part of a module."""
    of = node.value if isinstance(node, ast.Attribute) else None
    return isinstance(of, ast.Name) and of.id in ("self", "cls")


def _is_getattr(call: ast.Call) -> bool:
    """``getattr`` of something else than ``self`` by a name that does not stand there."""
    if not (isinstance(call.func, ast.Name) and call.func.id == "getattr" and len(call.args) > 1):
        return False
    of, name = call.args[:2]
    own = isinstance(of, ast.Name) and of.id in ("self", "cls")
    return not own and not isinstance(name, ast.Constant)


def applied(found: Finding | None, own: Finding | None) -> Finding | None:
    """The finding of an item, in the light of what was found about the whole answer.

    What is forbidden counts for every item; what a person has to look at, for those that would pass.
    """
    if found is None or found.code == "forbidden.used":
        return found or own
    return own or found
