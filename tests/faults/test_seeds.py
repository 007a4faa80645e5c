"""What is random in faults follows from seeds, as everything does in Gymnasium."""

import gymnasium
import numpy as np
import pytest
from tests.faults.environments import SPAWNED, walker

from polygait.faults import FaultInjection, VectorFaultInjection

WORLDS = "nominal, broken(any(*)), mass(any(*))=0.5..2, delay=1..2"


def told(env, episodes=8, seed=None):
    """The worlds of some episodes."""
    first = env.reset(seed=seed)[1]["fault"]
    return [first, *(env.reset()[1]["fault"] for _ in range(episodes - 1))]


def test_every_episode_draws_its_world():
    env = walker(worlds=WORLDS)
    found = [env.reset(seed=seed)[1]["fault"] for seed in range(30)]
    again = [env.reset(seed=seed)[1]["fault"] for seed in range(30)]
    assert found == again and len(set(found)) > 10 and "nominal" in found


def test_without_a_seed_no_two_environments_meet_the_same_faults():
    envs = gymnasium.make_vec(
        "Walker2d-v5",
        4,
        vectorization_mode="sync",
        wrappers=[lambda env: FaultInjection(env, worlds=WORLDS)],
    )
    episodes = np.array(told(envs))
    assert len({tuple(column) for column in episodes.T}) == 4


@pytest.mark.parametrize("seed", [None, 3, np.int64(3), -1])
def test_a_reset_with_a_seed_begins_the_same_faults(seed, unchecked_annotations):
    one, other = walker(worlds=WORLDS, seed=seed), walker(worlds=WORLDS, seed=5)
    one.reset()
    assert told(one, seed=7) == told(other, seed=7) == told(one, seed=7) != told(other, seed=8)


def test_a_given_seed_holds_until_another_is_set():
    first = told(walker(worlds=WORLDS, seed=3))
    assert first == told(walker(worlds=WORLDS, seed=3)) != told(walker(worlds=WORLDS, seed=4))
    assert len(set(first)) > 4


def test_of_worlds_every_row_draws_its_own_in_any_vector():
    text = "nominal, sensor(any(*)):noise=0.1, delay=1..2"
    options = {"worlds": text, "seed": 11}
    kinds = {"sync": {}, "async": SPAWNED}
    vectors = [
        VectorFaultInjection(
            gymnasium.make_vec("Pendulum-v1", 3, vectorization_mode=mode, vector_kwargs=more), **options
        )
        for mode, more in kinds.items()
    ]
    try:
        for seed in (None, 4):
            sync, other = (np.array(told(envs, seed=seed)) for envs in vectors)
            assert np.array_equal(sync, other)
            assert len({tuple(column) for column in sync.T}) == 3
        found, expected = (envs.step(np.ones((3, 1), np.float32)) for envs in vectors)
        assert found[4]["fault"].tolist() == expected[4]["fault"].tolist()
        seen = vectors[0].reset(seed=2)[0], vectors[1].reset(seed=2)[0]
        assert np.array_equal(*seen)
    finally:
        for envs in vectors:
            envs.close()
