"""What a method costs: a cohort of 10 against one member with all its environments; the diversity terms.

Every loop trains fresh members for the same first rollouts, in every round from the same start.

    alone     one member with as many environments and as long a rollout as the whole cohort
    multi     a cohort of independent members: its rate divided by that of `alone` is what a cohort costs
    others    the same cohort with a bonus: what is missing to multi's rate is the share of the diversity term

`intrinsic_reward` and `update` are timed by themselves too: the share of multi's iteration they would take
with nothing beside them. In training `update` runs beside the learner's and may hide there. The gate of SMERL
is open, as at its most expensive. DiR trains one member after another: its share is measured on the last,
after 9 others, against one member of multi.
"""

import argparse
import contextlib
import os
import statistics
import time
from collections.abc import Callable

import polygait as pg
from benchmarks._timing import rates, ratio
from benchmarks.tasks import GYMNASIUM
from benchmarks.train import Course, begun, frozen_models
from polygait import training
from polygait.resolving import resolve
from polygait.versions import versions

MEMBERS = 10
OPEN = "smerl.target_return=-1e9"
"""A gate that every member passes."""
COHORTS = {
    "multi": ("multi", ()),
    "dvd": ("dvd", ()),
    "dvd, determinant": ("dvd", ("dvd.form=determinant",)),
    "smerl": ("smerl", (OPEN,)),
}
SHARE_OF = {"dvd": "multi", "dvd, determinant": "multi", "smerl": "multi", "dir": "single"}
"""Which loop a method's rate is compared with."""


def term_seconds(course: Course, rounds: int) -> tuple[float, float]:
    """The medians of the seconds that reward and update take on one rollout, with nothing beside them."""
    cohort = course.cohort
    state = course.iterate(course.rewind())
    rollout = training._collect(cohort, cohort.learner.policy(state.learner, 1), state.position, 1)
    work: tuple[Callable[[], object], ...] = (
        lambda: cohort.method.intrinsic_reward(state.method, rollout),
        lambda: cohort.method.update(state.method, rollout, cohort.keys, 1),
    )
    taken: list[list[float]] = [[], []]
    for _ in range(rounds):
        for seconds, one in zip(taken, work, strict=True):
            begin = time.perf_counter()
            one()
            seconds.append(time.perf_counter() - begin)
    return statistics.median(taken[0]), statistics.median(taken[1])


def compare(name: str, options: argparse.Namespace) -> None:
    """Measure one robot and print its table."""
    usual = resolve(pg.TrainConfig(name))
    members = options.members
    whole = (f"ppo.rollout_steps={members * usual.learner.rollout_steps}",)
    wanted = {
        label: pg.TrainConfig(name, method, members=members, overrides=overrides)
        for label, (method, overrides) in COHORTS.items()
    }
    wanted["alone"] = pg.TrainConfig(name, "pg", envs=members * usual.envs, overrides=whole)
    wanted |= {"single": pg.TrainConfig(name, "pg"), "dir": pg.TrainConfig(name, "dir")}
    with contextlib.ExitStack() as stack:
        courses = {}
        for label, config in wanted.items():
            cohort = stack.enter_context(begun(config))
            earlier = frozen_models(cohort, members - 1) if label == "dir" else []
            rollouts = options.rollouts * (members if cohort.size == 1 and label != "alone" else 1)
            courses[label] = Course(cohort, rollouts, earlier)
            courses[label].iterate(courses[label].iterate(courses[label].rewind()))  # compiles
        measured = rates(courses, options.rounds)
        terms = {label: term_seconds(courses[label], options.rounds) for label in SHARE_OF}
    _print_table(name, members, measured)
    for label, other in SHARE_OF.items():
        course = courses[label]
        iteration = course.cohort.size * usual.learner.rollout_steps / statistics.median(measured[other])
        reward, update = terms[label]
        print(
            f"{label}: share of the step {1 - ratio(measured, label, other):.1%} "
            f"(1 − its rate/{other}'s); by themselves intrinsic_reward {reward / iteration:.1%}, "
            f"update {update / iteration:.1%} of {other}'s iteration of {iteration:.2f} s"
        )
    cost = ratio(measured, "alone", "multi")
    print(f"a member of a cohort of {members} costs {cost:.3f} × one trained alone", flush=True)


def _print_table(name: str, members: int, measured: dict[str, list[float]]) -> None:
    title = f"{name}, {members} members"
    print(f"\n{title:<22}{'steps/s':>10}{'least':>10}{'most':>10}{'of multi':>10}")
    for label, values in measured.items():
        cells = "".join(f"{one:>10,.0f}" for one in (statistics.median(values), min(values), max(values)))
        print(f"{label:<22}{cells}{ratio(measured, label, 'multi'):>10.3f}")


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="./dev bench methods", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("tasks", nargs="*", metavar="task", help=f"any of {', '.join(GYMNASIUM)}")
    parser.add_argument("--members", type=int, default=MEMBERS, help="members of a cohort")
    parser.add_argument("--rounds", type=int, default=5, help="rounds to take medians of")
    parser.add_argument("--rollouts", type=int, default=2, help="rollouts of each cohort in a round")
    options = parser.parse_args(arguments)
    names = options.tasks or ["walker"]
    if unknown := sorted(set(names) - GYMNASIUM.keys()):
        parser.error(f"unknown task: {', '.join(unknown)}; choose from {', '.join(GYMNASIUM)}")
    print(
        f"fresh members, their first {options.rollouts} rollouts, medians of {options.rounds} rounds\n"
        f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}; "
        f"{', '.join(f'{one} {version}' for one, version in versions().items())}",
        flush=True,
    )
    for name in names:
        compare(name, options)
