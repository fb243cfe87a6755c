"""Multi-head attention over texts of different lengths, with eight planted faults.

Weights are chosen so that all faults but the one in question do nothing: a single head is neither split nor
joined, and scales by the root of the whole width; keys and values that are projected alike cannot be
confused; without a query all scores are 0.
"""

import torch

from autograder.checking import Wrong, assert_close, fault, holds, planted, probe, solution
from autograder.checking.transformers import StudentModel, assert_shown, find_effects
from reference.checks.weights import make_with_weights

solution("repair/attention.py")


def attend(kind, x, heads=1, lengths=None, **chosen):
    """Return the output of an attention: but for the chosen maps, the identity, and queries that are 0.

    Args:
        kind: the class.
        x: (texts, places, width).
        heads: how many.
        lengths: of the texts; None: no padding.
        chosen: such as ``key`` or ``key_bias`` → weight.
    """
    texts, length, width = x.shape
    weights = dict.fromkeys(("key", "value", "output"), torch.eye(width)) | {
        "query": torch.zeros(width, width)
    }
    weights |= {f"{name}_bias": torch.zeros(width) for name in weights}
    weights = {
        name.replace("_", ".") if "_" in name else f"{name}.weight": weight
        for name, weight in (weights | chosen).items()
    }
    model = make_with_weights(kind, (width, heads), weights)
    lengths = torch.full((texts,), length) if lengths is None else lengths
    return model.run(x, lengths).detach()


@fault(
    "math.sqrt(queries.shape[-1])",
    "math.sqrt(x.shape[-1])",
    points=1,
    title={
        "en": "Scores are divided by the root of a head's width",
        "de": "Scores werden durch die Wurzel der Breite eines Kopfes geteilt",
    },
)
def scale(student, reference, draw):
    """A head of one feature gives the same beside a second one for which there is nothing but zeros.

    Only the first place has something for the first head, so that it does not matter how places are dealt out
    to heads; and the outputs are compared without their places.
    """
    size, bias = draw.uniform(2, low=1, high=2)
    one = attend(
        student.MultiHeadAttention,
        torch.tensor([[[1.0], [0.0]]]),
        query=size.view(1, 1),
        query_bias=bias.view(1),
        key=size.view(1, 1),
        value=size.view(1, 1),
    )
    first = torch.tensor([[1.0, 0.0], [0.0, 0.0]])
    two = attend(
        student.MultiHeadAttention,
        first[None],
        heads=2,
        query=size * first,
        query_bias=bias.expand(2),
        key=size * first,
        value=size * first,
    )
    assert one[0, 1] > 0
    assert_close(two.flatten().sort(descending=True).values[:2], one.flatten().sort(descending=True).values)
    if all(map(holds, (softmax, future, values))):
        x, both = draw.normal(2, 5, 4), draw.normal(4, 4)
        chosen = {"query": draw.normal(4, 4), "key": both, "value": both}
        assert_close(
            attend(student.MultiHeadAttention, x, **chosen), attend(reference.MultiHeadAttention, x, **chosen)
        )


@fault(
    "positions[None, :] > positions[:, None]",
    "positions[None, :] > positions[:, None] + 1",
    points=1,
    title={"en": "No position looks at a later one", "de": "Keine Position schaut auf eine spätere"},
)
def future(student, reference, draw):
    effects = find_effects(
        lambda x: attend(student.MultiHeadAttention, x), draw.normal(5, 5, 4), draw.normal(5, 5, 4)
    )
    assert_shown(effects, torch.ones(5, 5, dtype=torch.bool).triu())


@fault(
    "padding[:, None, None, :]",
    "padding[:, None, :, None]",
    points=1,
    title={"en": "Nothing looks at padding", "de": "Nichts schaut auf die Auffüllung"},
)
def padding(student, reference, draw):
    """Padding moves nothing; if columns add up to 1, where hidden ones are even, words must move padding."""
    lengths = torch.full((5,), 3)
    effects = find_effects(
        lambda x: attend(student.MultiHeadAttention, x, lengths=lengths),
        draw.normal(5, 5, 4),
        draw.normal(5, 5, 4),
    )
    if holds(softmax):
        if effects[3:, 1:].any():
            raise Wrong("padding is seen")
    elif not effects[:3, 3:].any():
        raise Wrong("padding sees nothing")


@fault(
    "scores.softmax(dim=-1)",
    "scores.softmax(dim=-2)",
    points=1,
    title={
        "en": "The weights of a position add up to 1",
        "de": "Die Gewichte einer Position ergeben zusammen 1",
    },
)
def softmax(student, reference, draw):
    """If all places are the same, what is fetched is the same as well."""
    x = draw.normal(2, 1, 4).expand(2, 5, 4)
    assert_close(attend(student.MultiHeadAttention, x, query=torch.eye(4)), x)


@fault(
    "self.split(self.value(x))",
    "self.split(self.key(x))",
    points=1,
    title={"en": "Values have a projection of their own", "de": "Values haben eine eigene Projektion"},
)
def values(student, reference, draw):
    """What is fetched grows with the projection of the values."""
    x = draw.normal(2, 5, 4)
    none, once, twice = (
        attend(student.MultiHeadAttention, x, value=size * torch.eye(4)) for size in (0, 1, 2)
    )
    assert_close(none, torch.zeros(2, 5, 4))
    assert_close(twice, 2 * once)
    assert once.any()


