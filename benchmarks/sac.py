"""Steps/s of Soft Actor-Critic with one update per step: ours, its parts, and SBX's; and the ratio.

Every loop trains a fresh agent for the same first steps, in every round from the same start, without a
warm-up: each environment step has its update. Networks, minibatches and rates are the paper's (Appendix A)
on both sides.

    play      acting, physics and memory alone, with a policy that stays as it is
    update    the updates alone, on the minibatches of our own first steps

SBX acts in Gymnasium's environments. It is tried in several setups first and competes in its fastest.
"""

import argparse
import contextlib
import os
import statistics
from typing import Any

import polygait as pg
from benchmarks._timing import rates, ratio
from benchmarks.tasks import GYMNASIUM
from benchmarks.train import TRIALS, Course, Rival, begun, install_rivals, print_setups
from polygait import training
from polygait.config import SACConfig
from polygait.learning.learners.sac import SAC, Minibatches
from polygait.versions import versions

CONFIG = SACConfig(warmup_steps=0)
ENVS = SAC.envs["robust"]


class Parts:
    """What an agent does in its first blocks, part by part."""

    def __init__(self, course: Course) -> None:
        assert isinstance(course.cohort.learner, SAC)
        self._course, self._cohort, self._learner = course, course.cohort, course.cohort.learner
        self._state = course.rewind()
        self._minibatches = self._block(self._state, 0)[1]

    def play(self) -> int:
        """The same steps without learning."""
        state = self._course.rewind()
        for iteration in range(self._course.rollouts):
            state, _ = self._block(state, iteration)
        return self._course.rollouts * CONFIG.block_steps

    def update(self) -> int:
        """As many updates without steps."""
        networks, keys = self._state.learner, self._cohort.keys
        for iteration in range(self._course.rollouts):
            networks = self._learner.improve(networks, self._minibatches, keys, iteration).state
        return self._course.rollouts * CONFIG.block_steps

    def _block(
        self, state: training.LoopState, iteration: int
    ) -> tuple[training.LoopState, list[Minibatches]]:
        """Act, remember, draw."""
        policy = self._learner.policy(state.learner, iteration)
        rollout = training._collect(self._cohort, policy, state.position, iteration)
        drawn = self._learner.remember(rollout, rollout.reward, self._cohort.keys, iteration)
        return state._replace(position=rollout.position), drawn


def _settings() -> dict[str, Any]:
    """Our settings in SBX's words."""
    return {
        "algorithm": "sac",
        "rollout_steps": CONFIG.block_steps,
        "sac": {
            "learning_rate": CONFIG.learning_rate,
            "batch_size": CONFIG.minibatch_size,
            "gamma": CONFIG.discount,
            "tau": CONFIG.target_rate,
            "buffer_size": CONFIG.replay_size,
        },
        "policy": {"net_arch": {"pi": CONFIG.policy_hidden, "qf": CONFIG.critic_hidden}},
    }


def compare(name: str, options: argparse.Namespace) -> None:
    """Measure one robot and print its table."""
    wanted = pg.TrainConfig(name, "pg", learner="sac", overrides=("sac.warmup_steps=0",))
    with contextlib.ExitStack() as stack:
        course = Course(stack.enter_context(begun(wanted)), options.blocks, [])
        course.iterate(course.iterate(course.rewind()))  # compiles
        parts = Parts(course)
        loops: dict[str, Any] = {"SAC": course, "play": parts.play, "update": parts.update}
        rival = None
        if options.rivals:
            rival = Rival("sbx-rl", GYMNASIUM[name], _settings(), options.blocks)
            stack.callback(rival.close)
            print_setups(f"{name}: SBX's SAC", rival, min(TRIALS, options.rounds))
            loops["SBX"] = rival
        measured: dict[str, list[float]] = {label: [] for label in loops}
        for _ in range(options.rounds):
            if rival:
                rival.prepare()
            for label, values in rates(loops, 1).items():
                measured[label] += values
    print(f"\n{name + ', steps/s':<22}{'median':>10}{'least':>10}{'most':>10}")
    for label, values in measured.items():
        cells = "".join(f"{one:>10,.0f}" for one in (statistics.median(values), min(values), max(values)))
        print(f"{label:<22}{cells}")
    if rival:
        print(f"ratio: SAC/SBX {ratio(measured, 'SAC', 'SBX'):.2f}", flush=True)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="./dev bench sac", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("tasks", nargs="*", metavar="task", help=f"any of {', '.join(GYMNASIUM)}")
    parser.add_argument("--rounds", type=int, default=7, help="rounds to take medians of")
    parser.add_argument(
        "--blocks", type=int, default=40, help=f"blocks of {CONFIG.block_steps} steps in a round"
    )
    parser.add_argument("--no-rivals", dest="rivals", action="store_false", help="ours only")
    options = parser.parse_args(arguments)
    names = options.tasks or ["walker"]
    if unknown := sorted(set(names) - GYMNASIUM.keys()):
        parser.error(f"unknown task: {', '.join(unknown)}; choose from {', '.join(GYMNASIUM)}")
    if options.rivals:
        install_rivals()
    print(
        f"policy {CONFIG.policy_hidden}, critics 2 × {CONFIG.critic_hidden}, "
        f"minibatch {CONFIG.minibatch_size}\n"
        f"ours: {ENVS} environments, {CONFIG.block_steps} steps, then {CONFIG.block_updates} updates, "
        f"lag {CONFIG.lag}\n"
        f"fresh agents, their first {options.blocks * CONFIG.block_steps:,} steps, medians of "
        f"{options.rounds} rounds\n"
        f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}; "
        f"{', '.join(f'{one} {version}' for one, version in versions().items())}",
        flush=True,
    )
    for name in names:
        compare(name, options)
