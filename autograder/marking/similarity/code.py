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

from autograder.syntax import UNREADABLE, parsed

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
_MOST_BLOCKS = 400
_MAGIC = re.compile(r"^[ \t]*[%!?].*$", re.MULTILINE)
_GOES_ON = re.compile(r"(?:else|elif|except|finally)\b|[)\]}]")
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


class CodeUnit(Struct, frozen=True):
    """A part of a cell that is Python, or that is not."""

    source: str
    line: int
    """Its first line, counted from 0."""
    tree: ast.Module | None


def blocks(source: str) -> tuple[CodeUnit, ...]:
    """Parse the code of a cell; if it is not Python as a whole, every part that is.

    IPython lines are skipped. Never raises.
    """
    source = source[:MOST_CHARACTERS]
    plain = _MAGIC.sub("", source)
    for text in (source, plain):
        if (tree := _parsed(text)) is not None:
            return (CodeUnit(text, 0, tree),)
    found, lines = [], plain.split("\n")
    # A part begins at an unindented line that cannot continue the previous statement.
    heads = [at for at, line in enumerate(lines) if line[:1].strip() and not _GOES_ON.match(line)]
    starts = [at for at in heads if at == 0 or not lines[at - 1].startswith("@")][:_MOST_BLOCKS]
    for start, end in itertools.pairwise([*starts, len(lines)]):
        text = "\n".join(lines[start:end])
        found.append(CodeUnit(text, start, _parsed(text)))
    return tuple(found)


def own_names(trees: Iterable[ast.Module]) -> OwnNames:
    """Return the names, attributes and short names of modules that code defines."""
    names, attributes, modules = set[str](), set[str](), dict[str, str]()
    for node in itertools.islice(_every(trees), MOST_NODES):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            attributes.add(node.attr)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
            if isinstance(node, ast.ClassDef):
                attributes |= set(_members(node))
        elif isinstance(node, ast.ExceptHandler) and node.name:
            names.add(node.name)
        elif isinstance(node, ast.Import):
            modules |= {one.asname or one.name: one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom):
            modules |= {one.asname or one.name: f"{node.module or ''}.{one.name}" for one in node.names}
    return OwnNames(frozenset(names), frozenset(attributes), modules)


def code_form(pieces: Iterable[CodeUnit], names: OwnNames, room: int = MOST_NODES) -> CodeForm:
    """Return the features of some code.

    Args:
        pieces: of one cell.
        names: defined by all code that belongs together.
        room: maximum number of nodes to process.
    """
    features, statements, whole, left = set[Digest](), list[Statement](), True, room
    for piece in pieces:
        if piece.tree is None:
            features |= _lexical(piece.source)
            continue
        for statement in piece.tree.body:
            found = _Tree.of(statement, names, left)
            if found is None:
                whole = False
                continue
            left -= len(found.nodes)
            features |= found.features()
            statements += found.statements(piece.line)
    return CodeForm(frozenset(features), tuple(statements), whole, room - left)


def comments(source: str) -> frozenset[str]:
    """Return the comments of some code in lower case; approximately, the text after each hash sign."""
    return frozenset(" ".join(one.casefold().split()) for one in _COMMENT.findall(source[:MOST_CHARACTERS]))


def digest_of(words: Iterable[str], inside: bytes = b"") -> Digest:
    """Return a digest of some words as a number, the same in every process."""
    # Source code may contain lone surrogates, which UTF-8 cannot encode.
    data = "\0".join(words).encode("utf-8", "replace") + b"\0" + inside
    # Python's hash() of strings differs between processes, which would make results irreproducible.
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "big")


def winnowed(digests: Sequence[Digest]) -> set[Digest]:
    """Return the smallest of every few consecutive digests; the choice is independent of the context."""
    if len(digests) <= _WINDOW:
        return {min(digests)} if digests else set()
    return {min(digests[at : at + _WINDOW]) for at in range(len(digests) - _WINDOW + 1)}


