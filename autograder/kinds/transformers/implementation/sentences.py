"""Sentences about an attention class: what its results are the results of."""

from __future__ import annotations

from collections.abc import Mapping

SENTENCES: Mapping[str, str] = {
    "attention.no-scaling": "{what}: the scores are not divided by the square root of d_head.",
    "attention.scale-width": (
        "{what}: the scores are scaled by the width of the model instead of the width of one head."
    ),
    "attention.scale-inverted": (
        "{what}: the scores are multiplied by the square root of d_head instead of divided."
    ),
    "attention.scale-root": "{what}: the scores are divided by d_head itself, not by its square root.",
    "attention.scale-late": "{what}: the scaling comes after the softmax instead of before it.",
    "attention.softmax-queries": "{what}: the softmax runs over the queries instead of the keys.",
    "attention.softmax-heads": "{what}: the softmax runs over the heads instead of the keys.",
    "attention.softmax-batch": (
        "{what}: the softmax runs over the batch: the output of one sequence depends on the others."
    ),
    "attention.no-softmax": "{what}: the scores are used as weights without a softmax.",
    "attention.causal": "{what}: later positions stay hidden although no mask was given.",
    "attention.one-head": (
        "{what}: the heads make no difference: there is one attention over the whole width."
    ),
    "attention.heads-averaged": "{what}: all heads use the same weights, the average of their own.",
    "attention.first-head": "{what}: the result is made of the first head alone.",
    "attention.heads-mean": "{what}: the heads' results are averaged instead of put side by side.",
    "attention.split": (
        "{what}: splitting into heads mixes the positions: the result is that of one reshape to (batch, "
        "heads, length, d_head), where the axes of length and heads have to be exchanged afterwards."
    ),
    "attention.merge": (
        "{what}: merging the heads mixes the positions: the result is that of a reshape without exchanging "
        "the axes of heads and length before."
    ),
    "attention.split-merge": (
        "{what}: splitting into heads and merging them mix the positions: in both, a reshape stands where "
        "two axes have to be exchanged."
    ),
    "attention.split-axes": "{what}: splitting into heads takes the axes in a wrong order.",
    "attention.merge-axes": "{what}: merging the heads puts the axes in a wrong order.",
    "attention.split-batch": (
        "{what}: splitting into heads mixes the sequences of the batch with one another."
    ),
    "attention.merge-batch": (
        "{what}: merging the heads mixes the sequences of the batch: another axis stands where the batch "
        "belongs, as after exchanging batch and heads."
    ),
    "attention.interleaved": (
        "{what}: a head works on features that lie n_heads apart; its features are consecutive ones."
    ),
    "attention.interleaved-split": (
        "{what}: splitting gives a head features that lie n_heads apart instead of consecutive ones."
    ),
    "attention.interleaved-merge": (
        "{what}: merging interleaves the heads' results, feature by feature, instead of putting them side by "
        "side."
    ),
    "attention.key-reshape": (
        "{what}: the keys are reshaped where their last two axes have to be exchanged: that mixes positions "
        "and features."
    ),
    "attention.one-sequence": (
        "{what}: the output of one sequence depends on another of the batch, the first one."
    ),
    "attention.residual": "{what}: the query is added to the result.",
    "attention.activation": (
        "{what}: the projections are followed by an activation; they are meant to be linear."
    ),
    "attention.query-value": "{what}: the queries are made of the values.",
    "attention.query-key": "{what}: query and key are taken for one another.",
    "attention.key-value": "{what}: key and value are taken for one another.",
    "attention.value-key": "{what}: the values are made of the keys.",
    "attention.query-from-key": "{what}: the queries are made of the keys' argument.",
    "attention.key-query": "{what}: the keys are made of the query argument.",
    "attention.key-from-value": "{what}: the keys are made of the values' argument.",
    "attention.value-query": "{what}: the values are made of the query argument.",
    "attention.self-only": (
        "{what}: queries, keys and values are all made of the query argument: this is self-attention only."
    ),
    "attention.arguments": (
        "{what}: several of queries, keys and values are made of another argument than their own."
    ),
    "attention.shared-weights": (
        "{what}: at least two of query, key and value are projected with the same weights."
    ),
    "attention.not-projected": "{what}: query, key or value is used without its projection.",
    "attention.no-output": "{what}: the heads' results do not go through the output projection.",
    "attention.mask-ignored": "{what}: the mask changes nothing.",
    "attention.mask-inverted": "{what}: the mask is taken the other way round.",
    "attention.mask-late": "{what}: the mask comes after the softmax: the weights no longer sum to one.",
    "attention.mask-multiplied": "{what}: a blocked score becomes zero, and so still gets weight.",
    "attention.mask-high": "{what}: blocked scores become very large: exactly the blocked keys are seen.",
    "attention.mask-weak": "{what}: blocked scores are not small enough: blocked keys still get weight.",
    "attention.mask-added": (
        "{what}: the mask is added to the scores as it is: that moves them by 1 and blocks nothing."
    ),
    "attention.mask-transposed": (
        "{what}: the mask's last axis is taken for the queries; it is that of the keys."
    ),
    "attention.mask-first": "{what}: all sequences are given the mask of the first one.",
    "attention.mask-kept": (
        "{what}: in a second call of the same object, which had no mask, the mask of the first call was "
        "still applied."
    ),
    "attention.second-call": (
        "{what}: this call was right, and a second one of the same object, without a mask and with other "
        "inputs of the same sizes, was wrong."
    ),
    "attention.parts": (
        "{what}: a tuple or list of length {count} was returned; the result alone is asked for."
    ),
    "attention.state": (
        "{what}: equal calls differ although the random numbers of Python, NumPy and PyTorch began equally: "
        "something is kept from one call to the next, or drawn from a source of its own."
    ),
    "attention.unexplained": (
        "{what}: with no assignment of the parameters to query, key, value and output are the results those "
        "of attention in several heads."
    ),
    "attention.convention": "{what}: the mask does not act as the question states it.",
    "attention.blocked-row": "{what}: a query that may see nothing gives NaN or infinity.",
    "attention.blocked-others": (
        "{what}: blocking everything for one query changed the results of the others."
    ),
    "attention.precision": "{what}: with inputs in double precision the result has only single precision.",
    "attention.no-dropout": "{what}: in training mode no attention weight is ever dropped.",
    "attention.dropout-evaluation": (
        "{what}: equal calls differ in evaluation mode when random numbers begin elsewhere: dropout or other "
        "randomness is active there."
    ),
}
