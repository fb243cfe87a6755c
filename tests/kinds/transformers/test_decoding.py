"""The kind ``decoding`` on answers of every form: ties, conventions, chance, and what is not an answer."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from autograder.checks.base import Evidence
from autograder.errors import RubricError
from autograder.kinds.transformers.decoding.contracts import (
    Filters,
    FilterTarget,
    Samples,
    Searches,
    Tally,
    rarer,
)
from autograder.records import Ending, ItemResult, Observation, Status, Tensor
from tests.checks.asking import DRAW, answer, check_of, ended, error, value
from tests.support.local_box import LocalBox

TIES = 'draw = "integers", shape = [3, 9], low = 0, high = 4, dtype = "float64"'
TOP_K = f"""
[[question]]
id = "q"
kind = "decoding"
points = 2
answer = "top_k"
reference = "decoding_questions:top_k"
rounds = 2
[[question.case]]
args = [{{ {TIES} }}, 4]
[[question.item]]
id = "exact"
points = 2
text = {{ en = "Top-k" }}
[[question.item.mistake]]
code = "one-too-many"
points = 1
text = {{ en = "One token less, in {{what}}." }}
"""
SAMPLE = """
[[question]]
id = "q"
kind = "decoding"
points = 3
answer = "sample"
reference = "decoding_questions:sample"
contract = "sample"
rounds = 2
draws = 5000
[[question.case]]
args = [{ array = [[0.5, -inf, 1.5, 0.25, -inf, -1.0]] }, 0.7]
[[question.item]]
id = "support"
points = 1
measure = "support"
text = { en = "Possible" }
[[question.item]]
id = "distribution"
points = 2
text = { en = "Likely" }
"""
GREEDY = """
[[question]]
id = "q"
kind = "decoding"
points = 1
answer = "greedy"
reference = "decoding_questions:greedy"
contract = "search"
model = { name = "GPT2", args = [6, 24] }
[[question.case]]
args = [
    { draw = "integers", shape = [2, 5], low = 0, high = 6 },
    4,
    { array = [[1, 1, 1, 1, 1], [0, 1, 1, 1, 1]] },
    -1,
    0,
]
[[question.item]]
id = "exact"
points = 1
text = { en = "Greedy" }
"""
IMPORTS = "import torch, math, numpy, random\nfrom torch import Tensor\nfrom reference.gpt2 import GPT2\n"


def sit(source: str, question: str) -> dict[str, ItemResult]:
    """The results of one answer, through the local box, beside the oracle."""
    check = check_of(question)
    given = answer(source)
    observed = LocalBox(IMPORTS + source).ask(check.plan(given, DRAW))
    name = "greedy" if question is GREEDY else "sample" if question is SAMPLE else "top_k"
    expected = LocalBox(f"from reference.decoding_questions import {name}").ask(check.reference_plan(DRAW))
    return {one.item: one for one in check.judge(Evidence(given, observed, expected, draw=DRAW))}


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
    return torch.where(logits < logits.sort(-1).values[:, -k, None], -1e9, logits)
""",
    "numpy, in single precision": """
def top_k(logits, k):
    array = logits.numpy().astype("float32")
    array[array < numpy.sort(array, -1)[:, -k, None]] = numpy.finfo("float32").min
    return array
""",
    "lists": """
def top_k(logits, k):
    return [[v if v >= sorted(row)[-k] else -math.inf for v in row] for row in logits.tolist()]
""",
}


@pytest.mark.parametrize("name", RIGHT_TOP_K)
def test_every_way_through_a_tie_is_right(name: str) -> None:
    """Keeping all that tie, or any that make k, with any mask value and library, earns everything."""
    result = sit(RIGHT_TOP_K[name], TOP_K)["exact"]
    assert Status.PASSED is result.status, result.staff


def test_a_tie_is_no_excuse() -> None:
    """Fewer than k, or tokens below the tie, are wrong all the same."""
    few = sit("def top_k(x, k): return x.masked_fill(x <= x.sort(-1).values[:, -k, None], -math.inf)", TOP_K)
    assert (Status.FAILED, 0) == (few["exact"].status, few["exact"].points)
    many = sit("def top_k(x, k): return x.masked_fill(x < x.min(-1, keepdim=True).values, -math.inf)", TOP_K)
    assert "decoding.kept-too-many" == many["exact"].code


def test_the_rubric_values_and_words_a_known_mistake() -> None:
    """A mistake that the rubric mentions is worth what it says and told in its words."""
    source = "def top_k(x, k): return x.masked_fill(x < x.sort(-1).values[:, -k - 1, None], -math.inf)"
    unlike = TOP_K.replace(TIES, 'draw = "normal", shape = [3, 9]')
    result = sit(source, unlike)["exact"]
    assert (Status.FAILED, 1) == (result.status, result.points)
    assert {"en": "One token less, in {what}."} == result.student.text


