"""What a rubric states about an ``implementation`` question."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field

from autograder.checks.options import Case, CaseItem, Rules

Convention = Literal["zero-blocks", "true-keeps", "true-blocks", "one-blocks", "additive"]
"""What a mask says: see `autograder.kinds.transformers.implementation.layer.encoded`."""

CONVENTIONS: tuple[Convention, ...] = ("zero-blocks", "true-keeps", "true-blocks", "one-blocks", "additive")


class Contract(Struct, frozen=True, forbid_unknown_fields=True):
    """The names that the four linear maps must have in the ``state_dict``."""

    query: str
    key: str
    value: str
    output: str
    bias: Literal["required", "none", "optional"] = "required"


class ImplementationQuestion(Struct, frozen=True):
    """Options of an ``implementation`` question."""

    sizes: dict[str, tuple[int, ...]]
    """``d_model`` and ``n_heads``, and others that cases use; one of each list is drawn."""
    case: tuple[Case, ...] = ()
    order: tuple[str, ...] = ("query", "key", "value", "mask")
    """The arguments of ``forward``, where their names do not tell."""
    names: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Role → further names of its argument."""
    contract: Contract | None = None
    """Without it, the projections are found among the parameters."""
    masks: tuple[Convention, ...] = CONVENTIONS
    """The conventions that are right."""
    dropout: float | None = None
    """What the constructor is given as dropout; without it, nothing unless it must have something."""
    precision: Literal["float32", "float64"] = "float32"
    take_first: bool = False
    compare: Rules = Rules(rtol=1e-4, atol=1e-5)
    forbidden: tuple[str, ...] = ()
    """Names that the answer may not make use of."""


Property = Literal[
    "",
    "contract",
    "gradients",
    "convention",
    "masked_key_inert",
    "extreme_scores",
    "batch_independence",
    "key_order_irrelevant",
    "blocked_rows",
    "dropout_evaluation",
    "dropout_training",
    "precision",
    "refuses",
]


class ImplementationItem(CaseItem, frozen=True):
    """Options of an item of an ``implementation`` question."""

    compare: Rules | None = None
    property: Property = ""
    case: str = ""
    """The case whose inputs a property changes; default: the first that fits."""
    roles: tuple[Literal["query", "key", "value", "output"], ...] = ("query", "key", "value", "output")
    """For ``gradients`` and ``contract``: the projections that must learn."""
    convention: Convention = "zero-blocks"
    """For ``convention``: the one that must be understood."""
    raises: tuple[str, ...] = ("ValueError", "AssertionError")
    """For ``refuses``: the exceptions that are right, with their subclasses."""
