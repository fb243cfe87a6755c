"""Test the checks of the decoding questions: ties, random draws and invalid answers."""

from __future__ import annotations

import pytest

from tests.support.checked import CheckedAnswer, open_program, run_checks

IMPORTS = "import math, random\nimport numpy\nimport torch\n"


def run(question: str, source: str, *, name_mistakes: bool = False) -> CheckedAnswer:
    with open_program(question) as program:
        return run_checks(program, IMPORTS + source, name_mistakes=name_mistakes)


RIGHT_TOP_K = {
    "exactly k of a tie, the first ones": """
def top_k(logits, k):
    order = logits.argsort(dim=-1, descending=True, stable=True)[:, :k]
    return torch.full_like(logits, -math.inf).scatter(-1, order, logits.gather(-1, order))
""",
    "exactly k of a tie, the last ones": """
def top_k(logits, k):
    order = logits.flip(-1).argsort(dim=-1, descending=True, stable=True)[:, :k]
    kept = torch.full_like(logits, -math.inf)
    return kept.scatter(-1, order, logits.flip(-1).gather(-1, order)).flip(-1)
""",
    "all of a tie": """
def top_k(logits, k):
    return torch.where(logits < logits.sort(-1).values[:, -min(k, logits.size(-1)), None], -1e9, logits)
""",
    "NumPy, in single precision": """
def top_k(logits, k):
    array = logits.numpy().astype("float32")
    array[array < numpy.sort(array, -1)[:, -min(k, array.shape[1]), None]] = numpy.finfo("float32").min
    return array
""",
    "lists": """
def top_k(logits, k):
    return [[v if v >= sorted(row)[-min(k, len(row))] else -math.inf for v in row] for row in logits.tolist()]
""",
    "changed in place": """
def top_k(logits, k):
    logits[logits < logits.sort(-1).values[:, -min(k, logits.size(-1)), None]] = -math.inf
    return logits
""",
    "other names of parameters, with gradients": """
def top_k(x, count):
    x.requires_grad_()
    return x.masked_fill(x < x.sort(-1).values[:, -min(count, x.size(-1)), None], -math.inf)
""",
}


@pytest.mark.parametrize("source", RIGHT_TOP_K.values(), ids=RIGHT_TOP_K)
def test_every_way_through_a_tie_is_right(source: str) -> None:
    assert run("top_k", source).points == {"exact": 2}


WRONG_TOP_K = {
    "fewer than k": "return x.masked_fill(x <= x.sort(-1).values[:, -min(k, x.size(-1)), None], -math.inf)",
    "below the tie": "return x.masked_fill(x < x.min(-1, keepdim=True).values, -math.inf)",
    "a text": "return 'right'",
    "nothing": "pass",
    "another shape": "return x[:1]",
    "no rows": "return x[:0]",
    "rows of different lengths": "return [[1.0], [1.0, 2.0]]",
    "NaN": "return x * math.nan",
    "everything infinite": "return x + math.inf",
    "nothing kept": "return x - math.inf",
    "everything kept": "return x",
    "complex": "return x * 1j",
    "truth values": "return x > 0",
    "huge": "return [[10 ** 4000]]",
    "raises": "raise KeyError('k')",
    "probabilities": "return x.softmax(-1)",
    "by chance": "return x + random.randint(0, 9**9)",
    "sparse": "return x.to_sparse()",
    "remembers by shape": "memory.setdefault(x.shape, x)\n    x = memory[x.shape]\n"
    "    return x.masked_fill(x < x.sort(-1).values[:, -min(k, x.size(-1)), None], -math.inf)",
}


@pytest.mark.parametrize("body", WRONG_TOP_K.values(), ids=WRONG_TOP_K)
def test_wrong_answers_earn_nothing(body: str) -> None:
    """Any wrong return value fails and is not reported as an error of the check."""
    checked = run("top_k", f"memory = {{}}\ndef top_k(x, k):\n    {body}")
    assert checked.points == {"exact": 0}
    assert not checked.unclear, checked.outcomes


@pytest.mark.parametrize("source", ["x = 1", "top_k = 3", "top_k = math"])
def test_missing_function_earns_nothing(source: str) -> None:
    checked = run("top_k", source)
    assert checked.points == {"exact": 0}
    assert not checked.unclear, checked.outcomes


