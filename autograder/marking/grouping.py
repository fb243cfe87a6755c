"""Group answers of a class that a grader may mark at once, with the reason that binds each group.

A group depends only on the answers, not on their order, the run, or chance. It may join answers that deserve
different marks only visibly: graders see the common property of the members and their similarity.
"""

from __future__ import annotations

import enum
import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct

from autograder.core.records import ItemResult, Status
from autograder.core.stream import derive_key
from autograder.formulas import Unreadable, Vocabulary
from autograder.formulas.equality.compare import Comparer
from autograder.formulas.nodes import Relation, Tree
from autograder.formulas.notation.formula_lists import parse_single
from autograder.formulas.notation.parse import parse_canonical
from autograder.formulas.values.points import Points
from autograder.questions.base.base import Draw
from autograder.questions.base.values import prose
from autograder.rubric import Question, Rubric

STEPS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
"""Positions of the slider, from only equal answers to very loose groups."""
LEAST = 0.4
"""Smallest similarity within a group at the loosest step."""
LONGEST = 4_000
"""Longest answer, in characters, that is compared; a longer one is grouped with its equals only."""
MOST_CHARACTERS = 600_000
"""Total length of the compared answers; beyond it, the longest are grouped with their equals only."""
MOST_COMPARED = 2_500
"""Number of distinct answers that are compared, because memory and time grow with its square."""
_WORD = re.compile(r"\w+")


class Binding(enum.StrEnum):
    """Common property of the members of a group."""

    EQUAL = "equal"
    """Equal texts, up to irrelevant differences. Also used for a single answer."""
    NEAR = "near"
    """Most words and letters in common; the meanings may still differ."""
    PROVEN = "proven"
    """Formulas that are equal for all values of the symbols."""
    COMPUTED = "computed"
    """The same results of grading."""


class AnswerGroup(Struct, frozen=True):
    """Answers that may be marked at once."""

    binding: Binding
    parts: tuple[tuple[str, ...], ...]
    """Ids of the members, with those of equal texts together, the most frequent first."""
    representative: str
    """The member with the text that represents the group: one with the most frequent text."""
    nearness: float = 1.0
    """Similarity of the two least similar members: 1 for equal texts, 0 for texts that share nothing."""

    @property
    def members(self) -> tuple[str, ...]:
        """Ids of all members."""
        return tuple(name for part in self.parts for name in part)


class _Unit(Struct, frozen=True):
    """Equal answers."""

    form: str
    members: tuple[str, ...]
    """The first one has the most frequent spelling."""
    comparable: bool = False
    """Whether its similarity to others can be computed."""


# ---------------------------------------------------------------- texts


def group_similar_answers(
    answers: Mapping[str, str], nearness: float, *, equal: Mapping[str, str]
) -> tuple[AnswerGroup, ...]:
    """Group equal answers and, if requested, answers with similar wording; the largest group first.

    Answers are equal if `prose.to_canonical` is. The similarity of two answers is the mean of the cosines of
    their TF-IDF vectors over words and over letters; every two members of a group are at least as similar as
    `get_least_similarity` says. Similar wording does not imply the same meaning: a single *not* hardly
    changes it. Graders of a near group must therefore see every distinct text in it.

    An answer with a picture and no name forms its own group, because pictures are not part of the text.

    Args:
        answers: id → text. All answer the same question.
        nearness: one of `STEPS`, or any number from 0, only equal answers, to 1.
        equal: id → the name of the group of equal answers; if it is empty, the text decides.

    Raises:
        ValueError: ``nearness`` is not between 0 and 1.
    """
    if not 0 <= nearness <= 1:
        raise ValueError(f"nearness: expected a number between 0 and 1, got {nearness!r}")
    units = _make_equal_units(answers, equal)
    near = _group_near_units(units, get_least_similarity(nearness)) if nearness else []
    joined = {id(unit) for group, _ in near for unit in group}
    groups = [_join_units(Binding.NEAR, group, far) for group, far in near]
    groups += [_join_units(Binding.EQUAL, [unit]) for unit in units if id(unit) not in joined]
    return _sort_groups(groups, {unit.members[0]: unit.form for unit in units})


def get_least_similarity(nearness: float) -> float:
    """Return the smallest similarity of two members of a group, from 1 down to `LEAST`."""
    return 1 - nearness * (1 - LEAST)


