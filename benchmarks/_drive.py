"""Drives Gymnasium's own environment with an exported policy; needs onnxruntime, NumPy and Gymnasium alone.

python _drive.py policy.onnx Walker2d-v5 10      → one JSON object: returns, lengths, starts, seconds
"""

import json
import sys
import time

import gymnasium
import numpy as np
import onnxruntime


def main(path: str, env_id: str, episodes: int) -> None:
    """Whole episodes, one after the other, each action by itself as on a robot."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    policy = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    env = gymnasium.make(env_id)
    returns, lengths, seconds, starts = [], [], [], []
    for seed in range(episodes):
        observation, _ = env.reset(seed=seed)
        data = env.unwrapped.data  # type: ignore[attr-defined]
        starts.append([data.qpos.tolist(), data.qvel.tolist()])
        total, length, ended = 0.0, 0, False
        while not ended:
            seen = observation.astype(np.float32)[None]
            start = time.perf_counter()
            controls = np.asarray(policy.run(["controls"], {"obs": seen})[0])[0]
            seconds.append(time.perf_counter() - start)
            observation, reward, terminated, truncated, _ = env.step(controls)
            total, length, ended = total + float(reward), length + 1, terminated or truncated
        returns.append(total)
        lengths.append(length)
    found = {"returns": returns, "lengths": lengths, "starts": starts}
    found["seconds"] = np.percentile(seconds, [50, 99]).tolist()
    modules = {name.partition(".")[0] for name in sys.modules}
    print(json.dumps({**found, "foreign": sorted(modules & {"polygait", "jax", "onnx", "torch"})}))


main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
