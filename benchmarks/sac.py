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

import jax

import polygait as pg
from benchmarks._timing import rates, ratio
from benchmarks.tasks import GYMNASIUM
from benchmarks.train import TRIALS, Rival, install_rivals, print_setups
from polygait.config import SACConfig
from polygait.learning.agent import Agent, AgentState, Block
from polygait.learning.replay import Replay
from polygait.learning.sac import sac_update
from polygait.versions import versions

ENVS = 16
CONFIG = SACConfig(warmup_steps=0)


class Course:
    """The first blocks of one agent, from the same start each time."""

    def __init__(self, name: str, blocks: int) -> None:
        self.agent = Agent(pg.make_task(name, num_envs=ENVS), jax.random.key(0), CONFIG)
        self.blocks = blocks
        self._start = self.agent.begin()
        self._snapshot = self.agent.task.snapshot()  # type: ignore[attr-defined]

    def __call__(self) -> int:
        state = self.rewind()
        for _ in range(self.blocks):
            state, _ = self.agent.learn(state, self.agent.play(state))
        return self.blocks * CONFIG.block_steps

    def play(self) -> int:
        """The same steps without learning."""
        state = self.rewind()
        for _ in range(self.blocks):
            state = _moved(state, self.agent.play(state))
        return self.blocks * CONFIG.block_steps

    def update(self, block: Block) -> int:
        """As many updates without steps."""
        learner = self._start.learner
        for iteration in range(self.blocks):
            learner, _ = sac_update(learner, block.rows, self.agent.key, iteration, CONFIG)
        return self.blocks * CONFIG.block_steps

    def rewind(self) -> AgentState:
        """Back to the start, with an empty memory."""
        self.agent.task.restore(self._snapshot)  # type: ignore[attr-defined]
        self.agent.replay = Replay(CONFIG.replay_size, self.agent.sizes)
        return self._start


def _moved(state: AgentState, block: Block) -> AgentState:
    return AgentState(state.learner, block.rollout.position, state.iteration + 1)


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
    course = Course(name, options.blocks)
    state = course.rewind()
    state, _ = course.agent.learn(state, course.agent.play(state))  # compiles
    block = course.agent.play(state)
    course.agent.learn(state, block)  # fills the memory
    loops: dict[str, Any] = {"SAC": course, "play": course.play, "update": lambda: course.update(block)}
    with contextlib.ExitStack() as stack:
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
