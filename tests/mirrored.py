"""The test files that mirror what changed since the last commit of main: ``python -m tests.mirrored``.

``autograder/a/b.py`` is mirrored by ``tests/a/test_b.py``, else by what is called after it
(``test_b_pages.py``), and by the quick files of ``tests/a`` that import from it; where there is none of the
first two, by all quick files of ``tests/a``. Other files, as templates, data and docs, are mirrored by the
quick tests that are called after them or name them. What runs alone or long is left to `make test`, unless
it changed itself.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
ALWAYS = Path("tests/test_architecture.py")
MANY = 8
BY_SUFFIX = {".md": "tests/test_docs*.py", ".po": "tests/messages/test_*.py"}
SLOW = ("pytest.mark.alone", "pytest.mark.long", "pytest.mark.apart")


def changed(root: Path, since: str) -> list[Path]:
    """The files that differ from a commit, and new ones; relative to the root."""
    told = [
        subprocess.run(["git", *words], cwd=root, check=True, capture_output=True, text=True).stdout
        for words in (
            ["diff", "--name-only", "--diff-filter=d", since],
            ["ls-files", "--others", "--exclude-standard"],
        )
    ]
    return sorted({Path(line) for text in told for line in text.splitlines()})


def mirrors(root: Path, paths: Iterable[Path]) -> Iterator[Path]:
    """The test files to run, as they come, perhaps twice."""
    yield ALWAYS
    for path in paths:
        if path.suffix != ".py":
            yield from _of_data(root, path)
        elif path.parts[0] == "tests":
            yield from [path] if path.name.startswith("test_") else _quick(root, path.parent)
        elif path.parts[0] == "autograder":
            yield from _mirror(root, path)


def _mirror(root: Path, source: Path) -> Iterator[Path]:
    module = source.parent if source.name == "__init__.py" else source.with_suffix("")
    path = Path("tests", *source.parts[1:])
    own = [path.with_name(f"test_{module.name}.py"), path.parent.with_name(f"test_{module.name}.py")]
    found = [one for one in own if (root / one).is_file()]
    beside = list(_quick(root, next(one for one in path.parents if (root / one).is_dir())))
    if not found:
        found = _called_after(module, beside)
    yield from found
    yield from (one for one in beside if not found or ".".join(module.parts) in _imported(root / one))


def _of_data(root: Path, path: Path) -> Iterator[Path]:
    """The quick tests of a file that is no module: those called after it, else those that name it."""
    yield from (one.relative_to(root) for one in sorted(root.glob(BY_SUFFIX.get(path.suffix, "nothing"))))
    folder = next(one for one in Path("tests", *path.parts[1:]).parents if (root / one).is_dir())
    called = _called_after(path.with_suffix(""), _quick(root, folder)) if folder.name != "tests" else []
    yield from called or (
        one.relative_to(root)
        for one in sorted((root / "tests").rglob("test_*.py"))
        if path.name in (text := one.read_text(encoding="utf-8")) and not any(mark in text for mark in SLOW)
    )


def _called_after(module: Path, tests: Iterable[Path]) -> list[Path]:
    """The tests that are called after a module, or after the folder in which it lies with others."""
    for name in (module.name, module.parent.name):
        found = [one for one in tests if re.match(rf"test_{name}[_.]", one.name)]
        if found:
            return found
    return []


def _imported(test: Path) -> set[str]:
    """The modules a test file imports, and what it imports from them, by dotted names."""
    found = set()
    for node in ast.walk(ast.parse(test.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def _quick(root: Path, folder: Path) -> Iterator[Path]:
    for path in sorted((root / folder).glob("test_*.py")):
        if not any(mark in path.read_text(encoding="utf-8") for mark in SLOW):
            yield path.relative_to(root)


def arguments(tests: Iterable[Path]) -> list[str]:
    """What pytest is called with: many files share two cores, and for a few starting twice takes longer."""
    files = list(dict.fromkeys(map(str, tests)))
    return [*(["--numprocesses=2", "--dist=worksteal"] if len(files) > MANY else []), *files]


if __name__ == "__main__":
    since = sys.argv[1] if len(sys.argv) > 1 else "HEAD"
    print(*arguments(mirrors(ROOT, changed(ROOT, since))), sep="\n")
