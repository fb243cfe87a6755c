"""The exam's decoder with eight planted faults."""

from __future__ import annotations

import torch
from torch import Tensor

from autograder.checking import Unclear, Wrong, fault, holds, solution
from autograder.checking.transformers import (
    Model,
    assert_dropout,
    assert_head,
    assert_residual,
    change_one_place,
    count_distinct,
    fetch_tensor,
    find_moved,
    make_causal_mask,
    measure_change,
    remember,
    show_only_to_itself,
)
from reference.listings import GIVEN, RIGHT

solution(source=RIGHT, given=GIVEN)

N = 8
"""Texts, words and places of the memory: equal, so that exchanged sizes do no harm where they do not matter."""
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
        self.refuse_another_training()

    # inputs

    def normal(self, *shape):
        return self.draw.normal(*shape).double()

    def words(self, texts, length, low=0, high=USUAL):
        return self.draw.integers(low, high, texts, length)

    def some_seen(self):
        """A padding mask: every text has other places, two at least, and one is hidden."""
        while True:
            seen = self.draw.uniform(N, N) < 0.6
            enough = (seen.sum(1) >= 2) & (seen.sum(1) < N)
            if enough.all() and seen.diagonal().sum() in range(3, N - 2) and len(seen.unique(dim=0)) == N:
                return seen

    def some_hidden(self):
        """A target's mask: nothing later, and some words are seen by themselves alone."""
        return show_only_to_itself(make_causal_mask(N, N), self.some_seen()[:, None, None, :])

    # models

    def make(self, layers=1, dropout=0.0, n_tokens=WORDS, max_len=64, width=WIDTH, hidden=20, **options):
        heads = 3 if width == WIDTH else 2
        sizes = (n_tokens, width, layers, heads, hidden, dropout, max_len)
        return Model(self.kind, sizes, **{"seed": 3, **self.options, **options})

    def once(self, make, *arguments):
        """What a method gives, which is called once."""
        key = (make.__name__, *arguments)
        if key not in self.known:
            self.known[key] = make(*arguments)
        return self.known[key]

    def model(self, layers=1):
        """The usual model, whose weights nobody changes."""
        return self.once(self.make, layers)

    def masked_model(self, layers):
        """A model that is called with inputs of one size only: what it keeps from call to call stays the same."""
        return self.make(layers)

    def inputs(self, tokens, memory, seen=None, own=None):
        """By default nothing later is seen, nor the first word and the last place of the memory."""
        texts, length = tokens.shape
        if seen is None:
            seen = (torch.arange(memory.shape[1]) < max(memory.shape[1] - 1, 1)).expand(texts, 1, 1, -1)
        if own is None:
            own = show_only_to_itself(make_causal_mask(texts, length), torch.arange(length) == 0)
        return tokens, memory, seen, own

    def run(self, model, tokens, memory, seen=None, own=None, seed=1):
        """Scores; where something else is returned, what the last module gave that has a row for each word."""
        output = model.run(*self.inputs(tokens, memory, seen, own), seed=seed)
        if output is None:
            raise Unclear("no module gives a row for each word")
        output = fetch_tensor(output)
        if not output.isfinite().all():
            raise NotFiniteError("NaN or infinity in the output")
        return output

    def scored(self, model, *inputs):
        """The scores of usual words, in which no row of the others has a part."""
        return self.run(model, *inputs)[..., :USUAL]

    def find_depths(self):
        """One layer and two; where two do not work at all, what one does is judged."""
        try:
            self.run(self.make(2), self.tokens, self.memory)
        except Exception:
            self.run(self.make(1), self.tokens, self.memory)
            return (1,)
        return (1, 2)

    def refuse_single_precision(self):
        """Leave to manual review what works in float32 alone."""
        usual = self.inputs(self.tokens, self.memory)
        try:
            self.make().run(*usual)
        except Exception as error:
            single = [value.float() if value.is_floating_point() else value for value in usual]
            try:
                self.make(dtype="float32").run(*single)
            except Exception:
                self.options = {"inner": 1, "raises": True}
                self.raised = f"the forward pass raises: {error}"
                return
            raise Unclear(f"it works in float32 alone: {error}") from error

    def find_misread(self):
        """Why what is returned is no score for each word, or "": then what a module gave is judged."""
        if self.raised:
            return self.raised
        model = self.make()
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
            except Unclear:
                break
        if self.raised:
            raise Unclear(self.raised)
        self.options["inner"] = 1
        self.known.clear()

    def refuse_another_training(self):
        """Leave to manual review what gives something else in training, where nothing is dropped either."""
        model = self.make(training=True, drops=False)
        outputs = (self.run(one, self.tokens, self.memory) for one in (self.model(), model))
        if find_moved(*outputs).any():
            raise Unclear("in training mode it computes something else, where nothing is dropped")

    def finds_new_weights(self):
        """Whether the head is another one in each pass: the scores are random, what it is given is not."""

        def is_random(**options):
            model = self.make(**options)
            outputs = [model.run(*self.inputs(self.tokens, self.memory), seed=seed) for seed in (1, 2)]
            return all(isinstance(output, Tensor) for output in outputs) and find_moved(*outputs).any()

        return is_random() and not all(is_random(inner=number) for number in (1, 2))

    def has_no_part(self):
        """Whether nothing of another word or place of the memory arrives, and a second layer brings nothing."""
        word = self.once(self.moved_by_word, 1, 0)
        memory = self.once(self.moved_by_memory, 1, 0)
        if word[LATER].any() or (memory & ~torch.eye(N, dtype=torch.bool)).any():
            return False
        try:
            grown, used = self.weights(self.model(), self.model(2), self.inputs(self.tokens, self.memory))
        except Exception:
            return False
        return grown > 0 == used

    def weights(self, model, more, inputs):
        """How many weights a second layer brings, and how many more have a part."""
        used = [int(one.find_slopes(*inputs).count_nonzero()) for one in (model, more)]
        return more.count_weights() - model.count_weights(), used[1] - used[0]

    def masks(self, number):
        """Two pairs of masks; the third hides all other words, the fourth all of the memory but its first place."""
        eye = torch.eye(N, dtype=torch.bool).expand(N, 1, N, N)
        seen = self.seen_2 if number == 1 else (PLACE == 0).expand(N, N) if number == 3 else self.seen
        return seen[:, None, None], (self.own, self.own_2, eye, self.own)[number]

    def usual(self, layers, number):
        return self.run(self.once(self.masked_model, layers), self.tokens, self.memory, *self.masks(number))

    def moved_by_word(self, layers, number):
        """(text b, place): what moves with word b of text b."""
        changed = change_one_place(self.tokens, self.others)
        output = self.run(self.once(self.masked_model, layers), changed, self.memory, *self.masks(number))
        return find_moved(self.once(self.usual, layers, number), output)

    def moved_by_memory(self, layers, number):
        """(text b, place): what moves with place b of the memory of text b."""
        changed = change_one_place(self.memory, self.moved)
        output = self.run(self.once(self.masked_model, layers), self.tokens, changed, *self.masks(number))
        return find_moved(self.once(self.usual, layers, number), output)

    def with_memory(self, layers, memory, seen):
        """The output where all words are seen, and this of the memory."""
        return self.run(self.model(layers), self.tokens, memory, seen.expand(N, 1, 1, N), all_open(N, N))

    def swapped(self, layers):
        """Where the output moves when two places of the memory change their order."""
        memory = self.memory.clone()
        memory[:, [3, 4]] = memory[:, [4, 3]]
        return find_moved(*(self.with_memory(layers, one, MIDDLE) for one in (self.memory, memory)))

    def pooled(self, layers):
        """Whether the memory is read, and it makes no difference which place is moved, whatever is seen of it."""
        return all(self.pooled_under(layers, seen) for seen in (MIDDLE, torch.ones(N, dtype=torch.bool)))

    def pooled_under(self, layers, seen):
        first, second = self.memory.clone(), self.memory.clone()
        first[:, 3] = self.moved[:, 3]
        second[:, 4] += self.moved[:, 3] - self.memory[:, 3]
        usual, first, second = (
            self.with_memory(layers, memory, seen) for memory in (self.memory, first, second)
        )
        return bool(find_moved(usual, first)[:, 5:].any()) and not find_moved(first, second)[:, 5:].any()

    def special_weights(self, layers):
        """A mask of the weights that only special words read: their rows of a table."""
        return self.model(layers).find_own_weights(
            self.once(self.many_words), self.once(self.special_words), features=USUAL
        )

    def special_words(self):
        """Many words, and each special one in one place."""
        tokens, *others = self.once(self.many_words)
        tokens = tokens.clone()
        tokens[: WIDTH - USUAL, 0] = torch.arange(USUAL, WIDTH)
        return tokens, *others

    def many_words(self):
        return self.inputs(self.words(10, 10), 4 * self.normal(10, 10, WIDTH))

    def small_model(self, layers):
        """A model in which attention brings little, and a residual sum all that was there before."""
        return self.make(layers, scale=0.003)

    def small_usual(self, layers):
        return self.run(self.once(self.small_model, layers), self.tokens, self.memory)

    def small_effect(self, layers):
        """(text b, place): how far word b moves the places of text b, with small weights."""
        changed = change_one_place(self.tokens, self.others)
        output = self.run(self.once(self.small_model, layers), changed, self.memory)
        return measure_change(self.once(self.small_usual, layers), output)

    def has_memory_rows(self):
        """Whether with small weights a row follows its place of the memory, and not its word."""
        changed = change_one_place(self.memory, self.moved)
        output = self.run(self.once(self.small_model, 1), self.tokens, changed)
        memory = measure_change(self.once(self.small_usual, 1), output)
        own, others = memory.diagonal(), memory - memory.diagonal().diag_embed()
        word = self.once(self.small_effect, 1).diagonal()
        return bool(own[INNER].min() > 100 * max(word[INNER].max(), others.max()))

    def reads_memory(self, layers):
        outputs = (self.run(self.model(layers), self.tokens, memory) for memory in (self.memory, self.moved))
        return bool(find_moved(*outputs).any())


