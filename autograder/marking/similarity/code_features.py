"""Features of code without names, order, layout, comments and texts: digests of its syntax tree.

There are two kinds of digests. Those of whole subtrees do not depend on the order of statements, functions
and keywords, nor on that of summands and factors. Those of short runs of nodes inside one statement, thinned
out by winnowing (Schleimer, Wilkerson and Aiken, 2003), still agree if a larger tree was changed in one
place.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
import itertools
import keyword
import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from autograder.core.syntax import UNREADABLE, parse_module

MOST_CHARACTERS = 150_000
"""Maximum length of a student's code, far above that of any real work."""
MOST_NODES = 30_000
"""Maximum number of nodes of a student's code; the rest is not compared, which is reported."""
LEAST_NODES = 5
"""Minimum size of a compared expression; smaller ones occur in all code."""
_LEAST_STATEMENT = 3
_RUN = 7
"""Nodes of one run."""
_WINDOW = 4
"""One of this many consecutive runs is kept."""
_MAGIC = re.compile(r"^[ \t]*[%!?].*$", re.MULTILINE)
_TOKEN = re.compile(r"[^\W\d]\w{0,80}|\d[\w.]{0,40}|[^\s\w]")
_COMMENT = re.compile(r"#[ \t]*([^\n]{8,200})")
_KNOWN = frozenset(keyword.kwlist) | frozenset(dir(builtins))
_OWN = "·"
"""Replacement for names that the author can choose."""
_COMMUTES = (ast.Add, ast.Mult, ast.BitAnd, ast.BitOr, ast.BitXor)
_SAME: dict[type, str] = {ast.AnnAssign: "Assign", ast.AsyncFunctionDef: "FunctionDef"}
_TURNED: dict[type, str] = {ast.Gt: "Lt", ast.GtE: "LtE"}

Digest = int


class Statement(Struct, frozen=True):
    """A statement, simple or compound, and its position."""

    digest: Digest
    nodes: int
    first: int
    """Its first line, counted from 1."""
    last: int


class CodeForm(Struct, frozen=True):
    """The features of one piece of code."""

    features: frozenset[Digest]
    statements: tuple[Statement, ...] = ()
    """Outer ones before those inside them."""
    whole: bool = True
    """Whether all of it was processed."""
    nodes: int = 0
    """Number of processed nodes."""


class OwnNames(Struct, frozen=True):
    """Names that code defines: a copyist can change them at will."""

    names: frozenset[str] = frozenset()
    attributes: frozenset[str] = frozenset()
    modules: dict[str, str] = {}
    """Short names of imports → full names."""

    def __or__(self, other: OwnNames) -> OwnNames:
        """Return the names of both."""
        return OwnNames(
            self.names | other.names,
            self.attributes | other.attributes,
            {**other.modules, **self.modules},
        )


def parse_cell(source: str) -> ast.Module | None:
    """Parse the code of a cell, without lines of IPython; None if it is not Python. Never raises."""
    for text in (source[:MOST_CHARACTERS], _MAGIC.sub("", source[:MOST_CHARACTERS])):
        try:
            return parse_module(text)
        except UNREADABLE:
            continue
    return None


def collect_names(trees: Iterable[ast.Module]) -> OwnNames:
    """Return the names, attributes and short names of modules that code defines."""
    names, attributes, modules = set[str](), set[str](), dict[str, str]()
    for node in itertools.islice(_walk_trees(trees), MOST_NODES):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            attributes.add(node.attr)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
            if isinstance(node, ast.ClassDef):
                attributes |= set(_list_members(node))
        elif isinstance(node, ast.ExceptHandler) and node.name:
            names.add(node.name)
        elif isinstance(node, ast.Import):
            modules |= {imported.asname or imported.name: imported.name for imported in node.names}
        elif isinstance(node, ast.ImportFrom):
            modules |= {
                imported.asname or imported.name: f"{node.module or ''}.{imported.name}"
                for imported in node.names
            }
    return OwnNames(frozenset(names), frozenset(attributes), modules)


def extract_form(source: str, tree: ast.Module | None, names: OwnNames, room: int = MOST_NODES) -> CodeForm:
    """Return the features of a cell.

    Args:
        source: of the cell.
        tree: of the source; None: it is not Python, and compared by its words.
        names: defined by all code that belongs together.
        room: maximum number of nodes to process.
    """
    if tree is None:
        return CodeForm(frozenset(_hash_tokens(source[:MOST_CHARACTERS])))
    features, statements, whole, left = set[Digest](), list[Statement](), True, room
    for statement in tree.body:
        statement_tree = _Tree.from_statement(statement, names, left)
        if statement_tree is None:
            whole = False
            continue
        left -= len(statement_tree.nodes)
        features |= statement_tree.collect_features()
        statements += statement_tree.list_statements()
    return CodeForm(frozenset(features), tuple(statements), whole, room - left)


