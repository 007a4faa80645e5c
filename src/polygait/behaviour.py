"""What members do, beside what they earn: how differently they act, and which feet carry them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from polygait.config import BehaviourConfig, check_seed, from_options
from polygait.diversity.information import Information
from polygait.diversity.score import paper_ceiling, paper_score, rbf_score
from polygait.episodes import IDLE, Frame, Job, counting, episode_seeds, run_members, task_factory
from polygait.errors import UserError, unknown_name
from polygait.information import gather_experience, information_in, shares_in, standard_filters
from polygait.population.population import Population, PopulationLike, as_population
from polygait.population.results import save_result
from polygait.progress import Count, silent
from polygait.tasks.fingerprint import fingerprint_of
from polygait.tasks.randomness import EpisodePurpose
from polygait.tasks.task import check_count
from polygait.variations import Edit, Variation, variation_text

_FORMS = {"paper": paper_score, "rbf": rbf_score}

World = str | Variation | Edit | None
"""What has changed; None is the nominal world."""


class ContactPattern(NamedTuple):
    """Which feet touch the ground over one episode, after every step."""

    feet: tuple[str, ...]
    down: np.ndarray
    """(time, foot)"""
    time_step: float | None
    """Seconds between two rows, where the task knows."""


@dataclass(frozen=True)
class ContactShares:
    """Shares of time in which feet touch the ground, per member and episode."""

    feet: tuple[str, ...]
    down: np.ndarray
    """(member, episode, foot)"""
    none_down: np.ndarray
    """(member, episode) No foot: the robot flies."""
    all_down: np.ndarray
    """(member, episode) All feet at once."""

    def to_json(self) -> dict[str, Any]:
        """Mean and standard deviation over episodes, per member."""

        def told(shares: np.ndarray) -> dict[str, Any]:
            return {"mean": shares.mean(axis=1).tolist(), "std": shares.std(axis=1).tolist()}

        return {
            "feet": {foot: told(self.down[:, :, place]) for place, foot in enumerate(self.feet)},
            "none_down": told(self.none_down),
            "all_down": told(self.all_down),
        }


def diversity_score(
    population: PopulationLike, states: int = BehaviourConfig.states, seed: int = 0, form: str = "paper"
) -> float:
    """How differently members act on states that random actions visit; −inf if one repeats another.

    "paper" is the sum kernel of the DiR paper, "rbf" the kernel of DvD's own (diversity/score.py).
    """
    if form not in _FORMS:
        raise unknown_name("form of the diversity score", form, _FORMS)
    population = as_population(population)
    return _FORMS[form](mean_actions(population, random_states(population, states, seed)))


def random_states(population: Population, count: int = BehaviourConfig.states, seed: int = 0) -> np.ndarray:
    """(state, number) The first states that uniformly random actions visit in the population's task.

    One robot, one episode after another: so early states of an episode have the share they have there.
    """
    check_count("states", count)
    check_seed(seed)
    task = population.make_task(1, seed=seed)
    chance = np.random.default_rng(seed)
    states = np.empty((count, task.observation_size))
    observation = task.reset()
    for place in range(count):
        states[place] = observation[0]
        step = task.step(chance.uniform(-1.0, 1.0, (1, task.action_size)))
        ended = step.terminated[0] or step.truncated[0]
        observation = task.reset() if ended else step.observation
    return states


def mean_actions(population: Population, states: np.ndarray) -> np.ndarray:
    """(member, state, action) What every member does in the same states."""
    return np.stack([population.act(states, member.index) for member in population.members])


def contact_pattern(
    population: PopulationLike, member: int = 0, variation: World = None, seed: int = 0
) -> ContactPattern:
    """Which feet touch the ground over one episode of a member with mean actions."""
    population = as_population(population)
    population.require_member(member)
    job = Job(member, variation_text(variation), episode_seeds(seed, EpisodePurpose.CONTACTS, 1)[0])
    contacts = _contacts(population, [job])
    return ContactPattern(contacts.feet, contacts.down[0, : contacts.length[0]], contacts.time_step)


def contact_shares(
    population: PopulationLike,
    episodes: int = BehaviourConfig.episodes,
    variation: World = None,
    seed: int = 0,
    threads: int | None = None,
    report: Count = silent,
) -> ContactShares:
    """The share of time each foot is down, over episodes of every member with mean actions."""
    population = as_population(population)
    check_count("episodes", episodes)
    seeds = episode_seeds(seed, EpisodePurpose.CONTACTS, episodes)
    jobs = [
        Job(member.index, variation_text(variation), start)
        for member in population.members
        for start in seeds
    ]
    contacts = _contacts(population, jobs, threads, report)
    down = contacts.down.reshape(len(population), episodes, -1, len(contacts.feet))
    length = contacts.length.reshape(len(population), episodes)
    return ContactShares(
        feet=contacts.feet,
        down=down.sum(axis=2) / length[..., None],
        none_down=1 - down.any(axis=3).sum(axis=2) / length,
        all_down=down.all(axis=3).sum(axis=2) / length,
    )


class _Contacts(NamedTuple):
    feet: tuple[str, ...]
    down: np.ndarray
    """(job, time, foot) False after an episode's end."""
    length: np.ndarray
    """(job,) Steps seen."""
    time_step: float | None


