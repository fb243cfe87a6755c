"""The exam's decoder with eight planted faults: models, inputs and masks that its properties share."""

from __future__ import annotations

import torch
from torch import Tensor

from autograder.checking import Unclear
from autograder.checking.transformers import (
    StudentModel,
    change_one_place,
    fetch_tensor,
    find_moved,
    make_causal_mask,
    measure_change,
    show_only_to_itself,
)

N = 8
"""Texts, words, and places of the memory: equal, so that exchanged sizes harm only if they are asked for."""
WIDTH, WORDS = 12, 23
USUAL = 6
"""Words below are in every text; the others only where a check puts them."""
PLACE = torch.arange(N)
LATER = PLACE[None, :] > PLACE[:, None]  # (text, place): text b is changed at place b
MOST_INNER = 4
INNER = slice(1, N - 1)  # neither the first word nor the last is changed in these texts
MIDDLE = (PLACE > 0) & (PLACE < N - 1)  # of the memory: the same from both ends, and not all of it


class NotFiniteError(Unclear):
    """An output has NaN or infinity, as where all is hidden."""


class Trial:
    """Inputs of the properties, and what was found out about the answer."""

    def __init__(self, student, draw):
        self.student = student
        self.kind = student.Decoder
        self.draw = draw
        self.options = {}
        self.raised = ""
        self.tokens = self.words(N, N)
        self.others = (self.tokens + 1 + self.words(N, N, 0, USUAL - 1)) % USUAL
        self.memory = self.normal(N, N, WIDTH)
        self.moved = self.memory + 3 * self.normal(N, N, WIDTH)
        self.seen, self.own, self.seen_2, self.own_2 = (
            self.some_seen(),
            self.some_hidden(),
            self.some_seen(),
            self.some_hidden(),
        )
        self.known = {}
        self.refuse_single_precision()
        self.why_misread = self.find_misread()
        if self.why_misread:
            self.look_inside()
        self.depths = self.find_depths()

    # inputs

    def normal(self, *shape):
        return self.draw.normal(*shape).double()

    def words(self, texts, length, low=0, high=USUAL):
        return self.draw.integers(low, high, texts, length)

    def some_seen(self):
        """Return a padding mask: every text has other places, two at least, and one is hidden."""
        while True:
            seen = self.draw.uniform(N, N) < 0.6
            enough = (seen.sum(1) >= 2) & (seen.sum(1) < N)
            if enough.all() and seen.diagonal().sum() in range(3, N - 2) and len(seen.unique(dim=0)) == N:
                return seen

    def some_hidden(self):
        """Return a target's mask: nothing later, and some words are seen by themselves alone."""
        return show_only_to_itself(make_causal_mask(N, N), self.some_seen()[:, None, None, :])

    # models

    def make(self, layers=1, dropout=0.0, n_tokens=WORDS, max_len=64, width=WIDTH, hidden=20, **options):
        heads = 3 if width == WIDTH else 2
        sizes = (n_tokens, width, layers, heads, hidden, dropout, max_len)
        return StudentModel(self.kind, sizes, **{"seed": 3, **self.options, **options})

    def once(self, make, *arguments):
        """Return what a method gives, which is called once."""
        key = (make.__name__, *arguments)
        if key not in self.known:
            self.known[key] = make(*arguments)
        return self.known[key]

    def model(self, layers=1):
        """Return the usual model, whose weights nobody changes."""
        return self.once(self.make, layers)

    def masked_model(self, layers):
        """Return a model for inputs of one size: what it keeps from call to call stays the same."""
        return self.make(layers)

    def inputs(self, tokens, memory, seen=None, own=None):
        """Return inputs; by default nothing later is seen, nor the first word and the memory's last place."""
        texts, length = tokens.shape
        if seen is None:
            seen = (torch.arange(memory.shape[1]) < max(memory.shape[1] - 1, 1)).expand(texts, 1, 1, -1)
        if own is None:
            own = show_only_to_itself(make_causal_mask(texts, length), torch.arange(length) == 0)
        return tokens, memory, seen, own

    def run(self, model, tokens, memory, seen=None, own=None):
        """Return scores; or if something else is returned, what a module gave with a row for each word."""
        return next(self.run_each(model, [(tokens, memory, seen, own)]))

    def run_each(self, model, calls, **options):
        """Yield what `run` returns for each call; all passes are made in one step."""
        yield from map(check_output, model.run_each([self.inputs(*call) for call in calls], **options))

    def score_each(self, model, calls, **options):
        """Yield the scores of usual words, in which no row of the others has a part."""
        return (output[..., :USUAL] for output in self.run_each(model, calls, **options))

    def plain(self, layers):
        return self.run(self.model(layers), self.tokens, self.memory)

    def find_depths(self):
        """Return one layer and two; if two do not work at all, what one does is judged."""
        try:
            self.once(self.plain, 2)
        except Exception:
            self.once(self.plain, 1)
            return (1,)
        return (1, 2)

    def refuse_single_precision(self):
        """Leave to manual review what works in float32 alone."""
        usual = self.inputs(self.tokens, self.memory)
        try:
            self.model().run(*usual)
        except Exception as error:
            single = [value.float() if value.is_floating_point() else value for value in usual]
            try:
                self.make(dtype="float32").run(*single)
            except Exception:
                self.options = {"inner": 1, "raises": True}
                self.known.clear()
                self.raised = f"it raises in each call: {error}"
                return
            raise Unclear(f"it works in float32 alone: {error}") from error

    def find_misread(self):
        """Return why what is returned is no score for each word, or "": then what a module gave is judged."""
        if self.raised:
            return self.raised
        model = self.model()
        first = (PLACE == 0).expand(N, 1, 1, N)
        for texts, length in ((N, N), (2, 5)):
            try:
                output = model.run(
                    self.tokens[:texts, :length],
                    self.memory[:texts, :length],
                    self.seen[:texts, None, None, :length] | first[:texts, ..., :length],
                    self.own[:texts, :, :length, :length],
                )
            except Exception:
                continue
            usable = isinstance(output, Tensor) and output.ndim == 3 and output.is_floating_point()
            turned = usable and output.shape[:2] == (length, texts) and texts != length
            if not usable or turned or (texts == N and output.shape[:2] != (N, N)):
                return "what is returned is no row for each word"
            if texts == N and self.has_no_part():
                return "the layers have no part in what is returned"
        return ""

    def look_inside(self):
        """Judge what the last module gave in which the layers have a part."""
        for number in range(1, MOST_INNER + 1):
            self.options["inner"] = number
            self.known.clear()
            try:
                if not self.has_no_part():
                    return
            except Exception:  # also where no model can be made: this hides what was repaired, as a call does
                break
        if self.raised:
            raise Unclear(self.raised)
        self.options["inner"] = 1
        self.known.clear()

    def refuse_another_training(self):
        """Leave to manual review what gives something else in training, though nothing is dropped."""
        model = self.make(train=True, drops=False)
        first, second = self.run_each(model, [(self.tokens, self.memory)] * 2, seeds=(1, 2))
        if not find_moved(first, second).any() and find_moved(self.once(self.plain, 1), first).any():
            raise Unclear("in training mode it computes something else, where nothing is dropped")

    def finds_new_weights(self):
        """Return whether the head is another one in each pass: scores are random, what it is given is not."""

        def is_random(model):
            outputs = [*model.run_each([self.inputs(self.tokens, self.memory)] * 2, seeds=(1, 2))]
            return all(isinstance(output, Tensor) for output in outputs) and find_moved(*outputs).any()

        return is_random(self.model()) and not all(is_random(self.make(inner=number)) for number in (1, 2))

    def has_no_part(self):
        """Return whether no other word or memory arrives, and a second layer brings nothing."""
        word = self.once(self.moved_by_word, 1, 0)
        memory = self.once(self.moved_by_memory, 1, 0)
        if word[LATER].any() or (memory & ~torch.eye(N, dtype=torch.bool)).any():
            return False
        try:
            grown, used = self.once(self.grown_weights)
        except Exception:
            return False
        return grown > 0 == used

    def grown_weights(self):
        """Return how many weights a second layer brings, and how many more have a part."""
        inputs = self.inputs(self.tokens, self.memory)
        first, second = (self.model(layers).find_slopes(*inputs) for layers in (1, 2))
        return second.numel() - first.numel(), int(second.count_nonzero()) - int(first.count_nonzero())

    def masks(self, number):
        """Return the memory's and the target's mask.

        0 and 1 are of all kinds; 2 hides all other words, 3 all of the memory but its first place.
        """
        eye = torch.eye(N, dtype=torch.bool).expand(N, 1, N, N)
        seen = self.seen_2 if number == 1 else (PLACE == 0).expand(N, N) if number == 3 else self.seen
        return seen[:, None, None], (self.own, self.own_2, eye, self.own)[number]

    def changed_inputs(self):
        """Return inputs; then word b of text b is another one; then place b of its memory."""
        word, place = change_one_place(self.tokens, self.others), change_one_place(self.memory, self.moved)
        return (self.tokens, self.memory), (word, self.memory), (self.tokens, place)

    def masked_outputs(self, layers, number):
        masks = self.masks(number)
        calls = [self.inputs(*inputs, *masks) for inputs in self.changed_inputs()]
        return [*self.once(self.masked_model, layers).run_each(calls)]

    def moved_by_word(self, layers, number):
        """Return for (text b, place) what moves with word b of text b."""
        usual, word, _ = self.once(self.masked_outputs, layers, number)
        return find_moved(check_output(usual), check_output(word))

    def moved_by_memory(self, layers, number):
        """Return for (text b, place) what moves with place b of the memory of text b."""
        usual, _, place = self.once(self.masked_outputs, layers, number)
        return find_moved(check_output(usual), check_output(place))

    def reads_hidden_places(self):
        """Return whether a place of the memory that both masks hide moves other places."""
        seen, own = self.masks(3)
        hidden = ~own[PLACE, 0, :, PLACE] & ~seen[PLACE, 0, 0, PLACE][:, None]
        others = ~torch.eye(N, dtype=torch.bool)
        return bool((self.once(self.moved_by_memory, 1, 3) & hidden & others).any())

    def moved_by_hidden_swap(self):
        """Return where two words move others when they change places that the target's mask hides.

        All places of the memory are alike: an attention that is chosen by them takes the mean of the words.
        """
        words = self.tokens.clone()
        words[:, [3, 4]] = words[:, [4, 3]]
        hidden = (PLACE == 3) | (PLACE == 4)
        masks = torch.ones(N, 1, 1, N, dtype=torch.bool), show_only_to_itself(all_open(N, N), hidden)
        memory = self.memory[:1, :1].expand(N, N, -1)
        calls = [(one, memory, *masks) for one in (self.tokens, words)]
        return find_moved(*self.run_each(self.model(1), calls)) & ~hidden

    def with_memories(self, layers, memories, seen):
        """Yield the outputs where all words are seen, and this of the memory."""
        masks = seen.expand(N, 1, 1, N), all_open(N, N)
        return self.run_each(self.model(layers), [(self.tokens, memory, *masks) for memory in memories])

    def swapped(self, layers):
        """Return where the output moves when two places of the memory change their order."""
        memory = self.memory.clone()
        memory[:, [3, 4]] = memory[:, [4, 3]]
        return find_moved(*self.with_memories(layers, (self.memory, memory), MIDDLE))

    def pooled(self, layers):
        """Return whether the memory is read, and it is no matter which place is moved, with any mask."""
        return all(self.pooled_under(layers, seen) for seen in (MIDDLE, torch.ones(N, dtype=torch.bool)))

    def pooled_under(self, layers, seen):
        first, second = self.memory.clone(), self.memory.clone()
        first[:, 3] = self.moved[:, 3]
        second[:, 4] += self.moved[:, 3] - self.memory[:, 3]
        usual, first, second = self.with_memories(layers, (self.memory, first, second), seen)
        return bool(find_moved(usual, first)[:, 5:].any()) and not find_moved(first, second)[:, 5:].any()

    def special_weights(self, layers):
        """Return a mask of the weights that only special words read: their rows of a table."""
        idle = self.once(self.idle_weights, layers)
        return idle & self.model(layers).find_used_weights(*self.once(self.special_words), features=USUAL)

    def idle_weights(self, layers):
        """Return a mask of the weights that many usual words do not read."""
        return self.model(layers).find_idle_weights(*self.once(self.many_words), features=USUAL)

    def get_weights(self, layers):
        return self.model(layers).get_weights()

    def special_words(self):
        """Return many words, and each special one in one place."""
        tokens, *others = self.once(self.many_words)
        tokens = tokens.clone()
        tokens[: WIDTH - USUAL, 0] = torch.arange(USUAL, WIDTH)
        return tokens, *others

    def many_words(self):
        return self.inputs(self.words(10, 10), 4 * self.normal(10, 10, WIDTH))

    def small_outputs(self, layers, scale):
        """Return outputs where attention brings little, and a residual sum all that was there before."""
        return [
            *self.make(layers, scale=scale).run_each([self.inputs(*one) for one in self.changed_inputs()])
        ]

    def find_small_scale(self):
        """Return how small matrices are made; so small that hardly anything arrives is too small."""
        usual, word, _ = map(check_output, self.once(self.small_outputs, 1, 0.003))
        return 0.003 if measure_change(usual, word).diagonal()[INNER].min() > 1e-14 else 0.05

    def small_effect(self, layers):
        """Return for (text b, place) how far word b moves the places of text b, with small weights."""
        usual, word, _ = self.once(self.small_outputs, layers, self.once(self.find_small_scale))
        return measure_change(check_output(usual), check_output(word))

    def has_memory_rows(self):
        """Return whether with small weights a row follows its place of the memory, and not its word."""
        usual, _, place = self.once(self.small_outputs, 1, self.once(self.find_small_scale))
        memory = measure_change(check_output(usual), check_output(place))
        own, others = memory.diagonal(), memory - memory.diagonal().diag_embed()
        word = self.once(self.small_effect, 1).diagonal()
        return bool(own[INNER].min() > 100 * max(word[INNER].max(), others.max()))

    def reads_memory(self, layers):
        calls = [(self.tokens, memory) for memory in (self.memory, self.moved)]
        return bool(find_moved(*self.run_each(self.model(layers), calls)).any())


def check_output(output):
    """Return an output; it must be a tensor of finite numbers."""
    if output is None:
        raise Unclear("no module gives a row for each word")
    output = fetch_tensor(output)
    if not output.isfinite().all():
        raise NotFiniteError("NaN or infinity in the output")
    return output


def all_open(texts, length):
    return torch.ones(texts, 1, length, length, dtype=torch.bool)
