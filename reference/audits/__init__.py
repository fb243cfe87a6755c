"""Listings to be audited, their definitions, and classes on which audits are tried.

A listing is right by its definition, an implementation of its own that shares no line with it. What a
student claims is judged by what both compute on the student's inputs.
"""
