"""References about what happens inside: who sees whom, gradients, and the shape after each line."""
