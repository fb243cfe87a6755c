"""Reference solutions, bound only into the sandbox that computes expected values; never imported by autograder."""
