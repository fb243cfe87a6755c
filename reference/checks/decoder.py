"""The exam's decoder with eight planted faults."""

from __future__ import annotations

import torch

from autograder.checking import Unclear, Wrong, assert_close, fault, holds, probe, solution
from autograder.checking.transformers import (
    StudentModel,
    assert_dropout,
    assert_head,
    assert_residual,
    count_distinct,
    find_moved,
    make_causal_mask,
    measure_change,
    remember,
)
from reference.checks.decoder_trial import (
    INNER,
    PLACE,
    USUAL,
    WIDTH,
    WORDS,
    N,
    NotFiniteError,
    Trial,
    all_open,
)
from reference.listings import GIVEN, RIGHT

solution(source=RIGHT, given=GIVEN)


def try_out(student, draw):
    """Return what is found out about the answer, for all properties."""
    return remember(student, lambda: Trial(student, draw.restarted()), "trial")


def follow_words(student, draw):
    """Return the same, for properties that can be seen only if the rows are those of the words."""
    trial = try_out(student, draw)
    if trial.once(trial.has_memory_rows):
        raise Unclear("the rows are those of the memory")
    return trial


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
    """Check that a word moves just the places that the target's mask shows it to.

    If the cross-attention also reads the target, its mask hides all but the first place, which no later word
    moves; and with other masks a word may also move what a place of the memory moves.
    """
    trial = follow_words(student, draw)
    reads_target = not holds(cross_value)
    if reads_target and trial.once(trial.reads_hidden_places):  # the cross-attention shows every word
        if trial.moved_by_hidden_swap().any():
            raise Wrong("a word is seen that the target's mask hides")
        return
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
    """Check that with small weights a word moves its own place far more than others; and that it is a sum."""
    trial = follow_words(student, draw)
    for layers in trial.depths:
        sum_up(trial, layers)
    check_sum(trial)
    check_every_layer(trial)
    trial.refuse_another_training()


def small_residual(student, reference, draw):
    sum_up(try_out(student, draw))


def sum_up(trial, layers=1):
    assert_residual(trial.once(trial.small_effect, layers)[INNER, INNER])


def check_sum(trial):
    """Check with a last word that no attention sees: its embedding is nothing, then huge on either side."""
    n = 11
    memory, tokens = trial.normal(n, n, WIDTH), trial.words(n, n)
    tokens[:, -1] = USUAL + torch.arange(n) % (WIDTH - USUAL)
    others, last = (tokens + 1) % USUAL, tokens.clone()
    others[:, -1], last[:, -1] = tokens[:, -1], tokens[:, -1].roll(1)
    seen, own = torch.ones(n, 1, 1, n, dtype=torch.bool), make_causal_mask(n, n)
    seen[..., -1], own[..., -1, 1:] = False, False
    model, weights = trial.model(), trial.once(trial.get_weights, 1)
    idle = trial.once(trial.idle_weights, 1)
    mask = idle & model.find_used_weights(tokens, memory, seen, own, features=USUAL)

    def both(size, other):
        calls = [(words, memory, seen, own) for words in (tokens, other)]
        outputs = trial.score_each(model, calls, weights=torch.where(mask, size, weights))
        return find_moved(*outputs)[:, -1].any()

    if not both(torch.zeros_like(weights), others) and holds(self_mask):
        raise Wrong("where the state is nothing, what attention brings is lost: no sum")
    if not both(-1e6 * weights.abs(), last) or not both(1e6 * weights.abs(), last):
        raise Wrong("a huge state is not read: no sum")


def check_every_layer(trial):
    """Check that the second layer adds what it was given, not the embeddings.

    A huge embedding of the last word drowns the other words no more than in one layer.
    """
    if 2 not in trial.depths or not all(holds(check) for check in (self_mask, cross_value)):
        return
    grown, used = trial.once(trial.grown_weights)
    if used < grown / 2:
        return
    effects = [drown(trial, layers) for layers in (1, 2)]
    if effects[0][1] > 1e-3 > effects[1][0]:  # normalised before the memory is added, and yet
        raise Wrong("the last word's embedding drowns what a second layer brings")