def try_out(student, draw):
    """What is found out about the answer, for all properties."""
    return remember(student, lambda: Trial(student, draw.restarted()), "trial")


def follow_words(student, draw):
    """The same, for properties that can be seen only where the rows are those of the words."""
    trial = try_out(student, draw)
    if trial.once(trial.has_memory_rows):
        raise Unclear("the rows are those of the memory")
    return trial


def all_open(texts, length):
    return torch.ones(texts, 1, length, length, dtype=torch.bool)


@fault(
    old="self.self_attention(x, x, x, target_mask)",
    new="self.self_attention(x, x, x, memory_mask)",
    points=1,
    title={
        "en": "Self-attention keeps to what the target allows",
        "de": "Die Self-Attention hält sich an das, was das Ziel erlaubt",
    },
)
def self_mask(student, reference, draw):
    """A word moves just the places that the target's mask shows it to; the memory's mask does not matter.

    Where the cross-attention also reads the target, its mask hides all but the first place, which no later word
    moves; and with other masks a word may also move what a place of the memory moves.
    """
    trial = follow_words(student, draw)
    reads_target = not holds(cross_value)
    depths = trial.depths if holds(small_residual) else (1,)
    for layers in depths:
        for number in (3,) if reads_target else (0, 1, 2):
            compare_shown(trial, layers, number)
    if reads_target:
        for number in (0, 1, 2):
            compare_shown(trial, 1, number, by_memory=True)


