"""Limits: their names, values, and the settings a rubric may change."""

from __future__ import annotations

import re

import msgspec
import pytest

from autograder.core.errors import RubricError
from autograder.core.limits import OF_ENDING, OF_MET, format_limit, list_ranges
from autograder.core.records import Ending, LimitKind, Limits
from autograder.messages import get_template, list_languages, load_sentences
from autograder.rubric import parse_rubric
from tests.rubric.test_rubric import GOOD

FIELDS = list(Limits.__struct_fields__)
NO_LIMIT = {Ending.EXITED, Ending.CRASHED, Ending.PROTOCOL, Ending.NOT_ASKED}
OTHERS = {
    "cell_seconds": 2.5,
    "call_seconds": 7,
    "submission_seconds": 900,
    "processor_seconds": 33,
    "memory_mb": 512,
    "processes": 8,
    "output_kb": 99,
    "reply_mb": 3,
    "scratch_mb": 12,
    "scratch_files": 77,
    "descriptors": 55,
    "restarts": 0,
}


def limits_of(written: str) -> Limits:
    """Return the limits of a rubric with these lines."""
    return parse_rubric(GOOD.replace("cell_seconds = 3\n", written + "\n").encode()).assignment.limits


@pytest.mark.parametrize("name", FIELDS)
def test_a_rubric_overrides_one_limit(name: str) -> None:
    """A stated limit changes; all others keep their default."""
    expected = msgspec.structs.replace(Limits(), **{name: OTHERS[name]})
    assert expected == limits_of(f"{name} = {OTHERS[name]}")
    assert Limits() != expected


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize("written", ["-1", "1e30", "9" * 400, "nan", "inf", "-0.001"])
def test_a_senseless_number_is_refused(name: str, written: str) -> None:
    """The message names the field, the allowed range and the actual value."""
    with pytest.raises(
        RubricError, match=rf"\[assignment.limits\]: {name}: expected [\d,.]+ to [\d,.]+, got "
    ):
        limits_of(f"{name} = {written}")


@pytest.mark.parametrize("name", FIELDS)
def test_both_ends_of_a_range_are_allowed(name: str) -> None:
    """Minimum and maximum are accepted, values beyond them are not, and the default is in between."""
    least, most = list_ranges()[name]
    assert least <= getattr(Limits(), name) <= most
    memory = "\nmemory_mb = 1_048_576" if name == "scratch_mb" else ""
    memory = "\nscratch_mb = 1" if name == "memory_mb" else memory
    for value in (least, most):
        assert value == getattr(limits_of(f"{name} = {value}{memory}"), name)
    for value in (least - 1, most + 1):
        with pytest.raises(RubricError, match=f"got {re.escape(str(value))}"):
            limits_of(f"{name} = {value}{memory}")


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("memory_mb = true", "limits.memory_mb: expected a whole number, got true"),
        ('processes = "many"', "limits.processes: expected a whole number, got 'many'"),
        ("processes = 2.5", "limits.processes: expected a whole number, got Decimal"),
        ("cell_seconds = 2031-02-03", "limits.cell_seconds: expected a number, got "),
        ("cell_seconds = [1]", "limits.cell_seconds: expected a number, got a list"),
        ("cel_seconds = 1", "unknown key 'cel_seconds'; did you mean 'cell_seconds'"),
        ("scratch_mb = 4096", r"scratch_mb: expected at most memory_mb \(2048\), got 4096"),
        ("memory_mb = 64\nscratch_mb = 65", r"scratch_mb: expected at most memory_mb \(64\), got 65"),
    ],
)
def test_an_error_is_refused(written: str, message: str) -> None:
    """A wrong type, a misspelt name, or contradicting limits raise an error."""
    with pytest.raises(RubricError, match=message):
        limits_of(written)


def test_limits_that_are_no_table_are_refused() -> None:
    """The error states the expected type."""
    written = GOOD.replace("[assignment.limits]\ncell_seconds = 3\n", "limits = 3\n")
    with pytest.raises(RubricError, match=r"limits: expected a table in \{ \}, got 3"):
        parse_rubric(written.encode())


def test_every_ending_and_every_limit_met_has_its_number() -> None:
    """Only some endings and the missing network, which are not limits, have no value."""
    assert NO_LIMIT == {ending for ending in Ending if not format_limit(ending, Limits())}
    assert [LimitKind.NETWORK] == [met for met in LimitKind if not format_limit(met, Limits())]
    assert set(FIELDS) == {*OF_ENDING.values(), *OF_MET.values()}


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        (Ending.CELL_TIME, "30 s"),
        (Ending.MEMORY, "2048 MB"),
        (LimitKind.MEMORY, "2048 MB"),
        (LimitKind.OUTPUT, "1024 kB"),
        (Ending.OUTPUT, "4096 kB"),
        (LimitKind.PROCESSES, "64"),
        (LimitKind.FILES, "4096"),
        (Ending.RESTARTS, "6"),
        (Ending.EXITED, ""),
    ],
)
def test_an_amount_has_its_unit(kind: Ending | LimitKind, shown: str) -> None:
    """A value has the same text in every language."""
    assert shown == format_limit(kind, Limits())


def test_large_and_small_amounts_are_written_out() -> None:
    """Values have neither an exponent nor trailing zeros."""
    limits = Limits(memory_mb=1_048_576, cell_seconds=0.5, call_seconds=7.0)
    kinds = (Ending.MEMORY, Ending.CELL_TIME, Ending.CALL_TIME)
    assert ["1048576 MB", "0.5 s", "7 s"] == [format_limit(kind, limits) for kind in kinds]


def test_every_limit_has_its_sentences() -> None:
    """Each limit has a sentence with its value for questions and for cells, in both languages."""
    codes = [f"{place}ending.{ending}" for ending in Ending for place in ("", "cell.")]
    codes += [f"{place}limit.{met}" for met in LimitKind for place in ("", "cell.")]
    assert [] == [code for code in codes if code not in load_sentences()]
    unlimited = {LimitKind.NETWORK.value, *(one.value for one in NO_LIMIT)}
    limited = [code for code in codes if code.rpartition(".")[2] not in unlimited]
    texts = [get_template(code, language) for code in limited for language in list_languages()]
    assert [] == [text for text in texts if "{limit}" not in text]
