"""Orders of growth that are known from how they were made, as formulas and as statements of an item."""

from __future__ import annotations

from collections import Counter

import pytest

from autograder.formulas.errors import Undecided
from autograder.formulas.growth import compare_orders, compute_order
from autograder.formulas.notation.landau import parse_landau
from autograder.formulas.notation.vocabulary import Symbol, Vocabulary
from tests.formulas.growths import Pair, drawn
from tests.kinds.general.form_exam import check_of, outcome

PAIRS = 900
SEED = 14
VOCABULARY = Vocabulary({name: Symbol() for name in ("n", "d", "h")})


def verdict(pair: Pair) -> tuple[bool, bool] | None:
    """Whether the first is at most, and at least, a constant times the second; None where it is left open."""
    first, second = (parse_landau(text, VOCABULARY) for text in (pair.first, pair.second))
    try:
        found = compare_orders(compute_order(first), compute_order(second))
    except Undecided:
        return None
    return found.at_most, found.at_least


@pytest.mark.slow
def test_no_verdict_is_wrong_and_none_is_left_open() -> None:
    """Products, sums, quotients, maxima, differences, factorials and exponentials in many spellings."""
    found: Counter[str] = Counter()
    for pair in drawn(PAIRS, SEED):
        expected = (pair.at_most, pair.at_least)
        assert verdict(pair) == expected, pair
        found[f"{pair.family} {expected}"] += 1
    assert 11 == len(found)  # two products in one symbol can always be compared
    assert min(found.values()) > PAIRS // 100


@pytest.mark.parametrize(
    ("first", "second", "at_most"),
    [
        ("n*log(n)", "n^(log_6(3))", False),
        ("sqrt(n)", "n^(log_6(3))", True),
        ("n^3", "n^pi", True),
        ("n^4", "n^pi", False),
        ("2^n", "3^n/2^n", False),
        ("n", "ceil(n) - n", False),
        ("sqrt(n)", "(1/n)!", False),
        ("(n + d)^2", "(n + d)^(log_2(3))", False),
        ("1", "log(max(1/2, 1)*2)", True),
    ],
)
def test_what_is_hard_to_tell_is_never_told_wrongly(first: str, second: str, at_most: bool) -> None:
    """Constants without a simple form: the right verdict, or a person's."""
    assert verdict(Pair("", first, second, at_most, at_least=False)) in (None, (at_most, not at_most))


SIGNS = ("O", "Θ", "Ω")
RIGHT = {
    (asked, written)
    for asked in SIGNS
    for written in SIGNS
    if asked == written or (written == "Θ" and asked in ("O", "Ω"))
}
"""Of the same order: Θ says all that O and Ω say."""


@pytest.mark.parametrize("asked", SIGNS)
@pytest.mark.parametrize("written", SIGNS)
def test_statements_of_every_sign(asked: str, written: str) -> None:
    """The sign is judged apart from the order: of drawn pairs, only those of one order are right."""
    pairs = [pair for pair in drawn(90, SEED) if pair.family == "two symbols"]
    for pair in pairs:
        check = check_of(f'form = "asymptotic"\naccept = ["{asked}{pair.first[1:]}"]\n')
        code, points = outcome(check, f"{written}{pair.second[1:]}")
        same = pair.at_most and pair.at_least
        assert (points > 0) == (same and (asked, written) in RIGHT)
        assert (code == "asymptotic.sign") == (same and (asked, written) not in RIGHT)
        true = (asked == written == "O" and pair.at_most) or (asked == written == "Ω" and pair.at_least)
        assert code.startswith("asymptotic.not-tight") == (true and not same)