def _make_equal_units(answers: Mapping[str, str], equal: Mapping[str, str]) -> list[_Unit]:
    """Return units of equal answers, in an order that depends only on the texts."""
    forms: dict[str, str] = {}
    names_by_key: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name, text in answers.items():
        key = equal.get(name, "")
        if key:
            names_by_key["name", key].append(name)
        elif "attachment:" in text:
            names_by_key["alone", name].append(name)
        else:
            # Many answers are identical: each distinct text is normalised once.
            if text not in forms:
                forms[text] = prose.to_canonical(text)
            names_by_key["form", forms[text]].append(name)
    units = []
    for (why, _), names in names_by_key.items():
        members = _sort_by_spelling(names, answers)
        text = answers[members[0]]
        short = len(text) <= LONGEST
        form = forms.get(text) or (prose.to_canonical(text) if short else text)
        comparable = short and why != "alone" and any(char.isalnum() for char in form)
        units.append(_Unit(form, members, comparable))
    return sorted(units, key=lambda unit: (unit.form, unit.members))


def _sort_by_spelling(names: Iterable[str], texts: Mapping[str, str]) -> tuple[str, ...]:
    """Sort ids by their texts, the most frequent text first."""
    names = list(names)
    times = Counter(texts[name] for name in names)
    return tuple(sorted(names, key=lambda name: (-times[texts[name]], texts[name], name)))


def _group_near_units(units: Sequence[_Unit], least: float) -> list[tuple[list[_Unit], float]]:
    """Return groups of similar units, each with the similarity of its two least similar members."""
    compared = _select_affordable([unit for unit in units if unit.comparable])
    if len(compared) < 2:
        return []
    similarity = _compute_similarities([unit.form for unit in compared])
    return [
        ([compared[index] for index in indices], float(similarity[np.ix_(indices, indices)].min()))
        for indices in _find_clusters(similarity, least)
    ]


def _select_affordable(units: Sequence[_Unit]) -> list[_Unit]:
    """Return the shortest units within `MOST_COMPARED` and `MOST_CHARACTERS`, in their order."""
    # Ties are broken by content, so that the selection does not depend on the order of answers.
    shortest = sorted(units, key=lambda unit: (len(unit.form), unit.form, unit.members))[:MOST_COMPARED]
    total = np.cumsum([len(unit.form) for unit in shortest])
    kept = {id(unit) for unit in shortest[: int(np.searchsorted(total, MOST_CHARACTERS, side="right"))]}
    return [unit for unit in units if id(unit) in kept]


def _compute_similarities(forms: Sequence[str]) -> Any:
    """Return the similarity of every two texts as a square matrix, each from 0 to 1."""
    from sklearn.feature_extraction.text import TfidfVectorizer  # takes a second to import
    from sklearn.pipeline import FeatureUnion

    words = TfidfVectorizer(analyzer=_WORD.findall, sublinear_tf=True)
    letters = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 3), sublinear_tf=True)
    vectors = FeatureUnion([("words", words), ("letters", letters)]).fit_transform(forms)
    # Both parts have length 1, so half of the product is the mean of the two cosines. Rounding keeps the
    # last digits, which differ between machines, from deciding.
    similarity = np.clip(np.round((vectors @ vectors.T).toarray() / 2, 6), 0, 1)
    np.fill_diagonal(similarity, 1)
    return similarity


def _find_clusters(similarity: Any, least: float) -> list[list[int]]:
    """Return clusters of two or more places in which every pair is at least this similar.

    Complete linkage, so a chain of similar texts does not join its dissimilar ends.
    """
    from sklearn.cluster import AgglomerativeClustering

    # The library joins clusters at distances strictly below its limit.
    # The margin is far below the sixth digit, to which similarities are rounded.
    limit = 1 - least + 1e-9
    model = AgglomerativeClustering(
        n_clusters=None, metric="precomputed", linkage="complete", distance_threshold=limit
    )
    clusters: dict[int, list[int]] = defaultdict(list)
    for index, label in enumerate(model.fit_predict(1 - similarity)):
        clusters[int(label)].append(index)
    return [cluster for cluster in clusters.values() if len(cluster) > 1]


def _join_units(binding: Binding, units: Sequence[_Unit], far: float = 1.0) -> AnswerGroup:
    parts = [unit.members for unit in sorted(units, key=lambda unit: -len(unit.members))]
    return AnswerGroup(binding, tuple(parts), parts[0][0], far)


def _sort_groups(groups: Iterable[AnswerGroup], keys: Mapping[str, str]) -> tuple[AnswerGroup, ...]:
    """Sort groups by size, the largest first, then by the keys of their representatives."""
    return tuple(
        sorted(
            groups, key=lambda group: (-len(group.members), keys[group.representative], group.representative)
        )
    )


# ---------------------------------------------------------------- formulas


