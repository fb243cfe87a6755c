"""Import assignments of nbgrader and otter into rubrics. The notebooks are only read, never run."""
