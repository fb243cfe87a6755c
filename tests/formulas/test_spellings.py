"""Test the spellings that students, editors and programs use."""

from __future__ import annotations

from fractions import Fraction

import pytest

from autograder.formulas.errors import Unreadable
from autograder.formulas.nodes import FUNCTIONS, Add, Div, Fn, Mul, Neg, Node, Num, Pow, Sym
from autograder.formulas.notation.parse import parse, parse_canonical, parse_tuple
from autograder.formulas.notation.vocabulary import FUNCTION_SPELLINGS, Symbol, Vocabulary
from autograder.formulas.printing.mathml import to_mathml
from autograder.formulas.printing.text import to_text
from autograder.questions.numbers.quantities import read_whole
from tests.formulas.examples import VOCABULARY

D, H, L, N = Sym("d_model"), Sym("n_heads"), Sym("n_layers"), Sym("n")
HALF = Div(N, Num(2))


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("ceil(n/2)", Fn("ceil", (HALF,))),
        ("math.ceil(n/2)", Fn("ceil", (HALF,))),
        ("ceiling(n/2)", Fn("ceil", (HALF,))),
        ("⌈n/2⌉", Fn("ceil", (HALF,))),
        (r"\lceil n/2 \rceil", Fn("ceil", (HALF,))),
        (r"\left\lfloor \frac{n}{2} \right\rfloor", Fn("floor", (HALF,))),
        ("n // 2", Fn("floor", (HALF,))),
        ("-(-n//2)", Neg(Fn("floor", (Div(Neg(N), Num(2)),)))),
        ("d - n//2", Add((D, Neg(Fn("floor", (HALF,)))))),
        ("-n/2", Neg(HALF)),
        ("{d}_{model}", D),
        (r"2{{d}_{\text{model}}}^{2}", Mul((Num(2), Pow(D, Num(2))))),
        (r"2{}L{ }d", Mul((Num(2), L, D))),
        (r"2~L~d \\", Mul((Num(2), L, D))),
        (r"\boxed{2 d}", Mul((Num(2), D))),
        (r"2\enspace d\negthinspace n\medspace L", Mul((Num(2), D, N, L))),
        (r"\operatorname{d_{model}}", D),
        (r"\mathrm{n_{layers}} d", Mul((L, D))),
        (r"\operatorname{log}_2 n", Fn("log", (N, Num(2)))),
        (r"\mathrm{log}_{2}(n)", Fn("log", (N, Num(2)))),
        ("dˆ2", Pow(D, Num(2))),
        ("2・d", Mul((Num(2), D))),
        ("1,5e3 n", Mul((Num(1500), N))),
        ("d*n//2*h", Mul((Fn("floor", (Div(Mul((D, N)), Num(2)),)), H))),
        ("⌊n/2⌋⌈n/2⌉", Mul((Fn("floor", (HALF,)), Fn("ceil", (HALF,))))),
        ("pow(d, 2)", Pow(D, Num(2))),
        ("cbrt(n)", Pow(N, Div(Num(1), Num(3)))),
        ("∛n", Pow(N, Div(Num(1), Num(3)))),
        ("np.sqrt(d)", Fn("sqrt", (D,))),
        ("comb(n, 2)", Fn("binomial", (N, Num(2)))),
        (r"\binom42", Fn("binomial", (Num(4), Num(2)))),
        (r"\nicefrac{1}{2}", Div(Num(1), Num(2))),
        (r"\sfrac12", Div(Num(1), Num(2))),
        ("ld(n)", Fn("log", (N, Num(2)))),
        ("Ld_model", Mul((L, D))),
        (r"12Ld_{\text{model}}^2", Mul((Num(12), L, Pow(D, Num(2))))),
        ("d^2_{model}", Pow(D, Num(2))),
        (r"d^{2}_\text{model}", Pow(D, Num(2))),
        ("d²_model", Pow(D, Num(2))),
        ("d _ {model}", D),
        (r"d_{\rm model}", D),
        ("d<sub>model</sub><sup>2</sup>", Pow(D, Num(2))),
        ("2&nbsp;&middot;&nbsp;d", Mul((Num(2), D))),
        (r"2\*d\_model", Mul((Num(2), D))),
        ("`2*d`", Mul((Num(2), D))),
        ("2 x d", Mul((Num(2), D))),
        ("3x4", Mul((Num(3), Num(4)))),
        ("2·d.", Mul((Num(2), D))),
        (r"\begin{equation} 2 d \end{equation}", Mul((Num(2), D))),
        ("d⁻¹", Pow(D, Neg(Num(1)))),
        ("d⁽ⁿ⁺¹⁾", Pow(D, Add((N, Num(1))))),
        ("⅓d", Mul((Div(Num(1), Num(3)), D))),
        ("log²(n)", Pow(Fn("log", (N,)), Num(2))),
    ],
)
def test_spellings(text: str, tree: Node) -> None:
    """Each spelling is read with its meaning."""
    assert tree == parse(text, VOCABULARY)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 000", 1000),
        ("1,000", 1000),
        ("1_000", 1000),
        (r"1\,000", 1000),
        ("1{,}000", 1000),
        ("1'000", 1000),
        ("1 000 000", 1_000_000),
        ("12 288", None),
        ("4 096", 4096),
        ("0,5", Fraction(1, 2)),
        ("0{,}5", Fraction(1, 2)),
        ("0,125", Fraction(1, 8)),
        ("1.234,5", Fraction(2469, 2)),
        ("1.234.567,89", Fraction(123456789, 100)),
        ("1,234.5", Fraction(2469, 2)),
        ("1234,5", Fraction(2469, 2)),
        ("2,50", Fraction(5, 2)),
        ("1,5,3", None),
        ("2½", None),
        ("1.000", 1),
        ("1.000.000", 1_000_000),
    ],
)
def test_grouped_digits_and_decimals(text: str, value: int | Fraction | None) -> None:
    """Grouped digits and decimal commas are accepted if they are unambiguous."""
    if value is None:
        with pytest.raises(Unreadable):
            parse(text, VOCABULARY)
    else:
        assert Num(value) == parse(text, VOCABULARY)


