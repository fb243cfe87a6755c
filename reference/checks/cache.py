"""Generation with a cache, with seven planted faults.

Weights are chosen so that all faults but the one in question do nothing: a width of 1 is its own root, with
the identity keys are what they are made of, and equal projections cannot be confused.
"""

import torch

from autograder.checking import assert_close, assert_equal, fault, planted, probe, solution
from autograder.checking.transformers import count_distinct
from reference.checks.weights import make_with_weights

solution("repair/cache.py")

TOKENS, LONGEST = 6, 16
NO_END = 99


def make_decoder(kind, draw, width=4, **chosen):
    """Return a decoder with drawn weights, but for the chosen ones: names such as ``key`` → weight."""
    shapes = {"token": TOKENS, "position": LONGEST, "query": width, "key": width, "value": width}
    weights = {name: draw.normal(rows, width) / 2 for name, rows in (shapes | {"output": TOKENS}).items()}
    weights = {f"{name}.weight": weight for name, weight in (weights | chosen).items()}
    return make_with_weights(kind, (TOKENS, width, LONGEST), weights).handle


def run_steps(decoder, tokens):
    """Return the logits after each token."""
    return torch.stack([decoder.step(token).detach() for token in tokens])


def compare_steps(student, reference, draw, **chosen):
    """Compare the logits of the right decoder with the same weights."""
    tokens = draw.permutation(TOKENS).tolist()
    found, right = (
        run_steps(make_decoder(kind, draw.restarted(), **chosen), tokens)
        for kind in (student.CachedDecoder, reference.CachedDecoder)
    )
    assert_close(found, right)


@fault(
    "self.position.weight[len(self.keys)]",
    "self.position.weight[0]",
    points=1,
    title={"en": "Every token has its own position", "de": "Jedes Token hat seine eigene Position"},
)
def position(student, reference, draw):
    """Without positions the same token always gives the same logits."""
    logits = run_steps(make_decoder(student.CachedDecoder, draw), [2] * 8)
    assert_equal(count_distinct(logits.double()), 8)


@fault(
    "self.keys.append(self.key(x))",
    "self.keys.append(x)",
    points=1,
    title={
        "en": "Keys are kept as they were projected",
        "de": "Keys werden so aufgehoben, wie sie projiziert wurden",
    },
)
def keys(student, reference, draw):
    """Scores are small, so that no key wins all by itself."""
    both = draw.uniform(1, 1, low=2, high=3)
    compare_steps(
        student,
        reference,
        draw,
        width=1,
        token=torch.linspace(-1, 1, TOKENS)[:, None],
        position=torch.zeros(LONGEST, 1),
        query=torch.eye(1),
        key=both,
        value=both,
    )


@fault(
    "self.values.append(self.value(x))",
    "self.values.append(self.key(x))",
    points=1,
    title={"en": "Values have a projection of their own", "de": "Values haben eine eigene Projektion"},
)
def values(student, reference, draw):
    own = draw.uniform(1, 1, low=2, high=3)
    positions = torch.zeros(LONGEST, 1)
    compare_steps(student, reference, draw, width=1, key=torch.eye(1), value=own, position=positions)


@fault(
    "math.sqrt(x.shape[0])",
    "x.shape[0]",
    points=1,
    title={
        "en": "Scores are divided by the root of the width",
        "de": "Scores werden durch die Wurzel der Breite geteilt",
    },
)
def scale(student, reference, draw):
    same = torch.eye(4)
    compare_steps(student, reference, draw, key=same, value=same, position=torch.zeros(LONGEST, 4))


@fault(
    "        self.reset()\n        for token in prompt:",
    "        for token in prompt:",
    points=1,
    title={
        "en": "A new text begins with an empty cache",
        "de": "Ein neuer Text beginnt mit einem leeren Cache",
    },
)
def reset(student, reference, draw):
    """Compare a decoder that was used before with a fresh one, by what a further token gives."""
    used, fresh = (make_decoder(student.CachedDecoder, draw.restarted()) for _ in range(2))
    used.step(1)
    used.generate([3, 5], 2, NO_END)
    tokens = [decoder.generate([0, 4], 3, NO_END) for decoder in (used, fresh)]
    assert_equal(list(tokens[0]), list(tokens[1]))
    assert_close(run_steps(used, [2]), run_steps(fresh, [2]))


def make_counter(student, draw):
    """Return a decoder that counts: whatever came before, each token is followed by the next one."""
    next_token = torch.eye(TOKENS).roll(1, dims=0)
    nothing = torch.zeros(TOKENS, TOKENS)
    positions = torch.zeros(LONGEST, TOKENS)
    return make_decoder(
        student.CachedDecoder,
        draw,
        width=TOKENS,
        token=torch.eye(TOKENS),
        position=positions,
        key=nothing,
        value=nothing,
        output=next_token,
    )