def compare_shown(trial, layers, number, by_memory=False):
    eye = torch.eye(N, dtype=torch.bool)
    seen, own = trial.masks(number)
    shown = own[PLACE, 0, :, PLACE] & ~eye
    word = trial.once(trial.moved_by_word, layers, number) & ~eye
    if (shown & ~word)[INNER].any():
        raise Wrong("a word is hidden that the target's mask shows")
    more = word & ~shown
    if by_memory and more.any():
        memory = trial.once(trial.moved_by_memory, layers, number)
        if not memory.any() and not trial.reads_memory(layers):
            raise Unclear("the memory is not read: which attention shows the word cannot be seen")
        more &= ~memory
        if holds(cross_mask):  # it may read the state after the self-attention
            reached = (shown | eye) & seen[:, 0, 0]
            more &= ~reached.any(1, keepdim=True)
    if more[INNER].any():
        raise Wrong("a word is seen that the target's mask hides")


@fault(
    old="self.norm(x + self.dropout(attended))",
    new="self.norm(self.dropout(attended))",
    points=1,
    title={
        "en": "Self-attention adds to the state instead of replacing it",
        "de": "Die Self-Attention ergänzt den Zustand, statt ihn zu ersetzen",
    },
)
def residual(student, reference, draw):
    """With small weights a word moves its own place far more than attention lets it move others; it is a sum."""
    trial = follow_words(student, draw)
    for layers in trial.depths:
        sum_up(trial, layers)
    check_sum(trial)
    check_every_layer(trial)


