"""Pairs of works that are more alike than chance and the task explain: a place to look, never a verdict.

Code is compared as syntax trees and text by shingles, both without what was handed out. What many of a class
have weighs little, what two have weighs most. All of it is pure, and bounded whatever a notebook holds.
"""
