"""What cannot break is refused with a remedy that works here, and leaves nothing changed."""

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.classic_control import PendulumEnv
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import SyncVectorEnv
from gymnasium.wrappers import Autoreset, TimeLimit
from tests.faults.environments import (
    SPAWNED,
    ButtonWalker,
    Counters,
    Mirror,
    OwnWalker,
    assert_same_model,
    model_arrays,
    walker,
)

from polygait.errors import UserError
from polygait.faults import FaultInjection, VectorFaultInjection


def refusal(call, *arguments, **options) -> UserError:
    with pytest.raises(UserError) as caught:
        call(*arguments, **options)
    return caught.value


@pytest.mark.parametrize(
    ("name", "text", "hint"),
    [
        ("Pendulum-v1", "gravity=2", "sensor(state.0), motor(action_0)"),
        ("Pendulum-v1", "broken(foot_joint)", "sensor(state.0), motor(action_0)"),
        ("Pendulum-v1", "motor(action_9)", "action_0"),
        ("CartPole-v1", "delay=2", "What can fail here: sensor(state.0)."),
        ("CartPole-v1", "motor(action_0)", "What can fail here: sensor(state.0)."),
        ("CartPole-v1", "broken(action_0):limp", "What can fail here: sensor(state.0)."),
        ("CartPole-v1", "mass(cart)=2", "What can fail here: sensor(state.0)."),
        ("FrozenLake-v1", "sensor(state.0)", "Nothing can fail here."),
        ("Walker2d-v5", "broken(foot_join)", "foot_joint"),
        ("Walker2d-v5", "broken(foot_joint)@5..2", "@300..500"),
    ],
)
def test_what_cannot_break_is_refused_with_a_remedy(name, text, hint):
    env = gymnasium.make(name)
    before = model_arrays(env) if name == "Walker2d-v5" else {}
    assert hint in refusal(FaultInjection, env, text).remedy
    if before:
        assert_same_model(model_arrays(env), before)


def test_buttons_do_not_fail_but_what_they_move_does():
    remedy = refusal(FaultInjection, ButtonWalker(), "motor(foot_joint)").remedy
    assert "sensor(state.0), gravity=0.5" in remedy
    assert FaultInjection(ButtonWalker(), "mass(torso)=2").reset()[1]["fault"] == "mass(torso)=2.0"


def test_parts_are_dealt_to_members_not_to_environments():
    error = refusal(walker, worlds="nominal, broken(each(*))")
    assert "members" in error.problem and "any(" in error.remedy


def test_worlds_are_refused_in_words_for_this_environment():
    error = refusal(FaultInjection, gymnasium.make("Pendulum-v1"), worlds="nominal, broken(any(*))")
    assert "broken(any(*))" in error.problem and "sensor(state.0)" in error.remedy
    assert "Give the one" in refusal(walker, "gravity=2", worlds="nominal").remedy


@pytest.mark.parametrize(
    "options", [{"worlds": 5}, {"seed": "a"}, {"seed": 1.5}, {"seed": True}, {"layout": 3}]
)
def test_options_of_another_kind_are_mistakes_of_the_user(options, unchecked_annotations):
    value = next(iter(options.values()))
    assert repr(value) in refusal(walker, **options).problem
    envs = SyncVectorEnv([lambda: gymnasium.make("Pendulum-v1")] * 2)
    assert repr(value) in refusal(VectorFaultInjection, envs, **options).problem
    assert repr(value) in refusal(VectorFaultInjection, Counters(), **options).problem


def test_a_refusal_leaves_everything_as_it_was():
    envs = SyncVectorEnv([OwnWalker, OwnWalker])
    inner, before = list(envs.envs), model_arrays(envs.envs[0])
    refusal(VectorFaultInjection, envs, ["mass(*)=2", "broken(nonsense)"])
    assert_same_model(model_arrays(inner[0]), before)
    assert list(envs.envs) == inner
    button = ButtonWalker()
    refusal(FaultInjection, button, worlds="mass(torso)=2, delay=1")
    assert_same_model(model_arrays(button), before)


def test_a_variation_that_is_refused_leaves_the_one_before():
    env = walker("mass(torso)=2")
    env.reset(seed=0)
    refusal(env.set_variation, "broken(nonsense)")
    assert env.step(np.zeros(6))[4]["fault"] == str(env.variation) == "mass(torso)=2.0"


def test_one_wrapper_injects_all_faults():
    remedy = refusal(FaultInjection, TimeLimit(walker("mass(torso)=2"), 50), "delay=1").remedy
    assert "joined by +" in remedy
    twice = VectorFaultInjection(Counters(), "delay=1")
    assert "joined by +" in refusal(VectorFaultInjection, twice, "delay=1").remedy
    sync = SyncVectorEnv([lambda: walker("mass(torso)=2")])
    assert "joined by +" in refusal(VectorFaultInjection, sync, "delay=1").remedy


def test_environments_behind_processes_that_tell_of_faults_are_left_to_them():
    class Telling(Counters):
        def reset(self, *, seed=None, options=None):
            return super().reset()[0], {"fault": np.array(["delay=1.0"] * 2)}

    assert "joined by +" in refusal(VectorFaultInjection(Telling(), "delay=1").reset).remedy


def test_episodes_that_begin_unseen_are_refused():
    remedy = refusal(FaultInjection, Autoreset(gymnasium.make("Pendulum-v1")), "delay=1").remedy
    assert "Autoreset(FaultInjection" in remedy
    env = Autoreset(FaultInjection(TimeLimit(PendulumEnv(), 3), "sensor(state.0):bias=9@2..3"))
    env.reset(seed=0)
    spoiled = [bool(env.step(np.zeros(1))[0][0] > 5) for _ in range(8)]
    assert spoiled == [False, True, False, False] * 2


def test_a_random_start_lies_within_the_episode():
    env = FaultInjection(TimeLimit(TimeLimit(PendulumEnv(), 5), 50), "sensor(state.0):bias=9@random")
    onsets = set()
    for seed in range(40):
        steps = [env.reset(seed=seed), *(env.step(np.zeros(1))[::4] for _ in range(4))]
        onsets.add([bool(seen[0] > 5) for seen, _ in steps].index(True))
    assert onsets == {0, 1, 2, 3, 4}


def test_a_random_start_needs_an_episode_that_ends():
    endless = PendulumEnv()
    assert "random(0..999)" in refusal(FaultInjection, endless, "delay=1@random").remedy
    assert "random(0..999)" in refusal(FaultInjection, endless, worlds="nominal, delay=1@random").remedy
    assert "random(0..999)" in refusal(VectorFaultInjection, Counters(), "delay=1@random").remedy
    FaultInjection(endless, "delay=1@random(3..9)").reset(seed=0)


def test_processes_hide_physics_but_not_where_to_wrap():
    envs = gymnasium.make_vec("Walker2d-v5", 2, vectorization_mode="async", vector_kwargs=SPAWNED)
    try:
        for text in ("broken(foot_joint)", "gravity=2"):
            remedy = refusal(VectorFaultInjection, envs, text).remedy
            assert "Wrap each environment where it is made" in remedy and "motor(action_0)" in remedy
    finally:
        envs.close()


def test_nothing_is_refused_that_is_not_concerned():
    shown = Box(-1, 1, (2,))
    blind = FaultInjection(Mirror(np.ones(2, np.float32), shown, Discrete(2)), "sensor(state.0)")
    assert blind.reset()[0].tolist() == [0, 1]
    lame = FaultInjection(Mirror(0, Discrete(4)), "motor(action_0)")
    assert lame.reset()[1]["fault"] == "motor(action_0)"
