"""Which calls a decoding question makes: in the student's box, and of the reference's oracle."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from autograder.checks.base import Draw
from autograder.checks.options import Case, Given
from autograder.checks.planning.drawing import Arguments, Inputs
from autograder.kinds.transformers.decoding.options import DecodingQuestion
from autograder.records import Call, Ref, Scenario, Tensor

MODEL = "model"
"""The kept name of the given model."""


class Asking:
    """The calls of one question.

    Args:
        name: the function the student writes.
        options: of the question.
    """

    def __init__(self, name: str, options: DecodingQuestion) -> None:
        self._name = name
        self._options = options
        self.calls = 2 if options.contract == "sample" or options.repeat else 1
        """Calls of the function in one scenario."""
        self.start = 3 if options.model else 0
        """Calls before the first one of the function."""

    def student(self, title: str, name: str, case: Case, draw: Draw) -> Scenario:
        """One case in one round: the given model, then the function, as often as it takes."""
        first, second = self._seeds(name, draw)
        args, kwargs = self.arguments(name, case, draw)
        if self._options.contract == "sample":
            args = (self._rows(args[0]), *args[1:])
        else:
            second = first
        seeds = (first, second) if case.seed is None else (case.seed, case.seed)
        prologue: tuple[Call, ...] = ()
        if self._options.model:
            prologue = self._model(self._options.model, self._options.model.name, "", name, draw)
            args = (Ref(MODEL), *args)
        call = Call(self._name, args=args, kwargs=kwargs, grad=True, default_dtype=self._dtype())
        asked = tuple(msgspec.structs.replace(call, seed=seed) for seed in seeds[: self.calls])
        return Scenario(title, (*prologue, *asked))

    def reference(self, title: str, name: str, case: Case, draw: Draw) -> Scenario:
        """The same of the oracle: its model, then what it expects; one row where rows are drawn."""
        args, kwargs = self.arguments(name, case, draw)
        prologue: tuple[Call, ...] = ()
        if self._options.model:
            prologue = self._model(self._options.model, self._name, "model", name, draw)
            args = (Ref(MODEL), *args)
        asked = Call(
            self._name, attribute="expected", args=args, kwargs=kwargs, seed=0, default_dtype=self._dtype()
        )
        return Scenario(title, (*prologue, asked))

    def arguments(self, name: str, case: Case, draw: Draw) -> Arguments:
        """The hidden arguments of one case in one round, without the model."""
        return Inputs(self._options, draw).case(name, case)

    def _model(self, model: Given, target: str, attribute: str, name: str, draw: Draw) -> tuple[Call, ...]:
        args, kwargs = Inputs(self._options, draw).arguments("model", model.args, model.kwargs)
        seed = self._seeds(f"model of {name}", draw)[0]
        made = Call(
            target,
            attribute=attribute,
            args=args,
            kwargs=kwargs,
            keep=MODEL,
            seed=seed,
            grad=True,
            default_dtype=self._dtype(),
        )
        # Whoever searches does not train: what the model gives can be changed in place, and needs no memory
        # for a backward pass. Autograd itself is on, as in a notebook.
        frozen = Call(Ref(MODEL), attribute="requires_grad_", args=(False,), keep=MODEL)
        return made, frozen, Call(Ref(MODEL), attribute="eval", keep=MODEL)

    @staticmethod
    def _seeds(name: str, draw: Draw) -> tuple[int, int]:
        first, second = draw.generator(f"seed: {name}").integers(0, 2**31, 2)
        return int(first), int(second)

    def _rows(self, row: Any) -> Any:
        """Many times the same row."""
        numbers = row.array if isinstance(row, Tensor) else row
        rows = np.repeat(numbers, self._options.draws, axis=0)
        return Tensor(rows, row.dtype) if isinstance(row, Tensor) else rows

    def _dtype(self) -> str:
        return self._options.precision if self._options.library == "torch" else ""
