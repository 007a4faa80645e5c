"""Gymnasium environments as tasks."""

from typing import Any

import gymnasium
import mujoco
import numpy as np
import pytest
from gymnasium.spaces import Box

import polygait as pg
from polygait.tasks.gym import GymTask
from polygait.tasks.mujoco import MujocoTask
from polygait.tasks.task import Task


class Drift(gymnasium.Env):
    """A point that actions push; its bounds, noise and ending are easy to compute."""

    observation_space = Box(-np.inf, np.inf, (2,), np.float64)
    action_space = Box(np.array([0.0, -3.0], np.float32), np.array([10.0, 3.0], np.float32))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.point = self.np_random.normal(size=2)
        return self.point.copy(), {}

    def step(self, action):
        self.action = action
        self.point = self.point + action + self.np_random.normal(size=2)
        return self.point.copy(), float(action.sum()), bool(self.point[0] > 50), False, {}


def test_is_a_task():
    task = GymTask(Drift, num_envs=2)
    assert isinstance(task, Task)
    assert task.layout.names == ("state.0", "state.1")
    assert task.default_filter.size == 2
    assert task.foot_contacts().shape == (2, 0)


def test_actions_are_rescaled_from_unit_range():
    task = GymTask(Drift, num_envs=3)
    reward = task.step(np.array([[-1.0, -1.0], [0.0, 0.0], [1.0, 2.0]])).reward
    assert reward == pytest.approx([0 - 3, 5 + 0, 10 + 3])


def test_equals_gymnasium_with_the_same_seed():
    task = pg.make_task("gym:Pendulum-v1", num_envs=1, seed=5)
    assert isinstance(task, GymTask)
    env = gymnasium.make("Pendulum-v1")
    expected, _ = env.reset(seed=task._seed(0))
    assert np.array_equal(task.reset(seeds=[5])[0].astype(np.float32), expected)
    for action in np.linspace(-1, 1, 20):
        expected, reward, *_ = env.step(np.array([2 * action], np.float32))
        step = task.step(np.array([[action]]))
        assert np.array_equal(step.observation[0].astype(np.float32), expected)
        assert step.reward[0] == pytest.approx(reward)


def test_time_limit_of_the_environment_or_the_caller():
    assert pg.make_task("gym:Pendulum-v1").max_episode_steps == 200
    task = GymTask(Drift, max_episode_steps=3)
    ends = [task.step(np.zeros((1, 2))).truncated[0] for _ in range(3)]
    assert ends == [False, False, True]


def test_layout_given_by_the_user():
    layout = pg.StateLayout.of({"point.position": ("x", "y")})
    assert GymTask(Drift, layout=layout).layout == layout
    with pytest.raises(pg.UserError, match="names 3 numbers"):
        GymTask(Drift, layout=pg.StateLayout.numbered(3))


def test_snapshot_replays_episodes_of_different_length_exactly():
    rng = np.random.default_rng(0)
    task = GymTask(Drift, num_envs=3, seed=1, variation="delay=2+sensor(state.0):noise=0.5")
    for moment in range(9):
        task.step(rng.uniform(-1, 1, (3, 2)))
        if moment in (2, 6):
            task.reset([moment % 3])
    task.reset([1])
    twin = GymTask(Drift, num_envs=3, seed=1, variation="delay=2+sensor(state.0):noise=0.5")
    twin.restore(task.snapshot())
    for _ in range(5):
        actions = rng.uniform(-1, 1, (3, 2))
        for ours, theirs in zip(task.step(actions), twin.step(actions), strict=True):
            assert np.array_equal(ours, theirs)
    assert np.array_equal(task.reset(), twin.reset())


def test_rows_do_not_depend_on_their_neighbours():
    alone, among = GymTask(Drift, num_envs=1, seed=3), GymTask(Drift, num_envs=5, seed=3)
    actions = np.random.default_rng(0).uniform(-1, 1, (10, 5, 2))
    for one in actions:
        assert np.array_equal(alone.step(one[:1]).observation[0], among.step(one).observation[0])


def test_sensor_and_motor_variations_work_and_physics_ones_explain():
    task = GymTask(Drift, num_envs=2, variation=["motor(action_0)", "sensor(state.1)"])
    step = task.step(np.ones((2, 2)))
    assert step.reward == pytest.approx([5 + 3, 10 + 3])  # a dead motor receives 0, the middle of its range
    assert step.observation[1, 1] == 0
    with pytest.raises(pg.UserError, match="cannot be changed from outside"):
        task.set_variation("gravity=2")
    with pytest.raises(pg.UserError, match="no body"):
        task.set_variation("mass(torso)=2")


