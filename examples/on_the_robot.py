"""An afternoon at the robot: members trained in MuJoCo, chosen in PyBullet, on a robot with a dead leg.

PyBullet plays the robot: another simulator, with a damage that the population has never seen. Only what can
be read at a robot is used: whom to load, how it went, whether it fell (docs/on-the-robot.md).

Run: .venv/bin/python examples/on_the_robot.py runs/minitaur [--train STEPS] [--trials 5] [--seconds 10]
"""

import argparse

import numpy as np

import polygait as pg

LEGS = ("front_left", "back_left", "front_right", "back_right")
SIMULATED = [
    "nominal",
    *(f"broken(motor_{leg}_{side}):weak=0.3" for leg in LEGS[1:] for side in ("left", "right")),
    *(f"motor({leg}.*)" for leg in LEGS[1:]),
    "strength(*)=0.6",
    "delay=2",
    "foot-friction=0.4",
    "base-mass=1.5",
]
"""What members are measured in beforehand: nothing that concerns the leg that will die."""
REALITY = "motor(front_left.*)"


def main() -> None:
    """Prepare in simulation, then make trials on the robot."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("run", help="a run folder of minitaur")
    parser.add_argument("--train", type=int, metavar="STEPS", help="train ten members first, so long each")
    parser.add_argument("--trials", type=int, default=5, help="what the robot can bear")
    parser.add_argument("--episodes", type=int, default=4, help="in every simulated world, per member")
    parser.add_argument("--seconds", type=float, default=10.0, help="of one trial")
    options = parser.parse_args()
    if options.train:
        pg.train("minitaur", out=options.run, method="multi", members=10, steps=options.train)
    population = pg.load(options.run)

    pg.evaluate(population, suite=SIMULATED, episodes=options.episodes)
    trials = pg.Trials(population, budget=options.trials, settings=("prior=variations",), name="afternoon")

    robot = pg.make_task("minitaur-bullet", variation=REALITY)
    steps = round(options.seconds / (robot.time_step or 0.01))
    while (member := trials.ask()) is not None:
        value, fell = walk(robot, population, member, steps, seed=len(trials.told))
        trials.tell(member, value, fell=fell)
        print(f"trial {len(trials.told)}: member {member} came to {value:.2f}{', and fell' if fell else ''}")
    print(trials.report())
    print(f"Take member {trials.best}.")


def walk(robot: pg.Task, population: pg.Population, member: int, steps: int, seed: int) -> tuple[float, bool]:
    """One trial: what the member earned, and whether it fell."""
    observation = robot.reset(seeds=[seed])
    earned = 0.0
    for _ in range(steps):
        step = robot.step(population.act(observation, member).astype(np.float64))
        observation, earned = step.observation, earned + float(step.reward[0])
        if step.terminated[0] or step.truncated[0]:
            return earned, bool(step.terminated[0])
    return earned, False


if __name__ == "__main__":
    main()
