"""Decide whether a test cell can be judged outside the student's sandbox, and find the values it compares."""

from __future__ import annotations

import ast
import functools
import itertools
import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from autograder.core.syntax import UNREADABLE, NameUse, collect_bound_names, find_name_use, parse_module

Import = tuple[str, str, str]
MOST_CHANGED = 12
"""Changed literals of one test; each gives one more form to run."""
_MAGIC = re.compile(r"^\s*[%!?]|^[^#\'\"\n]*\?\s*$", re.MULTILINE)
_LINE_MAGIC = re.compile(r"(?m)^(\s*)[%!].*$")
_WORD = re.compile(r"[^\W\d]\w*")
_NOTEBOOKS = ("get_ipython", "In", "Out", "_ih", "_oh", "display")
_SOURCE = ("getsource", "getsourcelines", "getsourcefile", "signature", "getfullargspec", "getclosurevars")
_PATCHES = ("patch", "MagicMock", "Mock", "monkeypatch", "setattr")
_LAYOUT = (
    "data_ptr",
    "is_contiguous",
    "untyped_storage",
    "storage_offset",
    "retain_grad",
    "next_functions",
    "shares_memory",
    "may_share_memory",
    "register_hook",
    "functional_call",
    "__bases__",
)
"""Attributes that would be read from a copy, or from a proxy of the student's object."""
_TEXTS_OF = ("type", "str", "repr", "isinstance")
_RAISING = ("raises", "assertRaises", "assertRaisesRegex")
_FILES = ("open", "exists", "isfile", "Path", "listdir", "glob")
_OF_FILES = ("os", "io", "pathlib", "glob", "gzip", "codecs")
"""Modules with an ``open`` function; ``open`` of any other object is a method of that object."""
_READING = frozenset("rbt")
_EQUALITIES = ("allclose", "isclose", "array_equal", "equal", "approx")
_DRAWN = "matplotlib"
"""Its figures exist only in the student's sandbox: ``plt`` of a notebook is evaluated there."""


def explain_unjudgeable(
    code: str,
    defined_before: Collection[str] = (),
    data: Collection[str] = (),
    read: Collection[str] = (),
) -> str | None:
    """Return why a test cannot be judged outside, or None if it can.

    Args:
        code: of the test, hidden lines included.
        defined_before: names that the notebook defines before it, including those of the student.
        data: files and folders next to the notebook that every student has, also in the judge's sandbox.
        read: names that other code of the notebook still reads (`find_names_read_around`). Names that the
            test binds are bound in the judge's sandbox only.
    """
    code = _strip_prompts(code)
    if _MAGIC.search(code):
        return "it uses a magic or another program"
    try:
        tree = parse_module(code)
    except UNREADABLE as error:
        return f"it is no Python: {type(error).__name__}"
    defined = frozenset(defined_before)
    files = frozenset(path.partition("/")[0] for path in data)
    reasons = (reason for node in ast.walk(tree) for reason in _find_reasons(node, tree, defined, files))
    rebound = (explain_rebinding(name) for name in sorted(collect_bound_names(tree) & {*read}))
    return next(itertools.chain(reasons, rebound), None)


def explain_rebinding(name: str) -> str:
    """Return why a test that binds a name is not judged outside."""
    return f"it binds {name}, which other code of the notebook reads"


@functools.lru_cache(maxsize=1024)
def find_bound_names(code: str) -> frozenset[str]:
    """Return the names that a test binds for the whole notebook; none if it is not Python."""
    try:
        return frozenset(collect_bound_names(parse_module(_strip_prompts(code))))
    except UNREADABLE:
        return frozenset()


def find_used_names(source: str) -> NameUse:
    """Return the global names that a code cell uses; if it is not Python, the names that it may use."""
    try:
        return find_name_use(_parse_cell(source))
    except UNREADABLE as error:
        words = frozenset(_WORD.findall(source))
        runs = isinstance(error, RecursionError) or _MAGIC.search(source)  # IPython may understand it
        return NameUse(words, words) if runs else NameUse()


def find_names_read_around(before: Iterable[NameUse], after: Iterable[NameUse]) -> set[str]:
    """Return the names that other code of a notebook reads after a test has run.

    Args:
        before: code cells that have run when the test runs.
        after: code cells that run later, in order.
    """
    reads = set[str]().union(*(use.called for use in before))
    bound: set[str] = set()
    for use in after:
        reads |= use.first - bound
        # A later cell binds these names first, so that cells after it do not read the test's values.
        bound |= use.bound
    return reads


def _parse_cell(source: str) -> ast.Module:
    try:
        return parse_module(source)
    except SyntaxError:
        return parse_module(_LINE_MAGIC.sub(r"\1pass", source))


def _strip_prompts(code: str) -> str:
    """Return the statements of a test that may be an interactive session."""
    if ">>>" not in code:
        return code
    import doctest

    return "".join(example.source for example in doctest.DocTestParser().get_examples(code))


