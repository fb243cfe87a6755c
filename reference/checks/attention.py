"""Checks of multi-head attention: seven items, and usual mistakes as mutants.

The numbers are compared with the reference's for the student's own weights. Maps under names of one's own are
tried in every order of roles, also three maps in one.
"""

from __future__ import annotations

import functools
import itertools

import torch

from autograder.checking import Unclear, Wrong, assert_close, call, check, forbid, mutant, raises, solution
from autograder.checking.transformers import call_all, list_learning, list_weights, make_models, remember

forbid("MultiheadAttention", "scaled_dot_product_attention", "flex_attention")
solution("attention.py", names={"MyMultiHeadAttention": "MultiHeadAttention"})

ROLES = ("q_proj", "k_proj", "v_proj", "out_proj")
INPUTS = ("query", "key", "value")
SIZES = ((24, 3), (36, 4))
"""(d_model, n_heads): none is a length below, so that a wrong index shows."""


def shapes(model):
    return {name: tuple(shape) for name, shape in list_weights(model)}


class Pair:
    """The student's model of one size, and its weights as the reference has them, for each order of roles.

    It is called once with other inputs before anything is compared: what is kept of a call shows.
    """

    def __init__(self, model, weights, reference, size):
        self.size = size
        self.is_fresh = True
        self.model = model
        self.tied = find_tied(weights)
        self.right = make_right(reference, size)
        if {name: tuple(weight.shape) for name, weight in weights.items()} == shapes(self.right):
            self.states = [weights]
        else:
            self.states = list(wirings(weights, size))

    def plan(self, *inputs, mask=None):
        """Return the calls after which the output can be compared."""
        calls = [(self.model, *inputs, mask)]
        if self.is_fresh:
            self.is_fresh = False
            other = None if mask is None else mask.flip(-1)
            calls.insert(0, (self.model, *(x.flip(0) for x in inputs), other))
        return calls

    def compare(self, outputs, calls):
        """Compare what the last of the planned calls returns with the reference."""
        if self.tied:
            raise Wrong(f"{' and '.join(self.tied)} are one map")
        if not self.states:
            raise Unclear("the maps have other shapes than four of the model's width")
        output = [next(outputs) for _ in calls][-1]
        _, *inputs = calls[-1]
        with torch.no_grad():
            for state in self.states:
                self.right.load_state_dict(state)
                expected = self.right(*inputs)
                if expected.shape == output.shape and torch.allclose(expected, output, 1e-4, 1e-5):
                    break
        assert_close(output, expected)


def compare_all(planned):
    """Compare the outputs of pairs for the calls that they planned, which are made in one step."""
    outputs = attend_all([call for _, calls in planned for call in calls])
    for pair, calls in planned:
        pair.compare(outputs, calls)


@functools.cache
def make_right(reference, size):
    """A reference that all pairs of a size use, each with its own weights: to draw new ones takes long."""
    return reference.MyMultiHeadAttention(*size).eval()


def find_tied(weights):
    """The names of two maps that are one; empty if there are none."""
    maps = {name: weight for name, weight in weights.items() if weight.ndim > 1}
    pairs = itertools.combinations(maps, 2)
    return next((names for names in pairs if torch.equal(maps[names[0]], maps[names[1]])), ())


def make_pairs(student, reference, sizes=SIZES):
    arguments = [{"d_model": d_model, "n_heads": n_heads} for d_model, n_heads in sizes]
    made = make_models(student.MyMultiHeadAttention, arguments)
    return [Pair(*parts, reference, size) for parts, size in zip(made, sizes, strict=True)]


def unmasked_pairs(student, reference):
    """The same models for all calls without a mask, also of other checks: to make them takes longest."""
    return remember(student, lambda: make_pairs(student, reference), "unmasked pairs")


