"""What decoding questions ask of the reference: right results, accepted ties, and results of mistakes.

A question of kind ``decoding`` names one of the oracles here as its ``reference``, and one of the functions
at the end as its ``trials``. An oracle is asked with the arguments of the student's function.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from . import decoding
from .faults.decoding import MISCONCEPTIONS
from .faults.misconception import Misconception, compiled, planted, trials
from .gpt2 import GPT2
from .outcomes import beam_outcomes, distribution, greedy_outcomes

NEAR = 1e-9
"""Mass or logits that differ by less are equal for whoever adds in another order."""

Answer = dict[str, Any]


class Oracle:
    """Right results of one function, and those of its misconceptions.

    Args:
        function: from `reference.decoding`.
        right: arguments of the function → what may come out, as `autograder`'s kind ``decoding`` reads it.
        run: function and its arguments → what is compared of one misconception.
    """

    model = GPT2

    def __init__(
        self,
        function: Callable[..., Tensor],
        right: Callable[..., Answer],
        run: Callable[..., Any] = lambda function, *args: function(*args),
    ) -> None:
        self._function = function
        self._right = right
        self._run = run
        self._planted: list[tuple[str, Callable[..., Tensor]]] = []

    @property
    def source(self) -> str:
        """The right answer's text."""
        return inspect.getsource(self._function)

    @property
    def misconceptions(self) -> tuple[Misconception, ...]:
        """Everything else that is known to be written."""
        return MISCONCEPTIONS[self._function.__name__]

    def expected(self, *args: Any) -> Answer:
        """What is right for some arguments, and ``mistakes``: code and result of each misconception.

        A misconception that raises for these arguments has no result and is left out.
        """
        if not self._planted:
            name = self._function.__name__
            self._planted = [
                (misconception.code, compiled(planted(self.source, misconception), name, vars(decoding)))
                for misconception in self.misconceptions
                if misconception.code
            ]
        mistakes = []
        for code, function in self._planted:
            try:
                mistakes.append({"code": code, "values": self._run(function, *args)})
            except (RuntimeError, IndexError, ValueError):
                continue
        return {"right": self._right(*args), "mistakes": mistakes}

    def trials(self) -> list[dict[str, Any]]:
        """Every misconception as an answer cell."""
        return trials(self.source, self.misconceptions)


# ---------------------------------------------------------------- filters


def _kept(values: Tensor, kept: Tensor) -> Answer:
    """No tie: exactly these are kept, with these logits."""
    return {"values": values, "must": kept, "may": kept, "least": kept.sum(-1)}


def _between(logits: Tensor, least: Tensor, most: Tensor) -> Answer:
    """Tokens above the ``least``-th must be kept, and others down to the ``most``-th may be (1 = largest)."""
    ordered = logits.sort(dim=-1, descending=True).values
    sure, possible = (ordered.gather(-1, rank[:, None] - 1) for rank in (least, most))
    return {"values": logits, "must": logits > sure + NEAR, "may": logits >= possible - NEAR, "least": least}


def _top_k(logits: Tensor, k: int) -> Answer:
    rank = torch.full((logits.size(0),), min(k, logits.size(-1)))
    return _between(logits, rank, rank)


def _top_p(logits: Tensor, p: float) -> Answer:
    mass = logits.sort(dim=-1, descending=True).values.softmax(-1).cumsum(-1)
    least, most = (((mass < edge).sum(-1) + 1).clamp(max=logits.size(-1)) for edge in (p - NEAR, p + NEAR))
    return _between(logits, least, most)


def _filtered(function: Callable[..., Tensor]) -> Callable[..., Answer]:
    def right(*args: Any) -> Answer:
        values = function(*args)
        return _kept(values, values.isfinite())

    return right


def _probabilities(logits: Tensor, temperature: float, k: int, p: float) -> Answer:
    kept = decoding.next_token_probabilities(logits, temperature, k, p) > 0
    return _kept(logits / temperature, kept)


top_k = Oracle(decoding.top_k, _top_k)
top_p = Oracle(decoding.top_p, _top_p)
min_p = Oracle(decoding.min_p, _filtered(decoding.min_p))
repetition_penalty = Oracle(decoding.repetition_penalty, _filtered(decoding.repetition_penalty))
no_repeat_ngram = Oracle(decoding.no_repeat_ngram, _filtered(decoding.no_repeat_ngram))
next_token_probabilities = Oracle(decoding.next_token_probabilities, _probabilities)

# ---------------------------------------------------------------- draws


def _chances(function: Callable[..., Tensor], *args: Any) -> Answer:
    ways = distribution(lambda: function(*args))
    return {"outcomes": [list(way) for way in ways], "chances": list(ways.values())}


def _draws(*args: Any) -> Answer:
    return _chances(decoding.sample, *args)


sample = Oracle(decoding.sample, _draws, _chances)

# ---------------------------------------------------------------- searches


def _greedy(*args: Any) -> Answer:
    return {"rows": greedy_outcomes(*args)}


def _beams(*args: Any) -> Answer:
    return {"rows": [beam_outcomes(*args)]}


greedy = Oracle(decoding.greedy, _greedy)
beam_search = Oracle(decoding.beam_search, _beams)

# ---------------------------------------------------------------- planted answers


def top_k_trials() -> list[dict[str, Any]]:
    """For `autograder verify`, as all that follow."""
    return top_k.trials()


def top_p_trials() -> list[dict[str, Any]]:
    """See `top_k_trials`."""
    return top_p.trials()


def no_repeat_ngram_trials() -> list[dict[str, Any]]:
    """See `top_k_trials`."""
    return no_repeat_ngram.trials()


def next_token_probabilities_trials() -> list[dict[str, Any]]:
    """See `top_k_trials`."""
    return next_token_probabilities.trials()


def sample_trials() -> list[dict[str, Any]]:
    """See `top_k_trials`."""
    return sample.trials()


def greedy_trials() -> list[dict[str, Any]]:
    """See `top_k_trials`."""
    return greedy.trials()


def beam_search_trials() -> list[dict[str, Any]]:
    """See `top_k_trials`."""
    return beam_search.trials()