def drown(trial, layers):
    """Return how far other words, and the memory, move the last word's scores if its embedding is huge."""
    last, huge = PLACE == N - 1, trial.words(N, N, USUAL, WIDTH)
    own = make_causal_mask(N, N) & ~torch.eye(N, dtype=torch.bool) | (torch.arange(N * N) == 0).view(N, N)
    mask, weights = trial.once(trial.special_weights, layers), trial.once(trial.get_weights, layers)
    words, others = (torch.where(last, huge, tokens) for tokens in (trial.tokens, trial.others))
    calls = ((words, trial.memory), (others, trial.memory), (words, trial.moved))
    usual, others, memory = trial.score_each(
        trial.model(layers),
        [(*call, None, own) for call in calls],
        weights=torch.where(mask, 1e6 * weights, weights),
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
    """Check that a place of the memory moves all places of its text if its mask shows it, and none if not."""
    trial = follow_words(student, draw)
    for layers in trial.depths:
        for number in (0, 1):
            memory = trial.once(trial.moved_by_memory, layers, number)
            if (not memory.any() and not trial.reads_memory(layers)) or trial.once(trial.pooled, layers):
                raise Unclear("the memory is not read, or in one lump: no mask can be seen to act")
            elsewhere = memory != trial.masks(number)[0][:, 0, 0].diagonal()[:, None]
            if layers == 1:
                beside = elsewhere.diagonal().any()
                elsewhere.fill_diagonal_(
                    False
                )  # where the memory is added to the state, that is another fault
            if (not beside and elsewhere.any()) or (layers == 1 and elsewhere.any()):
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
    """Check that as many places as `max_len` says can be read, each as its own."""
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
    """Return whether a text of all words, one word shorter than allowed, leaves a row of a table unread."""
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
    """Return whether each place is told from all others: with one word everywhere, or by the order of words.

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
    """Return whether places are told by distances alone: equal words give equal rows, but order matters."""
    output = same_words(trial, trial.model(), N, N)
    return count_distinct(output.flatten(0, 1)) == 1 and orders_differ(trial, trial.model(), N)


def orders_differ(trial, model, length):
    """Return whether words that change seats with their neighbours move another place, each pair of them."""
    pairs = length - 1
    tokens = trial.words(1, length).expand(pairs, -1).clone()
    pair = torch.arange(pairs)
    tokens[pair, pair + 1] = (tokens[pair, pair] + 1) % USUAL
    swapped = tokens.clone()
    swapped[pair, pair], swapped[pair, pair + 1] = tokens[pair, pair + 1], tokens[pair, pair]
    memory = trial.memory[:1, :1].expand(pairs, length, -1)
    calls = [(words, memory, None, all_open(pairs, length)) for words in (tokens, swapped)]
    there = find_moved(*trial.run_each(model, calls))
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
    """Check with one word everywhere: texts are alike, places differ, longer texts begin as shorter ones."""
    trial = follow_words(student, draw)
    model = trial.model()
    outputs = trial.run_each(model, [(trial.tokens, trial.memory)] * 2, seeds=(1, 2))
    if find_moved(*outputs).any() and not trial.once(trial.finds_new_weights):
        raise Unclear("the output is another one each time")
    sizes = ((2, 9), (9, 2), (1, 5), (3, 1))
    outputs = trial.run_each(model, [make_equal_texts(trial, *size) for size in sizes])
    for texts, length in sizes:
        try:
            output = next(outputs)
        except NotFiniteError:
            raise
        except (RuntimeError, IndexError, Unclear) as error:
            trial.run(model, trial.tokens, trial.memory)  # where this does not work either, nothing is known
            raise Wrong(f"{texts} texts of {length} words: {error}") from error
        if find_moved(output[:1], output[-1:]).any():
            raise Wrong("the same text is another one in another row")
        if length > 1 and not find_moved(output[:, :1], output[:, 1:2]).any():
            output = trial.run(model, *make_equal_texts(trial, texts, length, trial.normal(1, length, WIDTH)))
            if not find_moved(output[:, :1], output[:, 1:2]).any() and not has_relative_places(trial):
                raise Wrong("all places are alike")
    if all(holds(check) for check in (self_mask, cross_mask, cross_value, small_residual)):
        compare_lengths(trial, model)


def compare_lengths(trial, model):
    """Check that a longer text begins as a shorter one, with a memory of another length."""
    sizes = ((4, 2), (1, 4), (3, 1))
    calls = [(torch.full(size, 2), trial.memory[:1, :7].expand(size[0], -1, -1)) for size in sizes]
    outputs = trial.run_each(model, [(torch.full((2, 5), 2), trial.memory[:2, :7]), *calls])
    try:
        whole = next(outputs)
    except (RuntimeError, IndexError) as error:
        raise Wrong(f"words and memory of two lengths: {error}") from error
    for (_, length), shorter in zip(sizes, outputs, strict=True):
        if find_moved(whole[:1, :length], shorter[:1]).any():
            raise Wrong("where the same text is longer, it begins otherwise")


def make_equal_texts(trial, texts, length, memory=None):
    """Return equal texts of one word as inputs; all places of the memory are alike unless it is given."""
    memory = trial.memory[:1, :1] if memory is None else memory
    seen, own = torch.ones(texts, 1, 1, length, dtype=torch.bool), make_causal_mask(texts, length)
    return torch.full((texts, length), 2), memory.expand(texts, length, -1), seen, own


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
    """Check that while training some features of words that stand once have no part, and some of places."""
    trial = try_out(student, draw)
    model, own = trial.model(), trial.once(trial.special_weights, 1)
    if own.sum() != (WIDTH - USUAL) * WIDTH:
        raise Unclear("the words have no table as wide as the model: what is dropped cannot be seen in it")
    training = trial.make(dropout=0.5, train=True)
    training.set_weights(trial.once(trial.get_weights, 1))
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
        idle = trial.once(trial.idle_weights, 1)
        places = idle & model.find_used_weights(*longer, features=USUAL)
    except IndexError:
        return
    slopes = training.find_slopes(*longer, features=USUAL, seed=2, texts=1)
    if 0 < 0.98 * places.sum() < (slopes * places).count_nonzero() and holds(shape_order):
        raise Wrong("all features of the places are kept")


def drops_what_is_mixed(trial):
    """Return whether without layers scores are random, but no feature of words or places is dropped."""
    training = trial.make(layers=0, dropout=0.5, train=True)
    inputs = trial.once(trial.special_words)
    outputs = [*trial.run_each(training, [inputs] * 2, seeds=(1, 2))]
    if not find_moved(*outputs).any() or (outputs[0] == 0).any():
        return False
    n = 10 + WIDTH
    longer = trial.inputs(trial.words(n, n), trial.normal(n, n, WIDTH))
    model = trial.make(layers=0)
    idle = model.find_idle_weights(*trial.once(trial.many_words), features=USUAL)
    for special, texts in ((inputs, None), (longer, 1)):  # rows of words, and of places
        own = idle & model.find_used_weights(*special, features=USUAL)
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
    """Check that a memory of one place moves the output, and that places which change seats move nothing."""
    trial = try_out(student, draw)
    for layers in trial.depths:
        if not find_moved(*run_on_one_place(trial, trial.model(layers))).any():
            raise Wrong("the memory is not fetched")
    check_long_memory(trial)
    if trial.once(trial.has_memory_rows):
        raise Unclear("the rows are those of the memory")
    if has_relative_places(trial):
        return  # the order of the memory's places may matter
    for layers in trial.depths:
        there = trial.swapped(layers)
        if there[:, 5:].any() or (layers == 1 and trial.once(trial.pooled, layers)):
            raise Wrong("what is fetched does not belong to what it is chosen by")
        if there.any():  # the memory is added to the state
            return


def run_on_one_place(trial, model):
    """Return what comes of two memories of one place, so that it does not matter where is looked."""
    memories = [memory[:1, :1] for memory in (trial.memory, trial.moved)]
    try:
        return [*trial.run_each(model, [(trial.tokens[:1, :1], memory) for memory in memories])]
    except Unclear:
        raise
    except (
        Exception
    ):  # it does not work for one text or word, which is another fault: many equal places do as well
        calls = [(trial.tokens, memory.expand(N, N, -1)) for memory in memories]
        return [*trial.run_each(model, calls)]


def check_long_memory(trial):
    """Check that the last place of a memory which is longer than the text moves the output."""
    half = N // 2
    moved = torch.cat((trial.memory[:, :-1], trial.moved[:, -1:]), 1)
    inputs = trial.tokens[:, :half], trial.memory, torch.ones(N, 1, 1, N, dtype=torch.bool), all_open(N, half)
    try:
        calls = [(inputs[0], memory, *inputs[2:]) for memory in (trial.memory, moved)]
        outputs = [*trial.run_each(trial.model(), calls)]
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
    """Check for a number for each word, by weights that grow with the vocabulary and have a part."""
    trial = try_out(student, draw)
    if trial.why_misread:
        raise Wrong(trial.why_misread)
    if 2 not in trial.depths:
        raise Wrong("two layers do not work")
    if trial.once(trial.finds_new_weights):
        raise Wrong("the head is another one in each pass")
    if (width := trial.once(trial.plain, 2).shape[2]) != WORDS:
        raise Wrong(f"with two layers {width} numbers for {WORDS} words")
    few, many = trial.model(), trial.make(n_tokens=140)
    assert_head(few, many, trial.inputs(trial.tokens, trial.memory), (WORDS, 140), WIDTH)


@probe
def same_numbers(student, reference, draw):
    """Compare scores with the solution's, if the weights have its names and shapes."""
    trial = try_out(student, draw)
    mine, right = trial.make(2), StudentModel(reference.Decoder, (WORDS, WIDTH, 2, 3, 20, 0.0, 64), seed=3)
    if mine.list_weights() != right.list_weights():
        raise Unclear("other weights than the solution's")
    mine.set_weights(right.get_weights())
    inputs = trial.tokens, trial.memory, *trial.masks(0)
    assert_close(trial.run(mine, *inputs), right.run(*inputs), rtol=1e-6, atol=1e-8)
