"""Kinds about transformers: attention, decoders, decoding, training."""
