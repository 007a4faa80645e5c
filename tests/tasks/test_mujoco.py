"""MujocoTask: exactness, resets, snapshots, divergence, bad input, foot contacts, time limit."""

import mujoco
import numpy as np
import pytest
from mujoco.batch import SimulationError

from polygait.errors import UserError
from polygait.tasks.mujoco import MujocoTask
from polygait.tasks.registry import make_task
from polygait.tasks.robots.ant import Ant
from polygait.tasks.robots.hopper import Hopper
from polygait.tasks.robots.walker import Walker
from polygait.tasks.task import Task

ROBOTS = {"hopper": Hopper, "walker": Walker, "ant": Ant}
HEIGHT = {"hopper": 1, "walker": 1, "ant": 2}  # where qpos holds the torso's height
MANY = 256


@pytest.fixture(params=ROBOTS)
def robot(request):
    return ROBOTS[request.param]()


@pytest.fixture(autouse=True)
def _log_elsewhere(monkeypatch, tmp_path):
    """MuJoCo writes its warnings to a file in the working directory."""
    monkeypatch.chdir(tmp_path)


def random_actions(task, steps, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, (steps, task.num_envs, task.action_size))


def run(task, actions, reset_at=None):
    """All there is to see, (time, env, numbers); finished rows are reset, at `reset_at` every row."""
    seen = []
    for time, action in enumerate(actions):
        step = task.step(action)
        endings = (step.terminated, step.truncated)
        physics = (task.physics.qpos, task.physics.qvel)
        seen.append(np.column_stack([step.observation, step.reward, *endings, *physics]))
        ended = np.ones(task.num_envs, dtype=bool) if time == reset_at else step.terminated | step.truncated
        task.reset(ended)
    return np.stack(seen)


def test_a_mujoco_task_is_a_task(robot):
    task = MujocoTask(robot)
    assert isinstance(task, Task)
    assert task.reset().shape == (1, task.observation_size)
    assert task.reset().dtype == np.float64
    assert task.default_filter.layout == task.layout


# Exactness


def test_same_seed_same_bits_on_any_threads_alone_or_among_others(robot):
    seeds = np.arange(MANY) * 3 + 5
    many = MujocoTask(robot, num_envs=MANY, num_threads=1)
    actions = random_actions(many, 24)

    def trajectory(task, rows):
        task.reset(seeds=seeds[rows])
        return run(task, actions[:, rows], reset_at=15)

    everyone = np.arange(MANY)
    expected = trajectory(many, everyone)
    assert expected[:, :, -1].std() > 0
    threaded = MujocoTask(robot, num_envs=MANY, num_threads=2)
    assert np.array_equal(trajectory(threaded, everyone), expected)
    for row in (0, 17, MANY - 1):
        alone = MujocoTask(robot, num_envs=1, num_threads=1)
        assert np.array_equal(trajectory(alone, [row])[:, 0], expected[:, row])


def test_a_task_made_again_with_its_seed_is_the_same_and_with_another_differs(robot):
    first, again, other = (MujocoTask(robot, num_envs=3, seed=seed).reset() for seed in (4, 4, 5))
    assert np.array_equal(first, again)
    assert not np.isclose(first, other).all(axis=1).any()


def test_rows_and_successive_episodes_differ(robot):
    task = MujocoTask(robot, num_envs=4)
    episodes = np.concatenate([task.reset() for _ in range(5)])
    assert len(np.unique(episodes, axis=0)) == 20


@pytest.mark.parametrize("seed", [0, 7, 2**63 + 1, -1])
def test_a_seed_given_to_any_row_equals_row_zero_of_a_task_with_that_seed(seed):
    original = MujocoTask(Walker(), num_envs=2, seed=seed)
    task = MujocoTask(Walker(), num_envs=4, seed=99)
    before = task.reset()
    seen = task.reset(env_ids=[2], seeds=[seed])
    assert np.array_equal(np.delete(seen, 2, axis=0), np.delete(before, 2, axis=0))
    assert np.array_equal(seen[2], original.snapshot()["observation"][0])
    actions = random_actions(original, 60)
    expected = run(original, actions)[:, 0]
    found = run(task, np.repeat(actions[:, :1], 4, axis=1))[:, 2]
    assert np.array_equal(found, expected)


