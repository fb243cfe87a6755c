"""Models with stated weights: with the right ones, most planted faults do nothing."""

import torch

from autograder.checking import Unclear
from autograder.checking.transformers import StudentModel


def make_with_weights(kind, sizes, weights):
    """Return a student's model with these weights, in float32.

    Args:
        kind: the class.
        sizes: its arguments.
        weights: by the names in the listing.

    Raises:
        Unclear: the model has other weights: manual review.
    """
    model = StudentModel(kind, sizes, dtype="float32")
    found = model.list_weights()
    if dict(found) != {name: list(weight.shape) for name, weight in weights.items()}:
        raise Unclear(f"other weights than the listing's: {found}")
    model.set_weights(torch.cat([weights[name].float().flatten() for name, _ in found]))
    return model
