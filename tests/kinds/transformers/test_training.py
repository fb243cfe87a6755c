"""The kind ``training`` on trainers that cheat, break or lie, and on rubrics with misconceptions."""

from __future__ import annotations

import math

import numpy as np
import pytest

from autograder.checks.base import Draw, Evidence
from autograder.errors import RubricError
from autograder.kinds.transformers import training as losses
from autograder.records import Ending, Status, Tensor
from reference.faults.misconception import planted
from reference.faults.training import LOSS, RESUME
from reference.training_questions import SOURCE
from tests.checks.asking import answer, check_of, ended, error, value
from tests.kinds.transformers.test_training_trials import CHECK, GIVEN, QUESTION, RUBRIC, lost, sit
from tests.support.local_box import LocalBox

CHEATS = {
    "losses that are made up": """
class Trainer:
    def __init__(self, model, batches, lr, total): pass
    def train(self, steps): return [1.0 / (step + 1) for step in range(steps)]
    def checkpoint(self): return {}
    def restore(self, state): pass
""",
    "too few losses": SOURCE.replace("return losses", "return losses[:1]"),
    "the losses as a sum": SOURCE.replace("return losses", "return sum(losses)"),
    "losses that are NaN": SOURCE.replace("return losses", "return [loss * float('nan') for loss in losses]"),
    "losses as tensors with a graph": SOURCE.replace("return losses", "return 'all of them'"),
    "huge losses": SOURCE.replace("return losses", "return [10 ** 400] * steps"),
    "no training": SOURCE.replace("return losses", "raise RuntimeError('tired')"),
    "no class": "Trainer = 3",
    "nothing at all": "x = 1",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CHEATS)
def test_what_is_no_trainer_earns_nothing(name: str) -> None:
    """Every item ends as a clear result without points; nothing is our fault."""
    results = sit(CHEATS[name])
    expected = {"loss", "updates", "learns", "resume"}
    if name in ("losses that are NaN", "huge losses", "too few losses", "the losses as a sum"):
        expected -= {"learns"}  # the model itself has learned
    if name == "losses as tensors with a graph":
        expected -= {"learns"}
    assert expected == lost(results), {item: one.staff for item, one in results.items()}
    told = {results[item].status for item in expected}
    assert told <= {Status.FAILED, Status.NO_ANSWER}
    assert all(results[item].points == 0 for item in expected)


def test_a_model_that_ends_up_broken_has_not_learned() -> None:
    """Weights that are NaN after training are told, whatever the losses say."""
    source = SOURCE.replace(
        "return losses", "self.model.norm.weight.data.fill_(float('nan'))\n        return losses"
    )
    results = sit(source)
    assert "training.no-logits" == results["learns"].code


def test_losses_as_a_tensor_are_losses() -> None:
    """A tensor or an array of the right numbers is as good as a list."""
    assert set() == lost(sit(SOURCE.replace("return losses", "return torch.tensor(losses)")))


def test_two_mistakes_at_once_lose_both_items() -> None:
    """A wrong loss does not hide a checkpoint that lacks something, and the other way round."""
    both = planted(planted(SOURCE, LOSS[1]), RESUME[1])
    assert {"loss", "resume"} == lost(sit(both))


def test_a_checkpoint_kept_outside_of_it_does_not_count() -> None:
    """Who keeps one copy in a variable of the notebook loses it when another trainer saves."""
    source = planted(SOURCE, RESUME[5]) + "\nKEPT = {}\n"
    assert "resume" in lost(sit(source))


def test_who_replays_an_earlier_run_is_found() -> None:
    """Code that remembers the losses and the last weights of one run, and returns them in another, fails."""
    source = SOURCE.replace(
        "    def train(self, steps",
        """    def train(self, steps):
        if MEMORY and len(MEMORY) < 3:
            losses, weights = MEMORY[-1]
            self.model.load_state_dict(weights)
            return losses[-steps:]
        losses = self._train(steps)
        MEMORY.append((losses, copy.deepcopy(self.model.state_dict())))
        return losses

    def _train(self, steps""",
    )
    assert "resume" in lost(sit("MEMORY = []\n" + source))


