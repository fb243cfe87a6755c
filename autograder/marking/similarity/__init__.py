"""Find pairs of works that are more similar than chance and the task explain: a hint, not a verdict.

Code is compared as syntax trees and text by shingles, both without the released content. Features that many
students share have little weight, features of just two students the most. Everything is pure, and bounded for
any content of a notebook.
"""
