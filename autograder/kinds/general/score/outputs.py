"""What a student's side gave for the examples: brought into order, checked, and what is wrong is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autograder.checks.judging.results import Finding, failed, no_answer
from autograder.checks.values.arrays import numbers
from autograder.checks.values.quoting import quote, quote_shape, type_name
from autograder.kinds.general.score.options import ScoreQuestion
from autograder.records import Observation

Entries = np.ndarray | list[str]
"""One for each example: (examples, …) numbers, or texts."""

SUM = 1e-3
"""How far a sum of probabilities may be from one; they are then divided by it, so it is worth nothing."""
SAME = 1e-2
"""Of an example's largest number: what batches of another size change by rounding, in half precision too."""
FEW = 20
"""One in so many examples may be answered otherwise in other company: classes at a tie, by rounding."""
CONSTANT = 1e-6
_MOST_NAMES = 3


def read_entries(value: Any, count: int, options: ScoreQuestion, what: str) -> Entries | Finding:
    """What one value gives for so many examples, or what is wrong with it.

    Args:
        value: as it came from a box.
        count: of the examples.
        options: of the question; what form is asked for.
        what: was asked, for the student.
    """
    if value is None:
        return no_answer("value.none", f"{what} is None", what=what)
    if options.gives == "texts":
        return _texts(value, count, what)
    array = _array(value)
    if array is None:
        form = type_name(value)
        return failed("value.form", f"{what}: {form}", what=what, form=form, place="")
    distribution = options.gives in ("probabilities", "log-probabilities")
    known = options.shape is None or array.shape[1:] == options.shape
    if array.shape[:1] != (count,) or not known or array.ndim < 1 + distribution or not array.size:
        shape = quote_shape(array.shape)
        staff = f"{what}: shape {shape} for {count} examples; each: {options.shape}"
        return failed("score.shape", staff, what=what, shape=shape, count=str(count))
    wrong = int(np.count_nonzero(~np.isfinite(array)))
    if wrong:
        return _counted("score.not-finite", what, wrong, total=array.size)
    if options.gives == "classes":
        return _classes(array, options.classes, what)
    return _distributions(array, options.gives, what) if distribution else array


def together(parts: Sequence[tuple[Sequence[int], Entries]], count: int) -> Entries | None:
    """The entries of all batches in the order of the examples; None where their shapes differ.

    Args:
        parts: of each batch which examples, and their entries.
        count: of all examples.
    """
    first = parts[0][1]
    if isinstance(first, list):
        texts = [""] * count
        for rows, entries in parts:
            for row, entry in zip(rows, entries, strict=True):
                texts[row] = str(entry)
        return texts
    arrays = [np.asarray(entries) for _, entries in parts]
    if any(one.shape[1:] != first.shape[1:] for one in arrays):
        return None
    whole = np.empty((count, *first.shape[1:]), np.result_type(*arrays))
    for (rows, _), array in zip(parts, arrays, strict=True):
        whole[list(rows)] = array
    return whole


def otherwise(entries: Entries, again: Sequence[tuple[Sequence[int], Entries]]) -> tuple[int, int]:
    """How many examples are answered in another way in other company, and how many were tried.

    Args:
        entries: of all examples.
        again: which examples were asked again, and what came then.
    """
    wrong = total = 0
    for rows, others in again:
        total += len(rows)
        if isinstance(entries, list):
            wrong += sum(entries[row] != other for row, other in zip(rows, others, strict=True))
        else:
            wrong += int(np.count_nonzero(_differs(entries[list(rows)], np.asarray(others), SAME)))
    return wrong, total


def is_constant(entries: Entries) -> bool:
    """Whether all examples are answered alike."""
    if isinstance(entries, list):
        return len(set(entries)) == 1
    first = np.broadcast_to(entries[:1], entries.shape)
    return not _differs(entries, first, CONSTANT).any()


def check_tensors(
    found: Mapping[str, np.ndarray], wanted: Mapping[str, tuple[int, ...]] | None, name: str
) -> Finding | None:
    """What of a checkpoint does not fit the model that it is for.

    Args:
        found: its tensors.
        wanted: the shape of each; None: the reference does not say.
        name: of the file.
    """
    if wanted is not None:
        for code, others in (
            ("missing", [*wanted.keys() - found.keys()]),
            ("extra", [*found.keys() - wanted.keys()]),
        ):
            if others:
                names = quote(", ".join(sorted(others)[:_MOST_NAMES]))
                return failed(f"score.tensors-{code}", f"{name}: {code}: {names}", name=name, names=names)
        for key, shape in wanted.items():
            if found[key].shape != shape:
                came = quote_shape(found[key].shape)
                staff = f"{name}: {key} has the shape {came}, expected {shape}"
                return failed("score.tensor-shape", staff, name=name, names=quote(key), shape=came)
    wrong = sum(int(np.count_nonzero(~np.isfinite(one))) for one in found.values())
    total = sum(one.size for one in found.values())
    return _counted("score.not-finite", name, wrong, total=total) if wrong else None


