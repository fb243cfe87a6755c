"""Temperature, top-k and top-p, with seven planted faults.

Probabilities are looked at without their places, or by ratios, where another fault moves or scales them.
"""

import torch

from autograder.checking import Wrong, assert_close, assert_equal, fault, planted, probe, solution

solution("repair/sampling.py")

SHARES = torch.tensor([0.4, 0.35, 0.15, 0.1])
"""Of four tokens."""


def rank(student, logits, *options):
    """Return the probabilities of each row, the largest first."""
    found = student.Sampler(*options).probabilities(logits)
    return torch.as_tensor(found).sort(-1, descending=True).values


@fault(
    "logits / self.temperature",
    "logits * self.temperature",
    points=1,
    title={
        "en": "A high temperature makes tokens more alike",
        "de": "Eine hohe Temperatur gleicht Tokens an",
    },
)
def temperature(student, reference, draw):
    """Compare ratios of the largest probabilities: the smallest one may have been dropped."""
    logits = draw.normal(3, 6)
    ordered = logits.sort(-1, descending=True).values[:, :3]
    for degrees in (0.5, 0.8, 2.0):
        ratios = rank(student, logits, degrees)[:, :3].log().diff(dim=-1)
        assert_close(ratios, ordered.diff(dim=-1) / degrees, rtol=1e-3)


@fault(
    "scaled.topk(self.top_k)",
    "scaled.topk(self.top_k + 1)",
    points=1,
    title={"en": "Exactly k tokens are left by top-k", "de": "Top-k lässt genau k Tokens übrig"},
)
def top_k(student, reference, draw):
    """Compare with a vocabulary of the k best tokens alone: top-p cuts both in the same way.

    Next to 20, a token with a logit of 0 is as good as left out.
    """
    logits = 20 + draw.uniform(6, high=0.05)
    for k in (2, 3, 4):
        some, alone = rank(student, logits[None], 1.0, k, 0.9), logits.topk(k).values
        assert_close(some[:, :k], rank(student, alone[None], 1.0, 0, 0.9), rtol=1e-3)
        assert int((some > 0.01).sum()) >= k - 1


@fault(
    'float("-inf")',
    "0.0",
    points=1,
    title={
        "en": "Tokens that are left out have the probability 0",
        "de": "Weggelassene Tokens haben die Wahrscheinlichkeit 0",
    },
)
def masked(student, reference, draw):
    """Tokens stand in order. A third one may be left by top-k, and the last may be cut by top-p."""
    logits = draw.uniform(1, 6, low=0.5, high=3).sort(-1, descending=True).values
    for shift in (0.0, -20.0):
        left = student.Sampler(1.0, 2).probabilities(logits + shift)
        assert_close(left[:, 3:], torch.zeros(1, 3))


@fault(
    "before >= self.top_p",
    "before + ordered >= self.top_p",
    points=1,
    title={
        "en": "The token with which p is reached is left by top-p",
        "de": "Das Token, mit dem p erreicht wird, bleibt bei Top-p übrig",
    },
)
def top_p(student, reference, draw):
    logits = SHARES[draw.permutation(4)].log()[None]
    for p, count in ((0.3, 1), (0.6, 2), (0.8, 3)):
        assert_equal(int((student.Sampler(1.0, 0, p).probabilities(logits) > 0).sum()), count)


@fault(
    "torch.zeros_like(ordered).scatter(-1, tokens, ordered)",
    "ordered",
    points=1,
    title={
        "en": "Probabilities stand at their tokens",
        "de": "Wahrscheinlichkeiten stehen bei ihren Tokens",
    },
)
def order(student, reference, draw):
    logits = draw.normal(8, 5)
    found = student.Sampler().probabilities(logits)
    assert_equal(found.argsort(-1).tolist(), logits.argsort(-1).tolist())


