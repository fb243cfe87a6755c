"""A class that solved the assignment ``gpt2`` each in their own way, and some who handed in another's work.

Every function is put together from steps that can be written in several ways; frequent ways are chosen more
often, as in a real class, and some students keep to what the lecture showed nearly everywhere. Names,
comments and texts are drawn as well. So two honest students agree in much, and never by copying.
"""

from __future__ import annotations

import ast
import io
import json
import random
import re
import tokenize
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template

from msgspec import Struct

NAME = "gpt2"
_POOLS = {
    "low": ("smallest", "threshold", "cutoff", "kth", "bound", "min_kept"),
    "vals": ("values", "top_values", "best", "largest", "kept", "vals"),
    "srt": ("ordered", "sorted_logits", "ranked", "by_size", "desc"),
    "idx": ("order", "indices", "positions", "places", "perm"),
    "prob": ("probabilities", "probs", "p_all", "mass", "dist", "weights"),
    "cum": ("before", "cumulative", "running", "acc", "total_mass", "csum"),
    "drop": ("dropped", "remove", "banned", "outside", "to_cut", "mask_out"),
    "out": ("result", "filtered", "allowed", "output", "new_logits", "res"),
    "row": ("row", "i", "b", "line", "r", "batch_index"),
    "past": ("past", "history", "seq", "words", "so_far", "ids"),
    "st": ("start", "j", "pos", "left", "t", "begin"),
    "last": ("last", "suffix", "tail", "prefix", "context", "recent"),
    "end": ("ended", "finished", "done", "stopped", "closed", "is_over"),
    "nxt": ("chosen", "next_token", "token", "new", "step_ids", "pick"),
    "att": ("mask_now", "attention", "am", "visible", "keep", "att"),
    "best": ("longest", "max_len", "best_run", "record", "most", "top_len"),
    "text": ("text", "doc", "sentence", "document", "s", "entry"),
    "known": ("known", "seen", "grams", "in_corpus", "all_ngrams", "vocab_n"),
    "gram": ("ngrams", "pieces", "own_grams", "chunks", "windows", "parts"),
    "tab": ("run", "table", "dp", "lengths", "previous", "line_before"),
    "help": ("cut_rows", "apply_mask", "drop_tokens", "filter_out", "block", "hide"),
    "demo": ("example", "check", "try_it", "toy", "sanity", "experiment"),
}
_COMMENTS = (
    ("keep only what is large enough", "nur behalten, was groß genug ist"),
    ("this took me a while", "das hat etwas gedauert"),
    ("one row after the other", "eine Zeile nach der anderen"),
    ("see the lecture on sampling", "siehe die Vorlesung zum Ziehen"),
    ("shapes: (rows, n_vocab)", "Formen: (Zeilen, n_vocab)"),
    ("everything else becomes -inf", "alles andere wird -inf"),
    ("should also work for n = 1", "soll auch für n = 1 gehen"),
    ("not the fastest way, but it works", "nicht der schnellste Weg, aber er geht"),
    ("careful with ties here", "hier auf Gleichstand achten"),
    ("the last token is excluded on purpose", "das letzte Token fehlt mit Absicht"),
)
Steps = Sequence[Sequence[str]]
_TOP_K: Steps = (
    ("", "k = min(k, logits.size(-1))", "if k >= logits.shape[-1]:\n    return logits", "k = max(1, min(k, logits.shape[1]))"),
    (
        "$low = logits.topk(min(k, logits.size(-1))).values[:, -1:]",
        "$vals, _ = torch.topk(logits, min(k, logits.shape[-1]), dim=-1)\n$low = $vals[..., -1].unsqueeze(-1)",
        "$low = logits.sort(dim=-1, descending=True).values[:, min(k, logits.size(1)) - 1].unsqueeze(1)",
        "$low = torch.kthvalue(logits, max(1, logits.size(-1) - k + 1), dim=-1, keepdim=True).values",
        "$vals = torch.sort(logits, -1)[0]\n$low = $vals[:, max(0, $vals.size(1) - k)][:, None]",
    ),
    (
        "return logits.masked_fill(logits < $low, -torch.inf)",
        "return torch.where(logits < $low, torch.full_like(logits, float('-inf')), logits)",
        "$out = logits.clone()\n$out[$out < $low] = -float('inf')\nreturn $out",
        "return torch.where(logits >= $low, logits, -torch.inf)",
        "$out = logits + 0.0\n$out.masked_fill_(~(logits >= $low), float('-inf'))\nreturn $out",
    ),
)
_TOP_P: Steps = (
    (
        "$srt, $idx = logits.sort(dim=-1, descending=True)",
        "$idx = logits.argsort(dim=-1, descending=True)\n$srt = logits.gather(-1, $idx)",
        "$srt, $idx = torch.sort(logits, descending=True, dim=1)",
        "$idx = torch.argsort(-logits, dim=-1)\n$srt = torch.gather(logits, 1, $idx)",
    ),
    (
        "$prob = $srt.softmax(-1)",
        "$prob = torch.softmax($srt, dim=-1)",
        "$prob = F.softmax($srt, dim=1)",
        "$prob = ($srt - $srt.logsumexp(-1, keepdim=True)).exp()",
    ),
    (
        "$cum = $prob.cumsum(-1) - $prob\n$drop = $cum >= p",
        "$cum = torch.cumsum($prob, dim=-1)\n$drop = ($cum - $prob) >= p",
        "$cum = torch.cumsum($prob, -1)\n$drop = $cum >= p\n$drop = torch.cat([torch.zeros_like($drop[:, :1]), $drop[:, :-1]], 1)",
        "$cum = $prob.cumsum(1)\n$drop = torch.roll($cum >= p, 1, dims=1)\n$drop[:, 0] = False",
    ),
    (
        "return logits.masked_fill(torch.zeros_like(logits, dtype=torch.bool).scatter(-1, $idx, $drop), -torch.inf)",
        "$out = torch.empty_like(logits)\n$out.scatter_(1, $idx, $srt.masked_fill($drop, float('-inf')))\nreturn $out",
        "$out = logits.clone()\nfor $row in range(logits.size(0)):\n    $out[$row, $idx[$row][$drop[$row]]] = float('-inf')\nreturn $out",
        "return logits.masked_fill($drop.gather(1, $idx.argsort(1)), float('-inf'))",
    ),
)
_NO_REPEAT: Steps = (
    ("$out = logits.clone()", "$out = torch.clone(logits)", "$out = logits + 0", "$drop = torch.zeros_like(logits, dtype=torch.bool)\n$out = logits.detach().clone()"),
    ("for $row, $past in enumerate(tokens.tolist()):", "for $row in range(tokens.shape[0]):\n    $past = tokens[$row].tolist()", "for $row, $past in enumerate([list(map(int, one)) for one in tokens]):"),
    (
        "    $last = $past[len($past) - n + 1 :]",
        "    $last = tuple($past[-(n - 1):]) if n > 1 else ()",
        "    $last = [$past[i] for i in range(len($past) - n + 1, len($past))]",
    ),
    (
        "    for $st in range(len($past) - n + 1):\n        if list($past[$st : $st + n - 1]) == list($last):\n            $out[$row, $past[$st + n - 1]] = -torch.inf",
        "    for $st in range(0, len($past) - (n - 1)):\n        if tuple($past[$st:$st + n - 1]) != tuple($last):\n            continue\n        $out[$row][$past[$st + n - 1]] = float('-inf')",
        "    $known = {}\n    for $st in range(len($past) - n + 1):\n        $known.setdefault(tuple($past[$st:$st + n - 1]), []).append($past[$st + n - 1])\n    for one in $known.get(tuple($last), []):\n        $out[$row, one] = float('-inf')",
        "    $drop = [$past[$st + n - 1] for $st in range(len($past) - n + 1) if list($past[$st:$st + n - 1]) == list($last)]\n    if $drop:\n        $out[$row, torch.tensor($drop)] = -torch.inf",
        "    $st = 0\n    while $st + n <= len($past):\n        if all($past[$st + i] == $last[i] for i in range(n - 1)):\n            $out[$row, $past[$st + n - 1]] = -1e30 * 1e300\n        $st += 1",
    ),
    ("return $out",),
)
_CHAIN: Steps = (
    ("logits = logits / temperature", "logits = logits.div(temperature)", "$out = logits * (1.0 / temperature)\nlogits = $out"),
    ("logits = top_k(logits, k)\nlogits = top_p(logits, p)", "logits = top_p(top_k(logits, k), p)", "for step, value in ((top_k, k), (top_p, p)):\n    logits = step(logits, value)"),
    ("return logits.softmax(-1)", "return torch.softmax(logits, dim=-1)", "$prob = logits.exp()\nreturn $prob / $prob.sum(-1, keepdim=True)", "return F.softmax(logits, -1)"),
)
_SAMPLE: Steps = (
    ("$prob = (logits / temperature).softmax(-1)", "$prob = torch.softmax(logits / temperature, dim=-1)", "$prob = F.softmax(logits.div(temperature), dim=1)"),
    ("return torch.multinomial($prob, 1).squeeze(-1)", "return torch.multinomial($prob, num_samples=1)[:, 0]", "return torch.distributions.Categorical($prob).sample()", "return torch.multinomial($prob, 1).flatten()"),
)
_GREEDY: Steps = (
    ("$end = torch.zeros(tokens.size(0), dtype=torch.bool)", "$end = torch.full((tokens.shape[0],), False)", "$end = tokens.new_zeros(tokens.shape[0]).bool()"),
    ("$att = attention_mask", "$att = attention_mask.clone()", ""),
    ("for $st in range(n_new):", "for _ in range(n_new):", "$st = 0\nwhile $st < n_new:\n    $st += 1"),
    (
        "    $nxt = model(tokens, attention_mask)[:, -1].argmax(-1)",
        "    $vals = model(tokens, attention_mask)\n    $nxt = $vals[:, -1, :].argmax(dim=-1)",
        "    with torch.no_grad():\n        $vals = model(tokens, attention_mask)\n    $nxt = torch.argmax($vals[:, -1], dim=1)",
        "    $nxt = model(tokens, attention_mask).select(1, -1).max(-1).indices",
    ),
    (
        "    $nxt = $nxt.masked_fill($end, pad)\n    $end = $end | ($nxt == eos)",
        "    $nxt = torch.where($end, torch.full_like($nxt, pad), $nxt)\n    $end |= $nxt == eos",
        "    $nxt[$end] = pad\n    $end = torch.logical_or($end, $nxt.eq(eos))",
        "    $nxt = $nxt * (~$end) + pad * $end\n    $end = ($end + ($nxt == eos)) > 0",
    ),
    (
        "    tokens = torch.cat([tokens, $nxt[:, None]], 1)\n    attention_mask = torch.cat([attention_mask, torch.ones_like($nxt)[:, None]], 1)",
        "    tokens = torch.cat((tokens, $nxt.unsqueeze(-1)), dim=-1)\n    attention_mask = F.pad(attention_mask, (0, 1), value=1)",
        "    tokens = torch.hstack([tokens, $nxt.view(-1, 1)])\n    attention_mask = torch.hstack([attention_mask, attention_mask.new_ones(len($nxt), 1)])",
    ),
    ("return tokens",),
)
_MEMORISATION: Steps = (
    ("$best = 0", "$best, $known = 0, set()", "$best = int(0)"),
    (
        "for $text in corpus:\n    $tab = [0] * (len($text) + 1)\n    for one in generated:\n        $tab = [0, *($tab[at] + 1 if one == other else 0 for at, other in enumerate($text))]\n        $best = max($best, *$tab)",
        "for $text in corpus:\n    for i in range(len(generated)):\n        for j in range(len($text)):\n            length = 0\n            while i + length < len(generated) and j + length < len($text) and generated[i + length] == $text[j + length]:\n                length += 1\n            $best = max($best, length)",
        "for $text in corpus:\n    for length in range(len(generated), $best, -1):\n        $known = {tuple($text[i:i + length]) for i in range(len($text) - length + 1)}\n        if any(tuple(generated[i:i + length]) in $known for i in range(len(generated) - length + 1)):\n            $best = length\n            break",
        "def $help(a, b):\n    rows = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]\n    for i, x in enumerate(a, 1):\n        for j, y in enumerate(b, 1):\n            rows[i][j] = rows[i - 1][j - 1] + 1 if x == y else 0\n    return max(map(max, rows))\n$best = max([$help(generated, $text) for $text in corpus], default=0)",
    ),
    (
        "$known = {tuple($text[i : i + n]) for $text in corpus for i in range(len($text) - n + 1)}",
        "$known = set()\nfor $text in corpus:\n    for i in range(len($text) - n + 1):\n        $known.add(tuple($text[i:i + n]))",
        "$known = [$text[i:i + n] for $text in corpus for i in range(len($text) - n + 1)]",
        "$known = {one for $text in corpus for one in zip(*($text[i:] for i in range(n)))}",
    ),
    (
        "$gram = [tuple(generated[i : i + n]) for i in range(len(generated) - n + 1)]",
        "$gram = []\nfor i in range(len(generated) - n + 1):\n    $gram.append(tuple(generated[i:i + n]))",
        "$gram = list(zip(*(generated[i:] for i in range(n))))",
    ),
    (
        "share = sum(one in $known for one in $gram) / len($gram) if $gram else 0.0",
        "share = 0.0\nif len($gram) > 0:\n    share = len([one for one in $gram if one in $known]) / len($gram)",
        "hits = 0\nfor one in $gram:\n    hits += 1 if one in $known else 0\nshare = hits / max(1, len($gram))",
    ),
    ("return {'longest': $best, 'share': share}", "return dict(longest=$best, share=share)"),
)
_FUNCTIONS: Mapping[str, tuple[str, Steps]] = {
    "top-k-answer": ("def top_k(logits, k):", _TOP_K),
    "top-p-answer": ("def top_p(logits, p):", _TOP_P),
    "no-repeat-answer": ("def no_repeat_ngram(logits, tokens, n):", _NO_REPEAT),
    "chain-answer": ("def next_token_probabilities(logits, temperature, k, p):", _CHAIN),
    "sample-answer": ("def sample(logits, temperature):", _SAMPLE),
    "greedy-answer": ("def greedy(model, tokens, n_new, attention_mask, eos, pad):", _GREEDY),
    "memorisation-answer": ("def memorisation(generated, corpus, n):", _MEMORISATION),
}
_TRIED = (
    "for $demo in ($a, $b, $c):\n    print(top_k(torch.randn(2, 8), $demo))",
    "$demo = torch.linspace(-$a, $b, $c)[None]\nprint(top_p($demo, 0.$a), $demo.shape)",
    "torch.manual_seed($a)\n$demo = torch.rand($b, $c)\nassert (top_k($demo, 3) > -torch.inf).sum() == 3 * $b",
    "$demo = [sample(torch.zeros(1, $c), 1.0).item() for _ in range($a$b)]\nprint(len(set($demo)), max($demo))",
    "$demo = {k: memorisation([$a, $b, $c], [[$a, $b], [$b, $c]], k) for k in (1, 2)}\nprint($demo)",
    "def $demo(n):\n    return no_repeat_ngram(torch.zeros(1, $c$a), torch.tensor([[$a, $b, $a]]), n)\nprint($demo(2).isinf().sum())",
)
_SENTENCES: Steps = (
    ("Greedy search always takes the most probable token", "Greedy decoding picks the argmax in every step", "With greedy search only the best word counts", "The greedy method never looks back"),
    ("and after {a} passes it repeats itself from word {b} on", "so in my run it looped after {b} tokens ({a} passes)", "which gave a loop of length {b} in {a} of my runs", "and in my notebook {a} of {b} texts ended in a circle"),
    ("Beam search keeps {a} hypotheses", "A beam of width {a} compares whole continuations", "Beams look at sums of log-probabilities"),
    ("but for open texts it is dull because likely text is not interesting text", "and it finds text that the model likes and people do not", "yet the best hypothesis was shorter than {b} words", "and still loops without a ban on repeated n-grams"),
    ("Top-k cuts the tail at a fixed number", "With top-k there are always k candidates", "Top-k does not care how flat the distribution is"),
    ("while the nucleus grows when the model is unsure", "whereas top-p adapts to the distribution", "and top-p keeps {b} tokens on average here", "so at p = 0.{a} only {b} words were left"),
    ("A low temperature makes it nearly greedy", "At temperature 0.{a} the samples were almost all the same", "Temperature divides the logits before anything is cut"),
    ("I would use top-p for stories and beams for translation", "For translation I prefer beam search with a penalty", "My choice would be sampling with p = 0.9", "Which one is better depends on whether there is one right answer"),
)  # fmt: skip
FORMS = ("renamed", "reordered", "reformatted", "translated")
"""What a copy can be done to."""


