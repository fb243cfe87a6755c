"""Other systems: learning platforms, and courses of nbgrader and otter."""
