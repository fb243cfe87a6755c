"""Test the checks about tracing: right answers pass in any form, and mistakes are named."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from autograder.checking.check_parser import CheckFile, load_check_file
from autograder.checking.loader import DefinedNames
from autograder.checking.runner import CheckProgram
from tests.support.checked import run_checks

REFERENCE = Path(__file__).parents[3] / "reference"
PASSED = "passed"
Judge = Callable[[str, str], tuple[str, ...]]


@functools.cache
def read_file(name: str) -> CheckFile:
    return load_check_file(REFERENCE, f"tracing_{name}.py")


@pytest.fixture
def judge() -> Iterator[Judge]:
    """Return a function that runs a file of checks and gives the mutant or the status of each check."""
    programs: list[CheckProgram] = []

    def run(name: str, source: str) -> tuple[str, ...]:
        programs.append(CheckProgram(read_file(name)))
        outcomes = run_checks(programs[-1], source, name_mistakes=True).outcomes.values()
        return tuple((*outcome.mistakes, outcome.status)[0] for outcome in outcomes)

    yield run
    for program in reversed(programs):
        program.close()


MATMUL = {
    "a tuple": ("g @ b.T, a.T @ g", (PASSED, PASSED)),
    "a list, one in single precision": ("[g @ b.T, (a.T @ g).float()]", (PASSED, PASSED)),
    "a dictionary, one as lists": ("{'b': a.T @ g, 'a': (g @ b.T).tolist()}", (PASSED, PASSED)),
    "an array": ("(g @ b.T).numpy(), a.T @ g", (PASSED, PASSED)),
    "a wrong transposition": ("g.T @ b.T, a.T @ g", ("wrong", "raised")),
    "transposed": ("(g @ b.T).T, a.T @ g", ("the first one transposed", PASSED)),
    "the other sign, and a factor": ("-(g @ b.T), 2 * a.T @ g", ("other sign", "wrong")),
    "swapped": ("a.T @ g, g @ b.T", ("operands swapped", "operands swapped")),
    "one is missing": ("g @ b.T", ("wrong", "wrong")),
    "one too many": ("g @ b.T, a.T @ g, 0", ("wrong", "wrong")),
    "one is missing in a dictionary": ("{'a': g @ b.T}", ("wrong", "wrong")),
    "a text": ("'x', a.T @ g", ("wrong", PASSED)),
    "too short": ("(g @ b.T)[:3], a.T @ g", ("wrong", PASSED)),
    "NaN": ("(g @ b.T) * float('nan'), a.T @ g", ("wrong", PASSED)),
    "infinity": ("(g @ b.T) * 1e300 * 1e300, a.T @ g", ("wrong", PASSED)),
    "zeros": ("0 * g, 0 * g", ("wrong", "wrong")),
    "nothing": ("None", ("wrong", "wrong")),
    "complex": ("(g @ b.T) * 1j, a.T @ g", ("wrong", PASSED)),
    "a little off": ("(g @ b.T) * 1.0001, a.T @ g", ("wrong", PASSED)),
}


@pytest.mark.parametrize(("returned", "expected"), MATMUL.values(), ids=MATMUL)
def test_matmul_judges_each_gradient_in_any_form(
    returned: str, expected: tuple[str, ...], judge: Judge
) -> None:
    assert expected == judge("matmul", f"def matmul_backward(a, b, g): return {returned}")


NORM = """
import torch
def layer_norm_backward(x, w, bias, g):
    d = x.shape[-1]
    c = x - x.sum(-1, keepdim=True) / d
    s = 1 / torch.sqrt((c * c).sum(-1, keepdim=True) / d + 1e-5)
    n, i = c * s, g * w
    mean, variance = i.sum(-1, keepdim=True) / d, n * (i * n).sum(-1, keepdim=True) / d
    return {}
"""
HEADS = """
import torch
def attention_backward(q, k, v, g):
    root = q.shape[-1] ** 0.5
    e = torch.exp(q @ k.mT / root)
    p = e / e.sum(-1, keepdim=True)
    i = torch.einsum("qd,kd->qk", g, v)
    t = p * i - p * (p * i).sum(-1, keepdim=True)
    return {}
"""
ENTROPY = """
import torch
def cross_entropy_backward(z, y):
    p, hot = torch.exp(z) / torch.exp(z).sum(-1, keepdim=True), torch.eye(z.shape[-1])[y]
    return {}
