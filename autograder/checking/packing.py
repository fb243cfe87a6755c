"""A file of checks in one text, read once for all submissions; the judge's box unpacks it."""

from __future__ import annotations

import ast
import json
from decimal import Decimal
from typing import Any

from autograder.checking.reading import CheckFile, CheckItem, CheckPart, SourceMutant


def pack_checks(file: CheckFile) -> str:
    """Return what a judge's box needs of a file of checks: what it states, and the sources."""
    stated = {
        "module": file.module,
        "modules": dict(file.modules),
        "checks": [_check_parts(check) for check in file.checks],
        "probes": [_check_parts(probe) for probe in file.probes],
        "mutants": [_mutant_parts(mutant) for mutant in file.mutants],
        "forbidden": list(file.forbidden),
        "solution": file.solution,
        "solution_module": file.solution_module,
        "given": file.given,
        "names": dict(file.names),
        "student_names": list(file.student_names),
        "uses_torch": file.uses_torch,
    }
    return json.dumps(stated)


def unpack_checks(packed: str) -> CheckFile:
    """Return a file of checks, without planted answers.

    Args:
        packed: as `pack_checks` made it.
    """
    stated = json.loads(packed)
    return CheckFile(
        **stated
        | {
            "checks": tuple(map(_check_from, stated["checks"])),
            "probes": tuple(map(_check_from, stated["probes"])),
            "mutants": tuple(map(_mutant_from, stated["mutants"])),
            "forbidden": tuple(stated["forbidden"]),
            "student_names": tuple(stated["student_names"]),
            "planted": (),
        }
    )


def _check_parts(check: CheckItem) -> list[Any]:
    # Values are literals of Python, some of which JSON does not have.
    parts = [[part.name, repr(part.value)] for part in check.parts]
    texts = [check.title, check.told]
    stated = [check.id, str(check.points), *texts, parts, check.needs, check.edits]
    return [*stated, check.carry, check.seconds, check.line]


def _check_from(stated: list[Any]) -> CheckItem:
    name, points, title, told, parts, needs, edits, carry, seconds, line = stated
    values = tuple(CheckPart(part, ast.literal_eval(value)) for part, value in parts)
    changes = tuple((old, new) for old, new in edits)
    more = seconds, line, changes, tuple(carry)
    return CheckItem(name, Decimal(points), title, told, values, tuple(needs), *more)


def _mutant_parts(mutant: SourceMutant) -> list[Any]:
    points = {item: str(value) for item, value in mutant.points.items()}
    return [mutant.name, mutant.source, mutant.title, points, mutant.loses, mutant.line]


def _mutant_from(stated: list[Any]) -> SourceMutant:
    name, source, title, points, loses, line = stated
    worth = {item: Decimal(value) for item, value in points.items()}
    return SourceMutant(name, source, title, worth, None if loses is None else tuple(loses), line)
