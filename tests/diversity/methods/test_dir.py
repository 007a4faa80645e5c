"""DiR's bonus against the formula written once more, its bound, and what its models learn."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.diversity.rollouts import (
    LAYOUT,
    keys,
    moments_by_hand,
    random_rollout,
    rollout_of,
    surprise_by_hand,
)

from polygait.diversity.inverse_dynamics import Transitions
from polygait.diversity.method import Setting
from polygait.diversity.methods.dir import DirConfig, Regulation
from polygait.errors import UserError
from polygait.learning import padding
from polygait.storage.tensors import pack, unpack
from polygait.tasks.state import StateFilter

pytestmark = pytest.mark.usefixtures("quick_compilation")

FREE = DirConfig(bound="none", hidden=(7,), minibatch_size=8)
BOUNDED = dataclasses.replace(FREE, bound="std-floor", std_floor=0.35)
LEGLESS = StateFilter.remove(LAYOUT, ["leg.*"])
FILTERS = {
    "identity": StateFilter.identity(LAYOUT),
    "legless": LEGLESS,
    "one number": StateFilter.keep(LAYOUT, ["leg.knee"]),
    "nothing": StateFilter.nothing(LAYOUT),
}
SETTING = Setting(action_size=3, num_members=1)


def left_by(count, config=FREE, state_filter=LEGLESS):
    """What `count` earlier members left: models as they are born, with statistics and `own` of their own."""
    method = Regulation(config, state_filter)
    chance = np.random.default_rng(17)
    left = []
    for index in range(count):
        state = method.init(keys(index, seed=9), SETTING, [])
        size = state_filter.size
        model = eqx.tree_at(
            lambda one: (one.center, one.factor, one.network.biases[-1]),
            state.model,
            (
                jnp.asarray(chance.normal(size=size), jnp.float32),
                jnp.asarray(chance.uniform(0.5, 1.5, size), jnp.float32),
                jnp.asarray(chance.normal(scale=0.5, size=6) - [0, 0, 0, 1, 1, 1], jnp.float32),
            ),
        )
        left += method.export(state._replace(model=model, own=np.array(0.5 + index)))
    return left


def filtered(rollout, state_filter=LEGLESS, clipped=False):
    action = np.clip(rollout.action, -1, 1) if clipped else rollout.action
    return state_filter(rollout.observation), state_filter(rollout.next_observation), action


@pytest.mark.parametrize("earlier", [1, 2, 5])
def test_the_free_bonus_is_the_papers(earlier):
    left, rollout = left_by(earlier), random_rollout(0)
    method = Regulation(FREE, LEGLESS)
    found = method.intrinsic_reward(method.init(keys(earlier), SETTING, left), rollout).value
    surprise = [surprise_by_hand(one, filtered(rollout), floor=0.0) for one in left]
    assert np.abs(rollout.action).max() > 1.5  # so that clipping would show
    np.testing.assert_allclose(found, np.sum(surprise, axis=0) / earlier, rtol=2e-4, atol=1e-4)


@pytest.mark.parametrize("earlier", [1, 2, 5])
def test_the_bounded_bonus_clips_floors_and_centres(earlier):
    left, rollout = left_by(earlier), random_rollout(0)
    method = Regulation(BOUNDED, LEGLESS)
    bonus = method.intrinsic_reward(method.init(keys(earlier), SETTING, left), rollout)
    transition = filtered(rollout, clipped=True)
    centred = [surprise_by_hand(one, transition, floor=0.35) - float(one["own"]) for one in left]
    np.testing.assert_allclose(bonus.value, np.sum(centred, axis=0) / earlier, rtol=2e-4, atol=1e-4)
    stds = np.stack([moments_by_hand(one, *transition[:2])[1] for one in left])
    assert 0 < (stds < 0.35).mean() < 1
    assert bonus.statistics["bonus_floored"] == pytest.approx([(stds < 0.35).mean()], abs=1e-6)


@pytest.mark.parametrize("config", [FREE, BOUNDED], ids=["free", "bounded"])
def test_the_divergence_adds_the_members_own_likelihood(config):
    config = dataclasses.replace(config, objective="kl")
    left, rollout = left_by(2), random_rollout(0)
    method = Regulation(config, LEGLESS)
    state = method.init(keys(2), SETTING, left)._replace(own=np.array(0.7))
    bounded = config.bound == "std-floor"
    floor = 0.35 * bounded
    transition = filtered(rollout, clipped=bounded)
    others = [surprise_by_hand(one, transition, floor) - float(one["own"]) * bounded for one in left]
    own = surprise_by_hand(method.export(state)[0], transition, floor) - 0.7 * bounded
    expected = np.mean(others, axis=0) - own
    np.testing.assert_allclose(method.intrinsic_reward(state, rollout).value, expected, rtol=2e-4, atol=1e-4)


@pytest.mark.parametrize("objective", ["cross-entropy", "kl", "features", "classifier"])
@pytest.mark.parametrize("bound", ["none", "std-floor"])
def test_the_first_member_gets_nothing(objective, bound):
    method = Regulation(dataclasses.replace(FREE, objective=objective, bound=bound), LEGLESS)
    rollout = random_rollout(0)
    state = method.init(keys(), SETTING, [])
    np.testing.assert_array_equal(
        method.intrinsic_reward(state, rollout).value, np.zeros(rollout.reward.shape)
    )
    fitted = method.update(state, rollout, keys(), 0).state
    np.testing.assert_array_equal(
        method.intrinsic_reward(fitted, rollout).value, np.zeros(rollout.reward.shape)
    )
    assert method.metrics(fitted, rollout)["novelty"].tolist() == [np.inf]


@pytest.mark.parametrize("earlier", [1, 3, 4, 5])
def test_empty_slots_never_count(earlier):
    left, rollout = left_by(earlier), random_rollout(0)
    method = Regulation(BOUNDED, LEGLESS)
    state = method.init(keys(earlier), SETTING, left)
    slots = len(state.earlier.used)
    empty = ~np.asarray(state.earlier.used)
    assert empty.sum() == slots - earlier

    def poisoned(leaf):
        return jnp.where(empty.reshape(-1, *[1] * (leaf.ndim - 1)), jnp.nan, leaf)

    spoiled = state.earlier._replace(
        models=jax.tree.map(poisoned, state.earlier.models), own=poisoned(state.earlier.own)
    )
    honest, other = (
        method.intrinsic_reward(state._replace(earlier=one), rollout) for one in (state.earlier, spoiled)
    )
    np.testing.assert_array_equal(honest.value, other.value)
    for name, values in honest.statistics.items():
        np.testing.assert_array_equal(values, other.statistics[name])
    judged = [
        method.metrics(state._replace(earlier=one), rollout)["novelty"] for one in (state.earlier, spoiled)
    ]
    np.testing.assert_array_equal(judged[0], judged[1])
    assert np.isfinite(judged[0]).all()


def test_the_bonus_does_not_depend_on_the_model_in_training():
    left, rollout = left_by(2), random_rollout(0)
    method = Regulation(BOUNDED, LEGLESS)
    states = [method.init(keys(2, seed=seed), SETTING, left) for seed in (0, 1)]
    assert not np.array_equal(states[0].model.network.weights[0], states[1].model.network.weights[0])
    first, second = (method.intrinsic_reward(state, rollout).value for state in states)
    np.testing.assert_array_equal(first, second)


def test_the_order_of_members_does_not_matter():
    left, rollout = left_by(3), random_rollout(0)
    method = Regulation(BOUNDED, LEGLESS)
    first, second = (
        method.intrinsic_reward(method.init(keys(3), SETTING, earlier), rollout).value
        for earlier in (left, left[::-1])
    )
    np.testing.assert_allclose(first, second, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("floor", [0.2, 0.4])
def test_the_action_box_bounds_the_bonus(floor):
    """Worst case: the model is as sure as it may be, at the far corner of the box from the action."""
    config = dataclasses.replace(BOUNDED, std_floor=floor, hidden=())
    method = Regulation(config, StateFilter.nothing(LAYOUT))
    rollout = random_rollout(0)
    rollout = rollout._replace(action=np.full_like(rollout.action, -50.0))
    worst = 3 * (2**2 / (2 * floor**2) + np.log(floor) + 0.5 * np.log(2 * np.pi))
    least = 3 * (np.log(floor) + 0.5 * np.log(2 * np.pi))
    state = method.init(keys(), SETTING, [])

    def bonus(mean, log_std):
        bias = jnp.array([mean] * 3 + [log_std] * 3, jnp.float32)
        model = eqx.tree_at(lambda one: one.network.biases[0], state.model, bias)
        [left] = method.export(state._replace(model=model, own=np.array(1.5)))
        return method.intrinsic_reward(method.init(keys(1), SETTING, [left]), rollout).value

    np.testing.assert_allclose(bonus(30.0, -9.0), worst - 1.5, rtol=1e-5)
    np.testing.assert_allclose(bonus(-30.0, -9.0), least - 1.5, rtol=1e-5)
    chance = np.random.default_rng(1)
    for mean, log_std in zip(chance.normal(scale=4, size=20), chance.uniform(-12, 3, 20), strict=True):
        found = bonus(mean, log_std)
        assert found.max() <= (worst - 1.5) * (1 + 1e-5)
        assert found.min() >= least - 1.5 - 1e-5
    free = Regulation(dataclasses.replace(config, bound="none"), method.filter)
    bias = jnp.array([30.0] * 3 + [-9.0] * 3, jnp.float32)
    model = eqx.tree_at(lambda one: one.network.biases[0], state.model, bias)
    [left] = free.export(state._replace(model=model))
    assert free.intrinsic_reward(free.init(keys(1), SETTING, [left]), rollout).value.min() > 1e6


@pytest.mark.parametrize("config", [FREE, BOUNDED], ids=["free", "bounded"])
@pytest.mark.parametrize("name", FILTERS)
def test_any_filter_goes_the_whole_way(name, config):
    method = Regulation(config, FILTERS[name])
    left = []
    for member in range(3):
        state = method.init(keys(member), SETTING, left)
        for iteration in range(2):
            rollout = random_rollout(10 * member + iteration)
            bonus = method.intrinsic_reward(state, rollout)
            assert bonus.value.shape == rollout.reward.shape
            assert np.isfinite(bonus.value).all()
            assert (bonus.value != 0).all() == (member > 0)
            fitted = method.update(state, rollout, keys(member), iteration)
            assert all(np.isfinite(values).all() for values in fitted.statistics.values())
            assert all(values.shape == (1,) for values in (*bonus.statistics.values(),))
            state = fitted.state
        novelty = method.metrics(state, random_rollout(99))["novelty"]
        assert novelty.shape == (1,) and np.isfinite(novelty).all() == (member > 0)
        left += method.export(state)
    assert len(left) == 3


@pytest.mark.parametrize("name", FILTERS)
def test_what_a_member_leaves_gives_the_same_bits_again(name, tmp_path):
    method = Regulation(BOUNDED, FILTERS[name])
    state = method.init(keys(), SETTING, [])
    for iteration in range(3):
        state = method.update(state, random_rollout(iteration), keys(), iteration).state
    left = method.export(state)
    through_a_file = [dict(unpack(pack(one), tmp_path / "member")[0]) for one in left]
    rollout = random_rollout(5)
    first, second = (method.init(keys(1), SETTING, one) for one in (left, through_a_file))
    expected = method.intrinsic_reward(first, rollout)
    found = method.intrinsic_reward(second, rollout)
    np.testing.assert_array_equal(found.value, expected.value)
    by_hand = surprise_by_hand(left[0], filtered(rollout, method.filter, clipped=True), 0.35)
    np.testing.assert_allclose(expected.value, by_hand - float(state.own), rtol=2e-4, atol=1e-4)


def test_models_of_another_filter_are_refused():
    left = left_by(1, state_filter=FILTERS["identity"])
    with pytest.raises(UserError, match=r"network\.weights\.0"):
        Regulation(FREE, LEGLESS).init(keys(1), SETTING, left)


def test_fit_depends_on_key_and_iteration_only():
    method, rollout = Regulation(FREE, LEGLESS), random_rollout(0)
    state = method.init(keys(), SETTING, [])
    weights = [
        np.asarray(method.update(state, rollout, key, iteration).state.model.network.weights[0])
        for key, iteration in ((keys(), 0), (keys(), 0), (keys(), 1), (keys(1), 0))
    ]
    np.testing.assert_array_equal(weights[0], weights[1])
    assert not np.array_equal(weights[0], weights[2])
    assert not np.array_equal(weights[0], weights[3])


def fitted(config, state_filter, make_rollout, iterations=40, setting=SETTING):
    method = Regulation(config, state_filter)
    state = method.init(keys(), setting, [])
    for iteration in range(iterations):
        state = method.update(state, make_rollout(iteration), keys(), iteration).state
    return method, state


@pytest.mark.parametrize("config", [FREE, BOUNDED], ids=["free", "bounded"])
def test_a_model_remembers_its_own_mean_surprise(config):
    """The first rollout's, then a running mean that gives the newest a tenth."""
    method = Regulation(config, LEGLESS)
    state, expected = method.init(keys(), SETTING, []), None
    bounded = config.bound == "std-floor"
    for iteration in range(3):
        rollout = random_rollout(iteration)
        state = method.update(state, rollout, keys(), iteration).state
        [left] = method.export(state)
        now = surprise_by_hand(left, filtered(rollout, clipped=bounded), 0.35 * bounded).mean()
        expected = now if expected is None else 0.9 * expected + 0.1 * now
        assert float(left["own"]) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("normalized", [False, True])