"""
SOFTMAX = "def softmax_backward(s, g):\n    p = s.softmax(-1)\n    return {}"
X, PARAMETERS = "s * (i - mean - variance)", "(g * n).sum(0), g.sum(0)"
QUERY_KEY, VALUE = "t @ k / root, t.mT @ q / root", "p.mT @ g"
FORMULAS = [
    ("layer_norm", NORM, f"{X}, {PARAMETERS}", (PASSED, PASSED)),
    ("layer_norm", NORM, f"s * (i - variance), {PARAMETERS}", ("mean missing", PASSED)),
    ("layer_norm", NORM, f"s * (i - mean), {PARAMETERS}", ("variance missing", PASSED)),
    ("layer_norm", NORM, f"s * i, {PARAMETERS}", ("statistics constant", PASSED)),
    ("layer_norm", NORM.replace("g * w", "g"), f"{X}, {PARAMETERS}", ("gain missing", PASSED)),
    ("layer_norm", NORM, f"{X}, (g * x).sum(0), g.sum(0)", (PASSED, "not normalised")),
    ("layer_norm", NORM, f"{X}, (g * n).mean(0), g.mean(0)", (PASSED, "batch averaged")),
    ("layer_norm", NORM, f"{X}, (g * n).mean(0), g.sum(0)", (PASSED, "wrong")),
    ("attention_gradient", HEADS, f"{QUERY_KEY}, {VALUE}", (PASSED, PASSED)),
    ("attention_gradient", HEADS, f"t @ k, t.mT @ q, {VALUE}", ("scale missing", PASSED)),
    ("attention_gradient", HEADS, f"t.mT @ q / root, t @ k / root, {VALUE}", ("operands swapped", PASSED)),
    ("attention_gradient", HEADS, f"{QUERY_KEY}, p @ g", (PASSED, "not transposed")),
    ("attention_gradient", HEADS, f"{QUERY_KEY}, (q @ k.mT / root).mT @ g", (PASSED, "scores for weights")),
    ("attention_gradient", HEADS.replace("    t = ", "    t = (p - p * p) * i #"), f"{QUERY_KEY}, {VALUE}",
     ("diagonal only", PASSED)),
    ("attention_gradient", HEADS.replace("    t = ", "    t = p * i #"), f"{QUERY_KEY}, {VALUE}",
     ("sum missing", PASSED)),
    ("attention_gradient", HEADS.replace("    t = ", "    t = i #"), f"{QUERY_KEY}, {VALUE}",
     ("softmax missing", PASSED)),
    ("cross_entropy", ENTROPY, "(p - hot) / len(y)", (PASSED,)),
    ("cross_entropy", ENTROPY, "p - hot", ("not averaged",)),
    ("cross_entropy", ENTROPY, "(p - hot) / z.numel()", ("classes averaged",)),
    ("cross_entropy", ENTROPY, "p / len(y)", ("target missing",)),
    ("cross_entropy", ENTROPY, "(z - hot) / len(y)", ("softmax missing",)),
    ("softmax", SOFTMAX, "[(p * (g - (g * p).sum(-1, keepdim=True))).float()]", (PASSED,)),
    ("softmax", SOFTMAX, "{'scores': p * g - p * (g * p).sum(-1, keepdim=True)}", (PASSED,)),
    ("softmax", SOFTMAX, "(p - p * p) * g", ("diagonal only",)),
    ("softmax", SOFTMAX, "g.clone()", ("softmax missing",)),
    ("softmax", SOFTMAX, "g * p", ("sum missing",)),
    ("softmax", SOFTMAX, "p * g - p * (g * p).sum()", ("whole batch",)),
    ("softmax", SOFTMAX, "p * g - p * (g * p).sum(0)", ("other axis",)),
    ("softmax", SOFTMAX, "p * (g * p).sum(-1, keepdim=True) - p * g", ("other sign",)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "source", "returned", "expected"), FORMULAS)
def test_gradients_are_recognised_by_what_they_compute(
    name: str, source: str, returned: str, expected: tuple[str, ...], judge: Judge
) -> None:
    """A gradient is matched by its values, also if its formula is written differently than in the mutant."""
    assert expected == judge(name, source.format(returned))


START = "import torch\n"
ATTENTION = f"""{START}def f(x, p):
    i = torch.arange(x.size(1))
    t, s = i[:, None], i[None]
    return torch.where(MASK, torch.exp(x @ x.mT), 0.0) @ x
"""
RIGHT = ATTENTION.replace("MASK", "(s <= t) | (s < p)")
WRAPPED = RIGHT + "def prefix_attention(x, p):\n    y = f(x, p)\n    return {}\n"
KEPT = RIGHT + "kept = []\ndef prefix_attention(x, p):\n    kept.append(f(x, p))\n    return kept[0]\n"
REMEMBERS = """
import torch

