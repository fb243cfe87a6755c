"""The kind ``score``: outputs on hidden data, measured by the reference, earn points by steps."""

from __future__ import annotations

import functools
import json
import random
import re
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from safetensors.torch import save_file

from autograder.authoring.templates import load
from autograder.checks.base import Draw, Evidence, HasThirdRound, trials_of
from autograder.errors import RubricError
from autograder.kinds.general.score import ScoreCheck
from autograder.kinds.general.score.files import UnreadableTensors, read_tensors
from autograder.kinds.general.score.hidden import RESAMPLES, batches, read_hidden
from autograder.kinds.general.score.sentences import SENTENCES
from autograder.messages import languages, render
from autograder.records import Answer, ItemResult, Observation, Status
from tests.checks.asking import DRAW, answer, check_of
from tests.support import anything
from tests.support.local_box import LocalBox

HEAD = '[[question]]\nid = "q"\nkind = "score"\npoints = 2\nanswer = "f"\nreference = "m:f"\n'
ITEM = '[[question.item]]\nid = "i"\npoints = 2\ntext = { en = "x" }\n'
TIERS = "tier = [{ at = 0.5, points = 1 }, { at = 0.1, points = 2 }]\n"
HIGHER = 'better = "higher"\ntier = [{ at = 0.6, points = 1 }, { at = 0.9, points = 2 }]\n'
START = """
import numpy

X = numpy.random.default_rng(5).normal(size=(60, 3))
W = numpy.random.default_rng(6).normal(size=(3, 4)) * 3


def softmax(scores):
    weights = numpy.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


class Task:
    changed = None
    floor = None

    def hidden(self, seed):
        told = {"args": [X], "count": 60}
        told |= {} if self.changed is None else {"changed": [self.changed]}
        return told | ({} if self.floor is None else {"floor": self.floor})
"""
SQUARES = (
    START + "    floor = 3.0\n    def measure(self, seed, outputs, weights):\n"
    "        return weights @ (numpy.asarray(outputs) - X.sum(1)) ** 2 / weights.sum(1)\nf = Task()\n"
)
RIGHT_ONES = (
    START + "    def measure(self, seed, outputs, weights):\n        right = (X @ W).argmax(-1)\n"
    "        right = [str(one) for one in right] if isinstance(outputs, list) else right\n"
    "        hits = numpy.array([one == other for one, other in zip(outputs, right)], float)\n"
    "        return {'accuracy': weights @ hits / weights.sum(1)}\nf = Task()\n"
)
PERPLEXITY = (
    START + "    log = False\n    def measure(self, seed, outputs, weights):\n"
    "        logs = outputs if self.log else numpy.log(outputs)\n"
    "        losses = -logs[numpy.arange(60), (X @ W).argmax(-1)]\n"
    "        return numpy.exp(weights @ losses / weights.sum(1))\nf = Task()\n"
)
SUM = "def f(x):\n    return x.sum(1)\n"


def question(more: str = "", item: str = TIERS, head: str = HEAD) -> ScoreCheck:
    """A question of two points."""
    check = check_of(f"{head}{more}\n{ITEM}{item}")
    assert isinstance(check, ScoreCheck)
    return check


def evidence_of(check: ScoreCheck, source: str, reference: str = SQUARES, draw: Draw = DRAW) -> Evidence:
    """All three rounds, asked here."""
    given_answer, box, ours = answer(source), LocalBox(source), LocalBox(reference)
    evidence = Evidence(
        given_answer, box.ask(check.plan(given_answer, draw)), ours.ask(check.reference_plan(draw)), draw=draw
    )
    again = check.second_round(evidence)
    assert () == again.reference
    evidence = replace(evidence, again=box.ask(again.student))
    return replace(evidence, tried=ours.ask(check.third_round(evidence)))


def judged(check: ScoreCheck, source: str, reference: str = SQUARES, **more: Any) -> ItemResult:
    """The result of one answer."""
    (result,) = check.judge(replace(evidence_of(check, source, reference), **more))
    assert all(render(result.student, language) for language in languages())
    return result


def told(result: ItemResult, language: str = "en") -> str:
    """What the student reads."""
    return render(result.student, language)


