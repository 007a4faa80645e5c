"""Two classifiers guess who acts, one with the action and one without: I(a; z | f(s), f(s′)) as a reward.

Member k is paid for what its action tells about it beyond what the filtered states tell already,

    log q(z = k | a, f(s), f(s′)) − log q(z = k | f(s), f(s′))        cut to ±ln K, with K = k + 1

where z is one of the K members so far. ln K is what a classifier that is sure gains on one that cannot but
guess. Both learn while member k does, from its newest rollout and from transitions that earlier members kept,
equally many of every member in every minibatch. As in information.py they have the same size, first weights,
samples and training, and what one must not see is zero for it: chance has little part in their difference.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Float32, Float64, Int, Int32, Key, UInt32

from polygait.diversity.inverse_dynamics import ModelConfig, model_optimizer
from polygait.diversity.method import Statistics, Tensors
from polygait.learning.keys import named_key
from polygait.learning.networks import Mlp
from polygait.learning.normalizer import Moments, initial_moments, merge_moments, normalize
from polygait.learning.padding import Order, over_minibatches, padded, padded_order, room_for
from polygait.learning.shuffling import order_seeds, sample_order

SAMPLES = "samples."
"""Before the names of the arrays that a member leaves."""
KEPT = 4096
"""Transitions that a member leaves, at most."""
_PER_ROLLOUT = KEPT // 4
"""At most so many are kept of one rollout, drawn evenly, so that what is left comes from several policies."""


class Samples(NamedTuple):
    """Transitions as the classifiers know them; actions are clipped, as the robot receives them."""

    state: Float32[np.ndarray, "sample kept"]
    next_state: Float32[np.ndarray, "sample kept"]
    action: Float32[np.ndarray, "sample action"]


class Classifier(NamedTuple):
    """q(z | ·) over all members so far, the one in training last."""

    network: Mlp
    optimizer: optax.OptState


class Classification(NamedTuple):
    """The two classifiers, and what they learn from."""

    with_action: Classifier
    without_action: Classifier
    moments: Moments
    """Of the inputs over the earlier members' samples; they stay as they are while a member trains."""
    earlier: Float32[np.ndarray, "row input"]
    """The inputs that those samples give, member after member."""
    counts: Int[np.ndarray, " earlier"]
    """How many of them each member left."""
    newest: Samples
    """Of the member in training, newest last, with room for KEPT."""
    num_newest: Int[np.ndarray, ""]


class Turn(NamedTuple):
    """Where a training stands, which decides what is drawn."""

    keys: Key[Array, " member"]
    iteration: int
    varies: bool
    """As in a Rollout."""


class Recognition(NamedTuple):
    """How well member k is known by its transitions."""

    bonus: Float64[np.ndarray, " sample"]
    statistics: Statistics
    """The mean of q(z = k | a, f(s), f(s′)), called classified, and of q(z = k | f(s), f(s′))."""


def initial_classification(
    keys: Key[Array, " member"], sizes: tuple[int, int], earlier: Sequence[Tensors], config: ModelConfig
) -> Classification:
    """Fresh classifiers for `sizes` = (kept size, action size) and one member more than have left samples.

    They begin with opinions, like other networks here. A bonus that grew from 0 would outrun the running
    spread by which it is measured (strength.py).
    """
    kept_size, action_size = sizes
    num_inputs = 2 * kept_size + action_size
    left = [Samples(*(np.asarray(one[f"{SAMPLES}{name}"]) for name in Samples._fields)) for one in earlier]
    counts = np.array([len(samples.action) for samples in left], np.int64)
    inputs = np.concatenate([np.zeros((0, num_inputs), np.float32), *map(_inputs, left)])
    moments = initial_moments(1, num_inputs)
    if left:
        moments = merge_moments(moments, inputs[None, None])
    network: Any = Mlp(named_key(keys[0], "classifiers"), (num_inputs, *config.hidden, len(left) + 1), "relu")
    classifier = Classifier(network, model_optimizer(config).init(network))
    return Classification(
        with_action=classifier,
        without_action=classifier,
        moments=moments,
        earlier=normalize(moments, inputs[None])[0],
        counts=counts,
        newest=Samples(*(np.zeros((KEPT, size), np.float32) for size in (kept_size, kept_size, action_size))),
        num_newest=np.array(0),
    )


def recognition(classification: Classification, samples: Samples, varies: bool) -> Recognition:
    """What every transition of the member in training is paid; `varies` as in a Rollout."""
    count = len(samples.action)
    inputs = _normalized(classification, samples)
    if varies:
        inputs = padded(inputs, room_for(count))
    networks = (classification.with_action.network, classification.without_action.network)
    found = _own_log_probability(networks, jnp.asarray(inputs), _views(classification))
    informed, guessing = np.asarray(found, np.float64)[:, :count]
    limit = math.log(len(classification.counts) + 1)
    probability = {"classified": informed, "classified_without": guessing}
    return Recognition(
        bonus=np.clip(informed - guessing, -limit, limit),
        statistics={name: np.exp(values).mean(keepdims=True) for name, values in probability.items()},
    )


def updated_classification(
    classification: Classification, samples: Samples, turn: Turn, config: ModelConfig
) -> Classification:
    """After a rollout: better classifiers, where there is anybody to be told from, and newer samples."""
    if len(classification.counts):
        classification = _fitted(classification, samples, turn, config)
    return _with_newest(classification, samples, turn)