def small_residual(student, reference, draw):
    sum_up(try_out(student, draw))


def sum_up(trial, layers=1):
    assert_residual(trial.once(trial.small_effect, layers)[INNER, INNER])


def check_sum(trial):
    """The last word is seen by itself alone past the attention: its embedding is nothing, then huge on either side."""
    n = 11
    model, memory = trial.make(), trial.normal(n, n, WIDTH)
    tokens = trial.words(n, n)
    tokens[:, -1] = USUAL + torch.arange(n) % (WIDTH - USUAL)
    others, last = (tokens + 1) % USUAL, tokens.clone()
    others[:, -1], last[:, -1] = tokens[:, -1], tokens[:, -1].roll(1)
    seen, own = torch.ones(n, 1, 1, n, dtype=torch.bool), make_causal_mask(n, n)
    seen[..., -1], own[..., -1, 1:] = False, False
    weights = model.get_weights()
    mask = model.find_own_weights(trial.once(trial.many_words), (tokens, memory, seen, own), features=USUAL)

    def both(size, other):
        model.set_weights(torch.where(mask, size, weights))
        outputs = (trial.scored(model, words, memory, seen, own) for words in (tokens, other))
        return find_moved(*outputs)[:, -1].any()

    if not both(torch.zeros_like(weights), others) and holds(self_mask):
        raise Wrong("where the state is nothing, what attention brings is lost: no sum")
    if not both(-1e6 * weights.abs(), last) or not both(1e6 * weights.abs(), last):
        raise Wrong("a huge state is not read: no sum")


def check_every_layer(trial):
    """The second layer adds what it was given, not the embeddings.

    A huge embedding of the last word drowns the other words no more than in one layer.
    """
    if 2 not in trial.depths or not all(holds(check) for check in (self_mask, cross_value)):
        return
    grown, used = trial.weights(trial.model(), trial.model(2), trial.inputs(trial.tokens, trial.memory))
    if used < grown / 2:
        return
    effects = [drown(trial, layers) for layers in (1, 2)]
    if effects[0][1] > 1e-3 > effects[1][0]:  # normalised before the memory is added, and yet
        raise Wrong("the last word's embedding drowns what a second layer brings")


def drown(trial, layers):
    """How far the other words, and the memory, move the last word's scores where its embedding is huge."""
    last, huge = PLACE == N - 1, trial.words(N, N, USUAL, WIDTH)
    own = make_causal_mask(N, N) & ~torch.eye(N, dtype=torch.bool) | (torch.arange(N * N) == 0).view(N, N)
    mask, model = trial.once(trial.special_weights, layers), trial.make(layers)
    weights = model.get_weights()
    model.set_weights(torch.where(mask, 1e6 * weights, weights))
    usual, others, memory = (
        trial.scored(model, torch.where(last, huge, tokens), memory, None, own)
        for tokens, memory in (
            (trial.tokens, trial.memory),
            (trial.others, trial.memory),
            (trial.tokens, trial.moved),
        )
    )
    return measure_change(usual, others)[:, -1].max(), measure_change(usual, memory)[:, -1].max()


@fault(
    old="self.cross_block(query, key, value, memory_mask)",
    new="self.cross_block(query, key, value, target_mask)",
    points=1,
    title={
        "en": "Cross-attention keeps to what the memory allows",
        "de": "Die Cross-Attention hält sich an das, was das Memory erlaubt",
    },
)
def cross_mask(student, reference, draw):
    """A place of the memory moves all places of its text where its mask shows it, and none where not."""
    trial = follow_words(student, draw)
    for layers in trial.depths:
        for number in (0, 1):
            memory = trial.once(trial.moved_by_memory, layers, number)
            if not memory.any() and not trial.reads_memory(layers) or trial.once(trial.pooled, layers):
                raise Unclear("the memory is not read, or in one lump: no mask can be seen to act")
            elsewhere = memory != trial.masks(number)[0][:, 0, 0].diagonal()[:, None]
            if layers == 1:
                beside = elsewhere.diagonal().any()
                elsewhere.fill_diagonal_(
                    False
                )  # where the memory is added to the state, that is another fault
            if not beside and elsewhere.any() or layers == 1 and elsewhere.any():
                raise Wrong("a place of the memory is seen that is hidden, or hidden that is seen")


