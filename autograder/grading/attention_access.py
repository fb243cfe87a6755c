"""Prove from the source alone that an answer cannot reach the attention functions of torch.

`forbidden` finds names in a source; this module works with an allow-list instead. If the proof succeeds, the
check need not run a second time in a box with the forbidden functions failing. For any unusual code the proof
fails.

Why it is sound: a module occurs only at the beginning of a listed dotted name, so no value in the answer is a
module, and of all other values only listed attributes or the answer's own attributes are used. None of the
listed functions and classes calls an attention function itself.
"""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections.abc import Iterator, Sequence

from autograder.core.syntax import UNREADABLE, parse_module
from autograder.questions.base.judging.forbidden import list_patterns

FORBIDDEN = frozenset(list_patterns(("MultiheadAttention", "scaled_dot_product_attention", "flex_attention")))
"""The names for which the proof is possible, and the functions behind them."""
_SUSPICIOUS = ("attention", "transformer", "sdp", "flex", "mha")
"""Parts of names that torch uses for attention; the answer's own attributes must not contain them."""
_LEADING = frozenset(
    (
        *("functional", "ops", "jit", "library", "utils", "nn", "compile", "numpy", "ctypes", "_ctypes"),
        "obj",  # of an AttributeError: the module that lacks a name
        *("modules", "get_field"),
        *sys.stdlib_module_names,  # modules expose the modules that they import
    )
)
"""Attributes of modules, arrays and exceptions that lead to modules."""
_FRAMES = ("gi_", "cr_", "ag_", "f_", "tb_", "co_")
"""Prefixes of attributes that lead from a generator or a traceback to all modules."""
_BUILTINS = frozenset(
    (
        *("abs", "all", "any", "bool", "dict", "divmod", "enumerate", "filter", "float", "frozenset", "int"),
        *("isinstance", "issubclass", "iter", "len", "list", "map", "max", "min", "next", "pow", "print"),
        *("property", "range", "repr", "reversed", "round", "set", "slice", "sorted", "staticmethod", "str"),
        *(
            "setattr",
            "hasattr",
            "sum",
            "super",
            "tuple",
            "zip",
            "classmethod",
            "object",
            "Ellipsis",
            "NotImplemented",
        ),
    )
) | {
    name
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, BaseException)
}
_SHELLS = re.compile(r"In|Out|_[io]h|_dh|_i+|_i?\d+|get_ipython|exit|quit|display")
"""Names that the shell binds: inputs and outputs of all cells."""
_SPECIAL = frozenset(("__init__", "__call__", "__len__", "__getitem__", "__iter__", "__repr__", "__name__"))
_LAYERS = frozenset(
    (
        *("Module", "Linear", "Dropout", "LayerNorm", "RMSNorm", "Embedding", "Parameter", "ModuleList"),
        *("ModuleDict", "Sequential", "ReLU", "GELU", "SiLU", "Tanh", "Sigmoid", "Softmax", "Identity"),
        *("ParameterList", "Conv1d", "Flatten", "Unflatten"),
    )
)
_METHODS = frozenset(
    (
        *("T", "mT", "abs", "add", "add_", "all", "allclose", "amax", "amin", "any", "append", "arange"),
        *("argmax", "argmin", "argsort", "as_tensor", "baddbmm", "bfloat16", "bias", "bmm", "bool"),
        *("broadcast_to", "cat", "chunk", "clamp", "clone", "concat", "contiguous", "copy", "cos"),
        *("cumsum", "data", "detach", "device", "diag", "diagonal", "dim", "div", "div_", "double", "dtype"),
        *("einsum", "empty", "eps", "eq", "equal", "erf", "eval", "exp", "expand", "expand_as", "extend"),
        *("eye", "finfo", "flatten", "flip", "float", "float16", "float32", "float64", "floor", "format"),
        *("full", "full_like", "gather", "gelu", "get", "half", "in_features", "inf", "int", "int32"),
        *("int64", "is_floating_point", "isclose", "isinf", "isnan", "isfinite", "item", "items", "keys"),
        *("layer_norm", "lerp", "linear", "linspace", "log", "log_softmax", "logical_and", "logical_not"),
        *("logical_or", "logsumexp", "long", "manual_seed", "masked_fill", "masked_fill_", "masked_select"),
        *("matmul", "max", "maximum", "mean", "min", "minimum", "mm", "movedim", "mul", "mul_", "multiply"),
        *("nan", "nan_to_num", "ndim", "ne", "neg", "new_full", "new_ones", "new_tensor", "new_zeros"),
        *("no_grad", "nonzero", "norm", "normal_", "normalize", "numel", "nan_to_num_", "one_hot", "ones"),
        *("ones_like", "out_features", "outer", "pad", "parameters", "named_parameters", "permute", "pi"),
        *("pop", "pow", "prod", "rand", "randint", "randn", "randn_like", "randperm", "ravel"),
        *("register_buffer", "register_parameter", "relu", "repeat", "repeat_interleave", "requires_grad"),
        *("requires_grad_", "reshape", "reshape_as", "roll", "round", "rsqrt", "select", "shape", "sigmoid"),
        *("sin", "size", "softmax", "sort", "split", "sqrt", "squeeze", "stack", "std", "sub", "sub_", "sum"),
        *("swapaxes", "swapdims", "t", "take_along_dim", "tanh", "tensor", "tensor_split", "to", "tolist"),
        *("train", "transpose", "tril", "triu", "true_divide", "type_as", "unbind", "unflatten"),
        *("unsqueeze", "values", "var", "view", "view_as", "weight", "where", "xavier_uniform_", "zeros"),
        *("zeros_like", "zeros_", "zero_", "fill_", "dropout", "forward", "embedding", "square", "mode"),
    )
)
"""Attributes of tensors, layers and containers, and functions of torch, that call no composed function."""
_MODULES = {
    "torch": _METHODS | {"Tensor", "Size", "FloatTensor", "LongTensor", "BoolTensor", "long", "dtype"},
    "torch.nn": _LAYERS,
    "torch.nn.functional": _METHODS,
    "torch.nn.init": _METHODS,
    "math": _METHODS | {"sqrt", "log2", "log10", "ceil", "floor", "exp", "pi", "e", "inf", "isclose", "fsum"},
    "typing": frozenset(("Optional", "Union", "Tuple", "List", "Dict", "Any", "Sequence", "Callable")),
    "__future__": frozenset(("annotations",)),
}
"""Module → its names that may be used."""


