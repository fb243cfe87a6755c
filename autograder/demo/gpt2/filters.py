"""Filters and sampling: right in several styles, and the slips that people make."""

from __future__ import annotations

from collections.abc import Mapping

from autograder.demo.formulas import Sample
from autograder.demo.gpt2.samples import Worth, edited, hostile

TOP_K, TOP_P, NO_REPEAT, CHAIN = (Worth.of(exact=points) for points in ("2", "4", "4", "3"))
SAMPLE = Worth.of(support="1", distribution="3")

_TOP_K = """
def top_k(logits, k):
    ordered = torch.sort(logits, dim=-1, descending=True)[0]
    edge = ordered[:, min(k, ordered.size(1)) - 1].unsqueeze(1)
    result = logits.clone()
    result[result < edge] = float("-inf")
    return result
"""
_TOP_K_SCATTER = """
def top_k(logits, k):
    kept = torch.full_like(logits, -torch.inf)
    values, places = logits.topk(min(k, logits.shape[-1]), dim=-1)
    return kept.scatter(-1, places, values)
"""
_TOP_K_ROWS = """
def top_k(logits, k):
    rows = []
    for row in logits:
        edge = sorted(row.tolist(), reverse=True)[:k][-1]
        rows.append(torch.where(row < edge, torch.full_like(row, -1e12), row))
    return torch.stack(rows)
"""
_TOP_P = """
def top_p(logits, p):
    probabilities, order = logits.softmax(dim=-1).sort(dim=-1, descending=True)
    mass = probabilities.cumsum(dim=-1)
    remove = mass - probabilities >= p
    result = logits.clone()
    for row in range(logits.size(0)):
        result[row, order[row][remove[row]]] = float("-inf")
    return result
"""
_TOP_P_ROWS = """
def top_p(logits, p):
    filtered = torch.full_like(logits, -torch.inf)
    for number, row in enumerate(logits):
        chances, mass = row.softmax(0), 0.0
        for token in chances.argsort(descending=True).tolist():
            if mass >= p:
                break
            filtered[number, token] = row[token]
            mass += chances[token].item()
    return filtered
"""
_TOP_P_EDGE = """
def top_p(logits, p):
    ordered, _ = torch.sort(logits, dim=-1, descending=True)
    chances = torch.softmax(ordered, dim=-1)
    count = (torch.cumsum(chances, dim=-1) < p).sum(dim=-1, keepdim=True).clamp(max=logits.size(-1) - 1)
    edge = ordered.gather(-1, count)
    return torch.where(logits >= edge, logits, torch.tensor(-1e10, dtype=logits.dtype))
"""
_NO_REPEAT = """
def no_repeat_ngram(logits, tokens, n):
    result = logits.clone()
    for row in range(tokens.size(0)):
        words = tokens[row].tolist()
        seen = {}
        for i in range(len(words) - n + 1):
            seen.setdefault(tuple(words[i : i + n - 1]), []).append(words[i + n - 1])
        last = tuple(words[len(words) - n + 1 :])
        for token in seen.get(last, []):
            result[row, token] = float("-inf")
    return result
"""
_NO_REPEAT_TRIED = """
def no_repeat_ngram(logits, tokens, n):
    banned = torch.zeros_like(logits, dtype=torch.bool)
    for row, words in enumerate(tokens.tolist()):
        grams = [words[i : i + n] for i in range(len(words) - n + 1)]
        for token in range(logits.size(-1)):
            banned[row, token] = (words + [token])[-n:] in grams
    return logits.masked_fill(banned, -1e11)
"""
_NO_REPEAT_UNFOLD = """
def no_repeat_ngram(logits, tokens, n):
    if tokens.size(1) < n:
        return logits
    result = logits.clone()
    grams = tokens.unfold(1, n, 1)
    last = tokens[:, tokens.size(1) - n + 1 :]
    same = (grams[..., :-1] == last[:, None]).all(-1)
    for row, place in same.nonzero().tolist():
        result[row, grams[row, place, -1]] = -torch.inf
    return result
"""
_CHAIN = """
def next_token_probabilities(logits, temperature, k, p):
    chances, order = (logits / temperature).softmax(-1).sort(dim=-1, descending=True)
    chances[:, k:] = 0
    chances = chances / chances.sum(-1, keepdim=True)
    chances[chances.cumsum(-1) - chances >= p] = 0
    chances = chances / chances.sum(-1, keepdim=True)
    return torch.zeros_like(chances).scatter(-1, order, chances)
"""
_CHAIN_ROWS = """
def next_token_probabilities(logits, temperature, k, p):
    result = torch.zeros_like(logits)
    for row in range(logits.size(0)):
        scaled = logits[row] / temperature
        best = scaled.argsort(descending=True)[:k]
        chances = scaled[best].softmax(0)
        count = 1
        while chances[:count].sum() < p and count < len(best):
            count += 1
        result[row, best[:count]] = scaled[best[:count]].softmax(0)
    return result
"""
_CHAIN_MASKS = """
def next_token_probabilities(logits, temperature, k, p):
    scaled = logits / temperature
    edge = scaled.topk(min(k, scaled.size(-1)))[0][:, -1:]
    scaled = torch.where(scaled < edge, -torch.inf, scaled)
    chances = scaled.softmax(-1)
    larger = chances[:, None, :] > chances[:, :, None]
    before = (larger * chances[:, None, :]).sum(-1)
    return scaled.masked_fill(before >= p, -torch.inf).softmax(-1)
"""
_SAMPLE = """
def sample(logits, temperature):
    chances = torch.softmax(logits / temperature, dim=-1)
    return torch.multinomial(chances, num_samples=1)[:, 0]
"""
_SAMPLE_CATEGORICAL = """
def sample(logits, temperature):
    return torch.distributions.Categorical(logits=logits / temperature, validate_args=False).sample()
"""
_SAMPLE_GUMBEL = """
def sample(logits, temperature):
    noise = -torch.log(-torch.log(torch.rand_like(logits)))
    return (logits / temperature + noise).argmax(dim=-1)
"""