class Copied(Struct, frozen=True):
    """A copy that was planted."""

    source: str
    copy: str
    how: tuple[str, ...]
    with_text: bool


class CopiedClass(Struct, frozen=True):
    """What a class hands in: by student, by cell, the source."""

    works: Mapping[str, Mapping[str, str]]
    copies: tuple[Copied, ...]
    """Who has whose work."""


PLANTED: tuple[tuple[tuple[str, ...], bool], ...] = (
    (("renamed",), False),
    (("reordered",), False),
    (("reformatted",), False),
    (("translated",), False),
    (("renamed", "reordered"), False),
    (("renamed", "reformatted"), True),
    (("reordered", "translated"), False),
    (("renamed", "translated"), True),
    (("renamed", "reordered", "reformatted"), False),
    (FORMS, False),
)


def copied_class(students: int = 200, seed: int = 7, planted: Sequence[tuple[tuple[str, ...], bool]] = PLANTED) -> CopiedClass:
    """A class with so many students, among them one copy for each way to hide one.

    Args:
        students: copies included.
        seed: of everything drawn.
        planted: for each copy, what was done to the code, and whether the text was taken as well; otherwise
            whoever copied wrote their own.
    """
    numbers = random.Random(seed)
    names = [f"s{number:03}" for number in range(students)]
    order = numbers.sample(names, len(names))
    copying, honest = order[: len(planted)], order[len(planted) :]
    works = {one: _work(numbers, lecture=numbers.random() < 0.15) for one in honest}
    copies = []
    for copy, (how, with_text), source in zip(copying, planted, numbers.sample(honest, len(planted)), strict=True):
        taken = {cell: hidden(text, how, numbers) if cell != "strategies" else text for cell, text in works[source].items()}
        if "reordered" in how and with_text:
            taken["strategies"] = " ".join(numbers.sample(parts := taken["strategies"].split(". "), len(parts)))
        if not with_text:
            taken["strategies"] = _text(numbers, lecture=False)
        works[copy] = taken
        copies.append(Copied(source, copy, how, with_text))
    return CopiedClass(dict(sorted(works.items())), tuple(copies))


