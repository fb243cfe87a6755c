"""Rules for the source code: layers and boundaries."""

from __future__ import annotations

import ast
import functools
import importlib
import subprocess
import sys
from collections.abc import Callable, Iterable
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROGRAM = ROOT / "autograder"
REFERENCE = ROOT / "reference"

LAYERS = (
    {"checking", "formulas"},
    {"core"},
    {"messages"},
    {"rubric"},
    {"questions", "sandbox"},
    {"notebook"},
    {"course"},
    {"exchange"},
    {"grading"},
    {"pages"},
    {"store"},
    {"marking"},
    {"authoring"},
    {"app"},
    {"service"},
    {"web"},
    {"cli"},
)
"""The parts of autograder from the bottom up; a part may import only from layers above its line."""

SUBLAYERS = {
    "core": (
        {"paths"},
        {"wording"},
        {"records"},
        {"errors", "atomic", "stream"},
        {"limits", "tables", "syntax", "extensions"},
    ),
    "formulas": (
        {"nodes", "greek", "errors"},
        {"values", "printing"},
        {"notation", "forms"},
        {"equality"},
        {"growth", "shapes", "mistakes"},
        {"answer_parser"},
        {"lenient_parser"},
        {"library"},
    ),
    "questions": ({"closed_lists", "numbers"}, {"base"}),
    "questions.base": (
        {"base", "options", "kind"},
        {"values"},
        {"judging"},
        {"planning"},
        {"itemwise"},
        {"compared"},
    ),
    "exchange": ({"platforms"}, {"adoption"}),
    "grading": (
        {"grades", "version", "attention_access"},
        {"store"},
        {"assignment"},
        {
            "expected_values",
            "unreadable_answers",
            "submitted_files",
            "cell_tests",
            "release_generation",
        },
        {"planted_answers"},
        {"pipeline"},
        {"batch"},
        {"personal_variants"},
        {"verify"},
    ),
    "pages": ({"feedback"}, {"paper"}),
}
"""The sublayers of large parts, from the bottom up, with the same rule.

Entries that are not listed are above the listed ones.
"""

GUEST = {
    "autograder.sandbox.inside.zygote",
    "autograder.sandbox.inside.callbacks",
    "autograder.sandbox.inside.check_runner",
    "autograder.sandbox.inside.guest",
    "autograder.sandbox.inside.judge",
    "autograder.sandbox.inside.remote",
    "autograder.sandbox.inside.source_runner",
    "autograder.sandbox.inside.shell",
    "autograder.notebook.coursecheck",
}
"""Modules that run on the untrusted side, or start it; the last one runs in students' notebooks."""

STUDENTS_LIBRARIES = {"torch", "transformers", "reference"}
UNSAFE_MODULES = {"pickle", "cPickle", "_pickle", "dill", "joblib", "cloudpickle", "marshal", "shelve"}
UNSAFE_CALLS = {"eval", "exec", "compile"}


KNOW_A_KIND = {
    "autograder.app.formula_inspection",
    "autograder.app.preparation",
    "autograder.questions.repair",
}
"""Commands for formulas or planted faults only, and the kind that adds faults to checks."""


def module_name(path: Path) -> str:
    """Return the dotted name of a source file."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {module_name(path): path for folder in (PROGRAM, REFERENCE) for path in sorted(folder.rglob("*.py"))}


@functools.cache
def tree(name: str) -> ast.Module:
    """Return a module's syntax tree."""
    return ast.parse(FILES[name].read_text("utf-8"))