def test_fit_finds_a_known_inverse_dynamics(normalized):
    """a ~ N(tanh(0.8·(s′ − s)), 0.2²): in the model's family, so maximum likelihood must find it."""
    state_filter = StateFilter.keep(LAYOUT, ["torso.pitch"])
    config = DirConfig(
        bound="none",
        hidden=(),
        learning_rate=0.02,
        epochs=8,
        minibatch_size=128,
        normalize_inputs=normalized,
    )

    def experience(seed):
        chance = np.random.default_rng(seed)
        state, next_state = chance.normal(3.0, 1.0, (2, 64, 8, 4))
        slope = 0.8 * (next_state - state)[..., 1:2]
        return rollout_of(state, np.tanh(slope) + 0.2 * chance.normal(size=(64, 8, 1)), next_state)

    _, state = fitted(config, state_filter, experience, setting=Setting(1, 1))
    fresh = experience(1000)
    arrays = [array.reshape(-1, array.shape[-1]) for array in filtered(fresh, state_filter)]
    transitions = Transitions(*map(jnp.asarray, arrays))
    mean, log_std = state.model.mean_and_log_std(transitions)
    truth = np.tanh(0.8 * (arrays[1] - arrays[0]))
    assert float(np.abs(mean - truth).mean()) < 0.03
    np.testing.assert_allclose(np.exp(log_std), 0.2, rtol=0.25)
    entropy = 0.5 * np.log(2 * np.pi * np.e * 0.2**2)
    assert float(state.model.negative_log_likelihood(transitions).mean()) == pytest.approx(entropy, abs=0.05)
    assert float(state.own) == pytest.approx(entropy, abs=0.1)