def _work(numbers: random.Random, *, lecture: bool) -> dict[str, str]:
    own = {concept: numbers.choice(pool) for concept, pool in _POOLS.items()}
    work = {}
    for cell, (head, steps) in _FUNCTIONS.items():
        lines = [head]
        for ways in steps:
            if numbers.random() < 0.2:
                lines.append(f"    # {numbers.choice(_COMMENTS)[0]}")
            step = Template(_chosen(ways, numbers, lecture=lecture)).substitute(own)
            lines += [f"    {line}" for line in step.split("\n") if line.strip()]
        work[cell] = _valid("\n".join(lines))
    tried = numbers.sample(_TRIED, numbers.choice((0, 1, 1, 2)))
    digits = {letter: str(numbers.randint(2, 9)) for letter in "abc"}
    work[""] = "\n".join(Template(one).substitute(own, **digits) for one in tried)
    return work | {"strategies": _text(numbers, lecture=lecture)}


def _valid(source: str) -> str:
    """The same with comments where Python allows them: before a block's first line they stand as well."""
    ast.parse(source)
    return source


def _chosen(ways: Sequence[str], numbers: random.Random, *, lecture: bool) -> str:
    if lecture and numbers.random() < 0.9:
        return ways[0]
    return numbers.choices(ways, [1 / (place + 1) for place in range(len(ways))])[0]


