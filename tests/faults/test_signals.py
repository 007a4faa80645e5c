"""Observations and actions of every shape and kind: what is broken changes, and nothing else."""

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete
from tests.faults.environments import Mirror

from polygait.errors import UserError
from polygait.faults import FaultInjection


def test_observations_in_parts_go_by_their_names():
    space = Dict({"arm": Box(-1, 1, (2,)), "eye": Box(-1, 1, (3,))})
    env = FaultInjection(
        Mirror({"arm": np.ones(2, np.float32), "eye": np.ones(3, np.float32)}, space),
        "sensor(eye.1)+sensor(arm):bias=-0.5",
    )
    seen, _ = env.reset()
    assert seen["eye"].tolist() == [1, 0, 1] and seen["arm"].tolist() == [0.5, 0.5]


def test_boxes_fail_whatever_lies_beside_them():
    space = Dict(
        {
            "mode": Discrete(3),
            "robot": Dict({"left arm": Box(-9, 9, (2, 1)), "gear": Discrete(5)}),
            "time": Box(0, 2**62, (1,), np.int64),
        }
    )
    shown = {
        "mode": 2,
        "robot": {"left arm": np.ones((2, 1)), "gear": 4},
        "time": np.array([2**61 + 1]),
    }
    env = FaultInjection(Mirror(shown, space), "sensor(robot.left_arm.1):bias=3")
    for seen in (env.reset()[0], env.step(np.zeros(1))[0]):
        assert seen["robot"]["left arm"].tolist() == [[1], [4]]
        assert seen["mode"] == 2 and seen["robot"]["gear"] == 4 and seen["time"][0] == 2**61 + 1
    assert shown["robot"]["left arm"].tolist() == [[1], [1]]


def test_a_lost_packet_leaves_what_was_seen_before_the_window():
    bare = gymnasium.make("Pendulum-v1")
    env = FaultInjection(gymnasium.make("Pendulum-v1"), "sensor(state.2):drop=0.999999@every(5)..+2")
    true, seen = [bare.reset(seed=1)[0]], [env.reset(seed=1)[0]]
    for _ in range(14):
        true.append(bare.step(np.ones(1))[0])
        seen.append(env.step(np.ones(1))[0])
    shown = [step for step, one in enumerate(seen) if np.array_equal(one, true[step])]
    assert shown == [0, 1, 2, 3, 4, 7, 8, 9, 12, 13, 14]
    assert seen[5][2] == seen[6][2] == true[4][2] and seen[10][2] == seen[11][2] == true[9][2]


def test_whole_numbers_stay_within_their_bounds():
    space = Box(0, 255, (3,), np.uint8)
    env = FaultInjection(Mirror(np.array([250, 5, 7], np.uint8), space), "sensor(*):bias=10.4")
    seen = env.reset()[0]
    assert seen.dtype == np.uint8 and seen.tolist() == [255, 15, 17]
    env.set_variation("sensor(state.1):bias=-10")
    assert env.step(np.zeros(1))[0].tolist() == [250, 0, 7]


def test_a_whole_number_is_an_action_too():
    env = FaultInjection(Mirror(np.zeros(1), Box(-1, 1, (1,))), "strength(action_0)=0.5")
    env.reset()
    for given in ([1], np.ones(1, np.float32), np.ones(1), (1.0,)):
        env.step(given)
        arrived = env.unwrapped.arrived  # type: ignore[attr-defined]
        assert arrived.tolist() == [0.5] and np.issubdtype(arrived.dtype, np.floating)


def test_actions_that_do_not_fail_arrive_to_the_last_bit():
    space = Box(np.full(4, -0.3), np.full(4, 0.3), dtype=np.float64)
    env = FaultInjection(Mirror(np.zeros(1), Box(-1, 1, (1,)), space), "motor(action_1)+delay=1@99")
    env.reset()
    for action in np.random.default_rng(0).uniform(-0.3, 0.3, (20, 4)):
        env.step(action)
        assert env.unwrapped.arrived.tolist() == [action[0], 0, *action[2:]]  # type: ignore[attr-defined]


def test_a_layout_names_sensors():
    env = gymnasium.make("Pendulum-v1")
    wrapped = FaultInjection(env, "sensor(speed)", layout=["angle.cos", "angle.sin", "speed"])
    assert wrapped.reset(seed=0)[0][2] == 0
    with pytest.raises(UserError, match="names 2 numbers, the observation has 3"):
        FaultInjection(env, layout=["a", "b"])


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