# ------------------------------------------------------------ what a measure earns


@pytest.mark.parametrize(
    ("apart", "code", "points"),
    [
        (0.0, "score.top", 2),
        (0.1**0.5, "score.top", 2),
        (0.1**0.5 + 1e-4, "score.tier", 1),
        (0.5, "score.tier", 1),
        (1.0, "score.below", 0),
        (2.0, "score.floor", 0),
    ],
)
def test_points_follow_the_measure_by_steps(apart: float, code: str, points: int) -> None:
    """A mean square of 0.1 earns all, rounding apart; what is no better than a constant earns nothing."""
    result = judged(question(), SUM.replace("sum(1)", f"sum(1) + {apart}"))
    assert (code, Decimal(points)) == (result.student.code, result.points), result.staff
    assert (Status.PASSED if points == 2 else Status.FAILED) is result.status


def test_what_is_told_are_the_measure_and_the_next_step() -> None:
    """Numbers are written as the language has them, with the digits that are needed."""
    result = judged(question(), SUM.replace("sum(1)", "sum(1) + 0.5"))
    assert told(result).startswith("f: 0.25 on 60 hidden examples. That reaches the step at 0.5; the next")
    assert "f: 0,25 bei 60 verborgenen" in told(result, "de")
    near = judged(question(), SUM.replace("sum(1)", f"sum(1) + {0.50000001**0.5 + 1e-6!r}"))
    assert "score.below" == near.code
    assert "f: 0.500001" in told(near)  # and not the 0.5 that would have reached the step


@pytest.mark.parametrize(
    ("times", "said"),
    [(1e5, r"\d{11}"), (1e19, r"\d\.\d+ × 10\^38"), (1e140, r"\d\.\d+ × 10\^280")],
)
def test_a_measure_of_any_size_is_told(times: float, said: str) -> None:
    """A model that diverged is no fault of ours."""
    result = judged(question(), SUM.replace("sum(1)", f"sum(1) * {times}"))
    assert "score.floor" == result.code, result.staff
    assert re.match(f"f: {said} on 60", told(result)), told(result)


@pytest.mark.parametrize(
    ("wrong", "code"),
    [(0, "score.top"), (10, "score.tier"), (30, "score.below"), (45, "score.floor")],
)
def test_higher_can_be_better(wrong: int, code: str) -> None:
    """An accuracy of several metrics; the rubric states the floor."""
    check = question('gives = "classes"\nclasses = 4', f'metric = "accuracy"\nfloor = 0.4\n{HIGHER}')
    scores = f"{START}\nRIGHT = (X @ W).argmax(-1)\nROW = {{tuple(x): n for n, x in enumerate(X)}}\n"
    source = (
        f"{scores}def f(x):\n    rows = numpy.array([ROW[tuple(one)] for one in x])\n"
        f"    return numpy.where(rows < {wrong}, (RIGHT[rows] + 1) % 4, RIGHT[rows])\n"
    )
    result = judged(check, source, RIGHT_ONES)
    assert code == result.student.code, result.staff


def test_a_list_of_losses_earns_nothing() -> None:
    """What the notebook says of itself counts nowhere; where it is another number, that is said."""
    check = question('reported = "loss_history"')
    claimed = SUM.replace("sum(1)", "sum(1) + 2") + "loss_history = [0.0] * 5\n"
    result = judged(check, claimed)
    assert ("score.floor", 0) == (result.code, result.points)
    assert "Your notebook arrives at 0. What counts" in told(result)
    for history in ("", "loss_history = [9.0, 0.26]\n", "loss_history = 'none'\n", "loss_history = []\n"):
        assert "notebook" not in told(judged(check, SUM.replace("sum(1)", "sum(1) + 0.5") + history))


def test_a_printed_number_is_compared_as_well() -> None:
    """The last number after the words, with a comma or a real minus as well."""
    check, source = question('printed = "test loss"'), SUM.replace("sum(1)", "sum(1) + 0.5")
    printed = ["epoch 1\ntest loss = 0.90\n", "test loss: 0,0312\n"]
    assert "arrives at 0.0312." in told(judged(check, source, printed=printed))
    assert "notebook" not in told(judged(check, source, printed=[*printed, "test loss: 0.25"]))
    assert "notebook" not in told(judged(check, source, printed=["loss 7"]))