def test_seeds_belong_to_the_ids_in_the_order_given():
    task = MujocoTask(Hopper(), num_envs=3)
    shuffled = task.reset(env_ids=[2, 0, 1], seeds=[12, 10, 11])
    assert np.array_equal(shuffled, task.reset(seeds=[10, 11, 12]))


def test_resetting_some_rows_leaves_the_others_alone(robot):
    task, undisturbed = (MujocoTask(robot, num_envs=4) for _ in range(2))
    actions = random_actions(task, 12)
    for action in actions[:6]:
        task.step(action)
        undisturbed.step(action)
    before = undisturbed.snapshot()["observation"]
    for ids in ([1], np.array([False, True, False, False])):
        seen = task.reset(ids)
        assert np.array_equal(np.delete(seen, 1, axis=0), np.delete(before, 1, axis=0))
        assert not np.array_equal(seen[1], before[1])
    assert np.array_equal(task.reset([]), task.reset(np.zeros(4, dtype=bool)))
    for action in actions[6:]:
        found, expected = task.step(action), undisturbed.step(action)
        for one, other in zip(found, expected, strict=True):
            assert np.array_equal(one[[0, 2, 3]], other[[0, 2, 3]])


def test_what_a_task_returns_is_a_copy(robot):
    task, untouched = MujocoTask(robot), MujocoTask(robot)
    task.reset()[:] = 7.0
    untouched.reset()
    for action in random_actions(task, 3):
        step, expected = task.step(action), untouched.step(action)
        assert np.array_equal(step.observation, expected.observation)
        step.observation[:], step.reward[:], action[:] = 7.0, 7.0, 7.0


SNAPSHOT_VARIATIONS = [
    None,
    "sensor(torso.*):freeze@4",
    "sensor(torso.*):noise=0.1",
    "delay=3",
    "gravity=0.5@14+mass(torso)=2@8",
    "delay=2@12+motor(*)@20+sensor(*):freeze@11",
]


@pytest.mark.parametrize("taken_at", [0, 10])
def test_a_snapshot_goes_on_bit_for_bit_also_in_a_fresh_task(robot, taken_at):
    options = {"num_envs": len(SNAPSHOT_VARIATIONS), "seed": 3, "variation": SNAPSHOT_VARIATIONS}
    task = MujocoTask(robot, **options)
    actions = random_actions(task, taken_at + 40)
    for action in actions[:taken_at]:
        task.step(action)
    snapshot = task.snapshot()
    kept = {name: values.copy() for name, values in snapshot.items()}
    expected = run(task, actions[taken_at:], reset_at=25)
    assert all(np.array_equal(snapshot[name], kept[name], equal_nan=True) for name in kept)
    task.restore(snapshot)
    assert np.array_equal(run(task, actions[taken_at:], reset_at=25), expected)
    fresh = MujocoTask(robot, **options)
    fresh.restore(snapshot)
    assert np.array_equal(run(fresh, actions[taken_at:], reset_at=25), expected)


# Divergence


def break_by_nan(task):
    task.physics.qpos[3] = np.nan


def break_by_speed(task):
    qpos, qvel = task.physics.qpos[[3]].copy(), np.full((1, task.model.nv), 1e12)
    task.set_state(qpos, qvel, env_ids=[3])


def break_within_a_step(task):
    """Too fast to integrate, but within MuJoCo's bounds when the step begins."""
    task.set_state(task.physics.qpos[[3]].copy(), np.full((1, task.model.nv), 1e9), env_ids=[3])


