"""Sentences about gradients. No sentence says what would have been right."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "gradient.sign": "{what}: every number has the wrong sign.",
    "gradient.factor": "{what} has the right direction, but is longer or shorter by a constant factor.",
    "gradient.transposed": "{what} is transposed. A gradient has the shape of what it is taken for.",
    "gradient.diagonal-only": (
        "{what}: only the diagonal of the Jacobian of the softmax is used; every probability depends on "
        "every score."
    ),
    "gradient.sum-missing": (
        "{what}: the probabilities are multiplied with the incoming gradient, but the sum that comes from "
        "the denominator of the softmax is not subtracted."
    ),
    "gradient.softmax-missing": "{what}: the softmax is left out of the chain rule.",
    "gradient.whole-batch": "{what}: a sum goes over all rows; each row has a softmax of its own.",
    "gradient.other-axis": "{what}: a sum goes along the wrong axis.",
    "gradient.operands-swapped": "{what}: two of the gradients have changed places.",
    "gradient.not-averaged": "{what}: the loss is the mean over the batch; the gradient is that of the sum.",
    "gradient.classes-averaged": "{what}: the mean goes over the batch only, not over the classes as well.",
    "gradient.target-missing": "{what}: these are the probabilities alone; the targets do not come in.",
    "gradient.mean-missing": (
        "{what}: the mean depends on the input as well; the term that comes from it is missing."
    ),
    "gradient.variance-missing": (
        "{what}: the variance depends on the input as well; the term that comes from it is missing."
    ),
    "gradient.statistics-constant": (
        "{what}: mean and variance are treated as constants; both depend on the input."
    ),
    "gradient.gain-missing": "{what}: the gain is left out of the chain rule.",
    "gradient.not-normalised": (
        "{what}: the gain is multiplied with the normalised input, not with the input itself."
    ),
    "gradient.batch-averaged": (
        "{what}: parameters that all rows share collect the sum over the rows, not the mean."
    ),
    "gradient.scale-missing": (
        "{what}: the scores are divided by a root before the softmax; that factor is left out here."
    ),
    "gradient.scores-for-weights": (
        "{what}: the values are weighted with the result of the softmax, not with the scores."
    ),
    "gradient.not-transposed": "{what}: a matrix in the product has to be transposed.",
}