@fault(
    "x.view(batch, length, self.heads, width // self.heads).transpose(1, 2)",
    "x.view(batch, self.heads, length, width // self.heads)",
    points=1,
    title={
        "en": "Each head has a part of every position's width",
        "de": "Jeder Kopf hat einen Teil der Breite jeder Position",
    },
)
def split(student, reference, draw):
    """What the middle place brings has equal weights in both heads; outputs are compared without places."""
    x = torch.zeros(2, 3, 2)
    x[0, 1, 0] = x[1, 1, 1] = 1
    first, second = attend(student.MultiHeadAttention, x, heads=2).flatten(1).sort().values
    assert_close(first, second)
    assert (first > 0).sum() > 1


@fault(
    "heads.transpose(1, 2).reshape(x.shape)",
    "heads.reshape(x.shape)",
    points=1,
    title={
        "en": "The heads of a position are joined",
        "de": "Die Köpfe einer Position werden verbunden",
    },
)
def join(student, reference, draw):
    """What only the first head fetches stands in the first part of every place."""
    x = torch.zeros(1, 3, 2)
    x[0, 0, 0] = 1
    output = attend(student.MultiHeadAttention, x, heads=2)
    assert_close(output[..., 1], torch.zeros(1, 3))
    assert output[..., 0].all()


@fault(
    "keys.transpose(-2, -1)",
    "keys.detach().transpose(-2, -1)",
    points=1,
    title={"en": "Keys learn from the scores", "de": "Keys lernen von den Scores"},
)
def gradient(student, reference, draw):
    """The gradient says how the output changes if the weights are moved a little; most weights have one."""
    model = StudentModel(student.MultiHeadAttention, (6, 2))
    inputs = draw.normal(2, 4, 6).double(), torch.tensor([4, 3])
    weights, step = model.get_weights(), 1e-4
    direction = draw.normal(len(weights)).double()
    slopes = model.find_slopes(*inputs)
    if slopes.count_nonzero() < 0.6 * len(weights):
        raise Wrong("queries and keys, half of the weights, have no part")
    sums = []
    for sign in (1, -1):
        model.set_weights(weights + sign * step * direction)
        sums.append(model.run(*inputs).square().sum())
    assert_close(slopes @ direction, (sums[0] - sums[1]) / (2 * step), rtol=1e-5)


@probe
def same_numbers(student, reference, draw):
    x, lengths = draw.normal(3, 5, 6), torch.tensor([2, 5, 3])
    chosen = {name: draw.normal(6, 6) for name in ("query", "key", "value", "output")}
    chosen |= {f"{name}_bias": draw.normal(6) for name in ("query", "key", "value", "output")}
    assert_close(
        *(
            attend(kind, x, 2, lengths, **chosen)
            for kind in (student.MultiHeadAttention, reference.MultiHeadAttention)
        )
    )


HEAD = """
import torch
from torch import nn

class MultiHeadAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.output, self.value, self.key, self.query = (nn.Linear(width, width) for _ in range(4))
        self.heads = heads
"""
planted(
    "torch's own attention",
    HEAD
    + """
    def split(self, x):
        return torch.stack(x.chunk(self.heads, dim=-1), dim=1)

    def forward(self, x, lengths):
        seen = torch.arange(x.size(1)).lt(lengths.unsqueeze(1))[:, None, None]
        allowed = torch.ones(x.size(1), x.size(1)).tril().bool() & seen
        parts = [self.split(layer(x)) for layer in (self.query, self.key, self.value)]
        mixed = nn.functional.scaled_dot_product_attention(*parts, attn_mask=allowed)
        return self.output(torch.cat(mixed.unbind(1), dim=-1))
""",
)
planted(
    "head by head",
    HEAD
    + """
    def forward(self, x, lengths):
        q, k, v = self.query(x), self.key(x), self.value(x)
        size = x.shape[2] // self.heads
        places = torch.arange(x.shape[1])
        hidden = (places > places[:, None]) | (places >= lengths[:, None])[:, None]
        heads = []
        for start in range(0, x.shape[2], size):
            part = slice(start, start + size)
            scores = torch.einsum("bqd,bkd->bqk", q[..., part] * size ** -0.5, k[..., part])
            weights = scores.masked_fill(hidden, -1e9).exp()
            heads.append(weights / weights.sum(-1, keepdim=True) @ v[..., part])
        return self.output(torch.cat(heads, -1))
""",
)
planted(
    "a mask of minus infinity that is added",
    HEAD
    + """
    def split(self, x):
        return x.unflatten(2, (self.heads, -1)).permute(0, 2, 1, 3)

    def forward(self, x, lengths):
        length = x.shape[1]
        mask = torch.full((length, length), float("-inf")).triu(1).repeat(len(x), 1, 1)
        for text, count in enumerate(lengths.tolist()):
            mask[text, :, count:] = float("-inf")
        q, k, v = map(self.split, (self.query(x), self.key(x), self.value(x)))
        scores = torch.matmul(q, k.mT).div(q.size(-1) ** 0.5) + mask.unsqueeze(1)
        joined = (nn.functional.softmax(scores, -1) @ v).permute(0, 2, 1, 3).flatten(2)
        return self.output(joined)
""",
)
planted(
    "a bare projection",
    HEAD
    + """
    def forward(self, x, lengths):
        return self.output(self.value(x))
""",
    loses=["scale", "future", "padding", "split", "join", "gradient"],
)
