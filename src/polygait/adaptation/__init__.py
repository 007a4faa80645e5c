"""Few-shot selection in a changed world."""

from polygait.adaptation.choosing import adapt
from polygait.adaptation.result import Adaptation, Interval, read_adaptation
from polygait.adaptation.trials import Trials

__all__ = ["Adaptation", "Interval", "Trials", "adapt", "read_adaptation"]
