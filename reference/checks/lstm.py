"""An LSTM cell with eight planted faults.

In one cell the inputs are the gates: at 40 a gate is open, at -40 it is closed. The change that a cell makes
does not depend on what is new, and what is new does not depend on gates that are all open.
"""

import torch

from autograder.checking import Unclear, Wrong, assert_close, fault, holds, planted, probe, solution
from autograder.checking.transformers import StudentModel

solution("repair/lstm.py")

INPUTS, WIDTH = 4, 2
OPEN, CLOSED = 40.0, -40.0


def make_cell(kind, make_weight):
    """Return a cell, its weights found by their shapes: (gates, inputs), (gates, width) and biases.

    Args:
        kind: the class.
        make_weight: shape → weight.
    """
    model = StudentModel(kind, (INPUTS, WIDTH), dtype="float32")
    shapes = [shape for _, shape in model.list_weights()]
    for shape in shapes:
        if shape not in ([4 * WIDTH, INPUTS], [4 * WIDTH, WIDTH], [4 * WIDTH]):
            raise Unclear(f"a weight of the shape {shape}: the gates do not stand in one matrix")
    model.set_weights(torch.cat([make_weight(*shape).flatten() for shape in shapes]))
    return model


def step(student, gates, cell):
    """Return the hidden state and the cell after a step of a cell whose inputs are the gates.

    Args:
        student: the names of the notebook.
        gates: (batch, 4).
        cell: before the step; the hidden state is 0.
    """
    of_inputs = torch.eye(4).repeat_interleave(WIDTH, dim=0)
    model = make_cell(
        student.LSTMCell, lambda *shape: of_inputs if shape == (4 * WIDTH, INPUTS) else torch.zeros(shape)
    )
    start = torch.zeros(len(gates), WIDTH)
    return [part.detach() for part in model.run(gates, (start, start + cell))]


def find_kept(student, gates):
    """Return how much of a change of the cell is left after a step."""
    return step(student, gates, 1.0)[1] - step(student, gates, 0.0)[1]


@fault(
    "entry, forget, new, out =",
    "forget, entry, new, out =",
    points=1,
    title={
        "en": "The gates stand in the order input, forget, new, output",
        "de": "Die Gates stehen in der Reihenfolge Input, Forget, neu, Output",
    },
)
def gates(student, reference, draw):
    """Only the second moves what is kept; a closed first lets nothing in, a closed fourth nothing out."""
    kept = find_kept(student, torch.cat((torch.full((1, 4), 0.5), 0.5 + torch.eye(4))))
    moves = (kept[1:] - kept[0]).abs().amax(1) > 1e-4
    if moves.tolist() != [False, True, False, False]:
        raise Wrong(f"which gates move what is kept: {moves}")
    nothing = torch.zeros(1, WIDTH)
    assert_close(step(student, torch.tensor([[CLOSED, 0.0, 2.0, 0.0]]), 0.0)[1], nothing)
    assert_close(step(student, torch.tensor([[0.0, 0.0, 2.0, CLOSED]]), 1.0)[0], nothing)


@fault(
    "torch.tanh(new)",
    "torch.sigmoid(new)",
    points=1,
    title={"en": "What is new lies between -1 and 1", "de": "Was neu ist, liegt zwischen -1 und 1"},
)
def new(student, reference, draw):
    numbers = torch.tensor([[CLOSED], [-0.5], [1.0], [OPEN]])
    gates = torch.cat((torch.full((4, 2), OPEN), numbers, torch.zeros(4, 1)), 1)
    assert_close(step(student, gates, 0.0)[1], numbers.tanh().expand(-1, WIDTH))


@fault(
    "torch.sigmoid(forget)",
    "(1 - torch.sigmoid(forget))",
    points=1,
    title={"en": "An open forget gate keeps the cell", "de": "Ein offenes Forget-Gate behält die Zelle"},
)
def forget(student, reference, draw):
    """Input and forget gate are equally wide open, so that their order is no matter."""
    numbers = torch.tensor([[CLOSED], [-1.0], [0.7], [OPEN]])
    kept = find_kept(student, torch.cat((numbers, numbers, torch.zeros(4, 2)), 1))
    assert_close(kept, numbers.sigmoid().expand(-1, WIDTH))


@fault(
    "torch.tanh(cell)",
    "cell",
    points=1,
    title={"en": "The hidden state is bounded", "de": "Der Hidden State ist beschränkt"},
)
def bounded(student, reference, draw):
    for number in (-3.0, 1.0, 5.0):
        hidden, cell = step(student, torch.tensor([[0.0, 0.0, 0.5, OPEN]]), number)
        assert_close(hidden, cell.tanh())


@fault(
    "self.from_hidden(hidden)",
    "self.from_hidden(cell)",
    points=1,
    title={"en": "The gates see the hidden state", "de": "Die Gates sehen den Hidden State"},
)
def hidden(student, reference, draw):
    """The hidden state moves the next cell; the cell does not move the gates, so that its part is a line."""
    model = make_cell(student.LSTMCell, draw.normal)
    x = draw.normal(4, INPUTS)
    state, other, cell = (draw.normal(4, WIDTH) for _ in range(3))
    if torch.allclose(*(model.run(x, (before, cell))[1] for before in (state, other))):
        raise Wrong("the hidden state moves nothing")
    less, none, more = (model.run(x, (state, size * cell))[1] for size in (-1, 0, 1))
    assert_close((less + more).detach(), 2 * none.detach())


