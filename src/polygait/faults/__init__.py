"""The language of damage for everybody's environments, as Gymnasium wrappers."""

from polygait.faults.vector import VectorFaultInjection
from polygait.faults.wrapper import FaultInjection

__all__ = ["FaultInjection", "VectorFaultInjection"]
