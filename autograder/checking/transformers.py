"""Properties of transformers, for checks of planted faults and others; see docs/repair.md.

Each function is called in a check. Outputs are (texts, places, features): a row for each word of each text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from autograder.checking import models
from autograder.checking.loader import get_results
from autograder.checking.objects import LateModule, get_objects
from autograder.checking.outcomes import Unclear, Wrong

torch: Any = LateModule("torch")
Tensor = Any

_MOVED = {"torch.float32": 2e-5, "torch.float64": 1e-9}
"""Differences from here on are no rounding errors, relative to the largest number of both outputs."""


class StudentModel:
    """A model of the student's, by default in evaluation mode and with float64."""

    def __init__(self, kind: Any, sizes: Sequence[Any], **options: Any) -> None:
        """Make the model and move its weights a little, so that none is 0 or 1 by chance.

        Args:
            kind: the student's class.
            sizes: its arguments.
            options: ``train=True``, ``seed``, ``noise`` of the weights, ``scale`` of matrices, ``dtype``,
                and ``inner=1``: outputs are those of the last module inside (2: of the one before).
        """
        self.handle = get_objects().run_beside(models.make_model, kind, list(sizes), options)
        self._options = {
            name: options[name] for name in ("dtype", "inner", "raises", "drops") if name in options
        }

    def run(self, *inputs: Any, **options: Any) -> Any:
        """Return the output of a forward pass, as the student's code returns it."""
        return get_objects().run_beside(models.run_model, self.handle, list(inputs), self._options | options)

    def run_each(
        self,
        calls: Sequence[Sequence[Tensor]],
        *,
        seeds: Sequence[int] | None = None,
        weights: Tensor | None = None,
    ) -> Iterator[Any]:
        """Run forward passes in few steps; yield their outputs, as the student's code returns them.

        An exception is raised when the output of the pass that raises it is requested.

        Args:
            calls: the inputs of each pass.
            seeds: of each pass; 1 if they are not given.
            weights: all weights of these passes, in one vector; the model keeps its own.
        """
        seeds = seeds or [1] * len(calls)
        done = 0
        while done < len(calls):
            inputs, positions = _share_inputs(calls[done : done + get_objects().most_together])
            numbered = [[seed, *indices] for seed, indices in zip(seeds[done:], positions, strict=False)]
            outputs = get_objects().run_beside(
                models.run_each, self.handle, inputs, numbered, weights, self._options
            )
            done += _check_outputs(outputs, positions)
            yield from outputs

    def find_slopes(self, *inputs: Any, **options: Any) -> Tensor:
        """Return the derivative of the output's sum of squares by every weight, in one vector."""
        slopes = fetch_tensor(
            get_objects().run_beside(models.find_slopes, self.handle, list(inputs), self._options | options)
        )
        _assert_finite(slopes)
        return slopes

    def find_used_weights(self, *inputs: Any, **options: Any) -> Tensor:
        """Return a mask of the weights that influence the output."""
        return self._find_weights(models.find_used_weights, inputs, options)

    def find_idle_weights(self, *inputs: Any, **options: Any) -> Tensor:
        """Return a mask of the weights that do not influence the output, whatever the others are."""
        return self._find_weights(models.find_idle_weights, inputs, options)

    def _find_weights(
        self, find: Callable[..., Any], inputs: Sequence[Any], options: Mapping[str, Any]
    ) -> Tensor:
        return fetch_tensor(
            get_objects().run_beside(find, self.handle, list(inputs), {**self._options, **options})
        )

    def get_weights(self) -> Tensor:
        """Return all weights in one vector."""
        return fetch_tensor(get_objects().run_beside(models.get_weights, self.handle))

    def set_weights(self, weights: Tensor) -> None:
        """Copy all weights, in one vector, into the model."""
        get_objects().run_beside(models.set_weights, self.handle, weights)

    def list_weights(self) -> list[list[Any]]:
        """Return name and shape of every weight, in the order of the vector."""
        return list_weights(self.handle)

    def count_weights(self, *, buffers: bool = False) -> int:
        """Return the number of weights, or of all numbers in the state with its buffers."""
        return int(get_objects().run_beside(models.count_weights, self.handle, buffers))


def list_weights(model: Any) -> list[list[Any]]:
    """Return name and shape of every weight of a model of the student's, or of another one."""
    weights: list[list[Any]] = get_objects().run_beside(models.list_weights, model)
    return weights


def list_learning(model: Any) -> list[str]:
    """Return the names of the weights of a model of the student's that have a gradient other than zero."""
    names: list[str] = get_objects().run_beside(models.list_learning, model)
    return names


