"""Grouping a class's answers: which are grouped, which are kept apart, and in what time."""

from __future__ import annotations

import random
from collections.abc import Sequence
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.core.records import ItemResult, Message, Status
from autograder.core.wording import LocalisedText
from autograder.marking import grouping
from autograder.marking.grouping import (
    STEPS,
    AnswerGroup,
    Binding,
    get_least_similarity,
    group_by_digest,
    group_formulas,
    group_similar_answers,
    hash_results,
)
from autograder.questions.base.values import prose
from autograder.rubric import parse_rubric
from tests.marking.synthetic import answers

LOOSEST = STEPS[-1]


def grouped(*texts: str, nearness: float = LOOSEST) -> list[set[int]]:
    """Return the groups as sets of indices of the texts."""
    named = {f"{place:03}": text for place, text in enumerate(texts)}
    return [
        {int(name) for name in group.members} for group in group_similar_answers(named, nearness, equal={})
    ]


def together(*texts: str, nearness: float = LOOSEST) -> bool:
    """Return whether all texts form one group."""
    return len(grouped(*texts, nearness=nearness)) == 1


# ---------------------------------------------------------------- texts that are equal


def test_equal_answers_are_one_group_and_the_largest_stands_first() -> None:
    """Case, whitespace and punctuation are ignored; the most frequent spelling represents a group."""
    texts = {"ada": "No.", "alan": "Yes", "emmy": "yes", "grace": "yes", "kurt": "maybe"}
    assert group_similar_answers(texts, 0, equal={}) == (
        AnswerGroup(Binding.EQUAL, (("emmy", "grace", "alan"),), "emmy"),
        AnswerGroup(Binding.EQUAL, (("kurt",),), "kurt"),
        AnswerGroup(Binding.EQUAL, (("ada",),), "ada"),
    )


def test_names_of_equal_answers_count_before_their_texts() -> None:
    """Given equality keys decide whether answers are equal, regardless of their texts."""
    equal = {"a": "k1", "b": "k1", "c": "k2"}
    groups = group_similar_answers(dict.fromkeys("abcde", "the same words"), 0, equal=equal)
    assert [("a", "b"), ("d", "e"), ("c",)] == [group.members for group in groups]


def test_pictures_stand_alone() -> None:
    """Answers with attached pictures are never treated as equal."""
    assert 3 == len(grouped(*["![plot](attachment:image.png) as the plot shows"] * 3))


def test_empty_answers_are_equal_and_near_to_nothing() -> None:
    """Blank answers, whitespace and dots are equal; signs that may be an answer are not."""
    assert [{0, 1, 2, 3}, {5}, {4}] == grouped("", "  \n", "...", "?", "→", "the model")


@pytest.mark.parametrize("nearness", [-0.1, 1.1, float("nan"), 2.0])
def test_the_slider_has_two_ends(nearness: float) -> None:
    """A nearness outside 0 to 1 raises an error that names it."""
    with pytest.raises(ValueError, match="nearness: expected a number between 0 and 1"):
        group_similar_answers({}, nearness, equal={})


# ---------------------------------------------------------------- texts that are similar


def test_equal_answers_are_the_only_group_at_the_tightest_step() -> None:
    """At nearness 0, two different texts are never grouped."""
    assert not together("The mask is needed here.", "The mask is not needed here.", nearness=0)


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("The mask hides later tokens during training.", "The mask hides later tokens in training."),
        ("The softmax makes the rows sum to one.", "The softmax makes teh rows sum to one"),
        ("Die Maske verdeckt alle späteren Tokens.", "Die Maske verdeckt die späteren Tokens"),
    ],
    ids=["other small word", "slip of the pen", "german"],
)
def test_similar_wording_is_grouped_in_the_middle_of_the_slider(text: str, other: str) -> None:
    """Similar texts are grouped only at a higher nearness."""
    assert together(text, other, nearness=0.6)
    assert not together(text, other, nearness=0)


def test_similar_texts_are_kept_apart_inside_their_group() -> None:
    """Each distinct text is a separate part of its group, because similar wording may mean the opposite."""
    texts = {"a": "The encoder is larger than the decoder.", "b": "The decoder is larger than the encoder."}
    texts["c"] = texts["b"].upper()
    (group,) = group_similar_answers(texts, LOOSEST, equal={})
    assert (Binding.NEAR, (("c", "b"), ("a",))) == (group.binding, group.parts)