_NARROW_GAPS = {
    "no-break space": "\u00a0",
    "figure space": "\u2007",
    "thin space": "\u2009",
    "hair space": "\u200a",
    "narrow no-break space": "\u202f",
    "six-per-em space": "\u2006",
    "tie": "~",
    "LaTeX thin space": r"\,",
    "LaTeX medium space": r"\:",
    "LaTeX thick space": r"\;",
}


@pytest.mark.parametrize("gap", [*_NARROW_GAPS.values(), r"{\,}"], ids=[*_NARROW_GAPS, "braced LaTeX space"])
def test_digits_are_grouped_by_a_narrow_gap(gap: str) -> None:
    """A narrow space between groups of three digits is read as a separator of thousands."""
    assert Num(11111) == parse(f"11{gap}111", VOCABULARY)
    assert Mul((Num(1234567), D)) == parse(f"1{gap}234{gap}567 d", VOCABULARY)
    assert parse(f"max(1{gap}024, n)", VOCABULARY) == Fn("max", (Num(1024), N))
    assert parse_tuple(f"(1{gap}024, n)", VOCABULARY).elements == (Num(1024), N)
    assert read_whole(f"11{gap}111") == 11111


@pytest.mark.parametrize("gap", _NARROW_GAPS.values(), ids=_NARROW_GAPS.keys())
@pytest.mark.parametrize("digits", ["1234 567", "12 34", "1 2345", "0 123", "1 234 56"])
def test_other_groups_of_digits_are_asked_about(gap: str, digits: str) -> None:
    """Digits in groups of another length are two numbers without an operator."""
    with pytest.raises(Unreadable) as raised:
        parse(digits.replace(" ", gap), VOCABULARY)
    assert raised.value.code == "two-numbers"


@pytest.mark.parametrize("mark", [r",\!", r"{,}\!", r"\!{,}", r"\!,\!"])
def test_a_comma_pulled_tight_groups_digits(mark: str) -> None:
    r"""A comma with a negative space, 11,\!111 in LaTeX, is read as a separator of thousands."""
    assert Num(11111) == parse(f"11{mark}111", VOCABULARY)
    assert Mul((Num(1234567), D)) == parse(f"1{mark}234{mark}567*d", VOCABULARY)
    assert read_whole(f"11{mark}111") == 11111
    assert Num(Fraction(1, 2)) == parse(f"0{mark}5", VOCABULARY)


@pytest.mark.parametrize("text", [r"11,\!111", r"11{,}\!111"])
def test_a_comma_pulled_tight_is_asked_about_where_it_may_stand_before_decimals(text: str) -> None:
    r"""If a course allows decimal commas, 11,\!111 is ambiguous."""
    german = Vocabulary({"d": Symbol("positive integer")})
    german.decimal_comma = True
    with pytest.raises(Unreadable) as raised:
        parse(text, german)
    assert raised.value.code == "ambiguous-mark"
    assert Num(1234567) == parse(r"1,\!234,\!567", german)


@pytest.mark.parametrize("text", [r"max(1,\!024, d)", r"max(1,\!024)"])
def test_a_comma_pulled_tight_is_asked_about_in_a_function(text: str) -> None:
    """Inside a function, such a comma may also separate two arguments."""
    with pytest.raises(Unreadable) as raised:
        parse(text, VOCABULARY)
    assert raised.value.code == "ambiguous-comma-thousands"


