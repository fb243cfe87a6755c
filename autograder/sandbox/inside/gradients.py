"""Gradients of results of the student's code, computed in the student's box. Runs in the judge's box.

A tensor that came from there is attached to the test's graph by a function with a backward pass that requests
the rest. Tensors that the test itself has computed and passed on get their gradients back that way; those of
leaves it has passed on, and of parameters, arrive as changes there, as after ``backward()`` in one process.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from autograder.sandbox.inside.proxies import CannotJudge, is_instance

_OF_GRAD = (
    "retain_graph",
    "create_graph",
    "only_inputs",
    "allow_unused",
    "is_grads_batched",
    "materialize_grads",
)
"""Further parameters of ``torch.autograd.grad``, in order."""


class GradientBridge:
    """The connection to the gradients of one student's box."""

    def __init__(self, ask: Callable[..., Any]) -> None:
        """Start without gradients.

        Args:
            ask: carries out an operation in the student's box.
        """
        self._ask = ask
        self._followed: dict[str, Any] = {}
        self._wanted: tuple[Any, ...] | None = None
        self._found: list[Any] = []
        self._known = False

    def begin_test(self) -> None:
        """Prepare for another test."""
        self._followed = {}

    def follow_tensor(self, tensor: Any) -> str:
        """Return the key of a tensor that a test has computed, to which gradients will come back."""
        existing = next((key for key, candidate in self._followed.items() if candidate is tensor), None)
        key = existing or f"computed-{len(self._followed)}"
        self._followed[key] = tensor
        return key

    def build_tensor(self, value: Any, handle: Any, keys: Iterable[str]) -> Any:
        """Build a tensor that depends on a computation of the student's.

        Args:
            value: its numbers.
            handle: of the tensor in the student's box.
            keys: of tensors that the test has computed and passed on, on which it depends.
        """
        followed = {key: self._followed[key] for key in keys}
        torch, gradients = sys.modules["torch"], self

        class TakenBack(torch.autograd.Function):  # type: ignore[misc,name-defined]
            @staticmethod
            def forward(ctx: Any, tensor: Any, *inputs: Any) -> Any:  # noqa: ARG004
                return tensor.clone()

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:  # noqa: ARG004
                if torch.is_grad_enabled():
                    raise CannotJudge(
                        "takes the gradient of a gradient that the student's code has a part in"
                    )
                return gradients._fetch_gradients(handle, grad, tuple(followed))

        result = TakenBack.apply(value.detach().requires_grad_(), *followed.values())
        result.student = handle, result._version  # noqa: SLF001 - see `judge.JudgeEncoder`
        return result

    def _fetch_gradients(self, handle: Any, grad: Any, keys: tuple[str, ...]) -> tuple[Any, ...]:
        # In `backward()` the gradients of leaves arrive as changes to them.
        if self._wanted is None:
            return None, *self._ask("backward", handle, grad, keys)
        of_keys, of_wanted = self._ask("gradients", handle, grad, keys, self._wanted)
        self._found = [
            _add_gradients(gradient, more) for gradient, more in zip(self._found, of_wanted, strict=True)
        ]
        return grad, *of_keys

    def patch_torch(self) -> None:
        """Patch torch's functions, if it is loaded, in a process that only runs tests."""
        torch = sys.modules.get("torch")
        if torch is None or self._known:
            return
        self._known = True
        torch.autograd.grad = functools.partial(self._compute_grad, torch.autograd.grad)
        torch.autograd.backward = functools.partial(self._run_backward, torch.autograd.backward)

    def _compute_grad(
        self,
        usual: Callable[..., Any],
        outputs: Any,
        inputs: Any,
        grad_outputs: Any = None,
        *args: Any,
        **kw: Any,
    ) -> Any:
        """Compute as ``torch.autograd.grad``, through the student's box."""
        options = dict(zip(_OF_GRAD, args, strict=False)) | kw
        ends = [*self._find_ends(outputs)]
        if not ends:
            return usual(outputs, inputs, grad_outputs, **options)
        if options.get("create_graph") or options.get("is_grads_batched"):
            raise CannotJudge("takes a gradient of the student's computation that is more than numbers")
        torch = sys.modules["torch"]
        inputs = (inputs,) if isinstance(inputs, torch.Tensor) else tuple(inputs)
        self._wanted, self._found = inputs, [None] * len(inputs)
        try:
            # With the ends as inputs, torch runs the backward passes that ask the student's box.
            direct = usual(outputs, (*inputs, *ends), grad_outputs, retain_graph=True, allow_unused=True)
            results = [
                _add_gradients(gradient, more) for gradient, more in zip(direct, self._found, strict=False)
            ]
        finally:
            self._wanted = None
        if options.get("materialize_grads"):
            results = [
                torch.zeros_like(tensor) if gradient is None else gradient
                for gradient, tensor in zip(results, inputs, strict=True)
            ]
        elif not options.get("allow_unused") and any(gradient is None for gradient in results):
            raise RuntimeError(
                "One of the differentiated Tensors appears to not have been used in the graph. "
                "Set allow_unused=True if this is the desired behavior."
            )
        return tuple(results)

    def _run_backward(self, usual: Callable[..., Any], tensors: Any, *args: Any, **kwargs: Any) -> None:
        """Compute as ``torch.autograd.backward``; the student's part requires that all are wanted."""
        if kwargs.get("inputs") is not None and any(self._find_ends(tensors)):
            raise CannotJudge("takes gradients of some of what the student's code has used")
        usual(tensors, *args, **kwargs)

    def _find_ends(self, outputs: Any) -> Iterator[Any]:
        """Find the leaves of the graph that represent results of the student's box."""
        torch = sys.modules["torch"]
        waiting = [outputs] if isinstance(outputs, torch.Tensor) else [*outputs]
        nodes, seen = [getattr(item, "grad_fn", None) for item in waiting], set()
        while nodes:
            node = nodes.pop()
            if node is None or node in seen:
                continue
            seen.add(node)
            further = [item for item, _ in node.next_functions]
            # torch derives this name from that of the class above.
            if type(node).__name__ == "TakenBackBackward":
                yield further[0].variable
            nodes += further