def file_failure(observations: Sequence[Observation], name: str) -> Finding | None:
    """Why a file could not be read in its box, where it is the file that is to blame."""
    last = observations[0] if observations else None
    if last is None or not last.error:
        return None
    if last.is_a(("FileNotFoundError",)):
        return no_answer("score.no-file", f"{name}: not there", name=name)
    if last.is_a(("ValueError", "EOFError", "UnicodeDecodeError", "OSError")):
        return failed("score.file", f"{name}: {last.error}: {quote(last.message)}", name=name)
    return None


def _array(value: Any) -> np.ndarray | None:
    """Numbers as an array with at least one axis; also a list of arrays of one shape."""
    found = numbers(value)
    if found is None and isinstance(value, list | tuple) and value:
        parts = [numbers(one) for one in value]
        arrays = [one.array for one in parts if one is not None]
        if len(arrays) < len(parts) or any(one.shape != arrays[0].shape for one in arrays):
            return None
        whole = np.stack(arrays)
    elif found is None or found.array.ndim == 0:
        return None
    else:
        whole = found.array
    return None if whole.dtype.kind not in "biuf" else whole


def _texts(value: Any, count: int, what: str) -> Entries | Finding:
    if not isinstance(value, list | tuple) or not all(isinstance(one, str) for one in value):
        return failed("score.texts", f"{what}: {type_name(value)}", what=what)
    if len(value) != count:
        shape = quote_shape((len(value),))
        return failed("score.shape", f"{what}: {len(value)} texts", what=what, shape=shape, count=str(count))
    return list(value)


def _classes(array: np.ndarray, classes: int, what: str) -> Entries | Finding:
    whole = array.astype(np.float64)
    wrong = int(np.count_nonzero(whole != np.round(whole)))
    if wrong or np.abs(whole).max() >= 2**53:
        return _counted("score.whole", what, wrong or array.size, total=array.size)
    outside = int(np.count_nonzero((whole < 0) | (whole >= classes))) if classes else 0
    if outside:
        return _counted("score.class", what, outside, total=array.size, last=classes - 1)
    return whole.astype(np.int64)


def _distributions(array: np.ndarray, gives: str, what: str) -> Entries | Finding:
    """Probabilities, or their logarithms, each distribution divided by its sum."""
    wide, count = array.astype(np.float64), len(array)
    with np.errstate(all="ignore"):
        shares = wide if gives == "probabilities" else np.exp(wide)
        negative = _examples(shares < -SUM)
        if negative:
            return _counted("score.negative", what, negative, count=count)
        shares = np.maximum(shares, 0.0)
        sums = shares.sum(-1, keepdims=True)
        wrong = _examples(~(np.abs(sums - 1) <= SUM))
        if wrong:
            return _counted("score.sum", what, wrong, count=count)
        return np.asarray(shares / sums if gives == "probabilities" else wide - np.log(sums))


def _examples(wrong: np.ndarray) -> int:
    """In how many examples something is."""
    return int(np.count_nonzero(wrong.reshape(len(wrong), -1).any(-1)))


def _differs(one: np.ndarray, other: np.ndarray, tolerance: float) -> np.ndarray:
    """(examples,) bool; numbers that are whole must be equal."""
    if one.shape != other.shape:
        return np.ones(len(one), bool)
    flat, others = (each.reshape(len(each), -1) for each in (one, other))
    if one.dtype.kind != "f" and other.dtype.kind != "f":
        return np.asarray((flat != others).any(-1))
    flat, others = flat.astype(np.float64), others.astype(np.float64)
    with np.errstate(all="ignore"):
        apart = np.abs(flat - others).max(-1)
        return np.asarray(~(apart <= tolerance * np.abs(flat).max(-1)))


def _counted(code: str, what: str, wrong: int, **counts: int) -> Finding:
    numbers_told = {name: str(count) for name, count in counts.items()}
    of_all = ", ".join(f"{name} {count}" for name, count in counts.items())
    return failed(code, f"{what}: {wrong} wrong, of {of_all}", what=what, wrong=str(wrong), **numbers_told)
