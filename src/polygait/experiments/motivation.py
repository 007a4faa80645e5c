"""The paper's motivation (Figure 1, Appendix A): the less of the state a model sees, the less sure it is.

A Soft Actor-Critic agent learns to walk. Beside it, on the very same minibatches, four inverse-dynamics
models T_i(a | f_i(s), f_i(s′)) learn to read its actions from states with more and more removed (reading.py).
Afterwards all are asked about the same fresh episodes of the finished agent: their variance is the result.
"""

from __future__ import annotations

import dataclasses
import os
import warnings
from typing import Any, NamedTuple

import numpy as np

from polygait.experiments.reading import (
    SETTINGS,
    TASK,
    Laboratory,
    LoopState,
    MotivationConfig,
    make_laboratory,
    train,
)
from polygait.experiments.revealing import Experience, Inference, filtered, infer
from polygait.interruption import Interruption
from polygait.learning.rollout import Rollout, collect, first_episodes, rollout_noise, start_position
from polygait.learning.squashed import NumpySquashed
from polygait.population.store import RunFolder
from polygait.population.trees import flatten_tree
from polygait.progress import Report, silent
from polygait.tasks.registry import make_task
from polygait.tasks.state import StateFilter
from polygait.tasks.task import action_names
from polygait.versions import differences, versions


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
    config: MotivationConfig,
    out: str | os.PathLike[str],
    threads: int | None = None,
    report: Report | None = None,
) -> Result:
    """Run the experiment in a new folder."""
    config.check()
    layout = make_task(TASK).layout
    description = {
        "config": {"experiment": "motivation", **dataclasses.asdict(config)},
        "task": TASK,
        "layout": layout.to_json(),
        "filter": StateFilter.identity(layout).to_json(),
        "versions": versions(),
        "seeds": {"seed": config.seed},
    }
    return _go_on(RunFolder.create(out, description), threads, report)


def resume_motivation(
    path: str | os.PathLike[str], threads: int | None = None, report: Report | None = None
) -> Result:
    """Go on where the experiment stopped, bit for bit; a finished one tells its result again."""
    return _go_on(RunFolder.open(path), threads, report)


def _go_on(run: RunFolder, threads: int | None, report: Report | None) -> Result:
    if run.complete:
        return Result.from_json(run.manifest["result"])
    if changed := differences(run.manifest["versions"]):
        warnings.warn(f"Versions changed since {run.path} began: {', '.join(changed)}.", stacklevel=3)
    described = run.manifest["config"]
    config = MotivationConfig.from_json({name: described[name] for name in described if name != "experiment"})
    with run.writing(), Interruption() as stop:
        laboratory = make_laboratory(run, config, threads)
        state = train(laboratory, report or silent, stop)
        result = _question(laboratory, state)
        kept = {"learner": state.agent.learner, "models": [one.model for one in state.models]}
        steps = config.blocks * config.sac.block_steps
        run.save_member(0, flatten_tree(kept), steps, {"nominal_return": float(result.returns.mean())})
        run.update_manifest({"complete": True, "result": result.to_json()})
        run.clear_checkpoints()
    return result


def _question(laboratory: Laboratory, state: LoopState) -> Result:
    """Ask every model about the same episodes, played as while learning: with actions drawn from the policy.

    Actions without noise would be others than the models learned to read; they only give the returns.
    """
    sampled = _episodes(laboratory, state, noisy=True)
    calm = _episodes(laboratory, state, noisy=False)
    alive = first_episodes(sampled)
    experience = Experience(
        sampled.observation[alive], sampled.action[alive], sampled.next_observation[alive]
    )
    models = {
        name: infer(one.model, filtered(experience, own))
        for name, one, own in zip(SETTINGS, state.models, laboratory.filters, strict=True)
    }
    returns = np.where(first_episodes(calm), calm.reward, 0.0).sum(axis=(0, 1))
    actions = action_names(laboratory.task)
    return Result(models, actions, len(experience.action), returns)


def _episodes(laboratory: Laboratory, state: LoopState, noisy: bool) -> Rollout:
    """Steps of the finished agent from fresh starts, long enough for a whole episode everywhere."""
    task = make_task(TASK, num_envs=laboratory.config.episodes, num_threads=laboratory.threads)
    shape = (task.max_episode_steps, task.num_envs, task.action_size)
    noise = np.zeros((shape[0], 1, *shape[1:]), np.float32)
    if noisy:
        noise = rollout_noise(laboratory.agent.key[None], laboratory.config.blocks, shape)
    actor = NumpySquashed(state.agent.learner.actor.policy)
    return collect(task, actor, noise, start_position(task, 1, list(range(task.num_envs))))


def _plain(inference: Inference) -> dict[str, Any]:
    return {name: np.asarray(value).tolist() for name, value in inference._asdict().items()}