def _add_gradients(first: Any, second: Any) -> Any:
    if first is None or second is None:
        return first if second is None else second
    return first + second


def is_part_of_a_graph(value: Any) -> bool:
    """Return whether it is a tensor computed from others with gradients, and not by the student's code."""
    torch = sys.modules.get("torch")
    if torch is None or not is_instance(value, torch.Tensor) or getattr(value, "student", None):
        return False
    return bool(value.requires_grad and not value.is_leaf)


def is_transformed(value: Any) -> bool:
    """Return whether it is a tensor within ``torch.func``, which no other process can have."""
    torch = sys.modules.get("torch")
    if torch is None or not is_instance(value, torch.Tensor):
        return False
    return bool(torch._C._functorch.is_functorch_wrapped_tensor(value))  # noqa: SLF001 - no public way


def compute_student_gradients(
    tensor: Any, grad: Any, leaves: Mapping[str, Any], wanted: tuple[Any, ...]
) -> Any:
    """Compute gradients in the student's box: by key, and for tensors that the test names.

    Args:
        tensor: of the student's.
        grad: gradient of the test's result with respect to it.
        leaves: key → the stand-in for a tensor that the test has computed.
        wanted: tensors of the test's or the student's.
    """
    torch = sys.modules["torch"]
    inputs = [*leaves.values(), *wanted]
    if not inputs:
        return [], []
    gradients = torch.autograd.grad(
        build_weighted_sum(tensor, grad), inputs, retain_graph=True, allow_unused=True
    )
    return list(gradients[: len(leaves)]), list(gradients[len(leaves) :])


def build_weighted_sum(tensor: Any, grad: Any) -> Any:
    """Build a number with gradient 1 that gives a tensor this gradient.

    If it gets a gradient, torch spends half a second on imports that a sum does not need.
    """
    with sys.modules["torch"].enable_grad():
        return (tensor * grad.conj()).sum().real
