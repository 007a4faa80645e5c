"""FaultInjection: the same faults as in our tasks, in environments of others, and nothing left behind."""

from typing import Any

import gymnasium
import mujoco
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict
from mujoco.batch import MODEL_FIELDS

from polygait.errors import UserError
from polygait.faults import FaultInjection, VectorFaultInjection
from polygait.tasks.mujoco import MujocoTask
from polygait.tasks.robots.walker import Walker

FAULTS = [
    "broken(foot_joint)@3..8",
    "broken(leg_joint):hold@5..9",
    "mass(*)=1.3+friction(*)=0.5@2..7",
    "delay=2@4+motor(leg_joint)@6..9",
    "push=100N@5..9+slope=4+torque(foot_joint)=-5Nm@2",
    "offset(leg_joint)=0.1+strength(*):fade=0.02@3",
    "backlash(*)=0.3+damping(*)=2",
    "motor(*):drop=0.4+gravity=1.2@every(6)..+3",
]


def walker(variation=None, **options):
    return FaultInjection(gymnasium.make("Walker2d-v5"), variation, **options)


def model_arrays(env):
    model = env.unwrapped.model
    arrays = {name: getattr(model, name) for name in MODEL_FIELDS if not name.startswith("opt.")}
    return {name: np.array(values) for name, values in arrays.items()} | {"gravity": model.opt.gravity.copy()}


def assert_same_model(found, expected):
    assert not [name for name in expected if not np.array_equal(found[name], expected[name])]


@pytest.mark.parametrize("text", FAULTS)
def test_returns_are_those_of_our_own_task_from_the_same_states(text):
    env, task = walker(text), MujocoTask(Walker(), variation=text, num_threads=1)
    inner: Any = env.unwrapped
    chance, shared = np.random.default_rng(0), inner.init_qpos
    for episode in range(10):
        env.reset(seed=episode)
        task.reset(seeds=[episode])
        qpos = shared + chance.uniform(-0.005, 0.005, 9)
        qvel = chance.uniform(-0.005, 0.005, 9)
        inner.set_state(qpos, qvel)
        task.set_state(qpos[None], qvel[None])
        theirs = ours = 0.0
        for _ in range(60):
            action = chance.uniform(-1, 1, 6)
            _, reward, terminated, _, _ = env.step(action)
            step = task.step(action[None])
            theirs, ours = theirs + float(reward), ours + step.reward[0]
            assert terminated == step.terminated[0]
            if terminated:
                break
        assert theirs == pytest.approx(ours, abs=1e-9)
    env.close()


@pytest.mark.parametrize("text", FAULTS[:3] + FAULTS[4:6])
def test_the_model_is_given_back_to_the_last_bit(text):
    env = gymnasium.make("Walker2d-v5")
    before = model_arrays(env)
    wrapped = FaultInjection(env, f"{text}+mass(torso)=3@1..4")
    wrapped.reset(seed=0)
    for _ in range(6):
        wrapped.step(np.zeros(6))
    assert [
        name for name in before if not np.array_equal(model_arrays(env)[name], before[name])
    ] or "@" in text
    wrapped.close()
    assert_same_model(model_arrays(env), before)


def test_a_fault_that_is_over_leaves_the_nominal_model():
    env = walker("mass(*):inertia=2@2..4+broken(*)@3..5+friction(*)=0.1@1..5")
    before = model_arrays(env)
    env.reset(seed=0)
    changed = []
    for moment in range(8):
        env.step(np.zeros(6))
        if [name for name in before if not np.array_equal(model_arrays(env)[name], before[name])]:
            changed.append(moment)
    assert changed == [1, 2, 3, 4]
    assert_same_model(model_arrays(env), before)


def test_the_truth_is_in_the_info_and_only_there():
    env, whole = walker("broken(foot_joint)@3..5+sensor(state.0):bias=0@7"), gymnasium.make("Walker2d-v5")
    assert env.observation_space == whole.observation_space
    _, info = env.reset(seed=0)
    told = [info["fault"]]
    told += [env.step(np.zeros(6))[4]["fault"] for _ in range(9)]
    lock, bias = "broken(foot_joint)@3..5", "sensor(state.0):bias=0.0@7"
    assert told == ["nominal"] * 4 + [lock] * 2 + ["nominal"] * 2 + [bias] * 2


def test_episodes_before_the_onset_are_those_of_the_bare_environment():
    env, bare = walker("mass(*)=2@40..50"), gymnasium.make("Walker2d-v5")
    for seed in range(2):
        assert np.array_equal(env.reset(seed=seed)[0], bare.reset(seed=seed)[0])
        for _ in range(15):
            action = 0.2 * np.ones(6, np.float32)
            found, expected = env.step(action), bare.step(action)
            assert np.array_equal(found[0], expected[0]) and found[1:4] == expected[1:4]


def test_sensors_and_motors_of_any_environment_fail():
    env, bare = (
        FaultInjection(gymnasium.make("Pendulum-v1"), "sensor(state.2)@2..4+motor(action_0)"),
        gymnasium.make("Pendulum-v1"),
    )
    env.reset(seed=1)
    bare.reset(seed=1)
    for moment in range(1, 7):
        found, expected = env.step(np.ones(1, np.float32)), bare.step(np.zeros(1, np.float32))
        assert np.array_equal(found[0][:2], expected[0][:2])
        assert (found[0][2] == 0) == (2 <= moment < 4)
        assert found[0].dtype == expected[0].dtype