@fault(
    old="nn.Embedding(max_len, d_model)",
    new="nn.Embedding(n_tokens, d_model)",
    points=1,
    title={
        "en": "There is a position for every length that is allowed",
        "de": "Es gibt eine Position für jede erlaubte Länge",
    },
)
def position_table(student, reference, draw):
    """As many places as `max_len` says can be read, each as its own: few words, few places, very many."""
    trial = follow_words(student, draw)
    for length, max_len, n_tokens in ((24, 30, 5), (WIDTH, WIDTH, WIDTH)):
        model = trial.make(n_tokens=n_tokens, max_len=max_len)
        try:
            differ = places_differ(trial, model, length)
        except IndexError as error:
            if grows(trial) and not holds(shape_order):
                raise Unclear(f"the table grows with max_len, and {length} words: {error}") from error
            if grows(trial) and length == max_len and has_spare_row(trial):
                break  # positions that begin at 1: another defect, which costs nothing
            raise Wrong(f"{length} words: {error}") from error
        if not differ:
            raise Wrong(f"not all of {length} places differ")
    if has_relative_places(trial):
        return
    many = 6000
    if not grows(trial):  # it must be computed, for any length
        try:
            model = trial.make(layers=0, max_len=many, n_tokens=5, width=4)
            output = same_words(trial, model, 1, many, wide=False)
        except (IndexError, RuntimeError) as error:
            raise Wrong(f"{many} words: {error}") from error
        if not find_moved(output[:, -1:], output[:, -2:-1]).any():
            raise Wrong(f"the last of {many} places are the same")


def has_spare_row(trial):
    """Whether a row of a table is not read by a text of one word less than allowed, in which all words stand."""
    length, idle = WIDTH - 1, []
    tokens = (torch.arange(length * length) % WIDTH).view(length, length)
    for seed in (3, 4, 5):  # a feature of a hidden layer may sleep by chance
        model = trial.make(n_tokens=WIDTH, max_len=WIDTH, seed=seed)
        slopes = model.find_slopes(*trial.inputs(tokens, trial.normal(length, length, WIDTH)))
        idle.append(int((slopes == 0).sum()))
    return min(idle) >= WIDTH


def grows(trial):
    more = trial.make(max_len=128).count_weights(buffers=True)
    return more - trial.model().count_weights(buffers=True) >= 64 * WIDTH


def same_words(trial, model, texts, length, wide=True):
    memory = trial.memory[:1, :1, : WIDTH if wide else 4].expand(texts, length if wide else 1, -1)
    own = all_open(texts, length) if wide else torch.ones(1, 1, 1, length, dtype=torch.bool)
    return trial.run(model, torch.full((texts, length), 2), memory, own=own)


def places_differ(trial, model, length):
    """Whether each place is told from all others: with the same word everywhere, or by the order of words.

    As many texts as words, so that places which count the texts are told too: that is another fault.
    """
    tokens, memory = torch.full((length, length), 2), trial.memory[:1, :1].expand(length, length, -1)
    other_memory = trial.normal(1, length, WIDTH).expand(length, -1, -1)
    for places in (memory, other_memory):
        output = trial.run(model, tokens, places, None, all_open(length, length))
        differ = max(count_distinct(output[0]), count_distinct(output[:, 0]))
        if differ == length:
            return True
    if has_relative_places(trial):
        return orders_differ(trial, model, length)
    if differ == 1 and not holds(self_mask) and not holds(small_residual):
        raise Unclear("no place arrives: neither by a sum nor by attention that sees what it should")
    return False


def has_relative_places(trial):
    return trial.once(find_relative_places, trial)


def find_relative_places(trial):
    """Whether places are told by their distances alone: equal words give equal rows, and yet their order matters."""
    output = same_words(trial, trial.model(), N, N)
    return count_distinct(output.flatten(0, 1)) == 1 and orders_differ(trial, trial.model(), N)