def extract_comments(source: str) -> frozenset[str]:
    """Return the comments of some code in lower case; approximately, the text after each hash sign."""
    return frozenset(
        " ".join(comment.casefold().split()) for comment in _COMMENT.findall(source[:MOST_CHARACTERS])
    )


def hash_words(words: Iterable[str], inside: bytes = b"") -> Digest:
    """Return a digest of some words as a number, the same in every process."""
    # Source code may contain lone surrogates, which UTF-8 cannot encode.
    data = "\0".join(words).encode("utf-8", "replace") + b"\0" + inside
    # Python's hash() of strings differs between processes, which would make results irreproducible.
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "big")


def select_by_winnowing(digests: Sequence[Digest]) -> set[Digest]:
    """Return the smallest of every few consecutive digests; the choice is independent of the context."""
    if len(digests) <= _WINDOW:
        return {min(digests)} if digests else set()
    return {min(digests[index : index + _WINDOW]) for index in range(len(digests) - _WINDOW + 1)}


def hash_runs(words: Sequence[str], length: int, kind: str) -> list[Digest]:
    """Return a digest for each run of the given length of consecutive words."""
    return [hash_words((kind, *words[index : index + length])) for index in range(len(words) - length + 1)]


class _Tree:
    """One top-level statement, with the digest of every subtree."""

    def __init__(self, nodes: list[ast.AST], labels: list[str]) -> None:
        self.nodes = nodes
        """Each before those below it."""
        self._labels = labels
        self._below: list[list[int]] = [[] for _ in nodes]
        """Of each node, the places of those right below it; in the end, in an order that means something."""
        self._digests: list[Digest] = [0] * len(nodes)
        self._sizes = [1] * len(nodes)

    @classmethod
    def from_statement(cls, top: ast.stmt, names: OwnNames, room: int) -> _Tree | None:
        """Return the tree, or None if it has more nodes than there is room for. The depth is not limited."""
        nodes: list[ast.AST] = []
        parents: list[int] = []
        # An explicit stack, because hostile code may be nested deeper than Python's recursion limit.
        waiting: list[tuple[ast.AST, int]] = [(top, -1)]
        while waiting:
            node, parent = waiting.pop()
            if len(nodes) >= room:
                return None
            # Reversed, because the stack returns the last child first.
            waiting += [(child, len(nodes)) for child in reversed(_list_children(node))]
            nodes.append(node)
            parents.append(parent)
        tree = cls(nodes, [_make_label(node, names) for node in nodes])
        tree._compute_digests(parents)
        return tree

    def _compute_digests(self, parents: Sequence[int]) -> None:
        """Compute digests from the end, because children come after their parent."""
        for index, parent in enumerate(parents):
            if parent >= 0:
                self._below[parent].append(index)
        for index in range(len(self.nodes) - 1, -1, -1):
            node, inside = self.nodes[index], self._below[index]
            ordered = [child for child in inside if not self._is_free(node, child)]
            free = sorted(
                (child for child in inside if self._is_free(node, child)),
                key=lambda child: self._digests[child],
            )
            if _is_turned(node):
                ordered.reverse()
            self._below[index] = [*ordered, *free]
            # The zero separates ordered from free children, so that they cannot be confused.
            digests = [
                *(self._digests[child] for child in ordered),
                0,
                *(self._digests[child] for child in free),
            ]
            self._digests[index] = hash_words(
                (self._labels[index],), b"".join(child.to_bytes(8, "big") for child in digests)
            )
            self._sizes[index] = 1 + sum(self._sizes[child] for child in inside)

    def _is_free(self, node: ast.AST, place: int) -> bool:
        """Decide whether the order of a node's children is irrelevant, or nearly so."""
        below = self.nodes[place]
        return isinstance(below, ast.stmt | ast.keyword | ast.ExceptHandler) or _is_commutative(node)

    def collect_features(self) -> set[Digest]:
        """Return the features of the statement."""
        digests = {
            self._digests[index]
            for index, node in enumerate(self.nodes)
            if self._sizes[index] >= (_LEAST_STATEMENT if isinstance(node, ast.stmt) else LEAST_NODES)
            and not isinstance(node, ast.Import | ast.ImportFrom)
        }
        for index, node in enumerate(self.nodes):
            if isinstance(node, ast.stmt):
                digests |= select_by_winnowing(hash_runs(self._collect_labels(index), _RUN, "run"))
        return digests

    def _collect_labels(self, statement: int) -> list[str]:
        """Return the labels of a statement without those of nested statements."""
        labels, waiting = [], [statement]
        while waiting:
            index = waiting.pop()
            labels.append(self._labels[index])
            waiting += [
                child for child in reversed(self._below[index]) if not isinstance(self.nodes[child], ast.stmt)
            ]
        return labels

    def list_statements(self) -> list[Statement]:
        """Return its statements, outer ones first."""
        return [
            Statement(
                self._digests[index],
                self._sizes[index],
                _get_first_line(node),
                node.end_lineno or node.lineno,
            )
            for index, node in enumerate(self.nodes)
            if isinstance(node, ast.stmt) and self._sizes[index] >= _LEAST_STATEMENT
        ]