@pytest.mark.parametrize(
    ("variation", "action", "arrives"),
    [
        ("strength(action_0)=0.5", (1.0, 1.0), (0.5, 1.0)),
        ("strength(*)=0.5", (0.4, -1.0), (0.2, -0.5)),
        ("strength(action_1)=0.5", (0.0, 3.0), (0.0, 0.5)),  # a motor gets no more than its bounds at first
        ("strength(action_0)=2", (0.3, 0.0), (0.6, 0.0)),
        ("strength(action_0)=2", (0.9, 0.0), (1.0, 0.0)),  # and stays within them
        ("broken(action_1):limp", (0.2, 0.9), (0.2, 0.0)),
        ("broken(action_1):weak=0.25", (0.2, 0.8), (0.2, 0.2)),
    ],
)
def test_motors_become_weaker_and_stronger(variation, action, arrives):
    task = GymTask(Drift, variation=variation)
    env = task._envs[0].unwrapped
    assert isinstance(env, Drift)
    task.step(np.array([action]))
    assert env.action == pytest.approx([5 + 5 * arrives[0], 3 * arrives[1]])


def test_an_unknown_motor_is_told_with_its_neighbours():
    with pytest.raises(pg.UserError, match=r"Unknown action: 'action_9'\.\nDid you mean 'action_"):
        GymTask(Drift, variation="strength(action_9)=0.5")


class Broken(Drift):
    def step(self, action):
        return np.full(2, np.nan), np.nan, False, False, {}


def test_diverged_environments_end_and_are_counted():
    task = GymTask(Broken, num_envs=2)
    before = task.reset()
    step = task.step(np.zeros((2, 2)))
    assert step.terminated.all()
    assert (step.reward == 0).all()
    assert np.array_equal(step.observation, before)
    assert task.num_diverged == 2


@pytest.mark.parametrize(
    ("name", "message"),
    [("gym:Pendulm-v1", "Pendulum-v1"), ("gym:CartPole-v1", "Box of real numbers")],
)
def test_unusable_environments_are_explained(name, message):
    with pytest.raises(pg.UserError, match=message):
        pg.make_task(name)


class Unbounded(Drift):
    action_space = Box(-np.inf, np.inf, (2,))


def test_actions_without_bounds_are_refused_with_a_remedy_that_works():
    with pytest.raises(pg.UserError, match="actions without bounds") as refused:
        GymTask(Unbounded)
    wrapper = refused.value.remedy.removeprefix("Wrap it: ").partition(", in a function")[0]

    def bounded(**_):
        return eval(wrapper, {"gymnasium": gymnasium, "env": Unbounded()})

    assert GymTask(bounded).step(np.array([[0.5, -2.0]])).reward == pytest.approx([0.5 - 1.0])
    gymnasium.register("BoundedDrift-v0", bounded)
    try:
        assert pg.make_task("gym:BoundedDrift-v0").action_size == 2
    finally:
        del gymnasium.registry["BoundedDrift-v0"]


def test_a_diverged_mujoco_environment_ends_and_leaves_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(None)  # as in a process that has made no other task
    try:
        task = pg.make_task("gym:InvertedPendulum-v5", num_envs=2)
        assert isinstance(task, GymTask)
        env: Any = task._envs[1].unwrapped
        env.data.qvel[:] = np.nan
        step = task.step(np.zeros((2, 1)))
    finally:
        mujoco.set_mju_user_warning(before)
    assert list(tmp_path.iterdir()) == []
    assert task.diverged.tolist() == step.terminated.tolist() == [False, True]
    task.reset([1])
    assert not task.step(np.zeros((2, 1))).terminated.any()


def test_a_resting_environment_stays_as_it_is():
    task = GymTask(Drift, num_envs=2)
    task.rest([1])
    before = task.reset([0])[1]
    task.step(np.ones((2, task.action_size)))
    step = task.step(np.ones((2, task.action_size)))
    np.testing.assert_array_equal(step.observation[1], before)
    assert step.reward[1] == 0 and not np.array_equal(step.observation[0], before)
    assert not np.array_equal(task.reset([1])[1], task.step(np.ones((2, task.action_size))).observation[1])


def test_a_resting_environment_is_still_at_rest_after_a_restore():
    task, twin = (GymTask(Drift, num_envs=2, max_episode_steps=3) for _ in range(2))
    actions = np.ones((2, task.action_size))
    task.step(actions)
    task.rest([1])
    for _ in range(3):
        task.step(actions)
    twin.restore(task.snapshot())
    for ours, theirs in zip(task.step(actions), twin.step(actions), strict=True):
        assert np.array_equal(ours, theirs)
        assert not ours[1] if ours.ndim == 1 else True


