"""I(a; z | f(s), f(s′)): what an action tells about who acts, beyond what the filtered states tell.

    I(a; z | f, f′) = H(z | f, f′) − H(z | a, f, f′)

Each entropy is the cross-entropy of a classifier, which guesses the member z, on episodes it has not seen.
Densities of the members' own models would mislead: off their data they are arbitrary, and any estimate
made of them is too large. Both classifiers of a pair have the same size, first weights, samples and
training; what one must not see is zero for it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Float32, Int

from polygait.learning.keys import named_key
from polygait.learning.networks import Mlp
from polygait.learning.shuffling import order_seeds, sample_order
from polygait.progress import Count, silent
from polygait.tasks.state import StateFilter

PARTS = ("training", "training", "training", "validation", "held_out", "held_out")
"""What a member's episodes are for, one after another, and again from the first."""
HIDDEN = (128, 128)
"""Widths of a classifier's hidden layers."""
EPOCHS = 20
"""How many times each transition is used; the step size falls to zero over them."""
LEARNING_RATE = 3e-3
WEIGHT_DECAY = 1e-2
"""Decoupled, against learning episodes by heart."""
MINIBATCH_SIZE = 256
_CONSTANT = 1e-12
"""A variance below this is rounding; changes between neighbouring states may be small and still tell."""


class MemberTransitions(NamedTuple):
    """What members did, one row per step."""

    state: Float[np.ndarray, "sample state"]
    next_state: Float[np.ndarray, "sample state"]
    action: Float[np.ndarray, "sample action"]
    member: Int[np.ndarray, " sample"]
    episode: Int[np.ndarray, " sample"]
    """Counted from 0 for each member."""


class Split(NamedTuple):
    """Transitions of different episodes for different uses, in each equally many of every member."""

    training: MemberTransitions
    validation: MemberTransitions
    """Chooses the epoch at which a classifier is best."""
    held_out: MemberTransitions


class Information(NamedTuple):
    """An estimate in nats: at most H(z | f, f′) and ln(members), and at times a little below 0."""

    value: float
    """I(a; z | f, f′)."""
    standard_error: float
    """Over held-out episodes; it does not know how well the classifiers were fitted."""
    entropy_without: float
    """H(z | f, f′): what is still to be known of the member when both filtered states are."""
    entropy_with: float
    """H(z | a, f, f′): the same when the action is known too."""


def split_by_episode(transitions: MemberTransitions, seed: int = 0) -> Split:
    """Share out whole episodes, and thin out members that have more than others.

    Neighbouring steps are alike: a classifier that saw one of them has seen the other.
    """
    chance = np.random.default_rng(seed)
    use = np.array(PARTS)[transitions.episode % len(PARTS)]
    members = np.unique(transitions.member)

    def part(name: str) -> MemberTransitions:
        rows = [np.flatnonzero((use == name) & (transitions.member == index)) for index in members]
        fewest = min(map(len, rows))
        chosen = np.concatenate([np.sort(chance.choice(own, fewest, replace=False)) for own in rows])
        return MemberTransitions(*(array[chosen] for array in transitions))

    return Split(*map(part, Split._fields))


def estimate_information(
    split: Split,
    filters: Mapping[str, StateFilter],
    seed: int = 0,
    report: Count = silent,
) -> dict[str, Information]:
    """The information under each filter, estimated from the same transitions."""
    parts = _Inputs.of(split)
    state_size = split.training.state.shape[1]
    views = {
        name: [_view(state_filter, state_size, parts.width - 2 * state_size, sees) for sees in (False, True)]
        for name, state_filter in filters.items()
    }
    distinct = list(dict.fromkeys(view for pair in views.values() for view in pair))
    log_probability: dict[tuple[bool, ...], np.ndarray] = {}
    for number, view in enumerate(distinct):
        report(number, len(distinct))
        log_probability[view] = _held_out_log_probability(parts, view, seed)
    report(len(distinct), len(distinct))
    return {
        name: _information(split.held_out, *(log_probability[view] for view in pair))
        for name, pair in views.items()
    }


class _Examples(NamedTuple):
    """What a classifier sees, and whom it shall name."""

    inputs: Float[Array, "sample input"]
    member: Int[Array, " sample"]


class _Inputs(NamedTuple):
    """What classifiers read: (s, s′ − s, a), each number with mean 0 and variance 1 over the training part.

    s and s′ − s say as much as s and s′, but let a network see small changes.
    """

    training: Float32[np.ndarray, "training input"]
    validation: Float32[np.ndarray, "validation input"]
    held_out: Float32[np.ndarray, "held_out input"]
    labels: Split
    num_members: int

    @property
    def width(self) -> int:
        return self.training.shape[1]

    @classmethod
    def of(cls, split: Split) -> _Inputs:
        raw = [
            np.concatenate([one.state, one.next_state - one.state, one.action], axis=1).astype(np.float32)
            for one in split
        ]
        center, variance = raw[0].mean(axis=0, dtype=np.float64), raw[0].var(axis=0, dtype=np.float64)
        factor = np.where(variance < _CONSTANT, 0.0, 1 / np.sqrt(np.maximum(variance, _CONSTANT)))
        arrays = [(one - center.astype(np.float32)) * factor.astype(np.float32) for one in raw]
        return cls(*arrays, labels=split, num_members=int(split.training.member.max()) + 1)