def make_models(kind: Any, sizes: Sequence[Mapping[str, Any]]) -> list[list[Any]]:
    """Make several models of the student's in one step.

    Args:
        kind: the student's class.
        sizes: the arguments of each, by name; see `autograder.checking.call`.

    Returns:
        Each model in evaluation mode, with a copy of its state.
    """
    models_made: list[list[Any]] = get_objects().run_beside(models.make_models, kind, list(sizes))
    return models_made


def call_all(calls: Sequence[tuple[Any, Mapping[str, Tensor]]]) -> Iterator[Any]:
    """Call the student's functions or models in few steps, without gradients; yield their results.

    An exception is raised when the result of the call that raises it is requested. Calls get copies of their
    inputs.

    Args:
        calls: a function, and tensors by the names of its arguments; see `autograder.checking.call`.
    """
    done = 0
    while done < len(calls):
        batch = calls[done : done + get_objects().most_together]
        inputs, positions = _share_inputs([list(tensors.values()) for _, tensors in batch])
        named = [
            (function, dict(zip(tensors, indices, strict=True)))
            for (function, tensors), indices in zip(batch, positions, strict=True)
        ]
        outputs = get_objects().run_beside(models.call_all, inputs, named)
        done += _check_outputs(outputs, named)
        yield from outputs


def _share_inputs(calls: Sequence[Sequence[Tensor]]) -> tuple[list[Tensor], list[list[int]]]:
    """Return the inputs of several calls, each once, and their indices for each call."""
    inputs: dict[int, tuple[int, Tensor]] = {}
    for tensors in calls:
        for tensor in tensors:
            inputs.setdefault(id(tensor), (len(inputs), tensor))
    indices = [[inputs[id(tensor)][0] for tensor in tensors] for tensors in calls]
    return [tensor for _, tensor in inputs.values()], indices


def _check_outputs(outputs: Any, calls: Sequence[Any]) -> int:
    """Return how many calls were made: one that raises comes first in the next step, and raises there."""
    if type(outputs) is not list or not 0 < len(outputs) <= len(calls):  # the student's word
        raise Unclear("the calls brought no list of outputs")
    return len(outputs)


def fetch_tensor(value: Any) -> Tensor:
    """Return a value that must be a tensor.

    Raises:
        Unclear: it is something else.
    """
    if type(value) is not torch.Tensor:
        raise Unclear(f"a {get_objects().get_class_name(value)} instead of a tensor")
    return value.detach()


def _assert_finite(*numbers: Tensor) -> None:
    """Fail if there is NaN or an infinity, which every comparison would accept."""
    if not all(bool(some.isfinite().all()) for some in numbers):
        raise Wrong("there are numbers that are not finite")


def remember(student: Any, make: Callable[[], Any], key: Any) -> Any:
    """Return the cached result of a function about an answer; it is called once for each answer.

    Args:
        student: as passed to a check.
        make: computes the result.
        key: of the cache.
    """
    cached = get_results(student)
    if key not in cached:
        cached[key] = make()
    return cached[key]


def measure_change(first: Tensor, second: Tensor) -> Tensor:
    """Return the largest difference of two outputs for each place, relative if numbers exceed one.

    Args:
        first: (texts, places, features).
        second: of the same shape.

    Returns:
        (texts, places).

    Raises:
        Unclear: the shapes differ.
        Wrong: there are numbers that are not finite.
    """
    if first.shape != second.shape:
        raise Unclear(f"outputs of two shapes: {tuple(first.shape)} and {tuple(second.shape)}")
    _assert_finite(first, second)
    largest = max(1.0, float(first.abs().max()), float(second.abs().max()))
    return (first - second).abs().amax(-1) / largest


def find_moved(first: Tensor, second: Tensor) -> Tensor:
    """Return for each place whether two outputs differ by more than rounding: (texts, places)."""
    return measure_change(first, second) > _MOVED.get(str(first.dtype), 1e-9)


def change_one_place(tensor: Tensor, other: Tensor) -> Tensor:
    """Return a batch with the entry of another batch in one place of each text: place `b` of text `b`.

    Args:
        tensor: (places, places, …): as many texts as places.
        other: of the same shape.
    """
    changed = tensor.clone()
    places = torch.arange(len(tensor))
    changed[places, places] = other[places, places]
    return changed


def make_causal_mask(texts: int, length: int) -> Tensor:
    """Return a mask that hides later words: (texts, 1, length, length)."""
    return torch.ones(texts, 1, length, length, dtype=torch.bool).tril()


def show_only_to_itself(mask: Tensor, hidden: Tensor) -> Tensor:
    """Return a mask under which some words are seen by themselves alone.

    Args:
        mask: (texts, 1, length, length); true: seen.
        hidden: broadcastable to it; true along the keys that are hidden.
    """
    return mask & (~hidden | torch.eye(mask.shape[-1], dtype=torch.bool))


