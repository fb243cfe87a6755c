"""Reading of a file of checks from its source alone: nothing of it is imported or run."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from autograder.checking.declarations import CHECK_SECONDS
from autograder.checking.hidden_inputs import derive_seed
from autograder.checking.sources import (
    apply_edits,
    evaluate_literal,
    extract_source,
    find_imported_literals,
    find_literals,
    read_edits,
)

PACKAGE = "reference"
FOLDER = "checks"
_API = "autograder.checking"
_DECORATORS = ("check", "fault", "probe")
_DECLARATIONS = (*_DECORATORS, "solution", "mutant", "planted", "forbid")
_STUDENT = "student"
"""The first parameter of a check."""
_TORCH = re.compile(r"^\s*(?:import|from)\s+torch\b", re.MULTILINE)
RESERVED = frozenset(("again", "define", "read_file"))
"""Attributes of ``student`` that are not names of the notebook."""


class CheckFileError(Exception):
    """A file of checks is wrong; the message names the place, the expected form, and the remedy."""

    def __init__(self, problem: str, file: str, line: int = 0) -> None:
        super().__init__(f"{file}, line {line}: {problem}" if line else f"{file}: {problem}")


@dataclass(frozen=True)
class CheckPart:
    """One call of a check."""

    name: str
    """Empty: the only one."""
    value: Any = None
    """The fourth argument; None for the only part."""


@dataclass(frozen=True)
class CheckItem:
    """The declaration in a decorator `check` or `fault`."""

    id: str
    points: Decimal
    title: dict[str, str]
    told: dict[str, str]
    parts: tuple[CheckPart, ...]
    needs: tuple[str, ...]
    seconds: float
    line: int
    edits: tuple[tuple[str, str], ...] = ()
    """Edits of the solution that plant the fault that the check tests; empty: it tests no fault."""
    carry: tuple[str, ...] = ()
    """Functions of earlier questions that the solution's replace if the check fails."""


@dataclass(frozen=True)
class SourceMutant:
    """The declaration in a call of `mutant`, and the resulting source."""

    name: str
    source: str
    title: dict[str, str]
    points: dict[str, Decimal]
    loses: tuple[str, ...] | None
    """None: at least one."""
    line: int


@dataclass(frozen=True)
class PlantedSource:
    """The declaration in a call of `planted`."""

    name: str
    source: str
    loses: tuple[str, ...]
    review: tuple[str, ...]
    line: int


@dataclass(frozen=True)
class CheckFile:
    """A file of checks, read."""

    module: str
    """Such as ``reference.checks.attention``."""
    modules: Mapping[str, str]
    """The sources of it and of all modules of the reference that it needs, by name."""
    checks: tuple[CheckItem, ...]
    mutants: tuple[SourceMutant, ...]
    planted: tuple[PlantedSource, ...]
    forbidden: tuple[str, ...]
    solution: str
    """The source of the right answer as in a cell, under the students' names; empty if there is none."""
    solution_module: str
    """The module of the right answer; empty if its source is given."""
    given: str
    """The source before the answer in the notebook."""
    names: Mapping[str, str]
    """Name that students use → name in the solution."""
    student_names: tuple[str, ...]
    """The names of the notebook that checks use."""
    uses_torch: bool
    probes: tuple[CheckItem, ...] = ()
    """Checks for defects other than the planted faults."""

    def get_check(self, name: str) -> CheckItem:
        """Return the check or probe with this id."""
        return next(check for check in (*self.checks, *self.probes) if check.id == name)

    def list_needing(self, lost: Iterable[str]) -> tuple[str, ...]:
        """Return these checks and those that depend on one of them."""
        needing = dict.fromkeys(lost)
        for check in self.checks:
            if needing.keys() & set(check.needs):
                needing[check.id] = None
        return tuple(needing)

    @property
    def faults(self) -> tuple[CheckItem, ...]:
        """The checks of planted faults."""
        return tuple(check for check in self.checks if check.edits)

    def derive_seed(self, seed: bytes, check: CheckItem, part: str) -> bytes:
        """Return the seed of one part of a check; properties of planted faults all have the same inputs."""
        return derive_seed(seed, "" if check.edits else check.id, part)

    def make_listing(self, left: Iterable[str]) -> str:
        """Return the solution with these faults in it."""
        return apply_edits(self.solution, [edit for name in left for edit in self.get_check(name).edits])

    def extract_carried(self, check: CheckItem) -> str:
        """Return the source of the solution's functions that replace a student's; see `extract_source`."""
        source = "\n\n".join(filter(None, (self.given, self.solution)))
        return extract_source(source, check.carry, self.student_names)


