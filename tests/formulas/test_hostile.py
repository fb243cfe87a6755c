"""Hostile formulas cost next to nothing and run nothing."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from autograder.formulas.equality.compare import Comparer
from autograder.formulas.errors import Undecided, Unreadable
from autograder.formulas.nodes import Tree
from autograder.formulas.notation.parse import parse
from autograder.formulas.notation.several import parse_list, parse_single
from autograder.formulas.notation.vocabulary import Vocabulary
from autograder.formulas.values.points import Points
from tests.formulas.examples import VOCABULARY
from tests.formulas.hostile import DECIDED, REFUSED
from tests.formulas.verdicts import JudgingKey
from tests.support.pace import slowness

Reader = Callable[[str, Vocabulary], Tree]
PLAIN = Comparer(Points(VOCABULARY.domains, b"a test"))
HEADS = PLAIN.with_assumptions([parse_single("d_model = n_heads*d_head", VOCABULARY)])
KEYS = {
    "a polynomial": JudgingKey([parse("8*d_model^2", VOCABULARY)], [PLAIN]),
    "a polynomial under an assumption": JudgingKey([parse("8*d_model^2", VOCABULARY)], [PLAIN, HEADS]),
    "a fraction": JudgingKey([parse("n/(d_model + 1) + 1/n_heads", VOCABULARY)], [PLAIN, HEADS]),
    "a logarithm": JudgingKey([parse("n*log(n) + d_model", VOCABULARY)], [PLAIN]),
    "a ceiling": JudgingKey([parse("ceil(n/2)", VOCABULARY)], [PLAIN]),
    "a power": JudgingKey([parse("2^n*d_model", VOCABULARY)], [PLAIN]),
}
SECONDS = 0.2
"""Of processor time on the usual machine (`tests.support.pace`): twenty times what any text takes."""
DIAGNOSED = 0.5
"""The same for a wrong formula of any size: what is wrong in it is looked for as well."""


def fastest(text: str, read: Reader = parse, key: JudgingKey = KEYS["a polynomial"]) -> tuple[str, float]:
    """What comes of a text, and the shortest of five times, as on the usual machine."""
    outcome, best = "", 1e9
    for _ in range(5):
        start = time.thread_time()
        try:
            outcome = "right" if key.verdict(read(text, VOCABULARY)).right else "wrong"
        except Unreadable:
            outcome = "refused"
        except Undecided:
            outcome = "undecided"
        best = min(best, time.thread_time() - start)
    return outcome, best / slowness()


@pytest.mark.parametrize("name", REFUSED)
def test_hostile_texts_are_refused_quickly(name: str) -> None:
    """Each is refused with a message, after little work."""
    outcome, seconds = fastest(REFUSED[name])
    assert outcome == "refused"
    assert seconds < SECONDS


@pytest.mark.slow
@pytest.mark.parametrize("asked", KEYS)
@pytest.mark.parametrize("name", DECIDED)
def test_costly_formulas_end_quickly(name: str, asked: str) -> None:
    """A readable formula of any size is judged, or left to a human, whatever it is compared with."""
    outcome, seconds = fastest(DECIDED[name], key=KEYS[asked])
    if name == "exponent by cancellation" and asked.startswith("a polynomial"):
        assert outcome == "right"
    else:
        assert outcome in ("wrong", "undecided")
    assert seconds < DIAGNOSED


@pytest.mark.parametrize("nested", ["sqrt({} + n)", "1/({} + n)"])
def test_keys_of_many_levels_judge_quickly(nested: str) -> None:
    """A right and a wrong answer to a key of 38 roots or fractions within each other."""
    text = "d"
    for _ in range(38):
        text = nested.format(text)
    key = JudgingKey([parse(text, VOCABULARY)], [PLAIN])
    right, seconds = fastest(text, key=key)
    assert "right" == right
    assert seconds < 2 * SECONDS
    wrong, seconds = fastest(f"{text} + d", key=key)
    assert "right" != wrong
    assert seconds < 5 * SECONDS


@pytest.mark.slow
@pytest.mark.parametrize("name", [*REFUSED, *DECIDED])
def test_lists_and_inequalities_end_quickly(name: str) -> None:
    """The same texts as a list, and as one side of an inequality."""
    text = (REFUSED | DECIDED)[name]
    listed, seconds = fastest(text, parse_list, JudgingKey([parse_list("(n, d)", VOCABULARY)], [PLAIN]))
    assert listed != "right"
    assert seconds < SECONDS
    key = JudgingKey([parse_single("n < d_model", VOCABULARY)], [PLAIN])
    related, seconds = fastest(f"{text} < d", parse_single, key)
    assert related != "right"
    assert seconds < SECONDS


@pytest.mark.parametrize("text", ["- " + "\n" * 1_990, " " * 1_990 + "d", "\n \n" * 600 + "d", "- d\n" * 400])
def test_lists_of_blanks_are_read_quickly(text: str) -> None:
    """What separates the lines of a list is found in one pass."""
    _, seconds = fastest(text, parse_list, JudgingKey([parse_list("(n, d)", VOCABULARY)], [PLAIN]))
    assert seconds < SECONDS
