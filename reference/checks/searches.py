"""What the checks of searches share: random models, and how results are read and compared."""

import functools

import torch

from autograder.checking import Wrong, assert_equal
from reference.checks.arrays import read_array
from reference.gpt2 import GPT2


@functools.lru_cache(maxsize=256)
def make_model(seed, n_vocab, spread):
    """Return a random model. It is frozen, so that a search may change in place what it gives."""
    torch.manual_seed(seed)
    return GPT2(n_vocab, 24, n_layers=1, spread=spread).requires_grad_(False).eval()


def copy_model(student, model):
    """Return a model of the student's notebook with the same weights."""
    n_vocab = model.tokens.num_embeddings
    copy = getattr(student, "GPT2", GPT2)(n_vocab, 24, n_layers=1).requires_grad_(False).eval()
    copy.load_state_dict(model.state_dict())
    return copy


def read_rows(value):
    """Return rows of token ids.

    Raises:
        Wrong: these are none.
    """
    rows = read_array(value, "iu")
    if rows is None or rows.ndim != 2:
        raise Wrong("rows of token ids are asked for")
    return rows.tolist()


def is_allowed(rows, ways):
    """Return whether each row is one of its ways."""
    return all(row in allowed for row, allowed in zip(rows, ways, strict=True))


def assert_all_found(search, cases):
    """Fail unless each row is one of those that ties allow.

    All results are compared before this fails, so that a mistake is recognised by all of them.

    Args:
        search: case → the student's result, our rows, and a function that gives for each row all that ties
            allow.
        cases: not a generator, in which a StopIteration of the student's would become ours.
    """
    first = None
    for case in cases:
        value, expected, find_ways = search(case)
        try:
            rows = read_rows(value)
            is_tied = rows != expected and len(rows) == len(expected) and is_allowed(rows, find_ways())
            right = rows if is_tied else expected
            assert_equal([len(rows), *rows], [len(right), *right])
        except Wrong as error:
            first = first or error
    if first is not None:
        raise first
