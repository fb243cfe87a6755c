"""Stores of results: the gradebook of nbgrader, and memory for rehearsals."""
