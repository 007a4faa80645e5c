"""Minitaur in PyBullet: against the recorded stock environment, against MuJoCo's model, and as a Task."""

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.tasks.minitaur_gaits import GAITS, gait_returns

import polygait as pg
from polygait.errors import UserError
from polygait.tasks.bullet_worker import Remote
from polygait.tasks.mujoco import MujocoTask
from polygait.tasks.registry import task_names
from polygait.tasks.robots.minitaur import Minitaur
from polygait.tasks.task import Task

STOCK = Path(__file__).parents[1] / "data" / "minitaur-stock.npz"


def make(num_envs=1, num_threads=1, **options):
    pytest.importorskip("pybullet", exc_type=ImportError)
    from polygait.tasks.bullet import BulletMinitaurTask

    task = pg.make_task("minitaur-bullet", num_envs=num_envs, num_threads=num_threads, **options)
    assert isinstance(task, BulletMinitaurTask)
    return task


def processes(task):
    return [group._process for group in task._robots._groups if isinstance(group, Remote)]


def random_actions(steps, num_envs, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, (steps, num_envs, 8))


def run(task, actions):
    return np.stack([np.column_stack(task.step(action)) for action in actions])


def test_equals_the_stock_environment_over_300_random_steps():
    with np.load(STOCK, allow_pickle=False) as stock:
        start, actions, observation, reward = (
            stock[name] for name in ("start", "actions", "observation", "reward")
        )
    task = make(randomize=False, stock_order=True)
    task.step(actions[:1])  # a reset leaves no trace of what was before
    np.testing.assert_allclose(task.reset()[0], start, rtol=0, atol=1e-9)
    for time, action in enumerate(actions):
        step = task.step(action[None])
        np.testing.assert_allclose(step.observation[0], observation[time], rtol=0, atol=1e-9)
        assert step.reward[0] == pytest.approx(reward[time], abs=1e-9)
        assert not step.terminated[0]


def test_it_is_the_task_that_mujoco_simulates():
    bullet, mujoco = make(2), MujocoTask(Minitaur(), num_envs=2, num_threads=1)
    assert isinstance(bullet, Task)
    for name in ("layout", "action_size", "observation_size", "feet", "default_filter", "max_episode_steps"):
        assert getattr(bullet, name) == getattr(mujoco, name)
    assert bullet.conditions == mujoco.conditions
    assert bullet.anatomy.actions == mujoco.anatomy.actions
    assert bullet.anatomy.motors == tuple(mujoco.anatomy.motors or ())
    # The same bodies with the same mass and inertia, also of the robots drawn for the same seeds.
    model = mujoco.physics.batch.get_model(1)
    figures = bullet._models.figures(np.array([1]))
    for name, row in bullet.anatomy.bodies.items():
        assert figures.mass[0, row] == pytest.approx(model.body(name).mass[0])
        np.testing.assert_allclose(figures.inertia[0, row], model.body(name).inertia, rtol=1e-6)
    np.testing.assert_allclose(figures.supply[0], model.actuator_user)
    # They come to rest in the same pose.
    np.testing.assert_allclose(bullet.reset()[:, :8], mujoco.reset()[:, :8], atol=0.03)
    assert bullet.foot_contacts().all()


def test_same_bits_in_any_processes_alone_or_among_others():
    seeds, actions = np.array([3, 1, 4]), random_actions(6, 3)

    def trajectory(rows, num_threads=1):
        task = make(len(rows), num_threads)
        first = task.reset(seeds=seeds[rows])
        return first, run(task, actions[:, rows]), task.foot_contacts(), task.reset()

    together = trajectory(np.arange(3))
    for one, other in zip(together, trajectory(np.arange(3), num_threads=2), strict=True):
        assert np.array_equal(one, other)
    first, seen, touching, second = trajectory(np.array([2]))
    assert np.array_equal(first[0], together[0][2])
    assert np.array_equal(seen[:, 0], together[1][:, 2])
    assert np.array_equal(touching[0], together[2][2])
    assert np.array_equal(second[0], together[3][2])
    assert len(np.unique(np.concatenate([together[0], together[3]]), axis=0)) == 6