def test_only_the_shortest_of_too_many_texts_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Longer texts are grouped only with equal ones, which bounds the cost for huge classes."""
    short = [f"The mask hides token {number}." for number in range(3)]
    long = [f"The mask hides the token with the number {number}." for number in (1, 1, 2)]
    monkeypatch.setattr(grouping, "MOST_COMPARED", 3)
    assert [{0, 1, 2}, {3, 4}, {5}] == grouped(*short, *long)
    monkeypatch.setattr(grouping, "MOST_COMPARED", 100)
    monkeypatch.setattr(grouping, "MOST_CHARACTERS", sum(map(len, short)))
    assert [{0, 1, 2}, {3, 4}, {5}] == grouped(*short, *long)


def test_a_chain_joins_nothing_that_is_far_apart() -> None:
    """In a chain of similar texts, every pair of a group still has the required nearness."""
    words = [f"{letter}word{letter}" for letter in "bcdfghjklmnpqrstvwz"]
    chain = [" ".join(words[:end]) for end in range(1, len(words))]
    for nearness in STEPS[1:]:
        assert not any({0, len(chain) - 1} <= group for group in grouped(*chain, nearness=nearness))
    assert any(len(group) > 1 for group in grouped(*chain))


@pytest.mark.parametrize("nearness", STEPS)
def test_every_pair_is_as_near_as_the_slider_says(nearness: float) -> None:
    """A group states the nearness of its farthest pair, as computed from the library's vectors."""
    texts = answers(300)
    groups = group_similar_answers(texts, nearness, equal={})
    assert sorted(texts) == sorted(name for group in groups for name in group.members)
    for group in groups:
        assert get_least_similarity(nearness) <= group.nearness + 1e-6
        assert (group.binding is Binding.NEAR) == (len(group.parts) > 1)
        forms = [{prose.to_canonical(texts[name]) for name in part} for part in group.parts]
        assert all(len(one) == 1 for one in forms)
    assert nearness == 0 or any(group.binding is Binding.NEAR for group in groups)