def _contacts(
    population: Population, jobs: Sequence[Job], threads: int | None = None, report: Count = silent
) -> _Contacts:
    """Watch the feet over all jobs."""
    make = task_factory(population, None, threads)
    task = make(1)
    if not task.feet:
        raise UserError(
            f"{population.config.task} names no feet, so there are no contacts to see.",
            "Name feet in the Robot file (docs/robots.md).",
        )
    task.set_variation(jobs[0].variation)  # an unknown name is told before any episode is run
    down = np.zeros((len(jobs), task.max_episode_steps, len(task.feet)), dtype=bool)
    count = counting(report, len(jobs))

    def watch(frame: Frame) -> None:
        # A step in which physics broke down shows the feet of a robot put back to its start.
        rows = np.flatnonzero((frame.job != IDLE) & ~frame.task.diverged)
        down[frame.job[rows], frame.time[rows]] = frame.task.foot_contacts()[rows]
        count(frame)

    outcome = run_members(population, jobs, make, watch)
    length = np.maximum(outcome.length - outcome.diverged, 1)
    return _Contacts(task.feet, down, length, task.time_step)


@dataclass(frozen=True)
class Behaviour:
    """All that can be said about how the members of a population differ."""

    task: str
    config: BehaviourConfig
    score: dict[str, float]
    """By form."""
    ceiling: dict[str, float]
    """What each form cannot exceed."""
    contacts: ContactShares | None
    """None for a robot without feet."""
    variance: dict[str, float]
    """Share between members per state part; empty for a single member."""
    removed: dict[str, float]
    """Share of each part's numbers that the run's filter removed."""
    information: dict[str, Information]
    """By filter; empty for a single member."""
    robot: str
    """The fingerprint of the task."""

    def to_json(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {
            "task": self.task,
            "config": vars(self.config),
            "diversity_score": self.score,
            "diversity_ceiling": self.ceiling,
            "contacts": None if self.contacts is None else self.contacts.to_json(),
            "variance_between_members": self.variance,
            "removed_by_filter": self.removed,
            "information": {name: estimate._asdict() for name, estimate in self.information.items()},
            "robot": self.robot,
        }


def measure_behaviour(
    population: PopulationLike, report: Callable[[str], Count] = lambda _: silent, **options: Any
) -> Behaviour:
    """Every measure at once; the options are those of BehaviourConfig. Kept in the run's folder.

    `report` gives a counter for each kind of work.
    """
    population = as_population(population)
    config = from_options(BehaviourConfig, options)
    if problems := config.problems():
        raise UserError("\n".join(problems), "Nothing was started.")
    seed, threads = config.seed, config.threads
    actions = mean_actions(population, random_states(population, config.states, seed))
    contacts, variance, information = None, {}, {}
    task = population.make_task(1)
    if task.feet:
        count = report("episodes on foot")
        contacts = contact_shares(population, config.episodes, None, seed, threads, count)
    if len(population) > 1:
        experience = gather_experience(population, config.transitions, seed, threads, report("transitions"))
        variance = shares_in(experience, population)
        filters = standard_filters(population)
        information = information_in(experience, filters, seed, report("classifiers"))
    result = Behaviour(
        task=population.config.task,
        config=config,
        score={name: form(actions) for name, form in _FORMS.items()},
        ceiling={"paper": paper_ceiling(*actions.shape), "rbf": 0.0},
        contacts=contacts,
        variance=variance,
        removed=population.filter.removed_shares,
        information=information,
        robot=fingerprint_of(task).digest,
    )
    save_result(population.path / "behaviour", f"seed={seed}-{result.robot[:8]}", result.to_json())
    return result
