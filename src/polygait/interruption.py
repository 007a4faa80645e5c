"""Ctrl-C and SIGTERM as a wish to stop at the next good moment."""

from __future__ import annotations

import signal
import threading
from types import FrameType


class Interruption:
    """While entered, the first signal only sets `requested`; a second one interrupts at once."""

    def __init__(self) -> None:
        self.requested = False
        self._before: dict[int, object] = {}

    def __enter__(self) -> Interruption:
        # Only the main thread may handle signals; elsewhere the caller's own handling stays.
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._receive)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
