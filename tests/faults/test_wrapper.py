"""FaultInjection: the same faults as in our tasks, in environments of others, and nothing left behind."""

from typing import Any

import gymnasium
import mujoco
import numpy as np
import pytest
from tests.faults.environments import WALKER, OwnWalker, assert_same_model, model_arrays, walker

from polygait.faults import FaultInjection
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
    wrapped = FaultInjection(env, f"{text}+mass(torso)=3")
    assert_same_model(model_arrays(env), before)
    wrapped.reset(seed=0)
    for _ in range(6):
        wrapped.step(np.zeros(6))
    changed = model_arrays(env)
    assert [name for name in before if not np.array_equal(changed[name], before[name])]
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
    env, whole = walker("broken(foot_joint)@3..5+sensor(state.0):bias=9@7"), gymnasium.make("Walker2d-v5")
    assert env.observation_space == whole.observation_space
    _, info = env.reset(seed=0)
    told = [info["fault"]]
    told += [env.step(np.zeros(6))[4]["fault"] for _ in range(9)]
    lock, bias = "broken(foot_joint)@3..5", "sensor(state.0):bias=9.0@7"
    # After seven steps the seventh observation is seen (the first of all is number 0), in the step number 6.
    assert told == ["nominal"] * 4 + [lock] * 2 + ["nominal"] + [bias] * 3


def test_a_spoiled_observation_is_told_with_it():
    env = FaultInjection(gymnasium.make("Pendulum-v1"), "sensor(state.2):bias=100@2..4+sensor(state.0)@0..1")
    steps = [env.reset(seed=0), *(env.step(np.zeros(1))[::4] for _ in range(6))]
    spoiled = [bool(seen[2] > 50) for seen, _ in steps]
    assert spoiled == [False, False, True, True, False, False, False]
    bias = "sensor(state.2):bias=100.0@2..4"
    told = ["sensor(state.0)@0..1", "nominal", bias, bias, "nominal", "nominal", "nominal"]
    assert [info["fault"] for _, info in steps] == told


def test_quiet_steps_count():
    env = gymnasium.make("HalfCheetah-v5")
    wrapped, still = FaultInjection(env), np.zeros(6)
    wrapped.reset(seed=0)
    for _ in range(10):
        wrapped.step(still)
    wrapped.set_variation("mass(torso)=2@12..14")
    told = [wrapped.step(still)[4]["fault"] for _ in range(6)]
    assert told == ["nominal"] * 2 + ["mass(torso)=2.0@12..14"] * 2 + ["nominal"] * 2


def test_a_variation_that_is_set_holds_in_place_of_worlds():
    env = walker(worlds="mass(any(*))=0.5..2", seed=0)
    env.reset()
    env.set_variation("gravity=2")
    told = [env.step(np.zeros(6))[4]["fault"]] + [env.reset()[1]["fault"] for _ in range(3)]
    assert told == ["gravity=2.0"] * 4


def test_episodes_before_the_onset_are_those_of_the_bare_environment():
    env, bare = walker("mass(*)=2@40..50"), gymnasium.make("Walker2d-v5")
    for seed in range(2):
        assert np.array_equal(env.reset(seed=seed)[0], bare.reset(seed=seed)[0])
        for _ in range(15):
            action = 0.2 * np.ones(6, np.float32)
            found, expected = env.step(action), bare.step(action)
            assert np.array_equal(found[0], expected[0]) and found[1:4] == expected[1:4]


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


def test_pushes_reach_data_that_are_new_in_every_episode():
    env = FaultInjection(OwnWalker(), "push=70N@1..3+mass(torso)=2@2..3")
    inner: Any = env.unwrapped
    nominal = inner.model.body_mass[1]
    for _ in range(3):
        env.reset()
        pushed = []
        for _ in range(4):
            env.step(np.zeros(6))
            pushed.append((inner.data.xfrc_applied[1, 0], inner.model.body_mass[1] / nominal))
        assert pushed == [(0, 1), (70, 1), (70, 2), (0, 1)]


def test_a_new_model_in_an_episode_breaks_like_the_first():
    class Compiled(OwnWalker):
        def reset(self, *, seed=None, options=None):
            self.__init__()
            return super().reset(seed=seed)

    env = FaultInjection(Compiled(), "mass(torso)=2@1..2")
    inner: Any = env.unwrapped
    nominal = inner.model.body_mass[1]
    for _ in range(2):
        env.reset()
        masses = []
        for _ in range(3):
            env.step(np.zeros(6))
            masses.append(inner.model.body_mass[1] / nominal)
        assert masses == [1, 2, 1]


def test_worlds_are_drawn_among_the_parts_of_the_present_model():
    class Renamed(OwnWalker):
        episode = -1

        def reset(self, *, seed=None, options=None):
            self.episode += 1
            spec = mujoco.MjSpec.from_file(WALKER)
            spec.body("torso").name = f"torso_{self.episode}"
            self.model = spec.compile()
            return super().reset(seed=seed)

    env = FaultInjection(Renamed(), worlds="mass(any(torso*))=2")
    assert [env.reset()[1]["fault"] for _ in range(3)] == [f"mass(torso_{number})=2.0" for number in range(3)]


def test_names_of_everything_are_told():
    names = walker().anatomy
    assert list(names.joints)[-1] == "foot_left_joint" and next(iter(names.bodies)) == "torso"
    assert "state.16" in names.state_parts and "foot_joint" in names.actions
