"""Sentences about gradients, about who sees whom, and about shapes line by line.

No sentence says what would have been right.
"""

from __future__ import annotations

from collections.abc import Mapping

_GRADIENTS: Mapping[str, str] = {
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

_VISIBILITY: Mapping[str, str] = {
    "visibility.form": (
        "{what} is a “{form}”; asked for is a matrix of 0 and 1 (rows: who sees; columns: who is seen) or a "
        "list of pairs of positions, counted from 0."
    ),
    "visibility.entry": "{what}: a matrix with other entries than 0 and 1, or False and True.",
    "visibility.position": (
        "{what}: the pair {pair} names a position that does not exist; positions count from 0."
    ),
    "visibility.size": (
        "{what} has the shape {shape}; there is one row for each position that sees and one column for each "
        "that may be seen."
    ),
    "visibility.transposed": (
        "{what} is transposed: rows are the positions that see, columns those that are seen."
    ),
    "visibility.inverted": "{what} says the opposite throughout: 1 means that a position is seen.",
    "visibility.diagonal-missing": "{what}: only the diagonal is wrong; does a position see itself?",
    "visibility.one-ahead": "{what} reaches one position too far ahead.",
    "visibility.both-sides": "{what} looks to both sides alike; here before and after are not the same.",
    "visibility.everything": "{what}: here every position sees every other one; something is hidden, though.",
    "visibility.nothing": "{what}: here no position sees anything.",
    "visibility.padding-ignored": "{what}: padding is seen as if it were text.",
    "visibility.padding-rows": (
        "{what}: the rows of the padding are empty. Nobody attends to padding, but its own outputs are "
        "computed like all others."
    ),
    "visibility.one-layer": (
        "{what} is right for a single layer; a stack of layers passes on what its lower layers saw."
    ),
    "visibility.prefix-causal": (
        "{what}: the prefix is treated like the rest; within the prefix, all see one another."
    ),
    "visibility.windows-added": (
        "{what}: the window is multiplied by the number of layers; the last position of one layer's window "
        "is the first of the next one's."
    ),
    "visibility.dilation-ignored": "{what}: the window has no gaps here; a dilated one leaves positions out.",
    "visibility.window-too-wide": (
        "{what}: the window is one position too wide; it includes the position itself."
    ),
    "visibility.window-too-narrow": "{what}: the window is one position too narrow.",
    "visibility.rows": (
        "{what}: {count} of {total} rows are not right, the first of them that of position {row}."
    ),
}

_CAUSALITY: Mapping[str, str] = {
    "causality.leak": (
        "{what}: the output at position {query} changes when only the input at position {key} is changed, "
        "which it must not see. Pairs like this one: {count}."
    ),
    "causality.blind": (
        "{what}: the output at position {query} stays the same when the input at position {key} is changed, "
        "which it should see. Pairs like this one: {count}."
    ),
    "causality.nothing": "{what}: the output does not depend on this input at all.",
    "causality.examples": (
        "{what}: the output of one example changes when only other examples of the batch are changed."
    ),
    "causality.axes": "{what} has the shape {shape}; there is no axis with one output for each position.",
}

_TRACING: Mapping[str, str] = {
    "tracing.follows": (
        "{what}: not right, but it follows from your own shapes of the lines before, one of which is not "
        "right."
    ),
    "tracing.impossible": (
        "{what}: not right. With your own shapes of the lines before, this line would stop with an error."
    ),
}

SENTENCES: Mapping[str, str] = {**_GRADIENTS, **_VISIBILITY, **_CAUSALITY, **_TRACING}
