"""Puts results that were computed elsewhere in the place of functions of a notebook. Runs in the box.

A table of results is all that comes into the box: no code of the reference. What a table does not hold is
written down, and the student's own function answers meanwhile. Like everything here it is not trusted after
student code has run.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

STAND_IN = "@stand-in"
"""The target of calls by which plans reach it."""
MOST_UNKNOWN = 500
"""Calls that are written down for one scenario."""

Encoded = tuple[Any, Mapping[str, np.ndarray]]
"""A tagged tree and its arrays."""


class StandIns:
    """What a plan asks for in a box of its own: `put` first, `unknown` after each scenario."""

    def __init__(
        self,
        namespace: dict[str, Any],
        encode: Callable[[Any], Encoded],
        decode: Callable[[Any, Mapping[str, np.ndarray]], Any],
    ) -> None:
        self._namespace = namespace
        self._encode = encode
        self._decode = decode
        self._own: dict[str, Any] = {}
        self._unknown: dict[tuple[str, str], Encoded] = {}
        self._inside = 0
        self._own_answers = True

    def put(self, tables: Mapping[str, Sequence[Sequence[Any]]], *, own: bool = True) -> None:
        """Let these results stand in for functions from now on.

        Args:
            tables: by the function's name: the key of the arguments, whether it raises, what it returns.
            own: whether the student's own function answers what is not known; otherwise nothing does.
        """
        self._own_answers = own
        for name, table in tables.items():
            if name not in self._own:
                self._own[name] = self._namespace.get(name)
            self._namespace[name] = self._standing_in(name, table)

    def unknown(self) -> list[Any]:
        """The calls that no table had a result for: name, key, arguments. They are told once."""
        told = [[name, key, *self._fresh(one)] for (name, key), one in self._unknown.items()]
        self._unknown.clear()
        return told

    def _standing_in(self, name: str, table: Sequence[Sequence[Any]]) -> Callable[..., Any]:
        known = {key: None if raises else self._kept(value) for key, raises, value in table}

        def stand_in(*args: Any, **kwargs: Any) -> Any:
            own = self._own[name]
            if self._inside:  # the student's own function calls itself, or another one
                return own(*args, **kwargs)
            asked = self._kept([list(args), kwargs])
            key = _key(asked)
            if key not in known:
                if len(self._unknown) < MOST_UNKNOWN:
                    self._unknown[name, key] = asked
                if own is None or not self._own_answers:
                    raise NameError(f"name '{name}' is not defined")
                self._inside += 1
                try:
                    return own(*args, **kwargs)
                finally:
                    self._inside -= 1
            found = known[key]
            if found is None:
                raise ValueError(f"{name} cannot be called like this")
            return self._fresh(found)

        stand_in.__name__ = name
        return stand_in

    def _kept(self, value: Any) -> Encoded:
        """A value as it is now, whatever student code does with it later."""
        tree, arrays = self._encode(value)
        return tree, {key: np.array(one) for key, one in arrays.items()}

    def _fresh(self, kept: Encoded) -> Any:
        tree, arrays = kept
        return self._decode(tree, {key: np.array(one) for key, one in arrays.items()})


def _key(asked: Encoded) -> str:
    tree, arrays = asked
    digest = hashlib.sha256(json.dumps(tree).encode())
    for array in arrays.values():
        digest.update(f"{array.dtype.str} {array.shape}".encode() + array.tobytes())
    return digest.hexdigest()