def test_near_a_step_the_uncertainty_is_told() -> None:
    """Examples drawn with replacement say how sure the measure is; the points follow the measure alone."""
    noisy = (
        "import numpy\ndef f(x):\n    return x.sum(1) + {} * numpy.sign(numpy.sin(50 * x[:, 0])).clip(0)\n"
    )
    near, far = judged(question(), noisy.format(1.0)), judged(question(), noisy.format(0.4))
    low, high = map(float, re.findall(r"between ([\d.]+) and ([\d.]+)", told(near))[0])
    assert low < 0.5 < high
    assert "step at 0.5 lies there" in told(near)
    assert "certain" not in told(far) or "step at 0.1" in told(far)


def test_the_same_course_measures_the_same() -> None:
    """Nothing is left to chance: calls, uncertainty and words follow from the secret; another one differs."""
    check, source = question(), SUM.replace("sum(1)", "sum(1) * 1.3")
    first, second = (check.judge(evidence_of(check, source)) for _ in range(2))
    assert first == second
    hidden = read_hidden({"args": [np.arange(60)]}, check.options)
    orders = {batches(hidden, 7, Draw(secret)) for secret in (b"a", b"a", b"b")}
    assert 2 == len(orders)


# ------------------------------------------------------------ what is refused


MODELS: Mapping[str, tuple[str, str, str, str]] = {
    "numbers": ("shape = []", TIERS, SUM, SQUARES),
    "probabilities": (
        'gives = "probabilities"\nshape = [4]',
        "tier = [{ at = 1.7, points = 2 }]\n",
        f"{START}\ndef f(x):\n    return softmax(x @ W)\n",
        PERPLEXITY,
    ),
    "log-probabilities": (
        'gives = "log-probabilities"\nshape = [4]',
        "tier = [{ at = 1.7, points = 2 }]\n",
        f"{START}\ndef f(x):\n    return numpy.log(softmax(x @ W))\n",
        PERPLEXITY.replace("log = False", "log = True"),
    ),
    "classes": (
        'gives = "classes"\nclasses = 4',
        f'metric = "accuracy"\n{HIGHER}',
        f"{START}\ndef f(x):\n    return (x @ W).argmax(-1)\n",
        RIGHT_ONES,
    ),
    "texts": (
        'gives = "texts"',
        f'metric = "accuracy"\n{HIGHER}',
        f"{START}\ndef f(x):\n    return [str(one) for one in (x @ W).argmax(-1)]\n",
        RIGHT_ONES,
    ),
    "a method of a model": (
        'method = "predict"\nmode = "eval"\nbatch = 9',
        TIERS,
        "class Model:\n    def eval(self):\n        self.ready = True\n"
        "    def predict(self, x):\n        assert self.ready\n        return x.sum(1)\nf = Model()\n",
        SQUARES,
    ),
    "a variable": ('asks = "variable"', TIERS, f"{START}\nf = X.sum(1).tolist()\n", SQUARES),
    "classes in a variable": (
        'asks = "variable"\ngives = "classes"',
        f'metric = "accuracy"\n{HIGHER}',
        f"{START}\nf = (X @ W).argmax(-1)\n",
        RIGHT_ONES,
    ),
}


@pytest.mark.parametrize("form", MODELS)
def test_every_planted_output_loses_all_and_is_told_why(form: str) -> None:
    """What `autograder verify` plants for a form ends with the sentence it names; the key itself passes."""
    more, item, key, reference = MODELS[form]
    check = question(more, item)
    assert Status.PASSED is judged(check, key, reference).status, form
    trials = trials_of(check, answer(key))
    assert len(trials) >= 3
    for trial in trials:
        result = judged(check, trial.source, reference)
        assert trial.codes["i"] == result.student.code, (form, trial.name, result.staff)
        assert trial.points["i"] == result.points == 0


