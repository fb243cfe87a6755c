"""Serialisation of a file of checks, done once for all submissions; the judge's sandbox unpacks it."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from autograder.checking.reading import CheckFile, CheckItem, CheckPart, SourceMutant


def pack_checks(file: CheckFile) -> str:
    """Return the parts of a file of checks that the judge's sandbox needs: declarations and sources."""
    stated = asdict(file) | {"planted": ()}
    for check in (*stated["checks"], *stated["probes"]):
        # Values are literals of Python, some of which JSON does not have.
        check["parts"] = [[part["name"], repr(part["value"])] for part in check["parts"]]
    return json.dumps(stated, default=str)


def unpack_checks(packed: str) -> CheckFile:
    """Return a file of checks, without planted answers.

    Points are texts, since none are given in the sandbox.

    Args:
        packed: the result of `pack_checks`.
    """
    stated = json.loads(packed)
    mutants = tuple(SourceMutant(**mutant) for mutant in stated["mutants"])
    read = {name: tuple(map(_check_from, stated[name])) for name in ("checks", "probes")}
    return CheckFile(**stated | read | {"mutants": mutants})


def _check_from(stated: dict[str, Any]) -> CheckItem:
    parts: Iterable[tuple[str, str]] = stated["parts"]
    values = tuple(CheckPart(name, ast.literal_eval(value)) for name, value in parts)
    return CheckItem(**stated | {"parts": values, "carry": tuple(stated["carry"])})