def wirings(weights, size):
    """The student's maps in each order of roles; one map for all three in thirds, or head by head."""
    d_model, n_heads = size
    maps = [
        (weight.squeeze(-1), weights.get(name.removesuffix("weight") + "bias", torch.zeros(len(weight))))
        for name, weight in weights.items()
        if name.endswith("weight")
    ]
    square = [(weight, bias) for weight, bias in maps if weight.shape == (d_model, d_model)]
    orders = []
    if len(square) == 4:
        orders = [dict(zip(ROLES, chosen, strict=True)) for chosen in itertools.permutations(square)]
    fused = [one for one in maps if one[0].shape == (3 * d_model, d_model)]
    for (weight, bias), last in itertools.product(fused, square[:1]):
        by_head = torch.arange(3 * d_model).view(n_heads, 3, -1).transpose(0, 1).flatten()
        for rows, order in itertools.product(
            (torch.arange(3 * d_model), by_head), itertools.permutations(range(3))
        ):
            thirds = [(weight[rows].chunk(3)[third], bias[rows].chunk(3)[third]) for third in order]
            orders.append(dict(zip(ROLES, [*thirds, last], strict=True)))
    for order in orders:
        yield {
            f"{role}.{kind}": value
            for role, pair in order.items()
            for kind, value in zip(("weight", "bias"), pair, strict=True)
        }


def first_of(output):
    """The output of attention: also of a class that returns its weights beside it, which costs one item."""
    return output[0] if isinstance(output, tuple) and output else output


def attend_all(calls):
    """The outputs of the student's models, which have to be tensors.

    Args:
        calls: model, query, key, value and mask of each.
    """
    named = []
    for model, query, key, value, mask in calls:
        more = {} if mask is None else {"mask": mask}
        named.append((model, {"query": query, "key": key, "value": value, **more}))
    for output in map(first_of, call_all(named)):
        if not isinstance(output, torch.Tensor):
            raise Wrong(f"returned {type(output).__name__}, expected a tensor")
        yield output


def attend(model, query, key, value, mask=None):
    return next(attend_all([(model, query, key, value, mask)]))


def draw_inputs(draw, texts, *lengths):
    return {size: [draw.normal(texts, length, size[0]) for length in lengths] for size in SIZES}


@check(
    points=1,
    title={
        "en": "The parameters are as stated, and the projections of query, key and value learn",
        "de": "Die Parameter sind wie angegeben, und die Projektionen von Query, Key und Value lernen",
    },
    parts=("they are as stated", "they learn"),
)
def parameters(student, reference, draw, part):
    d_model, n_heads = SIZES[0]
    model = student.MyMultiHeadAttention(d_model, n_heads)
    if part == "they are as stated":
        own = shapes(model)
        if own != shapes(reference.MyMultiHeadAttention(d_model, n_heads)):
            raise Wrong(f"the parameters are {own}")
        return
    output = first_of(model(*(draw.normal(2, 5, d_model) for _ in range(3))))
    output.pow(3).sum().backward()
    learning = list_learning(model)
    for name, shape in shapes(model).items():
        is_output = len(shape) == 1 or name.startswith("out_proj")
        if not is_output and name not in learning:
            raise Wrong(f"{name} has no gradient")


@check(
    points=0.5,
    title={
        "en": "A width that the heads cannot share is refused",
        "de": "Eine Breite, die sich nicht auf die Köpfe aufteilen lässt, wird abgelehnt",
    },
)
def construct(student, reference, draw):
    with raises(ValueError):
        student.MyMultiHeadAttention(26, 4)
    student.MyMultiHeadAttention(28, 4)


@check(
    points=2,
    title={
        "en": "Self-attention gives the right numbers",
        "de": "Self-Attention ergibt die richtigen Zahlen",
    },
)
def self(student, reference, draw):
    pairs = unmasked_pairs(student, reference)
    compare_without_mask(pairs, draw_inputs(draw, 2, 5))
    pair = pairs[0]
    x = draw.normal(2, 5, pair.size[0])
    if isinstance(call(pair.model, query=x, key=x, value=x), tuple):
        raise Wrong("returned something beside the output")


@check(
    points=2,
    title={
        "en": "So it does when query, key and value differ",
        "de": "Ebenso, wenn Query, Key und Value verschieden sind",
    },
    parts={
        "query, key and value differ": (2, 5, 5),
        "more keys than queries": (2, 5, 7),
        "a single text": (1, 5, 7),
        "a single query": (2, 1, 7),
    },
)
def cross(student, reference, draw, part):
    texts, queries, keys = part
    inputs = draw_inputs(draw, texts, queries, keys, keys)
    pairs = unmasked_pairs(student, reference)
    compare_all([(pair, pair.plan(*inputs[pair.size])) for pair in pairs])


def compare_without_mask(pairs, inputs):
    """Compare self-attention."""
    compare_all([(pair, pair.plan(*inputs[pair.size] * 3)) for pair in pairs])


def is_right_without_mask(student, reference, inputs):
    try:
        compare_without_mask(make_pairs(student, reference), inputs)
    except Wrong:
        return False
    return True


