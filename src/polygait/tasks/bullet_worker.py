"""Robots in PyBullet shared out to processes; it keeps Python's lock, so threads would not help.

Run as a program, this file is such a process: it answers calls until its pipe closes.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import weakref
from collections.abc import Sequence
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from polygait.tasks.bullet_physics import BulletMinitaurs, Figures, Readings

_PATIENCE = 10.0
"""Seconds that a process may take to end."""


class Remote:
    """Robots in a process of their own; a call is begun with `send` and ended with `receive`."""

    def __init__(self, count: int, stock_order: bool) -> None:
        self._pipe, theirs = Pipe()
        descriptor = theirs.fileno()
        # A fresh interpreter: neither a fork of running threads nor a second run of the user's script.
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(descriptor)],
            pass_fds=[descriptor],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for the one who asks, who may want to save first
        )
        theirs.close()
        weakref.finalize(self, _end, self._pipe, self._process)
        self.send("__init__", count, stock_order)

    def send(self, call: str, *arguments: Any) -> None:
        with contextlib.suppress(ConnectionError):  # `receive` tells
            self._pipe.send((call, arguments))

    def receive(self) -> Any:
        """The answer, which may be an exception."""
        try:
            return self._pipe.recv()
        except (EOFError, ConnectionError):
            code = self._process.wait()
            return RuntimeError(f"A process with PyBullet simulations ended unexpectedly (code {code}).")


class Local:
    """Robots in this process, behind the same two calls."""

    def __init__(self, count: int, stock_order: bool) -> None:
        self._robots = BulletMinitaurs(count, stock_order)
        self._answer: Any = None
        weakref.finalize(self, self._robots.close)

    def send(self, call: str, *arguments: Any) -> None:
        self._answer = getattr(self._robots, call)(*arguments)

    def receive(self) -> Any:
        return self._answer


class BulletRobots:
    """Robots spread evenly over processes, addressed by their row."""

    def __init__(self, count: int, num_processes: int, stock_order: bool) -> None:
        parts = np.array_split(np.arange(count), min(num_processes, count))
        kind = Local if len(parts) == 1 else Remote
        self._rows = [part.tolist() for part in parts]
        self._groups = [kind(len(part), stock_order) for part in parts]
        self._gather()

    def names_and_figures(self) -> tuple[list[str], Figures]:
        """The names of the links, and the figures of PyBullet's own file."""
        return self._ask("names_and_figures")[0]

    def apply(self, rows: np.ndarray, figures: Figures) -> None:
        """Change robots from the next substep on; one row of figures for each."""
        for group, local, places in self._shares(rows):
            group.send("apply", local, Figures(*(array[places] for array in figures)))
        self._gather(rows)

    def reset(self, rows: np.ndarray) -> Readings:
        """Put new robots on the floor; the state of all."""
        for group, local, _ in self._shares(rows):
            group.send("reset", local)
        self._gather(rows)
        return self.read()

    def step(self, rows: np.ndarray, commands: np.ndarray) -> Readings:
        """Drive the motors of some robots for one step, a row of commands for each; the state of all."""
        for group, local, places in self._shares(rows):
            group.send("step", local, commands[places])
        self._gather(rows)
        return self.read()

    def read(self) -> Readings:
        """The state of all robots."""
        return Readings(*(np.concatenate(parts) for parts in zip(*self._ask("read"), strict=True)))

    def foot_contacts(self) -> np.ndarray:
        """Which feet touch the floor, (robot, leg)."""
        return np.concatenate(self._ask("foot_contacts"))

    def save(self) -> tuple[list[bytes], np.ndarray]:
        """The physics of every robot, and what the motors remember."""
        answers = self._ask("save")
        return [one for saved, _ in answers for one in saved], np.concatenate(
            [memory for _, memory in answers]
        )

    def restore(self, saved: Sequence[bytes], memory: np.ndarray) -> None:
        """Go back to what `save` gave."""
        for group, rows in zip(self._groups, self._rows, strict=True):
            group.send("restore", [saved[row] for row in rows], memory[rows])
        self._gather()

    def _shares(self, rows: np.ndarray) -> list[tuple[Any, list[int], list[int]]]:
        """For every group with some of the rows: their numbers within it, and their places in `rows`."""
        shares = []
        for group, own in zip(self._groups, self._rows, strict=True):
            places = [place for place, row in enumerate(rows.tolist()) if own[0] <= row <= own[-1]]
            if places:
                shares.append((group, [int(rows[place]) - own[0] for place in places], places))
        return shares

    def _ask(self, call: str) -> list[Any]:
        for group in self._groups:
            group.send(call)
        return self._gather()

    def _gather(self, rows: np.ndarray | None = None) -> list[Any]:
        groups = self._groups if rows is None else [group for group, _, _ in self._shares(rows)]
        answers = [group.receive() for group in groups]  # all of them, or the next call would find the rest
        for answer in answers:
            if isinstance(answer, Exception):
                raise answer
        return answers


def _end(pipe: Connection, process: subprocess.Popen) -> None:
    """Closing the pipe ends the process."""
    pipe.close()
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _serve(pipe: Connection) -> None:
    robots: Any = None
    while True:
        try:
            call, arguments = pipe.recv()
        except EOFError:
            return
        try:
            if call == "__init__":
                robots, answer = BulletMinitaurs(*arguments), None
            else:
                answer = getattr(robots, call)(*arguments)
        except Exception as error:  # the caller decides
            answer = error
        pipe.send(answer)


if __name__ == "__main__":
    _serve(Connection(int(sys.argv[1])))
