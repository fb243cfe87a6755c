"""Operations on a student's model, each run next to it in one step; see `Objects.run_beside`.

All functions may run in the student's sandbox: they take and return only plain data, tensors and modules.
Models compute in float64, so that effects exceed rounding errors by a factor of a million.
"""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from autograder.checking.objects import LateModule, call_by_name

torch: Any = LateModule("torch")
Tensor = Any
Module = Any


@contextlib.contextmanager
def _use_dtype(dtype: str) -> Iterator[None]:
    """Use a floating type by default, and suppress warnings."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, dtype))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        torch.set_default_dtype(before)


def make_model(kind: Any, sizes: Sequence[Any], options: Mapping[str, Any]) -> Module:
    """Make a model and move each of its weights a little.

    A table that is initialised to zero, or a norm to one, would hide the modules that read it.

    Args:
        kind: the class, or an object of it.
        sizes: its arguments.
        options: ``dtype``, ``seed``, ``train``, ``noise`` (standard deviation), ``scale`` of the weights.
    """
    dtype, seed = options.get("dtype", "float64"), options.get("seed", 0)
    with _use_dtype(dtype):
        _set_seed(seed)
        model: Module = (kind if isinstance(kind, type) else type(kind))(*sizes)
        model.train(bool(options.get("train", False)))
        move_weights(model, options.get("noise", 0.2), options.get("scale", 1.0), seed)
    return model


def _set_seed(seed: int) -> None:
    torch.default_generator.manual_seed(seed)  # torch.manual_seed looks for devices each time


def move_weights(model: Module, noise: float, scale: float, seed: int) -> None:
    """Add noise to every weight, then multiply matrices and tables; norms and biases keep their size."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in model.requires_grad_().parameters():
            drawn = torch.randn(weight.shape, generator=generator, dtype=weight.dtype)
            weight.add_(drawn, alpha=noise)
            if weight.ndim > 1:
                weight.mul_(scale)