def orders_differ(trial, model, length):
    """Whether words that change seats with their neighbours move another place, each pair of them."""
    pairs = length - 1
    tokens = trial.words(1, length).expand(pairs, -1).clone()
    pair = torch.arange(pairs)
    tokens[pair, pair + 1] = (tokens[pair, pair] + 1) % USUAL
    swapped = tokens.clone()
    swapped[pair, pair], swapped[pair, pair + 1] = tokens[pair, pair + 1], tokens[pair, pair]
    memory = trial.memory[:1, :1].expand(pairs, length, -1)
    outputs = (trial.run(model, words, memory, None, all_open(pairs, length)) for words in (tokens, swapped))
    there = find_moved(*outputs)
    there[pair, pair], there[pair, pair + 1] = False, False
    return bool(there.any(1).all())


@fault(
    old="batch, length = tokens.shape",
    new="length, batch = tokens.shape",
    points=1,
    title={
        "en": "Positions count along the text, for every batch size",
        "de": "Positionen zählen entlang des Textes, bei jeder Batchgröße",
    },
)
def shape_order(student, reference, draw):
    """The same word everywhere: all texts are alike, all places differ, longer texts begin as shorter ones."""
    trial = follow_words(student, draw)
    model = trial.model()
    outputs = (trial.run(model, trial.tokens, trial.memory, seed=seed) for seed in (1, 2))
    if find_moved(*outputs).any() and not trial.once(trial.finds_new_weights):
        raise Unclear("the output is another one each time")
    for texts, length in ((2, 9), (9, 2), (1, 5), (3, 1)):
        try:
            output = first_of_many(trial, model, texts, length)
        except NotFiniteError:
            raise
        except (RuntimeError, IndexError, Unclear) as error:
            trial.run(model, trial.tokens, trial.memory)  # where this does not work either, nothing is known
            raise Wrong(f"{texts} texts of {length} words: {error}") from error
        if find_moved(output[:1], output[-1:]).any():
            raise Wrong("the same text is another one in another row")
        if length > 1 and not find_moved(output[:, :1], output[:, 1:2]).any():
            output = first_of_many(trial, model, texts, length, trial.normal(1, length, WIDTH))
            if not find_moved(output[:, :1], output[:, 1:2]).any() and not has_relative_places(trial):
                raise Wrong("all places are alike")
    if not all(holds(check) for check in (self_mask, cross_mask, cross_value, small_residual)):
        return
    try:
        whole = trial.run(model, torch.full((2, 5), 2), trial.memory[:2, :7])
    except (RuntimeError, IndexError) as error:
        raise Wrong(f"words and memory of two lengths: {error}") from error
    for texts, length in ((4, 2), (1, 4), (3, 1)):
        shorter = trial.run(model, torch.full((texts, length), 2), trial.memory[:1, :7].expand(texts, -1, -1))
        if find_moved(whole[:1, :length], shorter[:1]).any():
            raise Wrong("where the same text is longer, it begins otherwise")


def first_of_many(trial, model, texts, length, memory=None):
    """The output of equal texts of one word, with a memory of which all places are alike unless it is given."""
    memory = trial.memory[:1, :1] if memory is None else memory
    seen, own = torch.ones(texts, 1, 1, length, dtype=torch.bool), make_causal_mask(texts, length)
    return trial.run(model, torch.full((texts, length), 2), memory.expand(texts, length, -1), seen, own)


@fault(
    old="self.dropout(self.token_embedding(tokens) + self.position_embedding(positions))",
    new="self.token_embedding(tokens) + self.position_embedding(positions)",
    points=1,
    title={
        "en": "Dropout acts on the embedded tokens while training",
        "de": "Beim Training wirkt Dropout auf die eingebetteten Tokens",
    },
)
def embedding_dropout(student, reference, draw):
    """Some features of words that stand in one place each have no part while training; so have some of places."""
    trial = try_out(student, draw)
    model, own = trial.model(), trial.once(trial.special_weights, 1)
    if own.sum() != (WIDTH - USUAL) * WIDTH:
        raise Unclear("the words have no table as wide as the model: what is dropped cannot be seen in it")
    training = trial.make(dropout=0.5, training=True)
    training.set_weights(model.get_weights())
    try:
        assert_dropout(training, trial.once(trial.special_words), own, features=USUAL)
    except Wrong:
        if drops_what_is_mixed(trial):
            raise Unclear("something is dropped, and not of single features of the words") from None
        raise
    if has_relative_places(trial):
        return  # there is no table of places
    n = 10 + WIDTH
    longer = trial.inputs(trial.words(n, n), trial.normal(n, n, WIDTH), None, all_open(n, n))
    try:
        places = model.find_own_weights(trial.once(trial.many_words), longer, features=USUAL)
    except IndexError:
        return
    slopes = training.find_slopes(*longer, features=USUAL, seed=2, texts=1)
    if 0 < 0.98 * places.sum() < (slopes * places).count_nonzero() and holds(shape_order):
        raise Wrong("all features of the places are kept")