def _text(numbers: random.Random, *, lecture: bool) -> str:
    drawn = [
        _chosen(ways, numbers, lecture=lecture).format(a=numbers.randint(2, 9), b=numbers.randint(3, 40))
        for ways in _SENTENCES
    ]
    pairs = [f"{first}, {second}" if second[0].islower() else f"{first}. {second}" for first, second in zip(drawn[::2], drawn[1::2], strict=True)]
    return ". ".join(numbers.sample(pairs, len(pairs))) + "."


def hidden(source: str, how: Sequence[str], numbers: random.Random) -> str:
    """A copy of some code that does not look like it.

    Args:
        source: Python.
        how: some of `FORMS`.
        numbers: for what is drawn.
    """
    if "translated" in how:
        for english, german in _COMMENTS:
            source = source.replace(f"# {english}", f"# {german}")
    if "renamed" in how:
        source = _renamed(source, numbers)
    if "reordered" in how:
        tree = ast.parse(source)
        _reorder(tree)
        source = ast.unparse(tree)
    if "reformatted" in how:
        source = _reformatted(source)
    return source


def _renamed(source: str, numbers: random.Random) -> str:
    """Other names for everything that is assigned."""
    names = sorted(
        {
            node.id
            for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
        }
        - {"tokens", "attention_mask", "logits", "k"}
    )
    new = {name: f"{numbers.choice('abcdefgh')}{at}_{numbers.randint(10, 99)}" for at, name in enumerate(names)}
    tokens = [
        (kind, new.get(text, text) if kind == tokenize.NAME else text)
        for kind, text, *_ in tokenize.generate_tokens(io.StringIO(source).readline)
    ]
    before = [text for _, text in tokens]
    del before
    return re.sub(r"(?<![\w.'])[A-Za-z_]\w*(?![\w'])", lambda found: new.get(found[0], found[0]), source)


