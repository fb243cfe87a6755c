"""Hidden inputs, what a question reads or calls, and the answers that `autograder verify` plants."""
