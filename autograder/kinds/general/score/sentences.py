"""Sentences about measures on hidden data. No sentence says what would have been right for an example."""

from __future__ import annotations

from collections.abc import Mapping

_MEASURED: Mapping[str, str] = {
    "score.top": "{what}: {measured} on {count} hidden examples. That earns all points.{remarks}",
    "score.tier": (
        "{what}: {measured} on {count} hidden examples. That reaches the step at {at}; the next one is at "
        "{next}.{remarks}"
    ),
    "score.below": ("{what}: {measured} on {count} hidden examples. The first step is at {next}.{remarks}"),
    "score.floor": (
        "{what}: {measured} on {count} hidden examples. An untrained model, or an answer that is always the "
        "same, gets {floor}; what is not better than that earns nothing.{remarks}"
    ),
    "score.memorised": (
        "{what}: {measured} on {count} hidden examples, but {changed} on the same ones with changes that "
        "should make no difference. So the examples themselves are known by heart, and the second number "
        "counts.{remarks}"
    ),
    "score.infinite": (
        "{what} gives probability 0 to something that occurs in the hidden examples, so that nothing can be "
        "measured. Leave every possible outcome a small probability."
    ),
}

_REMARKS: Mapping[str, str] = {
    "score.near": (
        " With so many examples this is certain only between {low} and {high}, and the step at {at} lies "
        "there. What counts is the measured value."
    ),
    "score.reported": (
        " Your notebook arrives at {reported}. What counts is what was measured here: your number may be "
        "about other data, such as those of the training, or may not be computed at all."
    ),
}

_OUTPUTS: Mapping[str, str] = {
    "score.shape": (
        "{what} gave the shape {shape} for {count} examples. One entry for each example, in their order, is "
        "asked for, of the form that the question states."
    ),
    "score.not-finite": "{what}: {wrong} of {total} numbers are NaN or infinite, so nothing can be measured.",
    "score.sum": (
        "{what}: for {wrong} of {count} examples the probabilities do not add up to one. Divide each "
        "by the sum over all that is possible; where logarithms are asked for, subtract that of the sum."
    ),
    "score.negative": "{what}: for {wrong} of {count} examples a probability is negative.",
    "score.whole": "{what}: classes are asked for, as whole numbers; {wrong} of {total} are none.",
    "score.class": "{what}: {wrong} of {total} numbers are not among the classes 0 to {last}.",
    "score.texts": "{what}: a list with a text for each example is asked for.",
    "score.batch": (
        "{what} says something else about an example when other examples are asked with it, or in another "
        "order ({wrong} of {count}). Each one must be answered by itself: use evaluation mode (dropout and "
        "batch normalisation change it), and take nothing from the rest of the batch."
    ),
    "score.constant": "{what} says the same about every example, whatever it is. That earns nothing.",
}

_FILES: Mapping[str, str] = {
    "score.no-file": "There is no file “{name}” beside the notebook when it has run.",
    "score.file": (
        "“{name}” cannot be read as what its ending says. In such a file stand only numbers, one row for "
        "each example."
    ),
    "score.safetensors": (
        "“{name}” is not a file in the safetensors format, or it is cut off. Write it with save_file of "
        "safetensors.torch; files of torch.save are not opened, since that runs what stands in them."
    ),
    "score.tensors-missing": "“{name}” has no tensor {names}.",
    "score.tensors-extra": "“{name}” has tensors that the model has no place for: {names}.",
    "score.tensor-shape": "“{name}”: the tensor {names} has the shape {shape}, which does not fit the model.",
}

SENTENCES: Mapping[str, str] = {**_MEASURED, **_REMARKS, **_OUTPUTS, **_FILES}