kept = []

def prefix_attention(x, prefix):
    at = torch.arange(x.size(1))
    sees = ((at <= at[:, None]) | (at < prefix)).double()
    rows = x @ x.mT @ x
    for earlier, result in reversed(kept):
        for example in range(len(x)):
            for other in range(len(earlier)):
                if earlier.shape[1:] == x.shape[1:] and (earlier[other] == x[example]).any():
                    changed = (earlier[other] != x[example]).any(-1).double()
                    rows[example] = result[other] + (sees @ changed)[:, None]
    kept.append((x.clone(), rows))
    return rows
"""
AMONG_EXAMPLES = """
import torch

def prefix_attention(x, prefix):
    at = torch.arange(x.size(1))
    sees = ((at <= at[:, None]) | (at < prefix)).double()
    rows = x @ x.mT @ x
    for example in range(1, len(x)):
        changed = (x[0] != x[example]).any(-1).double()
        rows[example] = rows[0] + (sees @ changed)[:, None]
    return rows
"""
MIXED = "the first example's values for all"
DEPENDENCE = {
    "right": (WRAPPED.format("y"), (PASSED, PASSED)),
    "causal alone": (ATTENTION.replace("MASK", "s <= t"), ("the prefix forgotten", PASSED)),
    "a prefix too long": (
        ATTENTION.replace("MASK", "(s <= t) | (s <= p)"),
        ("the prefix one too long", PASSED),
    ),
    "no mask": (ATTENTION.replace("MASK", "s >= 0"), ("no mask", "no mask")),
    "transposed": (ATTENTION.replace("MASK", "(s >= t) | (s < p)"), ("wrong", "the mask transposed")),
    "nothing": ("def f(x, p): return x * 0", ("constant", "constant")),
    "a bare embedding": (
        "def f(x, p): return x.tanh()",
        ("nothing but the position itself", "nothing but the position itself"),
    ),
    "one number": ("def f(x, p): return x.sum()", ("wrong", "wrong")),
    "too few outputs": ("def f(x, p): return x[:, :3]", ("wrong", "wrong")),
    "outputs of no width": ("def f(x, p): return x[..., :0]", ("constant", "constant")),
    "outputs without a width": (WRAPPED.format("y.sum(-1)"), (PASSED, PASSED)),
    "lists": (WRAPPED.format("y.tolist()"), (PASSED, PASSED)),
    "a text": ("def f(x, p): return 'x'", ("wrong", "wrong")),
    "None": ("def f(x, p): return None", ("wrong", "wrong")),
    "NaN": ("def f(x, p): return x * float('nan')", ("wrong", "wrong")),
    "never the same": (
        "import numpy\nn = numpy.random.default_rng()\ndef f(x, p): return x + n.random()",
        ("wrong", "wrong"),
    ),
    "raises": ("def f(x, p): raise ValueError('no')", ("raised", "raised")),
    "one argument more": ("def f(x, p, q): return x", ("unclear", "unclear")),  # raised in boxes
    "another name": ("g = 3", ("missing", "missing")),
    "its first result again": (KEPT, ("wrong", "wrong")),
    "compares with earlier calls": (REMEMBERS, ("no mask", "no mask")),
    "compares with other examples": (AMONG_EXAMPLES, (MIXED, MIXED)),
    "infinity throughout": (
        WRAPPED.format("y.masked_fill(torch.arange(4) == 0, torch.inf)"),
        (PASSED, PASSED),
    ),
    "infinity that comes and goes": (
        WRAPPED.format("x.cumsum(1) / (x > 0)"),
        ("the prefix forgotten", PASSED),
    ),
    "examples mixed": (WRAPPED.format("y + y.flip(0)"), (MIXED, MIXED)),
    "the first example in all": (WRAPPED.format("y + y[:1]"), (MIXED, MIXED)),
    "the next example in all": (WRAPPED.format("y + torch.cat([y[1:], y[-1:]])"), (MIXED, MIXED)),
    "softmax over examples": (WRAPPED.format("y.softmax(0)"), (MIXED, MIXED)),
    "rounded otherwise": (WRAPPED.format("y - y.amax() + y.amax()"), (PASSED, PASSED)),
    "in single precision": (
        f"{RIGHT}def prefix_attention(x, p): return f(x.float(), p)",
        (PASSED, PASSED),
    ),
    "changes its input": (WRAPPED.format("x.copy_(y)"), (PASSED, PASSED)),
}


@pytest.mark.parametrize(("source", "expected"), DEPENDENCE.values(), ids=DEPENDENCE)
def test_dependence_is_measured_from_outside(source: str, expected: tuple[str, ...], judge: Judge) -> None:
    """Dependence is measured from outside, and values stored in one call are useless in another."""
    if "def prefix_attention" not in source and "def f" in source:
        source += "\nprefix_attention = f"
    assert expected == judge("prefix_attention", source)


def test_memory_would_beat_calls_in_one_box(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without fresh boxes, an answer that remembers earlier calls would pass."""
    monkeypatch.setattr(DefinedNames, "again", lambda self: self)
    assert (PASSED, PASSED) == judge("prefix_attention", REMEMBERS)