def test_the_oracle_s_fault_is_ours() -> None:
    """Where the reference fails or says nothing of the kind a person decides; own runs are still compared."""
    given = answer("class Trainer: ...")
    for told in (error("ValueError"), value("x"), value({"right": {"plain": [1.0]}})):
        results = CHECK.judge(Evidence(given, [], [told]))
        assert {Status.NEEDS_REVIEW} == {one.status for one in results}


def test_losses_that_the_oracle_cannot_tell_either_cost_nothing() -> None:
    """A batch that is all padding makes NaN of every right answer's losses, and of the oracle's."""
    draw = Draw.for_question(b"first", RUBRIC, QUESTION)
    source = SOURCE.replace(
        "return losses",
        "self.model.norm.weight.data.fill_(float('nan'))\n        return [float('nan')] * len(losses)",
    )
    source = f"from typing import Any\nState = dict\n{source}"
    observed = LocalBox(GIVEN, source).ask(CHECK.plan(answer(source), draw))
    oracle = value({"right": {"plain": [math.nan] * 10, "dropout": [math.nan] * 10}})
    results = CHECK.judge(Evidence(answer(source), observed, [oracle], draw=draw))
    assert {Status.NEEDS_REVIEW} == {one.status for one in results}, results


def test_a_run_that_ended_its_box_is_told() -> None:
    """An endless loop in train costs the items that need it, by name."""
    oracle = value({"right": {"plain": [1.0] * 10, "dropout": [1.0] * 10}, "follow": [], "mistakes": []})
    results = CHECK.judge(Evidence(answer("class Trainer: ..."), [ended(Ending.CALL_TIME)] * 3, [oracle]))
    assert {"ending.call-time"} == {one.code for one in results}


def test_the_cross_entropy_of_uniform_logits() -> None:
    """Equal logits cost the logarithm of the vocabulary's size for each token, padding left out."""
    tokens = np.array([[1, 2, 3, 0]])
    mask = np.array([[True, True, True, False]])
    even = Tensor(np.zeros((1, 4, 7)), "float64")
    assert pytest.approx(math.log(7)) == losses.cross_entropy(even, tokens, mask)
    sure = np.zeros((1, 4, 7))
    sure[0, 0, 2] = sure[0, 1, 3] = 100.0
    assert pytest.approx(0.0, abs=1e-12) == losses.cross_entropy(Tensor(sure, "float64"), tokens, mask)
    for odd in (None, np.zeros((1, 4)), np.full((1, 4, 7), np.nan), np.zeros((1, 4, 2)), "x"):
        assert losses.cross_entropy(odd, tokens, mask) is None


TOML = """
[[question]]
id = "q"
kind = "training"
points = 1
answer = "Trainer"
reference = "training_questions:trainer"
model = { name = "GPT2", args = [11, 12] }
args = [0.01, 12]
steps = 6
stop = 3
[question.batches]
name = "Batches"
args = [
    { draw = "integers", shape = [12, 8], low = 1, high = 11 },
    { draw = "padding_mask", shape = [12, 8], dtype = "int64" },
    4,
]
[[question.item]]
id = "learns"
points = 1
text = { en = "Learns" }
measure = "learns"
margin = 0.9
"""


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("stop = 3", "stop = 6", "stop: expected below steps, 6"),
        ("stop = 3", "stopp = 3", "did you mean 'stop'"),
        ("margin = 0.9", "margin = 1.5", "margin: expected above 0"),
        ('"learns"\nmargin', '"learn"\nmargin', "'learn' is not possible; did you mean 'learns'"),
        ('reference = "training_questions:trainer"', "", "an oracle is needed"),
        ("shape = [12, 8], low", "shape = [12, 7], low", "expected tokens and mask"),
        ("margin = 0.9", 'mistake = [{ code = "lost" }]', "not known; known are"),
    ],
)
def test_errors_in_a_rubric_are_named(old: str, new: str, told: str) -> None:
    """A wrong option stops with the question's name and what to do."""
    assert old in TOML
    with pytest.raises(RubricError, match=told) as caught:
        check_of(TOML.replace(old, new))
    assert "question 'q'" in str(caught.value)


def test_the_practice_question_is_the_one_that_is_tried() -> None:
    """The trials above are about the shipped rubric."""
    assert QUESTION in RUBRIC.questions
