"""The answer key sits the exam: it must score full marks, and the untouched release none.

What a rubric, a reference or a notebook has wrong shows here, before a student meets it.
"""

from autograder.verify.key import Finding, Ways, credit, verify

__all__ = ["Finding", "Ways", "credit", "verify"]
