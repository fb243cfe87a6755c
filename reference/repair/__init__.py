"""Classics of deep learning to be repaired: for each a right listing, and a question with its faults.

``<task>.py`` is the right listing. ``<task>.toml`` is the question of kind ``debugging`` about it, ready to
be copied into a rubric: what each fault changes (`edit`), what students read of it, and how the code is used.
The reference is ``repair.<task>:<answer>``; ``autograder verify`` proves that each fault is told.
"""