def compare_masked(student, reference, cases, usual):
    """Compare with the reference under masks, and see that none of them stays.

    If the numbers without a mask are wrong already, which costs other items, a mask must give the same as the
    student's own class without the blocked keys.

    Args:
        student: the student's names.
        reference: the solution's.
        cases: inputs by size, and a mask for all sizes or by size.
        usual: a mask that is the same for all queries.
    """
    pairs = make_pairs(student, reference)
    (x,) = cases[0][0][SIZES[0]]
    planned = []
    for inputs, masks in cases:
        for pair in pairs:
            mask = masks[pair.size] if isinstance(masks, dict) else masks
            planned.append((pair, pair.plan(*inputs[pair.size] * 3, mask=mask)))
    unmasked = (pairs[0].model, x, x, x, None)
    outputs = attend_all([unmasked, *(call for _, calls in planned for call in calls), unmasked])
    try:
        before = next(outputs)
        for pair, calls in planned:
            pair.compare(outputs, calls)
        check_that_none_stays(next(outputs), before)
    except Wrong:
        if is_right_without_mask(student, reference, cases[0][0]):
            raise
        compare_without_blocked(make_pairs(student, reference, SIZES[:1])[0].model, x, usual)
        for inputs, masks in cases:
            if isinstance(masks, dict):
                check_each_head(
                    make_pairs(student, reference, SIZES[:1])[0].model, *inputs[SIZES[0]], masks[SIZES[0]]
                )


def check_that_none_stays(after, before):
    if not torch.allclose(after, before, 1e-4, 1e-5):
        raise Wrong("the mask of a call stays")


def compare_without_blocked(model, x, mask):
    """Text by text, with the same keys for all queries: a class that mixes queries is not judged here."""
    before = attend(model, x, x, x)
    attend(model, x, x, x, mask.flip(-1))
    whole = attend(model, x, x, x, mask)
    for text, keys in enumerate(mask.bool().expand(len(x), 1, x.shape[1], -1)[:, 0, 0]):
        own = x[text : text + 1]
        assert_close(whole[text], attend(model, own, own[:, keys], own[:, keys])[0])
    check_that_none_stays(attend(model, x, x, x), before)


def check_each_head(model, x, mask):
    """A mask for each head can be given, and each head's matters."""
    usual, other = attend(model, x, x, x, mask), mask.clone()
    other[..., 0, :, :] = ~other[..., 0, :, :]
    changed = attend(model, x, x, x, other)
    if usual.shape != x.shape or torch.allclose(usual, changed, atol=1e-5):
        raise Wrong("the mask of the first head makes no difference")


@check(
    points=1,
    title={"en": "A mask over padding is applied", "de": "Eine Maske über Padding wird angewandt"},
)
def padding(student, reference, draw):
    cases = [(draw_inputs(draw, 5, 7), draw.mask(5, 1, 1, 7))]
    compare_masked(student, reference, cases, cases[0][1])


@check(
    points=1,
    title={
        "en": "A mask for each query, or each head, is applied",
        "de": "Eine Maske je Query oder je Kopf wird angewandt",
    },
)
def causal(student, reference, draw):
    cases = [(draw_inputs(draw, 2, 5), torch.ones(5, 5, dtype=torch.int64).tril())]
    for texts in ((2,), ()):
        masks = {size: draw.mask(*texts, size[1], 5, 5) for size in SIZES}
        cases.append((draw_inputs(draw, 2, 5), masks))
    compare_masked(student, reference, cases, torch.tensor([1, 0, 1, 1, 0]).repeat(5, 1))


@check(
    points=0.5,
    title={
        "en": "What a blocked position holds makes no difference",
        "de": "Was an einer gesperrten Stelle steht, ändert nichts",
    },
)
def blocked(student, reference, draw):
    d_model, n_heads = SIZES[0]
    sizes = [{"d_model": d_model, "n_heads": n_heads}]
    ((model, _),) = make_models(student.MyMultiHeadAttention, sizes)
    mask = torch.tensor([[0, 1, 1, 0, 1, 0], [1, 1, 0, 1, 0, 0]], dtype=torch.bool)[:, None, None]
    hidden = ~mask[:, 0, 0, :, None]
    query, key, value = (draw.normal(2, 6, d_model) for _ in range(3))
    usual, changed, seen = attend_all(
        [
            (model, query, key, value, mask),
            (model, query, key + 3 * hidden, value - 2 * hidden, mask),
            (model, query, key + 3 * ~hidden, value - 2 * ~hidden, mask),
        ]
    )
    assert_close(changed, usual)
    if torch.allclose(seen, usual, rtol=1e-4, atol=1e-5):
        raise Wrong("what is not blocked makes no difference either")


