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
    fields: dict[str, Any] = vars(value)
    # Hooks would not be called when the other side uses its copy.
    return not any(fields.get(name) for name in _HOOKS) and not any(name in fields for name in _NOT_COPIED)


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
        vars(module).get(name) for module in value.modules() for name in _HOOKS
    )


def describe_optimizer(value: Any, mark: Callable[[Any], Any]) -> list[Any]:
    """Return the name of its class, and its groups with the state of each parameter."""
    hypers, states = read_state(value)
    groups = [[mark(item) for item in group["params"]] for group in value.param_groups]
    return [type(value).__name__, groups, hypers, [None if item is None else mark(item) for item in states]]


def build_optimizer(description: list[Any]) -> Any:
    """Build the optimizer of these parts."""
    name, groups, hypers, states = description
    torch = sys.modules["torch"]
    kind = getattr(torch.optim, name)
    if not issubclass(kind, torch.optim.Optimizer):
        raise TypeError(f"{name!r} is no optimizer")
    optimizer = kind([{**hyper, "params": params} for params, hyper in zip(groups, hypers, strict=True)])
    set_optimizer(optimizer, [hypers, states])
    return optimizer


def set_optimizer(optimizer: Any, new_state: list[Any]) -> None:
    """Put an optimizer into a state, as `read_state` returns it."""
    hypers, states = new_state
    parameters = [item for group in optimizer.param_groups for item in group["params"]]
    for group, hyper in zip(optimizer.param_groups, hypers, strict=True):
        group.update(hyper)
    for parameter, item in zip(parameters, states, strict=True):
        if item is not None:
            optimizer.state[parameter] = item


def describe_module(value: Any, mark: Callable[[Any], Any]) -> list[Any]:
    """Return module and name of its class, its plain attributes, parameters, buffers and children.

    Args:
        value: the module.
        mark: returns the value that is sent instead of a tensor.
    """
    # The attributes of an empty module exist on the other side as well.
    base = vars(sys.modules["torch"].nn.Module())
    plain = [[name, item] for name, item in vars(value).items() if name not in base]
    children = [[name, item] for name, item in value._modules.items()]  # noqa: SLF001
    parameters = [[name, mark(item)] for name, item in value._parameters.items()]  # noqa: SLF001
    buffers = [
        [name, mark(item), name not in value._non_persistent_buffers_set]  # noqa: SLF001
        for name, item in value._buffers.items()  # noqa: SLF001
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


def build_module(description: list[Any]) -> Any:
    """Build the module of these parts."""
    torch = sys.modules["torch"]
    module, name, training, plain, parameters, buffers, children = description
    kind = getattr(importlib.import_module(module), name)
    # Not by the constructor, which needs arguments and would draw new parameters.
    layer = kind.__new__(kind)
    torch.nn.Module.__init__(layer)
    vars(layer).update(plain, training=training)
    for title, item in parameters:
        layer.register_parameter(title, None if item is None else _to_parameter(torch, item))
    for title, item, persistent in buffers:
        layer.register_buffer(title, item, persistent=persistent)
    for title, item in children:
        layer.add_module(title, item)
    return layer


def read_state(value: Any) -> list[Any]:
    """Return the part that changes while it is used: modes, and tensors with their gradients.

    For an optimizer: the settings of its groups, and the state of each parameter.
    """
    if is_optimizer(value):
        hypers = [
            {name: item for name, item in group.items() if name != "params"} for group in value.param_groups
        ]
        return [hypers, [value.state.get(item) for group in value.param_groups for item in group["params"]]]
    return [[item.training for item in value.modules()], [*value.parameters(), *value.buffers()]]


def set_modes(value: Any, flags: list[bool]) -> None:
    """Set whether it and each of its children are in training mode."""
    for module, training in zip(value.modules(), flags, strict=True):
        module.training = training


def _to_parameter(torch: Any, value: Any) -> Any:
    if type(value) is torch.nn.Parameter:
        return value
    parameter = torch.nn.Parameter(value.detach(), requires_grad=value.requires_grad)
    parameter.grad = value.grad
    return parameter