def drops_what_is_mixed(trial):
    """Whether without layers the scores are random and none is 0, and yet all features of words and places count."""
    training = trial.make(layers=0, dropout=0.5, training=True)
    inputs = trial.once(trial.special_words)
    outputs = [trial.run(training, *inputs, seed=seed) for seed in (1, 2)]
    if not find_moved(*outputs).any() or (outputs[0] == 0).any():
        return False
    n = 10 + WIDTH
    longer = trial.inputs(trial.words(n, n), trial.normal(n, n, WIDTH))
    for special, texts in ((inputs, None), (longer, 1)):  # rows of words, and of places
        own = trial.make(layers=0).find_own_weights(trial.once(trial.many_words), special, features=USUAL)
        slopes = training.find_slopes(*special, features=USUAL, seed=2, texts=texts) * own
        if int(slopes.count_nonzero()) < 0.98 * int(own.sum()):
            return False
    return True


@fault(
    old="block(x, memory, memory,",
    new="block(x, memory, x,",
    points=1,
    title={
        "en": "Cross-attention fetches its content from the memory",
        "de": "Die Cross-Attention holt ihren Inhalt aus dem Memory",
    },
)
def cross_value(student, reference, draw):
    """With a single place of the memory, it still moves the output; places that change seats change nothing."""
    trial = try_out(student, draw)
    for layers in trial.depths:
        model = trial.model(layers)
        outputs = (
            trial.run(model, trial.tokens[:1, :1], memory[:1, :1]) for memory in (trial.memory, trial.moved)
        )
        if not find_moved(*outputs).any():
            raise Wrong("the memory is not fetched")
    check_long_memory(trial)
    if trial.once(trial.has_memory_rows):
        raise Unclear("the rows are those of the memory")
    if has_relative_places(trial):
        return  # the order of the memory's places may matter
    for layers in trial.depths:
        there = trial.swapped(layers)
        if there[:, 5:].any() or layers == 1 and trial.once(trial.pooled, layers):
            raise Wrong("what is fetched does not belong to what it is chosen by")
        if there.any():  # the memory is added to the state
            return


def check_long_memory(trial):
    """The last place of a memory that is longer than the text moves the output."""
    half = N // 2
    moved = torch.cat((trial.memory[:, :-1], trial.moved[:, -1:]), 1)
    inputs = trial.tokens[:, :half], trial.memory, torch.ones(N, 1, 1, N, dtype=torch.bool), all_open(N, half)
    try:
        outputs = [
            trial.run(trial.model(), inputs[0], memory, *inputs[2:]) for memory in (trial.memory, moved)
        ]
    except (RuntimeError, IndexError, Unclear):
        return  # masks that are exchanged do not fit: that is another fault
    if not find_moved(*outputs).any() and holds(cross_mask):
        raise Wrong("what of the memory is longer than the text is not fetched")


@fault(
    old="return self.output_head(x)",
    new="return x",
    points=1,
    title={
        "en": "The result scores the words of the vocabulary",
        "de": "Das Ergebnis bewertet die Wörter des Vokabulars",
    },
)
def output_head(student, reference, draw):
    """A number for each word of the vocabulary, by weights that grow with it and have a part."""
    trial = try_out(student, draw)
    if trial.why_misread:
        raise Wrong(trial.why_misread)
    if 2 not in trial.depths:
        raise Wrong("two layers do not work")
    if trial.once(trial.finds_new_weights):
        raise Wrong("the head is another one in each pass")
    if (width := trial.run(trial.model(2), trial.tokens, trial.memory).shape[2]) != WORDS:
        raise Wrong(f"with two layers {width} numbers for {WORDS} words")
    few, many = trial.model(), trial.make(n_tokens=140)
    assert_head(few, many, trial.inputs(trial.tokens, trial.memory), (WORDS, 140), WIDTH)