def test_every_sentence_has_a_trial() -> None:
    """Planted answers speak all sentences but those that a reference's own tensors decide."""
    spoken = {code for more, item, key, _ in MODELS.values() for code in _codes(question(more, item), key)}
    spoken |= _codes(FILED, "x = 1") | _codes(question('asks = "file"\nreads = "p.csv"'), "x = 1")
    spoken |= set(re.findall(r'"(score\.[\w-]+)"', load("score", "m").reference))
    beside = {"score.near", "score.reported", "score.top"}  # told beside another sentence, or to the key
    beside |= {one for one in SENTENCES if one.startswith("score.tensor")}
    assert set(SENTENCES) == {one for one in spoken if one.startswith("score.")} | beside


def _codes(check: ScoreCheck, key: str) -> set[str]:
    return {code for trial in trials_of(check, answer(key)) for code in trial.codes.values()}


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("return x.sum(1) - x.mean() + X.mean()", "score.batch"),  # statistics of the whole batch
        ("return x.sum(1)[x[:, 0].argsort()][x[:, 0].argsort().argsort()] + x[0, 0] / 9", "score.batch"),
        ("return x.sum(1) + numpy.arange(len(x))", "score.batch"),  # the place in the batch
        ("return x.sum(1) + next(n) * 0.05", "score.batch"),  # how often it was called
        ("return x.sum(1) + numpy.random.rand(len(x))", "score.batch"),  # dropout that is not switched off
        ("return x.sum(1)[:, None]", "score.shape"),
        ("return x", "score.shape"),
        ("return 3.0", "value.form"),
        ("return {'logits': x.sum(1)}", "value.form"),
        ("return x.sum(1) * 1j", "value.form"),
        ("return [one.sum() for one in x]", "score.top"),
        ("return numpy.where(x[:, 0] > 0, numpy.inf, 0)", "score.not-finite"),
        ("return numpy.zeros(len(x))", "score.constant"),
        ("raise ValueError('no')", "raised"),
        ("return None", "value.none"),
    ],
)
def test_functions_that_cheat_or_fail(body: str, code: str) -> None:
    """Each is told in a sentence of its own, and earns nothing."""
    source = f"{START}\nimport itertools\nn = itertools.count()\ndef f(x):\n    {body}\n"
    result = judged(question("shape = []"), source)
    assert code == result.student.code, result.staff
    assert (2 if code == "score.top" else 0) == result.points
    assert Status.NEEDS_REVIEW is not result.status


def test_batch_normalisation_needs_evaluation_mode() -> None:
    """A model in training mode is told so; with ``mode = "eval"`` the grader switches it itself."""
    model = (
        "import torch\nfrom torch import nn\ntorch.manual_seed(0)\nclass Model(nn.Module):\n"
        "    def __init__(self):\n        super().__init__()\n        self.norm = nn.BatchNorm1d(3)\n"
        "    def forward(self, x):\n        return self.norm(torch.as_tensor(x).float()).sum(1)\n"
        "f = Model()\n"
    )
    assert "score.batch" == judged(question("batch = 20"), model).code
    assert Status.PASSED is judged(question('mode = "eval"\nbatch = 20'), model).status


def test_sums_within_rounding_give_nothing() -> None:
    """A distribution that is a little too large is divided by its sum, so perplexity gains nothing by it."""
    more, item, key, reference = MODELS["probabilities"]
    check = question(more, item)
    exact, above = (
        evidence_of(check, key.replace("softmax(x @ W)", f"{factor} * softmax(x @ W)"), reference)
        for factor in ("1.0", "1.0009")
    )
    measured = [one.tried[0][0].value[0] for one in (exact, above)]
    assert measured[0] == pytest.approx(measured[1], rel=1e-12)


def test_probability_zero_is_told_as_that() -> None:
    """An infinite perplexity names its cause."""
    more, item, key, reference = MODELS["probabilities"]
    source = key.replace("softmax(x @ W)", "numpy.eye(4)[(x @ W).argmin(-1)]")
    with np.errstate(all="ignore"):
        assert "score.infinite" == judged(question(more, item), source, reference).code