UNMASKED = ("self", "cross")
MASKED = ("padding", "causal", "blocked")

mutant(
    "no_scaling",
    " / math.sqrt(self.d_head)",
    "",
    title={
        "en": "Scores are divided by the square root of the head's width.",
        "de": "Die Scores werden durch die Wurzel der Kopfbreite geteilt.",
    },
    loses=UNMASKED,
)
mutant(
    "scale_by_width",
    "math.sqrt(self.d_head)",
    "math.sqrt(self.n_heads * self.d_head)",
    title={
        "en": "The scores are scaled by the width of one head, not by the model's.",
        "de": "Skaliert wird mit der Breite eines Kopfes, nicht mit der des Modells.",
    },
    loses=UNMASKED,
)
mutant(
    "scale_inverted",
    "/ math.sqrt(self.d_head)",
    "* math.sqrt(self.d_head)",
    title={
        "en": "Scaling makes the scores smaller, not larger.",
        "de": "Die Skalierung verkleinert die Scores, statt sie zu vergrößern.",
    },
    loses=UNMASKED,
)
mutant(
    "scale_without_root",
    "math.sqrt(self.d_head)",
    "self.d_head",
    title={
        "en": "It is the square root by which the scores are divided.",
        "de": "Geteilt werden die Scores durch die Quadratwurzel.",
    },
    loses=UNMASKED,
)
mutant(
    "softmax_over_queries",
    "softmax(dim=-1)",
    "softmax(dim=-2)",
    title={
        "en": "For each query, the weights of the keys sum to one.",
        "de": "Für jede Query ergeben die Gewichte der Keys zusammen eins.",
    },
    loses=(*UNMASKED, *MASKED),
)
mutant(
    "merge_without_transpose",
    "heads.transpose(1, 2).flatten(2)",
    "heads.reshape(query.shape)",
    title={
        "en": "Before heads are put together, their axis comes last but one.",
        "de": "Bevor die Köpfe zusammengefügt werden, kommt ihre Achse an die vorletzte Stelle.",
    },
    loses=UNMASKED,
)
mutant(
    "split_without_transpose",
    "x.reshape(batch, length, self.n_heads, self.d_head).transpose(1, 2)",
    "x.reshape(batch, self.n_heads, length, self.d_head)",
    title={
        "en": "A head has a slice of each position's width.",
        "de": "Ein Kopf hat von jeder Position einen Abschnitt der Breite.",
    },
    loses=(*UNMASKED, *MASKED),
)
mutant(
    "mask_ignored",
    "if mask is not None:",
    "if False:",
    title={"en": "The mask is applied.", "de": "Die Maske wird angewandt."},
    loses=MASKED,
)
mutant(
    "mask_inverted",
    "mask == 0",
    "mask != 0",
    title={"en": "A 0 in the mask blocks.", "de": "Eine 0 in der Maske sperrt."},
    loses=MASKED,
)
mutant(
    "mask_value_one",
    "torch.finfo(scores.dtype).min",
    "-1.0",
    title={
        "en": "A blocked score is so low that its weight is nothing.",
        "de": "Ein gesperrter Score ist so klein, dass sein Gewicht verschwindet.",
    },
    loses=MASKED,
)
mutant(
    "output_projection_missing",
    "self.out_proj(merged)",
    "merged",
    title={
        "en": "The heads' results go through the output projection.",
        "de": "Die Ergebnisse der Köpfe gehen durch die Ausgabeprojektion.",
    },
    loses=UNMASKED,
)
mutant(
    "key_value_swapped",
    edits=[("self.k_proj(key)", "self.k_proj(value)"), ("self.v_proj(value)", "self.v_proj(key)")],
    title={
        "en": "Keys are compared, values are fetched.",
        "de": "Keys werden verglichen, Values werden geholt.",
    },
    loses=["cross"],
)
mutant(
    "bias missing",
    "self.q_proj = nn.Linear(d_model, d_model)",
    "self.q_proj = nn.Linear(d_model, d_model, bias=False)",
    loses=["parameters"],
)
mutant("any width", "if d_model % n_heads != 0:", "if False:", loses=["construct"])
