"""What students are told before they hand in: the form of their answers, never whether they are right.

The modules here, and those they import, travel to students inside ``coursecheck.py``: nothing but the
standard library, and no syntax newer than Python 3.9.
"""