def test_what_is_known_by_heart_counts_by_the_changed_examples() -> None:
    """A table of the examples themselves knows nothing of the same ones, slightly moved."""
    moved = SQUARES.replace("    floor = 3.0\n", "    floor = 3.0\n    changed = X + 1e-3\n")
    table = f"{START}\nTABLE = {{tuple(x): x.sum() for x in X}}\n"
    by_heart = f"{table}def f(x):\n    return [TABLE.get(tuple(one), -2.0) for one in x]\n"
    result = judged(question(), by_heart, moved)
    assert ("score.memorised", 0) == (result.code, result.points)
    assert Status.PASSED is judged(question(), SUM, moved).status
    partly = by_heart.replace("-2.0", "one.sum() + 0.6")
    assert ("score.memorised", 1) == ((one := judged(question(), partly, moved)).code, one.points)
    near = "def f(x):\n    return x.sum(1) + 0.315\n"
    assert 2 == judged(question(), near, moved).points  # what moves by chance takes nothing


def test_a_box_sees_rows_of_the_examples_and_nothing_else() -> None:
    """No label, no order, no number of the examples; each stands in one scored batch, some in two."""
    check = question("batch = 16")
    seen = evidence_of(check, SUM)
    (scenario,) = check.second_round(replace(seen, again=(), tried=())).student
    inputs = seen.expected[0][0].value["args"][0]
    rows = [tuple(row) for call in scenario.calls for row in call.args[0]]
    assert {tuple(row) for row in inputs} == set(rows)
    assert 60 + 2 * 16 == len(rows)
    assert [tuple(row) for row in inputs] != rows[:60]
    assert {call.seed for call in scenario.calls} == {0}
    assert {call.target for call in scenario.calls} == {"f"}


# ------------------------------------------------------------ files


CHECKPOINT = (
    "import numpy\nclass Task:\n    def hidden(self, seed):\n"
    "        return {'count': 9, 'tensors': {'w': [3], 'b': []}, 'floor': 9.0}\n"
    "    def measure(self, seed, tensors, weights):\n"
    "        return weights.sum(1) / 9 * float(abs(tensors['w'] - 1).sum() + abs(tensors['b']))\nf = Task()\n"
)
FILED = question('asks = "file"\nreads = "model.safetensors"')


