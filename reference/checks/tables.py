"""Reads matrices of 0 and 1 that students write: who sees whom."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor

from autograder.checking import Unclear, Wrong, assert_equal


def assert_matrix(table: Any, right: Any) -> None:
    """Fail unless a student's table is a matrix.

    Args:
        table: nested lists, an array or a tensor of 0 and 1; pairs (row, column) of what is 1; or a
            dictionary from a row to its columns.
        right: the matrix, of 0 and 1.

    Raises:
        Wrong: it is another matrix, or nothing is written.
        Unclear: it cannot be read as a matrix of that shape.
    """
    matrix = torch.as_tensor(right).bool()
    assert_equal(rows_of(read_matrix(table, matrix.shape)), rows_of(matrix))


def rows_of(matrix: Tensor) -> list[str]:
    """Return the rows of a matrix as texts, which staff can read."""
    return ["".join("1" if entry else "0" for entry in row) for row in matrix.tolist()]


def read_matrix(table: Any, shape: torch.Size) -> Tensor:
    """Return a table as a matrix (rows, columns) of bool.

    Positions may have been counted from 1, or entries written as percentages: a person decides what cannot be
    read, because an instructor may well give points for it.

    Raises:
        Wrong: nothing is written.
        Unclear: it has another shape, other entries than 0 and 1, or pairs of other positions.
    """
    if table is None:
        raise Wrong("nothing is written")
    try:
        if isinstance(table, Mapping):
            table = [(row, column) for row, columns in table.items() for column in columns]
        elif isinstance(table, set | frozenset):
            table = sorted(table)
        numbers = torch.as_tensor(table if len(table) > 0 else torch.zeros(0, 2))
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise Unclear(f"no table of numbers: {type(error).__name__}: {error}") from error
    if numbers.shape == shape:
        if not ((numbers == 0) | (numbers == 1)).all():
            raise Unclear("other entries than 0 and 1")
        return numbers.bool()
    if numbers.ndim == 2 and numbers.shape[1] == 2:
        return _read_pairs(numbers.tolist(), shape)
    if numbers.shape == shape[::-1]:
        return numbers.bool()  # rows and columns exchanged
    raise Unclear(f"the shape {tuple(numbers.shape)}, expected {tuple(shape)}")


def _read_pairs(pairs: Iterable[tuple[int, int]], shape: torch.Size) -> Tensor:
    matrix = torch.zeros(shape, dtype=torch.bool)
    for row, column in pairs:
        if not (0 <= row < shape[0] and 0 <= column < shape[1]) or row % 1 or column % 1:
            raise Unclear(f"there is no position ({row}, {column})")
        matrix[int(row), int(column)] = True
    return matrix
