"""Loading of checks, solutions and mutants from sources: for debugging, and in the judge's sandbox."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from autograder.checking.check_parser import PACKAGE
from autograder.checking.files import READER, read_file
from autograder.checking.outcomes import MissingName


class SourceModules(importlib.abc.MetaPathFinder, importlib.abc.ExecutionLoader):
    """Imports modules of the reference from their sources instead of files."""

    def __init__(self, modules: Mapping[str, str], root: str = "") -> None:
        """Import nothing yet.

        Args:
            modules: dotted name → source.
            root: the folder that contains them all, for tracebacks and debuggers.
        """
        self._modules = modules
        self._root = f"{root}/" if root else ""
        self._packages = {
            ".".join(name.split(".")[:depth]) for name in modules for depth in range(1, name.count(".") + 1)
        }
        self._before: dict[str, types.ModuleType] = {}

    def install(self) -> None:
        """Import from here first, and forget earlier imports of the reference."""
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
        """Return whether a module has submodules."""
        return fullname in self._packages

    def get_source(self, fullname: str) -> str:
        """Return the source of a module; empty for a folder without one."""
        return self._modules.get(fullname, "")

    def get_filename(self, fullname: str) -> str:
        """Return the path of a module, for tracebacks and debuggers."""
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
    """Run a source as a separate module.

    Args:
        source: Python.
        file: its name in tracebacks.
        name: of the module.
        package: the package of its relative imports.

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
"""Name of a module that is defined in the student's sandbox: it reveals nothing about the contents."""


def define_module(source: str, names: Sequence[str] = (), within: Any = None) -> types.ModuleType:
    """Run a source as a module that nothing can import, and return it.

    Args:
        source: Python.
        names: names in it that replace those of another module.
        within: the dictionary of that module.

    Raises:
        Exception: whatever the source raises.
    """
    module = types.ModuleType(NEUTRAL_NAME)
    # It is not added to sys.modules, so that nothing can import it.
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
        """Store the look-ups.

        Args:
            look_up: returns the value of a name; raises `MissingName`.
            make_again: returns the same names in a fresh process.
            define: runs a source in the process of the names, and returns its module; with names as a second
                argument, these replace the student's.
        """
        # Bypass attribute access of this class, because every other attribute is a name of the notebook.
        object.__setattr__(self, "_define", define)
        object.__setattr__(self, "_look_up", look_up)
        object.__setattr__(self, "_make_again", make_again)
        object.__setattr__(self, "_results", {})

    def __getattr__(self, name: str) -> Any:
        return object.__getattribute__(self, "_look_up")(name)

    def again(self) -> DefinedNames:
        """Return the names of a fresh process in which the same cells ran.

        Code there cannot know earlier calls: use it to compare two calls that must not share memory.
        """
        fresh_names: DefinedNames = object.__getattribute__(self, "_make_again")()
        return fresh_names

    def define(self, source: str) -> Any:
        """Run a source in the student's sandbox, and return its names as attributes.

        Use it to pass definitions to the student's code, such as a class to test. That code can inspect them,
        so neither the source nor a name in it may reveal the expected result.
        """
        return object.__getattribute__(self, "_define")(source)

    def read_file(self, path: str, dtype: type = float) -> Any:
        """Return the contents of a file next to the notebook, submitted or written by the notebook.

        A ``.npy`` file, and a table of numbers in a ``.csv`` (with commas) or ``.txt`` (with spaces), is an
        array; a first line without any number is a header. ``.json`` is plain data, ``.safetensors`` a
        dictionary of arrays, of tensors if the checks use torch; anything else is bytes.

        Args:
            path: as in the notebook.
            dtype: of the entries of a table, such as ``int`` or ``str``.

        Raises:
            UnreadableFile: it is missing or not what its name says: the item fails, and students read which
                file.
        """
        return read_file(lambda name: self.define(READER).read(name), path, dtype)


def get_results(student: DefinedNames) -> dict[Any, Any]:
    """Return the cached results about an answer, by the function that computed them."""
    cached: dict[Any, Any] = object.__getattribute__(student, "_results")
    return cached


def make_namespace(make_module: Callable[[], types.ModuleType], names: Mapping[str, str]) -> DefinedNames:
    """Return the names of a module.

    Args:
        make_module: runs it.
        names: further name → name in the module.
    """
    module = make_module()

    def get_name(name: str) -> Any:
        try:
            return getattr(module, name)
        except AttributeError:
            if name in names and hasattr(module, names[name]):
                return getattr(module, names[name])
            raise MissingName(name) from None

    return DefinedNames(
        get_name,
        lambda: make_namespace(make_module, names),
        lambda source, replaced=(): define_module(source, replaced, vars(module)),
    )


def replace_names(student: DefinedNames, source: str, names: Sequence[str]) -> None:
    """Replace the student's names by those of a source, in the student's sandbox."""
    object.__getattribute__(student, "_define")(source, tuple(names))
