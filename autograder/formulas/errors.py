"""Errors about formulas."""

from __future__ import annotations


class FormulaError(Exception):
    """Base of the errors about formulas; raised itself for unusable declarations of symbols and relations."""


class Unreadable(FormulaError):
    """A formula is not in the grammar.

    Attributes:
        code: stable name of the fault, e.g. ``"unknown-name"``; also the key of its message.
        offset: position in the text, in characters; -1 if there is none.
        params: values that the message mentions, e.g. ``{"name": "dmodel", "suggestion": "d_model"}``.
    """

    def __init__(self, code: str, offset: int = -1, **params: str) -> None:
        super().__init__(f"{code} at {offset}: {params}" if params else f"{code} at {offset}")
        self.code = code
        self.offset = offset
        self.params = params


class Undecided(FormulaError):
    """Two formulas could be proven neither equal nor different within the limits."""
