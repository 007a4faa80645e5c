"""Steps/s of training: PPO, DiR, their limit, Stable-Baselines3 and SBX, and the ratios; --memory: RSS.

Every loop trains a fresh policy for the same first rollouts, in every round from the same start, so all
robots are at the same stage: they fall early and episodes are short. Ours repeats the very same bits.

    physics   task.step and task.reset alone, with the commands of our PPO's own rollouts: the same motion
    update    ppo_update alone, on the batches of these rollouts
    limit     1/(1/physics + 1/update): a loop that did nothing else, one after the other

The rivals act in Gymnasium's environments with networks, minibatches, epochs and rollouts of our sizes and
our exploration; they normalise nothing, which spares them work that ours does. Each is tried in several
setups first and competes in its fastest.
"""

import argparse
import contextlib
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

import polygait as pg
from benchmarks._timing import rates, ratio
from benchmarks.tasks import GYMNASIUM
from polygait import learning, training
from polygait.cohort import Cohort, make_cohort
from polygait.config import PPOConfig
from polygait.diversity.method import Setting, Tensors
from polygait.resolving import resolve
from polygait.run_config import RunConfig
from polygait.runs import begin
from polygait.tasks.task import Task
from polygait.versions import versions

EARLIER = (1, 10, 50)
"""Numbers of earlier members in the cost curve of DiR."""
TRIALS = 3
"""Rounds of one rollout in which a rival's setups compete."""
ROOT = Path(__file__).resolve().parent.parent
RIVALS_HOME = ROOT / ".bench-venv"
# An exact torch, because a free choice pulls gigabytes of CUDA; one engine for all, because it sets the pace.
RIVALS_NEED = ("torch==2.13.0", "stable-baselines3", "sbx-rl", "gymnasium[mujoco]==1.4.*", "mujoco==4.0.*")
RIVALS = {"SB3": "stable-baselines3", "SBX": "sbx-rl"}

Loops = Mapping[str, Callable[[], int]]


class Course:
    """The first rollouts of a cohort, by the iterations of training, from the same start each time."""

    def __init__(self, cohort: Cohort, rollouts: int, earlier: list[Tensors]) -> None:
        self.cohort = cohort
        self.rollouts = rollouts
        self._pool = ThreadPoolExecutor(max_workers=1)
        setting = Setting(cohort.task.action_size, cohort.size)
        method = cohort.method.init(cohort.keys, setting, earlier)
        self._start = training._initial_state(cohort)._replace(method=method)
        self._snapshot = cohort.task.snapshot()
        self._memory = cohort.learner.snapshot()

    def __call__(self) -> int:
        state = self.rewind()
        for _ in range(self.rollouts):
            state = self.iterate(state)
        return self.rollouts * self.cohort.size * self.cohort.config.learner.steps_per_iteration

    def rewind(self) -> training.LoopState:
        """Back to the start, task and memory and all."""
        self.cohort.task.restore(self._snapshot)
        self.cohort.learner.restore(self._memory)
        return self._start

    def iterate(self, state: training.LoopState) -> training.LoopState:
        """One iteration of training with any line in the log; checkpoints, every 20 s, are left out."""
        state, record = training._iterate(self.cohort, state, self._pool)
        if int(state.iteration) % self.cohort.learner.log_interval == 0:
            self.cohort.run.append_metrics(record)
        return state


class Lesson(NamedTuple):
    """What one iteration of a course learned from."""

    networks: learning.PPONetworks
    batch: learning.Batch
    commands: np.ndarray
    """(time, environment, action) as the robots received them."""