def test_with_nothing_to_see_fit_finds_the_marginal():
    config = DirConfig(bound="none", hidden=(8,), learning_rate=0.02, epochs=8, minibatch_size=128)

    def experience(seed):
        rollout = random_rollout(seed, time=64, envs=8)
        action = np.random.default_rng(seed).normal([0.3, -0.5, 0.0], [0.2, 0.1, 0.4], (64, 8, 3))
        return rollout._replace(action=action[:, None].astype(np.float32))

    method, state = fitted(config, StateFilter.nothing(LAYOUT), experience)
    [left] = method.export(state)
    mean, std = moments_by_hand(left, np.zeros((1, 0)), np.zeros((1, 0)))
    np.testing.assert_allclose(mean[0], [0.3, -0.5, 0.0], atol=0.04)
    np.testing.assert_allclose(std[0], [0.2, 0.1, 0.4], rtol=0.15)


def test_bounded_models_learn_from_clipped_actions():
    config = DirConfig(hidden=(), learning_rate=0.05, epochs=8, minibatch_size=128)

    def experience(seed):
        rollout = random_rollout(seed, time=64, envs=8)
        return rollout._replace(action=np.full_like(rollout.action, 3.0))

    nothing = StateFilter.nothing(LAYOUT)
    _, state = fitted(config, nothing, experience, iterations=10)
    _, free = fitted(dataclasses.replace(config, bound="none"), nothing, experience, iterations=10)
    spread = [float(one.model.network.biases[0][3:].max()) for one in (state, free)]
    assert spread[0] < -1 < spread[1]  # clipped, the action is always 1; free, 3 is out of tanh's reach


