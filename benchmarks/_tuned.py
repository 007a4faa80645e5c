"""One tuned rival learns in a process of its own for learn.py and prints its curve; needs only .bench-venv.

Each line is a point: steps, seconds of learning, mean return and share of falls with mean actions. Settings
are those that rl-baselines3-zoo keeps in hyperparams/ppo.yml for Hopper-v3, Walker2d-v3 and Ant-v3: one
environment, observations and rewards normalised.
"""

import json
import os
import sys
import time
from typing import Any

import numpy as np

WIDE = {"log_std_init": -2, "ortho_init": False, "net_arch": {"pi": [256, 256], "vf": [256, 256]}}
ZOO: dict[str, dict[str, Any]] = {
    "Hopper-v5": {
        "batch_size": 32,
        "n_steps": 512,
        "gamma": 0.999,
        "learning_rate": 9.80828e-05,
        "ent_coef": 0.00229519,
        "clip_range": 0.2,
        "n_epochs": 5,
        "gae_lambda": 0.99,
        "max_grad_norm": 0.7,
        "vf_coef": 0.835671,
        "policy_kwargs": WIDE,
    },
    "Walker2d-v5": {
        "batch_size": 32,
        "n_steps": 512,
        "gamma": 0.99,
        "learning_rate": 5.05041e-05,
        "ent_coef": 0.000585045,
        "clip_range": 0.1,
        "n_epochs": 20,
        "gae_lambda": 0.95,
        "max_grad_norm": 1,
        "vf_coef": 0.871923,
    },
    "Ant-v5": {},
}


def main(package: str, env_id: str, numbers: list[int], goal: float, limit: float) -> None:
    """`numbers` = seed, steps, steps between two tests, their episodes; ends at `goal` or `limit` seconds."""
    seed, steps, every, episodes = numbers
    # The curve alone goes to the real standard output; what the libraries print goes to standard error.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    model = _model(package, env_id, seed)
    test = _environment(env_id, seed + 1_000_000)
    seconds, done, able = 0.0, 0, -float("inf")
    while done < steps and seconds < limit and able < goal:
        begun = time.perf_counter()
        model.learn(every, reset_num_timesteps=not done)
        seconds += time.perf_counter() - begun
        done = model.num_timesteps
        able, falls = _tested(model, test, episodes)
        print(json.dumps([done, seconds, able, falls]), file=answers)


def _environment(env_id: str, seed: int) -> Any:
    from stable_baselines3.common.env_util import make_vec_env  # type: ignore
    from stable_baselines3.common.vec_env import VecNormalize  # type: ignore

    gamma = ZOO[env_id].get("gamma", 0.99)
    return VecNormalize(make_vec_env(env_id, n_envs=1, seed=seed), gamma=gamma)


def _model(package: str, env_id: str, seed: int) -> Any:
    """PPO with the zoo's settings; its ReLU in the words of either library."""
    settings = dict(ZOO[env_id])
    if package == "sbx-rl":
        import jax  # type: ignore
        from sbx import PPO  # type: ignore

        relu = jax.nn.relu
    else:
        import torch  # type: ignore
        from stable_baselines3 import PPO  # type: ignore

        relu = torch.nn.ReLU
        torch.set_num_threads(1)  # the faster choice for networks of this size
    if networks := settings.pop("policy_kwargs", None):
        settings["policy_kwargs"] = {**networks, "activation_fn": relu}
    return PPO("MlpPolicy", _environment(env_id, seed), seed=seed, device="cpu", **settings)


def _tested(model: Any, test: Any, episodes: int) -> tuple[float, float]:
    """Mean return and share of falls of whole episodes with mean actions, seen as the learner sees now."""
    test.obs_rms, test.training, test.norm_reward = model.get_vec_normalize_env().obs_rms, False, False
    returns, falls = [], []
    observation, total = test.reset(), 0.0
    while len(returns) < episodes:
        action, _ = model.predict(observation, deterministic=True)
        observation, reward, ended, details = test.step(action)
        total += float(reward[0])
        if ended[0]:
            returns.append(total)
            falls.append(not details[0].get("TimeLimit.truncated", False))
            total = 0.0
    return float(np.mean(returns)), float(np.mean(falls))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], [int(text) for text in sys.argv[3:7]], *map(float, sys.argv[7:9]))
