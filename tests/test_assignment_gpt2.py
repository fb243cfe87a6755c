"""The shipped GPT-2 assignment: notebook, rubric and reference are consistent and correct."""

from __future__ import annotations

import ast
import inspect
from decimal import Decimal
from pathlib import Path
from typing import Any

import nbformat
import pytest
import torch

from autograder.rubric import load_rubric
from reference import corpus, decoding, gpt2, memorisation, training

ROOT = Path(__file__).parents[1]
NAME = "gpt2"
RUBRIC = load_rubric(ROOT / "rubrics" / f"{NAME}.toml")
SOURCE = ROOT / "assignments" / NAME / f"{NAME}.ipynb"
NOTEBOOK = nbformat.reads(SOURCE.read_text("utf-8"), as_version=4)
CELLS = {cell.metadata.nbgrader.grade_id: cell for cell in NOTEBOOK.cells}
KEY = {
    "top-k": decoding.top_k,
    "top-p": decoding.top_p,
    "no-repeat": decoding.no_repeat_ngram,
    "chain": decoding.next_token_probabilities,
    "sample": decoding.sample,
    "greedy": decoding.greedy,
    "beam": decoding.beam_search,
    "trainer": training.Trainer,
    "memorisation": memorisation.memorisation,
}
"""Question id → the part of the reference that is its answer key."""


def meaning(source: str) -> list[str]:
    """Return the classes and functions of a source without comments, type aliases and markers."""
    source = source.replace("State", "dict")
    return [
        ast.dump(node) for node in ast.parse(source).body if isinstance(node, ast.ClassDef | ast.FunctionDef)
    ]


@pytest.mark.parametrize("question", KEY)
def test_the_answer_key_is_the_reference(question: str) -> None:
    """The solution in the notebook equals the reference, so the tests of the reference apply to it."""
    assert meaning(inspect.getsource(KEY[question])) == meaning(CELLS[f"{question}-answer"].source)


@pytest.mark.parametrize(
    ("cell", "given"),
    [("model", [gpt2.Layer, gpt2.GPT2]), ("batches", [training.Batches])],
    ids=["model", "batches"],
)
def test_given_classes_are_those_of_the_reference(cell: str, given: list[type]) -> None:
    """The locked classes equal those of the reference."""
    assert [entry for one in given for entry in meaning(inspect.getsource(one))] == meaning(
        CELLS[cell].source
    )


def test_the_given_corpus_is_the_one_that_reports_are_measured_with() -> None:
    """The corpus of the locked cell equals the one used for the reports' figures."""
    namespace: dict[str, object] = {}
    exec(CELLS["corpus"].source, namespace)
    assert (corpus.TEXTS, corpus.WORDS, corpus.CORPUS) == tuple(
        namespace[name] for name in ("TEXTS", "WORDS", "CORPUS")
    )


# ---------------------------------------------------------------- points and languages


def test_points_become_a_grade() -> None:
    """Half of the 100 points pass with 4.0, and 95 are the best grade."""
    scale = RUBRIC.assignment.grading
    assert scale is not None
    graded = [scale.find_grade(Decimal(points)) for points in ("49.99", "50", "95")]
    assert [("5.0", False), ("4.0", True), ("1.0", True)] == [(one.name, one.passed) for one in graded]


# ---------------------------------------------------------------- what is judged, and by whom


def test_guides_say_what_earns_full_half_and_no_points() -> None:
    """Manual items have examples for full, half and no points; all other items are automatic."""
    manual = [item for question in RUBRIC.questions for item in question.items if item.manual]
    assert {"strategies", "report"} == {
        question.id for question in RUBRIC.questions for item in question.items if item.manual
    }
    assert len(manual) == 9
    for item in manual:
        for language, words in (("en", ["Full", "Half", "None"]), ("de", ["Voll", "Halb", "Keine"])):
            lines = item.options["guide"][language].strip().splitlines()
            assert words == [line.partition(":")[0] for line in lines]


# ---------------------------------------------------------------- what is true