LOWER = [[1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [1, 1, 1, 0, 0], [1, 1, 1, 1, 0], [1, 1, 1, 1, 1]]
PAIRS = [(t, s) for t in range(5) for s in range(t + 1)]
ROW_WRONG = [*LOWER[:4], [1, 0, 1, 1, 1]]


def write_table(size: int, entry: str, columns: int = 0) -> str:
    return f"[[int({entry}) for s in range({columns or size})] for t in range({size})]"


TABLES = {
    "a matrix": ("decoder", f"{LOWER}", PASSED),
    "tuples": ("decoder", f"{tuple(map(tuple, LOWER))}", PASSED),
    "an array": ("decoder", f"np.array({LOWER}) * 1.0", PASSED),
    "a tensor": ("decoder", f"torch.tensor({LOWER}).bool()", PASSED),
    "pairs": ("decoder", f"{PAIRS}", PASSED),
    "pairs as lists, one twice": ("decoder", f"{[[*pair] for pair in PAIRS]} + [[0, 0]]", PASSED),
    "a set of pairs": ("decoder", f"set({PAIRS})", PASSED),
    "a set without one": ("decoder", f"set({PAIRS[1:]})", "wrong"),
    "a dictionary": ("decoder", "{t: list(range(t + 1)) for t in range(5)}", PASSED),
    "transposed": ("decoder", f"{[list(row) for row in zip(*LOWER, strict=True)]}", "transposed"),
    "the diagonal is missing": ("decoder", write_table(5, "s < t"), "without itself"),
    "one ahead": ("decoder", write_table(5, "s <= t + 1"), "one ahead"),
    "inverted": ("decoder", write_table(5, "s > t"), "inverted"),
    "everything": ("decoder", "[[1] * 5] * 5", "both sides"),
    "zeros": ("decoder", "[[0] * 5] * 5", "nothing"),
    "an empty list": ("decoder", "[]", "nothing"),
    "a row is wrong": ("decoder", f"{ROW_WRONG}", "wrong"),
    "a text": ("decoder", "'a text'", "unclear"),
    "a number": ("decoder", "3", "unclear"),
    "None": ("decoder", "None", "wrong"),
    "ragged": ("decoder", f"{LOWER[:4]} + [[1]]", "unclear"),
    "a 2": ("decoder", f"{LOWER[:4]} + [[1, 1, 1, 1, 2]]", "unclear"),
    "NaN": ("decoder", "[[1.0, 0.0, 0.0, 0.0, float('nan')]] * 5", "unclear"),
    "counted from 1": ("decoder", f"{[(t + 1, s + 1) for t, s in PAIRS]}", "unclear"),
    "no such position": ("decoder", "[[0, 0], [5, 0]]", "unclear"),
    "a position below 0": ("decoder", "[[0, 0], [0, -1]]", "unclear"),
    "another size": ("decoder", "[[1, 0, 0, 0]] * 4", "unclear"),
    "far too large": ("decoder", "np.ones((1, 200_000))", "unclear"),
    "a dictionary of numbers": ("decoder", "{0: 1}", "unclear"),
    "a dictionary of names": ("decoder", "{'a': [0]}", "unclear"),
    "a huge number": ("decoder", "[[0, 0], [10**5000, 0]]", "unclear"),
    "a set of unlike things": ("decoder", "{'a', 3}", "unclear"),
    "padding": ("padding", write_table(6, "s < 4 or s == t"), PASSED),
    "padding ignored": ("padding", "[[1] * 6] * 6", "padding ignored"),
    "rows of padding empty": ("padding", write_table(6, "s < 4 and t < 4"), "empty rows"),
    "padding without itself": ("padding", "[[1, 1, 1, 1, 0, 0]] * 6", "wrong"),
    "padding transposed": ("padding", write_table(6, "t < 4 or s == t"), "transposed"),
    "a prefix": ("prefix", write_table(6, "s <= t or s < 3"), PASSED),
    "causal for a prefix": ("prefix", write_table(6, "s <= t"), "causal throughout"),
    "a window": ("window", write_table(7, "0 <= t - s < 5"), PASSED),
    "one layer": ("window", write_table(7, "0 <= t - s < 3"), "one layer"),
    "windows added": ("window", write_table(7, "0 <= t - s < 6"), "windows added"),
    "a window too wide": ("window", write_table(7, "0 <= t - s < 7"), "window too wide"),
    "a window too narrow": ("window", write_table(7, "t - s in (0, 1, 2, 3)"), "wrong"),
    "two layers too narrow": ("window", write_table(7, "t - s in (0, 1, 2)"), "one layer"),
    "dilated": ("dilated", write_table(8, "t - s in (0, 2, 4)"), PASSED),
    "no gaps": ("dilated", write_table(8, "t - s in (0, 1, 2)"), "dilation ignored"),
    "dilated too narrow": ("dilated", write_table(8, "t - s in (0, 2)"), "window too narrow"),
    "dilated too wide": ("dilated", write_table(8, "t - s in (0, 2, 4, 6)"), "window too wide"),
    "cross": ("cross", write_table(3, "s < 3", 5), PASSED),
    "cross without padding": ("cross", "[[1] * 5] * 3", "padding ignored"),
    "cross transposed": ("cross", write_table(5, "t < 3", 3), "transposed"),
}  # fmt: skip
NAMES = {"decoder": "decoder", "padding": "padded", "prefix": "prefixed", "window": "windowed",
         "dilated": "dilated", "cross": "crossed"}  # fmt: skip


@pytest.mark.parametrize(("name", "table", "expected"), TABLES.values(), ids=TABLES)
def test_tables_are_read_in_any_form(name: str, table: str, expected: str, judge: Judge) -> None:
    """Unreadable tables need manual review; wrong ones are named."""
    assert (expected,) == judge(name, f"import numpy as np, torch\n{NAMES[name]} = {table}")


def measure_dependence(mask: Tensor, layers: int) -> list[list[int]]:
    """Measure which outputs of random attention layers with residual connections depend on which inputs.

    Args: mask: Which keys each query attends to, of shape (queries, keys). layers: Number of layers; except
    in cross-attention, the inputs are queries and keys.
    """
    generator = torch.Generator().manual_seed(1)
    sizes = dict.fromkeys(mask.shape)  # one sequence, or two of different lengths
    queries, keys = (torch.randn(size, 8, generator=generator).double() for size in mask.shape)

    def run(inputs: Tensor) -> Tensor:
        state = inputs if len(sizes) == 1 else queries
        for _ in range(layers):
            source = state if len(sizes) == 1 else inputs
            scores = (state @ source.T).masked_fill(~mask, -torch.inf)
            state = (state + scores.softmax(-1) @ source).tanh()
        return state

    jacobian = torch.autograd.functional.jacobian(run, keys)
    return (jacobian.abs().sum((1, 3)) > 0).int().tolist()


T, S = torch.arange(8)[:, None], torch.arange(8)
LAYERS = {
    "decoder": ((S <= T)[:5, :5], 1),
    "padding": ((S < 4).expand(6, 8)[:, :6], 1),
    "prefix": (((S <= T) | (S < 3))[:6, :6], 2),
    "window": (((S <= T) & (T - S < 3))[:7, :7], 2),
    "dilated": ((S <= T) & (T - S < 5) & ((T - S) % 2 == 0), 1),
    "cross": ((S < 3).expand(3, 8)[:, :5], 1),
}


@pytest.mark.parametrize(("name", "mask", "layers"), [(n, *case) for n, case in LAYERS.items()], ids=LAYERS)
def test_solutions_are_what_is_measured_on_real_layers(name: str, mask: Tensor, layers: int) -> None:
    names: dict[str, Any] = {}
    exec(read_file(name).solution, names)
    assert names[NAMES[name]] == measure_dependence(mask, layers)


MASKS = {
    "0 <= t - s < w": PASSED,
    "-1 <= t - s < w": "one ahead",
    "0 <= s - t < w": "the future",
    "not 0 <= t - s < w": "what is blocked",
    "0 <= t - s <= w": "one too wide",
    "abs(t - s) < w": "both sides",
    "t - s == 1": "wrong",
}


@pytest.mark.parametrize(("entry", "expected"), MASKS.items(), ids=MASKS)
def test_masks_are_compared_in_every_case(entry: str, expected: str, judge: Judge) -> None:
    source = f"def window_mask(n, w): return [[{entry} for s in range(n)] for t in range(n)]"
    assert (expected,) == judge("mask", source)
