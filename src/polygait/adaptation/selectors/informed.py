"""Informed: what members did in simulated damages says whom to try next."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from polygait.adaptation.knowledge import Matrix, read_matrix
from polygait.adaptation.mixture import Mixture, after_trial, expected, expected_improvement, uncertainty
from polygait.adaptation.record import TrialRecord
from polygait.adaptation.selector import Belief, Choice, Request, Selector
from polygait.population.population import Population

TRIALS = 10
NOMINAL = "nominal"
UNKNOWN = 0.6
"""How probable it is beforehand that the new world is like none that is known."""
LIKENESS = 0.6
"""How far a world may lie from the known one that it is like, in standard deviations of all of them."""
SHRINKAGE = 0.4
"""Of the correlations between members: few worlds tell them only roughly."""
LEAST_NOISE = 0.1
"""Of a single trial, in standard deviations of all values: reality has more chance than simulation."""

_COLUMNS = {"return": "returns", "progress": "progress"}
"""Where an evaluation keeps what trials are told in."""


@dataclass(frozen=True)
class InformedConfig:
    """How much to spend, and what to know beforehand."""

    trials: int | None = None
    """Trials of all members together; 10 when left out."""
    max_falls: int | None = None
    """A member that has fallen so often is tried no more."""
    prior: str = "mesh"
    """The suite in which members were evaluated."""
    by: Literal["return", "progress"] = "return"
    """What trials are told in: return, or progress in metres."""


class Informed(Selector):
    """The next trial is the one that is expected to improve most on the best member tried so far.

    Nobody is tried twice before all were tried once: a known world makes members seem better known than they
    are in a new one. The choice is the member with the highest expectation, tried or not.
    """

    name = "informed"
    Config = InformedConfig

    config: InformedConfig

    def prepare(self, population: Population) -> None:
        self.learn(read_matrix(population, self.config.prior, _COLUMNS[self.config.by]))

    def learn(self, matrix: Matrix) -> None:
        """Take what is known; values are compared in standard deviations of it."""
        self._center = float(matrix.mean.mean())
        self._scale = float(matrix.mean.std()) or 1.0
        self._prior = damage_prior(
            (matrix.mean - self._center) / self._scale,
            matrix.variance / self._scale**2,
            matrix.worlds.index(NOMINAL) if NOMINAL in matrix.worlds else None,
        )

    @classmethod
    def complete(cls, config: InformedConfig, num_members: int) -> InformedConfig:
        return replace(config, trials=config.trials or TRIALS)

    @property
    def budget(self) -> int:
        return self.config.trials or TRIALS

    def requests(self, trials: TrialRecord) -> Iterator[Request]:
        while trials.num_trials < self.budget:
            stopped = self._stopped(trials)
            open_to = [member for member in range(trials.num_members) if member not in stopped]
            if not open_to:
                return
            now = self._posterior(trials)
            tried = [member for member in open_to if trials.counts[member]]
            gain = expected_improvement(now, float(expected(now)[tried or open_to].max()))
            unknown = [member for member in open_to if member not in tried]
            yield Request((max(unknown or open_to, key=lambda member: gain[member]),))

    def choose(self, trials: TrialRecord) -> Choice:
        stopped = self._stopped(trials)
        value = expected(self._posterior(trials))
        upright = [member for member in range(trials.num_members) if member not in stopped]
        return Choice(max(upright or range(len(value)), key=lambda member: value[member]), stopped)

    def belief(self, trials: TrialRecord) -> Belief:
        now = self._posterior(trials)
        return Belief(expected(now) * self._scale + self._center, uncertainty(now) * self._scale)

    def _posterior(self, trials: TrialRecord) -> Mixture:
        """What is believed after all trials; their order does not matter."""
        mixture = self._prior
        for member, values in enumerate(trials.returns):
            for value in values[np.isfinite(values)]:
                mixture = after_trial(mixture, member, float((value - self._center) / self._scale))
        return mixture

    def _stopped(self, trials: TrialRecord) -> tuple[int, ...]:
        """Members that have fallen as often as allowed."""
        limit = self.config.max_falls
        return () if limit is None else tuple(np.flatnonzero(trials.falls >= limit).tolist())


def damage_prior(values: np.ndarray, variance: np.ndarray, nominal: int | None = None) -> Mixture:
    """The mixture over known worlds, (world, member) values and the variance of single episodes there.

    In a world like none of them members are expected to differ as in the nominal one, if that is known.
    """
    worlds, members = values.shape
    center = values.mean(axis=0)
    sample = (values - center).T @ (values - center) / (worlds - 1)
    alone = np.diag(0.5 * np.diag(sample) + 0.5 * np.diag(sample).mean())
    covariance = (1 - SHRINKAGE) * sample + SHRINKAGE * alone + 1e-6 * np.eye(members)
    usual = float(np.nanmedian(variance)) if np.isfinite(variance).any() else 0.0
    own = np.where(np.isfinite(variance), variance, usual)
    noise = np.vstack([0.5 * (own + usual), np.full(members, usual)])  # few episodes tell it only roughly
    return Mixture(
        log_weight=np.log(np.append(np.full(worlds, (1 - UNKNOWN) / worlds), UNKNOWN)),
        mean=np.vstack([values, center if nominal is None else _shifted(values[nominal], center.mean())]),
        covariance=np.concatenate([np.tile(LIKENESS**2 * covariance, (worlds, 1, 1)), covariance[None]]),
        noise=noise + LEAST_NOISE**2,
    )


def _shifted(values: np.ndarray, mean: float) -> np.ndarray:
    """The same differences about another mean."""
    return values - values.mean() + mean
