"""What the source itself must keep: layers and borders."""

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
"""The parts of autograder from the ground up; each imports only from the layers above its own line."""

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
"""The sublayers of a part that is too large for one, from the ground up, with the same rule between them.

Entries that are not listed are above those that are.
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
"""What runs on the untrusted side, or starts it; the last one in notebooks of students."""

STUDENTS_LIBRARIES = {"torch", "transformers", "reference"}
UNSAFE_MODULES = {"pickle", "cPickle", "_pickle", "dill", "joblib", "cloudpickle", "marshal", "shelve"}
UNSAFE_CALLS = {"eval", "exec", "compile"}


KNOW_A_KIND = {
    "autograder.app.formula_inspection",
    "autograder.app.preparation",
    "autograder.questions.repair",
}
"""Commands about formulas or planted faults alone, and the kind that adds faults to checks."""


def module_name(path: Path) -> str:
    """The dotted name of a source file."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {module_name(path): path for folder in (PROGRAM, REFERENCE) for path in sorted(folder.rglob("*.py"))}


@functools.cache
def tree(name: str) -> ast.Module:
    """A module's syntax tree."""
    return ast.parse(FILES[name].read_text("utf-8"))


@functools.cache
def imports(name: str) -> frozenset[str]:
    """Everything a module imports, also inside functions; a submodule is named as such."""
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
    """The part of autograder a module belongs to: ``autograder.questions.shape`` → ``questions``.

    A ``__main__`` is a command, wherever it lies: nothing imports it.
    """
    if module.endswith(".__main__"):
        return "cli"
    return module.split(".")[1] if module.count(".") else ""


def sublayer(module: str, whole: str) -> str:
    """The sublayer of a module: ``autograder.formulas.notation.parse`` → ``notation``."""
    return module.removeprefix(f"autograder.{whole}.").split(".")[0]


def roots(name: str) -> set[str]:
    """The top-level packages a module imports."""
    return {module.partition(".")[0] for module in imports(name)}


def calls(name: str) -> set[str]:
    """The plain names a module calls."""
    return {
        node.func.id
        for node in ast.walk(tree(name))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }


def offenders(
    names: Iterable[str], found: Callable[[str], set[str]], banned: set[str]
) -> dict[str, set[str]]:
    """Module → what it uses of what is banned."""
    return {name: found(name) & banned for name in names if found(name) & banned}


OURS = sorted(name for name in FILES if name.startswith("autograder"))
TRUSTED = [name for name in OURS if name not in GUEST]


def test_every_part_has_a_layer() -> None:
    """A new part of autograder is given its place in LAYERS."""
    known = set().union(*LAYERS)
    assert set() == {part(name) for name in OURS} - known - {""}


def test_imports_go_down_only() -> None:
    """A module imports from its own part and from lower layers, never from beside or above."""
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
    """The library of formulas knows nothing of the rest."""
    known = {part(module) for name in OURS if part(name) == "formulas" for module in imports(name)}
    assert {"formulas"} == known & set().union(*LAYERS)


def test_checking_stands_alone() -> None:
    """What authors of checks import knows nothing of the rest, and loads torch only if they do."""
    known = {part(module) for name in OURS if part(name) == "checking" for module in imports(name)}
    assert {"checking"} == known & set().union(*LAYERS)
    assert len(importlib.import_module("autograder.checking").__all__) <= 15


def test_imports_between_the_rooms_of_a_part_go_down_only() -> None:
    """Inside a large part a module imports from its own room and from lower ones."""
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
"""Entries of ``questions`` that are no kinds."""


def kind_of(module: str) -> str:
    """The kind a module belongs to, ``shape`` for ``autograder.questions.shape.options``; or none."""
    name = module.removeprefix("autograder.questions.").split(".")[0]
    return name if module.startswith("autograder.questions.") and name not in SHARED else ""


