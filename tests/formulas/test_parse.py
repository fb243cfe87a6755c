"""Test the reading of formulas."""

from __future__ import annotations

from fractions import Fraction

import pytest

from autograder.formulas.equality.compare import Comparer
from autograder.formulas.errors import FormulaError, Unreadable
from autograder.formulas.nodes import Add, Const, Div, Fn, Mul, Neg, Num, Pow, Relation, Sym, Tuple
from autograder.formulas.notation.formula_lists import parse_single
from autograder.formulas.notation.parse import parse, parse_sides, parse_tuple
from autograder.formulas.notation.vocabulary import Symbol, Vocabulary
from autograder.formulas.values.points import Points
from tests.formulas.examples import NOTATIONS, VOCABULARY

COMPARER = Comparer(Points(VOCABULARY.domains, b"a test"))
D, H, N = Sym("d_model"), Sym("n_heads"), Sym("n")


@pytest.mark.parametrize(
    ("right", "notation"), [(right, notation) for right, all_ in NOTATIONS.items() for notation in all_]
)
def test_notations_of_the_exams_formulas(right: str, notation: str) -> None:
    """Every usual notation of a formula of the exam is read as that formula."""
    assert COMPARER.is_equal(parse(notation, VOCABULARY), parse(right, VOCABULARY))


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("8*d^2", Mul((Num(8), Pow(D, Num(2))))),
        ("-d^2", Neg(Pow(D, Num(2)))),
        ("2^-d", Pow(Num(2), Neg(D))),
        ("d^h^n", Pow(D, Pow(H, N))),
        ("d - h + n", Add((D, Neg(H), N))),
        ("d/h/n", Div(Div(D, H), N)),
        ("d/h*n", Mul((Div(D, H), N))),
        ("1/2 d", Mul((Div(Num(1), Num(2)), D))),
        ("(d*h)*n", Mul((Mul((D, H)), N))),
        ("d/(h n)", Div(D, Mul((H, N)))),
        ("nd", Mul((N, D))),
        ("n log n", Mul((N, Fn("log", (N,))))),
        (r"n\log_2 n", Mul((N, Fn("log", (N, Num(2)))))),
        ("log_10(n)", Fn("log", (N, Num(10)))),
        ("log2(n)", Fn("log", (N, Num(2)))),
        ("log^2(n)", Pow(Fn("log", (N,)), Num(2))),
        (r"\log{n}", Fn("log", (N,))),
        ("lg n^2", Fn("lg", (Pow(N, Num(2)),))),
        ("√n", Fn("sqrt", (N,))),
        (r"\sqrt[3]{n}", Pow(N, Div(Num(1), Num(3)))),
        (r"\sqrt{n d}", Fn("sqrt", (Mul((N, D)),))),
        ("max(n, d)", Fn("max", (N, D))),
        (r"\max\{n, d\}", Fn("max", (N, D))),
        ("Max(d_model, n)", Fn("max", (D, N))),
        ("n!", Fn("factorial", (N,))),
        (r"\binom{n}{2}", Fn("binomial", (N, Num(2)))),
        ("2πn", Mul((Num(2), Const("pi"), N))),
        ("e^n", Pow(Const("e"), N)),
        (r"\frac12", Div(Num(1), Num(2))),
    ],
)
def test_grammar(text: str, tree: object) -> None:
    """Precedence, associativity and functions follow the conventions of mathematics."""
    assert tree == parse(text, VOCABULARY)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("124,439,808", 124439808),
        ("124.439.808", 124439808),
        ("124 439 808", 124439808),
        ("124_439_808", 124439808),
        ("124'439'808", 124439808),
        ("124{,}439{,}808", 124439808),
        (r"124\,439\,808", 124439808),
        ("12\u202f345", 12345),
        ("1,024", 1024),
        ("1,234.5", Fraction(2469, 2)),
        ("1.5e3", 1500),
        ("1E6", 1000000),
        (".5", Fraction(1, 2)),
        ("2.", 2),
        ("1.024", Fraction(128, 125)),
        ("\uff11\uff12", 12),
    ],
)
def test_numbers(text: str, value: int | Fraction) -> None:
    """Numbers are exact; digits may be grouped in every common way."""
    assert Num(value) == parse(text, VOCABULARY)


