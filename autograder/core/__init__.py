"""Foundation: records, errors, limits, files, and other modules that everything may import."""