def load_check_file(folder: Path, file: str) -> CheckFile:
    """Read a file of checks and the sources of its imports.

    Args:
        folder: of the reference solutions.
        file: in its folder ``checks``, such as ``"attention.py"``.

    Raises:
        CheckFileError: a file is missing or not Python, or has an invalid declaration.
    """
    name = file.removesuffix(".py")
    if not name.isidentifier():
        raise CheckFileError("expected the name of a Python file, such as 'attention.py'", file)
    path = folder / FOLDER / f"{name}.py"
    if not path.is_file():
        files = (
            sorted(path_in_folder.name for path_in_folder in (folder / FOLDER).glob("*.py"))
            if folder.is_dir()
            else []
        )
        raise CheckFileError(f"there is no such file{describe_known_names(f'{name}.py', files)}", str(path))
    return parse_check_file(_collect_modules(folder, f"{PACKAGE}.{FOLDER}.{name}"), name)


def parse_check_file(modules: Mapping[str, str], name: str) -> CheckFile:
    """Read a file of checks from sources.

    Args:
        modules: dotted name → source, with those of all modules of the reference that are needed.
        name: of the file, without its ending.

    Raises:
        CheckFileError: something is wrong.
    """
    return _CheckReader(modules, f"{PACKAGE}.{FOLDER}.{name}").read()


def _parse_repeatedly(source: str) -> ast.Module:
    """Parse a file of checks, also while other threads parse."""
    # CPython 3.11 counts the depth of all threads together (gh-106905), which can make any of them fail.
    for _ in range(5):
        try:
            return ast.parse(source)
        except SystemError:
            continue
    return ast.parse(source)


def name_part(check: str, part: str) -> str:
    """Return the name of one part of a check."""
    return f"{check} [{part}]" if part else check


def drop_planted(source: str) -> str:
    """Return the source of a file of checks without its planted answers, on which no result depends."""
    if "planted" not in source:
        return source
    try:
        tree = _parse_repeatedly(source)
    except (SyntaxError, ValueError, RecursionError):
        return source
    lines = source.splitlines(keepends=True)
    # From the end, so that the line numbers of earlier statements stay valid.
    for statement in reversed(tree.body):
        call = statement.value if isinstance(statement, ast.Expr) else None
        if isinstance(call, ast.Call) and _get_last_name(call.func) == "planted":
            del lines[statement.lineno - 1 : statement.end_lineno]
    return "".join(lines)


def describe_known_names(name: str, valid: Iterable[str]) -> str:
    """Return a hint to append to a message about an unknown name."""
    names = sorted(valid)
    near = difflib.get_close_matches(name, names, 1)
    if near:
        return f"; did you mean {near[0]!r}?"
    return f"; known: {', '.join(names)}" if names else ""


# ---------------------------------------------------------------- modules


def _collect_modules(folder: Path, module: str) -> dict[str, str]:
    """Return the sources of a module and of all modules of the reference that it imports."""
    sources: dict[str, str] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in sources:
            continue
        path = _find_module(folder, name)
        if path is None:
            continue
        sources[name] = _read_text(path)
        tree = _parse_source(sources[name], name)
        waiting += _list_imported(tree, name, is_package=path.name == "__init__.py")
        waiting += [_to_module(file) for file in _list_solution_files(tree)]
    return sources


