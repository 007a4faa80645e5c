"""A policy as one .npz file, and the reader that is written beside it."""

from __future__ import annotations

import inspect
import io
from typing import Any

import numpy as np

from polygait.exporting import reader
from polygait.exporting.card import card_text
from polygait.learning.learner import PlainPolicy
from polygait.learning.normalizer import CLIP
from polygait.tasks.actions import ActionLaw

READER = "polygait_policy.py"
"""What the reader is called beside the policies."""


def numpy_bytes(policy: PlainPolicy, law: ActionLaw, card: dict[str, Any]) -> bytes:
    """The file's content: arrays by name, and the card as a text."""
    size = len(policy.weights[0])
    normalised = policy.center is not None
    arrays: dict[str, Any] = {
        "card": np.array(card_text(card)),
        "center": policy.center if normalised else np.zeros(size, np.float32),
        "factor": policy.factor if normalised else np.ones(size, np.float32),
        "clip": np.float32(CLIP if normalised else np.inf),
        **{name: part.astype(np.float32) for name, part in law.numbers.items()},
    }
    if policy.std is not None:
        arrays["std"] = policy.std
    for index, (weight, bias) in enumerate(zip(policy.weights, policy.biases, strict=True)):
        arrays |= {f"weight_{index}": weight, f"bias_{index}": bias}
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def reader_bytes() -> bytes:
    """The reader's source: a file that needs nothing of polygait."""
    return inspect.getsource(reader).encode()