def test_weight_decay_enters_the_gradient():
    """One step of Adam from zero gradient moves every weight against its sign by the learning rate."""
    config = DirConfig(bound="none", hidden=(6,), epochs=1, minibatch_size=8, weight_decay=1e6)
    method = Regulation(config, LEGLESS)
    state = method.init(keys(), SETTING, [])
    after = method.update(state, random_rollout(0, time=2, envs=4), keys(), 0).state
    for old, new in zip(state.model.network.weights, after.model.network.weights, strict=True):
        np.testing.assert_allclose(new - old, -config.learning_rate * np.sign(old), atol=1e-6)


def test_long_gradients_are_shortened_before_the_weights_are_added():
    """Adam forgets the length of one gradient but not of several: only the short ones are left alone."""
    config = DirConfig(bound="none", hidden=(6,), epochs=4, minibatch_size=8)
    rollout = random_rollout(0, time=2, envs=4)

    def after(**changes):
        method = Regulation(dataclasses.replace(config, **changes), LEGLESS)
        state = method.update(method.init(keys(), SETTING, []), rollout, keys(), 0).state
        return np.concatenate([np.ravel(weight) for weight in state.model.network.weights])

    free, decayed = after(), after(weight_decay=1e6)
    np.testing.assert_array_equal(after(max_gradient_norm=1e6), free)
    assert not np.allclose(after(max_gradient_norm=0.01), free, atol=1e-6)
    np.testing.assert_allclose(after(max_gradient_norm=1e-3, weight_decay=1e6), decayed, atol=1e-6)


