"""What a question about decoding may state."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from autograder.checks.judging.known import Worth
from autograder.checks.options import CallOptions, CaseItem, Given


class DecodingQuestion(CallOptions, frozen=True):
    """Options of a ``decoding`` question."""

    contract: Literal["filter", "search", "sample"] = "filter"
    """``filter``: what is kept of logits; ``search``: sequences; ``sample``: tokens drawn for every row."""
    returns: Literal["logits", "probabilities", "either"] = "logits"
    """Of a filter: logits with -inf for what is removed, or probabilities that sum to 1."""
    model: Given | None = None
    """The class whose object, with random weights, is the first argument."""
    rounds: Annotated[int, Meta(ge=1, le=20)] = 3
    """Each case is asked so often, each time with other hidden numbers and another random model."""
    draws: Annotated[int, Meta(ge=100, le=200_000)] = 10_000
    """Rows that are drawn in one call of a sampling function; it is called twice."""


class DecodingItem(CaseItem, frozen=True):
    """Options of an item of a ``decoding`` question."""

    measure: Literal["result", "support"] = "result"
    """``support``: of a sampling function only that nothing impossible is drawn, and something at random."""
    mistake: tuple[Worth, ...] = ()
