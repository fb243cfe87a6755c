"""What people write instead of the functions of `reference.decoding`, by function."""

from __future__ import annotations

from collections.abc import Mapping

from .misconception import Misconception
from .rewrite import Edit


def _misconception(
    site: str, code: str, *edits: tuple[str, str], loses: tuple[str, ...] = ("exact",), name: str = ""
) -> Misconception:
    made = tuple(Edit(site, right, faulty) for right, faulty in edits)
    return Misconception(name or code, made, loses, code)


def _also_right(site: str, name: str, *edits: tuple[str, str]) -> Misconception:
    return Misconception(name, tuple(Edit(site, right, faulty) for right, faulty in edits))


_BEAM_ITEMS = ("beams", "endings", "ngrams")

MISCONCEPTIONS: Mapping[str, tuple[Misconception, ...]] = {
    "top_k": (
        _misconception("top_k", "one-too-many", ("min(k, logits.size(-1))", "min(k + 1, logits.size(-1))")),
        _misconception("top_k", "least-kept", ("logits < smallest", "logits > smallest")),
        _misconception("top_k", "not-removed", ("-torch.inf", "0.0")),
        _misconception(
            "top_k",
            "whole-batch",
            (
                "logits.topk(min(k, logits.size(-1))).values[:, -1:]",
                "logits.flatten().topk(min(k, logits.size(-1))).values[-1]",
            ),
        ),
        _also_right("top_k", "a large negative number", ("-torch.inf", "torch.finfo(logits.dtype).min")),
        _also_right(
            "top_k",
            "exactly k of a tie",
            (
                "return logits.masked_fill(logits < smallest, -torch.inf)",
                "best = logits.topk(min(k, logits.size(-1)))\n"
                "return torch.full_like(logits, -torch.inf).scatter(-1, best.indices, best.values)",
            ),
        ),
    ),
    "top_p": (
        _misconception("top_p", "crossing-excluded", ("before >= p", "probabilities.cumsum(-1) >= p")),
        _misconception(
            "top_p",
            "crossing-excluded",
            ("before >= p", "(probabilities.cumsum(-1) >= p) & (before > 0)"),
            name="crossing-excluded, but one token is always kept",
        ),
        _misconception(
            "top_p",
            "not-sorted",
            (
                "logits.sort(dim=-1, descending=True)",
                "(logits, torch.arange(logits.size(-1)).expand_as(logits))",
            ),
        ),
        _misconception(
            "top_p", "least-kept", ("logits.sort(dim=-1, descending=True)", "logits.sort(dim=-1)")
        ),
        _misconception(
            "top_p",
            "order-lost",
            ("torch.zeros_like(logits, dtype=torch.bool).scatter(-1, order, before >= p)", "before >= p"),
        ),
        _misconception(
            "top_p",
            "single-threshold",
            (
                "torch.zeros_like(logits, dtype=torch.bool).scatter(-1, order, before >= p)",
                "logits.softmax(-1) < p",
            ),
        ),
        _misconception("top_p", "not-removed", ("-torch.inf", "0.0")),
        _also_right(
            "top_p",
            "cumulated without sorting back",
            (
                "return logits.masked_fill(dropped, -torch.inf)",
                "smallest = logits.masked_fill(dropped, torch.inf).min(-1, keepdim=True).values\n"
                "return torch.where(logits >= smallest, logits, -1e10)",
            ),
        ),
    ),
    "min_p": (
        _misconception(
            "min_p", "single-threshold", ("p * probabilities.max(dim=-1, keepdim=True).values", "p")
        ),
        _misconception("min_p", "not-removed", ("-torch.inf", "0.0")),
    ),
    "repetition_penalty": (
        _misconception(
            "repetition_penalty",
            "negative-raised",
            ("torch.where(seen < 0, seen * penalty, seen / penalty)", "seen / penalty"),
        ),
        _misconception(
            "repetition_penalty",
            "negative-raised",
            ("torch.where(seen < 0, seen * penalty, seen / penalty)", "seen * penalty"),
            name="positive raised",
        ),
    ),
    "no_repeat_ngram": (
        _misconception(
            "no_repeat_ngram",
            "only-last-ngram",
            (
                "past[start : start + n - 1] == last",
                "start == len(past) - n and past[start : start + n - 1] == last",
            ),
        ),
        _misconception(
            "no_repeat_ngram", "every-token-banned", ("past[start : start + n - 1] == last", "True")
        ),
        _misconception(
            "no_repeat_ngram",
            "one-too-long",
            ("past[len(past) - n + 1 :]", "past[len(past) - n :]"),
            ("range(len(past) - n + 1)", "range(len(past) - n)"),
            ("past[start : start + n - 1] == last", "past[start : start + n] == last"),
            ("past[start + n - 1]", "past[start + n]"),
        ),
        _misconception(
            "no_repeat_ngram",
            "whole-batch",
            ("allowed[row, past[start + n - 1]]", "allowed[:, past[start + n - 1]]"),
        ),
        _also_right(
            "no_repeat_ngram",
            "a large negative number",
            ("allowed[row, past[start + n - 1]] = -torch.inf", "allowed[row, past[start + n - 1]] = -1e12"),
        ),
    ),
    "next_token_probabilities": (
        _misconception(
            "next_token_probabilities",
            "temperature-last",
            ("logits = logits / temperature", ""),
            (
                "return logits.masked_fill(dropped, -torch.inf).softmax(-1)",
                "return (logits.masked_fill(dropped, -torch.inf) / temperature).softmax(-1)",
            ),
        ),
        _misconception(
            "next_token_probabilities",
            "temperature-multiplied",
            ("logits / temperature", "logits * temperature"),
        ),
        _misconception(
            "next_token_probabilities", "temperature-forgotten", ("logits = logits / temperature", "")
        ),
        _misconception(
            "next_token_probabilities",
            "not-renormalised",
            (
                "logits = logits / temperature",
                "logits = logits / temperature\nbefore_filters = logits.softmax(-1)",
            ),
            (
                "return logits.masked_fill(dropped, -torch.inf).softmax(-1)",
                "return before_filters.masked_fill(dropped | logits.isinf(), 0.0)",
            ),
        ),
        _misconception(
            "next_token_probabilities",
            "top-p-first",
            ("logits = logits.masked_fill(logits < smallest, -torch.inf)", ""),
            (
                "return logits.masked_fill(dropped, -torch.inf).softmax(-1)",
                "return logits.masked_fill(dropped | (logits < smallest), -torch.inf).softmax(-1)",
            ),
        ),
        _also_right(
            "next_token_probabilities",
            "probabilities divided by their sum",
            (
                "return logits.masked_fill(dropped, -torch.inf).softmax(-1)",
                "kept = logits.softmax(-1).masked_fill(dropped, 0.0)\n"
                "return kept / kept.sum(-1, keepdim=True)",
            ),
        ),
    ),
    "sample": (
        _misconception(
            "sample",
            "not-drawn",
            ("torch.multinomial(probabilities, 1).squeeze(-1)", "probabilities.argmax(-1)"),
            loses=("support", "distribution"),
        ),
        _misconception(
            "sample",
            "uniform-over-all",
            ("torch.multinomial(probabilities, 1)", "torch.multinomial(torch.ones_like(probabilities), 1)"),
            loses=("support", "distribution"),
        ),
        _misconception(
            "sample",
            "uniform",
            ("torch.multinomial(probabilities, 1)", "torch.multinomial((probabilities > 0).double(), 1)"),
            loses=("distribution",),
        ),
        _misconception(
            "sample", "temperature-forgotten", ("logits / temperature", "logits"), loses=("distribution",)
        ),
        _misconception(
            "sample",
            "temperature-multiplied",
            ("logits / temperature", "(logits * temperature)"),
            loses=("distribution",),
        ),
        _misconception(
            "sample",
            "one-draw",
            (
                "torch.multinomial(probabilities, 1).squeeze(-1)",
                "torch.multinomial(probabilities[:1], 1).squeeze(-1).expand(logits.size(0))",
            ),
            loses=("support", "distribution"),
        ),
        _also_right(
            "sample",
            "the Gumbel trick",
            (
                "torch.multinomial(probabilities, 1).squeeze(-1)",
                "(probabilities.log() - torch.empty_like(probabilities).exponential_().log()).argmax(-1)",
            ),
        ),
        _also_right(
            "sample",
            "the inverse of the cumulated probabilities",
            (
                "torch.multinomial(probabilities, 1).squeeze(-1)",
                "(probabilities.cumsum(-1) <= torch.rand(logits.size(0), 1)).sum(-1)",
            ),
        ),
    ),
    "greedy": (
        _misconception(
            "greedy",
            "first-row-for-all",
            (
                "model(tokens, attention_mask)[:, -1].argmax(-1)",
                "model(tokens, attention_mask)[:1, -1].argmax(-1).expand(tokens.size(0))",
            ),
            loses=("batch", "endings"),
        ),
        _misconception(
            "greedy",
            "mask-ignored",
            ("model(tokens, attention_mask)", "model(tokens)"),
            loses=("batch", "endings"),
        ),
        _misconception(
            "greedy",
            "other-position",
            ("model(tokens, attention_mask)[:, -1]", "model(tokens, attention_mask)[:, 0]"),
            loses=("single", "batch", "endings"),
        ),
        _misconception("greedy", "goes-on", ("chosen.masked_fill(ended, pad)", "chosen"), loses=("endings",)),
        _misconception(
            "greedy",
            "end-replaced",
            (
                "chosen = chosen.masked_fill(ended, pad)\nended = ended | (chosen == eos)",
                "ended = ended | (chosen == eos)\nchosen = chosen.masked_fill(ended, pad)",
            ),
            loses=("endings",),
        ),
        _also_right(
            "greedy",
            "log-probabilities",
            (
                "model(tokens, attention_mask)[:, -1].argmax(-1)",
                "model(tokens, attention_mask).log_softmax(-1)[:, -1].argmax(-1)",
            ),
        ),
    ),
    "beam_search": (
        _misconception("beam_search", "one-beam", ("going_on[:n_beams]", "going_on[:1]"), loses=_BEAM_ITEMS),
        _misconception(
            "beam_search",
            "sums-forgotten",
            ("scores + torch.tensor([total for total, _ in beams])[:, None]", "scores"),
            loses=_BEAM_ITEMS,
        ),
        _misconception(
            "beam_search",
            "logits-summed",
            ("model(past)[:, -1].log_softmax(-1)", "model(past)[:, -1]"),
            loses=_BEAM_ITEMS,
        ),
        _misconception(
            "beam_search",
            "penalty-forgotten",
            ("total / length**length_penalty", "total"),
            loses=("endings",),
        ),
        _misconception(
            "beam_search",
            "end-ignored",
            ("beam[-1] == eos or length == n_new", "length == n_new"),
            loses=("endings",),
        ),
        _misconception(
            "beam_search", "first-finished", ("max(hypotheses)[1]", "hypotheses[0][1]"), loses=("endings",)
        ),
        _misconception(
            "beam_search",
            "ban-forgotten",
            ("range(n_vocab if no_repeat else 0)", "range(0)"),
            loses=("ngrams",),
        ),
    ),
}
