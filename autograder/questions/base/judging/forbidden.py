"""Forbidden names: find them in the source, and observe them while the answer runs.

There are two sources of evidence. The cells are read, never run: they show names that the answer reaches,
also under an alias or in another cell, and ways of reaching objects by names that cannot be read. And checks
run a second time in a sandbox in which the forbidden functions fail (`sandbox.inside.guest`).

A forbidden function that was called there was used. A name that only occurs in the source needs manual
review, because it may never run; the same holds for an answer that fails where the forbidden functions fail.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from autograder.questions.base.judging.results import Finding
from autograder.questions.base.values.literal import parse_code

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


def list_patterns(forbidden: Sequence[str]) -> tuple[str, ...]:
    """Return the patterns of function names that are made to fail for the forbidden names."""
    return tuple(pattern for name in forbidden for pattern in (name, *INSIDE.get(name, ())))


def find_mentions(
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
    words = (
        *forbidden,
        *(pattern for name in forbidden for pattern in INSIDE.get(name, ())),
        *UNREADABLE,
        "getattr",
    )
    texts = (source, *cells)
    if not any(word in text for text in texts for word in words):
        return ()  # without reading further: most answers are as innocent as this
    trees = {cell: tree for cell, text in enumerate(texts) if (tree := parse_code(text)) is not None}
    owned = _collect_owned(trees)
    mentions = {
        msgspec.structs.replace(mention, where="" if cell == 0 else "in another cell, ")
        for cell, node in _find_reached(trees, entry)
        for mention in _find_mentions(node, owned[cell], tuple(forbidden))
    }
    mentions |= {
        msgspec.structs.replace(mention, where="" if cell == 0 else "in another cell, ")
        for cell, tree in trees.items()
        for mention in _find_mentions(tree, owned[cell], ())
        if not _ANYWHERE.isdisjoint((mention.name, *mention.name.split(".")))
    }
    return tuple(sorted(mentions, key=lambda pattern: (pattern.where, pattern.line, pattern.name)))


def is_function_text(name: str, text: str) -> bool:
    """Return whether a function's text contains the name, or the name of a function that implements it."""
    return any(
        re.search(rf"(?<![A-Za-z]){re.escape(pattern)}(?![a-z])", text)
        for pattern in (name, *INSIDE.get(name, ()))
    )


def _find_reached(trees: Mapping[int, ast.Module], entry: str) -> Iterator[tuple[int, ast.stmt]]:
    """Yield the cell index and the top-level statement of everything that the entry needs, by name."""
    binding: dict[str, list[tuple[int, ast.stmt]]] = {}
    for cell, tree in trees.items():
        for node in tree.body:
            for name in _list_bound(node):
                binding.setdefault(name, []).append((cell, node))
    waiting, seen, done = [entry], {entry}, set()
    while waiting:
        for cell, node in binding.get(waiting.pop(), ()):
            # A statement that binds several names is reached once per name.
            if id(node) in done:
                continue
            done.add(id(node))
            yield cell, node
            names = {child.id for child in ast.walk(node) if isinstance(child, ast.Name)} - seen
            seen |= names
            waiting += names


