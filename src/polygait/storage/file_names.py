"""Names that come from users and strangers as names of files: the one place where they are made harmless."""

from __future__ import annotations

import hashlib
import re

_LONGEST = 80


def file_name(text: str) -> str:
    """A text as part of a file's name: readable, different for different texts, and never a path."""
    plain = re.sub(r"^\.|[^A-Za-z0-9.=+@-]", "_", text)
    if plain and plain == text and len(text) <= _LONGEST:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{plain[:_LONGEST]}-{digest}"
