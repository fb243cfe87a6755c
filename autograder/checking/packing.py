"""A file of checks in one text, read and compiled once for all submissions; the judge's box unpacks it."""

from __future__ import annotations

import base64
import importlib.util
import marshal
import types
import zlib
from decimal import Decimal
from typing import Any

from autograder.checking.loading import SourceModules
from autograder.checking.reading import CheckFile, CheckItem, CheckPart, SourceMutant


def pack_checks(file: CheckFile) -> str:
    """Return what a judge's box needs of a file of checks: what it states, the sources, and their code."""
    loader = SourceModules(file.modules)
    codes = {name: loader.get_code(name) for name in file.modules}
    # Another Python does not read the code of this one: it is apart, and compiled there if need be.
    stated = [
        *(importlib.util.MAGIC_NUMBER, marshal.dumps(codes)),
        *(file.module, dict(file.modules), [_check_parts(check) for check in file.checks]),
        [_mutant_parts(mutant) for mutant in file.mutants],
        *(file.forbidden, file.solution, file.solution_module, dict(file.names)),
        *(file.student_names, file.uses_torch),
    ]
    return base64.b64encode(zlib.compress(marshal.dumps(stated))).decode()


def unpack_checks(packed: str) -> tuple[CheckFile, dict[str, types.CodeType]]:
    """Return a file of checks, without planted answers, and the code of its modules, if this Python can run it.

    Args:
        packed: as `pack_checks` made it; never what came from a student's box.
    """
    magic, codes, module, modules, checks, mutants, forbidden, solution, solution_module, *rest = (
        marshal.loads(zlib.decompress(base64.b64decode(packed)))
    )
    names, student_names, uses_torch = rest
    file = CheckFile(
        module=module,
        modules=modules,
        checks=tuple(map(_check_from, checks)),
        mutants=tuple(map(_mutant_from, mutants)),
        planted=(),
        forbidden=forbidden,
        solution=solution,
        solution_module=solution_module,
        names=names,
        student_names=student_names,
        uses_torch=uses_torch,
    )
    is_ours = magic == importlib.util.MAGIC_NUMBER
    return file, marshal.loads(codes) if is_ours else {}  # noqa: S302 - as above


def _check_parts(check: CheckItem) -> list[Any]:
    parts = [(part.name, part.value) for part in check.parts]
    texts = [check.title, check.told]
    return [check.id, str(check.points), *texts, parts, check.needs, check.seconds, check.line]


def _check_from(stated: list[Any]) -> CheckItem:
    name, points, title, told, parts, *rest = stated
    return CheckItem(name, Decimal(points), title, told, tuple(CheckPart(*part) for part in parts), *rest)


def _mutant_parts(mutant: SourceMutant) -> list[Any]:
    points = {item: str(value) for item, value in mutant.points.items()}
    return [mutant.name, mutant.source, mutant.title, points, mutant.loses, mutant.line]


def _mutant_from(stated: list[Any]) -> SourceMutant:
    name, source, title, points, *rest = stated
    return SourceMutant(name, source, title, {item: Decimal(value) for item, value in points.items()}, *rest)