RIGHT: Mapping[str, tuple[Sample, ...]] = {
    "top-k": TOP_K.right(_TOP_K, _TOP_K_SCATTER, _TOP_K_ROWS),
    "top-p": TOP_P.right(_TOP_P, _TOP_P_ROWS, _TOP_P_EDGE),
    "no-repeat": NO_REPEAT.right(_NO_REPEAT, _NO_REPEAT_TRIED, _NO_REPEAT_UNFOLD),
    "chain": CHAIN.right(_CHAIN, _CHAIN_ROWS, _CHAIN_MASKS),
    "sample": SAMPLE.right(_SAMPLE, _SAMPLE_CATEGORICAL, _SAMPLE_GUMBEL),
}

WRONG: Mapping[str, tuple[Sample, ...]] = {
    "top-k": (
        TOP_K.wrong("keeps one token too many", edited(_TOP_K, ("min(k, ", "min(k + 1, ")), exact="1"),
        TOP_K.nothing("keeps the smallest logits", edited(_TOP_K, ("result < edge", "result > edge"))),
        TOP_K.nothing("removes with a zero", edited(_TOP_K, ('float("-inf")', "0.0"))),
        TOP_K.nothing("fails where k is large", edited(_TOP_K, ("min(k, ordered.size(1)) - 1", "k - 1"))),
    ),
    "top-p": (
        TOP_P.wrong(
            "drops the token that reaches p", edited(_TOP_P, ("mass - probabilities", "mass")), exact="2"
        ),
        TOP_P.nothing(
            "compares single probabilities with p",
            "def top_p(logits, p):\n    return logits.masked_fill(logits.softmax(-1) < p, -torch.inf)\n",
        ),
        TOP_P.nothing(
            "goes through the tokens from the least likely", edited(_TOP_P, (", descending=True", ""))
        ),
        TOP_P.nothing("forgets to sort back", edited(_TOP_P, ("order[row][remove[row]]", "remove[row]"))),
    ),
    "no-repeat": (
        NO_REPEAT.wrong(
            "bans n-grams one longer",
            edited(_NO_REPEAT, ("    result = logits.clone()\n", "    result, n = logits.clone(), n + 1\n")),
            exact="2",
        ),
        NO_REPEAT.nothing(
            "bans every token that occurred", edited(_NO_REPEAT, ("seen.get(last, [])", "words"))
        ),
        NO_REPEAT.nothing(
            "bans for the whole batch", edited(_NO_REPEAT, ("result[row, token]", "result[:, token]"))
        ),
        NO_REPEAT.nothing(
            "returns the logits as they are", "def no_repeat_ngram(logits, tokens, n):\n    return logits\n"
        ),
    ),
    "chain": (
        CHAIN.wrong(
            "heats at the end",
            edited(
                _CHAIN_MASKS,
                ("scaled = logits / temperature", "scaled = logits"),
                ("-torch.inf).softmax(-1)", "-torch.inf).div(temperature).softmax(-1)"),
            ),
            exact="1.5",
        ),
        CHAIN.nothing(
            "multiplies by the temperature", edited(_CHAIN, ("logits / temperature", "logits * temperature"))
        ),
        CHAIN.nothing("forgets the temperature", edited(_CHAIN, ("(logits / temperature)", "logits"))),
        CHAIN.nothing("returns logits", edited(_CHAIN_MASKS, ("-torch.inf).softmax(-1)", "-torch.inf)"))),
    ),
    "sample": (
        SAMPLE.nothing(
            "takes the most likely token",
            "def sample(logits, temperature):\n    return (logits / temperature).argmax(-1)\n",
        ),
        SAMPLE.wrong(
            "forgets the temperature", edited(_SAMPLE, ("logits / temperature", "logits")), distribution="0"
        ),
        SAMPLE.wrong(
            "multiplies by the temperature",
            edited(_SAMPLE, ("logits / temperature", "logits * temperature")),
            distribution="0",
        ),
        SAMPLE.wrong(
            "draws all tokens alike",
            edited(_SAMPLE, ("multinomial(chances,", "multinomial((chances > 0).double(),")),
            distribution="0",
        ),
    ),
}

HOSTILE: Mapping[str, tuple[Sample, ...]] = {
    "top-k": hostile("top_k", TOP_K),
    "top-p": hostile("top_p", TOP_P),
    "no-repeat": hostile("no_repeat_ngram", NO_REPEAT),
    "chain": hostile("next_token_probabilities", CHAIN),
    "sample": hostile("sample", SAMPLE),
}
