"""How a class names its arguments, read from the source without running it."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from msgspec import Struct

from autograder.checks.values.literal import code_tree

ALIASES: Mapping[str, tuple[str, ...]] = {
    "d_model": (
        *("dmodel", "dim", "dimmodel", "modeldim", "d", "width", "nembd", "dembed", "inputdim", "indim"),
        *("embeddim", "embdim", "embedsize", "embeddingdim", "embeddingsize", "hiddensize", "hiddendim"),
        *("numhiddens", "modelsize", "modelwidth", "outdim", "outputdim", "dimin", "dimout", "din", "dout"),
    ),
    "n_heads": (
        *("nheads", "numheads", "heads", "h", "nhead", "numhead", "numattentionheads", "headcount"),
        *("numberofheads", "nrheads", "attentionheads"),
    ),
    "dropout": ("dropout", "p", "pdrop", "dropoutrate", "dropoutp", "attndropout", "drop", "dropoutprob"),
    "query": ("query", "queries", "q", "xq", "qin", "queryinput", "inputq"),
    "key": ("key", "keys", "k", "xk", "kin", "keyinput", "inputk"),
    "value": ("value", "values", "v", "xv", "vin", "valueinput", "inputv"),
    "mask": ("mask", "attnmask", "attentionmask", "m", "masks", "srcmask"),
}
"""Role → names that stand for it, in small letters without underscores. A rubric may add its own."""


class Parameters(Struct, frozen=True):
    """The parameters of one function, without ``self``."""

    names: tuple[str, ...] = ()
    required: frozenset[str] = frozenset()
    keyword: bool = False
    """Each can be given by keyword, and all are known: no ``*args``, nothing positional only."""


class Signature(Struct, frozen=True):
    """How a class is constructed and called. Empty where the source does not tell."""

    construct: Parameters = Parameters()
    forward: Parameters = Parameters()
    lazy: bool = False
    """Parameters may exist only after the first call."""


def read(source: str, name: str) -> Signature:
    """The signature of a class in a cell's source.

    Args:
        source: of the cell; anything that is not Python has no signature.
        name: of the class; of two with the same name the last one counts.
    """
    tree = code_tree(source)
    if tree is None:
        return Signature()
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    construct, forward = (_method(classes, name, method) for method in ("__init__", "forward"))
    return Signature(construct, forward, "Lazy" in source)


def roles(parameters: Parameters, wanted: Sequence[str], own: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Parameter → role, for every parameter whose name tells.

    Args:
        parameters: of the function.
        wanted: the roles that are looked for.
        own: the rubric's further names of each role.
    """
    names = {
        _plain(alias): role for role in wanted for alias in (role, *ALIASES.get(role, ()), *own.get(role, ()))
    }
    return {name: names[_plain(name)] for name in parameters.names if _plain(name) in names}


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


def _method(classes: Mapping[str, ast.ClassDef], name: str, method: str) -> Parameters:
    """Of the class, or of the first of its bases in the same cell that defines it."""
    seen: set[str] = set()
    while name in classes and name not in seen:
        seen.add(name)
        for node in reversed(classes[name].body):
            if isinstance(node, ast.FunctionDef) and node.name == method:
                return _parameters(node.args)
        bases = [base.id for base in classes[name].bases if isinstance(base, ast.Name)]
        name = next((base for base in bases if base in classes), "")
    return Parameters()


def _parameters(written: ast.arguments) -> Parameters:
    placed = [one.arg for one in (*written.posonlyargs, *written.args)][1:]
    only = [one.arg for one in written.kwonlyargs]
    with_default = placed[len(placed) - min(len(written.defaults), len(placed)) :] if written.defaults else []
    with_default += [
        one for one, default in zip(only, written.kw_defaults, strict=True) if default is not None
    ]
    names = (*placed, *only)
    keyword = bool(names) and written.vararg is None and len(written.posonlyargs) <= 1
    return Parameters(names, frozenset(names) - frozenset(with_default), keyword)