# ---------------------------------------------------------------- properties

Run = Callable[[Tensor], Tensor]
"""A forward pass with all inputs but one, such as ``lambda tokens: model.run(tokens, memory, mask)``."""


def find_effects(run: Run, batch: Tensor, other: Tensor) -> Tensor:
    """Return which places of the output move with each place of an input.

    Args:
        run: the forward pass.
        batch: (places, places, …): as many texts as places.
        other: of the same shape, with another entry everywhere.

    Returns:
        (place that is changed, place that moves); each place is changed in a separate text.
    """
    return find_moved(run(batch), run(change_one_place(batch, other)))


def assert_shown(effects: Tensor, shown: Tensor) -> None:
    """Fail unless each changed place moves exactly the places that the mask shows it to.

    Detects a missing mask, another mask, a mask along the wrong axis and an inverted one::

        effects = find_effects(lambda tokens: model.run(tokens, mask), tokens, others)
        assert_shown(effects, mask[places, 0, :, places])

    Args:
        effects: as `find_effects` returns them.
        shown: of the same shape; true if the place that moves sees the one that is changed. The effect of a
            place on itself is ignored.

    Raises:
        Wrong: names whether something is hidden or seen.
    """
    off_diagonal = ~torch.eye(len(effects), dtype=torch.bool)
    if (shown & ~effects & off_diagonal).any():
        raise Wrong("what the mask shows moves nothing")
    if (effects & ~shown & off_diagonal).any():
        raise Wrong("what the mask hides is seen")


def assert_causal(run: Run, tokens: Tensor, others: Tensor) -> None:
    """Fail if a word moves a place before its own.

    ::

        assert_causal(lambda tokens: model.run(tokens), tokens, others)

    Args:
        run: the forward pass.
        tokens: (places, places).
        others: (places, places), with another word everywhere.

    Raises:
        Wrong: a later word is seen.
    """
    if find_effects(run, tokens, others).tril(-1).any():
        raise Wrong("a later word is seen")


def assert_texts_independent(run: Callable[..., Tensor], *inputs: Tensor) -> None:
    """Fail unless each text of a batch gives the same output alone, and in another order of the texts.

    Detects sizes in the wrong order, norms over the batch and masks of another text::

        assert_texts_independent(model.run, tokens, memory, mask)

    Args:
        run: the forward pass.
        inputs: each with the texts along its first axis.

    Raises:
        Wrong: a text depends on the others.
    """
    whole = run(*inputs)
    turned = run(*(batch.flip(0) for batch in inputs)).flip(0)
    if find_moved(whole, turned).any():
        raise Wrong("in another order of the texts the output is another one")
    for text in (0, len(whole) - 1):
        alone = run(*(batch[text : text + 1] for batch in inputs))
        if find_moved(whole[text : text + 1], alone).any():
            raise Wrong(f"text {text} gives something else alone")