SAMPLES = {
    "NumPy, in a column": (
        "p = (logits / temperature).softmax(-1).numpy()\n"
        "    return numpy.array([numpy.random.choice(len(row), p=row / row.sum()) for row in p])[:, None]",
        [],
    ),
    "a list": (
        "p = (logits / temperature).softmax(-1).tolist()\n"
        "    return [random.choices(range(8), row)[0] for row in p]",
        [],
    ),
    "a small bias": (
        "p = 0.95 * (logits / temperature).softmax(-1)\n"
        "    p[:, logits[0].nan_to_num(neginf=math.inf).argmin()] += 0.05\n"
        "    return torch.multinomial(p, 1)[:, 0]",
        ["distribution"],
    ),
    "one removed token": (
        "drawn = torch.multinomial((logits / temperature).softmax(-1), 1)[:, 0]\n"
        "    drawn[17] = logits[0].argmin()\n    return drawn",
        ["support", "distribution"],
    ),
    "always the first token": (
        "return torch.zeros(len(logits), dtype=int)",
        ["support", "distribution"],
    ),
    "probabilities": ("return (logits / temperature).softmax(-1)", ["support", "distribution"]),
    "one token": ("return torch.tensor([1])", ["support", "distribution"]),
    "floats": (
        "return torch.multinomial((logits / temperature).softmax(-1), 1)[:, 0].double()",
        ["support", "distribution"],
    ),
    "tokens that do not exist": (
        "return torch.randint(-3, 99, (len(logits),))",
        ["support", "distribution"],
    ),
}


@pytest.mark.parametrize(("body", "loses"), SAMPLES.values(), ids=SAMPLES)
def test_draws_are_judged_by_their_distribution(body: str, loses: list[str]) -> None:
    checked = run("sample", f"def sample(logits, temperature):\n    {body}")
    assert checked.lost == set(loses), checked.outcomes
    assert not checked.unclear


def test_mistake_is_named_in_another_style() -> None:
    """A mistake is recognised by its distribution, although its draws differ from the mutant's."""
    source = (
        "def sample(logits, temperature):\n    noise = numpy.random.gumbel(size=logits.shape)\n"
        "    return (logits.numpy() * temperature + noise).argmax(-1)"
    )
    checked = run("sample", source, name_mistakes=True)
    assert checked.outcomes["distribution", ""].mistakes == ("temperature multiplied",)


LOOP = """
def greedy(model, tokens, n_new, attention_mask, eos, pad):
    ended = torch.zeros(len(tokens), dtype=torch.bool)
    for _ in range({steps}):
        with torch.inference_mode():
            model = model.eval().to(next(model.parameters()).device)
            new = model(tokens, attention_mask).log_softmax(-1)[:, -1].topk(1).indices[:, 0]
        new = torch.where(ended, pad, new)
        ended |= new == eos
        tokens = torch.hstack([tokens, new[:, None]])
        attention_mask = torch.hstack([attention_mask, torch.ones_like(new)[:, None]])
    return {result}
"""
ALL = ["single", "batch", "endings"]
FORMS = {
    "tokens": ("n_new", "tokens", []),
    "a list": ("n_new", "tokens.tolist()", []),
    "an array": ("n_new", "tokens.numpy()", []),
    "without the prompt": ("n_new", "tokens[:, -n_new:]", ALL),
    "one token missing": ("n_new", "tokens[:, :-1]", ALL),
    "one token more": ("n_new + 1", "tokens", ALL),
    "floats": ("n_new", "tokens.double()", ALL),
    "one row without its axis": ("n_new", "tokens[0]", ALL),
    "one row of many": ("n_new", "tokens[:1]", ["batch", "endings"]),
    "nothing": ("n_new", "None", ALL),
    "a stopped iteration": ("n_new", "next(iter([]))", ALL),
}


@pytest.mark.parametrize(("steps", "result", "loses"), FORMS.values(), ids=FORMS)
def test_searches_return_rows_of_tokens(steps: str, result: str, loses: list[str]) -> None:
    checked = run("greedy", LOOP.format(steps=steps, result=result))
    assert checked.lost == set(loses), checked.outcomes
    assert not checked.unclear