def test_a_buffer_that_its_owner_uses_again_does_not_change_the_past():
    task, twin = GymTask(Drift, seed=1), GymTask(Drift, seed=1)
    buffer = np.zeros((1, 2))
    for value in (0.1, -0.2, 0.3):
        buffer[:] = value
        step = task.step(buffer)
    twin.restore(task.snapshot())
    assert np.array_equal(twin.step(buffer).observation, task.step(buffer).observation)
    assert not np.array_equal(step.observation, task.reset())


class Strict(Drift):
    """Refuses to go on after its third step, as Gymnasium allows an environment to."""

    def reset(self, **options):
        self.steps = 0
        return super().reset(**options)

    def step(self, action):
        self.steps += 1
        assert self.steps <= 3, "stepped after the end"
        state, reward, _, truncated, info = super().step(action)
        return state, reward, self.steps == 3, truncated, info


def test_a_restore_never_steps_beyond_an_end():
    task, twin = GymTask(Strict, num_envs=3, seed=2), GymTask(Strict, num_envs=3, seed=2)
    actions = np.full((3, 2), 0.1)
    task.step(actions)
    task.reset([0])
    task.step(actions)
    task.rest([1])
    assert task.step(actions).terminated.tolist() == [False, False, True]
    twin.restore(task.snapshot())
    for one in (task, twin):
        one.reset([2])
    for ours, theirs in zip(task.step(actions), twin.step(actions), strict=True):
        assert np.array_equal(ours, theirs)
    with pytest.raises(pg.UserError, match="does not fit"):
        GymTask(Strict, num_envs=2).restore(task.snapshot())


def test_the_limit_of_an_episode_can_be_moved_both_ways_and_is_checked():
    task = pg.make_task("gym:Pendulum-v1", max_episode_steps=203)
    ends = [task.step(np.zeros((1, 1))).truncated[0] for _ in range(203)]
    assert not any(ends[:-1]) and ends[-1]
    for limit in (0, -3, 2.5, "x"):
        with pytest.raises(pg.UserError, match="max_episode_steps must be"):
            pg.make_task("gym:Pendulum-v1", max_episode_steps=limit)
    with pytest.raises(pg.UserError, match="takes no options"):
        GymTask(Drift, colour="red")


def test_progress_is_that_of_our_own_robot():
    theirs, ours = (
        GymTask("Walker2d-v5", num_envs=2, seed=3),
        pg.make_task("walker", num_envs=2, num_threads=1),
    )
    assert isinstance(ours, MujocoTask)
    data: list[Any] = [getattr(env.unwrapped, "data") for env in theirs._envs]  # noqa: B009
    ours.set_state(np.array([one.qpos for one in data]), np.array([one.qvel for one in data]))
    start = theirs.progress
    np.testing.assert_array_equal(start, ours.progress)
    actions = np.random.default_rng(0).uniform(-1, 1, (15, 2, 6))
    for action in actions:
        theirs.step(action)
        ours.step(action)
        np.testing.assert_allclose(theirs.progress, ours.progress, atol=1e-9)
    assert np.abs(theirs.progress - start).min() > 1e-3
    snapshot, reached = theirs.snapshot(), theirs.progress
    theirs.reset([0])
    assert theirs.progress[0] != reached[0] and theirs.progress[1] == reached[1]
    theirs.restore(snapshot)
    np.testing.assert_array_equal(theirs.progress, reached)


class Silent(gymnasium.Wrapper):
    """An environment that tells nothing beside its observations."""

    def reset(self, **options: Any) -> Any:
        return super().reset(**options)[0], {}

    def step(self, action: Any) -> Any:
        return *super().step(action)[:4], {}


@pytest.mark.parametrize(
    ("name", "tells"), [("Ant-v5", True), ("InvertedPendulum-v5", False), ("Pendulum-v1", False)]
)
def test_what_floats_makes_progress_and_a_cart_does_not(name, tells):
    task = GymTask(lambda: Silent(gymnasium.make(name)))
    for _ in range(3):
        task.step(np.ones((1, task.action_size)))
    assert bool(np.isfinite(task.progress[0])) == tells
    if tells:
        assert task.progress[0] == task.poses[0, 0]


def test_everything_that_shows_speed_works_for_gymnasiums_robots():
    policies = {
        f"always {value}": lambda seen, value=value: np.full((len(seen), 3), value) for value in (0.0, 1.0)
    }
    population = pg.Population.from_policies(policies, task="gym:Hopper-v5")
    progress = pg.evaluate(population, suite=["nominal"], episodes=1)["mean_progress"].to_numpy()
    assert np.isfinite(progress).all() and progress[0] != progress[1]
    assert np.isfinite(pg.adapt(population, by="progress", episodes=1, held_out=1).held_out_progress).all()