@pytest.mark.parametrize("text", [r"(1,\!024, n)", r"(1,\!024,\!768)", r"(1,\!024)"])
def test_a_comma_pulled_tight_is_asked_about_in_a_tuple(text: str) -> None:
    """Inside a tuple, such a comma may also separate two sizes."""
    with pytest.raises(Unreadable) as raised:
        parse_tuple(text, VOCABULARY)
    assert raised.value.code in ("ambiguous-comma-thousands", "ambiguous-comma")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("max(0,5)", "ambiguous-comma"),
        ("∑ n", "summation"),
        ("sum(n)", "summation"),
        (r"\sqrt{d}_{k}", "unknown-name"),
        ("2^{d}_{k}", "unknown-name"),
        (r"\frac{1}23", "two-numbers"),
        ("log^2 8", "two-numbers"),
        ("x", "unknown-name"),
        ("2 x", "unknown-name"),
        ("x d", "unknown-name"),
        (" x d", "unknown-name"),
        ("C(n, 2)", "unknown-name"),
        ("pow(d)", "argument-count"),
        ("pow(d, 9999)", "exponent-too-large"),
        (r"\sqrt[3]{n, d}", "argument-count"),
        ("log^{9999}(n)", "exponent-too-large"),
        ("⌈n/2", "unclosed"),
        ("⌈n/2⌋", "unopened"),
        ("np.__class__", "unknown-name"),
        ("d & h", "unknown-character"),
        ("d <b> h", "unknown-character"),
        ("½" * 1999, "too-many-parts"),
    ],
)
def test_what_is_open_to_doubt_is_refused(text: str, code: str) -> None:
    """Ambiguous texts and unknown names are rejected."""
    with pytest.raises(Unreadable) as caught:
        parse(text, VOCABULARY)
    assert code == caught.value.code


def test_a_symbol_may_be_called_like_a_sum() -> None:
    """Symbols named Σ and sum have the meaning that the rubric declares."""
    vocabulary = Vocabulary({"Σ": Symbol(), "sum": Symbol()})
    assert Mul((Sym("Σ"), Sym("sum"))) == parse("Σ*sum", vocabulary)


def test_a_declared_x_is_a_symbol() -> None:
    """A lone x is a multiplication sign unless it is declared as a symbol."""
    vocabulary = Vocabulary({"x": Symbol(), "d": Symbol()})
    assert Mul((Num(2), Sym("x"), Sym("d"))) == parse("2 x d", vocabulary)


def test_a_declared_e_is_a_symbol() -> None:
    """A capital E is a symbol if the rubric declares it, and ambiguous otherwise."""
    vocabulary = Vocabulary({"E": Symbol(), "V": Symbol()})
    assert Mul((Sym("V"), Sym("E"))) == parse("V*E", vocabulary)
    assert Mul((Num(4), Pow(Sym("E"), Num(2)))) == parse("4E^2", vocabulary)
    assert Num(400) == parse("4E2", vocabulary)
    with pytest.raises(Unreadable, match="capital-e"):
        parse("d*E", VOCABULARY)


def test_functions_may_be_given_other_names() -> None:
    """C(n, k) is a binomial if the rubric says so; otherwise C may be a symbol."""
    functions = Vocabulary({"n": Symbol(), "binomial": Symbol(domain="function", aliases=("C",))})
    assert Fn("binomial", (Sym("n"), Num(2))) == parse("C(n,2)", functions)
    symbols = Vocabulary({"n": Symbol(), "C": Symbol()})
    assert Mul((Sym("C"), Sym("n"))) == parse("C(n)", symbols)


def test_commas_separate_in_lists_only() -> None:
    """In a tuple, a comma always separates elements."""
    assert parse_tuple("(0,5)", VOCABULARY).elements == (Num(0), Num(5))
    assert parse_tuple("3 x 4 x d", VOCABULARY).elements == (Num(3), Num(4), D)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_every_function_survives_writing(name: str) -> None:
    """A call with the minimum or maximum number of arguments is written, read and typeset correctly."""
    for count in FUNCTIONS[name]:
        call = Fn(name, tuple(Add((N, Num(number + 1))) for number in range(count)))
        assert call == parse_canonical(to_text(call), VOCABULARY)
        assert to_text(call) in to_mathml(call)


@pytest.mark.parametrize("spelling", sorted(FUNCTION_SPELLINGS))
def test_every_spelling_of_a_function_is_read(spelling: str) -> None:
    """Each spelling of a function is read as a function, a power or a quotient."""
    arguments = 2 if FUNCTION_SPELLINGS[spelling] in ("pow", "binomial") else 1
    tree = parse(f"{spelling}({', '.join(['n', '2'][:arguments])})", VOCABULARY)
    assert isinstance(tree, Fn | Pow | Div)


def test_long_formulas_survive_writing() -> None:
    """Long formulas are read again unchanged, even if their canonical text is much longer."""
    for text in (
        "d " * 390,
        "d^-2" + "^-2" * 18 + "^-d",
        "d" + "/h" * 16,
        "(" * 39 + "d" + "/h" * 16 + ")/h" * 39,
    ):
        tree = parse(text, VOCABULARY)
        assert tree == parse_canonical(to_text(tree), VOCABULARY)