@functools.cache
def imports(name: str) -> frozenset[str]:
    """Return all imports of a module, also inside functions; submodules are named in full."""
    found = set()
    for node in ast.walk(tree(name)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            package = name if FILES[name].name == "__init__.py" else name.rpartition(".")[0]
            above = package.rsplit(".", node.level - 1)[0] if node.level else ""
            module = ".".join(filter(None, (above, node.module)))
            found |= {
                submodule if (submodule := f"{module}.{alias.name}") in FILES else module
                for alias in node.names
            }
    return frozenset(found)


def part(module: str) -> str:
    """Return the part of autograder that a module belongs to: ``autograder.questions.shape`` → ``questions``.

    A ``__main__`` belongs to the command line in any folder: nothing imports it.
    """
    if module.endswith(".__main__"):
        return "cli"
    return module.split(".")[1] if module.count(".") else ""


def sublayer(module: str, whole: str) -> str:
    """Return the sublayer of a module: ``autograder.formulas.notation.parse`` → ``notation``."""
    return module.removeprefix(f"autograder.{whole}.").split(".")[0]


def roots(name: str) -> set[str]:
    """Return the top-level packages a module imports."""
    return {module.partition(".")[0] for module in imports(name)}


def calls(name: str) -> set[str]:
    """Return the plain names a module calls."""
    return {
        node.func.id
        for node in ast.walk(tree(name))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }


def offenders(
    names: Iterable[str], found: Callable[[str], set[str]], banned: set[str]
) -> dict[str, set[str]]:
    """Return module → the banned names it uses."""
    return {name: found(name) & banned for name in names if found(name) & banned}


OURS = sorted(name for name in FILES if name.startswith("autograder"))
TRUSTED = [name for name in OURS if name not in GUEST]


def test_every_part_has_a_layer() -> None:
    """Every part of autograder is listed in LAYERS."""
    known = set().union(*LAYERS)
    assert set() == {part(name) for name in OURS} - known - {""}


def test_imports_go_down_only() -> None:
    """A module imports only from its own part and from lower layers."""
    height = {entry: number for number, layer in enumerate(LAYERS) for entry in layer}
    wrong = [
        f"{name} imports {module}"
        for name in OURS
        for module in sorted(imports(name))
        if part(name) and module.startswith("autograder.") and part(module) != part(name)
        if height[part(module)] >= height[part(name)]
    ]
    assert [] == wrong


def test_formulas_stand_alone() -> None:
    """The formulas library imports no other part."""
    known = {part(module) for name in OURS if part(name) == "formulas" for module in imports(name)}
    assert {"formulas"} == known & set().union(*LAYERS)


def test_checking_stands_alone() -> None:
    """The package for authors of checks imports no other part, and loads torch only if a check does."""
    known = {part(module) for name in OURS if part(name) == "checking" for module in imports(name)}
    assert {"checking"} == known & set().union(*LAYERS)
    assert len(importlib.import_module("autograder.checking").__all__) <= 15


def test_imports_between_the_rooms_of_a_part_go_down_only() -> None:
    """Inside a large part, a module imports only from its own and lower sublayers."""
    wrong = []
    for whole, layers in SUBLAYERS.items():
        height = {sublayer: number for number, layer in enumerate(layers) for sublayer in layer}
        inside = f"autograder.{whole}."
        for name in (name for name in OURS if name.startswith(inside)):
            own = sublayer(name, whole)
            for module in sorted(module for module in imports(name) if module.startswith(inside)):
                other = sublayer(module, whole)
                if own in height and other != own and height.get(other, len(layers)) >= height[own]:
                    wrong.append(f"{name} imports {module}")
    assert [] == wrong


SHARED = {"base", "closed_lists", "numbers"}
"""Entries of ``questions`` that are not kinds."""


def kind_of(module: str) -> str:
    """Return a module's kind, ``shape`` for ``autograder.questions.shape.options``, or an empty string."""
    name = module.removeprefix("autograder.questions.").split(".")[0]
    return name if module.startswith("autograder.questions.") and name not in SHARED else ""


def test_kinds_import_no_other_kind() -> None:
    """A kind is self-contained in its folder; only entry points name it."""
    wrong = [
        f"{name} imports {module}"
        for name in OURS
        for module in sorted(imports(name))
        if kind_of(module) and kind_of(module) != kind_of(name) and name not in KNOW_A_KIND
    ]
    assert [] == wrong


def test_no_class_name_means_several_things() -> None:
    """A class name is unique in the program; a private one is unique in its part or kind."""
    places: dict[tuple[str, str], set[str]] = {}
    for name in OURS:
        for node in ast.walk(tree(name)):
            if isinstance(node, ast.ClassDef) and not node.name.startswith(("Meta", "Migration")):  # Django's
                depth = 3 if kind_of(name) else 2
                where = ".".join(name.split(".")[:depth]) if node.name.startswith("_") else ""
                places.setdefault((where, node.name), set()).add(name)
    assert {} == {name: modules for name, modules in places.items() if len(modules) > 1}


def test_no_import_circles() -> None:
    """Imports between modules have no cycle."""
    graph = {
        name: {
            module
            for module in imports(name)
            # A package's modules import siblings through it, which is not a cycle.
            if module in FILES and not name.startswith(f"{module}.")
        }
        for name in FILES
    }
    ordered = list(TopologicalSorter(graph).static_order())
    assert set(FILES) == set(ordered)


def test_program_and_reference_do_not_know_each_other() -> None:
    """Reference solutions reach a sandbox as files; neither side imports the other.

    Checks are in the same folder and may import the package for their authors.
    """
    crossing = [
        (name, module)
        for name in FILES
        for module in imports(name)
        if module.split(".")[0] in {"autograder", "reference"} - {name.split(".")[0]}
        and not (name.startswith("reference.checks.") and module.startswith("autograder.checking"))
    ]
    assert [] == crossing


def test_trusted_side_imports_nothing_of_the_student() -> None:
    """Modules that run no student code import neither torch nor transformers."""
    assert {} == offenders(TRUSTED, roots, STUDENTS_LIBRARIES)


def test_loading_the_whole_command_line_loads_no_torch() -> None:
    """Importing the command line loads neither torch nor transformers, even indirectly."""
    code = (
        "import sys, autograder.cli.app, autograder.cli.report, autograder.store.gradebook\n"
        "from autograder.app import classes, formula_inspection, inspection, preparation, demo_run\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules}"
        " & {'torch', 'transformers', 'reference', 'sympy'}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, timeout=600
    )
    assert "[]\n" == done.stdout


def test_nothing_is_unpickled() -> None:
    """No module imports a library that deserialises bytes to code."""
    assert {} == offenders(OURS, roots, UNSAFE_MODULES)


def test_nothing_is_evaluated() -> None:
    """No trusted module calls eval, exec or compile."""
    assert {} == offenders(TRUSTED, calls, UNSAFE_CALLS)


def test_only_the_gradebook_imports_nbgraders_api() -> None:
    """Only the store accesses nbgrader's database."""
    users = {part(name) for name in OURS if any(one.startswith("nbgrader.api") for one in imports(name))}
    assert {"store"} == users


def test_a_front_end_knows_the_use_cases_and_nothing_below() -> None:
    """The command line imports only use cases, records, errors and the service that it starts."""
    fronts = [name for name in OURS if name.startswith("autograder.cli")]
    known = {part(module) for name in fronts for module in imports(name) if module.startswith("autograder.")}
    assert {"app", "cli", "core", "web"} == known


def test_use_cases_print_nothing_and_know_no_front_end() -> None:
    """Use cases return records and notify an observer; only front ends produce output."""
    quiet = [name for name in OURS if part(name) in {"app", "store", "grading"}]
    found = offenders(quiet, roots, {"sys", "typer", "rich", "click", "logging"})
    known = {  # these need sys for modules or the Python version
        "autograder.store.gradebook.tables",
        "autograder.grading.release_generation",
        "autograder.grading.attention_access",
        "autograder.grading.version",
    }
    assert {name: {"sys"} for name in known} == found
    assert {} == offenders(quiet, calls, {"print", "input"})


def test_one_module_names_the_store() -> None:
    """A single module selects the store; all other users import only the protocol."""
    stores = ("autograder.store.gradebook", "autograder.store.memory")
    users = {name for name in OURS if any(one.startswith(stores) for one in imports(name))}
    assert {"autograder.app.stores"} == {name for name in users if not name.startswith(stores)}


def test_what_students_get_is_a_text_to_us() -> None:
    """No module imports the file that students run in their notebooks; it is read as a template."""
    assert [] == [name for name in FILES if "autograder.notebook.coursecheck" in imports(name)]