def is_unreachable(forbidden: Sequence[str], sources: Sequence[str], released_sources: Sequence[str]) -> bool:
    """Return whether cells provably cannot reach forbidden functions; False if that is not known.

    Args:
        forbidden: names, or the functions behind them (`forbidden.list_patterns`).
        sources: all code cells of the student's notebook.
        released_sources: sources of released code cells; equal ones among ``sources`` are trusted except for
            their imports.
    """
    if not FORBIDDEN.issuperset(forbidden):
        return False
    try:
        # Released cells are trusted in what they do, but the answer can use the names they import.
        trees = [parse_module(source) for source in sources if source not in released_sources]
        imports = [parse_module(source) for source in sources if source in released_sources]
    except UNREADABLE:
        return False
    reader = _Reader()
    foreign = _find_foreign(imports)
    return (
        # Other names of released cells may hold anything, so the answer must not touch them.
        foreign.isdisjoint(_find_names(trees))
        and reader.record_imports(trees, strictly=True)
        and reader.record_imports(imports, strictly=False)
        and all(map(reader.is_harmless, trees))
    )


def _find_foreign(trees: Sequence[ast.Module]) -> set[str]:
    """Return the notebook's names that cells bind in another way than by a known import."""
    names: set[str] = set()
    pending: list[ast.AST] = [*trees]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            reader = _Reader()
            if not reader.record_imports([ast.Module([node], [])], strictly=True):
                names.update((part.asname or part.name).partition(".")[0] for part in node.names)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            names.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            names.add(node.rest)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
            names.update(
                name for part in ast.walk(node) if isinstance(part, ast.Global) for name in part.names
            )
            continue
        pending += ast.iter_child_nodes(node)
    return names


def _find_names(trees: Sequence[ast.Module]) -> Iterator[str]:
    """Yield every name that cells bind or read."""
    for node in _walk_trees(trees):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]
        elif isinstance(node, ast.FunctionDef | ast.ClassDef | ast.ExceptHandler) and node.name:
            yield node.name