@pytest.mark.parametrize("num_threads", [1, 2])
def test_a_snapshot_goes_on_bit_for_bit_also_in_a_fresh_task(num_threads):
    variation = [None, "voltage=0.7@6+base-mass=1.4@2", "motor-failure@5+sensor(*.position):noise=0.1"]
    options = {"seed": 3, "variation": variation}
    task = make(3, num_threads, **options)
    actions = random_actions(16, 3)
    run(task, actions[:3])
    task.reset([2])
    run(task, actions[3:6])
    snapshot = task.snapshot()

    def go_on(one):
        return [run(one, actions[6:11]), one.reset([0, 1]), run(one, actions[11:])]

    expected = go_on(task)
    fresh = make(3, **options)
    for other in (task, fresh):
        other.restore(snapshot)
        for one, two in zip(go_on(other), expected, strict=True):
            assert np.array_equal(one, two)
    with pytest.raises(UserError, match="does not fit"):
        make(1).restore(snapshot)


def test_ctrl_c_is_not_for_the_processes_of_a_task():
    """A terminal sends it to everyone in its group; whoever trains may want to save first."""
    task = make(2, num_threads=2)
    children = processes(task)
    assert len(children) == 2 and all(os.getpgid(child.pid) != os.getpgid(0) for child in children)
    task.step(np.zeros((2, 8)))


def test_a_process_that_ends_is_told_and_leaves_no_answers_behind():
    task = make(2, num_threads=2)
    processes(task)[0].kill()
    for _ in range(2):
        with pytest.raises(RuntimeError, match="ended unexpectedly"):
            task.step(np.zeros((2, 8)))


def test_a_mistake_in_one_process_does_not_mix_up_the_answers_of_another():
    task, undisturbed = make(2, num_threads=2), make(2)
    with pytest.raises(Exception, match="nonsense"):
        task._robots._ask("nonsense")
    action = random_actions(1, 2)[0]
    assert np.array_equal(task.step(action).observation, undisturbed.step(action).observation)


def test_the_stock_order_cannot_be_saved():
    with pytest.raises(UserError, match="cannot be saved"):
        make(stock_order=True).snapshot()


def test_resetting_some_rows_leaves_the_others_alone():
    task, undisturbed = make(2), make(2)
    actions = random_actions(4, 2)
    run(task, actions[:2])
    run(undisturbed, actions[:2])
    before = task.step(actions[2]).observation
    undisturbed.step(actions[2])
    after = task.reset([0])
    assert np.array_equal(after[1], before[1]) and not np.array_equal(after[0], before[0])
    assert np.array_equal(task.step(actions[3]).observation[1], undisturbed.step(actions[3]).observation[1])


@pytest.mark.parametrize("num_threads", [1, 2])
def test_a_resting_row_stays_as_it_is_while_others_go_on(num_threads):
    task, undisturbed = make(3, num_threads=num_threads), make(3)
    actions = random_actions(4, 3)
    before = last = task.step(actions[0]).observation
    undisturbed.step(actions[0])
    task.rest([1])
    for action in actions[1:3]:
        step, whole = task.step(action), undisturbed.step(action)
        assert np.array_equal(step.observation[1], before[1])
        assert step.reward[1] == 0 and not step.terminated[1]
        assert np.array_equal(step.observation[[0, 2]], whole.observation[[0, 2]])
        last = step.observation
    task.rest([0, 2])
    assert np.array_equal(task.step(actions[3]).observation, last)
    assert np.array_equal(task.reset([1], seeds=[5])[1], make(1).reset(seeds=[5])[0])
    assert not np.array_equal(task.step(actions[3]).observation[1], before[1])


# Variations


def test_variations_change_what_they_name():
    texts = [None, "base-mass=2", "gravity=0.5", "voltage=0.5", "broken(motor_*):limp", "motor-failure"]
    task = make(len(texts), randomize=False, variation=texts)
    nominal, heavy, light, weak, limp, failed = task.reset()
    # What the motors must hold while standing, as they estimate it.
    assert heavy[16:24].mean() > 1.5 * nominal[16:24].mean()
    assert light[16:24].mean() < 0.9 * nominal[16:24].mean()
    assert np.array_equal(failed, nominal)
    assert weak[:8].mean() < nominal[:8].mean() - 0.02  # gives way further
    assert limp[:8].mean() < weak[:8].mean()
    action = random_actions(1, 1)[0]
    seen = task.step(np.repeat(action, len(texts), axis=0)).observation
    neutral = action.copy()
    neutral[0, [1, 5]] = 0.0
    healthy = make(randomize=False)
    assert np.array_equal(healthy.step(neutral).observation[0], seen[5])
    task.set_variation(None)
    assert (task.reset() == nominal).all()