def behaviour(mean, seed):
    """A member that acts around `mean` whatever it sees."""
    rollout = random_rollout(seed, time=64, envs=8)
    action = mean + 0.4 * np.random.default_rng(seed + 500).normal(size=(64, 8, 3))
    return rollout._replace(action=action[:, None].astype(np.float32))


@pytest.mark.parametrize("bound", ["none", "std-floor"])
def test_novelty_is_zero_for_a_twin_and_grows_with_distance(bound):
    config = DirConfig(bound=bound, hidden=(8,), learning_rate=0.02, epochs=8, minibatch_size=128)
    nothing = StateFilter.nothing(LAYOUT)
    method = Regulation(config, nothing)
    left = []
    novelty, bonus = {}, {}
    for index, mean in enumerate((0.3, -0.3, 0.3)):
        state = method.init(keys(index), SETTING, left)
        for iteration in range(15):
            state = method.update(
                state, behaviour(mean, 100 * index + iteration), keys(index), iteration
            ).state
        novelty[index] = float(method.metrics(state, behaviour(mean, 77))["novelty"][0])
        bonus[index] = float(method.intrinsic_reward(state, behaviour(mean, 77)).value.mean())
        left += method.export(state)
    # KL between Gaussians 0.6 apart with σ = 0.4 is 1.125 nats in each of 3 dimensions; clipping costs some.
    assert novelty[1] == pytest.approx(3 * 1.125, rel=0.25)
    assert abs(novelty[2]) < 0.15  # like member 0, however unlike member 1
    if bound == "std-floor":
        assert bonus[1] == pytest.approx(novelty[1], rel=0.1)
        assert bonus[2] == pytest.approx(novelty[1] / 2, rel=0.25)  # the mean over both


@pytest.mark.parametrize("config", [FREE, BOUNDED], ids=["free", "bounded"])
def test_what_fills_a_rollout_of_changing_size_has_no_part_in_it(config, monkeypatch):
    """The same transitions, known to vary in number or not, and whatever stands where none is."""
    method = Regulation(dataclasses.replace(config, objective="kl"), LEGLESS)
    rollout, earlier = random_rollout(3, time=20), left_by(2, config)

    def all_of(rollout):
        state = method.init(keys(5), SETTING, earlier)
        bonus = method.intrinsic_reward(state, rollout)
        fitted = method.update(state, rollout, keys(5), 0)
        left = method.export(fitted.state)[0]
        numbers = {**bonus.statistics, **fitted.statistics, **method.metrics(fitted.state, rollout)}
        return {"bonus": bonus.value, **left, **numbers}

    plain, varying = all_of(rollout), all_of(rollout._replace(varies=True))
    monkeypatch.setattr(padding, "FILL", np.nan)
    spoiled = all_of(rollout._replace(varies=True))
    assert plain.keys() == varying.keys()
    for name, expected in plain.items():
        np.testing.assert_allclose(varying[name], expected, rtol=1e-4, atol=1e-5, err_msg=name)
        np.testing.assert_array_equal(spoiled[name], varying[name], err_msg=name)
        assert np.isfinite(varying[name]).all()
