"""Test shapes: notations, open sizes, and the closed list of explanations."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.core.records import Message
from autograder.formulas.equality.compare import Comparer
from autograder.formulas.errors import Undecided, Unreadable
from autograder.formulas.nodes import Node, Num, Sym
from autograder.formulas.notation.formula_lists import parse_single
from autograder.formulas.notation.parse import parse
from autograder.formulas.notation.vocabulary import Symbol, Vocabulary
from autograder.formulas.shapes import read_shape, read_size
from autograder.formulas.values.points import Points
from autograder.messages import list_languages, load_sentences, render_message
from autograder.questions.base.values import shape_differences as shapes
from autograder.questions.base.values.shape_differences import (
    FAMILIES,
    ShapeDifference,
    expand_family,
    find_difference,
    find_roles,
)
from autograder.questions.shape import sentences as spoken

VOCABULARY = Vocabulary(
    {
        "batch": Symbol(aliases=("b", "B")),
        "n_heads": Symbol(aliases=("h", "H")),
        "seq": Symbol(aliases=("s", "S")),
        "d_head": Symbol(aliases=("d_k",)),
        "d_model": Symbol(aliases=("d",)),
    }
)
COMPARER = Comparer(
    Points(VOCABULARY.domains, b"a test"), [parse_single("d_model = n_heads*d_head", VOCABULARY)]
)
NAMES = {"batch": ["batch"], "n_heads": ["n_heads"]}
QUERY = tuple(map(Sym, ("batch", "n_heads", "seq", "d_head")))


def explained(
    given_text: str, right: str, heads: str = "n_heads", names: Sequence[str] = ()
) -> ShapeDifference | None:
    """Return the difference between two shapes under the relation of the widths."""
    wanted = read_shape(right, VOCABULARY)
    called = [
        (*names[axis : axis + 1], *([size.name] if isinstance(size, Sym) else []))
        for axis, size in enumerate(wanted)
    ]
    count = read_size(heads, VOCABULARY) if heads else None
    roles = find_roles(called, wanted, count)
    return find_difference(read_shape(given_text, VOCABULARY), wanted, COMPARER.is_equal, roles)


def code(given_text: str, right: str, heads: str = "n_heads", names: Sequence[str] = ()) -> str:
    """Return the code of the difference; empty for equal shapes."""
    difference = explained(given_text, right, heads, names)
    return difference.code if difference else ""


@pytest.mark.parametrize(
    "text",
    [
        "(batch, n_heads, seq, d_head)", "[batch, n_heads, seq, d_head]",
        "batch, n_heads, seq, d_head", "(b, h, s, d_k)",
        "[b, h, s, d_k]", "b × h × s × d_k", "b x h x s x d_k", "b X h X s X d_k", "(b×h×s×d_k)",
        "(B, H, S, d_k)",
        "torch.Size([b, h, s, d_k])", "Size([b, h, s, d_k])", "torch.Size((b, h, s, d_k))",
        "TensorShape([b, h, s, d_k])",
        "(b, h, s, d_k,)", "( b , h , s , d_k )", "`(b, h, s, d_k)`", "$(b, h, s, d_k)$",
        "shape = (b, h, s, d_k)",
        "q.shape == (b, h, s, d_k)", "Shape: [b, h, s, d_k]", "x = torch.Size([b, h, s, d_k])",
        r"$(b, h, s, d_{k})$", r"$b \times h \times s \times d_k$",
        r"\left(b, n_{\text{heads}}, s, d_{\text{head}}\right)",
        r"$\mathbb{R}^{b \times h \times s \times d_k}$",
        r"Q \in \mathbb{R}^{b \times h \times s \times d_k}",
        r"$Q \in \mathbb R^{b \times h \times s \times d_{head}}$", "ℝ^(b×h×s×d_k)",
        "Q ∈ ℝ^{b×h×s×d_k}", "R^{b × h × s × d_k}",
        "(batch, n_heads, seq, dₖ)", "(batch, n_heads, seq, d_head*1)", "(batch,n_heads,seq,2*d_head/2)",
        "b\n× h\n× s\n× d_k", "(batch, n\\_heads, seq, d\\_head)",
        "[batch; n_heads]".replace("; n_heads", ", n_heads, seq, d_head"),
    ],
)  # fmt: skip
def test_notations_of_one_shape(text: str) -> None:
    """Every usual notation of a shape with symbols is read as the same shape."""
    assert all(map(COMPARER.is_equal, QUERY, read_shape(text, VOCABULARY)))
    assert 4 == len(read_shape(text, VOCABULARY))


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("(8, 12, 128, 64)", (8, 12, 128, 64)), ("8x12x128x64", (8, 12, 128, 64)), ("8 x 12 x 128",
        (8, 12, 128)),
        ("8×12", (8, 12)), ("[7]", (7,)), ("(7,)", (7,)), ("7", (7,)), ("()", ()), ("[]",
        ()), ("torch.Size([])", ()),
        ("(2*3, 4)", (6, 4)), (r"8 \times 12", (8, 12)), ("(0, 3)", (0, 3)), ("1024, 768", (1024, 768)),
    ],
)  # fmt: skip
def test_shapes_of_numbers(text: str, sizes: tuple[int, ...]) -> None:
    """Numbers are separated by commas or crosses; a comma never groups digits."""
    read = read_shape(text, VOCABULARY)
    assert len(sizes) == len(read)
    assert all(COMPARER.is_equal(Num(size), axis) for size, axis in zip(sizes, read, strict=True))


@pytest.mark.parametrize(
    ("text", "code", "sign"),
    [
        ("(b, -1)", "placeholder", "-1"),
        ("(-1, 768)", "placeholder", "-1"),
        ("[b, −1]", "placeholder", "-1"),
        ("(None, 768)", "placeholder", "None"),
        ("(?, 768)", "placeholder", "?"),
        ("(b, *, d)", "placeholder", "*"),
        ("(b, :, d)", "placeholder", ":"),
        ("(b, ..., d)", "ellipsis", "..."),
        ("(b, …, d)", "ellipsis", "…"),
        (r"(b, \dots, d)", "ellipsis", r"\dots"),
        ("(b, -2)", "no-size", ""),
        ("(b, 1/2)", "no-size", ""),
        ("(b, 12.5)", "no-size", ""),
        ("(b, 1/0)", "no-size", ""),
        ("(b, width)", "unknown-name", ""),
        ("(b, n_head)", "unknown-name", ""),
        ("(b, h", "unclosed", ""),
        ("8 12", "two-numbers", ""),
        ("", "empty", ""),
        ("(b, (h, s))", "comma", ""),
        ("(" * 200 + "1" + ")" * 199, "too-deep", ""),
        ("1," * 150 + "1", "too-many-parts", ""),
        ("b," * 1_000_000, "too-long", ""),
        ("(b, 9^9^9^9)", "exponent-too-large", ""),
        ("__import__('os')", "unknown-name", ""),
    ],
)
def test_what_is_no_shape_is_refused(text: str, code: str, sign: str) -> None:
    """Texts that are not shapes are rejected, with separate codes for open sizes."""
    with pytest.raises(Unreadable) as caught:
        read_shape(text, VOCABULARY)
    assert (code, sign) == (caught.value.code, caught.value.params.get("sign", ""))


@pytest.mark.parametrize(
    ("given_text", "right", "expected"),
    [
        ("(b, h, s, d_k)", "(b, h, s, d_k)", ""),
        ("(b, h, s, d/h)", "(b, h, s, d_k)", ""),
        ("(b, s, h*d_k)", "(b, s, d)", ""),
        ("(b, s, h, d_k)", "(b, h, s, d_k)", "heads-not-moved"),
        ("(b, h, s, d_k)", "(b, s, h, d_k)", "swapped"),
        ("(h, b, s, d_k)", "(b, h, s, d_k)", "swapped"),
        ("(b, h, d_k, s)", "(b, h, s, d_k)", "last-two-swapped"),
        ("(s, b, h, d_k)", "(b, h, s, d_k)", "permuted"),
        ("(d_k, h, s, b)", "(b, h, s, d_k)", "swapped"),
        ("(h, s, d_k)", "(b, h, s, d_k)", "batch-missing"),
        ("(b, s, d_k)", "(b, h, s, d_k)", "heads-missing"),
        ("(b, h, d_k)", "(b, h, s, d_k)", "missing"),
        ("(b, h, s, 1)", "(b, h, s)", "extra-one"),
        ("(1, b, h, s)", "(b, h, s)", "extra-one"),
        ("(b, h, s, s)", "(b, h, s)", "extra"),
        ("(b, s, d)", "(b, h, s, d_k)", "heads-not-split"),
        ("(b, s, h*d_k)", "(b, h, s, d_k)", "heads-not-split"),
        ("(b, s, d)", "(b, s, h, d_k)", "heads-not-split"),
        ("(b*h, s, d_k)", "(b, h, s, d_k)", "not-split"),
        ("(b*s, d)", "(b, s, d)", "not-split"),
        ("b*h*s*d_k", "(b, h, s, d_k)", "product"),
        ("b*s*d", "(b, h, s, d_k)", "product"),
        ("(b, h, s, d_k)", "(b, s, d)", "heads-not-joined"),
        ("(b, s, h, d_k)", "(b, s, d)", "heads-not-joined"),
        ("(b, s, d)", "(b*s, d)", "not-joined"),
        ("(b, s, d_k)", "(b, s, d)", "one-head"),
        ("(b, h, s, d)", "(b, h, s, d_k)", "all-heads"),
        ("(b, h, s, 2*s)", "(b, h, s, s)", "axis"),
        ("(b, h, 2*s, 3*s)", "(b, h, s, s)", "axes"),
        ("(s, d)", "(b, h, s, d_k)", "count"),
        ("()", "(b, s)", "count"),
        ("(8, 128, 12, 64)", "(8, 12, 128, 64)", "swapped"),
        ("(8, 128, 768)", "(8, 12, 128, 64)", "not-split"),
    ],
)
def test_explanations(given_text: str, right: str, expected: str) -> None:
    """Each misconception about shapes of attention has a code that is true of the answer."""
    assert expected == code(given_text, right)


def test_explanations_with_numbers_need_names() -> None:
    """With named axes or a stated number of heads, numbers are explained in the same way as symbols."""
    names = ("batch", "heads", "length", "width")
    right = "(8, 12, 128, 64)"
    assert "heads-not-moved" == code("(8, 128, 12, 64)", right, "", names)
    assert "heads-not-split" == code("(8, 128, 768)", right, "", names)
    assert "batch-missing" == code("(12, 128, 64)", right, "", names)
    assert "heads-missing" == code("(8, 128, 64)", right, "", names)
    assert "one-head" == code("(8, 128, 64)", "(8, 128, 768)", "12")
    assert "axis" == code("(8, 128, 64)", "(8, 128, 768)", "")


def test_what_is_not_certain_is_not_claimed() -> None:
    """If batch and heads have equal sizes, the explanation does not claim which one is missing."""
    assert "missing" == code("(8, 128, 64)", "(8, 8, 128, 64)", "", ("batch", "heads", "length", "width"))


def test_the_axes_that_are_meant_are_named() -> None:
    """A difference contains the positions of the affected axes in the answer."""
    assert ShapeDifference("swapped", (0, 1)) == explained("(h, b, s, d_k)", "(b, h, s, d_k)")
    assert ShapeDifference("not-split", (0,)) == explained("(b*h, s, d_k)", "(b, h, s, d_k)")
    assert ShapeDifference("axis", (2,)) == explained("(b, h, 7, d_k)", "(b, h, s, d_k)")
    assert ShapeDifference("extra-one", (3,)) == explained("(b, h, s, 1)", "(b, h, s)")


def test_open_comparisons() -> None:
    """Only an axis that is proven wrong is named; if none is, the comparison is undecided."""

    def equal(first: Node, second: Node) -> bool:
        if Num(7) in (first, second):
            raise Undecided("seven")
        return first == second

    one, two, seven = Num(1), Num(2), Num(7)
    assert ShapeDifference("axes", (0,)) == find_difference((one, seven), (two, one), equal, shapes.Roles())
    with pytest.raises(Undecided):
        find_difference((one, seven), (one, two), equal, shapes.Roles())


AXES = st.lists(st.sampled_from(["b", "h", "s", "d_k", "d", "2", "3", "1", "h*d_k"]), max_size=6)


@given(AXES, AXES)
def test_explaining_is_total(first: list[str], second: list[str]) -> None:
    """Any two shapes are equal axis by axis, or differ by a code of the list."""
    written, right = (tuple(parse(size, VOCABULARY) for size in sizes) for sizes in (first, second))
    difference = find_difference(written, right, COMPARER.is_equal, shapes.Roles(0, 1, Sym("n_heads")))
    same = len(first) == len(second) and all(map(COMPARER.is_equal, written, right))
    assert same == (difference is None)
    if difference is not None:
        assert difference.code in shapes.DIFFERENCES
        assert all(0 <= axis < len(first) for axis in difference.axes)


@given(st.permutations(["b", "h", "s", "d_k"]))
def test_every_order_is_told(order: list[str]) -> None:
    """Of all 24 orders of four sizes, only the right one is not reported as a permutation."""
    difference_code = code(f"({', '.join(order)})", "(b, h, s, d_k)")
    assert (order == ["b", "h", "s", "d_k"]) == (difference_code == "")
    assert difference_code == "" or difference_code in expand_family("permuted")


@pytest.mark.parametrize(
    "text",
    [
        "(b, width)", "  `(b, width)`", "shape = (b, width)", "torch.Size([b, width])", "8x3 x width",
        "b x width", r"$Q \in \mathbb{R}^{b \times width}$",
    ],
)  # fmt: skip
def test_errors_point_at_the_place(text: str) -> None:
    """The reported position is the one of the unknown name, with any text around the shape."""
    with pytest.raises(Unreadable) as caught:
        read_shape(text, VOCABULARY)
    assert text.index("width") == caught.value.offset


def test_every_difference_has_a_sentence() -> None:
    """The closed list of differences matches the messages in both languages."""
    codes = {f"shape.{difference}" for difference in shapes.DIFFERENCES}
    readers = {"shape.placeholder", "shape.ellipsis", "shape.no-size"}
    kinds = {"shape.form", "shape.entry", "shape.axis-count"}
    assert codes | readers | kinds == set(spoken.SENTENCES)
    params = dict.fromkeys(("what", "shape", "axes", "count", "sign", "value", "form", "limit"), "X")
    for sentence_code in spoken.SENTENCES:
        assert 2 == len(
            {render_message(Message(sentence_code, params), language) for language in list_languages()}
        ), sentence_code
        assert sentence_code in load_sentences()


def test_families() -> None:
    """A family expands to its codes, a code to itself, and an unknown name to nothing."""
    assert {"swapped", "permuted", "last-two-swapped", "heads-not-moved"} == expand_family("permuted")
    assert {"swapped"} == expand_family("swapped")
    assert set() == expand_family("permutated")
    assert all(name in codes for name, codes in FAMILIES.items())


@pytest.mark.parametrize(
    ("given_text", "right", "code"),
    [
        pytest.param("(1,)", "()", "extra-one", id="an axis of a number without axes"),
        pytest.param("(seq,)", "(1, seq)", "missing", id="an axis of size 1 is missing"),
        pytest.param("(batch*seq,)", "(batch, seq)", "product", id="two sizes multiplied"),
        pytest.param("(batch*seq,)", "(batch, 1, seq)", "product", id="two sizes and an axis of 1"),
    ],
)
def test_a_product_is_one_of_several_sizes(given_text: str, right: str, code: str) -> None:
    """A single size is called a product only if at least two right sizes are not 1."""
    result = explained(given_text, right)
    assert result is not None
    assert code == result.code