def run_model(model: Module, inputs: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """Return the output of a forward pass.

    In evaluation mode dropout is disabled, even if the student's code applies it there: that is a separate
    property, and would hide all others. ``drops=False``: disabled in training mode, too.

    Args:
        model: of the student.
        inputs: its arguments; the first is (texts, length), of words.
        options: ``dtype``; ``seed`` of dropout; ``inner``: 0 for the output, n for the output of the n-th
            last module that has a row for each word; ``raises``: the pass may raise after that module.

    Returns:
        The model's result; None if ``inner`` is set and no module has such an output.
    """
    with _use_dtype(options.get("dtype", "float64")):
        output = _run_forward(model, [_copy_tensor(value) for value in inputs], options)
    return output.detach().clone() if isinstance(output, torch.Tensor) else output


def run_each(
    model: Module,
    inputs: Sequence[Tensor],
    calls: Sequence[Sequence[int]],
    weights: Tensor | None,
    options: Mapping[str, Any],
) -> list[Any]:
    """Return the outputs of forward passes one after another, until one raises an exception.

    Args:
        model: of the student.
        inputs: of all passes; each pass gets copies.
        calls: for each pass its seed, and the indices of its inputs.
        weights: all weights of these passes, in one vector; None for those that the model has.
        options: as for `run_model`.

    Returns:
        The outputs of at least one pass.

    Raises:
        Exception: whatever the first pass raises.
    """
    before = None if weights is None else get_weights(model)
    outputs: list[Any] = []
    try:
        if weights is not None:
            set_weights(model, weights)
        for seed, *indices in calls:
            try:
                output = run_model(model, [inputs[index] for index in indices], {**options, "seed": seed})
            except Exception:
                if not outputs:
                    raise
                break
            outputs.append(output)
    finally:
        if before is not None:
            set_weights(model, before)
    return outputs


def _copy_tensor(value: Any) -> Any:
    """Return a copy of a tensor, which the student's code may change; return anything else unchanged."""
    return value.clone() if isinstance(value, torch.Tensor) else value


def _run_forward(model: Module, inputs: Sequence[Any], options: Mapping[str, Any]) -> Any:
    _set_seed(options.get("seed", 1))
    with contextlib.nullcontext() if options.get("drops", model.training) else _disable_dropout():
        if not options.get("inner"):
            return model(*inputs)
        outputs: list[Any] = []
        # A global hook sees the output of every module, whatever its name in the student's class.
        hook = torch.nn.modules.module.register_module_forward_hook(
            lambda _, __, output: outputs.append(output)
        )
        try:
            model(*inputs)
            del outputs[-1]  # the model's own
        except Exception:
            if not options.get("raises"):
                raise
        finally:
            hook.remove()
    usable = [output for output in outputs if _has_rows(output, inputs[0].shape)]
    return usable[-options["inner"]] if len(usable) >= options["inner"] else None


def _has_rows(output: Any, size: Any) -> bool:
    return (
        isinstance(output, torch.Tensor)
        and output.ndim == 3
        and output.shape[:2] == size
        and output.is_floating_point()
    )


@contextlib.contextmanager
def _disable_dropout() -> Iterator[None]:
    """Make dropout return its input."""

    def keep(input: Tensor, *_: Any, **__: Any) -> Tensor:  # noqa: A002 - torch's name
        return input

    # Patch the modules themselves: the student's code does not use the proxies imported above.
    places = [(sys.modules[name], "dropout") for name in ("torch.nn.functional", "torch")]
    before = [getattr(*place) for place in places]
    try:
        for module, name in places:
            setattr(module, name, keep)
        yield
    finally:
        for (module, name), function in zip(places, before, strict=True):
            setattr(module, name, function)


def find_slopes(model: Module, inputs: Sequence[Any], options: Mapping[str, Any]) -> Tensor:
    """Return the derivative of the output's sum of squares by every weight, in one vector.

    It is exactly 0 for a weight without influence.

    Args:
        model: of the student.
        inputs: as for `run_model`.
        options: as for `run_model`; ``features``: only the first so many; ``texts``: only the first so many.
    """
    with _use_dtype(options.get("dtype", "float64")):
        output = _run_forward(model, inputs, options)
        output = output[: options.get("texts"), :, : options.get("features")]
        weights = list(model.parameters())
        slopes = torch.autograd.grad(
            output.square().sum(), weights, allow_unused=True, materialize_grads=True
        )
    return torch.cat([slope.flatten() for slope in slopes])


def find_used_weights(model: Module, inputs: Sequence[Any], options: Mapping[str, Any]) -> Tensor:
    """Return a mask of the weights that influence the output."""
    used: Tensor = find_slopes(model, inputs, options) != 0
    return used


def find_idle_weights(model: Module, inputs: Sequence[Any], options: Mapping[str, Any]) -> Tensor:
    """Return a mask of the weights that do not influence the output, whatever the other weights are.

    For example the rows of a table of words that are not in the inputs, whatever the name of the table.
    """
    weights = get_weights(model)
    idle = ~find_used_weights(model, inputs, options)
    for seed in (1, 2):  # a feature of a hidden layer may sleep by chance
        move_weights(model, 1.0, 1.0, seed)
        idle &= ~find_used_weights(model, inputs, options)
        set_weights(model, weights)
    return idle


def get_weights(model: Module) -> Tensor:
    """Return all weights in one vector."""
    return torch.nn.utils.parameters_to_vector(model.parameters()).detach().clone()


def set_weights(model: Module, weights: Tensor) -> None:
    """Copy all weights, in one vector, into a model."""
    torch.nn.utils.vector_to_parameters(weights.clone(), model.parameters())


def count_weights(model: Module, buffers: bool) -> int:  # noqa: FBT001 - is sent as it is
    """Return the number of weights of a model, or of all numbers in its state with buffers."""
    if buffers:
        return sum(weight.numel() for weight in model.state_dict().values())
    return sum(weight.numel() for weight in model.parameters())


def make_models(kind: Any, sizes: Sequence[Mapping[str, Any]]) -> list[list[Any]]:
    """Make models in evaluation mode; return each with a copy of its state.

    Args:
        kind: the class.
        sizes: arguments of each model, by name; see `call_by_name`.
    """
    models_made = []
    for arguments in sizes:
        model = call_by_name(kind, arguments, 0).eval()
        models_made.append([model, {name: weight.clone() for name, weight in model.state_dict().items()}])
    return models_made


def call_all(inputs: Sequence[Tensor], calls: Sequence[tuple[Any, Mapping[str, int]]]) -> list[Any]:
    """Call functions by name one after another, without gradients, until one raises an exception.

    Args:
        inputs: of all calls; each call gets copies.
        calls: a function, and for each argument the index of an input.

    Returns:
        The results of at least one call.

    Raises:
        Exception: whatever the first call raises.
    """
    outputs: list[Any] = []
    for function, named in calls:
        copies = {index: inputs[index].clone() for index in named.values()}
        try:
            with torch.no_grad():
                output = call_by_name(function, {name: copies[index] for name, index in named.items()}, 0)
        except Exception:
            if not outputs:
                raise
            break
        outputs.append(output)
    return outputs


def list_weights(model: Module) -> list[list[Any]]:
    """Return name and shape of every weight, in the order of the vector."""
    return [[name, list(weight.shape)] for name, weight in model.named_parameters()]


def list_learning(model: Module) -> list[str]:
    """Return the names of the weights that have a gradient other than zero."""
    weights = model.named_parameters()
    return [name for name, weight in weights if weight.grad is not None and weight.grad.any()]