@fault(
    "kept / kept.sum(dim=-1, keepdim=True)",
    "kept",
    points=1,
    title={"en": "Probabilities add up to 1", "de": "Wahrscheinlichkeiten ergeben zusammen 1"},
)
def total(student, reference, draw):
    logits = SHARES[draw.permutation(4)].log()[None]
    for options in ((1.0, 0, 0.6), (1.0, 0, 0.8), (1.0, 3, 0.7)):
        assert_close(student.Sampler(*options).probabilities(logits).sum(-1), torch.ones(1))


@fault(
    "self.probabilities(logits)",
    "logits.softmax(dim=-1)",
    points=1,
    title={
        "en": "Tokens are chosen by what is left of the distribution",
        "de": "Tokens werden nach dem gewählt, was von der Verteilung bleibt",
    },
)
def sampled(student, reference, draw):
    """A number in the middle of a token's own share gives this token, whatever the probabilities are."""
    sampler = student.Sampler(0.5, 3)
    for logits in draw.normal(8, 6):
        shares = torch.as_tensor(sampler.probabilities(logits[None]))[0]
        tokens = shares.nonzero()[:, 0]
        middles = (shares.cumsum(0) - shares / 2)[tokens]
        chosen = sampler.sample(logits.expand(len(tokens), -1), middles)
        if torch.as_tensor(chosen).tolist() != tokens.tolist():
            raise Wrong(f"chose {chosen}, expected {tokens}")


@probe
def same_numbers(student, reference, draw):
    logits, numbers = draw.normal(30, 7), draw.uniform(30)
    for options in ((0.8, 3, 0.7), (1.5, 0, 0.9), (1.0, 5, 1.0)):
        mine, right = student.Sampler(*options), reference.Sampler(*options)
        assert_close(mine.probabilities(logits), right.probabilities(logits))
        assert_equal(mine.sample(logits, numbers).tolist(), right.sample(logits, numbers).tolist())


planted(
    "token by token",
    """
import torch

class Sampler:
    def __init__(self, temperature=1.0, top_k=0, top_p=1.0):
        self.args = temperature, top_k or None, top_p

    def probabilities(self, logits):
        temperature, k, p = self.args
        rows = []
        for row in logits.tolist():
            best = sorted(range(len(row)), key=lambda token: -row[token])[:k]
            weights = {token: 2.718281828459045 ** (row[token] / temperature) for token in best}
            total, kept, so_far = sum(weights.values()), {}, 0.0
            for token, weight in weights.items():
                if so_far >= p:
                    break
                kept[token] = weight
                so_far += weight / total
            rows.append([kept.get(token, 0.0) / sum(kept.values()) for token in range(len(row))])
        return torch.tensor(rows)

    def sample(self, logits, numbers):
        return torch.searchsorted(self.probabilities(logits).cumsum(-1), numbers[:, None], right=True)[:, 0]
""",
)
planted(
    "logits that are masked twice",
    """
import torch

class Sampler:
    def __init__(self, temperature=1.0, top_k=0, top_p=1.0):
        self.temperature, self.k, self.p = temperature, top_k, top_p

    def probabilities(self, logits):
        logits = logits / self.temperature
        if self.k > 0:
            best = logits.topk(min(self.k, logits.size(-1)))
            logits = torch.full_like(logits, -torch.inf).scatter(-1, best.indices, best.values)
        if self.p < 1:
            order = logits.argsort(-1, descending=True)
            reached = logits.gather(-1, order).softmax(-1).cumsum(-1)
            drop = torch.zeros_like(reached, dtype=torch.bool)
            drop[..., 1:] = reached[..., :-1] >= self.p
            logits = logits.masked_fill(drop.gather(-1, order.argsort(-1)), -1e9)
        return logits.softmax(-1)

    def sample(self, logits, numbers):
        return (self.probabilities(logits).cumsum(-1) > numbers.unsqueeze(-1)).int().argmax(-1)
""",
)
planted(
    "always the best token",
    """
class Sampler:
    def __init__(self, temperature=1.0, top_k=0, top_p=1.0):
        pass

    def probabilities(self, logits):
        return (logits == logits.max(-1, keepdim=True).values).float()

    def sample(self, logits, numbers):
        return logits.argmax(-1)
""",
    loses=["temperature", "top_k", "top_p", "order"],
)
