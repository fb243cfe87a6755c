"""Makes forbidden functions of torch fail. Runs in the box.

It is created before any student code runs, from torch's own parts as they are then. Forbidden operators fail
in torch's dispatcher, which every way to an operator passes: another thread, ``torch.ops``, ``torch._C``, a
function kept in a variable.

A box in which something was forbidden cannot be used for anything else.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
import types
import warnings
from collections.abc import Callable, Sequence
from typing import Any

_KEYS = (
    "CPU",
    "AutogradCPU",
    "NestedTensorCPU",
    "AutogradNestedTensor",
    "FuncTorchBatched",
    "FuncTorchBatchedDecomposition",
    "CompositeImplicitAutograd",
)
"""Dispatch keys under which an operator may have a kernel that runs here."""
_REFUSAL = "forbidden here"
_function = types.FunctionType  # saved before student code runs, like the next two
_own_id, _send = os.getpid, os.kill


class FunctionBlocker:
    """Makes forbidden functions fail in the box of a check that forbids them."""

    def __init__(self) -> None:
        self._kept: list[Any] = []
        self._forbidden = 0
        self._torch: Any = None
        if "torch" in sys.modules:
            self._prepare_torch()

    def forbid_functions(self, patterns: Sequence[str]) -> int:
        """Make operators and functions of torch fail from now on if their names contain one of these.

        Returns:
            The number of them.
        """
        self._prepare_torch()
        if self._forbidden:  # by an earlier call in the same box
            return self._forbidden
        _end_other_processes()
        sought = re.compile("|".join(rf"(?<![A-Za-z]){re.escape(pattern)}(?![a-z])" for pattern in patterns))
        self._forbidden = self._fail_operators(sought) + _fail_functions(patterns)
        return self._forbidden

    def _prepare_torch(self) -> None:
        if self._torch is not None:
            return
        import torch

        native = vars(torch)["_C"]
        self._torch = torch
        self._library, self._operators = (
            getattr(native, name) for name in ("_dispatch_library", "_dispatch_get_all_op_names")
        )

    def _fail_operators(self, sought: re.Pattern[str]) -> int:
        names = [name for name in self._operators() if name.startswith("aten::") and sought.search(name)]
        if not names:
            return 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about replaced kernels, which is intended
            for key in _KEYS:
                library = self._library("IMPL", "aten", key, "", 0)
                self._kept.append(library)
                for name in names:
                    try:
                        kernel = self._build_failing_kernel(name)
                        library.impl(name.removeprefix("aten::"), key, kernel, False)  # noqa: FBT003
                    except RuntimeError:
                        continue  # an operator that cannot have a kernel there
        return len(names)

    def _build_failing_kernel(self, name: str) -> Callable[..., Any]:
        def fail(*_: Any, **__: Any) -> Any:
            raise RuntimeError(f"{name} is forbidden here")

        return fail


def _end_other_processes() -> None:
    """End processes that the notebook's cells forked: forbidden functions would still work there.

    Processes that are forked later have them fail as well. Without its own namespace a box cannot stop
    other processes, and the same call would end those of others.
    """
    if _own_id() == 1:
        with contextlib.suppress(ProcessLookupError):
            _send(-1, signal.SIGKILL)


def _refuse_call(*_: Any, **__: Any) -> Any:
    raise RuntimeError("forbidden here")


def _fail_functions(names: Sequence[str]) -> int:
    """Make functions written in Python fail wherever they are known: their code objects are exchanged."""
    count = 0
    for module_name, module in list(sys.modules.items()):
        if not module_name.startswith("torch"):
            continue
        for name in names:
            function = getattr(module, "__dict__", {}).get(name)
            if isinstance(function, type):
                function = vars(function).get("forward")
            if type(function) is _function:
                said = {_REFUSAL: f"{name} is forbidden here"}
                code = _refuse_call.__code__
                code = code.replace(co_consts=tuple(said.get(part, part) for part in code.co_consts))
                try:
                    function.__code__ = code
                except ValueError:
                    continue  # a closure: its code has free variables
                count += 1
    return count