def test_kinds_import_no_other_kind() -> None:
    """A kind stands in its folder alone; nobody but the entry points knows where that is."""
    wrong = [
        f"{name} imports {module}"
        for name in OURS
        for module in sorted(imports(name))
        if kind_of(module) and kind_of(module) != kind_of(name) and name not in KNOW_A_KIND
    ]
    assert [] == wrong


def test_no_class_name_means_several_things() -> None:
    """A class has a name of its own in the whole program, and a private one in its part or kind."""
    places: dict[tuple[str, str], set[str]] = {}
    for name in OURS:
        for node in ast.walk(tree(name)):
            if isinstance(node, ast.ClassDef) and not node.name.startswith(("Meta", "Migration")):  # Django's
                depth = 3 if kind_of(name) else 2
                where = ".".join(name.split(".")[:depth]) if node.name.startswith("_") else ""
                places.setdefault((where, node.name), set()).add(name)
    assert {} == {name: modules for name, modules in places.items() if len(modules) > 1}


def test_no_import_circles() -> None:
    """Modules can be put in an order in which each imports only earlier ones."""
    graph = {
        name: {
            module
            for module in imports(name)
            # A package's own modules import siblings through it; that is no circle of theirs.
            if module in FILES and not name.startswith(f"{module}.")
        }
        for name in FILES
    }
    ordered = list(TopologicalSorter(graph).static_order())
    assert set(FILES) == set(ordered)


def test_program_and_reference_do_not_know_each_other() -> None:
    """Reference solutions reach a sandbox as files; neither side imports the other.

    Checks, which lie beside them, import what is made for their authors.
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
    """Where no student code runs, torch and transformers are not imported either."""
    assert {} == offenders(TRUSTED, roots, STUDENTS_LIBRARIES)


def test_loading_the_whole_command_line_loads_no_torch() -> None:
    """What grading imports, followed through all libraries, contains neither torch nor transformers."""
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
    """No module imports a library that turns bytes into code."""
    assert {} == offenders(OURS, roots, UNSAFE_MODULES)


def test_nothing_is_evaluated() -> None:
    """No trusted module calls eval, exec or compile."""
    assert {} == offenders(TRUSTED, calls, UNSAFE_CALLS)


def test_only_the_gradebook_imports_nbgraders_api() -> None:
    """nbgrader's database is written in one place."""
    users = {part(name) for name in OURS if any(one.startswith("nbgrader.api") for one in imports(name))}
    assert {"store"} == users


def test_a_front_end_knows_the_use_cases_and_nothing_below() -> None:
    """The command line imports use cases, records, errors and the service it starts; nothing below."""
    fronts = [name for name in OURS if name.startswith("autograder.cli")]
    known = {part(module) for name in fronts for module in imports(name) if module.startswith("autograder.")}
    assert {"app", "cli", "core", "web"} == known


def test_use_cases_print_nothing_and_know_no_front_end() -> None:
    """They give records and tell a watch; where it is shown, and how, is for whoever called them."""
    quiet = [name for name in OURS if part(name) in {"app", "store", "grading"}]
    found = offenders(quiet, roots, {"sys", "typer", "rich", "click", "logging"})
    known = {  # they ask about modules, or about Python
        "autograder.store.gradebook.tables",
        "autograder.grading.release_generation",
        "autograder.grading.attention_access",
        "autograder.grading.version",
    }
    assert {name: {"sys"} for name in known} == found
    assert {} == offenders(quiet, calls, {"print", "input"})


def test_one_module_names_the_store() -> None:
    """Another store is chosen in one place; whatever else uses a store knows the protocol alone."""
    stores = ("autograder.store.gradebook", "autograder.store.memory")
    users = {name for name in OURS if any(one.startswith(stores) for one in imports(name))}
    assert {"autograder.app.stores"} == {name for name in users if not name.startswith(stores)}


def test_what_students_get_is_a_text_to_us() -> None:
    """No module imports the file that students run beside their notebooks; it is read, and filled in."""
    assert [] == [name for name in FILES if "autograder.notebook.coursecheck" in imports(name)]
