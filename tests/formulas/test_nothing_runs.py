"""Test that text of students is never executed: by imports, by source, and by Python's audit events."""

from __future__ import annotations

import ast
import functools
import json
import subprocess
import sys
from pathlib import Path

from tests.formulas.hostile import REFUSED

ROOT = Path(__file__).parents[2]
STARTS = (
    "autograder/formulas",
    "autograder/questions/formula",
    "autograder/questions/base/values/literal.py",
)
FORBIDDEN = {
    *("eval", "exec", "compile", "__import__", "literal_eval", "execfile", "run_path", "run_module"),
    *("sympify", "parse_expr", "parse_latex", "lambdify", "S", "system", "popen", "Popen", "spawn", "fork"),
    *("__globals__", "__builtins__", "__subclasses__", "loads_pickle", "import_module", "exec_module"),
    *("unsafe_load", "globals", "locals", "vars", "breakpoint", "input"),
}
"""Names that execute text, or reach functions that do."""
BY_NAME = {"getattr", "setattr", "attrgetter", "methodcaller"}
"""Names that look up attributes by text; the library needs none of them."""
OUTSIDE = {
    *("__future__", "abc", "ast", "base64", "bisect", "collections", "contextlib", "copy", "dataclasses"),
    *("decimal", "difflib", "enum", "filecmp", "fractions", "functools", "hashlib", "hmac", "html", "io"),
    *("itertools", "json", "keyword", "math", "operator", "pathlib", "re", "regex", "secrets", "shutil"),
    *("string", "struct", "threading", "time", "tomllib", "traceback", "types", "typing", "unicodedata"),
    *("warnings", "flint", "msgspec", "numpy"),
}
"""Libraries that may be imported; none of them executes text by itself."""


@functools.cache
def sources() -> dict[str, ast.Module]:
    """Return every module of the project that the library reaches, by file."""
    waiting = [
        path
        for start in STARTS
        for path in ([ROOT / start] if start.endswith(".py") else sorted((ROOT / start).rglob("*.py")))
    ]
    trees: dict[str, ast.Module] = {}
    while waiting:
        path = waiting.pop()
        name = str(path.relative_to(ROOT))
        if name in trees:
            continue
        trees[name] = ast.parse(path.read_text("utf-8"))
        for module in imported(trees[name]):
            parts = module.split(".")
            if parts[0] != "autograder":
                continue
            stem = ROOT.joinpath(*parts)
            waiting += [file for file in (stem.with_suffix(".py"), stem / "__init__.py") if file.exists()]
    return trees


def imported(tree: ast.Module) -> set[str]:
    """Return the imported modules, including imports inside functions."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports are not followed"
            names |= {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def mentioned(tree: ast.Module) -> set[str]:
    """Return names and attributes, except `re.compile`, which compiles patterns."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    harmless = {id(call.func) for call in calls if ast.unparse(call.func) == "re.compile"}
    nodes = [node for node in ast.walk(tree) if id(node) not in harmless]
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    return names | {node.attr for node in nodes if isinstance(node, ast.Attribute)}


OF_FILES = {
    "autograder/core/atomic.py": {"errno", "fcntl", "os", "stat"},
    "autograder/checking/hidden_inputs.py": {"importlib"},
    "autograder/questions/base/kind.py": {"sys"},
    "autograder/messages/catalogue.py": {"babel", "gettext", "importlib"},
    "autograder/core/wording.py": {"babel"},
}
"""Additional libraries per file: for rubric files, folders of kinds, messages and numbers."""
RUNNING = {
    "autograder/messages/catalogue.py": {"exec_module"},
    "autograder/checking/hidden_inputs.py": {"import_module"},
    "autograder/checking/sources.py": {"literal_eval"},
}
"""Exceptions: modules of messages, torch for checks, and literals in authors' files of checks."""


def test_no_source_names_what_runs_text() -> None:
    """No module names `eval`, `exec`, `compile`, `sympify`, `parse_expr` or similar functions."""
    found = {}
    for name, tree in sources().items():
        trusted = not name.startswith(("autograder/formulas", "autograder/questions/base/literal"))
        found[name] = mentioned(tree) & (FORBIDDEN if trusted else FORBIDDEN | BY_NAME)
    assert RUNNING == {name: names for name, names in found.items() if names}


def test_no_source_imports_what_runs_text() -> None:
    """Only libraries that do not execute text are imported."""
    found = {}
    for name, tree in sources().items():
        modules = {module.partition(".")[0] for module in imported(tree)}
        found[name] = modules - OUTSIDE - OF_FILES.get(name, set()) - {"autograder"}
    assert {} == {name: modules for name, modules in found.items() if modules}


WATCHED = """
import json, sys
sys.path.insert(0, {root!r})
from autograder.questions.base.values.literal import find_answer_literal
from autograder.formulas.equality.compare import Comparer
from autograder.formulas.values.points import Points
from tests.formulas.examples import VOCABULARY
from tests.formulas.verdicts import judge
readings = [Comparer(Points(VOCABULARY.domains, b"a test"))]
texts = json.loads(sys.stdin.read())
for text in ("8*d_model^2", "sqrt(d", "dmodel", "½ 𝑑", "max(n, 1)", "ceil(n/2)", "log(n)"):
    judge(text, "8*d_model^2", VOCABULARY, readings)
find_answer_literal("x = 1", "x")
seen = []
def watch(event, arguments):
    if event in ("exec", "compile", "import", "open", "os.system", "subprocess.Popen", "os.exec", "os.fork"):
        seen.append(f"open {{arguments[0]}}" if event == "open" else event)
sys.addaudithook(watch)
for text in texts:
    judge(text, "8*d_model^2", VOCABULARY, readings)
running = list(seen)
seen.clear()
for text in texts:
    find_answer_literal(text, "x")
    find_answer_literal("x = " + repr(text), "x")
print(json.dumps([running, sorted(set(seen))]))
"""


def test_python_itself_reports_no_running() -> None:
    """Reading hostile texts compiles, executes, imports and opens nothing; literals are only parsed."""
    marker = "__import__('os').system('echo run')"
    texts = [*REFUSED.values(), marker, f"x = {marker}", "x = (lambda: 1)()", "8*d_model^2", "⌈n/2⌉ + log(d)"]
    done = subprocess.run(
        [sys.executable, "-c", WATCHED.format(root=str(ROOT))],
        input=json.dumps([text for text in texts if text.isprintable()]),
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
        cwd=ROOT,
    )
    formulas, literals = json.loads(done.stdout)
    assert [] == formulas
    # `ast.parse` reports a compile event, but makes a tree and no code. After a syntax error Python looks
    # for the line in a file with the name of the source.
    assert ["compile", "open <unknown>"] == literals