@fault(
    "* cell +",
    "* cell.detach() +",
    points=1,
    title={"en": "Gradients flow through the cell", "de": "Gradienten fließen durch die Zelle"},
)
def through_time(student, reference, draw):
    """Only the first of two steps reads the first input, and only the cell leads from it to the second."""
    model = make_cell(
        student.LSTMCell,
        lambda *shape: torch.zeros(shape) if shape == (4 * WIDTH, WIDTH) else draw.normal(*shape),
    ).handle
    first, second = torch.eye(INPUTS)[:2, None]
    start = torch.zeros(1, WIDTH)
    state = model(second, model(first, (start, start)))
    state[1].sum().backward()
    for weight in model.parameters():
        if weight.shape == (4 * WIDTH, INPUTS) and (weight.grad is None or not weight.grad[:, 0].any()):
            raise Wrong("the first step has no gradient")


@fault(
    "self(x, state)",
    "self(x, (start, start))",
    points=1,
    title={
        "en": "The state is carried from step to step",
        "de": "Der Zustand wird von Schritt zu Schritt weitergegeben",
    },
)
def carried(student, reference, draw):
    """Compare with steps that are made one by one."""
    model, sequence = make_cell(student.LSTMCell, draw.normal), draw.normal(4, 2, INPUTS)
    state, expected = (torch.zeros(2, WIDTH), torch.zeros(2, WIDTH)), []
    for x in sequence:
        state = model.run(x, state)
        expected.append(state[0 if holds(states) else 1].detach())
    assert_close(model.handle.run(sequence), torch.stack(expected))


@fault(
    "states.append(state[0])",
    "states.append(state[1])",
    points=1,
    title={"en": "The hidden states are returned", "de": "Die Hidden States werden zurückgegeben"},
)
def states(student, reference, draw):
    """In a sequence of one step nothing is carried."""
    model, sequence = make_cell(student.LSTMCell, draw.normal), draw.normal(1, 2, INPUTS)
    start = torch.zeros(2, WIDTH)
    assert_close(model.handle.run(sequence)[0], model.run(sequence[0], (start, start))[0].detach())


@probe
def same_numbers(student, reference, draw):
    sequence = draw.normal(5, 2, INPUTS)
    weights = {(4 * WIDTH, size): draw.normal(4 * WIDTH, size) for size in (INPUTS, WIDTH)}
    found, right = (
        make_cell(kind, lambda *shape: weights.get(shape, torch.zeros(shape))).handle.run(sequence).detach()
        for kind in (student.LSTMCell, reference.LSTMCell)
    )
    assert_close(found, right)


planted(
    "torch's own cell",
    """
import torch

class LSTMCell(torch.nn.LSTMCell):
    def run(self, sequence):
        state, states = None, []
        for x in sequence.unbind(0):
            state = self(x, state)
            states += [state[0]]
        return torch.stack(states, dim=0)
""",
)
planted(
    "gate by gate",
    """
import torch
from torch import nn

class LSTMCell(nn.Module):
    def __init__(self, inputs, width):
        super().__init__()
        self.from_hidden = nn.Linear(width, 4 * width, bias=False)
        self.from_input = nn.Linear(inputs, 4 * width)
        self.width = width

    def forward(self, x, state):
        i, f, g, o = (self.from_hidden(state[0]) + self.from_input(x)).view(len(x), 4, -1).unbind(1)
        i, f, o = map(nn.functional.sigmoid, (i, f, o))
        g = 2 * torch.sigmoid(2 * g) - 1
        cell = torch.addcmul(f * state[1], i, g)
        return o * cell.tanh(), cell

    def run(self, sequence):
        hidden = cell = sequence.new_zeros(sequence.size(1), self.width)
        states = torch.empty(len(sequence), *hidden.shape)
        for number, x in enumerate(sequence):
            hidden, cell = self(x, (hidden, cell))
            states[number] = hidden
        return states
""",
)
planted(
    "a GRU",
    """
import torch
from torch import nn

class LSTMCell(nn.Module):
    def __init__(self, inputs, width):
        super().__init__()
        self.width = width
        self.from_input = nn.Linear(inputs, 4 * width)
        self.from_hidden = nn.Linear(width, 4 * width, bias=False)

    def forward(self, x, state):
        gates = self.from_input(x) + self.from_hidden(state[0])
        _, update, new, out = gates.chunk(4, dim=-1)
        cell = update.sigmoid() * state[1] + (1 - update.sigmoid()) * new.tanh()
        return out.sigmoid() * cell.tanh(), cell

    def run(self, sequence):
        state = (torch.zeros(sequence.shape[1], self.width),) * 2
        return torch.stack([(state := self(x, state))[0] for x in sequence])
""",
    loses=["gates", "new"],
)
