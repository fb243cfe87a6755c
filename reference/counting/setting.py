"""What a counting question is about: a model, and what is done with it. One dictionary in the notebook."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from reference.counting.decoder import Decoder

Numbers = dict[str, int]
"""Name of an entry of the answer → number, in parameters, bytes or FLOPs."""


@dataclass(frozen=True)
class Setting:
    """A model and its use.

    Attributes:
        model: its sizes.
        length: tokens of a sequence.
        batch: sequences.
        dtype: of cached numbers, a key of `memory.BYTES`.
        way: of training, a key of `memory.TRAINING_BYTES`.
        rank: of adapters.
        targets: the matrices that get adapters.
        added_tokens: how many entries of the vocabulary were added to the published one.
    """

    model: Decoder
    length: int = 1
    batch: int = 1
    dtype: str = "bfloat16"
    way: str = "adamw-mixed"
    rank: int = 1
    targets: tuple[str, ...] = ()
    added_tokens: int = 0

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Setting:
        """From the dictionary that a question shows; its ``model`` is a dictionary, too.

        Raises:
            ValueError: a size of the model is unknown or missing.
            TypeError: another name is unknown.
        """
        use = {name: value for name, value in config.items() if name != "model"}
        if "targets" in use:
            use["targets"] = tuple(use["targets"])
        return cls(Decoder.of(config["model"]), **use)

    def resized(self, **sizes: Any) -> Setting:
        """The same use of a model with other sizes."""
        return replace(self, model=replace(self.model, **sizes))