def _get_first_line(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _walk_trees(trees: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield all nodes at any depth."""
    waiting = list(trees)
    while waiting:
        node = waiting.pop()
        yield node
        waiting += ast.iter_child_nodes(node)


def _list_members(node: ast.ClassDef) -> Iterator[str]:
    for member in node.body:
        if isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield member.name
        targets = member.targets if isinstance(member, ast.Assign) else [getattr(member, "target", None)]
        yield from (target.id for target in targets if isinstance(target, ast.Name))


def _list_children(node: ast.AST) -> list[ast.AST]:
    """Return the relevant children of a node: no annotations, no docstrings, no placeholders."""
    kept: list[ast.AST] = []
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "type_params"}:
            continue
        below = value if isinstance(value, list) else (value,)
        kept += [child for child in below if isinstance(child, ast.AST) and not _is_idle(child)]
    return kept


def _is_idle(node: ast.AST) -> bool:
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    return isinstance(node, ast.Pass | ast.expr_context | ast.operator | ast.cmpop | ast.unaryop | ast.boolop)


def _make_label(node: ast.AST, names: OwnNames) -> str:
    """Return the label of a node, without names that the author can choose and without texts."""
    if isinstance(node, ast.Name):
        return f"name {names.modules.get(node.id) or _replace_own_name(node.id, names.names)}"
    if isinstance(node, ast.Attribute):
        return f".{_replace_own_name(node.attr, names.attributes)}"
    if isinstance(node, ast.keyword):
        return f"{_replace_own_name(node.arg or '**', names.names | names.attributes)}="
    if isinstance(node, ast.Constant):
        return f"constant {_describe_constant(node.value)}"
    if isinstance(node, ast.alias):
        return f"import {node.name}"
    kind = _SAME.get(type(node), type(node).__name__)
    operators = getattr(node, "ops", None) or [getattr(node, "op", None)]
    return " ".join([kind, *(_describe_operator(operator) for operator in operators if operator is not None)])


def _replace_own_name(name: str, own_names: frozenset[str]) -> str:
    return _OWN if name in own_names else name[:80]


def _describe_constant(value: object) -> str:
    if isinstance(value, bool) or value is None or value is Ellipsis:
        return repr(value)
    if isinstance(value, int):
        # Python refuses to convert integers with thousands of digits to text.
        return str(value) if abs(value) < 1 << 64 else "large"
    return repr(value) if isinstance(value, float | complex) else "text"


def _describe_operator(node: object) -> str:
    return _TURNED.get(type(node), type(node).__name__)


def _is_commutative(node: ast.AST) -> bool:
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, _COMMUTES)
    if isinstance(node, ast.Compare):
        return len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq | ast.NotEq)
    return isinstance(node, ast.BoolOp | ast.Set)


def _is_turned(node: ast.AST) -> bool:
    """Decide whether a comparison is normalised by swapping its sides: ``a > b`` as ``b < a``."""
    return isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _TURNED


def _hash_tokens(source: str) -> set[Digest]:
    """Return features of text that is not Python: runs of its words and signs, with all names equal."""
    words = [
        _OWN if (token[0].isalpha() or token[0] == "_") and token not in _KNOWN else token
        for token in _TOKEN.findall(re.sub(r"#[^\n]*", "", source))
    ]
    return select_by_winnowing(hash_runs(words[:MOST_NODES], _RUN, "words"))