def test_nearness_is_the_mean_of_two_cosines() -> None:
    """Nearness averages the TF-IDF cosines of words and of characters."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = ["the mask hides later tokens", "the mask hides the later token"]
    group = group_similar_answers(dict(zip("ab", texts, strict=True)), 1, equal={})[0]
    cosines = []
    for more in ({}, {"analyzer": "char_wb", "ngram_range": (2, 3)}):
        vectors = TfidfVectorizer(sublinear_tf=True, **more).fit_transform(texts)
        cosines.append((vectors[0] @ vectors[1].T).toarray()[0, 0])
    assert group.nearness == pytest.approx(sum(cosines) / 2, abs=1e-6)


@settings(max_examples=25, deadline=None)
@given(st.randoms(use_true_random=False), st.sampled_from(STEPS))
def test_groups_follow_from_the_answers_alone(numbers: random.Random, nearness: float) -> None:
    """Groups do not depend on the order of answers or on the run."""
    texts = answers(60)
    names = list(texts)
    numbers.shuffle(names)
    shuffled = {name: texts[name] for name in names}
    assert group_similar_answers(texts, nearness, equal={}) == group_similar_answers(
        shuffled, nearness, equal={}
    )


HOSTILE = {
    "long": "word " * 4_000,
    "longer": "word " * 4_000 + "not",
    "one word": "x" * 20_000,
    "marks": "a" + "\u0301" * 20_000,
    "punctuation": "?!.,;:" * 3_000,
    "brackets": "(" * 20_000,
    "minus": "-" * 20_000,
    "surrogate": "half a pair \ud800 stands here",
    "other surrogate": "half a pair \udfff stands here",
    "bidi": "\u202eneeded not is mask The\u202c",
    "null": "a\0b",
    "emoji": "👍🏽👍",
    "arabic": "القناع ضروري هنا",
    "digits": "٣ طبقات",
    "ideographs": "掩码是必要的",
    "html": "<script>alert(1)</script>",
    "formula": "$" + "{" * 3_000 + "x^2" + "}" * 3_000 + "$",
    "apostrophes": "n't" * 6_000,
    "short words": "ab cd " * 600,
    "numbers": "1,2" * 1_300,
}


def test_hostile_texts_raise_nothing() -> None:
    """Any hostile text is grouped without an error, and each student is in exactly one group."""
    texts = {f"{name}{copy}": text + " again" * copy for name, text in HOSTILE.items() for copy in range(2)}
    texts |= {f"same {name}": text for name, text in HOSTILE.items()}
    for nearness in (0, 1):
        groups = group_similar_answers(texts, nearness, equal={})
        assert sorted(texts) == sorted(name for group in groups for name in group.members)
        for name in HOSTILE:
            assert any({f"{name}0", f"same {name}"} <= set(group.members) for group in groups)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(st.characters(codec=None), max_size=40), max_size=6), st.sampled_from(STEPS))
def test_any_texts_are_grouped(texts: list[str], nearness: float) -> None:
    """Arbitrary texts raise no error, and each is in exactly one group."""
    groups = grouped(*texts, nearness=nearness)
    assert list(range(len(texts))) == sorted(place for group in groups for place in group)


# ---------------------------------------------------------------- formulas

RUBRIC = parse_rubric(b"""
version = 1
[assignment]
name = "exam"
points = 4
[assignment.symbols]
n_heads = { aliases = ["h"] }
d_model = {}
d_head = {}
n = {}
[assignment.assume]
heads = "d_model = n_heads*d_head"
[[question]]
id = "c"
kind = "formula"
points = 4
answer = "projection"
[[question.item]]
id = "plain"
points = 2
text = { en = "Plain" }
answer = "plain"
accept = ["d_model^2"]
[[question.item]]
id = "granted"
points = 2
text = { en = "Granted" }
answer = "granted"
accept = ["d_model^2"]
assume = ["heads"]
""")
QUESTION = RUBRIC.get_question("c")
SECRET = bytes(32)


def said(
    reading: str,
    item: str = "plain",
    status: Status = Status.FAILED,
    points: str = "0",
    **more: object,
) -> ItemResult:
    """Return a formula's result."""
    message = Message("formula.wrong")
    fields = {"student": message, "staff": "", "reading": reading, **more}
    return ItemResult("c", item, status, Decimal(points), Decimal(2), **fields)  # type: ignore[arg-type]


def proven(*several: ItemResult | Sequence[ItemResult]) -> list[set[int]]:
    """Return the groups as sets of indices of the results."""
    named = {
        f"{place:04}": [one] if isinstance(one, ItemResult) else one for place, one in enumerate(several)
    }
    groups = group_formulas(named, QUESTION, RUBRIC, SECRET)
    assert all((group.binding is Binding.PROVEN) == (len(group.members) > 1) for group in groups)
    return [{int(name) for name in group.members} for group in groups]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("2*d_model^2", "d_model*(d_model + d_model)"),
        ("(d_model^2 - n^2)/(d_model - n)", "d_model + n"),
        ("(n, 2*d_model)", "(n, d_model + d_model)"),
        ("(n*d_model)^90*n", "n^91*d_model^90"),
    ],
)
def test_formulas_that_are_proven_equal_are_one_group(first: str, second: str) -> None:
    """Equivalent formulas form one group; a different one is separate."""
    assert [{0, 2}, {1}] == proven(said(first), said("7*n_heads"), said(second))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("d_model^2", "d_model*n_heads*d_head"),
        ("n + 1", "n + 2"),
        ("(n, d_model)", "(d_model, n)"),
        ("n < d_model", "n <= d_model"),
        ("n = d_model", "n - d_model"),
        ("1/(n - n)", "2/(n - n)"),
        ("sqrt(d_model)*sqrt(d_model)", "d_model"),
        ("n = 2*d_model", "d_model = n/2"),
        ("O(n)", "O(2*n)"),
        ("no formula at all", "not one either"),
    ],
)
def test_what_is_not_proven_stands_apart(first: str, second: str) -> None:
    """Different or unparsable formulas are grouped only with identical readings."""
    proven_groups = sorted(proven(said(first), said(second), said(first)), key=min)
    assert [{0, 2}, {1}] == proven_groups