@pytest.mark.parametrize("destroy", [break_by_nan, break_by_speed, break_within_a_step])
def test_a_diverged_row_ends_its_own_episode_and_no_other(robot, destroy):
    task, healthy = (MujocoTask(robot, num_envs=6, num_threads=2) for _ in range(2))
    actions = 0.3 * random_actions(task, 12)
    for action in actions[:4]:
        task.step(action)
        healthy.step(action)
    destroy(task)
    last = task.snapshot()["observation"][3]
    step, expected = task.step(actions[4]), healthy.step(actions[4])
    assert task.diverged.tolist() == [False, False, False, True, False, False]
    assert task.num_diverged == 1
    assert step.terminated[3]
    assert step.reward[3] == 0.0
    assert np.isfinite(step.observation).all()
    assert np.array_equal(step.observation[3], last)
    others = [0, 1, 2, 4, 5]
    for one, other in zip(step, expected, strict=True):
        assert np.array_equal(one[others], other[others])
    assert task.foot_contacts().shape == (6, len(task.feet))

    observation = task.reset([3])
    assert np.isfinite(observation).all()
    assert not task.diverged.any()
    fresh = MujocoTask(robot, num_envs=6)
    fresh.reset()
    assert np.array_equal(observation[3], fresh.reset()[3])  # its second episode
    healthy.reset([3])
    for action in actions[5:]:
        step, expected = task.step(action), healthy.step(action)
        assert all(np.array_equal(*pair) for pair in zip(step, expected, strict=True))
    assert task.num_diverged == 1


def test_a_diverged_row_does_no_harm_when_nobody_resets_it(robot):
    task = MujocoTask(robot, num_envs=4)
    break_by_nan(task)
    for action in random_actions(task, 10):
        step = task.step(action)
        assert np.isfinite(step.observation).all()
        assert np.isfinite(step.reward).all()


@pytest.mark.parametrize("destroy", [break_by_nan, break_by_speed, break_within_a_step])
def test_a_bad_state_that_is_reset_before_it_is_stepped_leaves_no_trace(robot, destroy):
    task, healthy = (MujocoTask(robot, num_envs=6) for _ in range(2))
    destroy(task)
    assert np.array_equal(task.reset([3]), healthy.reset([3]))
    for action in 0.3 * random_actions(task, 3):
        step, expected = task.step(action), healthy.step(action)
        assert all(np.array_equal(*pair) for pair in zip(step, expected, strict=True))
    assert task.num_diverged == 0


# Bad input


@pytest.mark.parametrize("shape", [(3,), (1, 3), (2, 2), (2, 4), (2, 3, 1), (0, 3)])
def test_actions_of_the_wrong_shape_name_the_shape_expected(shape):
    task = MujocoTask(Hopper(), num_envs=2)
    with pytest.raises(UserError, match=r"shape \(2, 3\)") as caught:
        task.step(np.zeros(shape))
    assert str(shape) in caught.value.problem
    assert caught.value.remedy


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_actions_that_are_not_finite_name_the_environment_and_change_nothing(value):
    task, untouched = (MujocoTask(Walker(), num_envs=8) for _ in range(2))
    actions = np.zeros((8, 6))
    actions[5, 2] = value
    with pytest.raises(UserError, match=r"Action 2 of environment 5"):
        task.step(actions)
    good = random_actions(task, 5)
    assert np.array_equal(run(task, good), run(untouched, good))


def test_actions_beyond_the_box_are_cut_to_it_before_anything_is_computed(robot):
    beyond, box = (MujocoTask(robot, num_envs=4) for _ in range(2))
    for size in (1e308, 1e12, 1.5):
        actions = np.sign(random_actions(box, 1)[0])
        step, expected = beyond.step(size * actions), box.step(actions)
        assert all(np.array_equal(*pair) for pair in zip(step, expected, strict=True))
        assert np.isfinite(step.reward).all() and np.isfinite(step.observation).all()


