"""Parameters, operations and memory of transformers, in whole numbers from a configuration.

Plain Python without torch. tests/reference/counting compares every formula with real modules.
"""
