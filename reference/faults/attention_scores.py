"""Misconceptions in how scores of attention are scaled, masked and normalised."""

from __future__ import annotations

from .attention_sites import SCALING_STEP, SOFTMAX, forward, init
from .fault import Fault
from .rewrite import Edit

_FILL = "scores = scores.masked_fill(mask == 0, lowest)"
_MASKING = f"""\
if mask is not None:
    lowest = torch.finfo(scores.dtype).min
    {_FILL}
"""
_WEIGHTS = f"weights = {SOFTMAX}"


def _mask_value(number: str) -> tuple[Edit, ...]:
    return (forward("torch.finfo(scores.dtype).min", number),)


SCALING = (
    Fault(
        "no_scaling",
        (forward(SCALING_STEP, ""),),
        {
            "en": "Scores are divided by the square root of the head's width",
            "de": "Die Scores werden durch die Wurzel der Kopfbreite geteilt",
        },
        probe="values",
        difficulty=1,
    ),
    Fault(
        "scale_by_width",
        (forward("math.sqrt(self.d_head)", "math.sqrt(self.n_heads * self.d_head)"),),
        {
            "en": "The scores are scaled by the width of one head, not by the model's",
            "de": "Skaliert wird mit der Breite eines Kopfes, nicht mit der des Modells",
        },
        probe="values",
    ),
    Fault(
        "scale_inverted",
        (forward("scores / math.sqrt(self.d_head)", "scores * math.sqrt(self.d_head)"),),
        {
            "en": "Scaling makes the scores smaller, not larger",
            "de": "Die Skalierung verkleinert die Scores, statt sie zu vergrößern",
        },
        probe="values",
        difficulty=1,
    ),
    Fault(
        "scale_without_root",
        (forward("math.sqrt(self.d_head)", "self.d_head"),),
        {
            "en": "It is the square root by which the scores are divided",
            "de": "Geteilt werden die Scores durch die Quadratwurzel",
        },
        probe="values",
    ),
    Fault(
        "scale_after_softmax",
        (forward(SCALING_STEP, ""), forward(_WEIGHTS, f"{_WEIGHTS} / math.sqrt(self.d_head)")),
        {
            "en": "The scores are scaled, not the weights that the softmax makes of them",
            "de": "Skaliert werden die Scores, nicht die Gewichte, die der Softmax daraus macht",
        },
        probe="values",
    ),
)


def _softmax(faulty: str) -> tuple[Edit, ...]:
    return (forward(SOFTMAX, faulty),)


NORMALISING = (
    Fault(
        "softmax_over_queries",
        _softmax("scores.softmax(dim=-2)"),
        {
            "en": "The weights of each query sum to one over the keys",
            "de": "Die Gewichte jeder Query ergeben über die Keys summiert eins",
        },
        probe="values",
    ),
    Fault(
        "softmax_over_heads",
        _softmax("scores.softmax(dim=1)"),
        {
            "en": "The softmax does not compare the heads with one another",
            "de": "Der Softmax vergleicht nicht die Köpfe miteinander",
        },
        probe="values",
    ),
    Fault(
        "softmax_over_batch",
        _softmax("scores.softmax(dim=0)"),
        {
            "en": "The softmax does not mix the sequences of a batch",
            "de": "Der Softmax mischt nicht die Sequenzen eines Batches",
        },
        probe="batch_independence",
    ),
    Fault(
        "softmax_missing",
        _softmax("scores"),
        {
            "en": "Scores become weights through a softmax",
            "de": "Aus Scores werden durch einen Softmax Gewichte",
        },
        probe="values",
        difficulty=1,
    ),
)