@pytest.mark.parametrize(
    ("text", "code", "offset"),
    [
        ("", "empty", 0),
        ("   ", "empty", 3),
        ("$$", "empty", 2),
        ("8*", "ends-early", 2),
        ("8*d_model +", "ends-early", 11),
        ("(d", "unclosed", 0),
        ("2*(d+(h)", "unclosed", 2),
        ("d)", "unopened", 1),
        ("(d]", "unopened", 2),
        ("4 128", "two-numbers", 2),
        ("d 2", "number-after-name", 2),
        ("(d)2", "number-after-name", 3),
        ("d/h n", "ambiguous-division", 4),
        ("log n d", "ambiguous-function", 6),
        ("max(1,024)", "ambiguous-comma-thousands", 4),
        ("0,5,1*d", "comma", 1),
        ("1,5,3", "comma", 1),
        ("d, h", "comma", 1),
        ("8*dmodell", "unknown-name", 2),
        ("8*dh", "ambiguous-name", 2),
        ("d_modell", "unknown-name", 0),
        (r"\foo d", "unknown-command", 0),
        (r"\mathrm{d\_model}₂", "unknown-name", 0),
        (r"\text{d}_{\mathrm{model}}₂", "unknown-name", 0),
        ("d.real", "unknown-character", 1),
        ("d; h", "unknown-character", 1),
        ("'d'", "unknown-character", 0),
        ("d % 2", "unknown-character", 2),
        ("日", "unknown-character", 0),
        ("8·d² + 日", "unknown-character", 7),
        ("d² · dmodl", "unknown-name", 5),
        ("𝑑 + x", "unknown-name", 4),
        ("d = h", "unexpected-relation", 2),
        ("(d = h)", "unexpected-relation", 3),
        ("d * * h", "unexpected", 4),
        ("/d", "unexpected", 0),
        ("n!!", "unexpected", 2),
        ("9^9^9", "exponent-too-large", 1),
        ("d^1001", "exponent-too-large", 1),
        ("d^(2-1003)", "exponent-too-large", 1),
        ("1001!", "number-too-large", 0),
        ("binomial(n)", "argument-count", 0),
        ("sqrt(n, 2)", "argument-count", 0),
        ("9" * 401, "number-too-long", 0),
        ("1e4000", "number-too-long", 0),
        ("(" * 60 + "d" + ")" * 60, "too-deep", 40),
        ("d" * 2001, "too-long", 2000),
        ("d+" * 400 + "d", "too-many-parts", 400),
        ("d" + "/d" * 40, "too-many-parts", 34),
    ],
)
def test_errors_point_at_their_place(text: str, code: str, offset: int) -> None:
    """Text outside the grammar has a stable code and an offset in the submitted text."""
    with pytest.raises(Unreadable) as caught:
        parse(text, VOCABULARY)
    assert (code, offset) == (caught.value.code, caught.value.offset)


def test_latex_in_an_ordinary_python_string() -> None:
    r"""``"\frac"`` and ``"\times"`` are read even if a string without ``r`` lost their backslash."""
    assert parse(r"\frac{1}{2} \times d_{\text{model}}", VOCABULARY) == parse(
        "\frac{1}{2} \times d_{\text{model}}", VOCABULARY
    )
    assert parse(r"\binom{n}{2}\left(d\right)", VOCABULARY) == parse(
        "\binom{n}{2}\\left(d\right)", VOCABULARY
    )


def test_relations() -> None:
    """One equals sign makes a relation; a chain is read as its sides."""
    assert Relation(D, Mul((H, Sym("d_head")))) == parse_single("d_model = n_heads*d_head", VOCABULARY)
    assert parse_sides("d = h == n", VOCABULARY) == (D, H, N)


@pytest.mark.parametrize("text", ["d", "d = h = n"])
def test_a_relation_has_one_equals_sign(text: str) -> None:
    """No equals sign, or two of them, are rejected."""
    with pytest.raises(Unreadable) as caught:
        parse_single(text, VOCABULARY)
    assert caught.value.code == "relation-expected"


@pytest.mark.parametrize(
    "text",
    [
        "(3d, 4d)",
        "[3*d, 4*d]",
        "3d, 4d",
        "3d × 4d",
        "(3d × 4d)",
        r"3d \times 4d",
        "(3d, 4d,)",
        "$(3d,4d)$",
        "(3 x d, 4 × d)",
        "3 × d, 4 x d",
        r"(3 \times d, 4 \times d)",
    ],
)
def test_tuples(text: str) -> None:
    """Shapes are written with commas or crosses, with or without brackets."""
    assert Tuple((Mul((Num(3), D)), Mul((Num(4), D)))) == parse_tuple(text, VOCABULARY)


def test_commas_separate_in_tuples() -> None:
    """In a tuple, a comma is never part of a number, and inner brackets are no tuples."""
    assert Tuple((Num(8), Num(128), Num(64))) == parse_tuple("(8,128,64)", VOCABULARY)
    assert Tuple((Mul((N, D)), Mul((Num(2), H)))) == parse_tuple("(n)(d), (2×h)", VOCABULARY)
    assert Tuple((Mul((N, D)),)) == parse_tuple("(n)*(d)", VOCABULARY)


@pytest.mark.parametrize(
    ("symbols", "message"),
    [
        ({"a": Symbol(aliases=("b",)), "b": Symbol()}, "'b' already stands for 'a'"),
        ({"max": Symbol()}, "cannot be the name"),
        ({"2x": Symbol()}, "cannot be the name"),
        ({"x": Symbol(domain="complex")}, "domain: expected one of"),
    ],
)
def test_a_vocabulary_must_be_clear(symbols: dict[str, Symbol], message: str) -> None:
    """Each spelling must be a name and belong to one symbol."""
    with pytest.raises(FormulaError, match=message):
        Vocabulary(symbols)


@pytest.mark.parametrize(
    ("declared", "written"),
    [
        ("alpha", "α"),
        ("α", r"\alpha"),
        ("lambda", "λ"),
        ("λ_1", r"\lambda_1"),
        ("mu", "µ"),
        ("epsilon", "ϵ"),
        ("ε", r"\epsilon"),
        ("ε", r"\varepsilon"),
        ("epsilon", r"\varepsilon"),
    ],
)
def test_a_greek_letter_is_its_name(declared: str, written: str) -> None:
    """A declared Greek letter may be written by its name, and a declared name by its letter."""
    assert Sym(declared) == parse(written, Vocabulary({declared: Symbol()}))


def test_a_digit_behind_a_symbol_stays_in_doubt() -> None:
    """d2 may mean d_2 or d², so it is ambiguous if both are declared."""
    vocabulary = Vocabulary({"d": Symbol(), "d_2": Symbol(), "k_1": Symbol()})
    with pytest.raises(Unreadable) as caught:
        parse("8*d2", vocabulary)
    assert {"name": "d2", "suggestion": "d_2"} == caught.value.params
    assert Sym("k_1") == parse("k1", vocabulary)
