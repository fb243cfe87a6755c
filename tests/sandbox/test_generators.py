"""The states of random generators, by which a test's seed reaches the student's box."""

from __future__ import annotations

import random

import numpy as np

from autograder.sandbox.inside.shared_values import Generators, keep_states


def test_what_has_moved_is_seen_once() -> None:
    """A changed state is detected and sent once."""
    seen = Generators()
    assert {} == seen.collect_moved_states()
    for move in (random.random, lambda: random.gauss(0, 1), lambda: random.seed(3)):
        move()
        assert ["random"] == [*seen.collect_moved_states()]
        assert {} == seen.collect_moved_states()
    np.random.random()
    assert ["numpy"] == [*seen.collect_moved_states()]


def test_the_second_number_of_a_pair_counts_as_a_move() -> None:
    """`random.gauss` draws two numbers at a time; using up the second one is detected as a change, too."""
    random.seed(0)
    seen = Generators()
    random.gauss(0, 1)
    told = seen.collect_moved_states()
    kept = random.gauss(0, 1)
    assert ["random"] == [*seen.collect_moved_states()]
    Generators().restore_states(told)
    assert kept == random.gauss(0, 1)


def test_keep_states_puts_all_generators_back() -> None:
    before = random.getstate(), np.random.get_state()[1].tolist()
    with keep_states():
        random.seed(1)
        random.gauss(0, 1)
        np.random.seed(2)
    assert before == (random.getstate(), np.random.get_state()[1].tolist())


def test_the_second_normal_number_of_numpy_counts_as_a_move() -> None:
    """It is kept beside the words of the generator, which stay the same when it is used."""
    np.random.seed(0)
    seen = Generators()
    np.random.standard_normal()
    assert ["numpy"] == [*seen.collect_moved_states()]
    with keep_states():
        kept = np.random.standard_normal()
    assert {} == seen.collect_moved_states()
    assert kept == np.random.standard_normal()
    assert ["numpy"] == [*seen.collect_moved_states()]
