"""One rival library in a process of its own, led line by line by train.py or sac.py; needs only .bench-venv.

    {"fresh": "8×512"}  → {}                the untrained policy of this setup again, at new episodes
    {"learn": 12}       → {"steps": 49152}  so many rollouts with their updates
    {"keep": "8×512"}   → {}                the other setups are closed

The first line out, before any request, names the versions and the setups.
"""

import copy
import importlib.metadata
import json
import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

LAYOUTS = ((1, "dummy"), (8, "dummy"), (64, "dummy"), (8, "processes"))
"""Environments, and where they live: all in one process, or each in its own."""
PACKAGES = ("torch", "jax", "gymnasium", "mujoco")


class Setup(NamedTuple):
    """A model, and how to make it as untrained as it was."""

    model: Any
    renew: Callable[[], None]
    num_threads: int


def sb3(env_id: str, settings: dict[str, Any]) -> dict[str, Callable[[], Setup]]:
    """Stable-Baselines3: eager PyTorch, with one thread and with one per core."""
    import torch  # type: ignore
    from stable_baselines3 import PPO  # type: ignore

    def make(layout: tuple[int, str], num_threads: int) -> Setup:
        model = PPO(env=_environments(env_id, layout), **_arguments(settings, layout[0], torch.nn.Tanh))
        start = copy.deepcopy(model.get_parameters())
        return Setup(model, lambda: model.set_parameters(copy.deepcopy(start)), num_threads)

    return {
        f"{_name(layout, settings)}, torch threads: {num_threads}": partial(make, layout, num_threads)
        for layout in LAYOUTS
        for num_threads in sorted({1, os.cpu_count() or 1})
    }


def sbx(env_id: str, settings: dict[str, Any]) -> dict[str, Callable[[], Setup]]:
    """SBX: the same loop with one jitted JAX call per action and per minibatch."""
    import jax  # type: ignore
    from sbx import PPO  # type: ignore

    def make(layout: tuple[int, str]) -> Setup:
        model = PPO(env=_environments(env_id, layout), **_arguments(settings, layout[0], jax.numpy.tanh))
        start = model.policy.actor_state, model.policy.vf_state

        def renew() -> None:
            # The same state objects, since a new model would compile anew.
            model.policy.actor_state, model.policy.vf_state = start

        return Setup(model, renew, 1)

    return {_name(layout, settings): partial(make, layout) for layout in LAYOUTS}


def sbx_sac(env_id: str, settings: dict[str, Any]) -> dict[str, Callable[[], Setup]]:
    """SBX's SAC, one update per step: after every step, or after many steps as many updates."""
    from sbx import SAC  # type: ignore

    def make(num_envs: int, steps: int) -> Setup:
        model = SAC(
            "MlpPolicy",
            _environments(env_id, (num_envs, "dummy")),
            train_freq=steps,
            gradient_steps=num_envs * steps,
            learning_starts=0,
            policy_kwargs=settings["policy"],
            seed=0,
            **settings["sac"],
        )
        start = model.policy.actor_state, model.policy.qf_state, model.ent_coef_state

        def renew() -> None:
            # The same state objects, since a new model would compile anew.
            model.policy.actor_state, model.policy.qf_state, model.ent_coef_state = start
            model.replay_buffer.reset()

        return Setup(model, renew, 1)

    block = settings["rollout_steps"]
    layouts = [(1, 1), *((num_envs, block // num_envs) for num_envs in (1, 8, 16))]
    return {
        f"{num_envs}×{steps}, then {num_envs * steps} updates": partial(make, num_envs, steps)
        for num_envs, steps in layouts
    }


RIVALS = {("stable-baselines3", "ppo"): sb3, ("sbx-rl", "ppo"): sbx, ("sbx-rl", "sac"): sbx_sac}


def _name(layout: tuple[int, str], settings: dict[str, Any]) -> str:
    num_envs, place = layout
    return f"{num_envs}×{settings['rollout_steps'] // num_envs} {place}"


def _environments(env_id: str, layout: tuple[int, str]) -> Any:
    from stable_baselines3.common.env_util import make_vec_env  # type: ignore
    from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv  # type: ignore

    num_envs, place = layout
    kind = SubprocVecEnv if place == "processes" else DummyVecEnv
    return make_vec_env(env_id, n_envs=num_envs, seed=0, vec_env_cls=kind)


def _arguments(settings: dict[str, Any], num_envs: int, activation: Any) -> dict[str, Any]:
    """What both libraries' PPO is made with."""
    return {
        "policy": "MlpPolicy",
        "n_steps": settings["rollout_steps"] // num_envs,
        **settings["ppo"],
        "policy_kwargs": {**settings["policy"], "activation_fn": activation},
        "device": "cpu",
        "seed": 0,
    }


class Worker:
    """Does what the requests say."""

    def __init__(self, makers: dict[str, Callable[[], Setup]], rollout_steps: int) -> None:
        self.makers = makers
        self.rollout_steps = rollout_steps
        self.setups: dict[str, Setup] = {}
        self.current = ""

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        match request:
            case {"fresh": name}:
                self.fresh(name)
            case {"learn": rollouts}:
                return {"steps": self.learn(rollouts)}
            case {"keep": name}:
                self.keep(name)
        return {}

    def fresh(self, name: str) -> None:
        import torch  # type: ignore

        self.current = name
        if name not in self.setups:
            self.setups[name] = self.makers[name]()
            torch.set_num_threads(self.setups[name].num_threads)
            # Whatever is compiled or allocated once; SBX compiles its acting anew for a renewed policy.
            for _ in range(2):
                self.setups[name].renew()
                self.learn(2)
        torch.set_num_threads(self.setups[name].num_threads)
        self.setups[name].renew()

    def learn(self, rollouts: int) -> int:
        model = self.setups[self.current].model
        model.learn(rollouts * self.rollout_steps)
        return model.num_timesteps

    def keep(self, kept: str | None) -> None:
        for name in self.setups.keys() - {kept}:
            self.setups.pop(name).model.env.close()


def main(rival: str, env_id: str, settings: dict[str, Any]) -> None:
    # Answers alone go to the real standard output; what the libraries print goes to standard error.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    worker = Worker(RIVALS[rival, settings["algorithm"]](env_id, settings), settings["rollout_steps"])
    versions = {name: importlib.metadata.version(name) for name in (rival, *PACKAGES)}
    print(json.dumps({"versions": versions, "setups": list(worker.makers)}), file=answers)
    for line in sys.stdin:
        print(json.dumps(worker.answer(json.loads(line))), file=answers)
    worker.keep(None)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]))
