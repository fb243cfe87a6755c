"""A class for trying things out: invented students who answer the shipped exam in many ways."""

from __future__ import annotations

from autograder.demo.students import ASSIGNMENT, DemoStudent, write_class

__all__ = ["ASSIGNMENT", "DemoStudent", "write_class"]
