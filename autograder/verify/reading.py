"""Trials whose variables only have to be read, one after the other in one box.

Starting a box and running a whole notebook for each would cost most of the time of a verification. Before
each trial the variables that will be read are taken away, so that none is left over from the trial before;
and a trial that is not as it must be is run again as a paper of its own, which alone counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from autograder.checks.base import Observations
from autograder.errors import SandboxError
from autograder.records import Cell, Limits, Markdown, Scenario
from autograder.sandbox.base import Box


def only_reads(plan: Sequence[Scenario]) -> bool:
    """Whether a plan reads variables and calls nothing of the student's."""
    calls = [call for scenario in plan for call in scenario.calls]
    return all(call.read and not call.attribute and isinstance(call.target, str) for call in calls)


def read_all(
    box: Box,
    before: Sequence[Cell | Markdown],
    sources: Mapping[str, tuple[str, tuple[Scenario, ...]]],
    limits: Limits,
) -> dict[str, Sequence[Observations]]:
    """What each trial's variables hold; trials that are missing could not be read this way.

    Args:
        box: fresh; closed here.
        before: the cells of the notebook before the answer cell.
        sources: by the trial's name, the answer cell and the plan.
        limits: how long a cell and a call may take.
    """
    found: dict[str, Sequence[Observations]] = {}
    try:
        for cell in before:
            if isinstance(cell, Cell) and cell.source.strip():
                box.run_cell(cell.source, seconds=limits.cell_seconds)
        for name, (source, plan) in sources.items():
            names = [call.target for scenario in plan for call in scenario.calls]
            box.run_cell(f"for _ in {names!r}: globals().pop(_, None)", seconds=limits.cell_seconds)
            box.run_cell(source, seconds=limits.cell_seconds)
            found[name] = box.ask(plan, seconds=limits.call_seconds)
    except SandboxError:  # whatever is missing is run as a paper of its own
        pass
    finally:
        box.close()
    return found
