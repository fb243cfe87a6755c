"""Check that a rubric's ``reference`` and ``trials`` exist, by reading source only: nothing is imported."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from autograder.core.errors import Place, RubricError
from autograder.core.syntax import UNREADABLE, parse_module
from autograder.core.tables import suggest_name
from autograder.course import Course
from autograder.rubric import Rubric
from autograder.rubric.variants.options import REFERENCE


def check_references(course: Course, rubric: Rubric) -> None:
    """Refuse names of modules and functions that the reference folder does not have.

    Raises:
        RubricError: one is missing, or its module is not valid Python; names the place and the nearest name.
    """
    for place, reference in _list_references(rubric):
        match = REFERENCE.fullmatch(reference)
        if not match or not match[2]:
            raise RubricError(f"expected 'module:name', got {reference!r}", place)
        module, name = match[1], match[2]
        path = _find_module_file(course, module)
        if path is None:
            folder, near = course.reference.name, suggest_name(module, _list_modules(course.reference))
            raise RubricError(f"{reference!r}: {folder}/ has no module {module}; {near}", place)
        shown = path.relative_to(course.root)
        try:
            # A folder without __init__.py is a namespace package and binds no names.
            names = (
                _list_bound_names(parse_module(path.read_text(encoding="utf-8")))
                if path.is_file()
                else frozenset()
            )
        except (*UNREADABLE, OSError) as error:
            raise RubricError(f"{reference!r}: {shown} cannot be read: {error}", place) from error
        if names is not None and name not in names and _find_module_file(course, f"{module}.{name}") is None:
            raise RubricError(f"{reference!r}: {shown} defines no {name}; {suggest_name(name, names)}", place)


def _list_references(rubric: Rubric) -> Iterator[tuple[Place, str]]:
    """Yield every ``module:name`` of a rubric, with its place."""
    for number, question in enumerate(rubric.questions):
        place = Place(f"question {question.id!r}", "question", number)
        if question.reference:
            yield place.extend(": reference", "reference"), question.reference
        if question.trials:
            yield place.extend(": trials", "trials"), question.trials
    if rubric.draws:
        for name, computed in rubric.draws.computed.items():
            place = Place(f"[variant.draw.{name}]", "variant", "draw", name)
            yield place.extend(": reference", "reference"), computed.reference


def _find_module_file(course: Course, module: str) -> Path | None:
    """Return the file of a module, or of a package."""
    path = course.reference.joinpath(*module.split("."))
    files = (path.with_name(f"{path.name}.py"), path / "__init__.py")
    existing = next((file for file in files if file.is_file()), None)
    return path if existing is None and path.is_dir() else existing


def _list_modules(folder: Path) -> list[str]:
    """Return all modules below a folder, as a rubric names them."""
    names = (path.relative_to(folder).with_suffix("").parts for path in sorted(folder.rglob("*.py")))
    return [".".join(parts).removesuffix(".__init__") for parts in names if parts != ("__init__",)]


def _list_bound_names(tree: ast.Module) -> frozenset[str] | None:
    """Return the names that a module binds at its top level; None if its source does not show them."""
    names: set[str] = set()
    for node in _walk_top_level(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.ImportFrom | ast.Import):
            names |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    # A star import or a module's __getattr__ may provide any name.
    return None if names & {"*", "__getattr__"} else frozenset(names)


def _walk_top_level(node: ast.AST) -> Iterator[ast.AST]:
    """Yield all nodes of a module that are not inside a function or class."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield from _walk_top_level(child)