def _view(
    state_filter: StateFilter, state_size: int, action_size: int, sees_action: bool
) -> tuple[bool, ...]:
    """Which inputs a classifier may read."""
    kept = [index in state_filter.kept for index in range(state_size)]
    return (*kept, *kept, *[sees_action] * action_size)


def _held_out_log_probability(
    parts: _Inputs, view: tuple[bool, ...], seed: int
) -> Float[np.ndarray, " sample"]:
    """The log-probability of the true member, by a classifier fitted to the training part."""
    if not any(view):  # it can only know that all members are equally frequent
        return np.full(len(parts.held_out), -math.log(parts.num_members))
    seen = np.array(view, dtype=np.float32)
    training, validation, held_out = (
        _Examples(jnp.asarray(inputs * seen), jnp.asarray(labels.member, jnp.int32))
        for inputs, labels in zip(parts[:3], parts.labels, strict=True)
    )
    key = named_key(jax.random.key(seed), "classifier")
    network = Mlp(key, (parts.width, *HIDDEN, parts.num_members), "relu")
    minibatch_size = min(MINIBATCH_SIZE, len(parts.training))
    order_seed = order_seeds(key[None], "order", 0)[0]
    order = sample_order(order_seed, len(parts.training), EPOCHS, minibatch_size)
    steps = len(order) // EPOCHS
    order = order[: steps * EPOCHS].reshape(EPOCHS, steps, minibatch_size)
    fitted = _fit(_undecided(network), training, validation, order)
    return np.asarray(_log_probability(fitted, held_out), dtype=np.float64)


def _undecided(network: Mlp) -> Mlp:
    """A classifier that begins with equal odds for all."""
    return eqx.tree_at(
        lambda classifier: classifier.weights[-1], network, jnp.zeros_like(network.weights[-1])
    )


@jax.jit
def _fit(
    network: Mlp,
    training: _Examples,
    validation: _Examples,
    order: Int[Array, "epoch step minibatch"],
) -> Mlp:
    """Maximum likelihood; of all epochs, and of the first weights, those that validate best."""
    descend = optax.adamw(
        optax.linear_schedule(LEARNING_RATE, 0.0, order.shape[0] * order.shape[1]),
        weight_decay=WEIGHT_DECAY,
    )

    def loss(network: Mlp, examples: _Examples) -> Float[Array, ""]:
        return -_log_probability(network, examples).mean()

    def step(carry: tuple, ids: Int[Array, " minibatch"]) -> tuple[tuple, None]:
        network, state = carry
        gradient = jax.grad(loss)(network, _Examples(*(array[ids] for array in training)))
        change, state = descend.update(gradient, state, network)
        return (eqx.apply_updates(network, change), state), None

    def epoch(carry: tuple, ids: Int[Array, "step minibatch"]) -> tuple[tuple, None]:
        network, state, best, lowest = carry
        (network, state), _ = jax.lax.scan(step, (network, state), ids)
        now = loss(network, validation)
        best = jax.tree.map(lambda old, new: jnp.where(now < lowest, new, old), best, network)
        return (network, state, best, jnp.minimum(now, lowest)), None

    parameters: Any = network
    start = (network, descend.init(parameters), network, loss(network, validation))
    (_, _, best, _), _ = jax.lax.scan(epoch, start, order)
    return best


@jax.jit
def _log_probability(network: Mlp, examples: _Examples) -> Float[Array, " sample"]:
    """That of the true member: log q(z | inputs)."""
    odds = jax.nn.log_softmax(network(examples.inputs))
    return jnp.take_along_axis(odds, examples.member[:, None], axis=1)[:, 0]


def _information(
    held_out: MemberTransitions,
    without: Float[np.ndarray, " sample"],
    with_action: Float[np.ndarray, " sample"],
) -> Information:
    """The mean gain in log-probability, and its standard error with episodes as the units drawn.

    For a member with N transitions, mean g and episodes e with n_e transitions and gain G_e in all:
    Var = E/(E − 1) · Σ_e (G_e − n_e·g)² / N². Every member has the same weight.
    """
    gain = with_action - without
    variances = []
    for member in np.unique(held_out.member):
        own = held_out.member == member
        _, episode = np.unique(held_out.episode[own], return_inverse=True)
        surplus = np.bincount(episode, gain[own] - gain[own].mean())
        count = len(surplus)
        variances.append(
            np.square(surplus).sum() / own.sum() ** 2 * count / (count - 1) if count > 1 else np.nan
        )
    return Information(
        value=float(gain.mean()),
        standard_error=math.sqrt(np.sum(variances)) / len(variances),
        entropy_without=float(-without.mean()),
        entropy_with=float(-with_action.mean()),
    )