def exported_samples(classification: Classification) -> dict[str, np.ndarray]:
    """What a finished member leaves to those after it."""
    first = KEPT - int(classification.num_newest)
    return {f"{SAMPLES}{name}": array[first:] for name, array in classification.newest._asdict().items()}


def _fitted(
    classification: Classification, samples: Samples, turn: Turn, config: ModelConfig
) -> Classification:
    """After as many gradient steps as the inverse-dynamics model makes with this rollout."""
    own = _normalized(classification, samples)
    seed = order_seeds(turn.keys, "classifiers", turn.iteration)[0]
    order = _balanced_order(seed, [*classification.counts.tolist(), len(own)], config)
    steps: Order = jnp.asarray(order)
    if turn.varies:
        own = padded(own, room_for(len(own)))
        steps = padded_order(order, math.ceil(config.epochs * len(own) / config.minibatch_size))
    with_action, without_action = _fit(
        (classification.with_action, classification.without_action),
        jnp.asarray(np.concatenate([classification.earlier, own])),
        _views(classification),
        steps,
        config,
    )
    return classification._replace(with_action=with_action, without_action=without_action)


def _with_newest(classification: Classification, samples: Samples, turn: Turn) -> Classification:
    """The same, some transitions of a new rollout in the place of the oldest."""
    count = len(samples.action)
    seed = order_seeds(turn.keys, "kept samples", turn.iteration)[0]
    chosen = np.sort(sample_order(seed, count, 1, min(count, _PER_ROLLOUT))[0])
    newest = Samples(
        *(
            np.concatenate([old, new[chosen]])[-KEPT:]
            for old, new in zip(classification.newest, samples, strict=True)
        )
    )
    num_newest = np.minimum(classification.num_newest + len(chosen), KEPT)
    return classification._replace(newest=newest, num_newest=num_newest)


def _inputs(samples: Samples) -> Float32[np.ndarray, "sample input"]:
    """(f(s), f(s′) − f(s), a), which says as much as both states, but lets a network see small changes."""
    change = samples.next_state - samples.state
    return np.concatenate([samples.state, change, samples.action], axis=1)


def _normalized(classification: Classification, samples: Samples) -> Float32[np.ndarray, "sample input"]:
    return normalize(classification.moments, _inputs(samples)[None])[0]


def _views(classification: Classification) -> Float32[Array, "classifier input"]:
    """1 where a classifier sees an input, else 0."""
    views = np.ones((2, classification.earlier.shape[1]), np.float32)
    views[1, 2 * classification.newest.state.shape[1] :] = 0.0
    return jnp.asarray(views)


def _balanced_order(
    seed: UInt32[np.ndarray, " word"], counts: Sequence[int], config: ModelConfig
) -> Int32[np.ndarray, "step minibatch"]:
    """Which rows each step reads: equally many of every member, those of the first member first.

    A minibatch is shared by all of them, so that a step costs the same however many there are.
    """
    num_steps = max(1, config.epochs * counts[-1] // config.minibatch_size)
    share = max(1, config.minibatch_size // len(counts))
    blocks, first = [], 0
    for member, count in enumerate(counts):
        epochs = math.ceil(num_steps * share / count)
        order = sample_order(np.append(seed, np.uint32(member)), count, epochs, share)
        blocks.append(first + order[:num_steps])
        first += count
    return np.concatenate(blocks, axis=1).astype(np.int32)


@jax.jit
def _own_log_probability(
    networks: tuple[Mlp, Mlp], inputs: Float[Array, "sample input"], views: Float[Array, "classifier input"]
) -> Float[Array, "classifier sample"]:
    """What both think of z = k, the last of all: log q(z = k | ·)."""
    odds = [jax.nn.log_softmax(network(inputs * view)) for network, view in zip(networks, views, strict=True)]
    return jnp.stack([one[:, -1] for one in odds])


@functools.partial(jax.jit, static_argnames="config")
def _fit(
    classifiers: tuple[Classifier, Classifier],
    inputs: Float[Array, "row input"],
    views: Float[Array, "classifier input"],
    order: Order,
    config: ModelConfig,
) -> tuple[Classifier, Classifier]:
    """Maximum likelihood of the member, for both from the same minibatches."""
    descend = model_optimizer(config)

    def loss(network: Mlp, minibatch: Float[Array, "minibatch input"]) -> Float[Array, ""]:
        odds = network(minibatch)
        labels = jnp.repeat(jnp.arange(odds.shape[1]), len(minibatch) // odds.shape[1])
        return optax.softmax_cross_entropy_with_integer_labels(odds, labels).mean()

    def improved(classifier: Classifier, minibatch: Float[Array, "minibatch input"]) -> Classifier:
        network: Any = classifier.network
        gradient = jax.grad(loss)(network, minibatch)
        change, optimizer = descend.update(gradient, classifier.optimizer, network)
        return Classifier(eqx.apply_updates(network, change), optimizer)

    def step(both: tuple, ids: Int[Array, " minibatch"]) -> tuple[tuple, tuple]:
        minibatch = inputs[ids]
        return tuple(improved(one, minibatch * view) for one, view in zip(both, views, strict=True)), ()

    both, _ = over_minibatches(step, classifiers, order)
    return both
