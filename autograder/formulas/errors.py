"""What can go wrong with a formula."""

from __future__ import annotations


class FormulaError(Exception):
    """Base of the errors about formulas, raised itself for declared symbols and relations that are no use."""


class Unreadable(FormulaError):
    """A formula is not in the grammar.

    Attributes:
        code: stable name of the fault, e.g. ``"unknown-name"``; also the key of its sentence.
        offset: where in the text, in characters; -1 when no place can be named.
        params: what the sentence mentions, e.g. ``{"name": "dmodel", "suggestion": "d_model"}``.
    """

    def __init__(self, code: str, offset: int = -1, **params: str) -> None:
        super().__init__(f"{code} at {offset}: {params}" if params else f"{code} at {offset}")
        self.code = code
        self.offset = offset
        self.params = params


class Undecided(FormulaError):
    """Two formulas could be proven neither equal nor different within the limits."""