def _reorder(tree: ast.AST) -> None:
    """Turn round neighbours of which neither needs the other, in every body, and functions at the top."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if not isinstance(body, list):
            continue
        at = 0
        while at + 1 < len(body):
            if _is_free(body[at], body[at + 1]):
                body[at], body[at + 1] = body[at + 1], body[at]
                at += 1
            at += 1


def _is_free(one: ast.stmt, other: ast.stmt) -> bool:
    kinds = (ast.Assign, ast.For, ast.FunctionDef, ast.AugAssign)
    if not (isinstance(one, kinds) and isinstance(other, kinds)):
        return False
    (reads, writes), (others_reads, others_writes) = _touched(one), _touched(other)
    return not (writes & (others_reads | others_writes) or others_writes & reads)


def _touched(node: ast.AST) -> tuple[set[str], set[str]]:
    reads, writes = set(), set()
    for one in ast.walk(node):
        if isinstance(one, ast.Name):
            (reads if isinstance(one.ctx, ast.Load) else writes).add(one.id)
            if isinstance(one.ctx, ast.Load) and isinstance(node, ast.Assign):
                continue
        if isinstance(one, ast.Subscript | ast.Attribute) and not isinstance(one.ctx, ast.Load):
            inner = one.value
            writes |= {part.id for part in ast.walk(inner) if isinstance(part, ast.Name)}
        if isinstance(one, ast.FunctionDef):
            writes.add(one.name)
    return reads, writes


def _reformatted(source: str) -> str:
    """Other lines, spaces and quotes, and no comments."""
    lines = ast.unparse(ast.parse(source)).replace("'", '"').split("\n")
    return "\n".join(line.replace("    ", "  ") + ("\n" if at % 3 == 1 else "") for at, line in enumerate(lines))


def notebook(release: bytes, work: Mapping[str, str]) -> bytes:
    """The released notebook with somebody's answers; what has no cell stands in one of their own behind it."""
    found = json.loads(release)
    for cell in found["cells"]:
        name = cell["metadata"].get("nbgrader", {}).get("grade_id", "")
        if name and name in work:
            cell["source"] = work[name]
    if work.get("", "").strip():
        own = {"cell_type": "code", "metadata": {}, "source": work[""], "outputs": [], "execution_count": None}
        found["cells"].append(own)
    return json.dumps(found).encode()


def hand_in(root: Path, release: bytes, handed: CopiedClass) -> None:
    """Write the notebooks of a class below ``submitted/``."""
    for student, work in handed.works.items():
        folder = root / "submitted" / student / NAME
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{NAME}.ipynb").write_bytes(notebook(release, work))
