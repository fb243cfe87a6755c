"""Without a network: libraries do not try, models of the assignment are found, and errors explain it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.core.limits import list_ranges
from autograder.core.records import LimitEvent, LimitKind, Limits
from autograder.pages.feedback.labels import Labels
from autograder.sandbox.base import Box, Environment
from autograder.sandbox.inside.jail import OFFLINE
from autograder.sandbox.pool import start_sandbox

pytestmark = pytest.mark.sandbox

CONFIG = {"model_type": "gpt2", "n_layer": 3, "n_head": 2, "n_embd": 8, "vocab_size": 11}
ROOM = Limits(memory_mb=4096, cell_seconds=120, submission_seconds=240, processor_seconds=240)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return files of an assignment: a model in a subfolder, and one under its name on the hub."""
    folder = tmp_path_factory.mktemp("release")
    for path in ("models/tiny-gpt2", "some-people/small-gpt2"):
        (folder / path).mkdir(parents=True)
        (folder / path / "config.json").write_text(json.dumps(CONFIG), "utf-8")
    return folder


@pytest.fixture(scope="module")
def box(folder: Path) -> Iterator[Box]:
    """Return a box with these files."""
    files = tuple((name, folder / name) for name in ("models", "some-people"))
    sandbox = start_sandbox(Environment(preload=("numpy",), files=files))
    try:
        opened = sandbox.open(ROOM)
        yield opened
        opened.close()
    finally:
        sandbox.close()


def said(box: Box, source: str) -> str:
    """Return the output of a cell."""
    run = box.run_cell(source, seconds=120)
    assert not run.error, [out.data["text/plain"] for out in run.outputs]
    return "".join(out.data["text/plain"] for out in run.outputs).strip()


def test_libraries_are_told_that_there_is_no_network(box: Box) -> None:
    """The libraries' environment variables are set to offline mode."""
    names = sorted(OFFLINE)
    assert [OFFLINE[name] for name in names] == eval(
        said(box, f"import os\nprint([os.environ[name] for name in {names!r}])")
    )
    assert {"HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE"} <= OFFLINE.keys()


@pytest.mark.slow
def test_models_are_found_by_their_names(box: Box) -> None:
    """Models are found from any folder, by their name on the hub or by the name of the folder."""
    source = """
import json, os
os.chdir("/tmp" if os.path.isdir("/hub") else os.environ["TMPDIR"])
from huggingface_hub import hf_hub_download
names = ("tiny-gpt2", "models/tiny-gpt2", "some-people/small-gpt2", "small-gpt2")
print([json.load(open(hf_hub_download(name, "config.json")))["n_layer"] for name in names])
os.chdir(os.environ["HOME"])
"""
    assert "[3, 3, 3, 3]" == said(box, source)


@pytest.mark.slow
def test_transformers_loads_a_model_by_its_name(box: Box) -> None:
    """A model of the assignment is loaded as at home; any other would need the network."""
    loaded = "from transformers import AutoConfig\nprint(AutoConfig.from_pretrained('tiny-gpt2').n_layer)"
    assert "3" == said(box, loaded).splitlines()[-1]
    run = box.run_cell("AutoConfig.from_pretrained('bert-base-uncased')", seconds=120)
    assert "OSError" == run.error
    assert LimitEvent(LimitKind.NETWORK, claimed=True) in run.met


@pytest.mark.parametrize(
    "source",
    [
        "import urllib.request\nurllib.request.urlopen('https://example.org')",
        "import socket\nsocket.create_connection(('example.org', 80))",
        "import socket\nsocket.create_connection(('192.0.2.1', 80))",
        "import socket\nsocket.socket()",
        "try:\n    import socket\n    socket.getaddrinfo('example.org', 80)\n"
        "except OSError as error:\n    raise ValueError('the data could not be loaded') from error",
    ],
)
def test_what_asks_for_the_network_is_told_that_there_is_none(box: Box, source: str) -> None:
    """The cell's notice explains in the student's language that there is no network."""
    run = box.run_cell(source, seconds=20)
    assert run.error
    assert (LimitEvent(LimitKind.NETWORK, claimed=True),) == run.met
    assert "no network here" in Labels("en").describe_limit(LimitKind.NETWORK, Limits())
    assert "kein Netz" in Labels("de").describe_limit(LimitKind.NETWORK, Limits())


def test_nothing_bounds_a_network_that_is_not_there() -> None:
    """No limit of a rubric applies to the network."""
    assert LimitKind.NETWORK.value not in " ".join(list_ranges())


def test_the_folders_of_models_cannot_be_changed(box: Box) -> None:
    """They are read-only in the assignment's folder and in the libraries' cache."""
    source = """
import os
from pathlib import Path
refused = 0
for place in ("models/tiny-gpt2/config.json", "models/new", os.environ["HF_HUB_CACHE"] + "/new"):
    try:
        open(place, "a")
    except OSError:
        refused += 1
print(refused)
"""
    assert "3" == said(box, source)