def group_formulas(
    results: Mapping[str, Sequence[ItemResult]], question: Question, rubric: Rubric, secret: bytes
) -> tuple[AnswerGroup, ...]:
    """Group answers with proven equal formulas, under the relations that their items grant.

    Two formulas are proven equal if they have the same exact value at secret points. Formulas without one,
    such as roots and relations, are only grouped by the same reading. Answers with different results stay
    separate: a chain with a broken link reads as its last side, and an answer that follows from a student's
    wrong result is right only for that student.

    Args:
        results: id → the results that the mark depends on, in the same order for all. If one has no reading,
            the answer stays separate, unless it is empty.
        question: of a kind with formulas as answers.
        rubric: of the students. If it draws a variant for each student, do not mix answers to different ones.
        secret: of the course, from which the points of comparison are derived. If students knew them, they
            could write formulas that only look equal.
    """
    classes: dict[tuple[str, str], Hashable] = {}
    vocabulary = rubric.make_vocabulary(question)
    points = Points(vocabulary.domains, derive_key(Draw.from_secret(secret, rubric, question).seed, "groups"))
    read = _collect_readings(results.values())
    for item in question.items:
        comparer = Comparer(points, _parse_granted(item.options.get("assume", ()), rubric))
        for reading in read.get(item.id, ()):
            tree = _parse_reading(reading, vocabulary)
            classes[item.id, reading] = comparer.compute_fingerprint(tree) if tree is not None else None
    names_by_key: dict[Hashable, list[str]] = defaultdict(list)
    for name, several in results.items():
        names_by_key[tuple(_make_result_key(result, classes, name) for result in several) or name].append(
            name
        )
    texts = {
        name: _serialize_value([result.reading for result in several]) for name, several in results.items()
    }
    return _make_groups(Binding.PROVEN, names_by_key.values(), texts)


def _collect_readings(results: Iterable[Sequence[ItemResult]]) -> dict[str, set[str]]:
    """Return the readings of each item."""
    readings: dict[str, set[str]] = defaultdict(set)
    for several in results:
        for result in several:
            if result.reading:
                readings[result.item].add(result.reading)
    return readings


def _parse_reading(reading: str, vocabulary: Vocabulary) -> Tree | None:
    """Parse a reading; None if it only equals the same reading, such as an order of growth."""
    try:
        return parse_canonical(reading, vocabulary)
    except Unreadable:
        return None


def _parse_granted(names: Iterable[str], rubric: Rubric) -> list[Relation]:
    """Return the relations that an item grants."""
    vocabulary = rubric.make_vocabulary()
    return [parse_single(rubric.assignment.assume[name], vocabulary) for name in names]


def _make_result_key(result: ItemResult, classes: Mapping[tuple[str, str], Hashable], name: str) -> Hashable:
    """Return a key that is the same for results with equal formulas and judgements."""
    if not result.reading and result.status is not Status.NO_ANSWER:
        return name
    value = classes.get((result.item, result.reading))
    return result.item, result.status, result.points, result.reading if value is None else value


def _make_groups(
    binding: Binding, groups: Iterable[Sequence[str]], texts: Mapping[str, str]
) -> tuple[AnswerGroup, ...]:
    """Make groups of ids, with ids of equal texts together."""
    answer_groups = []
    for names in groups:
        same: dict[str, list[str]] = defaultdict(list)
        for name in sorted(names):
            same[texts[name]].append(name)
        units = [_Unit(text, tuple(same[text])) for text in sorted(same)]
        answer_groups.append(_join_units(binding if len(names) > 1 else Binding.EQUAL, units))
    return _sort_groups(answer_groups, texts)


# ---------------------------------------------------------------- code


def hash_results(question_results: Sequence[ItemResult]) -> str:
    """Return a digest of the results of grading a whole question: SHA-256 in hexadecimal.

    It is the same for all answers with the same results, in any order: statuses, points, codes, readings,
    choices and messages to students, without texts of the rubric. It is empty if every item needs manual
    review and nothing was read.

    Args:
        question_results: all results of one question and one student.
    """
    if all(
        result.status is Status.NEEDS_REVIEW and not result.reading and not result.chosen
        for result in question_results
    ):
        return ""
    encoded_results = [
        _serialize_value(
            [
                *(
                    result.question,
                    result.item,
                    result.status.value,
                    f"{result.points.normalize():f}",
                    result.code,
                ),
                *(
                    result.reading,
                    result.chosen,
                    result.student.code,
                    msgspec.to_builtins(result.student.params),
                ),
            ]
        )
        for result in question_results
    ]
    return hashlib.sha256(_serialize_value(sorted(encoded_results)).encode()).hexdigest()


def group_by_digest(answers: Mapping[str, str], digests: Mapping[str, str]) -> tuple[AnswerGroup, ...]:
    """Group answers with the same results of grading; an answer without a digest forms its own group.

    Args:
        answers: id → text.
        digests: id → digest from `hash_results`.
    """
    names_by_key: dict[Hashable, list[str]] = defaultdict(list)
    for name in answers:
        digest = digests.get(name, "")
        names_by_key[("same", digest) if digest else ("alone", name)].append(name)
    return _make_groups(Binding.COMPUTED, names_by_key.values(), answers)


def _serialize_value(value: object) -> str:
    """Serialise a value unambiguously, whatever characters it contains."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
