"""Planning: the values that a question reads, and the answers that `verify` plants."""
