"""Measurements: each compares in one run and reports ratios, because machines are noisy."""
