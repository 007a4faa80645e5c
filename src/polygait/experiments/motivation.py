"""The paper's motivation (Figure 1, Appendix A): the less of the state a model sees, the less sure it is.

A Soft Actor-Critic agent learns to walk. Beside it, on the very same minibatches, four inverse-dynamics
models T_i(a | f_i(s), f_i(s′)) learn to read its actions from states with more and more removed (reading.py).
Afterwards all are asked about the same fresh episodes of the finished agent: their variance is the result.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import jax
import numpy as np

from polygait.config import MotivationConfig, TrainConfig
from polygait.diversity.inverse_dynamics import InverseDynamics
from polygait.errors import UserError
from polygait.experiments.reading import SETTINGS, TASK, ReadingConfig, state_filters
from polygait.experiments.revealing import Experience, Inference, filtered, infer
from polygait.learning.keys import member_keys
from polygait.learning.rollout import Rollout, collect, first_episodes, rollout_noise, start_position
from polygait.population.population import Population, load, section
from polygait.population.store import RunFolder
from polygait.progress import Report
from polygait.runs import begin, go_on
from polygait.storage.trees import unflatten_tree
from polygait.tasks.registry import make_task


class Result(NamedTuple):
    """What the experiment found."""

    models: dict[str, Inference]
    """What every model says about the same transitions."""
    actions: list[str]
    """The names of the action's dimensions."""
    num_transitions: int
    """How many the models were asked about."""
    returns: np.ndarray
    """(episode,) of the finished agent with mean actions."""

    def to_json(self) -> dict[str, Any]:
        """The result as plain data."""
        models = [{"model": name, **_plain(one)} for name, one in self.models.items()]
        return {**self._asdict(), "models": models, "returns": self.returns.tolist()}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Result:
        """The result that to_json() described."""
        models = {
            one["model"]: Inference(np.array(one["variance"]), np.array(one["error"]), one["log_likelihood"])
            for one in data["models"]
        }
        return cls(models, data["actions"], data["num_transitions"], np.array(data["returns"]))


def run_motivation(
    config: MotivationConfig, out: str | os.PathLike[str], report: Report | None = None
) -> Result:
    """Run the experiment in a new folder."""
    if config.episodes < 1:
        raise UserError(f"episodes must be at least 1, got {config.episodes}.", "Nothing was started.")
    training = TrainConfig(
        task=TASK,
        method="pg",
        learner=ReadingConfig.name,
        steps=config.steps,
        seed=config.seed,
        threads=config.threads,
        overrides=(f"motivation.updates_per_step={config.updates_per_step}", *config.overrides),
    )
    asked = {"name": "motivation", "episodes": config.episodes}
    return _to_its_end(begin(training, out, experiment=asked), config.threads, report)


def resume_motivation(
    path: str | os.PathLike[str], threads: int | None = None, report: Report | None = None
) -> Result:
    """Go on where the experiment stopped, bit for bit; a finished one tells its result again."""
    return _to_its_end(RunFolder.open(path), threads, report)


def _to_its_end(run: RunFolder, threads: int | None, report: Report | None) -> Result:
    if "result" in run.manifest:
        return Result.from_json(run.manifest["result"])
    if not run.manifest["config"]:
        raise UserError(
            f"{run.path} was begun by polygait 0.1, whose agent drew other random numbers.",
            "Finish it with that version, or run it again in another folder.",
        )
    population = load(run.path) if run.complete else go_on(run, threads, report)
    result = _question(RunFolder.open(run.path), population, threads)
    with run.writing():
        run.update_manifest({"result": result.to_json()})
    return result


def _question(run: RunFolder, population: Population, threads: int | None) -> Result:
    """Ask every model about the same episodes, played as while learning: with actions drawn from the policy.

    Actions without noise would be others than the models learned to read; they only give the returns.
    """
    episodes = run.manifest["experiment"]["episodes"]
    sampled = _episodes(population, episodes, threads, noisy=True)
    calm = _episodes(population, episodes, threads, noisy=False)
    alive = first_episodes(sampled)
    experience = Experience(
        sampled.observation[alive], sampled.action[alive], sampled.next_observation[alive]
    )
    filters = state_filters(population.layout)
    models = {
        name: infer(model, filtered(experience, own))
        for name, model, own in zip(SETTINGS, _models(run, population), filters, strict=True)
    }
    returns = np.where(first_episodes(calm), calm.reward, 0.0).sum(axis=(0, 1))
    actions = list(population.make_task().anatomy.actions)
    return Result(models, actions, len(experience.action), returns)


def _models(run: RunFolder, population: Population) -> list[InverseDynamics]:
    """The models that were trained beside the agent, from its member's file."""
    config: ReadingConfig = population.config.learner
    like = [
        InverseDynamics(jax.random.key(0), own.size, population.action_size, config.model)
        for own in state_filters(population.layout)
    ]
    return unflatten_tree(like, section(run.load_member(0), "critic['models']"))


def _episodes(population: Population, episodes: int, threads: int | None, noisy: bool) -> Rollout:
    """Steps of the finished agent from fresh starts, long enough for a whole episode everywhere."""
    task = make_task(TASK, num_envs=episodes, num_threads=threads)
    shape = (task.max_episode_steps, episodes, task.action_size)
    noise = np.zeros((shape[0], 1, *shape[1:]), np.float32)
    if noisy:
        config = population.config
        keys = member_keys(jax.random.key(config.seed), 0, 1)
        noise = rollout_noise(keys, config.iterations + 1, shape)
    return collect(
        task, population.actor([0], episodes), noise, start_position(task, 1, list(range(episodes)))
    )


def _plain(inference: Inference) -> dict[str, Any]:
    return {name: np.asarray(value).tolist() for name, value in inference._asdict().items()}