def _find_module(folder: Path, name: str) -> Path | None:
    path = folder.joinpath(*name.split(".")[1:])
    for candidate in (path.with_suffix(".py"), path / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None


def _read_text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CheckFileError(f"cannot be read: {error}", str(path)) from error


def _parse_source(source: str, name: str) -> ast.Module:
    try:
        return _parse_repeatedly(source)
    except (SyntaxError, ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 0) or 0
        raise CheckFileError(f"not valid Python: {error}", _to_file(name), line) from error


def _to_file(module: str) -> str:
    return f"{module.replace('.', '/')}.py"


def _list_imported(tree: ast.Module, name: str, *, is_package: bool) -> Iterator[str]:
    """Yield the modules of the reference that a module imports, with their parent packages."""
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = name.split(".")
                parts = parts[: len(parts) - node.level + is_package]
                base = ".".join([*parts, *filter(None, [node.module])])
            names = [base, *(f"{base}.{alias.name}" for alias in node.names)]
        for imported in names:
            if imported.partition(".")[0] == PACKAGE:
                pieces = imported.split(".")
                yield from (".".join(pieces[:depth]) for depth in range(1, len(pieces) + 1))


def _list_solution_files(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _get_last_name(node.func) == "solution":
            for argument in (*node.args, *(word.value for word in node.keywords if word.arg == "file")):
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                    yield argument.value


def _to_module(file: str) -> str:
    return f"{PACKAGE}.{file.removesuffix('.py').replace('/', '.')}"


def _get_last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


# ---------------------------------------------------------------- one file


class _CheckReader:
    """Reads one file of checks."""

    def __init__(self, modules: Mapping[str, str], module: str) -> None:
        self._modules = modules
        self._module = module
        self._file = _to_file(module)
        self._tree = _parse_source(modules[module], module)
        self._constants = find_imported_literals(self._tree, modules) | find_literals(self._tree)
        self._api = _find_api_names(self._tree)
        self._checks: list[CheckItem] = []
        self._mutants: list[tuple[dict[str, Any], int]] = []
        self._planted: list[PlantedSource] = []
        self._forbidden: list[str] = []
        self._probes: list[CheckItem] = []
        self._solution: dict[str, Any] = {}

    def read(self) -> CheckFile:
        top_level = self._read_statements()
        for node in ast.walk(self._tree):
            if (
                isinstance(node, ast.Call)
                and id(node) not in top_level
                and (name := self._get_declaration(node))
            ):
                raise self._make_error(f"{name}(…) stands inside other code; state it at the top level", node)
        if not self._checks:
            raise CheckFileError("no function is decorated with @check(points=…, title=…)", self._file)
        ids = [check.id for check in self._checks]
        for check in self._checks:
            self._check_known(check.needs, [name for name in ids if name != check.id], check.line, "needs")
        for planted in self._planted:
            self._check_known(planted.loses, ids, planted.line, "loses")
            self._check_known(planted.review, ids, planted.line, "review")
        module, source, names = self._read_solution()
        self._check_faults(source)
        file = CheckFile(
            module=self._module,
            modules=self._modules,
            checks=tuple(self._checks),
            mutants=tuple(
                self._make_mutant(arguments, line, source, names, ids) for arguments, line in self._mutants
            ),
            planted=tuple(self._planted),
            forbidden=tuple(self._forbidden),
            solution=_with_names(source, names),
            solution_module=module,
            given=self._solution.get("given", ""),
            names=names,
            student_names=_find_student_names(self._tree),
            uses_torch=any(map(_is_torch_imported, (*self._modules.values(), source))),
            probes=tuple(self._probes),
        )
        # Report functions that cannot be carried when the file is read, not when a submission is graded.
        for check in file.checks:
            try:
                file.extract_carried(check)
            except ValueError as error:
                raise CheckFileError(f"check {check.id!r}: {error}", self._file, check.line) from error
        return file

    def _read_statements(self) -> set[int]:
        """Read the declarations; return the identities of their nodes."""
        read: set[int] = set()
        for statement in self._tree.body:
            if isinstance(statement, ast.FunctionDef):
                for decorator in statement.decorator_list:
                    if isinstance(decorator, ast.Name) and self._api.get(decorator.id) == "probe":
                        self._read_probe(statement)
                    elif isinstance(decorator, ast.Call) and self._get_declaration(decorator) in _DECORATORS:
                        read.add(id(decorator))
                        self._read_check(statement, decorator, self._get_declaration(decorator))
            elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
                node = statement.value
                if name := self._get_declaration(node):
                    read.add(id(node))
                    self._read_declaration(name, node)
        return read

    def _get_declaration(self, node: ast.Call) -> str:
        """Return the name of the declaration that a call is; empty for any other call."""
        if isinstance(node.func, ast.Name):
            name = self._api.get(node.func.id, "")
        elif isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
            name = node.func.attr if self._api.get(node.func.value.id) == _API else ""
        else:
            name = ""
        return name if name in _DECLARATIONS else ""

    def _read_check(self, function: ast.FunctionDef, node: ast.Call, kind: str) -> None:
        arguments = self._read_arguments(node, ("old", "new") if kind == "fault" else (), kind)
        where = f"{kind} {function.name!r}"
        if any(check.id == function.name for check in self._checks):
            raise self._make_error(f"{where} stands twice; rename one", node)
        for needed in ("points", "title"):
            if needed not in arguments:
                raise self._make_error(f"{where}: {needed}= is missing", node)
        if kind == "fault" and not read_edits(arguments):
            raise self._make_error(f"{where}: old= and new= are missing: the edit that plants it", node)
        parts = _read_parts(arguments.get("parts"))
        if parts is None:
            raise self._make_error(
                f"{where}: parts: expected names, or a dictionary of names and values", node
            )
        wanted = 4 if "parts" in arguments else 3
        if len(function.args.posonlyargs) + len(function.args.args) != wanted:
            names = "(student, reference, draw, part)" if wanted == 4 else "(student, reference, draw)"
            raise self._make_error(f"def {function.name}: expected the parameters {names}", function)
        check = CheckItem(
            id=function.name,
            # Negative points are a deduction for wrong answers.
            points=self._read_points(arguments["points"], where, node, least=-1e6),
            title=self._read_texts(arguments["title"], where, "title", node),
            told=self._read_texts(arguments["told"], where, "told", node) if arguments.get("told") else {},
            parts=parts,
            needs=self._read_names(arguments.get("needs", ()), where, "needs", node),
            seconds=float(
                self._read_points(arguments.get("seconds", CHECK_SECONDS), where, node, quantity="seconds")
            ),
            line=function.lineno,
            edits=read_edits(arguments),
            carry=self._read_names(arguments.get("carry", ()), where, "carry", node),
        )
        self._checks.append(check)

    def _read_probe(self, function: ast.FunctionDef) -> None:
        title = {"en": function.name}
        line = function.lineno
        self._probes.append(CheckItem(function.name, Decimal(0), title, {}, (CheckPart(""),), (), 30.0, line))

    def _read_declaration(self, name: str, node: ast.Call) -> None:
        if name in _DECORATORS:
            raise self._make_error(f"{name}(…) decorates a function: write @{name}(…) above it", node)
        if name == "forbid":
            values = [self._read_literal(argument, "forbid", node) for argument in node.args]
            self._forbidden += self._read_names(values, "forbid", "names", node)
        elif name == "solution":
            if self._solution:
                raise self._make_error("solution(…) stands twice", node)
            self._solution = {**self._read_arguments(node, ("file",), "solution"), "line": node.lineno}
        elif name == "planted":
            arguments = self._read_arguments(node, ("name", "source"), "planted")
            self._require_texts(arguments, ("name", "source"), "planted", node)
            where = f"planted {arguments['name']!r}"
            loses, review = (
                self._read_names(arguments.get(key, ()), where, key, node) for key in ("loses", "review")
            )
            self._planted.append(
                PlantedSource(arguments["name"], arguments["source"], loses, review, node.lineno)
            )
        else:
            arguments = self._read_arguments(node, ("name", "old", "new"), "mutant")
            self._require_texts(arguments, ("name",), "mutant", node)
            self._mutants.append((arguments, node.lineno))

    def _read_solution(self) -> tuple[str, str, dict[str, str]]:
        """Return module, source and names of the solution."""
        if not self._solution:
            return "", "", {}
        line = self._solution["line"]
        names = self._solution.get("names") or {}
        file, source = self._solution.get("file", ""), self._solution.get("source", "")
        if bool(file) == bool(source):
            raise CheckFileError("solution: expected a file or source=, one of the two", self._file, line)
        if source:
            _parse_source(source, self._module)
            return "", source, names
        module = _to_module(str(file))
        if module not in self._modules:
            raise CheckFileError(f"solution: there is no file {PACKAGE}/{file}", self._file, line)
        return module, self._modules[module], names

    def _check_faults(self, source: str) -> None:
        """Check that faults can be planted, each alone and all together.

        Raises:
            CheckFileError: an edit does not fit, or the result is not Python.
        """
        faults = [check for check in self._checks if check.edits]
        if faults and not source:
            problem = "a fault is an edit of the solution: state solution(…)"
            raise CheckFileError(problem, self._file, faults[0].line)
        listing = source
        for fault in faults:
            self._edit(source, fault.edits, f"fault {fault.id!r}", fault.line)
            try:
                listing = apply_edits(listing, fault.edits)
            except ValueError as error:
                problem = f"fault {fault.id!r} does not fit beside the faults above it: {error}"
                raise CheckFileError(problem, self._file, fault.line) from error

    def _edit(self, source: str, edits: Sequence[Sequence[str]], where: str, line: int) -> str:
        """Return the edited solution, which must be Python."""
        try:
            edited = apply_edits(source, edits)
        except ValueError as error:
            raise CheckFileError(f"{where}: {error}", self._file, line) from error
        try:
            ast.parse(edited)
        except (SyntaxError, ValueError) as error:
            problem = f"{where}: the edited solution is no Python: {error}"
            raise CheckFileError(problem, self._file, line) from error
        return edited

    def _make_mutant(
        self, arguments: dict[str, Any], line: int, source: str, names: dict[str, str], ids: Sequence[str]
    ) -> SourceMutant:
        name, edits = arguments["name"], read_edits(arguments)
        where = f"mutant {name!r}"
        if not edits:
            raise CheckFileError(f"{where}: old= and new= are missing", self._file, line)
        if not source:
            raise CheckFileError(f"{where}: state solution(…): mutants are edits of it", self._file, line)
        edited = self._edit(source, edits, where, line)
        # Stands in for the call, whose node was not kept; errors only need its line.
        node = ast.Constant(None, lineno=line, col_offset=0)
        points = arguments.get("points") or {}
        self._check_known(points, ids, line, "points")
        loses = None
        if arguments.get("loses") is not None:
            loses = self._read_names(arguments["loses"], where, "loses", node)
            self._check_known(loses, ids, line, "loses")
        title = self._read_texts(arguments["title"], where, "title", node) if arguments.get("title") else {}
        values = {check: self._read_points(value, where, node) for check, value in points.items()}
        return SourceMutant(name, _with_names(edited, names), title, values, loses, line)

    # ------------------------------------------------------------ literals

    def _read_arguments(self, node: ast.Call, positional: Sequence[str], name: str) -> dict[str, Any]:
        """Return the arguments of a declaration, which are literals."""
        if len(node.args) > len(positional) or any(isinstance(value, ast.Starred) for value in node.args):
            raise self._make_error(f"{name}: expected keywords such as points=…", node)
        keywords = _KEYWORDS[name]
        pairs = list(zip(positional, node.args, strict=False))
        for word in node.keywords:
            if word.arg is None or word.arg not in keywords:
                raise self._make_error(
                    f"{name}: no argument {word.arg!r}{describe_known_names(str(word.arg), keywords)}", node
                )
            pairs.append((word.arg, word.value))
        return {key: self._read_literal(value, f"{name}: {key}", node) for key, value in pairs}

    def _read_literal(self, value: ast.expr, where: str, node: ast.AST) -> Any:
        try:
            return evaluate_literal(value, self._constants)
        except ValueError as error:
            text = ast.unparse(value)[:60]
            raise self._make_error(
                f"{where}: {text!r} is no literal. It is read without running the file: write the value, "
                "or the name of a literal at the top level",
                node,
            ) from error

    def _read_points(
        self, value: Any, where: str, node: ast.AST, *, quantity: str = "points", least: float = 0
    ) -> Decimal:
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value < 1e6:
            raise self._make_error(
                f"{where}: {quantity}: expected a number from {least:g}, got {value!r}", node
            )
        return Decimal(str(value))

    def _read_texts(self, value: Any, where: str, key: str, node: ast.AST) -> dict[str, str]:
        texts = {"en": value} if isinstance(value, str) else value
        valid = isinstance(texts, dict) and all(isinstance(text, str) and text for text in texts.values())
        if not valid or "en" not in texts:
            raise self._make_error(f'{where}: {key}: expected a text, or {{"en": …, "de": …}}', node)
        return dict(texts)

    def _read_names(self, value: Any, where: str, key: str, node: ast.AST) -> tuple[str, ...]:
        names = (value,) if isinstance(value, str) else value
        if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
            raise self._make_error(f"{where}: {key}: expected a name or a list of names, got {value!r}", node)
        return tuple(names)

    def _require_texts(
        self, arguments: Mapping[str, Any], keys: Sequence[str], name: str, node: ast.AST
    ) -> None:
        for key in keys:
            if not isinstance(arguments.get(key), str) or not arguments[key]:
                raise self._make_error(f"{name}: {key}: expected a text, got {arguments.get(key)!r}", node)

    def _check_known(self, names: Iterable[str], valid: Sequence[str], line: int, key: str) -> None:
        for name in names:
            if name not in valid:
                raise CheckFileError(
                    f"{key}: there is no check {name!r}{describe_known_names(name, valid)}", self._file, line
                )

    def _make_error(self, problem: str, node: ast.AST) -> CheckFileError:
        return CheckFileError(problem, self._file, getattr(node, "lineno", 0))


_KEYWORDS: Mapping[str, tuple[str, ...]] = {
    "check": ("points", "title", "parts", "needs", "carry", "told", "seconds"),
    "fault": ("old", "new", "edits", "points", "title", "needs", "told", "seconds"),
    "probe": (),
    "solution": ("file", "source", "given", "names"),
    "mutant": ("name", "old", "new", "edits", "title", "points", "loses"),
    "planted": ("name", "source", "loses", "review"),
}


def _with_names(source: str, names: Mapping[str, str]) -> str:
    """Return a solution's source with the names that students use."""
    if not source or not names:
        return source
    aliases = "".join(f"{name} = {solution_name}\n" for name, solution_name in names.items())
    return f"{source.rstrip()}\n\n{aliases}"


def _read_parts(value: Any) -> tuple[CheckPart, ...] | None:
    if value is None:
        return (CheckPart(""),)
    if isinstance(value, dict) and value and all(isinstance(name, str) and name for name in value):
        return tuple(CheckPart(name, argument) for name, argument in value.items())
    if isinstance(value, list | tuple) and value and all(isinstance(name, str) and name for name in value):
        return tuple(CheckPart(name, name) for name in value) if len(set(value)) == len(value) else None
    return None


def _find_api_names(tree: ast.Module) -> dict[str, str]:
    """Return the meaning of each imported name of our API: a function's name, or the package."""
    meanings: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == _API:
            meanings |= {alias.asname or alias.name: alias.name for alias in node.names}
            if "*" in meanings:
                meanings |= {name: name for name in _DECLARATIONS}
        elif isinstance(node, ast.ImportFrom) and node.module == "autograder":
            meanings |= {alias.asname or alias.name: _API for alias in node.names if alias.name == "checking"}
        elif isinstance(node, ast.Import):
            meanings |= {alias.asname: _API for alias in node.names if alias.name == _API and alias.asname}
    return meanings


def _find_student_names(tree: ast.Module) -> tuple[str, ...]:
    """Return the attributes of ``student`` that a file of checks uses."""
    return tuple(
        sorted(
            {
                node.attr
                for node in ast.walk(tree)
                if isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id == _STUDENT
                and node.attr not in RESERVED
            }
        )
    )


def _is_torch_imported(source: str) -> bool:
    return _TORCH.search(source) is not None
