"""Methods by name: one file each in methods/, and entry points of other packages."""

from __future__ import annotations

from polygait.diversity.method import Method
from polygait.registry import Registry

METHODS: Registry[Method] = Registry("method", Method, "polygait.diversity.methods", "polygait.methods")
