"""Counting questions: the practice sheet, the GPT-2 table, planted answers and names of mistakes."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from autograder.core.records import Answer, ItemResult, Observation
from autograder.messages import load_sentences, render_message
from autograder.questions import make_check
from autograder.questions.base.base import Evidence
from autograder.rubric import Question, load_rubric
from reference.counting import families, oracle, tasks, trials
from reference.counting.catalogue import DECODERS
from reference.counting.mistakes import families as family_mistakes
from reference.counting.mistakes import parameters, use
from reference.counting.mistakes.miscounts import Mistake, Task, wrong_numbers
from reference.counting.setting import Setting
from tests.questions.base.asking import DRAW
from tests.reference.counting.test_parameters import T5_3B

ROOT = Path(__file__).parents[1]
RUBRICS = {name: load_rubric(ROOT / "rubrics" / f"{name}.toml") for name in ("gpt2", "counting")}
ASKED = {
    question.id: (question, rubric)
    for rubric in RUBRICS.values()
    for question in rubric.questions
    if question.reference.startswith("counting.")
}
QUESTIONS = [question for question, _ in ASKED.values()]
CHECKS = {name: make_check(question, rubric) for name, (question, rubric) in ASKED.items()}
CELLS: Mapping[str, str] = {
    cell["metadata"]["nbgrader"]["grade_id"]: "".join(cell["source"])
    for name in RUBRICS
    for cell in json.loads((ROOT / "assignments" / name / f"{name}.ipynb").read_text("utf-8"))["cells"]
}
KNOWN: Mapping[str, tuple[Task, tuple[Mistake, ...]]] = {
    "matrices": (tasks.entries, parameters.ENTRIES),
    "tensors": (tasks.tensors, parameters.TENSORS),
    "llama-parts": (tasks.parts, parameters.PARTS),
    "experts": (tasks.experts, parameters.EXPERTS),
    "cache": (tasks.cache, use.CACHE),
    "work": (tasks.work, use.WORK),
    "training-memory": (tasks.training_memory, use.TRAINING_MEMORY),
    "adapters": (tasks.adapters, parameters.ADAPTERS),
    "activations": (tasks.activations, use.ACTIVATIONS),
    "t5-parts": (tasks.t5, family_mistakes.T5),
    "bert": (tasks.bert, family_mistakes.BERT),
    "encoder-decoder": (tasks.encoder_decoder, family_mistakes.ENCODER_DECODER),
}


def setting_of(question: Question) -> Any:
    """Return the sizes that a question uses."""
    config = question.options["config"]
    return families.T5(**config) if question.id == "t5-parts" else Setting.of(config)


def expected(question: Question) -> list[Observation]:
    """Return the reference's results, computed here instead of in a sandbox."""
    reference = getattr(oracle, question.reference.partition(":")[2])
    return [
        Observation(ok=True, value=reference(*call.args))
        for call in CHECKS[question.id].plan_reference_calls()
    ]


def graded(question: Question, source: str) -> tuple[ItemResult, ...]:
    """Return the results of a cell that is run here instead of in a sandbox."""
    check, answer = CHECKS[question.id], Answer(question.answer_cell, "code", source, changed=True)
    observed = []
    if check.plan_calls(answer):
        namespace: dict[str, Any] = {}
        exec(source, namespace)
        observed = [Observation(ok=True, value=namespace[question.answer])]
    return check.judge(Evidence(answer, observed, expected(question), draw=DRAW))


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.id)
def test_one_configuration_for_students_and_grader(question: Question) -> None:
    """The notebook, the reference and the trials use the same configuration."""
    _, _, shown = CELLS[f"{question.id}-config"].partition(" = ")
    config = question.options["config"]
    assert config == ast.literal_eval(shown)
    if question.trials:
        made_for = {**trials.CONFIGS[question.trials.partition(":")[2]]}
        assert Setting.of(config) == Setting.of(made_for)


def test_the_models_are_the_published_ones() -> None:
    """The configurations match the published models, except for the two tokens added to GPT-2."""
    published = [dict(config) for config in DECODERS.values()]
    assert setting_of(ASKED["t5-parts"][0]) == T5_3B
    for question in QUESTIONS[:-1]:
        config = question.options["config"]
        model = {**config["model"]}
        model["n_voc"] -= config.get("added_tokens", 0)
        assert model in published


