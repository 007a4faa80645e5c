"""Ask and tell: a selector says whom to try next and is told what came out, by a simulator or by a person."""

from __future__ import annotations

from collections import Counter, deque

from polygait.adaptation.record import TrialRecord
from polygait.adaptation.selector import Choice, Selector
from polygait.errors import UserError


class AskTell:
    """One selector at work, from its first question to its choice."""

    def __init__(self, selector: Selector, num_members: int, budget: int | None = None) -> None:
        self.selector = selector
        self.budget = selector.budget if budget is None else budget
        """The most trials of all members together."""
        self.record = TrialRecord(num_members)
        self._requests = selector.requests(self.record)
        self._wanted: deque[int] = deque()
        self._asked: Counter[int] = Counter()

    def ask(self) -> int | None:
        """The member to try next; the same one until it is told, None when all is done."""
        if self._asked:
            return next(iter(self._asked))
        self._refill()
        if not self._wanted:
            return None
        self._asked[self._wanted.popleft()] += 1
        return next(iter(self._asked))

    def ask_all(self) -> list[int]:
        """Every trial that can be made before the selector must know more; empty when all is done."""
        self._refill()
        self._asked.update(self._wanted)
        self._wanted.clear()
        return list(self._asked.elements())

    def tell(self, member: int, value: float, fell: bool = False, diverged: bool = False) -> None:
        """What a trial of a member that was asked for came to."""
        self.require_asked(member)
        self._asked -= Counter([member])
        self.record.add(member, value, fell, diverged)

    def repeat(self, member: int, value: float, fell: bool = False) -> None:
        """A trial that was told in an earlier process, also if it would not be asked for again."""
        self._refill()
        if member in self._wanted:
            self._wanted.remove(member)
        self.record.add(member, value, fell)

    def choose(self) -> Choice:
        """The member to take, after any number of trials but none."""
        return self.selector.choose(self.record)

    def _refill(self) -> None:
        """Let the selector say whom it wants next, if it can; one trial of each before a second of any."""
        left = self.budget - self.record.num_trials - self._asked.total()
        while not self._wanted and not self._asked and left > 0:
            request = next(self._requests, None)
            if request is None:
                return
            self._wanted.extend(list(request.members) * request.trials)
        while len(self._wanted) > max(0, left):
            self._wanted.pop()

    def require_asked(self, member: int) -> None:
        """Refuse a trial that nobody asked for."""
        if self._asked[member]:
            return
        if self._asked:
            asked = " and ".join(f"member {one}" for one in self._asked)
            raise UserError(
                f"Member {member} was not asked for: {asked} is to be tried.",
                "Tell what came out of that trial; nothing was recorded.",
            )
        if self.record.num_trials >= self.budget:
            raise UserError(
                f"The budget of {self.budget} trials is spent.",
                "Begin trials under another name for more; nothing was recorded.",
            )
        raise UserError(
            f"Member {member} was told without being asked for.", "Call ask() first; nothing was recorded."
        )
