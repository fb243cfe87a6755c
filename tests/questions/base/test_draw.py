"""Hidden inputs depend on the course secret, the question and the student."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from autograder.grading.expected_values import derive_box_seed
from autograder.questions.base.base import Draw
from autograder.rubric import load_rubric

RUBRIC = load_rubric(Path(__file__).parents[3] / "rubrics" / "gpt2.toml")
QUESTION = RUBRIC.questions[0]
DRAW = Draw.from_secret(b"secret", RUBRIC, QUESTION, "student ada")


def test_draw_is_the_same_for_the_same_course_and_question() -> None:
    """Grading again draws the same inputs."""
    again = Draw.from_secret(b"secret", RUBRIC, QUESTION, "student ada")
    assert DRAW == again


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(Draw.from_secret(b"Secret", RUBRIC, QUESTION, "student ada"), id="secret"),
        pytest.param(Draw.from_secret(b"", RUBRIC, QUESTION, "student ada"), id="no secret"),
        pytest.param(Draw.from_secret(b"secret", RUBRIC, QUESTION, "student alan"), id="student"),
        pytest.param(Draw.from_secret(b"secret", RUBRIC, QUESTION), id="everybody"),
        pytest.param(Draw.from_secret(b"secret", RUBRIC, RUBRIC.questions[1], "student ada"), id="question"),
        pytest.param(
            Draw.from_secret(
                b"secret",
                RUBRIC,
                msgspec.structs.replace(QUESTION, inputs_version=QUESTION.inputs_version + 1),
                "student ada",
            ),
            id="version of the inputs",
        ),
    ],
)
def test_draw_differs_when_one_thing_it_is_made_of_does(other: Draw) -> None:
    assert DRAW.seed != other.seed


def test_seed_of_boxes_follows_from_the_secret() -> None:
    """The seed of a box depends on the secret, so unseeded draws are unpredictable too."""
    seeds = [derive_box_seed(secret, name) for secret in (b"secret", b"Secret") for name in ("one", "two")]
    assert 4 == len(set(seeds))
    assert all(np.uint32(seed) == seed for seed in seeds)
