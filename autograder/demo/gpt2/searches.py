"""Greedy and beam search: right in several styles, and the slips that people make."""

from __future__ import annotations

from collections.abc import Mapping

from autograder.demo.formulas import Sample
from autograder.demo.gpt2.samples import Worth, edited, hostile

GREEDY = Worth.of(single="1", batch="2", endings="1")
BEAM = Worth.of(beams="2", endings="2", ngrams="2")

_GREEDY = """
def greedy(model, tokens, n_new, attention_mask, eos, pad):
    done = torch.zeros(len(tokens), dtype=torch.bool)
    for _ in range(n_new):
        logits = model(tokens, attention_mask)[:, -1]
        best = logits.argmax(dim=-1)
        best[done] = pad
        done |= best == eos
        tokens = torch.cat([tokens, best.unsqueeze(1)], dim=1)
        attention_mask = torch.nn.functional.pad(attention_mask, (0, 1), value=1)
    return tokens
"""
_GREEDY_ALONE = """
def greedy(model, tokens, n_new, attention_mask, eos, pad):
    rows = []
    for row, seen in zip(tokens, attention_mask):
        text, new = row[seen.bool()].tolist(), []
        while len(new) < n_new and (not new or new[-1] != eos):
            new.append(int(model(torch.tensor([text + new]))[0, -1].argmax()))
        rows.append(row.tolist() + new + [pad] * (n_new - len(new)))
    return torch.tensor(rows)
"""
_GREEDY_FILLED = """
def greedy(model, tokens, n_new, attention_mask, eos, pad):
    batch, length = tokens.shape
    whole = torch.full((batch, length + n_new), pad)
    whole[:, :length] = tokens
    seen = torch.cat([attention_mask, torch.ones(batch, n_new, dtype=attention_mask.dtype)], 1)
    going = torch.ones(batch, dtype=torch.bool)
    for place in range(length, length + n_new):
        scores = model(whole[:, :place], seen[:, :place]).log_softmax(-1)
        best = scores[:, place - 1].max(-1).indices
        whole[going, place] = best[going]
        going = going & (best != eos)
    return whole
"""
_BEAM = """
def beam_search(model, tokens, n_new, n_beams, length_penalty, eos, no_repeat):
    open_beams = [(0.0, tokens[0].tolist())]
    found = []
    for length in range(1, n_new + 1):
        inputs = torch.tensor([text for _, text in open_beams])
        scores = model(inputs)[:, -1].log_softmax(-1)
        candidates = []
        for (total, text), row in zip(open_beams, scores.tolist()):
            grams = {tuple(text[i : i + no_repeat]) for i in range(len(text) - no_repeat + 1)}
            for token, score in enumerate(row):
                longer = text + [token]
                if no_repeat and tuple(longer[len(longer) - no_repeat :]) in grams:
                    continue
                candidates.append((total + score, longer))
        candidates.sort(key=lambda one: -one[0])
        going_on = []
        for rank, (total, text) in enumerate(candidates[: 2 * n_beams]):
            if text[-1] == eos or length == n_new:
                if rank < n_beams:
                    found.append((total / length**length_penalty, text))
            else:
                going_on.append((total, text))
        open_beams = going_on[:n_beams]
    return torch.tensor([max(found, key=lambda one: one[0])[1]])
"""
_BEAM_HEAP = edited(
    _BEAM,
    ("\ndef beam_search(", "\nimport heapq\n\n\ndef beam_search("),
    ("        candidates.sort(key=lambda one: -one[0])\n", ""),
    ("candidates[: 2 * n_beams]", "heapq.nlargest(2 * n_beams, candidates)"),
    ("torch.tensor([max(found, key=lambda one: one[0])[1]])", "torch.tensor(sorted(found)[-1][1])[None]"),
)
_BEAM_TENSORS = """
def beam_search(model, tokens, n_new, n_beams, length_penalty, eos, no_repeat):
    texts, totals = tokens, torch.zeros(1, dtype=torch.get_default_dtype())
    best, best_score = None, -torch.inf
    for length in range(1, n_new + 1):
        scores = torch.log_softmax(model(texts)[:, -1], dim=-1)
        if no_repeat:
            for row, text in enumerate(texts.tolist()):
                last = text[len(text) - no_repeat + 1 :]
                for i in range(len(text) - no_repeat + 1):
                    if text[i : i + no_repeat - 1] == last:
                        scores[row, text[i + no_repeat - 1]] = -torch.inf
        sums = (scores + totals[:, None]).flatten()
        order = sums.argsort(descending=True)[: 2 * n_beams]
        chosen = torch.cat([texts[order // scores.size(1)], order[:, None] % scores.size(1)], dim=1)
        ends = (chosen[:, -1] == eos) | (length == n_new)
        for row in range(min(n_beams, len(order))):
            score = float(sums[order[row]]) / length**length_penalty
            if ends[row] and score > best_score:
                best, best_score = chosen[row], score
        texts, totals = chosen[~ends][:n_beams], sums[order][~ends][:n_beams]
    return best[None]
"""

RIGHT: Mapping[str, tuple[Sample, ...]] = {
    "greedy": GREEDY.right(_GREEDY, _GREEDY_ALONE, _GREEDY_FILLED),
    "beam": BEAM.right(_BEAM, _BEAM_HEAP, _BEAM_TENSORS),
}

WRONG: Mapping[str, tuple[Sample, ...]] = {
    "greedy": (
        GREEDY.wrong(
            "forgets the mask",
            edited(_GREEDY, ("(tokens, attention_mask)[", "(tokens)[")),
            batch="0",
            endings="0",
        ),
        GREEDY.wrong(
            "goes on after the end", edited(_GREEDY, ("        best[done] = pad\n", "")), endings="0"
        ),
        GREEDY.wrong(
            "replaces the end by padding",
            edited(
                _GREEDY_FILLED,
                (
                    "whole[going, place] = best[going]\n        going = going & (best != eos)",
                    "going = going & (best != eos)\n        whole[going, place] = best[going]",
                ),
            ),
            endings="0",
        ),
        GREEDY.nothing("reads the first position", edited(_GREEDY, ("[:, -1]", "[:, 0]"))),
    ),
    "beam": (
        BEAM.nothing("keeps one beam", edited(_BEAM, ("going_on[:n_beams]", "going_on[:1]"))),
        BEAM.nothing("adds logits", edited(_BEAM, (".log_softmax(-1)", ""))),
        BEAM.wrong(
            "forgets the length penalty",
            edited(_BEAM, ("total / length**length_penalty", "total")),
            endings="0",
        ),
        BEAM.wrong("never ends a hypothesis", edited(_BEAM, ("text[-1] == eos or ", "")), endings="0"),
        BEAM.wrong(
            "forgets to ban n-grams", edited(_BEAM, ("if no_repeat and ", "if False and ")), ngrams="0"
        ),
    ),
}

HOSTILE: Mapping[str, tuple[Sample, ...]] = {
    "greedy": hostile("greedy", GREEDY),
    "beam": hostile("beam_search", BEAM),
}
