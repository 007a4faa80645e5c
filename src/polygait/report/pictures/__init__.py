"""Robots and members as pictures."""