def _list_bound(node: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement binds, also in an ``if`` or ``try``, or modifies in place."""
    if isinstance(node, _DEFINITIONS):
        yield node.name
        return
    for child in ast.walk(node):
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
            yield child.id
        elif (isinstance(child, ast.Attribute | ast.Subscript) and isinstance(child.ctx, ast.Store)) or (
            isinstance(child, ast.Call) and isinstance(child.func, ast.Name) and child.func.id == "setattr"
        ):
            yield from (name.id for name in ast.walk(child) if isinstance(name, ast.Name))
        elif isinstance(child, _DEFINITIONS):
            yield child.name
        elif isinstance(child, ast.alias):
            yield (child.asname or child.name).split(".")[0]


class _OwnNames:
    """The names that a cell defines itself: if such a name is like a forbidden one, it is no use of that.

    Attributes:
        names: names it defines or assigns, parameters included, unless they come from an import.
        attributes: methods, and attributes that are set.
    """

    def __init__(self, tree: ast.Module) -> None:
        nodes = list(ast.walk(tree))
        imported = {(node.asname or node.name).split(".")[0] for node in nodes if isinstance(node, ast.alias)}
        defined = {node.name for node in nodes if isinstance(node, _DEFINITIONS)}
        stored = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        parameters = {node.arg for node in nodes if isinstance(node, ast.arg)}
        self.imported = imported
        self.names = (defined | stored | parameters) - imported
        self.attributes = defined | {
            node.attr for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
        }

    def is_own(self, node: ast.Name | ast.Attribute) -> bool:
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


def _collect_owned(trees: Mapping[int, ast.Module]) -> dict[int, _OwnNames]:
    """Return the names that the notebook defines, per cell: the cell's own and those of other cells."""
    owned = {at: _OwnNames(tree) for at, tree in trees.items()}
    imported = {name for names_of_cell in owned.values() for name in names_of_cell.imported}
    names = {name for names_of_cell in owned.values() for name in names_of_cell.names} - imported
    attributes = {name for names_of_cell in owned.values() for name in names_of_cell.attributes}
    # A name that any cell imports may be the forbidden object in every other cell.
    for names_of_cell in owned.values():
        names_of_cell.names |= names
        names_of_cell.attributes |= attributes
    return owned


def _find_mentions(node: ast.AST, owned: _OwnNames, forbidden: tuple[str, ...]) -> Iterator[Mention]:
    harmless = {  # `sys` itself, if only a harmless attribute is used
        id(child.value)
        for child in ast.walk(node)
        if isinstance(child, ast.Attribute) and child.attr in _HARMLESS and isinstance(child.value, ast.Name)
        if child.value.id == "sys"
    }
    called = {id(child.func) for child in ast.walk(node) if isinstance(child, ast.Call)}
    for child in ast.walk(node):
        line = getattr(child, "lineno", 0)
        if isinstance(child, ast.Name | ast.Attribute):
            name = child.id if isinstance(child, ast.Name) else child.attr
            is_found = (name == "getattr" and id(child) not in called) or (
                _is_unreadable(child, name, owned) and id(child) not in harmless
            )
            if name == "modules" and ast.unparse(child) == _SYS_MODULES:
                yield Mention(_SYS_MODULES, line)
            elif is_found or (_is_forbidden(name, forbidden) and not owned.is_own(child)):
                yield Mention(name, line)
        elif isinstance(child, ast.alias) and _is_forbidden_import(child.name, forbidden):
            yield Mention(child.name, line)
        elif (
            isinstance(child, ast.ImportFrom) and child.module and _is_forbidden_import_from(child, forbidden)
        ):
            yield Mention(child.module, line)
        elif (
            isinstance(child, ast.Constant)
            and isinstance(child.value, str)
            and _is_forbidden(child.value, forbidden)
        ):
            yield Mention(child.value, line)
        elif isinstance(child, ast.Call) and _is_getattr(child):
            yield Mention("getattr", line)


def _is_unreadable(node: ast.Name | ast.Attribute, name: str, owned: _OwnNames) -> bool:
    """Return whether a name can reach any object; a variable called ``fx`` is the notebook's own."""
    names = UNREADABLE_NAMES if isinstance(node, ast.Name) else UNREADABLE_ATTRIBUTES
    return name in names and not _is_of_self(node) and not (name in TRACING and owned.is_own(node))


def _is_forbidden(word: str, names: tuple[str, ...]) -> bool:
    """Return whether a word of the source is a forbidden name, or that of a function that implements one."""
    # Only single words: a sentence in a string is no name.
    return word.replace("_", "a").isalnum() and any(
        word in (name, *INSIDE.get(name, ())) or (name in INSIDE and is_function_text(name, word))
        for name in names
    )


def _is_forbidden_import(module: str, forbidden: tuple[str, ...]) -> bool:
    parts = module.split(".")
    # Importing sys itself is allowed; its attributes are tested where they are used.
    return any(part in UNREADABLE - {"sys"} or _is_forbidden(part, forbidden) for part in parts)


def _is_forbidden_import_from(node: ast.ImportFrom, forbidden: tuple[str, ...]) -> bool:
    is_of_sys = node.module == "sys" and not _HARMLESS.issuperset(alias.name for alias in node.names)
    return is_of_sys or _is_forbidden_import(node.module or "", forbidden)


def _is_of_self(node: ast.Name | ast.Attribute) -> bool:
    """Return whether a node is an attribute of ``self``, which is not part of a module."""
    of = node.value if isinstance(node, ast.Attribute) else None
    return isinstance(of, ast.Name) and of.id in ("self", "cls")


def _is_getattr(call: ast.Call) -> bool:
    """Return whether a call is ``getattr`` of anything but ``self`` with a name that is no literal."""
    if not (isinstance(call.func, ast.Name) and call.func.id == "getattr" and len(call.args) > 1):
        return False
    of, name = call.args[:2]
    of_self = isinstance(of, ast.Name) and of.id in ("self", "cls")
    return not of_self and not isinstance(name, ast.Constant)


def combine_findings(shared: Finding | None, finding: Finding | None) -> Finding | None:
    """Return the finding of an item, taking into account a finding about the whole answer.

    Forbidden functions count for every item; names that need manual review, only for items that would pass.
    """
    if shared is None or shared.code == "forbidden.used":
        return shared or finding
    return finding or shared