HOSTILE = {
    "nothing": ("def top_k(x, k): pass", Status.NO_ANSWER),
    "text": ("def top_k(x, k): return 'right'", Status.FAILED),
    "another shape": ("def top_k(x, k): return x[:1]", Status.FAILED),
    "no rows": ("def top_k(x, k): return x[:0]", Status.FAILED),
    "NaN": ("def top_k(x, k): return x * math.nan", Status.FAILED),
    "everything infinite": ("def top_k(x, k): return x + math.inf", Status.FAILED),
    "nothing kept": ("def top_k(x, k): return x - math.inf", Status.FAILED),
    "everything kept": ("def top_k(x, k): return x", Status.FAILED),
    "complex": ("def top_k(x, k): return x * 1j", Status.FAILED),
    "truth values": ("def top_k(x, k): return x > 0", Status.FAILED),
    "huge": ("def top_k(x, k): return [[10 ** 4000]]", Status.FAILED),
    "itself": ("def top_k(x, k):\n    y = []\n    y.append(y)\n    return 1", Status.FAILED),
    "raises": ("def top_k(x, k): raise KeyError('k')", Status.FAILED),
    "probabilities": ("def top_k(x, k): return x.softmax(-1)", Status.FAILED),
    "by chance": ("def top_k(x, k): return x + random.randint(0, 9**9) * (id(object()) % 2)", Status.FAILED),
    "not there": ("x = 1", Status.NO_ANSWER),
    "a number": ("top_k = 3", Status.FAILED),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_answer_earns_nothing(name: str) -> None:
    """Whatever is returned ends as a clear result without points, never as a fault of ours."""
    source, status = HOSTILE[name]
    result = sit(source, TOP_K)["exact"]
    assert (status, 0) == (result.status, result.points), result.staff


def test_a_box_that_ended_is_told() -> None:
    """A call that ran into its limit is the student's; an oracle that failed is ours."""
    check = check_of(TOP_K)
    given = answer("def top_k(x, k): ...")
    kept = np.array([[True, False]])
    values = {"values": np.array([[1.0, 0.0]]), "must": kept, "may": kept, "least": np.array([1])}
    oracle = [value({"right": values, "mistakes": []})] * 2
    (late,) = check.judge(Evidence(given, [ended(Ending.CALL_TIME)] * 2, oracle, draw=DRAW))
    assert (Status.FAILED, "ending.call-time") == (late.status, late.code)
    (ours,) = check.judge(Evidence(given, [value(1, 1)] * 2, [error("ValueError", "ties")] * 2, draw=DRAW))
    assert Status.NEEDS_REVIEW is ours.status
    (form,) = check.judge(Evidence(given, [value(1, 1)] * 2, [value({"right": {"rows": []}})] * 2, draw=DRAW))
    assert Status.NEEDS_REVIEW is form.status


def test_sampling_is_judged_by_its_distribution() -> None:
    """Two right ways to draw earn everything, whatever the library."""
    numpy_way = """
def sample(logits, temperature):
    p = (logits / temperature).softmax(-1).numpy()
    return numpy.array([numpy.random.choice(len(row), p=row / row.sum()) for row in p])[:, None]
"""
    assert {Status.PASSED} == {one.status for one in sit(numpy_way, SAMPLE).values()}


def test_a_small_bias_is_found() -> None:
    """A probability that is 5 percentage points off is refused, and nothing else is."""
    source = """
def sample(logits, temperature):
    p = (logits / temperature).softmax(-1)
    p = 0.95 * p + 0.05 * torch.tensor([1.0, 0, 0, 0, 0, 0])
    return torch.multinomial(p, 1)[:, 0]
"""
    results = sit(source, SAMPLE)
    assert Status.PASSED is results["support"].status
    assert (Status.FAILED, "decoding.distribution") == (
        results["distribution"].status,
        results["distribution"].code,
    )


def test_one_impossible_token_is_a_proof() -> None:
    """A single draw of a token without probability is enough."""
    source = """
def sample(logits, temperature):
    drawn = torch.multinomial((logits / temperature).softmax(-1), 1)[:, 0]
    drawn[17] = 1
    return drawn
"""
    assert "decoding.impossible" == sit(source, SAMPLE)["support"].code


def test_prompts_and_lengths_of_a_search() -> None:
    """What is missing or too much is told as that, and floats are no tokens."""
    head = "def greedy(model, tokens, n_new, mask, eos, pad):\n"
    loop = (
        "    for _ in range(n_new{more}):\n"
        "        new = model(tokens, mask)[:, -1].argmax(-1)[:, None]\n"
        "        tokens, mask = torch.cat([tokens, new], 1), torch.cat([mask, torch.ones_like(new)], 1)\n"
    )
    codes = {
        "return tokens": "passed",
        "return tokens[:, -n_new:]": "decoding.prompt-missing",
        "return tokens[:, :-1]": "decoding.too-short",
        "return tokens.double()": "decoding.no-tokens",
        "return tokens[0]": "decoding.rows",
        "return tokens[:1]": "decoding.rows",
    }
    for last, code in codes.items():
        result = sit(f"{head}{loop.format(more='')}    {last}\n", GREEDY)["exact"]
        assert code == result.student.code, result.staff
    longer = sit(head + loop.format(more=" + 1") + "    return tokens\n", GREEDY)["exact"]
    assert "decoding.too-long" == longer.code


# ---------------------------------------------------------------- the exact test


@pytest.mark.parametrize(
    ("count", "total", "chance"), [(3, 10, 0.2), (0, 5, 0.5), (5, 5, 0.25), (7, 40, 0.3)]
)
def test_tails_are_sums_of_binomial_terms(count: int, total: int, chance: float) -> None:
    """The smaller tail equals the one that is summed up term by term."""

    def term(k: int) -> float:
        return math.comb(total, k) * chance**k * (1 - chance) ** (total - k)

    low, high = sum(map(term, range(count + 1))), sum(map(term, range(count, total + 1)))
    assert pytest.approx(min(low, high, 1.0), rel=1e-9) == rarer(count, total, chance)


def test_false_alarms_are_as_rare_as_stated() -> None:
    """Of 300 right samples none is refused; with a bound a million times looser still hardly any is."""
    generator = np.random.default_rng(0)
    chances = {(token,): float(chance) for token, chance in enumerate(generator.dirichlet(np.ones(8)))}
    tails = []
    for _ in range(300):
        counts = generator.multinomial(4000, list(chances.values()))
        drawn = Tally(Counter({(token,): int(count) for token, count in enumerate(counts) if count}))
        assert Samples(4000).differs([drawn], chances, 1) is None
        tails.append(min(rarer(int(count), 4000, chances[(t,)]) for t, count in enumerate(counts)))
    assert sum(tail < 1e-3 / 16 for tail in tails) <= 3


def test_judges_are_total() -> None:
    """Values of any form are read, or refused with a difference; nothing is raised."""
    no_array = Tensor("no array", "int64")  # type: ignore[arg-type]
    odd = [None, "x", [], [[]], [1.5], np.zeros((0, 0)), {"rows": 3}, no_array, 10**5000]
    for one in odd:
        for contract in (Filters("logits"), Searches(), Samples(5)):
            assert contract.right(one) is None
        kept = np.ones((2, 3))
        assert Filters("logits").read([one], FilterTarget(kept, kept > 0, kept > 0, kept[0]))[1] is not None
        assert Searches().read([one], [{(1,)}] * 2)[1] is not None
        assert Samples(5).read([one], {(1,): 1.0})[1] is not None


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("rounds = 2", "round = 2", "did you mean 'rounds'"),
        ('reference = "decoding_questions:top_k"', "", "an oracle is needed"),
        ("one-too-many", "two-too-many", "not known; known are"),
        ("points = 1\ntext", "points = 2\ntext", "expected from 0 to below 2"),
        ("points = 1\ntext", "points = 0.005\ntext", "at most two decimals"),
        ("{what}", "{token}", "write braces twice"),
        ("{what}", "{what.size}", "write braces twice"),
        (
            'text = { en = "Top-k" }',
            'text = { en = "Top-k" }\nmeasure = "support"',
            'needs contract = "sample"',
        ),
        ("args = [{", "args = [4, {", "must be an array"),
        ("rounds = 2", 'rounds = 2\ncontract = "sample"', "one row is drawn from, got 3"),
    ],
)
def test_errors_in_a_rubric_are_named(old: str, new: str, told: str) -> None:
    """A wrong option stops with the question's name and what to do."""
    with pytest.raises(RubricError, match=told) as caught:
        check_of(TOP_K.replace(old, new))
    assert "question 'q'" in str(caught.value)


def test_nothing_observed_is_for_a_person() -> None:
    """A run that was cut off without an ending is our fault."""
    check = check_of(TOP_K)
    observed = [(Observation(ok=False, error="Skipped"),)]
    (result,) = check.judge(Evidence(answer("def top_k(x, k): ..."), observed, (), draw=DRAW))
    assert Status.NEEDS_REVIEW is result.status