class Physics:
    """The motion of a course without the learning."""

    def __init__(self, course: Course, lessons: list[Lesson]) -> None:
        self._course = course
        self._commands = np.concatenate([lesson.commands for lesson in lessons])
        end = course.cohort.task.snapshot()
        self()
        replayed = course.cohort.task.snapshot()
        if not all(np.array_equal(end[name], replayed[name], equal_nan=True) for name in end):
            raise RuntimeError("The replayed commands did not lead to the same motion.")

    def __call__(self) -> int:
        task: Task = self._course.cohort.task
        self._course.rewind()
        for commands in self._commands:
            step = task.step(commands)
            ended = step.terminated | step.truncated
            if ended.any():
                task.reset(np.flatnonzero(ended))
        return self._commands.shape[0] * self._commands.shape[1]


class Update:
    """The learning of a course without the motion."""

    def __init__(self, cohort: Cohort, lessons: list[Lesson]) -> None:
        self._cohort = cohort
        self._lessons = lessons

    def __call__(self) -> int:
        keys, config = self._cohort.keys, self._cohort.config.learner
        for iteration, lesson in enumerate(self._lessons):
            learning.ppo_update(lesson.networks, lesson.batch, keys, iteration, config)
        return len(self._lessons) * config.rollout_steps


class Rival:
    """Another library in its own process and environment; between rounds it waits and costs nothing."""

    def __init__(self, package: str, env_id: str, settings: dict[str, Any], rollouts: int) -> None:
        self.rollouts = rollouts
        command = [rivals_python(), "-P", str(ROOT / "benchmarks" / "_rivals.py"), package, env_id]
        self._process = subprocess.Popen(
            [*command, json.dumps(settings)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        hello = self._read()
        self.setups: list[str] = hello["setups"]
        self.versions: dict[str, str] = hello["versions"]
        self.setup = ""

    def __call__(self) -> int:
        return self._ask({"learn": self.rollouts})["steps"]

    def prepare(self) -> None:
        """An untrained policy again, made before the clock runs."""
        self._ask({"fresh": self.setup})

    def choose_setup(self, trials: int) -> dict[str, float]:
        """Try every setup, stay with the fastest; the median rate of each."""

        def of_setup(name: str) -> float:
            self._ask({"fresh": name})
            return rates({name: lambda: self._ask({"learn": 1})["steps"]}, 1)[name][0]

        tried = [{name: of_setup(name) for name in self.setups} for _ in range(trials)]
        medians = {name: statistics.median(one[name] for one in tried) for name in self.setups}
        self.setup = max(medians, key=lambda name: medians[name])
        self._ask({"keep": self.setup})
        return medians

    def close(self) -> None:
        """Let it end by closing its input; end it where it does not."""
        try:
            self._process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            self._process.kill()

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return self._read()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"A rival ended with code {self._process.wait()}; its message is above.")
        return json.loads(line)


def rivals_python() -> str:
    """The interpreter of the rivals' environment."""
    return str(RIVALS_HOME / "bin" / "python")


def _rival_settings(config: RunConfig) -> dict[str, Any]:
    """Our settings in the rivals' words."""
    ppo = config.learner
    return {
        "algorithm": "ppo",
        "rollout_steps": ppo.rollout_steps,
        "ppo": {
            "batch_size": ppo.minibatch_size,
            "n_epochs": ppo.epochs,
            "learning_rate": ppo.learning_rate,
            "gamma": ppo.discount,
            "gae_lambda": ppo.gae_lambda,
            "clip_range": ppo.clip_ratio,
            "ent_coef": ppo.entropy_coefficient,
            "vf_coef": ppo.value_coefficient,
            "max_grad_norm": ppo.max_gradient_norm,
        },
        "policy": {
            "net_arch": {"pi": ppo.policy_hidden, "vf": ppo.critic_hidden},
            "log_std_init": math.log(ppo.action_std),
        },
    }


def install_rivals() -> None:
    """Make the rivals' environment where it is missing or made for other requirements."""
    mark = RIVALS_HOME / "installed"
    wanted = "\n".join(RIVALS_NEED)
    if mark.exists() and mark.read_text() == wanted:
        return
    print(
        "The rivals need an environment of their own, about 2 GB (once; --no-rivals does without).\n"
        f"Installing {', '.join(RIVALS_NEED)}\n"
        f"into {RIVALS_HOME}. Where pip finds no CPU build of torch, set\n"
        "PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu, or it fetches gigabytes of CUDA …",
        flush=True,
    )
    make = [sys.executable, "-m", "venv", str(RIVALS_HOME)]
    install = [rivals_python(), "-m", "pip", "install", "-qq", *RIVALS_NEED]
    for command in (make, install):
        if subprocess.run(command, check=False).returncode:
            sys.exit("The rivals' environment could not be made; run again, or leave it out: --no-rivals.")
    mark.write_text(wanted)


@contextlib.contextmanager
def begun(wanted: pg.TrainConfig) -> Iterator[Cohort]:
    """A first cohort as `train` would begin it, in a temporary run folder."""
    with tempfile.TemporaryDirectory() as folder:
        run = begin(wanted, Path(folder) / wanted.method)
        with run.writing():
            yield make_cohort(run, None, wanted.threads)


def frozen_models(cohort: Cohort, count: int) -> list[Tensors]:
    """What `count` earlier members would leave: models as different as their keys; the cost is the same."""
    setting = Setting(cohort.task.action_size, 1)
    keys = learning.member_keys(jax.random.key(cohort.config.seed + 1), 0, count)
    states = [cohort.method.init(keys[index : index + 1], setting, []) for index in range(count)]
    return [tensors for state in states for tensors in cohort.method.export(state)]


def _lessons(course: Course) -> list[Lesson]:
    """Go through a course and write down what it does; every rollout is made twice."""
    cohort, lessons = course.cohort, []
    state = course.rewind()
    for iteration in range(course.rollouts):
        before = cohort.task.snapshot()
        networks, normalizer = state.learner
        policy = cohort.learner.policy(state.learner, iteration)
        rollout = training._collect(cohort, policy, state.position, iteration)
        config = cohort.config.learner
        prepared = learning.prepare_batch(rollout, rollout.reward, normalizer, config, config.discount)
        commands = np.clip(rollout.action, -1.0, 1.0).reshape(len(rollout.action), cohort.task.num_envs, -1)
        lessons.append(Lesson(networks, prepared.batch, commands))
        cohort.task.restore(before)
        state = course.iterate(state)
    return lessons


def _measure(loops: Loops, rivals: list[Rival], rounds: int) -> dict[str, list[float]]:
    """Steps per second by loop and round; the rivals forget what they learned before each round."""
    measured: dict[str, list[float]] = {name: [] for name in loops}
    for _ in range(rounds):
        for rival in rivals:
            rival.prepare()
        for name, values in rates(loops, 1).items():
            measured[name] += values
    serial = zip(measured["physics"], measured["update"], strict=True)
    measured["limit"] = [1 / (1 / physics + 1 / update) for physics, update in serial]
    return measured


def compare(name: str, options: argparse.Namespace) -> None:
    """Measure one robot and print its table."""
    with contextlib.ExitStack() as stack:
        alone = stack.enter_context(begun(pg.TrainConfig(name, "pg")))
        diverse = stack.enter_context(begun(pg.TrainConfig(name, "dir")))
        ppo = Course(alone, options.rollouts, [])
        courses = {"PPO": ppo, "DiR, first member": Course(diverse, options.rollouts, [])}
        for count in EARLIER:
            courses[f"DiR after {count}"] = Course(diverse, options.rollouts, frozen_models(diverse, count))
        for course in courses.values():
            course.iterate(course.iterate(course.rewind()))  # compiles
        lessons = _lessons(ppo)
        loops: dict[str, Callable[[], int]] = {
            **courses,
            "physics": Physics(ppo, lessons),
            "update": Update(alone, lessons),
        }
        rivals: dict[str, Rival] = {}
        for label, package in RIVALS.items() if options.rivals else ():
            settings = _rival_settings(alone.config)
            rivals[label] = Rival(package, GYMNASIUM[name], settings, options.rollouts)
            stack.callback(rivals[label].close)
            print_setups(f"{name}: {package}", rivals[label], min(TRIALS, options.rounds))
        loops |= rivals
        measured = _measure(loops, list(rivals.values()), options.rounds)
    _print_table(name, measured)


def print_setups(title: str, rival: Rival, trials: int) -> None:
    medians = rival.choose_setup(trials)
    print(f"\n{title} ({', '.join(f'{one} {version}' for one, version in rival.versions.items())})")
    for setup, rate in medians.items():
        print(f"  {setup:<34}{rate:>9,.0f}{'  taken' if setup == rival.setup else ''}", flush=True)


def _print_table(name: str, measured: dict[str, list[float]]) -> None:
    print(f"\n{name + ', steps/s':<22}{'median':>10}{'least':>10}{'most':>10}{'of PPO':>10}")
    for label, values in measured.items():
        cells = "".join(f"{one:>10,.0f}" for one in (statistics.median(values), min(values), max(values)))
        print(f"{label:<22}{cells}{ratio(measured, label, 'PPO'):>10.3f}")
    pairs = [("PPO", "limit"), ("DiR after 10", "PPO"), *(("PPO", label) for label in RIVALS)]
    told = [
        f"{ours}/{theirs} {ratio(measured, ours, theirs):.2f}" for ours, theirs in pairs if theirs in measured
    ]
    print(f"ratios: {';  '.join(told)}", flush=True)


def memory() -> None:
    """Resident size as DiR members of the Ant are added in one process."""
    rollouts = 2
    print(f"Ant, DiR, {rollouts} rollouts a member, resident size of one process in MiB")
    print(f"{'before':<12}{_resident():>8,.0f}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "ant"
        steps = rollouts * PPOConfig.rollout_steps
        pg.train(pg.TrainConfig(task="ant", method="dir", members=1, steps=steps), out)
        print(f"{'1 member':<12}{_resident():>8,.0f}", flush=True)
        for more, total in ((4, 5), (5, 10)):
            pg.extend(out, pg.Extension(members=more))
            print(f"{f'{total} members':<12}{_resident():>8,.0f}", flush=True)


def _resident() -> float:
    """The resident size of this process in MiB, as Linux tells it."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="./dev bench train", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("tasks", nargs="*", metavar="task", help=f"any of {', '.join(GYMNASIUM)}")
    parser.add_argument("--rounds", type=int, default=7, help="rounds to take medians of")
    parser.add_argument("--rollouts", type=int, default=12, help="rollouts of each loop in a round")
    parser.add_argument("--no-rivals", dest="rivals", action="store_false", help="ours only")
    parser.add_argument("--memory", action="store_true", help="resident size instead of speed")
    options = parser.parse_args(arguments)
    names = options.tasks or ["hopper", "walker"]
    if unknown := sorted(set(names) - GYMNASIUM.keys()):
        parser.error(f"unknown task: {', '.join(unknown)}; choose from {', '.join(GYMNASIUM)}")
    if options.memory:
        memory()
        return
    if options.rivals:
        install_rivals()
    config = resolve(pg.TrainConfig(task=names[0]))
    ppo = config.learner
    print(
        f"policy {ppo.policy_hidden} tanh, critic {ppo.critic_hidden}, minibatch {ppo.minibatch_size}, "
        f"{ppo.epochs} epochs; ours: {ppo.rollout_steps}-step rollouts from {config.envs} environments\n"
        f"fresh policies, their first {options.rollouts * ppo.rollout_steps:,} steps (short episodes), "
        f"medians of {options.rounds} rounds\n"
        f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}; "
        f"{', '.join(f'{one} {version}' for one, version in versions().items())}",
        flush=True,
    )
    for name in names:
        compare(name, options)
