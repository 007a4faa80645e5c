"""Learners by name: one file each in learners/, and entry points of other packages."""

from __future__ import annotations

from polygait.learning.learner import Learner
from polygait.registry import Registry

LEARNERS: Registry[Learner] = Registry("learner", Learner, "polygait.learning.learners", "polygait.learners")