def test_more_environments_than_memory_are_refused():
    with pytest.raises(
        UserError, match=r"1,000,000,000 environments would need about .* TB of memory"
    ) as caught:
        MujocoTask(Hopper(), num_envs=10**9)
    assert "fewer environments" in caught.value.remedy


def test_more_threads_than_environments_are_no_use_and_no_harm():
    assert np.isfinite(MujocoTask(Hopper(), num_envs=2, num_threads=10**12).reset()).all()


@pytest.mark.parametrize("options", [{"num_envs": 0}, {"num_envs": -1}, {"num_threads": 0}])
def test_counts_below_one_are_refused(options):
    with pytest.raises(UserError, match=rf"{next(iter(options))} must be at least 1"):
        MujocoTask(Hopper(), **options)


BAD_IDS = [
    [4],
    [-1],
    [1, 1],
    np.array([0.0, 1.0]),
    np.array([[0, 1]]),
    np.array([True, False]),
    np.ones(5, dtype=bool),
]


@pytest.mark.parametrize("ids", BAD_IDS, ids=str)
def test_ids_that_name_no_environments_are_refused_and_change_nothing(ids):
    task = MujocoTask(Hopper(), num_envs=4)
    snapshot = task.snapshot()
    state = np.zeros((len(ids), 6))
    for attempt in (
        lambda: task.reset(ids),
        lambda: task.set_variation("gravity=2", ids),
        lambda: task.set_state(state, state, ids),
    ):
        with pytest.raises(UserError, match="Environment ids must be"):
            attempt()
    after = task.snapshot()
    assert all(np.array_equal(after[name], snapshot[name], equal_nan=True) for name in snapshot)
    assert [str(variation) for variation in task.variations] == ["nominal"] * 4


@pytest.mark.parametrize(
    ("name", "qpos", "qvel"),
    [
        ("qpos", np.zeros((2, 5)), np.zeros((2, 6))),
        ("qpos", np.zeros((1, 6)), np.zeros((2, 6))),
        ("qpos", np.zeros(6), np.zeros((2, 6))),
        ("qvel", np.zeros((2, 6)), np.zeros((2, 7))),
        ("qpos", np.full((2, 6), np.nan), np.zeros((2, 6))),
        ("qvel", np.zeros((2, 6)), np.full((2, 6), np.inf)),
    ],
)
def test_states_of_the_wrong_shape_or_not_finite_are_refused(name, qpos, qvel):
    task = MujocoTask(Hopper(), num_envs=2)
    before = task.physics.batch.state.copy()
    with pytest.raises(UserError, match=rf"Expected {name} of shape \(2, 6\)"):
        task.set_state(qpos, qvel)
    assert np.array_equal(task.physics.batch.state, before)


@pytest.mark.parametrize("given", [[], [None], ["gravity=2"] * 3])
def test_a_wrong_number_of_variations_is_refused(given):
    with pytest.raises(UserError, match=rf"list of 2 \(one per environment\), got {len(given)}"):
        MujocoTask(Hopper(), num_envs=2).set_variation(given)


def test_the_first_reset_begins_the_first_episode():
    task = MujocoTask(Hopper(), num_envs=2, seed=7)
    first = task.reset()
    assert np.array_equal(first[0], MujocoTask(Hopper()).reset(seeds=[7])[0])
    assert not np.array_equal(first, task.reset())
    stepped = MujocoTask(Hopper(), num_envs=2, seed=7)
    stepped.step(np.zeros((2, 3)))
    assert not np.array_equal(first, stepped.reset())


def test_seeds_are_whole_numbers():
    with pytest.raises(UserError, match="whole numbers"):
        MujocoTask(Hopper()).reset(seeds=np.array([1.5]))


def test_a_snapshot_of_another_task_is_refused():
    with pytest.raises(UserError, match="does not fit"):
        MujocoTask(Hopper(), num_envs=4).restore(MujocoTask(Hopper()).snapshot())


