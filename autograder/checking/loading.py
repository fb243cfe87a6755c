"""Loads checks, solutions and mutants from sources: where an author debugs, and in the judge box."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from autograder.checking.files import READER, read_file
from autograder.checking.outcomes import MissingName
from autograder.checking.reading import PACKAGE


class SourceModules(importlib.abc.MetaPathFinder, importlib.abc.ExecutionLoader):
    """Imports modules of the reference from their sources, in the place of files."""

    def __init__(self, modules: Mapping[str, str], root: str = "") -> None:
        """Import nothing yet.

        Args:
            modules: dotted name → source.
            root: the folder that holds them all, for tracebacks and debuggers.
        """
        self._modules = modules
        self._root = f"{root}/" if root else ""
        self._packages = {
            ".".join(name.split(".")[:depth]) for name in modules for depth in range(1, name.count(".") + 1)
        }
        self._before: dict[str, types.ModuleType] = {}

    def install(self) -> None:
        """Import from here first, and forget what was imported of the reference before."""
        self._before = self._take_modules()
        sys.meta_path.insert(0, self)

    def remove(self) -> None:
        """Undo `install`."""
        sys.meta_path.remove(self)
        self._take_modules()
        sys.modules.update(self._before)

    def _take_modules(self) -> dict[str, types.ModuleType]:
        names = [name for name in sys.modules if name.partition(".")[0] == PACKAGE]
        return {name: sys.modules.pop(name) for name in names}

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Find a module of the reference; see `importlib.abc.MetaPathFinder`."""
        del path, target
        if name not in self._modules and name not in self._packages:
            return None
        return importlib.util.spec_from_loader(name, self, is_package=self.is_package(name))

    def is_package(self, fullname: str) -> bool:
        """Return whether modules lie below a module."""
        return fullname in self._packages

    def get_source(self, fullname: str) -> str:
        """Return the source of a module; that of a folder without one is empty."""
        return self._modules.get(fullname, "")

    def get_filename(self, fullname: str) -> str:
        """Return where a module lies, for tracebacks and debuggers."""
        inside = "/__init__" if self.is_package(fullname) else ""
        return f"{self._root}{fullname.replace('.', '/')}{inside}.py"


class _OneSource(importlib.abc.ExecutionLoader):
    """Loads one module from its source."""

    def __init__(self, source: str, file: str) -> None:
        self._source = source
        self._file = file

    def get_source(self, fullname: str) -> str:
        del fullname
        return self._source

    def get_filename(self, fullname: str) -> str:
        del fullname
        return self._file


def load_source(source: str, file: str, name: str, package: str = PACKAGE) -> types.ModuleType:
    """Run a source as a module of its own.

    Args:
        source: Python.
        file: its name in tracebacks.
        name: of the module.
        package: in which its relative imports look.

    Raises:
        Exception: whatever the source raises.
    """
    loader = _OneSource(source, file)
    module = types.ModuleType(name)
    module.__spec__ = importlib.machinery.ModuleSpec(name, loader, origin=file)
    module.__file__, module.__loader__ = file, loader
    module.__package__ = package
    sys.modules[name] = module  # dataclasses look there for the names of annotations
    loader.exec_module(module)
    return module


NEUTRAL_NAME = "definitions"
"""Of a module that is defined beside a student's code: it says nothing about what is in it."""


def define_module(source: str, names: Sequence[str] = (), within: Any = None) -> types.ModuleType:
    """Run a source as a module that nothing can import, and return it.

    Args:
        source: Python.
        names: of it, that take the place of those of another module.
        within: the dictionary of that module.

    Raises:
        Exception: whatever the source raises.
    """
    module = types.ModuleType(NEUTRAL_NAME)
    _OneSource(source, f"<{NEUTRAL_NAME}>").exec_module(module)
    for name in names:
        within[name] = getattr(module, name)
    return module


class DefinedNames:
    """The names of a notebook, or of a solution, as attributes."""

    __slots__ = ("_define", "_look_up", "_make_again", "_results")

    def __init__(
        self,
        look_up: Callable[[str], Any],
        make_again: Callable[[], DefinedNames],
        define: Callable[..., Any] = define_module,
    ) -> None:
        """Look up names.

        Args:
            look_up: gives what a name stands for; raises `MissingName`.
            make_again: gives the same names in a process that has seen nothing yet.
            define: runs a source where the names are, and gives its module; with names as a second argument,
                these take the place of the student's.
        """
        object.__setattr__(self, "_define", define)
        object.__setattr__(self, "_look_up", look_up)
        object.__setattr__(self, "_make_again", make_again)
        object.__setattr__(self, "_results", {})

    def __getattr__(self, name: str) -> Any:
        return object.__getattribute__(self, "_look_up")(name)

    def again(self) -> DefinedNames:
        """Return the names of a fresh process in which the same cells ran.

        Code there cannot know what was called here: compare two calls that must not share memory.
        """
        made: DefinedNames = object.__getattribute__(self, "_make_again")()
        return made

    def define(self, source: str) -> Any:
        """Run a source where the student's code is, and return its names as attributes.

        The student's code can be given what it defines, such as a class to test. It can look at that as it
        likes, so neither the source nor a name in it may say what is expected.
        """
        return object.__getattribute__(self, "_define")(source)

    def read_file(self, path: str, dtype: type = float) -> Any:
        """Return what a file beside the notebook holds, handed in or written by the notebook.

        A ``.npy`` file, and a table of numbers in a ``.csv`` (with commas) or ``.txt`` (with spaces), is an
        array; a first line without any number is a header. ``.json`` is plain data,
        ``.safetensors`` a dictionary of arrays, of tensors if the checks use torch, all else bytes.

        Args:
            path: as the notebook has it.
            dtype: of the entries of a table, such as ``int`` or ``str``.

        Raises:
            UnreadableFile: it is missing or not what its name says: the item fails, and students read which.
        """
        return read_file(lambda name: self.define(READER).read(name), path, dtype)


def results_of(student: DefinedNames) -> dict[Any, Any]:
    """Return what was found out about an answer so far, by what found it."""
    found: dict[Any, Any] = object.__getattribute__(student, "_results")
    return found


def namespace_of(make_module: Callable[[], types.ModuleType], names: Mapping[str, str]) -> DefinedNames:
    """Return the names of a module.

    Args:
        make_module: runs it.
        names: further name → name in the module.
    """
    module = make_module()

    def look_up(name: str) -> Any:
        try:
            return getattr(module, name)
        except AttributeError:
            if name in names and hasattr(module, names[name]):
                return getattr(module, names[name])
            raise MissingName(name) from None

    return DefinedNames(
        look_up,
        lambda: namespace_of(make_module, names),
        lambda source, replaced=(): define_module(source, replaced, vars(module)),
    )


def replace_names(student: DefinedNames, source: str, names: Sequence[str]) -> None:
    """Have names of a source take the place of the student's, where the student's code is."""
    object.__getattribute__(student, "_define")(source, tuple(names))
