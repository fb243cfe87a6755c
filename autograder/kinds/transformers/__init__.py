"""Kinds about transformers: attention and decoders."""
