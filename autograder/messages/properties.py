"""Sentences about properties of the student's own code: what was changed, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping

SENTENCES: Mapping[str, str] = {
    "property.masked-leaks": "{what}: changing a key that the mask blocks still changed the result.",
    "property.batch-leaks": "{what}: changing one sequence of the batch changed the results of the others.",
    "property.order-matters": "{what}: giving the same keys and values in another order changed the result.",
    "property.sees-later": "{what}: changing later positions changed earlier results.",
    "property.no-influence": "{what}: changing an input that must matter did not change the result.",
    "property.no-batch": "{what}: the result's first axis is not the batch.",
    "property.no-positions": "{what}: the result's second axis is not the position.",
    "property.no-rows": "{what}: the result has no rows of weights.",
    "property.negative": "{what}: some of the weights are negative.",
    "property.rows": "{what}: the weights of a row do not sum to one.",
    "property.no-numbers": "{what}: the result is not an array of finite numbers.",
    "property.no-gradient": "{what}: after backward there is no gradient on {names}.",
    "property.not-raised": "{what} accepted what it should refuse: expected is {wanted}, or a kind of it.",
    "property.other-error": "{what} refused it with {error}: expected is {wanted}, or a kind of it.",
}