def runs(words: Sequence[str], length: int, kind: str) -> list[Digest]:
    """Return a digest for each run of the given length of consecutive words."""
    return [digest_of((kind, *words[at : at + length])) for at in range(len(words) - length + 1)]


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
    def of(cls, top: ast.stmt, names: OwnNames, room: int) -> _Tree | None:
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
            waiting += [(child, len(nodes)) for child in reversed(_children(node))]
            nodes.append(node)
            parents.append(parent)
        tree = cls(nodes, [_label(node, names) for node in nodes])
        tree._digest(parents)
        return tree

    def _digest(self, parents: Sequence[int]) -> None:
        """Compute digests from the end, because children come after their parent."""
        for place, parent in enumerate(parents):
            if parent >= 0:
                self._below[parent].append(place)
        for place in range(len(self.nodes) - 1, -1, -1):
            node, inside = self.nodes[place], self._below[place]
            ordered = [one for one in inside if not self._is_free(node, one)]
            free = sorted(
                (one for one in inside if self._is_free(node, one)), key=lambda one: self._digests[one]
            )
            if _is_turned(node):
                ordered.reverse()
            self._below[place] = [*ordered, *free]
            # The zero separates ordered from free children, so that they cannot be confused.
            digests = [*(self._digests[one] for one in ordered), 0, *(self._digests[one] for one in free)]
            self._digests[place] = digest_of(
                (self._labels[place],), b"".join(one.to_bytes(8, "big") for one in digests)
            )
            self._sizes[place] = 1 + sum(self._sizes[one] for one in inside)

    def _is_free(self, node: ast.AST, place: int) -> bool:
        """Decide whether the order of a node's children is irrelevant, or nearly so."""
        below = self.nodes[place]
        return isinstance(below, ast.stmt | ast.keyword | ast.ExceptHandler) or _commutes(node)

    def features(self) -> set[Digest]:
        """Return the features of the statement."""
        found = {
            self._digests[place]
            for place, node in enumerate(self.nodes)
            if self._sizes[place] >= (_LEAST_STATEMENT if isinstance(node, ast.stmt) else LEAST_NODES)
            and not isinstance(node, ast.Import | ast.ImportFrom)
        }
        for place, node in enumerate(self.nodes):
            if isinstance(node, ast.stmt):
                found |= winnowed(runs(self._words(place), _RUN, "run"))
        return found

    def _words(self, statement: int) -> list[str]:
        """Return the labels of a statement without those of nested statements."""
        found, waiting = [], [statement]
        while waiting:
            place = waiting.pop()
            found.append(self._labels[place])
            waiting += [
                one for one in reversed(self._below[place]) if not isinstance(self.nodes[one], ast.stmt)
            ]
        return found

    def statements(self, line: int) -> list[Statement]:
        """Return its statements, outer ones first.

        Args:
            line: first line of the piece of code.
        """
        return [
            Statement(
                self._digests[place],
                self._sizes[place],
                line + _first_line(node),
                line + (node.end_lineno or node.lineno),
            )
            for place, node in enumerate(self.nodes)
            if isinstance(node, ast.stmt) and self._sizes[place] >= _LEAST_STATEMENT
        ]


def _first_line(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(one.lineno for one in decorators)])


def _parsed(source: str) -> ast.Module | None:
    try:
        return parsed(source)
    except UNREADABLE:
        return None


def _every(trees: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield all nodes at any depth."""
    waiting = list(trees)
    while waiting:
        node = waiting.pop()
        yield node
        waiting += ast.iter_child_nodes(node)


def _members(node: ast.ClassDef) -> Iterator[str]:
    for one in node.body:
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield one.name
        targets = one.targets if isinstance(one, ast.Assign) else [getattr(one, "target", None)]
        yield from (target.id for target in targets if isinstance(target, ast.Name))


def _children(node: ast.AST) -> list[ast.AST]:
    """Return the relevant children of a node: no annotations, no docstrings, no placeholders."""
    found: list[ast.AST] = []
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "type_params"}:
            continue
        below = value if isinstance(value, list) else (value,)
        found += [one for one in below if isinstance(one, ast.AST) and not _is_idle(one)]
    return found


def _is_idle(node: ast.AST) -> bool:
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    return isinstance(node, ast.Pass | ast.expr_context | ast.operator | ast.cmpop | ast.unaryop | ast.boolop)


def _label(node: ast.AST, names: OwnNames) -> str:
    """Return the label of a node, without names that the author can choose and without texts."""
    if isinstance(node, ast.Name):
        return f"name {names.modules.get(node.id) or _known(node.id, names.names)}"
    if isinstance(node, ast.Attribute):
        return f".{_known(node.attr, names.attributes)}"
    if isinstance(node, ast.keyword):
        return f"{_known(node.arg or '**', names.names | names.attributes)}="
    if isinstance(node, ast.Constant):
        return f"constant {_constant(node.value)}"
    if isinstance(node, ast.alias):
        return f"import {node.name}"
    kind = _SAME.get(type(node), type(node).__name__)
    operators = getattr(node, "ops", None) or [getattr(node, "op", None)]
    return " ".join([kind, *(_operator(one) for one in operators if one is not None)])


def _known(name: str, own: frozenset[str]) -> str:
    return _OWN if name in own else name[:80]


def _constant(value: object) -> str:
    if isinstance(value, bool) or value is None or value is Ellipsis:
        return repr(value)
    if isinstance(value, int):
        # Python refuses to convert integers with thousands of digits to text.
        return str(value) if abs(value) < 1 << 64 else "large"
    return repr(value) if isinstance(value, float | complex) else "text"


def _operator(node: object) -> str:
    return _TURNED.get(type(node), type(node).__name__)


def _commutes(node: ast.AST) -> bool:
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, _COMMUTES)
    if isinstance(node, ast.Compare):
        return len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq | ast.NotEq)
    return isinstance(node, ast.BoolOp | ast.Set)


def _is_turned(node: ast.AST) -> bool:
    """Decide whether a comparison is normalised by swapping its sides: ``a > b`` as ``b < a``."""
    return isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _TURNED


def _lexical(source: str) -> set[Digest]:
    """Return features of text that is not Python: runs of its words and signs, with all names equal."""
    words = [
        _OWN if (one[0].isalpha() or one[0] == "_") and one not in _KNOWN else one
        for one in _TOKEN.findall(re.sub(r"#[^\n]*", "", source))
    ]
    return winnowed(runs(words[:MOST_NODES], _RUN, "words"))
