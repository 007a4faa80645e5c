"""Named arrays as safetensors bytes, with the traps of that library closed.

It writes arrays that are not contiguous wrongly without a word, accepts element types it cannot
read back, and detects no flipped bit; so arrays are made contiguous, types are checked when
writing, and content_digest() covers every name, type, shape and byte.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import safetensors.numpy

from polygait.errors import UserError
from polygait.storage.strict_json import canonical

ARRAYS_LIMIT = 4 * 2**30
FILE_LIMIT = ARRAYS_LIMIT + 100_000_008  # and the longest header safetensors reads
_WORDS = "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64 complex64"
STORABLE = frozenset(np.dtype(word) for word in _WORDS.split())
_RESTORE = "Restore it from a copy of the run."


def require_storable(tensors: Mapping[str, np.ndarray]) -> None:
    """Refuse arrays that could be written but not read back."""
    unfit = {name: array.dtype for name, array in tensors.items() if array.dtype not in STORABLE}
    if unfit:
        listed = ", ".join(f"{name!r} ({dtype})" for name, dtype in unfit.items())
        raise UserError(
            f"Cannot store arrays of these types: {listed}.",
            f"Storable types, in the byte order of this machine: {_WORDS}.",
        )
    if "__metadata__" in tensors:
        raise UserError(
            "No array may be called '__metadata__'.", "Rename it; the file format uses that name."
        )
    size = sum(array.nbytes for array in tensors.values())
    if size > ARRAYS_LIMIT:
        raise UserError(
            f"{size:,} bytes of arrays are too many for one file (at most {ARRAYS_LIMIT:,}).",
            "Use fewer environments, a smaller replay buffer or smaller networks.",
        )


def pack(tensors: Mapping[str, np.ndarray], text: str | None = None) -> bytes:
    """The arrays, and a text about them, as the bytes of one safetensors file; equal arrays, equal bytes."""
    require_storable(tensors)
    contiguous = {name: np.asarray(tensors[name], order="C") for name in sorted(tensors)}
    return safetensors.numpy.save(contiguous, None if text is None else {"polygait": text})


def unpack(data: bytes, path: Path) -> tuple[dict[str, np.ndarray], str | None]:
    """The arrays and the text that pack() put into the bytes; `path` is for the message."""
    try:
        tensors = safetensors.numpy.load(data)
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    except Exception as error:  # whatever the parser says about a stranger's bytes, the file is unfit
        raise UserError(
            f"Damaged: {path} is not a safetensors file ({str(error)[:200]!r}).", _RESTORE
        ) from error
    for name, array in tensors.items():
        if array.dtype == np.bool_ and array.size and array.view(np.uint8).max() > 1:
            raise UserError(f"Damaged: {path} has numbers in the truth values {name!r}.", _RESTORE)
    return tensors, (header.get("__metadata__") or {}).get("polygait")


def content_digest(tensors: Mapping[str, np.ndarray], about: object = None) -> str:
    """SHA-256 over plain data and over every array's name, type, shape and bytes."""
    digest = hashlib.sha256(canonical(about))
    for name in sorted(tensors):
        array = np.asarray(tensors[name], order="C")
        digest.update(canonical([name, array.dtype.name, list(array.shape)]))
        digest.update(array.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()
