"""Few-shot selection in a changed world."""

from polygait.adaptation.choosing import adapt
from polygait.adaptation.result import Adaptation, Interval, read_adaptation

__all__ = ["Adaptation", "Interval", "adapt", "read_adaptation"]
