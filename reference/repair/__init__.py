"""Classics of deep learning to be repaired: right listings, in which files of ``checks`` plant faults."""
