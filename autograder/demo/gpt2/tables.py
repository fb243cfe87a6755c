"""The table of parameters: right in many notations, and the mistakes that people make in counting."""

from __future__ import annotations

from collections.abc import Mapping

from autograder.demo.formulas import Sample
from autograder.demo.gpt2.samples import Worth, edited

MATRICES = Worth.of(names="1.5", shapes="3", counts="1.5", reasons="3")
VECTORS = Worth.of(shapes="3")
TENSORS = Worth.of(parts="3", total="1")
TOTALS = Worth.of(tied="1", untied="0.5", state_dict="0.5")
FACTS = Worth.of(activation="1", layout="1")

_MATRICES = """
matrices = [
    ("wte", (50259, 768), 38598912, "extended vocabulary"),
    ("wpe", (1024, 768), 786432, "positions"),
    ("attn.c_attn", (768, 2304), 1769472, "queries keys values"),
    ("attn.c_proj", (768, 768), 589824, "heads joined"),
    ("mlp.c_fc", (768, 3072), 2359296, "widening"),
    ("mlp.c_proj", (3072, 768), 2359296, "narrowing"),
]
"""
_MATRICES_TEXT = '''
matrices = """
| name | shape | count | reason |
|---|---|---|---|
| transformer.wte.weight | (50259, 768) | 38,598,912 | extended vocabulary |
| transformer.wpe.weight | (1024, 768) | 786,432 | positions |
| transformer.h.0.attn.c_attn.weight | (768, 2304) | 1,769,472 | qkv |
| transformer.h.0.attn.c_proj.weight | (768, 768) | 589,824 | heads joined |
| transformer.h.0.mlp.c_fc.weight | (768, 3072) | 2,359,296 | widening |
| transformer.h.0.mlp.c_proj.weight | (3072, 768) | 2,359,296 | narrowing |
"""
'''
_MATRICES_COMPUTED = """
width, hidden = 768, 4 * 768
sizes = {
    "wte": ((50257 + 2, width), "extended vocabulary"),
    "wpe": ((1024, width), "positions"),
    "c_attn": ((width, 3 * width), "queries keys values"),
    "attn.c_proj": ((width, width), "heads joined"),
    "c_fc": ((width, hidden), "widening"),
    "mlp.c_proj": ((hidden, width), "narrowing"),
}
matrices = [(name, list(shape), shape[0] * shape[1], reason) for name, (shape, reason) in sizes.items()]
"""


_VECTORS = """
vectors = [
    ("ln_1.weight", (768,)),
    ("ln_1.bias", (768,)),
    ("attn.c_attn.bias", (2304,)),
    ("attn.c_proj.bias", (768,)),
    ("ln_2.weight", (768,)),
    ("ln_2.bias", (768,)),
    ("mlp.c_fc.bias", (3072,)),
    ("mlp.c_proj.bias", (768,)),
    ("ln_f.weight", (768,)),
    ("ln_f.bias", (768,)),
]
"""
_VECTORS_COMPUTED = """
wide = {"attn.c_attn.bias": 3 * 768, "mlp.c_fc.bias": 4 * 768}
names = [f"{norm}.{kind}" for norm in ("ln_1", "ln_2", "ln_f") for kind in ("weight", "bias")]
names += [*wide, "attn.c_proj.bias", "mlp.c_proj.bias"]
vectors = {name: [wide.get(name, 768)] for name in names}
"""
_VECTORS_TEXT = '''
vectors = """
| name | shape |
|---|---|
| transformer.h.0.ln_1.weight | (768,) |
| transformer.h.0.ln_1.bias | (768,) |
| transformer.h.0.attn.c_attn.bias | (2304,) |
| transformer.h.0.attn.c_proj.bias | (768,) |
| transformer.h.0.ln_2.weight | (768,) |
| transformer.h.0.ln_2.bias | (768,) |
| transformer.h.0.mlp.c_fc.bias | (3072,) |
| transformer.h.0.mlp.c_proj.bias | (768,) |
| transformer.ln_f.weight | (768,) |
| transformer.ln_f.bias | (768,) |
"""
'''


def _tensors(embeddings: object, layer: object, last: object, total: object) -> str:
    return f'tensors = {{"embeddings": {embeddings}, "layer": {layer}, "last": {last}, "total": {total}}}\n'


def _totals(tied: str, untied: str, entries: str) -> str:
    return f'totals = {{"tied": {tied}, "untied": {untied}, "state_dict": {entries}}}\n'


def _facts(activation: str, layout: str) -> str:
    return f'facts = {{"activation": "{activation}", "layout": "{layout}"}}\n'


