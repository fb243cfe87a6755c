"""Test what is stored of a notebook: answers first, then other cells, then outputs."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from autograder.core.limits import compute_budgets
from autograder.core.records import (
    Cell,
    CellOutput,
    CellRun,
    ExecutedNotebook,
    Limits,
    Markdown,
    PastedPicture,
)
from autograder.grading.store import count_pictures, fit_to_budget
from autograder.pages.feedback.cells import build_notebook_view
from autograder.pages.feedback.labels import Labels


def run(*texts: str) -> CellRun:
    """Return the run of a cell that printed these texts."""
    return CellRun(outputs=tuple(CellOutput("stream", {"text/plain": text}) for text in texts))


NOTEBOOK = ExecutedNotebook(
    "exam",
    (
        Cell("own " * 250),
        Cell("given " * 999, "g", locked=True),
        Cell("y = 2", "a"),
        Markdown("why", "b"),
    ),
    (run("printed"), None, run("more"), None),
)


def test_an_honest_notebook_is_kept_whole() -> None:
    """A notebook within the limit is stored unchanged."""
    assert NOTEBOOK == fit_to_budget(NOTEBOOK, {"a", "b"}, 4)


def test_answers_come_first() -> None:
    """Other cells are cut before answers and marked as cut; given cells do not count."""
    kept = fit_to_budget(replace(NOTEBOOK, runs=(None,) * 4), {"a", "b"}, 1)
    long = replace(NOTEBOOK, cells=(Cell("own " * 999), *NOTEBOOK.cells[1:]), runs=(None,) * 4)
    cut = fit_to_budget(long, {"a", "b"}, 1)
    assert [False, False, False, False] == [cell.cut for cell in kept.cells]
    assert [True, False, False, False] == [cell.cut for cell in cut.cells]
    assert NOTEBOOK.cells[1:] == cut.cells[1:]


def test_outputs_that_do_not_fit_are_missing_and_said_to_be() -> None:
    """Omitted outputs are marked in the same way as truncated ones."""
    printed = replace(NOTEBOOK, runs=(run("x" * 5000, "short"), None, run("last"), None))
    kept = fit_to_budget(printed, {"a", "b"}, 2)
    first = kept.runs[0]
    assert first is not None
    assert (("short",), True) == (tuple(one.data["text/plain"] for one in first.outputs), first.truncated)
    assert kept.runs[2] == run("last")


@pytest.mark.parametrize("sign", ["x", "é", "\U0001f600", '"', "\x1b", "\ud800", "\n"])
def test_what_is_kept_is_as_small_as_it_must_be(sign: str) -> None:
    """The stored size stays within the limit for any characters."""
    cells = tuple(Cell(sign * 9000) for _ in range(20))
    kept = fit_to_budget(ExecutedNotebook("exam", cells, (run(sign * 9000),) * 20), (), 64)
    whole = msgspec.to_builtins(kept)
    text = str(whole).encode("utf-8", "backslashreplace") if sign == "\ud800" else msgspec.json.encode(kept)
    assert len(text) < (64 << 10) + 20 * 400


def test_a_page_has_an_end() -> None:
    """Cells beyond the size of a page are named without their text, in both languages."""
    most = compute_budgets(Limits()).page_kb
    cells = tuple(Cell("<&>" * 6000) for _ in range(400))
    notebook = ExecutedNotebook("exam", cells, (None,) * 400)
    for language, told in (("en", "This cell is not shown"), ("de", "Diese Zelle fehlt hier")):
        shown = build_notebook_view(notebook, 1, Labels(language), Limits())
        full = [cell for cell in shown.cells if cell.code.blocks]
        assert 0 < len(full) < 400 == len(shown.cells)
        assert sum(cell.code.size for cell in full) <= most << 10
        assert {f"{most} kB" in notice and told in notice for notice in shown.cells[-1].notices} == {True}


@pytest.mark.parametrize(
    ("cell", "english", "german"),
    [
        (Cell("x", cut=True), "all of it is in the notebook", "ganz steht sie"),
        (Markdown("x", cut=True), "shown here.", "Anfang dieser Zelle."),
    ],
)
def test_a_cut_cell_says_so(cell: Cell | Markdown, english: str, german: str) -> None:
    """A cut cell says so and refers to the whole notebook."""
    notebook = ExecutedNotebook("exam", (cell,), (None,))
    for language, told in (("en", english), ("de", german)):
        (shown,) = build_notebook_view(notebook, 1, Labels(language), Limits()).cells
        assert told in shown.notices[0]


def test_pictures_come_after_all_texts_and_those_of_answers_first() -> None:
    """Pictures are kept after all texts, and those in answers first."""
    large, small = (PastedPicture("p", "image/png", "A" * size) for size in (3_000, 900))
    cells = (Markdown("![](attachment:p)", pictures=(large,)), Markdown("x" * 900, "a", pictures=(small,)))
    notebook = ExecutedNotebook("exam", cells, (None, None))
    kept = fit_to_budget(notebook, {"a"}, 3)
    assert ["![](attachment:p)", "x" * 900] == [cell.source for cell in kept.cells]
    named = PastedPicture("p", "image/png", "")
    assert [(named,), (small,)] == [cell.pictures for cell in kept.cells if isinstance(cell, Markdown)]
    assert (2, 1) == (count_pictures(notebook), count_pictures(kept))
    assert fit_to_budget(notebook, {"a"}, 8) == notebook