class _Reader:
    """The meaning of names in all cells together."""

    def __init__(self) -> None:
        self._modules: dict[str, str] = {}
        """Name → the module that it refers to."""
        self._names: set[str] = set()
        self._attributes: set[str] = set()

    def record_imports(self, trees: Sequence[ast.Module], *, strictly: bool) -> bool:
        """Record the names that cells bind; return whether all of them may be used.

        Args:
            trees: of cells.
            strictly: the cells are the student's own; in others only harmless imports are recorded.
        """
        for node in _walk_trees(trees):
            if isinstance(node, ast.Import | ast.ImportFrom):
                if not self._record_import(node) and strictly:
                    return False
            elif strictly and not self._record_binding(node):
                return False
        return True

    def _record_import(self, node: ast.Import | ast.ImportFrom) -> bool:
        for alias in node.names:
            name = alias.asname or alias.name
            if isinstance(node, ast.Import):
                root = alias.name if alias.asname else alias.name.partition(".")[0]
                if alias.name not in _MODULES or not self._is_own_name(name.partition(".")[0]):
                    return False
                if self._modules.setdefault(name.partition(".")[0], root) != root:
                    return False
                continue
            path = f"{node.module}.{alias.name}"
            if node.level or not self._is_own_name(name):
                return False
            if path in _MODULES:
                if self._modules.setdefault(name, path) != path:
                    return False
            elif alias.name in _MODULES.get(node.module or "", ()):
                self._names.add(name)
            else:
                return False
        return True

    def _record_binding(self, node: ast.AST) -> bool:
        names: list[str] = []
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names = [node.id]
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names = [node.name]
            self._attributes.add(node.name)
        elif isinstance(node, ast.arg):
            names = [node.arg]
        elif isinstance(node, ast.ExceptHandler) and node.name:
            names = [node.name]
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            self._attributes.add(node.attr)
            return _is_own_attribute(node.attr)
        self._names.update(names)
        return all(name in _SPECIAL or self._is_own_name(name) for name in names)

    def _is_own_name(self, name: str) -> bool:
        is_builtin = hasattr(builtins, name) and name != "_"  # an interactive session of ours binds _
        is_hidden = name.startswith("__") or (is_builtin and name not in _BUILTINS)
        return not is_hidden and not _SHELLS.fullmatch(name)

    def is_harmless(self, tree: ast.Module) -> bool:
        """Return whether a cell uses only known names and attributes."""
        inner: set[int] = set()
        return all(self._is_harmless(node, inner) for node in ast.walk(tree))

    def _is_harmless(self, node: ast.AST, inner: set[int]) -> bool:
        """Check one node; the inner nodes of dotted names that were checked are added to ``inner``."""
        # Rare in answers, and each would need an argument of its own in the proof.
        if isinstance(node, ast.Match | ast.Global | ast.Nonlocal | ast.Delete | ast.AsyncFunctionDef):
            return False
        if isinstance(node, ast.Attribute):
            if id(node) in inner:
                return True
            module = self._resolve_module(node.value, inner)
            if module:
                return node.attr in _MODULES[module]
            is_private, is_stored = node.attr.startswith("_"), node.attr in self._attributes
            is_of_self = isinstance(node.value, ast.Name) and node.value.id == "self"
            # A private attribute is accepted only on self, and only if the answer itself stores it.
            is_known = (is_stored and is_of_self) if is_private else (is_stored or is_of_self)
            return node.attr in _METHODS | _SPECIAL or (is_known and _is_own_attribute(node.attr))
        if isinstance(node, ast.Name) and id(node) not in inner:
            if node.id.strip("_") == "" and isinstance(node.ctx, ast.Load):  # the shell's last value
                return False
            return node.id not in self._modules and (
                node.id in self._names or node.id in _BUILTINS or isinstance(node.ctx, ast.Store)
            )
        return True

    def _resolve_module(self, node: ast.expr, inner: set[int]) -> str:
        """Return the module that a dotted name refers to, empty if none; records it in ``inner``."""
        module_name = ""
        if isinstance(node, ast.Name):
            module_name = self._modules.get(node.id, "")
        elif isinstance(node, ast.Attribute):
            module = self._resolve_module(node.value, inner)
            module_name = f"{module}.{node.attr}" if module and f"{module}.{node.attr}" in _MODULES else ""
        if module_name:
            inner.add(id(node))
        return module_name


def _walk_trees(trees: Sequence[ast.Module]) -> Iterator[ast.AST]:
    for tree in trees:
        yield from ast.walk(tree)


def _is_own_attribute(name: str) -> bool:
    """Return whether an attribute cannot be one of Python's or torch's that leads to a module."""
    lowered = name.lower()
    return not (
        name.startswith(("__", *_FRAMES)) or name in _LEADING or any(part in lowered for part in _SUSPICIOUS)
    )