MASK = (
    Fault(
        "mask_after_softmax",
        (
            forward(_MASKING, ""),
            forward(
                _WEIGHTS,
                f"{_WEIGHTS}\nif mask is not None:\n    weights = weights.masked_fill(mask == 0, 0.0)",
            ),
        ),
        {
            "en": "Blocked keys are taken out before the softmax shares the weight out",
            "de": "Gesperrte Keys fallen heraus, bevor der Softmax das Gewicht verteilt",
        },
        probe="masks",
        difficulty=3,
    ),
    Fault(
        "mask_value_high",
        _mask_value("1e20"),
        {
            "en": "A blocked score becomes very small, not very large",
            "de": "Ein gesperrter Score wird sehr klein, nicht sehr groß",
        },
        probe="masks",
        difficulty=1,
    ),
    Fault(
        "mask_value_ten_thousand",
        _mask_value("-1e4"),
        {
            "en": "A blocked score is below every other one, however small those are",
            "de": "Ein gesperrter Score liegt unter jedem anderen, so klein diese auch sind",
        },
        probe="extreme_keys",
        difficulty=3,
    ),
    Fault(
        "mask_value_one",
        _mask_value("-1.0"),
        {
            "en": "A blocked key gets no weight at all, not only less of it",
            "de": "Ein gesperrter Key bekommt gar kein Gewicht, nicht nur weniger",
        },
        probe="masks",
    ),
    Fault(
        "mask_multiplied",
        (forward(_MASKING, "if mask is not None:\n    scores = scores * mask"),),
        {
            "en": "A blocked score is not zero: the softmax would give it weight",
            "de": "Ein gesperrter Score ist nicht null: der Softmax gäbe ihm Gewicht",
        },
        probe="masks",
    ),
    Fault(
        "mask_inverted",
        (forward("mask == 0", "mask != 0"),),
        {
            "en": "The mask blocks where it is 0, and nowhere else",
            "de": "Die Maske sperrt, wo sie 0 ist, und sonst nirgends",
        },
        probe="convention",
        difficulty=1,
    ),
    Fault(
        "mask_ignored",
        (forward(_MASKING, ""),),
        {"en": "The mask is applied", "de": "Die Maske wird angewandt"},
        probe="masks",
        difficulty=1,
    ),
    Fault(
        "mask_not_assigned",
        (forward(_FILL, "scores.masked_fill(mask == 0, lowest)"),),
        {
            "en": "The masked scores are the ones that are used further on",
            "de": "Weiterverwendet werden die maskierten Scores",
        },
        probe="masks",
    ),
    Fault(
        "mask_transposed",
        (forward("mask == 0", "(mask == 0).transpose(-2, -1)"),),
        {
            "en": "The mask's last axis is that of the keys",
            "de": "Die letzte Achse der Maske ist die der Keys",
        },
        probe="masks",
        difficulty=3,
    ),
    Fault(
        "mask_minus_infinity",
        _mask_value('float("-inf")'),
        {
            "en": "A query whose keys are all blocked still has a finite result",
            "de": "Auch eine Query, deren Keys alle gesperrt sind, hat ein endliches Ergebnis",
        },
        probe="blocked_rows",
        difficulty=3,
    ),
    Fault(
        "mask_of_first_sequence",
        (forward("mask == 0", "mask[:1] == 0"),),
        {
            "en": "Each sequence of the batch has a mask of its own",
            "de": "Jede Sequenz des Batches hat ihre eigene Maske",
        },
        probe="masks",
    ),
    Fault(
        "mask_kept",
        (
            init("self.n_heads = n_heads", "self.n_heads = n_heads\nself.mask = None"),
            forward(
                _MASKING,
                "mask = self.mask = mask if mask is not None else self.mask\n" + _MASKING,
            ),
        ),
        {
            "en": "The mask of one call has no effect on the next",
            "de": "Die Maske eines Aufrufs wirkt nicht auf den nächsten",
        },
        probe="steady",
        difficulty=3,
    ),
    Fault(
        "always_causal",
        (
            forward(
                SCALING_STEP,
                f"{SCALING_STEP}\n"
                "later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)\n"
                "scores = scores.masked_fill(later, torch.finfo(scores.dtype).min)",
            ),
        ),
        {
            "en": "Without a mask every query sees every key",
            "de": "Ohne Maske sieht jede Query jeden Key",
        },
        probe="values",
    ),
)

EQUIVALENT = (
    Fault(
        "scale_on_query",
        (
            forward(SCALING_STEP, ""),
            forward("self.split(self.q_proj(query))", "self.split(self.q_proj(query)) * self.d_head**-0.5"),
        ),
        {"en": "The queries are scaled", "de": "Skaliert werden die Queries"},
        probe="",
        equivalent=True,
    ),
    Fault(
        "additive_mask",
        (forward(_FILL, "scores = scores + (mask == 0) * -1e9"),),
        {"en": "A large negative number is added", "de": "Eine große negative Zahl wird addiert"},
        probe="",
        equivalent=True,
    ),
    Fault(
        "softmax_by_hand",
        (
            forward(
                _WEIGHTS,
                "weights = (scores - scores.amax(-1, keepdim=True)).exp()\n"
                "weights = weights / weights.sum(-1, keepdim=True)",
            ),
        ),
        {"en": "The softmax is written out", "de": "Der Softmax ist ausgeschrieben"},
        probe="",
        equivalent=True,
    ),
)

SCORES = (*SCALING, *NORMALISING, *MASK, *EQUIVALENT)
"""All misconceptions in the scores, and rewritings of them that are right."""
