"""One call of what a student wrote."""

from __future__ import annotations

from autograder.checks.options import CallOptions
from autograder.checks.planning.drawing import Arguments
from autograder.records import Call, Ref


def asking(
    target: str | Ref,
    options: CallOptions,
    arguments: Arguments,
    *,
    attribute: str = "",
    seed: int | None = None,
    grad: bool = True,
    keep: str = "",
) -> Call:
    """One call as the question's options have it: with their dtype, and with random numbers fixed."""
    args, kwargs = arguments
    return Call(
        target,
        attribute=attribute,
        args=args,
        kwargs=kwargs,
        seed=0 if seed is None else seed,
        grad=grad,
        keep=keep,
        default_dtype=options.dtype,
    )
