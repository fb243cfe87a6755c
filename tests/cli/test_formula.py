"""The command ``formula``: show authors how formulas are read and compared."""

from __future__ import annotations

import subprocess

import pytest

from tests.cli.running import only_object, run

SYMBOLS = "n_layers:L,n_heads:h,d_model:d:d_{model},d_head,x=real"
EQUALS = "12*n_layers*d_model^2"


def formula(*words: str) -> subprocess.CompletedProcess[str]:
    """Run the command with the symbols of the exam."""
    return run("formula", *words, "--symbols", SYMBOLS)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("12 L d²",), 0, "read as: 12*n_layers*d_model^2"),
        (("12 L d d", "--equals", "1", "--equals", EQUALS), 0, "verdict: equal"),
        (("12 d²", "--equals", EQUALS), 1, "code: diagnosis.factor-forgotten"),
        (("h d_head", "--equals", "d", "--assume", "d_model=n_heads*d_head"), 0, "verdict: equal"),
        (("d_head = d/h", "--equals", "d = h*d_head", "--form", "relation"), 0, "verdict: equal"),
        (("12 (d",), 2, "   ^"),
        (("",), 2, "there is no formula"),
        (("exp(exp(exp(exp(d))))", "--equals", "d"), 2, "verdict: undecided"),
        (("d", "--equals", "12 (d"), 2, ""),
        (("d", "--assume", "nonsense=="), 2, ""),
        (("d", "--form", "nonsense"), 2, ""),
        (("d, h", "--form", "tuple", "--equals", "h, d"), 1, "verdict: different"),
        (("d", "--language", "fr"), 2, ""),
        (("d", "--question", "task3-b"), 2, ""),
        (("d", "--earlier", "task3-b.formula=d"), 2, ""),
        (("d", "--rubric", "dl4nlp-exam", "--question", "task3-b"), 2, ""),
    ],
)
def test_exit_codes(words: tuple[str, ...], code: int, said: str) -> None:
    """0: equal or readable; 1: not equal; 2: unreadable, unknown, undecided or wrong usage."""
    done = formula(*words)
    assert code == done.returncode, done.stderr
    assert said in done.stdout


def test_symbols_are_separated_by_commas() -> None:
    """Two adjacent names are not a list of two symbols."""
    done = run("formula", "n*d", "--symbols", "n d")
    assert 2 == done.returncode
    assert "separated by commas" in done.stderr


def test_caret_points_at_the_place() -> None:
    """The caret is below the first character that cannot be read."""
    lines = formula("8*dmodell^2 + L").stdout.splitlines()
    place = lines.index("8*dmodell^2 + L")
    assert "  ^" == lines[place + 1]


def test_json_is_one_object() -> None:
    """One object contains reading, LaTeX, MathML, verdict and code."""
    report = only_object(formula("12 d", "--equals", EQUALS, "--json").stdout)
    assert {"different", "12*d_model", r"12 \cdot d_{\text{model}}"} == {
        report["verdict"],
        report["reading"],
        report["latex"],
    }
    assert report["mathml"].startswith("<math")
    assert "diagnosis.several-factors" == report["code"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("4d²", "--question", "task3-b", "--language", "de"), 1, "Das ist eine Matrix."),
        (("12 d²", "--question", "task3-e", "--item", "formula"), 0, "verdict: equal"),
        (("16 L d²", "--question", "task3-i"), 1, "code: attention-forgotten"),
        (("28 L d²", "--question", "task3-i", "--earlier", "task3-h.sum=24 d²"), 0, "carried-forward"),
        (("16 L d²", "--question", "task3-i", "--earlier", "task3-h.sum=24 d²"), 1, "code: diagnosis."),
        (("11 L d²", "--question", "task3-f", "--earlier", "task3-e.why=d"), 3, ""),
        (("d", "--question", "task3-g"), 3, ""),
        (("d", "--question", "task3-b", "--item", "why"), 3, ""),
    ],
)
def test_questions_of_a_rubric(words: tuple[str, ...], code: int, said: str) -> None:
    """Symbols, relations, correct answers and partial credit are taken from the rubric."""
    done = run("formula", *words, "--rubric", "dl4nlp-exam")
    assert code == done.returncode, done.stderr
    assert said in done.stdout
