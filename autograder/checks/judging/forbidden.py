"""Forbidden names: find them in the source, and observe them while the answer runs.

There are two sources of evidence. The cells are read, never run: they show names that the answer reaches,
also under an alias or in another cell, and ways of reaching objects by names that cannot be read. And checks
run a second time in a sandbox in which the forbidden functions fail (`sandbox.inside.recorder`).

A forbidden function that was called there was used. A name that only occurs in the source needs manual
review, because it may never run; the same holds for an answer that fails where the forbidden functions fail.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from autograder.checks.judging.results import Finding
from autograder.checks.values.literal import code_tree

INSIDE: Mapping[str, tuple[str, ...]] = {
    "MultiheadAttention": ("multi_head_attention_forward", "native_multi_head_attention"),
    "scaled_dot_product_attention": ("flash_attention", "efficient_attention"),
    # torch.func and torch.autograd.functional end in these as well.
    "autograd": (
        "function grad",
        "function backward",
        "Tensor.backward",
        "_make_dual",
        "_engine_run_backward",
    ),
}
"""Forbidden name → the functions of torch that implement it."""
_SYS_MODULES = "sys.modules"
BY_TEXT = frozenset(
    (
        *("eval", "exec", "compile", "__import__", "importlib", "import_module", "attrgetter"),
        *("methodcaller", "pydoc", "pkgutil", "runpy", "__builtins__"),
    )
)
"""Names that reach any object by a string, which may be assembled at run time."""
TRACING = frozenset(
    (
        *("fx", "make_fx", "symbolic_trace", "functorch", "aot_function", "jit", "_dynamo", "_inductor"),
        *("get_decompositions", "run_decompositions", "core_aten_decompositions"),
    )
)
"""Names that compile a program from one run of a function: it keeps working where the function fails."""
_ANYWHERE = BY_TEXT | TRACING | {_SYS_MODULES}
"""Names that count in every cell of the student: running them once is enough, in any cell."""
UNREADABLE_NAMES = frozenset(
    (
        *BY_TEXT,
        *TRACING,
        *("globals", "locals", "vars", "builtins", "sys", "gc", "ctypes", "inspect", "pickle"),
    )
)
UNREADABLE_ATTRIBUTES = frozenset(
    (
        *BY_TEXT - {"compile", "eval"},
        *TRACING,
        *("__dict__", "__getattribute__", "_C", "_VF", "ops", "overrides"),
        *("__code__", "__globals__", "__subclasses__", "FunctionType", "CodeType", "library", "reload"),
    )
)
"""Names that can reach any object, or bypass the recorder."""
UNREADABLE = UNREADABLE_NAMES | UNREADABLE_ATTRIBUTES
_HARMLESS = frozenset(
    ("stdout", "stderr", "stdin", "maxsize", "float_info", "version", "version_info", "argv")
)
"""Attributes of ``sys`` that do not lead to other objects."""
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class Mention(msgspec.Struct, frozen=True):
    """One occurrence of a name in the source."""

    name: str
    line: int
    where: str = ""
    """Empty in the cell of the answer itself."""


def patterns(forbidden: Sequence[str]) -> tuple[str, ...]:
    """Return the patterns of function names that are made to fail for the forbidden names."""
    return tuple(one for name in forbidden for one in (name, *INSIDE.get(name, ())))


def mentions(
    source: str, entry: str, forbidden: Sequence[str], cells: Sequence[str] = ()
) -> tuple[Mention, ...]:
    """Return forbidden names, and ways around them, in the code of the notebook that an answer reaches.

    Args:
        source: of the answer's cell; a cell that is not Python mentions nothing.
        entry: the name that is called.
        forbidden: names of functions, classes or modules; a name that the cell defines itself is not a
            mention.
        cells: the other cells of the student.
    """
    words = (*forbidden, *(one for name in forbidden for one in INSIDE.get(name, ())), *UNREADABLE, "getattr")
    texts = (source, *cells)
    if not any(word in text for text in texts for word in words):
        return ()  # without reading further: most answers are as innocent as this
    trees = {at: tree for at, text in enumerate(texts) if (tree := code_tree(text)) is not None}
    own = _owned(trees)
    found = {
        msgspec.structs.replace(mention, where="" if at == 0 else "in another cell, ")
        for at, node in _reached(trees, entry)
        for mention in _mentions(node, own[at], tuple(forbidden))
    }
    found |= {
        msgspec.structs.replace(mention, where="" if at == 0 else "in another cell, ")
        for at, tree in trees.items()
        for mention in _mentions(tree, own[at], ())
        if not _ANYWHERE.isdisjoint((mention.name, *mention.name.split(".")))
    }
    return tuple(sorted(found, key=lambda one: (one.where, one.line, one.name)))


def holds(name: str, text: str) -> bool:
    """Return whether a function's text contains the name, or the name of a function that implements it."""
    return any(
        re.search(rf"(?<![A-Za-z]){re.escape(one)}(?![a-z])", text) for one in (name, *INSIDE.get(name, ()))
    )