def test_observations_in_parts_go_by_their_names():
    class Parts(gymnasium.Env):
        observation_space = Dict({"arm": Box(-1, 1, (2,)), "eye": Box(-1, 1, (3,))})
        action_space = Box(-1, 1, (1,))

        def reset(self, *, seed=None, options=None):
            return {"arm": np.ones(2, np.float32), "eye": np.ones(3, np.float32)}, {}

        def step(self, action):
            return *self.reset()[:1], 0.0, False, False, {}

    env = FaultInjection(Parts(), "sensor(eye.1)+sensor(arm):bias=-0.5")
    seen, _ = env.reset()
    assert seen["eye"].tolist() == [1, 0, 1] and seen["arm"].tolist() == [0.5, 0.5]


def test_every_episode_draws_its_world():
    env = walker(worlds="nominal, broken(any(*)), mass(any(*))=0.5..2, delay=1..2")
    told = [env.reset(seed=seed)[1]["fault"] for seed in range(30)]
    again = [env.reset(seed=seed)[1]["fault"] for seed in range(30)]
    assert told == again and len(set(told)) > 10 and "nominal" in told


def test_parts_are_dealt_to_members_not_to_environments():
    with pytest.raises(UserError, match="members") as caught:
        walker(worlds="nominal, broken(each(*))")
    assert "any(" in caught.value.remedy


@pytest.mark.parametrize(
    ("name", "text", "hint"),
    [
        ("Pendulum-v1", "gravity=2", "sensor(state.0)"),
        ("Pendulum-v1", "motor(action_9)", "action_0"),
        ("CartPole-v1", "delay=2", "Sensors"),
        ("Walker2d-v5", "broken(foot_join)", "foot_joint"),
        ("Walker2d-v5", "broken(foot_joint)@5..2", "@300..500"),
    ],
)
def test_what_cannot_break_is_refused_with_a_remedy(name, text, hint):
    env = gymnasium.make(name)
    before = model_arrays(env) if name == "Walker2d-v5" else {}
    with pytest.raises(UserError) as caught:
        FaultInjection(env, text)
    assert hint in caught.value.remedy
    if before:
        assert_same_model(model_arrays(env), before)


def test_a_vector_of_environments_breaks_one_by_one():
    texts = ["broken(foot_joint)@1", None, "sensor(state.0):bias=1"]
    make = [lambda: gymnasium.make("Walker2d-v5")] * 3
    envs, bare = (
        VectorFaultInjection(gymnasium.vector.SyncVectorEnv(make), texts),
        gymnasium.vector.SyncVectorEnv(make),
    )
    seen, info = envs.reset(seed=3)
    expected, _ = bare.reset(seed=3)
    assert np.allclose(seen - expected, np.eye(3, 17)[[1, 1, 0]] * [[0], [0], [1]])
    assert info["fault"].tolist() == ["nominal", "nominal", "sensor(state.0):bias=1.0"]
    for _ in range(3):
        action = np.full((3, 6), 0.4, np.float32)
        seen, _, _, _, info = envs.step(action)
        expected = bare.step(action)[0]
    assert not np.array_equal(seen[0], expected[0])
    assert np.array_equal(seen[1], expected[1])
    assert info["fault"].tolist() == ["broken(foot_joint)@1", "nominal", "sensor(state.0):bias=1.0"]
    envs.close()


class Counters(gymnasium.vector.VectorEnv):
    """Environments that show their step and their action, and end after four."""

    num_envs = 2
    single_observation_space = Box(-np.inf, np.inf, (2,))
    single_action_space = Box(-1, 1, (1,))

    def __init__(self):
        self.metadata = {"autoreset_mode": gymnasium.vector.AutoresetMode.NEXT_STEP}

    def reset(self, *, seed=None, options=None):
        self.count = np.zeros(2)
        return np.zeros((2, 2), np.float32), {}

    def step(self, actions):
        begins = self.count == 4
        self.count = np.where(begins, 0, self.count + 1)
        seen = np.stack([self.count, np.where(begins, 0, actions[:, 0])], axis=1).astype(np.float32)
        return seen, np.zeros(2), self.count == 4, np.zeros(2, bool), {}


def test_of_any_other_vector_sensors_and_motors_fail_in_every_episode():
    envs = VectorFaultInjection(Counters(), ["motor(action_0)@2..3", "sensor(state.0):bias=10@3"])
    envs.reset(seed=0)
    seen = np.stack([envs.step(np.ones((2, 1), np.float32))[0] for _ in range(10)])
    assert seen[:, 0, 1].tolist() == [1, 1, 0, 1, 0, 1, 1, 0, 1, 0]
    assert seen[:, 1, 0].tolist() == [1, 2, 13, 14, 0, 1, 2, 13, 14, 0]
    with pytest.raises(UserError, match="physics behind a Counters"):
        VectorFaultInjection(Counters(), "gravity=2")


def test_pushes_reach_the_engine():
    env = walker("push=70N@1..3")
    env.reset(seed=0)
    inner: Any = env.unwrapped
    data, body = inner.data, mujoco.mj_name2id(inner.model, mujoco.mjtObj.mjOBJ_BODY, "torso")
    pushed = []
    for _ in range(5):
        env.step(np.zeros(6))
        pushed.append(data.xfrc_applied[body, 0])
    assert pushed == [0, 70, 70, 0, 0]