def test_divergence_leaves_no_log_file_behind(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    task = MujocoTask(Hopper(), num_envs=3, num_threads=2)
    task.physics.qvel[1] = 1e12
    task.step(np.zeros((3, 3)))
    assert task.num_diverged == 1
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("ids", "seeds"), [(None, [1]), (None, [1, 2, 3]), ([0], [1, 2]), ([], [1])])
def test_a_wrong_number_of_seeds_is_refused(ids, seeds):
    task = MujocoTask(Hopper(), num_envs=2)
    with pytest.raises(UserError, match=rf"seeds.*got {len(seeds)}"):
        task.reset(ids, seeds=seeds)


# Feet


@pytest.mark.parametrize(("name", "steps"), [("hopper", 40), ("walker", 40), ("ant", 180)])
def test_robots_that_stand_touch_the_ground_with_every_foot(name, steps):
    task = MujocoTask(ROBOTS[name](), num_envs=3)
    for _ in range(steps):
        task.step(np.zeros((3, task.action_size)))
    contacts = task.foot_contacts()
    assert contacts.shape == (3, len(task.feet))
    assert contacts.dtype == bool
    assert contacts.all()
    lifted = task.physics.qpos[[1]].copy()
    lifted[:, HEIGHT[name]] += 3
    task.set_state(lifted, np.zeros((1, task.model.nv)), env_ids=[1])
    assert task.foot_contacts().all(axis=1).tolist() == [True, False, True]
    assert not task.foot_contacts()[1].any()


def test_foot_contacts_are_those_that_mujoco_finds(robot):
    """Against the contact list of a single MjData at the same state."""
    task = MujocoTask(robot, num_envs=2)
    model = robot.spec().compile()
    data = mujoco.MjData(model)
    floor = model.geom("floor").id
    feet = [model.geom(geom).id for geom in robot.feet.values()]
    seen = set()
    for action in random_actions(task, 80):
        task.step(action)
        found = task.foot_contacts()
        for row in range(2):
            data.qpos[:], data.qvel[:] = task.physics.qpos[row], task.physics.qvel[row]
            mujoco.mj_forward(model, data)
            pairs = {frozenset(pair) for pair in data.contact.geom.tolist()}
            assert found[row].tolist() == [frozenset((floor, foot)) in pairs for foot in feet]
            seen.update(enumerate(found[row].tolist()))
    assert seen == {(foot, touch) for foot in range(len(feet)) for touch in (False, True)}


def test_asking_for_foot_contacts_does_not_change_what_happens(robot):
    asked, silent = (MujocoTask(robot, num_envs=4) for _ in range(2))
    actions = random_actions(asked, 60)
    expected = run(silent, actions)
    for time, action in enumerate(actions):
        asked.foot_contacts()
        assert np.array_equal(run(asked, action[None])[0], expected[time])


# Endings


@pytest.mark.parametrize("name", ["hopper", "walker"])
def test_after_termination_the_state_is_the_true_one_and_stepping_goes_on(name):
    task = MujocoTask(ROBOTS[name]())
    model = task.robot.spec().compile()
    data = mujoco.MjData(model)
    spec = mujoco.mjtState.mjSTATE_INTEGRATION
    mujoco.mj_setState(model, data, task.physics.batch.state[0], spec)
    ended = []
    for action in random_actions(task, 150, seed=1):
        step = task.step(action)
        data.ctrl[:] = action[0]
        mujoco.mj_step(model, data, nstep=task.robot.frame_skip)
        expected = np.concatenate([data.qpos[1:], np.clip(data.qvel, -10, 10)])
        assert np.array_equal(step.observation[0], expected)
        ended.append(bool(step.terminated[0]))
    assert not ended[0]
    assert 10 < sum(ended) < 150


