"""Data protection: the access log, export and erasure of a person's data, and retention periods."""