def _reached(trees: Mapping[int, ast.Module], entry: str) -> Iterator[tuple[int, ast.stmt]]:
    """Yield the cell index and the top-level statement of everything that the entry needs, by name."""
    binding: dict[str, list[tuple[int, ast.stmt]]] = {}
    for at, tree in trees.items():
        for node in tree.body:
            for name in _bound(node):
                binding.setdefault(name, []).append((at, node))
    waiting, seen, done = [entry], {entry}, set()
    while waiting:
        for at, node in binding.get(waiting.pop(), ()):
            # A statement that binds several names is reached once per name.
            if id(node) in done:
                continue
            done.add(id(node))
            yield at, node
            names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)} - seen
            seen |= names
            waiting += names


def _bound(node: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement binds, also in an ``if`` or ``try``, or modifies in place."""
    if isinstance(node, _DEFINITIONS):
        yield node.name
        return
    for one in ast.walk(node):
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
            yield one.id
        elif (isinstance(one, ast.Attribute | ast.Subscript) and isinstance(one.ctx, ast.Store)) or (
            isinstance(one, ast.Call) and isinstance(one.func, ast.Name) and one.func.id == "setattr"
        ):
            yield from (name.id for name in ast.walk(one) if isinstance(name, ast.Name))
        elif isinstance(one, _DEFINITIONS):
            yield one.name
        elif isinstance(one, ast.alias):
            yield (one.asname or one.name).split(".")[0]


class _Own:
    """The names that a cell defines itself: if such a name is like a forbidden one, it is no use of that.

    Attributes:
        names: names it defines or assigns, parameters included, unless they come from an import.
        attributes: methods, and attributes that are set.
    """

    def __init__(self, tree: ast.Module) -> None:
        nodes = list(ast.walk(tree))
        imported = {(one.asname or one.name).split(".")[0] for one in nodes if isinstance(one, ast.alias)}
        defined = {one.name for one in nodes if isinstance(one, _DEFINITIONS)}
        stored = {one.id for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
        given = {one.arg for one in nodes if isinstance(one, ast.arg)}
        self.imported = imported
        self.names = (defined | stored | given) - imported
        self.attributes = defined | {
            one.attr for one in nodes if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store)
        }

    def has(self, node: ast.Name | ast.Attribute) -> bool:
        """Return whether a name or attribute is the cell's own, so that it does not come from an import."""
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


def _owned(trees: Mapping[int, ast.Module]) -> dict[int, _Own]:
    """Return the names that the notebook defines, per cell: the cell's own and those of other cells."""
    own = {at: _Own(tree) for at, tree in trees.items()}
    imported = {name for one in own.values() for name in one.imported}
    names = {name for one in own.values() for name in one.names} - imported
    attributes = {name for one in own.values() for name in one.attributes}
    # A name that any cell imports may be the forbidden object in every other cell.
    for one in own.values():
        one.names |= names
        one.attributes |= attributes
    return own


def _mentions(node: ast.AST, own: _Own, forbidden: tuple[str, ...]) -> Iterator[Mention]:
    harmless = {  # `sys` itself, if only a harmless attribute is used
        id(one.value)
        for one in ast.walk(node)
        if isinstance(one, ast.Attribute) and one.attr in _HARMLESS and isinstance(one.value, ast.Name)
        if one.value.id == "sys"
    }
    called = {id(one.func) for one in ast.walk(node) if isinstance(one, ast.Call)}
    for one in ast.walk(node):
        line = getattr(one, "lineno", 0)
        if isinstance(one, ast.Name | ast.Attribute):
            name = one.id if isinstance(one, ast.Name) else one.attr
            is_found = (name == "getattr" and id(one) not in called) or (
                _is_unreadable(one, name, own) and id(one) not in harmless
            )
            if name == "modules" and ast.unparse(one) == _SYS_MODULES:
                yield Mention(_SYS_MODULES, line)
            elif is_found or (_forbidden(name, forbidden) and not own.has(one)):
                yield Mention(name, line)
        elif isinstance(one, ast.alias) and _imports(one.name, forbidden):
            yield Mention(one.name, line)
        elif isinstance(one, ast.ImportFrom) and one.module and _imports_from(one, forbidden):
            yield Mention(one.module, line)
        elif (
            isinstance(one, ast.Constant) and isinstance(one.value, str) and _forbidden(one.value, forbidden)
        ):
            yield Mention(one.value, line)
        elif isinstance(one, ast.Call) and _is_getattr(one):
            yield Mention("getattr", line)


def _is_unreadable(node: ast.Name | ast.Attribute, name: str, own: _Own) -> bool:
    """Return whether a name can reach any object; a variable called ``fx`` is the notebook's own."""
    names = UNREADABLE_NAMES if isinstance(node, ast.Name) else UNREADABLE_ATTRIBUTES
    return name in names and not _of_self(node) and not (name in TRACING and own.has(node))


def _forbidden(word: str, names: tuple[str, ...]) -> bool:
    """Return whether a word of the source is a forbidden name, or that of a function that implements one."""
    # Only single words: a sentence in a string is no name.
    return word.replace("_", "a").isalnum() and any(
        word in (name, *INSIDE.get(name, ())) or (name in INSIDE and holds(name, word)) for name in names
    )


def _imports(module: str, forbidden: tuple[str, ...]) -> bool:
    parts = module.split(".")
    # Importing sys itself is allowed; its attributes are tested where they are used.
    return any(part in UNREADABLE - {"sys"} or _forbidden(part, forbidden) for part in parts)


def _imports_from(node: ast.ImportFrom, forbidden: tuple[str, ...]) -> bool:
    is_of_sys = node.module == "sys" and not _HARMLESS.issuperset(alias.name for alias in node.names)
    return is_of_sys or _imports(node.module or "", forbidden)


def _of_self(node: ast.Name | ast.Attribute) -> bool:
    """Return whether a node is an attribute of ``self``, which is not part of a module."""
    of = node.value if isinstance(node, ast.Attribute) else None
    return isinstance(of, ast.Name) and of.id in ("self", "cls")


def _is_getattr(call: ast.Call) -> bool:
    """Return whether a call is ``getattr`` of anything but ``self`` with a name that is no literal."""
    if not (isinstance(call.func, ast.Name) and call.func.id == "getattr" and len(call.args) > 1):
        return False
    of, name = call.args[:2]
    own = isinstance(of, ast.Name) and of.id in ("self", "cls")
    return not own and not isinstance(name, ast.Constant)


def applied(found: Finding | None, own: Finding | None) -> Finding | None:
    """Return the finding of an item, taking into account a finding about the whole answer.

    Forbidden functions count for every item; names that need manual review, only for items that would pass.
    """
    if found is None or found.code == "forbidden.used":
        return found or own
    return own or found