def _find_reasons(
    node: ast.AST, tree: ast.Module, defined: frozenset[str], data: frozenset[str]
) -> Iterator[str]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        if node.id == "functional_call":
            yield f"it looks at what only the notebook knows ({node.id})"
        if node.id in _NOTEBOOKS:
            yield f"it uses {node.id}, which only the notebook has"
        if node.id in _PATCHES:
            yield f"it patches ({node.id})"
    elif isinstance(node, ast.Attribute) and node.attr in _SOURCE:
        yield f"it reads source text ({node.attr})"
    elif isinstance(node, ast.Attribute) and node.attr in _LAYOUT:
        yield f"it looks at what only the notebook knows ({node.attr})"
    elif isinstance(node, ast.Import | ast.ImportFrom):
        yield from _find_import_reasons(node)
    elif isinstance(node, ast.Call):
        yield from _find_call_reasons(node, data)
        yield from _find_gradient_reasons(node)
    else:
        yield from _find_gradient_reasons(node)
        yield from _find_change_reasons(node, tree, defined)


def _find_change_reasons(node: ast.AST, tree: ast.Module, defined: frozenset[str]) -> Iterator[str]:
    if isinstance(node, ast.ClassDef) and any(_find_root(base) in defined for base in node.bases):
        yield "it derives a class from the student's"
    if isinstance(node, ast.Delete) and any(
        isinstance(target, ast.Name) and target.id in defined for target in node.targets
    ):
        yield "it deletes a name of the notebook's"
    if isinstance(node, ast.Assign) and _is_own_dictionary(node.value):
        yield "it keeps an object's own dictionary, of which it would get a copy"
    if isinstance(node, ast.Assign | ast.AugAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        modules = _list_imported(tree) | {"builtins", "sys"}
        if any(isinstance(target, ast.Attribute) and _find_root(target) in modules for target in targets):
            yield "it patches a module"


def _is_own_dictionary(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "vars" and bool(node.args)
    return isinstance(node, ast.Attribute) and node.attr == "__dict__"


def _find_gradient_reasons(node: ast.AST) -> Iterator[str]:
    """Yield reasons about graphs and gradients: outside the notebook, each access makes a new copy."""
    if isinstance(node, ast.Compare) and any(isinstance(child, ast.Is | ast.IsNot) for child in node.ops):
        sides = (node.left, *node.comparators)
        of_gradients = any(isinstance(child, ast.Attribute) and child.attr == "grad" for child in sides)
        if of_gradients and not any(isinstance(child, ast.Constant) for child in sides):
            yield "it asks whether two gradients are one object"
    looked_at: list[ast.AST] = []
    if isinstance(node, ast.Attribute):
        looked_at = [node.value]
    elif isinstance(node, ast.Call) and _find_root(node.func) in _TEXTS_OF:
        looked_at = [*node.args]
    if any(isinstance(child, ast.Attribute) and child.attr == "grad_fn" for child in looked_at):
        yield "it looks at the graph behind a result (grad_fn)"
    if isinstance(node, ast.With | ast.Try) and _is_error_expected(node):
        inside = (child for statement in node.body for child in ast.walk(statement))
        if any(_get_called_name(child) == "backward" for child in inside):
            yield "it asks whether backward raises"


def _is_error_expected(node: ast.With | ast.Try) -> bool:
    if isinstance(node, ast.With):
        return any(_get_called_name(manager.context_expr) in _RAISING for manager in node.items)
    return any(map(_is_failure, (*node.body, *node.orelse)))


def _is_failure(statement: ast.stmt) -> bool:
    """Return whether a right answer never gets past a statement."""
    if isinstance(statement, ast.Assert):
        return isinstance(statement.test, ast.Constant) and not statement.test.value
    if isinstance(statement, ast.Expr):
        return _get_called_name(statement.value) == "fail"
    return isinstance(statement, ast.Raise)


def _get_called_name(node: ast.AST) -> str:
    """Return the name of the function that is called; empty if the node is not a call."""
    if not isinstance(node, ast.Call):
        return ""
    return node.func.attr if isinstance(node.func, ast.Attribute) else _find_root(node.func)


def _find_import_reasons(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
    for module in modules:
        if module.startswith("unittest.mock"):
            yield "it patches"


def _find_call_reasons(node: ast.Call, data: frozenset[str]) -> Iterator[str]:
    """Yield reasons about calls: files that every student has may be read.

    All others are in the student's sandbox.
    """
    of = _find_root(node.func) if isinstance(node.func, ast.Attribute) else ""
    called = _get_called_name(node)
    if called == "stride" and of:  # that of a layer is an attribute
        yield "it looks at what only the notebook knows (stride)"
    if called not in _FILES or (of and of not in _OF_FILES):
        return
    path, *modes = (*node.args, *(argument.value for argument in node.keywords), None)
    is_shared = (
        isinstance(path, ast.Constant) and str(path.value).removeprefix("./").partition("/")[0] in data
    )
    reads = called != "open" or all(
        isinstance(argument, ast.Constant) and set(str(argument.value)) <= _READING
        for argument in modes[:1]
        if argument is not None
    )
    if not (is_shared and reads):
        yield f"it looks at files ({called})"


def _find_root(node: ast.AST) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _list_imported(tree: ast.AST) -> set[str]:
    return {name for name, _, _ in _list_imports(tree)}


def _list_imports(tree: ast.AST) -> Iterator[Import]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield (
                    (alias.asname, alias.name, "")
                    if alias.asname
                    else (alias.name.split(".")[0],) * 2 + ("",)
                )
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                yield alias.asname or alias.name, node.module, alias.name


_USUAL: tuple[Import, ...] = (
    ("np", "numpy", ""),
    ("numpy", "numpy", ""),
    ("torch", "torch", ""),
    ("nn", "torch.nn", ""),
    ("F", "torch.nn.functional", ""),
    ("pd", "pandas", ""),
    ("math", "math", ""),
    ("random", "random", ""),
)


def list_imports(sources: Iterable[str]) -> tuple[Import, ...]:
    """Return names that cells of a release import, and the usual ones: name, module, attribute.

    A student who binds such a name to something else does not affect a test.
    """
    imports = {name: (name, module, attribute) for name, module, attribute in _USUAL}
    for source in sources:
        try:
            tree = parse_module(re.sub(r"(?m)^\s*[%!].*$", "", source))
        except UNREADABLE:
            continue
        imports |= {
            entry[0]: entry
            for entry in _list_imports(tree)
            if not entry[1].startswith(_DRAWN) and entry[2] != "*"
        }
    return tuple(imports.values())


# ---------------------------------------------------------------- changed tests


def make_changed_forms(code: str, *, is_doctest: bool = False) -> tuple[str, ...]:
    """Return forms of a test that no right answer passes: an expected value is changed, or the end fails.

    If an answer passes one of them, the test was disarmed.
    """
    if is_doctest:
        return _change_session(code), f"{code.rstrip()}\n>>> 1\n2\n"
    try:
        tree = parse_module(code)
    except UNREADABLE:
        return ()
    number = sum(1 for _ in _find_literals(tree))
    forms = [f"{code}\nassert 1 == 2\n", f"{code}\nraise AssertionError\n"]
    for target in range(min(number, MOST_CHANGED)):
        tree = parse_module(code)
        # Each form changes one literal of a tree that was parsed anew.
        for position, (holder, field, index) in enumerate(_find_literals(tree)):
            if position == target:
                value = getattr(holder, field) if index is None else getattr(holder, field)[index]
                changed = _LiteralChanger().visit(value)
                if index is None:
                    setattr(holder, field, changed)
                else:
                    getattr(holder, field)[index] = changed
        forms.append(ast.unparse(ast.fix_missing_locations(tree)))
    return tuple(forms)


def _change_session(code: str) -> str:
    import doctest

    parts = doctest.DocTestParser().parse(code)
    lines = []
    for part in parts:
        if isinstance(part, doctest.Example):
            first, *more = part.source.rstrip("\n").split("\n")
            lines += [f">>> {first}", *(f"... {line}" for line in more)]
            lines += [part.want.rstrip("\n") + "~"] if part.want else []
    return "\n".join(lines) + "\n"


def _find_literals(tree: ast.AST) -> Iterator[tuple[Any, str, int | None]]:
    """Yield the literals that are compared for equality: node, field and index in the field."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and all(isinstance(operand, ast.Eq) for operand in node.ops):
            for index, operand in enumerate(node.comparators):
                if _is_literal(operand):
                    yield node, "comparators", index
                    break
            else:
                if _is_literal(node.left):
                    yield node, "left", None
        elif isinstance(node, ast.Call):
            name = _get_called_name(node)
            if name in _EQUALITIES or (name.lower().startswith("assert") and "qual" in name.lower()):
                for index, argument in enumerate(node.args[:2]):
                    if _is_literal(argument):
                        yield node, "args", index
                        break


def _is_literal(node: ast.AST) -> bool:
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    # An empty container has no entry to change.
    return value not in ([], {}, (), set())


class _LiteralChanger(ast.NodeTransformer):
    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        value: Any = node.value
        if isinstance(value, bool):
            changed: Any = not value
        elif isinstance(value, int | float | complex):
            changed = value * 2 + 7
        elif isinstance(value, str):
            changed = f"{value}~"
        elif isinstance(value, bytes):
            changed = value + b"~"
        else:
            changed = "~"
        return ast.copy_location(ast.Constant(changed), node)