RIGHT: Mapping[str, tuple[Sample, ...]] = {
    "matrices": MATRICES.right(_MATRICES, _MATRICES_TEXT, _MATRICES_COMPUTED),
    "vectors": VECTORS.right(_VECTORS, _VECTORS_TEXT, _VECTORS_COMPUTED, _VECTORS.replace(",))", "))")),
    "tensors": TENSORS.right(
        _tensors(2, 12, 2, 148),
        'tensors = [("embeddings", 2), ("layer", "12"), ("last", 2), ("total", 2 + 12 * 12 + 2)]\n',
        'tensors = """\npart | count\nembeddings | 2\nlayer | 12\nlast | 2\ntotal | 148\n"""\n',
    ),
    "totals": TOTALS.right(
        _totals("124441344", "163040256", "149"),
        _totals("124_441_344", "124_441_344 + 50259 * 768", "148 + 1"),
        _totals('"124,441,344"', '"163 040 256"', '"149"'),
    ),
    "facts": FACTS.right(
        _facts("gelu_new", "conv1d"), _facts("GELU new", "Conv1D"), _facts("NewGELU", "CONV1D")
    ),
}

WRONG: Mapping[str, tuple[Sample, ...]] = {
    "matrices": (
        MATRICES.wrong(
            "takes the published vocabulary",
            edited(_MATRICES, ('(50259, 768), 38598912, "extended', '(50257, 768), 38597376, "published')),
            shapes="2.5",
            counts="1.25",
            reasons="2.5",
        ),
        MATRICES.wrong(
            "turns the MLP round",
            edited(
                _MATRICES,
                ("(768, 3072)", "(3072, 768)"),
                ('("mlp.c_proj", (3072, 768)', '("mlp.c_proj", (768, 3072)'),
            ),
            shapes="2",
        ),
        MATRICES.wrong(
            "says three heads", edited(_MATRICES, ("queries keys values", "three heads")), reasons="2.5"
        ),
        MATRICES.wrong(
            "leaves the positions out",
            edited(_MATRICES, ('    ("wpe", (1024, 768), 786432, "positions"),\n', "")),
            names="1.25",
            shapes="2.5",
            counts="1.25",
            reasons="2.5",
        ),
        MATRICES.wrong(
            "counts one head of the queries", edited(_MATRICES, ("1769472", "49152")), counts="1.25"
        ),
    ),
    "vectors": (
        VECTORS.wrong(
            "takes one width for all",
            edited(_VECTORS, ("(2304,)", "(768,)"), ("(3072,)", "(768,)")),
            shapes="2.4",
        ),
        VECTORS.wrong("turns biases into matrices", _VECTORS.replace(",))", ", 768))"), shapes="0"),
        VECTORS.wrong("forgets the queries", edited(_VECTORS, ("(2304,)", "(1536,)")), shapes="2.7"),
        VECTORS.wrong(
            "leaves the last layer out",
            edited(_VECTORS, ('    ("ln_f.weight", (768,)),\n', ""), ('    ("ln_f.bias", (768,)),\n', "")),
            shapes="2.4",
        ),
    ),
    "tensors": (
        TENSORS.wrong("forgets the biases", _tensors(2, 8, 2, 100), parts="2"),
        TENSORS.wrong("counts the output head", _tensors(2, 12, 3, 149), parts="2"),
        TENSORS.wrong("forgets the layers in the sum", _tensors(2, 12, 2, 16), total="0"),
        TENSORS.wrong("forgets the positions", _tensors(1, 12, 2, 148), parts="2"),
    ),
    "totals": (
        TOTALS.wrong(
            "forgets the added tokens", _totals("124439808", "163037184", "149"), tied="0.5", untied="0.25"
        ),
        TOTALS.wrong("counts the head twice", _totals("163040256", "163040256", "149"), tied="0.5"),
        TOTALS.wrong("takes entries for tensors", _totals("124441344", "163040256", "148"), state_dict="0"),
        TOTALS.wrong("gives the head biases", _totals("124441344", "163090515", "149"), untied="0.25"),
        TOTALS.wrong("rounds", _totals('"124 million"', '"163 million"', "149"), tied="0", untied="0"),
    ),
    "facts": (
        FACTS.wrong("believes in ReLU", _facts("relu", "conv1d"), activation="0"),
        FACTS.wrong("takes the exact GELU", _facts("gelu", "conv1d"), activation="0.5"),
        FACTS.wrong("thinks of heads", _facts("gelu_new", "heads"), layout="0"),
        FACTS.wrong("thinks of sharing", _facts("gelu_new", "shared"), layout="0"),
        FACTS.nothing("guesses twice", _facts("silu", "saved")),
    ),
}


def _odd(name: str, worth: Worth) -> tuple[Sample, ...]:
    """Values that are no answer."""
    values = {
        "assigns None": "None",
        "assigns a number": "10**400",
        "assigns itself": "[...]",
        "nests without end": "[]\n{name}.append({name})",
        "assigns a function": "lambda *_: 1",
        "assigns an object": 'type("Table", (), {{"__eq__": lambda *_: True, "__len__": lambda _: -1}})()',
        "assigns a huge text": '"|1" * 100_000',
        "does not parse": "(",
    }
    return tuple(
        worth.nothing(portrait, f"{name} = {value.format(name=name)}\n") for portrait, value in values.items()
    )


HOSTILE: Mapping[str, tuple[Sample, ...]] = {
    "matrices": _odd("matrices", MATRICES),
    "vectors": _odd("vectors", VECTORS),
    "tensors": _odd("tensors", TENSORS),
    "totals": _odd("totals", TOTALS),
    "facts": _odd("facts", FACTS),
}
