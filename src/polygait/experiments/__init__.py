"""Experiments: what the paper's motivation rests on, and the tools that came out of it."""
