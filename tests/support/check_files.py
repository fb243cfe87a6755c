"""The shipped files of checks, loaded for a test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from autograder.checking.reading import CheckFile, load_check_file
from autograder.checking.running import CheckProgram

ROOT = Path(__file__).parents[2]


def read_file(name: str) -> CheckFile:
    """Return a file of the folder ``reference/checks``."""
    return load_check_file(ROOT / "reference", f"{name}.py")


@contextmanager
def open_program(name: str) -> Iterator[CheckProgram]:
    """Load a file of checks; afterwards modules of the reference are those that were imported before."""
    program, threads = CheckProgram(read_file(name), str(ROOT)), torch.get_num_threads()
    torch.set_num_threads(1)  # the matrices are tiny
    try:
        yield program
    finally:
        program.close()
        torch.set_num_threads(threads)


def list_answers(name: str) -> dict[str, tuple[str, tuple[str, ...] | None, str]]:
    """Return what a file states: answer → its source, the checks it loses, and the mutant that names it.

    None of the checks stands for at least one.
    """
    file = read_file(name)
    mutants = {one.name: (one.source, one.loses, one.name if one.title else "") for one in file.mutants}
    planted = {one.name: (one.source, one.loses, "") for one in file.planted}
    return {"the solution": (file.solution, (), ""), **mutants, **planted}