@pytest.mark.parametrize(
    ("tensors", "code"),
    [
        ({"w": torch.ones(3), "b": torch.tensor(0.0)}, "score.top"),
        ({"w": torch.ones(3).bfloat16(), "b": torch.tensor(0.25).half()}, "score.tier"),
        ({"w": torch.zeros(3), "b": torch.tensor(7.0)}, "score.floor"),
        ({"w": torch.ones(3)}, "score.tensors-missing"),
        ({"w": torch.ones(3), "b": torch.tensor(0.0), "c": torch.ones(1)}, "score.tensors-extra"),
        ({"w": torch.ones(3, 1), "b": torch.tensor(0.0)}, "score.tensor-shape"),
        ({"w": torch.full((3,), torch.nan), "b": torch.tensor(0.0)}, "score.not-finite"),
    ],
)
def test_checkpoints_are_read_without_running_them(
    tensors: dict[str, torch.Tensor], code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the library writes is read, metadata and bfloat16 included; each misfit has a sentence."""
    monkeypatch.chdir(tmp_path)
    save_file(tensors, "model.safetensors", metadata={"format": "pt"})
    result = judged(FILED, "trained = True", CHECKPOINT)
    assert code == result.student.code, result.staff


def test_planted_checkpoints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is missing, cut off, a pickle or full of NaN is told as that."""
    monkeypatch.chdir(tmp_path)
    key = (
        "import torch\nfrom safetensors.torch import save_file\n"
        "save_file({'w': torch.ones(3), 'b': torch.tensor(0.0)}, 'model.safetensors')\n"
    )
    assert Status.PASSED is judged(FILED, key, CHECKPOINT).status
    for trial in trials_of(FILED, answer(key)):
        assert trial.codes["i"] == judged(FILED, trial.source, CHECKPOINT).student.code, trial.name
    table = question('asks = "file"\nreads = "p.npy"')
    saved = f"{START}\nnumpy.save('p.npy', X.sum(1))\n"
    assert Status.PASSED is judged(table, saved).status
    for trial in trials_of(table, answer(saved)):
        assert trial.codes["i"] == judged(table, trial.source).student.code, trial.name


def test_files_are_planted_where_no_cell_could_change_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of an answer that is the file, files are planted in its place, and each is told as what it is."""
    monkeypatch.chdir(tmp_path)
    for name, planted in (("model.safetensors", 3), ("p.npy", 2), ("p.csv", 2)):
        check = question(f'asks = "file"\nreads = "{name}"')
        check.question = replace(check.question, file=name)
        trials = trials_of(check, Answer(name, "code", f"# {name}", changed=True))
        assert planted == len(trials)
        for trial in trials:
            (content,) = trial.files.values()
            Path(name).unlink(missing_ok=True)
            if content is not None:
                Path(name).write_bytes(content)
            assert trial.codes["i"] == judged(check, "", CHECKPOINT).student.code, trial.name


def test_a_file_counts_although_its_cell_is_blank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was handed in lies beside the notebook; where nothing does, there is no answer."""
    monkeypatch.chdir(tmp_path)
    blank = Answer("q-answer", "code", "", changed=False)
    assert FILED.plan(blank, DRAW)
    assert () == question().plan(blank, DRAW)
    assert Status.NO_ANSWER is judged(FILED, "", CHECKPOINT).status


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("p.csv", "\n".join(map(str, range(60))), "score.floor"),
        ("p.csv", "\ufeff" + "\n".join(map(str, range(60))), "score.floor"),
        ("p.txt", "a b", "score.file"),
        ("p.csv", "1,2\n3", "score.file"),
        ("p.csv", "1\n2", "score.shape"),
        ("p.npy", "no array", "score.file"),
        ("p.npy", None, "score.no-file"),
    ],
)
def test_tables_of_predictions(
    name: str, content: str | None, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Predictions may be a table of numbers, a row for each example."""
    monkeypatch.chdir(tmp_path)
    Path(name).unlink(missing_ok=True)
    if content is not None:
        Path(name).write_text(content, "utf-8")
    result = judged(question(f'asks = "file"\nreads = "{name}"\nshape = []'), "x = 1")
    assert code == result.student.code, result.staff


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=80), st.integers(0, 200), st.booleans())
def test_any_bytes_are_tensors_or_refused(data: bytes, length: int, framed: bool) -> None:
    """Whatever stands in a file, reading it gives arrays or says no."""
    whole = length.to_bytes(8, "little") + data if framed else data
    try:
        found = read_tensors(np.frombuffer(whole, np.uint8))
    except UnreadableTensors:
        return
    assert all(isinstance(one, np.ndarray) for one in found.values())


@pytest.mark.parametrize(
    "header",
    [
        [],
        {"w": 3},
        {"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}},
        {"w": {"dtype": "F32", "shape": [1 << 60], "data_offsets": [0, 4 << 60]}},
        {"w": {"dtype": "O", "shape": [1], "data_offsets": [0, 8]}},
        {"w": {"dtype": "BF16", "shape": [True], "data_offsets": [0, 2]}},
    ],
)
def test_headers_that_lie_are_refused(header: Any) -> None:
    """Every claim is held against the bytes."""
    text = json.dumps(header).encode()
    with pytest.raises(UnreadableTensors):
        read_tensors(np.frombuffer(len(text).to_bytes(8, "little") + text + b"\0" * 4, np.uint8))


# ------------------------------------------------------------ our own faults, and rubrics


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('told = {"args": [X], "count": 60}', "return 3"),
        ('told = {"args": [X], "count": 60}', "return {}"),
        ('told = {"args": [X], "count": 60}', 'return {"args": [X], "count": 7}'),
        ('told = {"args": [X], "count": 60}', 'return {"args": X}'),
        ('told = {"args": [X], "count": 60}', 'return {"args": [X], "changed": [X, X]}'),
        ('told = {"args": [X], "count": 60}', 'return {"args": [X], "floor": "low"}'),
        ('told = {"args": [X], "count": 60}', "raise ValueError"),
        ("return weights @", "return weights[:2] @"),
        ("return weights @", "return numpy.nan * weights @"),
        ("return weights @", "return 'low', weights @"),
        ("return weights @", "raise ValueError\n        return weights @"),
    ],
)
def test_what_the_reference_gets_wrong_costs_nobody_points(old: str, new: str) -> None:
    """A reply of another form goes to a person, with what is wrong for staff."""
    assert old in SQUARES
    result = judged(question(), SUM, SQUARES.replace(old, new))
    assert Status.NEEDS_REVIEW is result.status
    assert "reference" in result.staff


def test_what_is_missing_is_no_answer_even_then() -> None:
    """A name that is not there earns nothing, whatever the reference says."""
    result = judged(question(), "g = 1", SQUARES.replace('told = {"args"', 'return {"args"'))
    assert ("name.missing", Status.NO_ANSWER) == (result.code, result.status)


@pytest.mark.parametrize(
    ("more", "item", "said"),
    [
        ("", "", "at least one is needed"),
        ("", "tier = [{ at = 1, points = 1 }]\n", "the best one earns 1"),
        ("", "tier = [{ at = 1, points = 1 }, { at = 2, points = 2 }]\n", "a better measure must earn more"),
        ("", f"floor = 0.5\n{TIERS}", "nobody can earn it"),
        ("", "tier = [{ at = 1, points = 0.001 }, { at = 0.5, points = 2 }]\n", "at most two decimals"),
        ("", 'tier = [{ at = 1, points = 2, "of" = 3 }]\n', "of"),
        ('asks = "file"', TIERS, "file"),
        ('reads = "a.npy"', TIERS, "file"),
        ('asks = "file"\nreads = "model.pt"', TIERS, "runs code"),
        ('asks = "file"\nreads = "../a.npy"', TIERS, "plain file name"),
        ('asks = "variable"\nmode = "eval"', TIERS, "mode"),
        ("classes = 4", TIERS, "classes"),
        ('gives = "probabilities"\nshape = []', TIERS, "axis"),
        ('gives = "texts"\nshape = [3]', TIERS, "texts"),
        ('asks = "file"\nreads = "a.csv"\ngives = "texts"', TIERS, "holds numbers"),
        ("batch = 0", TIERS, "batch"),
    ],
)
def test_rubrics_that_cannot_be_measured(more: str, item: str, said: str) -> None:
    """Each error names the question and what to do."""
    with pytest.raises(RubricError, match=re.escape(said)):
        question(more, item)
    with pytest.raises(RubricError, match="reference"):
        question(head=HEAD.replace('reference = "m:f"\n', ""))


@functools.cache
def whole_evidence() -> Evidence:
    """Everything that is seen of a right answer."""
    return evidence_of(question("batch = 16"), SUM)


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 2**64 - 1))
def test_any_values_are_judged(seed: int) -> None:
    """Values of any form in any round give results that can be said, and no exception."""
    check, evidence, numbers = question("batch = 16"), whole_evidence(), random.Random(seed)
    some = [Observation(ok=True, value=anything.value(numbers)), anything.observation(numbers)]

    def spoilt(rows: Any) -> Any:
        return [tuple(numbers.choice((one, one, one, *some)) for one in row) for row in rows]

    changed = replace(evidence, observed=spoilt(evidence.observed), again=spoilt(evidence.again))
    assert isinstance(check, HasThirdRound)
    check.second_round(changed)
    check.third_round(changed)
    whole = replace(changed, tried=spoilt(evidence.tried), expected=spoilt(evidence.expected))
    (result,) = check.judge(whole)
    assert Decimal(0) <= result.points <= result.possible
    assert all(render(result.student, language) for language in languages())


def test_weights_of_examples() -> None:
    """In the first row each counts once; in every other as many are drawn as there are."""
    ours = SQUARES.replace("return weights @", "self.seen = weights\n        return weights @")
    check, box = question(), LocalBox(ours)
    evidence = evidence_of(check, SUM)
    box.ask(check.third_round(replace(evidence, tried=())))
    weights = box.namespace["f"].seen
    assert (1 + RESAMPLES, 60) == weights.shape
    assert {1.0} == set(weights[0])
    assert {60.0} == set(weights.sum(1))
