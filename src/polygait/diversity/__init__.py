"""Policies become different."""
