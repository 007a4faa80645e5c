"""Copies of a wrapped environment go on in the same world, each in a model of its own."""

import copy
import pickle

import gymnasium
import numpy as np
import pytest
from tests.faults.environments import Counters, OwnWalker, assert_same_model, model_arrays

from polygait.faults import FaultInjection, VectorFaultInjection

WAYS = [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))]
FAULTS = [
    "broken(leg_joint):hold@2..9+mass(*)=2@3..6",
    "push=70N@3..8+gravity=1.5@5",
    "delay=2@1..9+backlash(*)=0.3+sensor(*):noise=0.1",
    "sensor(state.0):freeze@2..7+motor(*):drop=0.5@3..8",
    "strength(*):fade=0.05+offset(leg_joint)=0.1@every(3)..+2",
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("text", FAULTS)
def test_a_copy_goes_on_to_the_last_bit(text, way):
    chance = np.random.default_rng(0)
    for moment in (0, 3, 5, 8):
        env = FaultInjection(OwnWalker(), text, seed=1)
        env.reset(seed=2)
        for _ in range(moment):
            env.step(chance.uniform(-1, 1, 6))
        other = way(env)
        for _ in range(8):
            action = chance.uniform(-1, 1, 6)
            found, expected = other.step(action), env.step(action)
            assert np.array_equal(found[0], expected[0]) and found[1:] == expected[1:]
        assert_same_model(model_arrays(other), model_arrays(env))
        other.close()
        assert_same_model(model_arrays(other), model_arrays(OwnWalker()))


@pytest.mark.parametrize("way", WAYS)
def test_a_copy_that_gymnasium_makes_anew_is_broken_too(way):
    env = FaultInjection(gymnasium.make("HalfCheetah-v5"), "mass(torso)=2@3..6")
    nominal = env.unwrapped.model.body_mass[1]  # type: ignore[attr-defined]
    env.reset(seed=0)
    for _ in range(4):
        env.step(np.zeros(6))
    other, masses = way(env), []
    for _ in range(4):
        told = other.step(np.zeros(6))[4]["fault"]
        masses.append((told, other.unwrapped.model.body_mass[1] / nominal))
    acting = ("mass(torso)=2.0@3..6", 2)
    assert masses == [acting, acting, ("nominal", 1), ("nominal", 1)]
    assert env.unwrapped.model.body_mass[1] == 2 * nominal  # type: ignore[attr-defined]


@pytest.mark.parametrize("way", WAYS)
def test_copies_of_vectors_go_on(way):
    for envs in (
        VectorFaultInjection(Counters(), "sensor(*):noise=1+delay=1", seed=0),
        VectorFaultInjection(gymnasium.vector.SyncVectorEnv([OwnWalker] * 2), "mass(*)=2@2..5", seed=0),
    ):
        envs.reset(seed=0)
        actions = np.ones((2, *(envs.single_action_space.shape or ())))
        for _ in range(3):
            envs.step(actions)
        other = way(envs)
        for _ in range(4):
            assert np.array_equal(other.step(actions)[0], envs.step(actions)[0])
