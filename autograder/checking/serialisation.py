"""Serialisation of a file of checks, done once for all submissions; the judge's sandbox unpacks it."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from autograder.checking.check_parser import CheckFile, CheckItem, CheckPart, SourceMutant


def pack_checks(file: CheckFile) -> str:
    """Return the parts of a file of checks that the judge's sandbox needs: declarations and sources."""
    fields = asdict(file) | {"planted": ()}
    for check in (*fields["checks"], *fields["probes"]):
        # Values are literals of Python, some of which JSON does not have.
        check["parts"] = [[part["name"], repr(part["value"])] for part in check["parts"]]
    return json.dumps(fields, default=str)


def unpack_checks(packed: str) -> CheckFile:
    """Return a file of checks, without planted answers.

    Points are texts, since none are given in the sandbox.

    Args:
        packed: the result of `pack_checks`.
    """
    fields = json.loads(packed)
    mutants = tuple(SourceMutant(**mutant) for mutant in fields["mutants"])
    read = {name: tuple(map(_make_check, fields[name])) for name in ("checks", "probes")}
    return CheckFile(**fields | read | {"mutants": mutants})


def _make_check(fields: dict[str, Any]) -> CheckItem:
    parts: Iterable[tuple[str, str]] = fields["parts"]
    values = tuple(CheckPart(name, ast.literal_eval(value)) for name, value in parts)
    return CheckItem(**fields | {"parts": values, "carry": tuple(fields["carry"])})