def test_truncated_after_exactly_1000_steps_of_each_row(robot):
    task = MujocoTask(robot, num_envs=2)
    still = np.zeros((2, task.action_size))
    truncated = []
    for time in range(1003):
        truncated.append(task.step(still).truncated)
        if time == 1:
            task.reset([1])
    assert task.max_episode_steps == 1000
    assert np.argmax(truncated, axis=0).tolist() == [999, 1001]
    assert np.all(truncated[1001:])
    task.reset([0])
    assert task.step(still).truncated.tolist() == [False, True]


@pytest.mark.parametrize("name", ["hopper", "minitaur"])
def test_a_resting_row_stays_as_it_is_while_others_go_on(name):
    one, other = (make_task(name, num_envs=4, seed=3) for _ in range(2))
    chance = np.random.default_rng(0)
    one.rest([1, 3])
    before = one.reset([0])[[1, 3]]
    for _ in range(10):
        actions = chance.uniform(-1, 1, (4, one.action_size))
        step, whole = one.step(actions), other.step(actions)
        np.testing.assert_array_equal(step.observation[[1, 3]], before)
        np.testing.assert_array_equal(step.reward[[1, 3]], 0)
        assert not step.terminated[[1, 3]].any()
        np.testing.assert_array_equal(step.observation[2], whole.observation[2])
    woken = one.reset([1], seeds=[5])
    fresh = make_task(name, num_envs=1).reset(seeds=[5])
    np.testing.assert_array_equal(woken[1], fresh[0])
    moved = one.step(np.full((4, one.action_size), 0.5)).observation
    assert not np.array_equal(moved[1], woken[1])
    np.testing.assert_array_equal(moved[3], before[1])


def test_a_row_that_rests_after_its_physics_broke_down_is_counted_once():
    task = make_task("hopper", num_envs=2)
    assert isinstance(task, MujocoTask)
    task.physics.qvel[1] = np.nan
    assert task.step(np.zeros((2, 3))).terminated.tolist() == [False, True]
    task.rest([1])
    for _ in range(3):
        assert np.isfinite(task.step(np.zeros((2, 3))).observation).all()
    assert task.num_diverged == 1


def test_rest_and_untouched_starts_survive_a_restore():
    task, twin = (make_task("hopper", num_envs=3, seed=3) for _ in range(2))
    actions = np.zeros((3, 3))
    task.rest([1, 2])
    task.step(actions)
    twin.restore(task.snapshot())
    for _ in range(3):
        ours, theirs = task.step(actions), twin.step(actions)
        assert all(np.array_equal(one, other) for one, other in zip(ours, theirs, strict=True))
        assert ours.reward[0] > 0 and (theirs.reward[1:] == 0).all()
    # A row that has never moved begins its first episode when it is first reset.
    assert np.array_equal(twin.reset([2])[2], make_task("hopper", num_envs=3, seed=3).reset()[2])


def test_a_row_at_its_time_limit_says_nothing_while_it_rests():
    task = make_task("hopper", num_envs=2, max_episode_steps=2)
    actions = np.zeros((2, 3))
    task.step(actions)
    assert task.step(actions).truncated.all()
    task.rest([1])
    assert task.step(actions).truncated.tolist() == [True, False]


@pytest.mark.parametrize("call", ["step", "forward"])
def test_an_error_of_the_engine_ends_its_row_and_no_other(call, monkeypatch):
    task = make_task("ant", num_envs=3)
    assert isinstance(task, MujocoTask)
    batch, good = task.physics.batch, getattr(task.physics.batch, call)

    def raising(*arguments, **options):
        good(*arguments, **options)
        raise SimulationError(np.array([1]), "made up")

    before = task.reset()
    monkeypatch.setattr(batch, call, raising)
    step = task.step(np.zeros((3, task.action_size)))
    monkeypatch.undo()
    assert step.terminated.tolist() == [False, True, False] and step.reward[1] == 0
    assert np.array_equal(step.observation[1], before[1]) and task.num_diverged == 1
    again = task.step(np.zeros((3, task.action_size)))  # sensors sleep in substeps again
    assert not again.terminated[[0, 2]].any()