def assert_starts_alike(run: Run, tokens: Tensor) -> None:
    """Fail unless a causal model gives the same output for the beginning of a text and for the whole.

    Detects positions that depend on the length or on the batch::

        assert_starts_alike(lambda tokens: model.run(tokens), tokens)

    Args:
        run: the forward pass; makes masks of the length of its input.
        tokens: (texts, length).

    Raises:
        Wrong: a shorter text begins in another way.
    """
    whole = run(tokens)
    for length in (1, tokens.shape[1] // 2):
        if find_moved(whole[:, :length], run(tokens[:, :length])).any():
            raise Wrong(f"the first {length} of {tokens.shape[1]} words give something else alone")


def assert_residual(effect: Tensor, factor: float = 100.0) -> None:
    """Fail unless with small weights each word moves its own place far more than the others.

    An attention layer with small weights moves almost nothing; the residual connection passes a word to its
    own place unchanged::

        model = StudentModel(student.Decoder, sizes, scale=0.02)
        usual, changed = model.run(tokens), model.run(change_one_place(tokens, others))
        assert_residual(measure_change(usual, changed))

    Args:
        effect: (place that is changed, place that moves), as `measure_change` returns it for texts of which
            each is changed at one place. The last word of a causal model is best left out.
        factor: how much farther the own place moves.

    Raises:
        Wrong: it does not, or no other place moves at all.
    """
    own_effect = float(effect.diagonal().min())
    other_effect = float((effect - effect.diagonal().diag_embed()).max())
    if not 0 < other_effect < own_effect / factor:
        raise Wrong(f"the own place moves by {own_effect:.2g}, others by {other_effect:.2g}")


def count_distinct(rows: Tensor) -> int:
    """Return how many rows differ from all before them: (rows, features).

    With the same word everywhere this is the number of places that a model distinguishes::

        if count_distinct(model.run(torch.full((1, 30), 2))[0]) < 30:
            raise Wrong("not all of 30 places differ")
    """
    _assert_finite(rows)
    rows = rows / rows.abs().max().clamp(min=1)
    alike = (rows[:, None] - rows[None]).abs().amax(2) < _MOVED["torch.float64"]
    return len(rows) - int(alike.triu(1).any(0).sum())


def assert_dropout(
    training: StudentModel,
    inputs: Sequence[Any],
    weights: Tensor,
    *,
    seeds: Sequence[int] = (2, 3),
    **options: Any,
) -> None:
    """Fail unless some of these weights have no influence in training mode.

    A dropped feature zeroes the derivatives of the weights before it, so that the position of the dropout and
    the module that applies it do not matter::

        weights = model.find_idle_weights(*usual) & model.find_used_weights(*special)  # of words used once
        training = StudentModel(student.Decoder, sizes_with_dropout, train=True)
        training.set_weights(model.get_weights())
        assert_dropout(training, special, weights)

    Args:
        training: made with a rate of 0.5, in training mode.
        inputs: of the forward pass.
        weights: a mask of weights of which each has influence in evaluation mode.
        seeds: of the passes.
        options: as for `StudentModel.find_slopes`.

    Raises:
        Wrong: all of them have influence.
        Unclear: a normalisation after them hides it.
    """
    slopes = [training.find_slopes(*inputs, seed=seed, **options) * weights for seed in seeds]
    kept = sum(int(some.count_nonzero()) for some in slopes)
    if kept > _KEPT * len(slopes) * int(weights.sum()):
        if abs(slopes[0].sum()) < 1e-10 * slopes[0].abs().sum():
            raise Unclear("what is dropped is normalised: it cannot be seen")
        raise Wrong("no feature is dropped")


_KEPT = 0.98
"""From this share of weights on, none was dropped; at a rate of 0.5 about half are kept."""


def assert_swap_free(run: Run, memory: Tensor, first: int, second: int, moved_from: int = 0) -> None:
    """Fail if the output moves when two places of the memory are swapped.

    Keys and values of attention belong together, and their order does not matter::

        assert_swap_free(lambda memory: model.run(tokens, memory), memory, 3, 4)

    Args:
        run: the forward pass, with a mask that treats both places alike.
        memory: (texts, places, features).
        first: a place.
        second: another one.
        moved_from: the places of the output before this one are ignored.

    Raises:
        Wrong: the values do not belong to their keys.
    """
    swapped = memory.clone()
    swapped[:, first], swapped[:, second] = memory[:, second], memory[:, first]
    if find_moved(run(memory), run(swapped))[:, moved_from:].any():
        raise Wrong("what is fetched does not belong to what it is chosen by")


def assert_head(
    small: StudentModel, large: StudentModel, inputs: Sequence[Any], words: Sequence[int], width: int
) -> None:
    """Fail unless there is a number for each word, from weights that grow with the vocabulary and matter.

    ::

        small, large = StudentModel(student.Decoder, (23, 12)), StudentModel(student.Decoder, (140, 12))
        assert_head(small, large, (tokens,), (23, 140), 12)

    Args:
        small: a model of few words.
        large: a model of more words, otherwise the same.
        inputs: of the forward pass.
        words: the number of words of each model.
        width: of the state before the head.

    Raises:
        Wrong: the last axis has another size, or the head has no influence.
    """
    used = []
    for model, count in zip((small, large), words, strict=True):
        size = fetch_tensor(model.run(*inputs)).shape[-1]
        if size != count:
            raise Wrong(f"{size} numbers for {count} words")
        used.append(int(model.find_slopes(*inputs).count_nonzero()))
    if used[1] - used[0] < (words[1] - words[0]) * width / 2:
        raise Wrong(f"of the weights for more words only {used[1] - used[0]} have a part")


def assert_gradients_reach(model: StudentModel, inputs: Sequence[Any], share: float = 0.9) -> None:
    """Fail unless most weights influence the output.

    Detects a detached state, a block that is never called and a ``no_grad`` around the forward pass::

        assert_gradients_reach(StudentModel(student.Decoder, sizes), (tokens, memory))

    Args:
        model: of the student.
        inputs: of the forward pass; use every row of every table.
        share: of the weights that must have influence; a hidden feature may be inactive by chance.

    Raises:
        Wrong: too few have.
    """
    slopes = model.find_slopes(*inputs)
    reached = int(slopes.count_nonzero())
    if reached < share * slopes.numel():
        raise Wrong(f"{reached} of {slopes.numel()} weights have a part")
