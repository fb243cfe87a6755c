"""Modules and optimizers of torch that a test makes and passes to the student's code.

Runs in boxes, on both sides.
Only a test's side takes them apart: those of a student's box stay there, behind a handle.
"""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Callable
from typing import Any

_OWN = "torch.nn.modules."
_NOT_COPIED = ("_flat_weights", "parametrizations")
"""Attributes of modules that keep parameters in more than one place."""
_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def is_layer(value: Any) -> bool:
    """Return whether it is a module of exactly a class of torch's, without hooks."""
    kind = type(value)
    if "torch" not in sys.modules or not str(kind.__module__).startswith(_OWN):
        return False
    own: dict[str, Any] = vars(value)
    # Hooks would not be called when the other side uses its copy.
    return not any(own.get(name) for name in _HOOKS) and not any(name in own for name in _NOT_COPIED)


def is_optimizer(value: Any) -> bool:
    """Return whether it is an optimizer of exactly a class of torch's."""
    torch = sys.modules.get("torch")
    return torch is not None and type(value) is getattr(torch.optim, type(value).__name__, None)


def is_copied(value: Any) -> bool:
    """Return whether both sides get a copy of it, with the same state."""
    return is_layer(value) or is_optimizer(value)


def is_hooked(value: Any) -> bool:
    """Return whether it has hooks, which are not called when the other side's copy is used."""
    torch = sys.modules.get("torch")
    if torch is None:
        return False
    if isinstance(value, torch.Tensor):
        return bool(value._backward_hooks)  # noqa: SLF001
    return isinstance(value, torch.nn.Module) and any(
        vars(one).get(name) for one in value.modules() for name in _HOOKS
    )


def optimizer_parts(value: Any, mark: Callable[[Any], Any]) -> list[Any]:
    """Return the name of its class, and its groups with the state of each parameter."""
    hypers, states = state(value)
    groups = [[mark(one) for one in group["params"]] for group in value.param_groups]
    return [type(value).__name__, groups, hypers, [None if one is None else mark(one) for one in states]]


def built_optimizer(told: list[Any]) -> Any:
    """Build the optimizer of these parts."""
    name, groups, hypers, states = told
    torch = sys.modules["torch"]
    kind = getattr(torch.optim, name)
    if not issubclass(kind, torch.optim.Optimizer):
        raise TypeError(f"{name!r} is no optimizer")
    made = kind([{**hyper, "params": params} for params, hyper in zip(groups, hypers, strict=True)])
    set_optimizer(made, [hypers, states])
    return made


def set_optimizer(own: Any, told: list[Any]) -> None:
    """Put an optimizer into a state, as `read_state` returns it."""
    hypers, states = told
    parameters = [one for group in own.param_groups for one in group["params"]]
    for group, hyper in zip(own.param_groups, hypers, strict=True):
        group.update(hyper)
    for parameter, one in zip(parameters, states, strict=True):
        if one is not None:
            own.state[parameter] = one


def parts(value: Any, mark: Callable[[Any], Any]) -> list[Any]:
    """Return module and name of its class, its plain attributes, parameters, buffers and children.

    Args:
        value: the module.
        mark: returns the value that is sent instead of a tensor.
    """
    # The attributes of an empty module exist on the other side as well.
    base = vars(sys.modules["torch"].nn.Module())
    plain = [[name, one] for name, one in vars(value).items() if name not in base]
    children = [[name, one] for name, one in value._modules.items()]  # noqa: SLF001
    parameters = [[name, mark(one)] for name, one in value._parameters.items()]  # noqa: SLF001
    buffers = [
        [name, mark(one), name not in value._non_persistent_buffers_set]  # noqa: SLF001
        for name, one in value._buffers.items()  # noqa: SLF001
    ]
    kind = type(value)
    return [kind.__module__, kind.__qualname__, value.training, plain, parameters, buffers, children]


def is_of_tensors(value: Any) -> bool:
    """Return whether it is the result of ``parameters()`` of a module."""
    torch = sys.modules.get("torch")
    return (
        torch is not None
        and type(value) is types.GeneratorType
        and value.gi_code is torch.nn.Module.parameters.__code__
    )


def built(told: list[Any]) -> Any:
    """Build the module of these parts."""
    torch = sys.modules["torch"]
    module, name, training, plain, parameters, buffers, children = told
    kind = getattr(importlib.import_module(module), name)
    # Not by the constructor, which needs arguments and would draw new parameters.
    made = kind.__new__(kind)
    torch.nn.Module.__init__(made)
    vars(made).update(plain, training=training)
    for title, one in parameters:
        made.register_parameter(title, None if one is None else _parameter(torch, one))
    for title, one, persistent in buffers:
        made.register_buffer(title, one, persistent=persistent)
    for title, one in children:
        made.add_module(title, one)
    return made


def state(value: Any) -> list[Any]:
    """Return the part that changes while it is used: modes, and tensors with their gradients.

    For an optimizer: the settings of its groups, and the state of each parameter.
    """
    if is_optimizer(value):
        hypers = [
            {name: one for name, one in group.items() if name != "params"} for group in value.param_groups
        ]
        return [hypers, [value.state.get(one) for group in value.param_groups for one in group["params"]]]
    return [[one.training for one in value.modules()], [*value.parameters(), *value.buffers()]]


def modes(value: Any, told: list[bool]) -> None:
    """Set whether it and each of its children are in training mode."""
    for one, training in zip(value.modules(), told, strict=True):
        one.training = training


def _parameter(torch: Any, value: Any) -> Any:
    if type(value) is torch.nn.Parameter:
        return value
    made = torch.nn.Parameter(value.detach(), requires_grad=value.requires_grad)
    made.grad = value.grad
    return made