def test_slippery_feet_slide_farther():
    task = make(3, randomize=False, variation=[None, "foot-friction=0.05", "floor-friction=0.05"])
    push = np.repeat([[1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0]], 3, axis=0)
    for _ in range(15):
        task.step(push)
    moved = np.abs(task._robots.read().position[:, 0])  # feet that hold push the body away
    assert moved[0] > 2 * moved[1]
    assert moved[2] == pytest.approx(moved[1], rel=0.1)  # hardly anything else touches
    friction = task._models.figures(np.arange(2)).friction
    row = task.anatomy.geoms["foot_back_left_left"]
    assert friction[:, row].tolist() == [1.0, 0.05]


@pytest.mark.parametrize("text", ["damping(motor_*)=2", "broken(motor_back_left_left)"])
def test_what_bullet_cannot_change_is_refused_and_nothing_happens(text):
    task = make(randomize=False, variation="base-mass=1.5")
    with pytest.raises(UserError, match="cannot change"):
        task.set_variation(text)
    assert str(task.variations[0]) == "mass(base):inertia=1.5"


# Divergence and mistakes


@pytest.mark.parametrize("stock_order", [False, True])
def test_a_diverged_row_ends_its_own_episode_and_no_other(stock_order):
    task, healthy = (make(2, stock_order=stock_order) for _ in range(2))
    actions = random_actions(3, 2)
    robots: Any = vars(task._robots._groups[0])["_robots"]
    robots._bullet.resetBaseVelocity(1, [np.nan] * 3, [np.nan] * 3, physicsClientId=robots._clients[1])
    last = task.snapshot()["observation"] if not stock_order else None
    step, expected = task.step(actions[0]), healthy.step(actions[0])
    assert task.diverged.tolist() == [False, True]
    assert (task.num_diverged, step.reward[1], bool(step.terminated[1])) == (1, 0.0, True)
    assert np.isfinite(step.observation).all()
    if last is not None:
        assert np.array_equal(step.observation[1], last[1])
    assert np.array_equal(step.observation[0], expected.observation[0])
    assert np.array_equal(task.reset([1]), healthy.reset([1]))
    assert np.array_equal(run(task, actions[1:]), run(healthy, actions[1:]))
    assert not task.diverged.any()


def test_a_robot_falls_and_time_runs_out():
    task = make(randomize=False, max_episode_steps=3)
    assert [bool(task.step(np.zeros((1, 8))).truncated[0]) for _ in range(4)] == [False, False, True, True]
    task.set_variation("broken(motor_*):limp")
    task.reset()
    ended = [bool(task.step(np.zeros((1, 8))).terminated[0]) for _ in range(30)]
    assert ended[-1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"randomise": False}, "'randomize'"),
        ({"max_episode_steps": 0}, "max_episode_steps"),
        ({"num_envs": 0}, "num_envs"),
        ({"num_threads": 0}, "num_threads"),
        ({"variation": "motor-failur"}, "'motor-failure'"),
    ],
)
def test_mistakes_are_explained(options, message):
    with pytest.raises(UserError, match=message):
        make(**options)


@pytest.mark.parametrize(("version", "hint"), [((3, 11), "polygait[bullet]"), ((3, 12), "Python 3.11")])
def test_without_pybullet_the_message_says_how_to_get_it(monkeypatch, version, hint):
    monkeypatch.setitem(sys.modules, "pybullet", None)
    monkeypatch.setattr("polygait.tasks.bullet.sys.version_info", version)
    with pytest.raises(UserError, match="needs PyBullet") as caught:
        pg.make_task("minitaur-bullet")
    assert hint in caught.value.remedy
    assert "minitaur-bullet" not in task_names()
    assert "minitaur" in task_names()


@pytest.mark.slow
def test_gaits_come_as_far_as_in_the_stock_environment():
    """In either order of contacts."""
    for stock_order in (False, True):
        found = gait_returns(make(len(GAITS), num_threads=2, randomize=False, stock_order=stock_order))
        np.testing.assert_allclose(found, list(GAITS.values()), rtol=1e-3 if stock_order else 0.03)
