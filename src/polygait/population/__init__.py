"""What training leaves behind: the run folder and its contents."""

from polygait.population.checkpoints import Checkpoint
from polygait.population.manifest import MemberEntry
from polygait.population.store import RunFolder
from polygait.storage.trees import flatten_tree, unflatten_tree

__all__ = ["Checkpoint", "MemberEntry", "RunFolder", "flatten_tree", "unflatten_tree"]