def test_relations_count_where_the_item_grants_them() -> None:
    """Formulas equal under a relation are grouped only if the item grants the relation."""
    texts = ("d_model^2", "d_model*n_heads*d_head")
    assert 2 == len(proven(*(said(text, "plain") for text in texts)))
    assert 1 == len(proven(*(said(text, "granted") for text in texts)))


def test_what_grading_judged_otherwise_stands_apart() -> None:
    """Equal readings with different points or status are separate, for example a carried result."""
    assert 3 == len(proven(said("n"), said("n", points="1"), said("n", status=Status.PASSED)))


def test_every_item_counts() -> None:
    """Answers with several formulas are grouped only if all formulas are equal."""
    first = [said("n"), said("d_model^2", "granted")]
    second = [said("2*n - n"), said("d_model*n_heads*d_head", "granted")]
    third = [said("n"), said("d_model", "granted")]
    assert [{0, 1}, {2}] == proven(first, second, third)


def test_without_a_formula_nothing_is_proven() -> None:
    """Unparsable answers are kept apart; missing answers form one group."""
    nothing = said("", status=Status.NO_ANSWER)
    assert [{2, 3}, {0}, {1}, {4}, {5}] == proven(said(""), said(""), nothing, nothing, [], [])


def test_the_most_frequent_formula_stands_for_its_group() -> None:
    """The most frequent reading represents its group, and equal readings form one part."""
    readings = {"a": "2*n", "b": "n + n", "c": "n + n", "d": "n*2"}
    groups = group_formulas({name: [said(text)] for name, text in readings.items()}, QUESTION, RUBRIC, SECRET)
    assert (AnswerGroup(Binding.PROVEN, (("b", "c"), ("a",), ("d",)), "b"),) == groups
    turned = {name: [said(readings[name])] for name in reversed(readings)}
    assert groups == group_formulas(turned, QUESTION, RUBRIC, SECRET)


# ---------------------------------------------------------------- what was computed


def test_a_digest_is_the_same_where_grading_found_the_same() -> None:
    """A digest ignores the order of items, messages to staff and the notation of points."""
    first = [said("n"), said("", "granted", points="1.50", staff="one")]
    second = [said("", "granted", points="1.5", staff="other"), said("n")]
    assert hash_results(first) == hash_results(second)
    assert 64 == len(hash_results(first))


@pytest.mark.parametrize(
    "other",
    [
        said("n", "granted"),
        said("n", status=Status.PASSED),
        said("n", points="0.5"),
        said("2*n"),
        said("n", code="one-matrix"),
        said("n", chosen=("a",)),
        said("n", student=Message("formula.right")),
        said("n", student=Message("formula.wrong", {"value": "3"})),
        said("n", student=Message("formula.wrong", {"value": LocalisedText({"en": "3"})})),
        said("n", student=Message("formula.wrong", {"value": "\ud800"})),
    ],
)
def test_a_digest_tells_everything_apart_that_grading_found(other: ItemResult) -> None:
    """A digest depends on item, status, points, reading, code, choice and the message with its values."""
    assert hash_results([said("n")]) != hash_results([other])


def test_what_nobody_graded_has_no_digest() -> None:
    """Results that only wait for manual review have no digest, so they group no answers."""
    waiting = said("", status=Status.NEEDS_REVIEW, student=Message("review.person"))
    assert "" == hash_results([waiting, waiting]) == hash_results([])
    assert "" != hash_results([waiting, said("", "granted", status=Status.PASSED, points="2")])
    assert "" != hash_results([said("n", status=Status.NEEDS_REVIEW)])


def test_code_is_grouped_by_what_it_computed() -> None:
    """Answers without a digest are not grouped by code; equal texts form one part of a group."""
    texts = {"a": "x = 1", "b": "x = 2 - 1", "c": "x = 2 - 1", "d": "x = 3", "e": "x = 3"}
    digests = {"a": "d1", "b": "d1", "c": "d1", "d": ""}
    assert (
        AnswerGroup(Binding.COMPUTED, (("b", "c"), ("a",)), "b"),
        AnswerGroup(Binding.EQUAL, (("d",),), "d"),
        AnswerGroup(Binding.EQUAL, (("e",),), "e"),
    ) == group_by_digest(texts, digests)
