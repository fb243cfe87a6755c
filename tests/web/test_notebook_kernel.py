"""Submitting from a real kernel to a running service."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import nbformat
import pytest
from jupyter_client.manager import start_new_kernel
from nbclient import NotebookClient

from tests.service import course
from tests.support import small_course
from tests.support.served import Served

CELLS = ("from coursecheck import submit\nsubmit()", "import sys\n'autograder' in sys.modules")


@pytest.mark.slow
def test_submit_runs_in_a_released_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The key comes from the environment or from a prompt, and the package is not needed."""
    for name in ("course", "home"):
        (tmp_path / name).mkdir()
    folder = course.small(tmp_path / "course")
    work = Path(shutil.copytree(folder / "release" / small_course.NAME, tmp_path / "work"))
    for name, data in course.answered(folder, mlp_answer='mlp_parameters = "8 d^2"').items():
        (work / name).write_bytes(data)
    notebook = nbformat.read(work / "formulas.ipynb", as_version=4)
    notebook.cells += map(nbformat.v4.new_code_cell, CELLS)
    nbformat.write(notebook, work / "formulas.ipynb")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    with Served(folder, "--workers", "-1") as service:
        key = service.address("#").replace("/#", "#") + service.accounts(["ada"])["ada"]
        monkeypatch.setenv("NBEXAM_TOKEN", key)
        client = NotebookClient(
            notebook, allow_errors=True, kernel_name="python3", resources={"metadata": {"path": str(work)}}
        )
        client.execute()
        monkeypatch.delenv("NBEXAM_TOKEN")
        passwords, shown = submit_and_type(work, key)
        assert [(1,), (2,)] == service.rows("SELECT number FROM service_attempt ORDER BY number")
    [panel], [imported] = (cell.outputs for cell in notebook.cells[-len(CELLS) :])
    for page in (panel.data["text/html"], shown["text/html"]):
        assert "mlp_parameters is read as <math" in page
        assert "No deadline" in page
    assert "Attempt 1" in panel.data["text/html"]
    assert "✗ small" not in panel.data["text/plain"]
    assert "False" == imported.data["text/plain"]
    assert [True] == passwords  # the input is hidden
    assert f"{key}\n" == (tmp_path / "home/.config/autograder/key").read_text()
    secret = key.partition("#")[2]
    assert secret not in nbformat.writes(notebook) + str(shown)


def submit_and_type(work: Path, key: str) -> tuple[list[bool], dict[str, Any]]:
    """Run the cell with a front end that answers the prompt.

    Returns:
        Whether each prompt hides the input, and the displayed data.
    """
    manager, client = start_new_kernel(cwd=str(work))
    passwords: list[bool] = []
    displayed: list[dict[str, Any]] = []

    def reply(message: dict[str, Any]) -> None:
        passwords.append(message["content"]["password"])
        client.input(key)

    def collect(message: dict[str, Any]) -> None:
        if message["msg_type"] == "display_data":
            displayed.append(message["content"]["data"])

    try:
        client.execute_interactive(
            CELLS[0], allow_stdin=True, stdin_hook=reply, output_hook=collect, timeout=120
        )
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    [data] = displayed
    return passwords, data
