"""On the path of a test's processes, this makes workers save at every turn."""

import sys

if "polygait.study.worker" in sys.orig_argv:
    from polygait import training

    training.CHECKPOINT_SECONDS = 0.0
    training.CHECKPOINT_SHARE = float("inf")
