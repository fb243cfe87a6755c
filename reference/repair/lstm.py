"""An LSTM cell, and a run of it over a sequence."""

import torch
from torch import nn

State = tuple[torch.Tensor, torch.Tensor]


class LSTMCell(nn.Module):
    """Takes one step at a time; the state is a pair of the hidden state and the cell."""

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.width = width
        self.from_input = nn.Linear(inputs, 4 * width)
        self.from_hidden = nn.Linear(width, 4 * width, bias=False)

    def forward(self, x: torch.Tensor, state: State) -> State:
        """(batch, inputs) and a state of (batch, width) each → the next state."""
        hidden, cell = state
        gates = self.from_input(x) + self.from_hidden(hidden)
        entry, forget, new, out = gates.chunk(4, dim=-1)
        cell = torch.sigmoid(forget) * cell + torch.sigmoid(entry) * torch.tanh(new)
        hidden = torch.sigmoid(out) * torch.tanh(cell)
        return hidden, cell

    def run(self, sequence: torch.Tensor) -> torch.Tensor:
        """(position, batch, inputs) → the hidden states, (position, batch, width)."""
        start = torch.zeros(sequence.shape[1], self.width)
        state = (start, start)
        states = []
        for x in sequence:
            state = self(x, state)
            states.append(state[0])
        return torch.stack(states)