def test_the_numbers_about_gpt2_are_those_of_transformers() -> None:
    """Totals, entries, activation, the shared head and the layout match the transformers library."""
    from transformers import GPT2Config, GPT2LMHeadModel

    with torch.device("meta"):
        tied = GPT2LMHeadModel(GPT2Config(vocab_size=50259))
        untied = GPT2LMHeadModel(GPT2Config(vocab_size=50259, tie_word_embeddings=False))
        published = GPT2LMHeadModel(GPT2Config())
    tied.tie_weights()
    published.tie_weights()
    question = RUBRIC.get_question("totals")
    rights = {item.id: item.options["value"] for item in question.items}
    assert rights == {
        "tied": sum(parameter.numel() for parameter in tied.parameters()),
        "untied": sum(parameter.numel() for parameter in untied.parameters()),
        "state_dict": len(tied.state_dict()),
    }
    wrong = {entry["code"]: entry["when"] for entry in question.get_item("tied").options["mistake"]}
    assert wrong["published-vocabulary"] == sum(one.numel() for one in published.parameters())
    assert wrong["head-twice"] == rights["untied"]
    assert 148 == len(list(tied.named_parameters())) == rights["state_dict"] - 1
    assert ["gelu_new"] == RUBRIC.get_question("facts").get_item("activation").options["right"]
    assert GPT2Config().activation_function == "gelu_new"
    assert tied.lm_head.weight is tied.transformer.wte.weight
    assert ["conv1d"] == RUBRIC.get_question("facts").get_item("layout").options["right"]
    attention = tied.transformer.h[0].attn.c_attn
    assert ("Conv1D", (768, 2304)) == (type(attention).__name__, tuple(attention.weight.shape))


def test_the_shapes_of_biases_and_norms_are_those_of_transformers() -> None:
    """The questions ask for every vector of the first layer and the last norm, with its real shape."""
    from transformers import GPT2Config, GPT2LMHeadModel

    with torch.device("meta"):
        model = GPT2LMHeadModel(GPT2Config())
    layer = {f"{name}": one for name, one in model.transformer.h[0].named_parameters() if one.ndim == 1}
    last = {f"ln_f.{name}": one for name, one in model.transformer.ln_f.named_parameters()}
    true = {name: list(one.shape) for name, one in {**layer, **last}.items()}
    rows = RUBRIC.get_question("vectors").options["row"]
    assert true == {row["id"]: row["cells"]["shape"] for row in rows}


def test_no_question_gives_another_one_away() -> None:
    """No released text states a number or name that another question asks for."""
    given = "\n".join(cell.source for name, cell in CELLS.items() if cell.metadata.nbgrader.locked)
    for answer in ("148", "149", "124_441_344", "124,441,344", "163_040_256", "2304", "gelu_new`)"):
        assert answer not in given


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that runs the given cells with a model of some name; returns their names."""

    def run(model: str = "") -> dict[str, Any]:
        if model:
            monkeypatch.setenv("GPT2_MODEL", model)
        else:
            monkeypatch.delenv("GPT2_MODEL", raising=False)
        namespace: dict[str, Any] = {}
        for name in ("setup", "model", "corpus", "batches", "language-model"):
            exec(CELLS[name].source.replace("from coursecheck import check", ""), namespace)
        return namespace

    return run


def test_without_a_name_the_model_is_the_tiny_one(notebook: Any) -> None:
    """Without a name nothing is downloaded, and texts round-trip through the corpus's ids."""
    given = notebook()
    assert isinstance(given["new_model"](), given["GPT2"])
    text = " ".join(given["TEXTS"][0])
    assert given["CORPUS"][0] == given["encode"](text)
    assert text == given["decode"](given["CORPUS"][0])


def test_a_model_of_transformers_can_be_put_in_by_name(notebook: Any, tmp_path: Path) -> None:
    """With a folder of weights and a tokenizer, the corpus is encoded again and padding is masked."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    words = {word: number for number, word in enumerate(["[UNK]", *corpus.WORDS[1:]])}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer).save_pretrained(tmp_path)
    torch.manual_seed(0)
    config = GPT2Config(vocab_size=len(words), n_positions=32, n_embd=8, n_layer=1, n_head=2)
    GPT2LMHeadModel(config).save_pretrained(tmp_path)
    given = notebook(str(tmp_path))
    assert given["CORPUS"][0] == [words[word] for word in corpus.TEXTS[0]]
    model = given["new_model"]().eval()
    text = torch.tensor([given["encode"]("the owl waits")])
    padded = torch.cat([torch.zeros(1, 2, dtype=torch.int64), text], 1)
    with torch.no_grad():
        alone = model(text)[0, -1]
        beside = model(padded, (padded != 0).long())[0, -1]
    torch.testing.assert_close(alone, beside)
    trainer = training.Trainer(model, training.Batches(*given["corpus_tensors"](), 4, seed=0), 0.01, 4)
    assert 4 == len(trainer.train(4))