@fault(
    "logits = self.step(tokens[-1])",
    "logits = self.step(prompt[-1])",
    points=1,
    title={
        "en": "The token that was generated is the next input",
        "de": "Das erzeugte Token ist die nächste Eingabe",
    },
)
def fed(student, reference, draw):
    generated = make_counter(student, draw).generate([1, 2], 5, NO_END)
    assert_equal(list(generated), [3, 4, 5, 0, 1])


@fault(
    "tokens[-1] == end",
    "token == end",
    points=1,
    title={
        "en": "A text ends with a token that was generated",
        "de": "Ein Text endet mit einem erzeugten Token",
    },
)
def end(student, reference, draw):
    """The first token that is generated ends the text; the last one of the prompt does not."""
    assert_equal(list(make_counter(student, draw).generate([1, 2], 5, 3)), [3])
    assert_equal(len(make_counter(student, draw).generate([1, 3], 5, 3)), 5)


@probe
def same_tokens(student, reference, draw):
    mine, right = (
        make_decoder(kind, draw.restarted()) for kind in (student.CachedDecoder, reference.CachedDecoder)
    )
    for _ in range(10):
        prompt = draw.integers(0, TOKENS, 4).tolist()
        assert_equal(list(mine.generate(prompt, 6, 4)), list(right.generate(prompt, 6, 4)))


HEAD = """
import torch
from torch import nn

class CachedDecoder(nn.Module):
    def __init__(self, tokens, width, longest):
        super().__init__()
        self.position = nn.Embedding(longest, width)
        self.token = nn.Embedding(tokens, width)
        self.key, self.value, self.query = (nn.Linear(width, width, bias=False) for _ in range(3))
        self.output = nn.Linear(width, tokens, bias=False)
        self.reset()
"""
planted(
    "a cache in one tensor, and the last token is not fed",
    HEAD
    + """
    def reset(self):
        self.cache = torch.zeros(2, 0, self.position.embedding_dim)

    def step(self, token):
        x = self.token(torch.tensor(token)) + self.position(torch.tensor(self.cache.shape[1]))
        new = torch.stack([self.key(x), self.value(x)])
        self.cache = torch.cat([self.cache, new[:, None]], dim=1)
        weights = (self.cache[0] * self.query(x)).sum(-1).mul(x.numel() ** -0.5).softmax(-1)
        return self.output(x + (weights[:, None] * self.cache[1]).sum(0))

    @torch.no_grad()
    def generate(self, prompt, new, end):
        self.reset()
        logits = [self.step(token) for token in prompt][-1]
        found = []
        for turn in range(new):
            best = logits.topk(1).indices.item()
            found += [best]
            if best == end or turn == new - 1:
                return found
            logits = self.step(best)
        return found
""",
)
planted(
    "without a cache",
    HEAD
    + """
    def reset(self):
        self.seen = []

    def step(self, token):
        self.seen = self.seen + [token]
        x = self.token.weight[self.seen] + self.position.weight[:len(self.seen)]
        q, k, v = self.query(x[-1:]), self.key(x), self.value(x)
        mixed = nn.functional.scaled_dot_product_attention(q[None], k[None], v[None])[0, 0]
        return self.output(mixed) + self.output(x[-1])

    def generate(self, prompt, new, end):
        self.reset()
        text = list(prompt)
        for token in text[:-1]:
            self.step(token)
        while len(text) < len(prompt) + new and (len(text) == len(prompt) or text[-1] != end):
            text.append(self.step(text[-1]).argmax(-1).item())
        return text[len(prompt):]
""",
)
planted(
    "forgets at the end of a text",
    HEAD
    + """
    def reset(self):
        self.keys, self.values = [], []

    def step(self, token):
        x = self.token.weight[token] + self.position.weight[len(self.keys)]
        self.keys.append(self.key(x))
        self.values.append(self.value(x))
        scores = torch.stack(self.keys) @ self.query(x) / x.shape[0] ** 0.5
        return self.output(scores.softmax(dim=0) @ torch.stack(self.values) + x)

    def generate(self, prompt, new, end):
        tokens = []
        for token in prompt:
            logits = self.step(token)
        while len(tokens) < new:
            tokens.append(int(logits.argmax()))
            if tokens[-1] == end:
                break
            logits = self.step(tokens[-1])
        self.reset()
        return tokens
""",
)