@pytest.mark.parametrize(
    ("reference", "sizes"), [("bert", families.Bert()), ("encoder_decoder", families.EncoderDecoder())]
)
def test_other_families_have_references_too(reference: str, sizes: Any) -> None:
    """BERT and ``nn.Transformer`` have a right table, and every mistake changes its total."""
    said = getattr(oracle, reference)({})
    counts = getattr(families, reference)(sizes)
    assert {**counts, "total": sum(counts.values())} == {
        name: row["count"] for name, row in said["right"].items()
    }
    known = KNOWN[reference.replace("_", "-")][1]
    assert [mistake.code for mistake in known] == [mistake["code"] for mistake in said["mistakes"]]
    for mistake in said["mistakes"]:
        assert 0 < mistake["values"]["total"]["count"] != said["right"]["total"]["count"]


@pytest.mark.parametrize(
    ("name", "code", "entry", "number"),
    [
        ("matrices", "old-vocabulary", "wte", 50257 * 768),
        ("tensors", "no-biases", "layer", 8),
        ("llama-parts", "multi-head", "keys", 16 * 2048 * 2048),
        ("llama-parts", "no-gate", "mlp", 16 * 2 * 2048 * 8192),
        ("llama-parts", "tied-head-twice", "head", 128_256 * 2048),
        ("llama-parts", "one-layer", "queries", 2048 * 2048),
        ("experts", "all-experts-active", "active", 46_702_792_704),
        ("experts", "no-router", "total", 46_702_792_704 - 32 * 4096 * 8),
        ("cache", "keys-only", "token", 28_672),
        ("cache", "multi-head", "token", 7 * 57_344),
        ("cache", "four-bytes", "token", 2 * 57_344),
        ("cache", "batch-forgotten", "cache", 131_072 * 57_344),
        ("work", "forward-only", "training", 790_703_479_193_600),
        ("work", "one-operation", "forward", 395_351_739_596_800),
        ("training-memory", "one-moment", "moments", 4 * 7_615_616_512),
        ("adapters", "full-matrix", "attention_v", 32 * 4096 * 1024),
        ("adapters", "one-adapter-matrix", "attention_q", 32 * 16 * 4096),
        ("activations", "no-scores", "layer", 34 * 1024 * 6 * 768),
        ("t5-parts", "full-width", "encoder_attention", 24 * 4 * 1024 * 1024),
        ("t5-parts", "relative-positions-each-layer", "relative_positions", 24 * 2 * 32 * 32),
    ],
)
def test_mistakes_lead_to_the_numbers_that_a_student_would_get(
    name: str, code: str, entry: str, number: int
) -> None:
    """The numbers were worked out by hand for the sizes of the practice sheet."""
    task, known = KNOWN[name]
    (mistake,) = (one for one in known if one.code == code)
    assert number == wrong_numbers(task, setting_of(ASKED[name][0]), mistake)[entry]


def test_every_mistake_changes_a_number_somewhere() -> None:
    """Every mistake changes a number in some question."""
    settings = {question.id: setting_of(question) for question in QUESTIONS}
    settings |= {"bert": families.Bert(), "encoder-decoder": families.EncoderDecoder()}
    found = [
        (one.code, wrong_numbers(task, settings[name], one))
        for name, (task, known) in KNOWN.items()
        for one in known
    ]
    assert {code for code, _ in found} == {code for code, numbers in found if numbers}


@pytest.mark.parametrize("name", KNOWN)
def test_every_mistake_has_its_sentences(name: str) -> None:
    """Code and family of every mistake have sentences, and codes are unique in a question."""
    known = KNOWN[name][1]
    for mistake in known:
        assert {f"counting.{mistake.code}", f"counting.{mistake.family}"} <= set(load_sentences())
    assert len({mistake.code for mistake in known}) == len(known)


def test_every_sentence_belongs_to_a_mistake() -> None:
    """Every counting sentence belongs to a mistake."""
    known = [mistake for _, found in KNOWN.values() for mistake in found]
    codes = {one.code for one in known} | {one.family for one in known} | {"several"}
    assert {f"counting.{code}" for code in codes} == {
        code for code in load_sentences() if code.startswith("counting.")
    }


