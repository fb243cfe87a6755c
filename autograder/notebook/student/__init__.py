"""Feedback for students before they submit: the form of their answers, never whether they are correct.

The modules here, and those they import, are copied to students inside ``coursecheck.py``: only the standard
library, and no syntax newer than Python 3.9.
"""
