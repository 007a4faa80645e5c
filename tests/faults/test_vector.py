"""VectorFaultInjection: every environment breaks by itself, reached one by one or not."""

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete
from gymnasium.vector import SyncVectorEnv
from tests.faults.environments import Counters, Mirror

from polygait.errors import UserError
from polygait.faults import VectorFaultInjection


def test_a_vector_of_environments_breaks_one_by_one():
    texts = ["broken(foot_joint)@1", None, "sensor(state.0):bias=1"]
    make = [lambda: gymnasium.make("Walker2d-v5")] * 3
    envs, bare = VectorFaultInjection(SyncVectorEnv(make), texts), SyncVectorEnv(make)
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
    assert "foot_joint" in envs.anatomy.joints
    envs.close()


def test_of_any_other_vector_sensors_and_motors_fail_in_every_episode():
    motor, bias = "motor(action_0)@2..3", "sensor(state.0):bias=10.0@3"
    envs = VectorFaultInjection(Counters(), [motor, bias])
    assert envs.reset(seed=0)[1]["fault"].tolist() == ["nominal"] * 2
    steps = [envs.step(np.ones((2, 1), np.float32)) for _ in range(10)]
    seen = np.stack([step[0] for step in steps])
    assert seen[:, 0, 1].tolist() == [1, 1, 0, 1, 0, 1, 1, 0, 1, 0]
    assert seen[:, 1, 0].tolist() == [1, 2, 13, 14, 0, 1, 2, 13, 14, 0]
    told = np.array([step[4]["fault"] for step in steps])
    assert told[:, 0].tolist() == ["nominal", "nominal", motor, "nominal", "nominal"] * 2
    assert told[:, 1].tolist() == ["nominal", "nominal", bias, bias, "nominal"] * 2
    with pytest.raises(UserError, match="physics behind Counters"):
        VectorFaultInjection(Counters(), "gravity=2")


def test_a_play_is_as_wide_in_every_vector():
    class Wide(Counters):
        single_action_space = Box(-2, 2, (1,))

    def make():
        return Mirror(np.zeros(1, np.float32), Box(-1, 1, (1,)), Wide.single_action_space)

    wide, sync = Wide(), SyncVectorEnv([make] * 2)
    together = VectorFaultInjection(wide, "backlash(action_0)=0.5")
    one_by_one = VectorFaultInjection(sync, "backlash(action_0)=0.5")
    together.reset()
    one_by_one.reset()
    for action in (0.3, 1.5, 1.2, -2.0):
        seen = together.step(np.full((2, 1), action, np.float32))[0]
        one_by_one.step(np.full((2, 1), action, np.float32))
        arrived = [one.arrived[0] for one in sync.get_attr("unwrapped")]
        assert seen[:, 1].tolist() == arrived


def test_sensors_fail_where_actions_are_buttons():
    envs = gymnasium.make_vec("CartPole-v1", 2, vectorization_mode="vector_entry_point")
    wrapped = VectorFaultInjection(envs, ["sensor(state.0)", None])
    seen, info = wrapped.reset(seed=0)
    assert seen[0, 0] == 0 != seen[1, 0] and info["fault"].tolist() == ["sensor(state.0)", "nominal"]
    assert wrapped.step(np.ones(2, np.int64))[0][0, 0] == 0
    with pytest.raises(UserError, match=r"delay=2.0: CartPole-v1 has the action space Discrete"):
        VectorFaultInjection(envs, "delay=2")


def test_dictionaries_fail_in_parts_in_any_vector():
    space = Dict({"arm": Box(-9, 9, (2,)), "mode": Discrete(3)})

    def make():
        return Mirror({"arm": np.ones(2, np.float32), "mode": 1}, space)

    class Behind(gymnasium.vector.VectorWrapper):
        """Hides that the environments can be reached."""

    for envs in (SyncVectorEnv([make] * 2), Behind(SyncVectorEnv([make] * 2))):
        seen, _ = VectorFaultInjection(envs, [None, "sensor(arm.1):bias=2"]).reset()
        assert seen["arm"].tolist() == [[1, 1], [1, 3]] and seen["mode"].tolist() == [1, 1]


def test_only_rows_that_are_reset_begin_anew():
    class Manual(Counters):
        def __init__(self):
            self.metadata = {"autoreset_mode": gymnasium.vector.AutoresetMode.DISABLED}

        def reset(self, *, seed=None, options=None):
            if not options:
                return super().reset()
            self.count[options["reset_mask"]] = 0
            return np.stack([self.count, np.zeros(2)], axis=1).astype(np.float32), {}

    envs = VectorFaultInjection(Manual(), "sensor(state.0):bias=10@2")
    envs.reset()
    for _ in range(3):
        envs.step(np.ones((2, 1), np.float32))
    seen, info = envs.reset(options={"reset_mask": np.array([False, True])})
    assert seen[:, 0].tolist() == [13, 0]
    assert info["fault"].tolist() == ["sensor(state.0):bias=10.0@2", "nominal"]