def _given(question: Question, name: str, number: int) -> str:
    """Return a cell with the right numbers except for one entry."""
    task, _ = KNOWN[question.id]
    numbers = {**task(setting_of(question)), name: number}
    if question.kind != "table":
        unit = {"cache": " bytes", "activations": " bytes", "work": " FLOPs"}.get(question.id, "")
        written = {key: f"{value}{unit}" if unit else value for key, value in numbers.items()}
        return f"{question.answer} = {written!r}"
    unit = " bytes" if question.id == "training-memory" else ""
    column = "memory" if unit else "count"
    rows = [
        {question.options["column"][0]["id"]: key, column: f"{value}{unit}"} for key, value in numbers.items()
    ]
    return f"{question.answer} = {rows!r}"


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.id)
def test_every_known_mistake_is_named_or_what_it_shares_with_others(question: Question) -> None:
    """A wrong number gets the sentence of its mistake, or a general one if several mistakes lead to it.

    The sentence never contains the right number.
    """
    task, known = KNOWN[question.id]
    setting = setting_of(question)
    right = task(setting)
    near = 0.0 if question.id == "experts" or question.kind == "table" else 1e-3
    asked = {row["id"] for row in question.options.get("row", ())} or {item.id for item in question.items}
    own = {mistake["code"] for item in question.items for mistake in item.options.get("mistake", ())}
    numbers = {mistake: wrong_numbers(task, setting, mistake) for mistake in known}
    told = []
    for mistake, wrong in numbers.items():
        for name, number in ((name, wrong[name]) for name in wrong if name in asked):
            also = [one for one in known if abs(numbers[one].get(name, 0) - number) <= near * number]
            families = {one.family for one in also}
            expected_code = (
                mistake.code if len(also) == 1 else families.pop() if len(families) == 1 else "several"
            )
            results = graded(question, _given(question, name, number))
            (code,) = {one.code for one in results if "counting." in one.code or one.code in own}
            told.append(code)
            assert code in {f"counting.{expected_code}", "counting.several"} | own, (mistake.code, name)
            for one in results:
                assert right[name] < 1000 or f"{right[name]:,}" not in render_message(one.student, "en"), (
                    mistake.code
                )
    assert told.count("counting.several") <= 0.25 * len(told), told


@pytest.mark.parametrize(
    "question", [one for one in QUESTIONS if one.kind == "number"], ids=lambda question: question.id
)
def test_a_mistake_in_several_numbers_costs_points_once(question: Question) -> None:
    """A mistake repeated in several numbers costs points once; another mistake costs further points."""
    task, known = KNOWN[question.id]
    setting = setting_of(question)
    right = task(setting)
    unit = {"cache": " bytes", "activations": " bytes", "work": " FLOPs"}.get(question.id, "")
    tried = 0
    for mistake in known:
        wrong = wrong_numbers(task, setting, mistake)
        written = {name: f"{number}{unit}" for name, number in {**right, **wrong}.items()}
        results = graded(question, f"{question.answer} = {written!r}")
        lost = [one for one in results if one.points < one.possible]
        charged = [one for one in results if one.code == "answer.same-mistake"]
        asked = [item.id for item in question.items if item.id in wrong]
        assert (min(1, len(asked)), max(0, len(asked) - 1)) == (len(lost), len(charged)), mistake.code
        tried += len(charged)
    assert tried


def test_a_right_zero_does_not_make_a_sum_of_own_rows() -> None:
    """A consistent total of wrong rows earns nothing, even if the row of the parameterless head is right."""
    question = ASKED["llama-parts"][0]
    names = list(tasks.parts(setting_of(question)))[:-1]
    rows = [*((name, 7) for name in names if name != "head"), ("head", 0)]
    total = ("total", sum(number for _, number in rows))
    parts, whole = graded(question, f"parts = {[*rows, total]!r}")
    assert (1, 0) == (parts.points, whole.points)
    rows[0] = ("embeddings", tasks.parts(setting_of(question))["embeddings"])
    total = ("total", sum(number for _, number in rows))
    parts, whole = graded(question, f"parts = {[*rows, total]!r}")
    assert (2, 2) == (parts.points, whole.points)
