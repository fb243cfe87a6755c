"""Reference solutions, bound only into the sandbox that computes expected values.

The autograder never imports them.
"""
