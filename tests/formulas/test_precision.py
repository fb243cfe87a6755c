"""Test that computations keep their precision, although flint has one precision per process."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator

import pytest
from flint import arb, ctx

from autograder.formulas.equality.compare import Comparer
from autograder.formulas.errors import Undecided
from autograder.formulas.notation.parse import parse
from autograder.formulas.values.balls import set_precision
from autograder.formulas.values.points import Points
from tests.formulas.examples import VOCABULARY

ROUNDS = 30


@pytest.fixture
def _often_switched() -> Iterator[None]:
    """Let threads take turns after a microsecond."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("_often_switched")
def test_no_thread_computes_with_anothers_precision() -> None:
    """Each thread keeps its precision at every step, and roots are accurate to it."""
    wrong: list[tuple[int, int]] = []

    def compute(bits: int) -> None:
        for _ in range(ROUNDS):
            with set_precision(bits):
                for _ in range(20):
                    root = arb(2).sqrt()
                    if ctx.prec != bits or not root.rel_accuracy_bits() > bits - 8:
                        wrong.append((bits, ctx.prec))

    run(compute, (64, 300, 900, 2000))
    assert not wrong


@pytest.mark.usefixtures("_often_switched")
def test_threads_get_the_verdicts_that_one_gets() -> None:
    """Threads with different precisions get the same verdicts as a single thread."""
    pairs = [
        (parse(first, VOCABULARY), parse(second, VOCABULARY))
        for first, second in (
            ("n*log(n*d)", "n*log(n) + n*log(d)"),
            ("log(n) + 10^(-80)", "log(n)"),
            ("sqrt(n)*sqrt(d)", "sqrt(n*d)"),
            ("exp(n/d)", "exp(n/d) + 2^(-60)"),
        )
    ]
    alone = [verdict(*pair) for pair in pairs]
    together: list[list[bool | None]] = []
    run(lambda _: together.extend([verdict(*pair) for pair in pairs] for _ in range(5)), range(4))
    assert [True, False, True, False] == alone
    assert [alone] * len(together) == together


def test_the_precision_is_put_back() -> None:
    """The precision is restored after an exception and after nested computations."""
    before = ctx.prec
    with pytest.raises(Undecided), set_precision(500), set_precision(900):
        raise Undecided("anything")
    assert before == ctx.prec


def verdict(first: object, second: object) -> bool | None:
    """Return the verdict, with new points for each call."""
    try:
        return Comparer(Points(VOCABULARY.domains, b"a test")).is_equal(first, second)  # type: ignore[arg-type]
    except Undecided:
        return None


def run(work: object, arguments: object) -> None:
    """Run the function in one thread for each argument."""
    threads = [threading.Thread(target=work, args=(argument,)) for argument in arguments]  # type: ignore[arg-type, attr-defined]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
