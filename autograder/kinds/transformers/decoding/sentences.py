"""Sentences about decoding: what an answer keeps, chooses or draws, and mistakes known by what they compute.

No sentence names a token, a number or a sequence that would have been right.
"""

from __future__ import annotations

from collections.abc import Mapping

_SEEN: Mapping[str, str] = {
    "decoding.probabilities": "{what} returns probabilities; logits are asked for.",
    "decoding.not-normalised": (
        "{what}: a row of what you return is no probability distribution: its sum is not 1."
    ),
    "decoding.row-empty": "{what}: in a row no token is left at all.",
    "decoding.kept-too-many": "{what} keeps tokens that should be removed: {count}.",
    "decoding.kept-too-few": "{what} removes too many tokens: {count}.",
    "decoding.values": "{what} keeps the right tokens, but {count} of {total} values are not right.",
    "decoding.no-tokens": "{what}: whole numbers are asked for, the ids of tokens; this is “{form}”.",
    "decoding.rows": "{what} has the shape {shape}; a row is asked for each row that was handed in.",
    "decoding.prompt-missing": (
        "{what}: the new tokens are right, but the text they continue is missing in front of them."
    ),
    "decoding.too-long": "{what}: row {row} is right as far as it should go, and then goes on.",
    "decoding.too-short": "{what}: row {row} is right as far as it goes, but ends too early.",
    "decoding.sequence": "{what}: in row {row}, the token at place {place} is another one (counted from 0).",
    "decoding.impossible": (
        "{what}: {count} of {total} drawn tokens have the probability 0. This cannot happen by chance."
    ),
    "decoding.not-random": "{what}: {total} draws always gave the same token, though others are likely, too.",
    "decoding.one-draw": "{what}: all rows of a call got the same token. Each row needs a draw of its own.",
    "decoding.distribution": (
        "{what}: {total} drawn tokens do not follow the right distribution; that is not by chance."
    ),
}

_FILTERS: Mapping[str, str] = {
    "decoding.one-too-many": "{what} keeps one token more than k.",
    "decoding.least-kept": "{what} keeps the least likely tokens instead of the most likely ones.",
    "decoding.not-removed": (
        "{what}: a token whose logit is set to 0 is not removed: softmax still gives it a probability."
    ),
    "decoding.whole-batch": "{what} treats all rows as one. Each row is a text of its own.",
    "decoding.crossing-excluded": (
        "{what} leaves out the token with which the mass reaches p. It belongs to the nucleus."
    ),
    "decoding.not-sorted": (
        "{what} adds up probabilities in the order of the vocabulary, not from the most likely token on."
    ),
    "decoding.order-lost": (
        "{what} decides in sorted order, but applies that to the tokens in their own order."
    ),
    "decoding.single-threshold": "{what} compares every single probability with p.",
    "decoding.negative-raised": (
        "{what} makes some tokens that occurred more likely: mind the sign of a logit."
    ),
    "decoding.only-last-ngram": (
        "{what} only looks at the n-gram directly before. An n-gram may not repeat from any place."
    ),
    "decoding.every-token-banned": "{what} bans every token that occurred, whatever stood before it.",
    "decoding.one-too-long": (
        "{what} compares n tokens instead of n − 1: the next token is the n-th one of the n-gram."
    ),
    "decoding.temperature-last": (
        "{what} divides by the temperature after the filters. Top-p then looks at other probabilities."
    ),
    "decoding.temperature-multiplied": (
        "{what} multiplies with the temperature: a high one then makes the choice more certain."
    ),
    "decoding.temperature-forgotten": "{what} does not depend on the temperature.",
    "decoding.not-renormalised": (
        "{what}: the probabilities of what is kept are those from before the filters; their sum is below 1."
    ),
    "decoding.top-p-first": "{what} applies top-p before top-k; the question asks for the other order.",
    "decoding.not-drawn": "{what} takes the most likely token. Sampling draws one at random.",
    "decoding.uniform-over-all": "{what} draws every token equally often, whatever its logit.",
    "decoding.uniform": "{what} draws all tokens that are kept equally often, whatever their probability.",
}

_SEARCHES: Mapping[str, str] = {
    "decoding.first-row-for-all": "{what} chooses for the first row and gives the token to all rows.",
    "decoding.mask-ignored": "{what} calls the model without the attention mask, so padding is read as text.",
    "decoding.other-position": "{what} reads the logits of another position than the last one.",
    "decoding.goes-on": "{what}: a row that has ended goes on with further tokens.",
    "decoding.end-replaced": (
        "{what}: the token that ends a row is replaced by padding. It still belongs to the row."
    ),
    "decoding.one-beam": "{what} goes on with the best beam only: that is greedy search.",
    "decoding.sums-forgotten": (
        "{what} ranks by the last token's probability, not by that of the whole sequence."
    ),
    "decoding.logits-summed": (
        "{what} adds up logits. Logits of different steps can be compared only after a log-softmax."
    ),
    "decoding.penalty-forgotten": (
        "{what} compares hypotheses of different lengths without the length penalty."
    ),
    "decoding.end-ignored": "{what} goes on after the token that ends a hypothesis.",
    "decoding.first-finished": (
        "{what} returns the hypothesis that ended first. A later one can have a better score."
    ),
    "decoding.ban-forgotten": "{what} lets n-grams repeat that are banned.",
}

SENTENCES: Mapping[str, str] = {**_SEEN, **_FILTERS, **_SEARCHES}
