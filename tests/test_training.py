"""The main loop: no option is ignored, the bonus reaches the learner, the right weights are kept."""

import dataclasses
import functools
import math
from typing import Any

import jax
import numpy as np
import pytest

import polygait as pg
from polygait import cohort, keeping, learning, training
from polygait.config import TrainConfig
from polygait.diversity.methods.dir import Regulation
from polygait.diversity.registry import METHODS
from polygait.learning.learner import PolicyState
from polygait.learning.learners import ppo
from polygait.learning.stacking import stacked
from polygait.population.store import RunFolder
from polygait.storage.trees import flatten_tree
from tests import tiny
from tests.tiny import digests

pytestmark = pytest.mark.usefixtures("quick_compilation")


@pytest.fixture(scope="module")
def usual(tmp_path_factory):
    """The run that every option is compared with."""
    out = tmp_path_factory.mktemp("usual") / "run"
    tiny.train(out, iterations=2)
    return digests(out)


# Rule 7: no option is accepted and ignored.

DIR_CHANGES = {
    "objective": "kl",
    "enough": "1e-9",
    "regulate": "0.5",
    "bound": "none",
    "std_floor": "0.8",
    "hidden": "4",
    "learning_rate": "1e-2",
    "weight_decay": "0.5",
    "max_gradient_norm": "1e-9",
    "epochs": "2",
    "minibatch_size": "16",
    "normalize_inputs": "false",
}
SMERL_CHANGES = {
    "target_return": "1e6",
    "tolerance": "1",
    "floor": "0.5",
    "hidden": "4",
    "learning_rate": "1e-2",
    "epochs": "2",
    "minibatch_size": "16",
    "normalize_inputs": "false",
}
DVD_CHANGES = {"form": "exponential", "length_scale": "0.5", "ridge": "0.3"}
NEEDED = {
    "smerl.tolerance": "smerl.target_return=1e6",
    "dvd.ridge": "dvd.form=determinant",
    "dir.enough": "dir.objective=features",
    "dir.regulate": "dir.objective=features",
}
"""Where an option acts only beside another: a gate that is shut, a determinant, a distance."""
TRAIN_CHANGES: dict[str, Any] = {
    "method": "multi",
    "members": 3,
    "steps": 65 * 2,
    "seed": 1,
    "preset": "paper",
    "learner": "sac",
    "remove": ("torso.*",),
    "alpha": 0.7,
    "diversity": 0.3,
    "envs": 16,
    "overrides": (*tiny.config().overrides, "ppo.epochs=3"),
    "worlds": "delay=1",
}
EXEMPT = {
    "task": "it is another robot altogether",
    "threads": "it must not change any bit, see test_runs.py",
    "layout": "it names what Gymnasium's environments show, see tasks/test_gym_layout.py",
    "curriculum": "it acts beside worlds only, see test_training_worlds.py",
    "specialists": "they come after the other members, see test_specialists.py",
    "against": "it acts beside specialists only, see there",
    "specialist_steps": "it acts beside specialists only, see there",
}


def test_every_option_is_tried_or_exempt():
    tried = {"dir": DIR_CHANGES, "smerl": SMERL_CHANGES, "dvd": DVD_CHANGES}
    for method in METHODS.all():
        fields = {field.name for field in dataclasses.fields(method.Config)}
        assert set(tried.get(method.name, {})) == fields
    assert {*TRAIN_CHANGES, *EXEMPT} == {field.name for field in dataclasses.fields(TrainConfig)}


@pytest.mark.slow
@pytest.mark.parametrize("name", DIR_CHANGES)
def test_every_option_of_dir_changes_the_second_member(name, usual, tmp_path):
    path = f"dir.{name}"
    if path in NEEDED:
        tiny.train(tmp_path / "usual", NEEDED[path], iterations=2)
        usual = digests(tmp_path / "usual")
    needed = (NEEDED[path],) if path in NEEDED else ()
    tiny.train(tmp_path / "run", *needed, f"{path}={DIR_CHANGES[name]}", iterations=2)
    assert digests(tmp_path / "run")["001.safetensors"] != usual["001.safetensors"]


COMPARED = {f"smerl.{name}": value for name, value in SMERL_CHANGES.items()}
COMPARED |= {f"dvd.{name}": value for name, value in DVD_CHANGES.items()}
COMPARED |= {"smerl.alpha": 0.7, "dvd.alpha": 0.7}


@pytest.fixture(scope="module")
def together(tmp_path_factory):
    """The digests of a run of SMERL or DvD, trained once for all that compare with it."""

    @functools.cache
    def trained(method: str, *needed: str) -> dict[str, str]:
        out = tmp_path_factory.mktemp(method) / "run"
        tiny.train(out, *needed, method=method)
        return digests(out)

    return trained


@pytest.mark.slow
@pytest.mark.parametrize("path", COMPARED)
def test_every_option_of_smerl_and_dvd_changes_every_member(path, together, tmp_path):
    method, _, name = path.partition(".")
    needed = (NEEDED[path],) if path in NEEDED else ()
    options: dict[str, Any] = {"method": method}
    if name == "alpha":
        tiny.train(tmp_path / "run", **options, alpha=COMPARED[path])
    else:
        tiny.train(tmp_path / "run", *needed, f"{path}={COMPARED[path]}", **options)
    usual, changed = together(method, *needed), digests(tmp_path / "run")
    assert all(usual[member] != changed[member] for member in usual)


@pytest.mark.slow
@pytest.mark.parametrize("name", TRAIN_CHANGES)
def test_every_option_of_a_run_changes_its_members(name, usual, tmp_path):
    changed = {name: TRAIN_CHANGES[name]}
    if name == "diversity":  # in the place of alpha
        changed["alpha"] = None
    if name in ("method", "learner"):  # which have settings of their own
        wanted = tiny.config(iterations=2, **changed)
    else:
        wanted = dataclasses.replace(tiny.config(iterations=2), **changed)
    pg.train(wanted, tmp_path / "run")
    assert digests(tmp_path / "run") != usual


@pytest.mark.slow
@pytest.mark.parametrize("name", ["objective", "bound", "std_floor", "alpha", "members"])
def test_what_concerns_the_bonus_leaves_the_first_policy_alone(name, tmp_path):
    first = tiny.train(tmp_path / "usual", iterations=2).members[0]
    if name in DIR_CHANGES:
        other = tiny.train(tmp_path / "run", f"dir.{name}={DIR_CHANGES[name]}", iterations=2).members[0]
    else:
        other = tiny.train(tmp_path / "run", iterations=2, **{name: TRAIN_CHANGES[name]}).members[0]
    jax.tree.map(np.testing.assert_array_equal, other.policy, first.policy)


def test_the_same_wish_gives_the_same_bits(usual, tmp_path):
    tiny.train(tmp_path / "run", iterations=2)
    assert digests(tmp_path / "run") == usual


def test_the_filter_a_user_asks_for_is_the_one_used(tmp_path):
    whole = tiny.train(tmp_path / "whole", iterations=1, remove=())
    nothing = tiny.train(tmp_path / "nothing", iterations=1, remove=("*",))
    assert (whole.filter.size, nothing.filter.size) == (11, 0)
    assert nothing.filter.removed_names == whole.filter.kept_names == whole.layout.names


# The loop.


class Seen:
    """What passed through the loop, turn by turn."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.rollouts: list[learning.Rollout] = []
        self.rewards: list[np.ndarray] = []
        self.judged: list[tuple[Any, np.ndarray]] = []
        self._acting: dict[str, np.ndarray] = {}
        self._collect, self._prepare = training.collect, ppo.prepare_batch
        self._run_episodes = keeping.run_episodes
        monkeypatch.setattr(training, "collect", self.collect)
        monkeypatch.setattr(ppo, "prepare_batch", self.prepare_batch)
        monkeypatch.setattr(keeping, "run_episodes", self.run_episodes)
        monkeypatch.setattr(ppo.PPO, "actor", self.actor(ppo.PPO.actor))

    def collect(self, *arguments: Any) -> learning.Rollout:
        self.rollouts.append(self._collect(*arguments))
        return self.rollouts[-1]

    def prepare_batch(self, rollout: learning.Rollout, reward: np.ndarray, *others: Any) -> Any:
        self.rewards.append(reward - rollout.reward)
        return self._prepare(rollout, reward, *others)

    def actor(self, original: Any) -> Any:
        """Remember who was made ready to act last."""

        def actor(learner: ppo.PPO, policies: PolicyState, *arguments: Any) -> Any:
            self._acting = flatten_tree(policies.policy)
            return original(learner, policies, *arguments)

        return actor

    def run_episodes(self, *arguments: Any) -> Any:
        outcome = self._run_episodes(*arguments)
        self.judged.append((self._acting, outcome.total_reward))
        return outcome


def test_the_bonus_is_added_to_the_reward_from_the_second_member_on(tmp_path, monkeypatch):
    seen = Seen(monkeypatch)
    tiny.train(tmp_path / "run", iterations=2)
    log = RunFolder.open(tmp_path / "run").metrics()
    assert [record["members"] for record in log] == [[0, 1], [0, 1], [1, 2], [1, 2]]
    assert [record["iteration"] for record in log] == [0, 1, 0, 1]
    assert [record["steps"] for record in log] == [64, 128, 64, 128]
    for bonus in seen.rewards[:2]:
        assert (bonus == 0).all()
    for bonus, record in zip(seen.rewards[2:], log[2:], strict=True):
        assert (bonus != 0).all()
        assert 0.5 * record["bonus_mean"][0] == pytest.approx(bonus.mean(), rel=1e-6)
        assert {"model_loss", "model_own", "bonus_p99", "bonus_floored", "policy_loss"} <= set(record)


@pytest.mark.parametrize("method", ["smerl", "dvd"])
def test_members_that_train_together_are_rewarded_for_differing(method, tmp_path, monkeypatch):
    seen = Seen(monkeypatch)
    tiny.train(tmp_path / "run", iterations=3, method=method, members=3)
    log = RunFolder.open(tmp_path / "run").metrics()
    assert [record["members"] for record in log] == [[0, 3]] * 3
    assert len(seen.rewards) == len(log) == 3
    for bonus, record in zip(seen.rewards, log, strict=True):
        gate = np.array(record.get("gate", [1.0, 1.0, 1.0]))
        np.testing.assert_allclose(bonus.mean(axis=(0, 2)), 0.5 * gate * record["bonus_mean"], rtol=1e-6)
        assert ((bonus != 0).any(axis=(0, 2)) == (gate > 0)).all()
    assert (seen.rewards[-1] != 0).all()
    if method == "smerl":
        assert len(log[0]["discriminator_loss"]) == 3
    assert len(pg.load(tmp_path / "run")) == 3


def test_the_log_tells_the_mean_return_of_recent_episodes(tmp_path, monkeypatch):
    seen = Seen(monkeypatch)
    tiny.train(tmp_path / "run", iterations=4, method="multi", members=2)
    log = RunFolder.open(tmp_path / "run").metrics()
    returns: list[list[float]] = [[], []]
    for record, rollout in zip(log, seen.rollouts, strict=False):
        for member, total in zip(rollout.episodes.member, rollout.episodes.total_reward, strict=True):
            returns[member].append(total)
        expected = np.array([np.mean(one[-100:]) if one else np.nan for one in returns])
        np.testing.assert_allclose(record["return"], expected)
        assert record["episodes"] == [int((rollout.episodes.member == m).sum()) for m in range(2)]
        assert record["diverged"] == 0
    assert min(map(len, returns)) > 1
    assert all(len(record["policy_loss"]) == 2 for record in log)


def test_random_draws_belong_to_a_member_not_to_its_cohort(tmp_path, monkeypatch):
    seen = Seen(monkeypatch)
    first = {}
    for name, options in {
        "two": {"method": "multi"},
        "three": {"method": "multi", "members": 3},
        "dir": {},
    }.items():
        seen.rollouts.clear()
        tiny.train(tmp_path / name, iterations=1, **options)
        first[name] = seen.rollouts[0] if name != "dir" else seen.rollouts[2]
    for part in ("observation", "action", "reward"):
        two, three, one = (getattr(first[name], part) for name in ("two", "three", "dir"))
        np.testing.assert_array_equal(two, three[:, :2])
        np.testing.assert_array_equal(one[:, 0], two[:, 1])  # DiR's second member begins as Multi's
        starts = three[0].reshape(-1, *three.shape[3:])
        assert len(np.unique(starts, axis=0)) == 3 * 8  # and no two environments begin alike


def test_recent_returns_forget_the_oldest(tmp_path, monkeypatch):
    seen = Seen(monkeypatch)
    monkeypatch.setattr(training, "RECENT_EPISODES", 3)
    tiny.train(tmp_path / "run", iterations=4, method="pg", members=1)
    log = RunFolder.open(tmp_path / "run").metrics()
    totals = np.concatenate([rollout.episodes.total_reward for rollout in seen.rollouts[:4]])
    assert len(totals) > 4
    assert log[-1]["return"] == pytest.approx([totals[-3:].mean()])


def test_members_are_judged_by_mean_actions_from_ten_starts(tmp_path, monkeypatch):
    seen = Seen(monkeypatch)
    population = tiny.train(tmp_path / "run", iterations=1)
    for member, (policy, returns) in zip(population.members, seen.judged[::2], strict=True):
        assert len(returns) == 10  # and as many with the last weights
        assert member.summary["nominal_return"] == pytest.approx(returns.mean())
        assert member.summary["nominal_std"] == pytest.approx(returns.std())
        np.testing.assert_array_equal(
            policy[".network.weights[0]"][0], member.policy.policy.network.weights[0]
        )
    assert population.members[0].summary["novelty"] == np.inf
    assert np.isfinite(population.members[1].summary["novelty"])
    assert [member.steps for member in population.members] == [64, 64]


def test_the_last_weights_are_kept(tmp_path, monkeypatch):
    learners = []
    update = ppo.ppo_update

    def remember(*arguments: Any) -> Any:
        result = update(*arguments)
        learners.append(result[0])
        return result

    monkeypatch.setattr(ppo, "ppo_update", remember)
    population = tiny.train(tmp_path / "run", iterations=3, method="pg", members=1)
    jax.tree.map(
        lambda kept, last: np.testing.assert_array_equal(kept, last[0]),
        population.members[0].policy.policy,
        learners[-1].policy,
    )


def test_the_weights_of_the_best_episode_are_kept(tmp_path, monkeypatch):
    seen = Seen(monkeypatch)
    settings = ("keep=best-episode", "ppo.learning_rate=0.03", "ppo.anneal_iterations=0")
    population = tiny.train(tmp_path / "run", *settings, iterations=10, method="multi", members=3)
    tries, final = seen.judged[:-2], seen.judged[-2]
    assert len(tries) == 10 and all(len(returns) == 3 for _, returns in tries)
    scores = np.stack([returns for _, returns in tries])
    best = scores.argmax(axis=0)
    assert (best < 9).any()  # otherwise the last would pass for the best
    risen = [max(i for i in range(10) if i == 0 or one[i] > one[i - 1]) for one in scores.T]
    assert (np.array(risen) > best).any()  # otherwise the last to gain on its forerunner would
    for member, chosen in enumerate(best):
        kept = flatten_tree(population.members[member].policy.policy)
        for name, array in tries[chosen][0].items():
            np.testing.assert_array_equal(kept[name], array[member])
        # None of the ten starts is the one the best was chosen by.
        assert scores[chosen, member] not in final[1].reshape(3, 10)[member]
        assert population.members[member].summary["nominal_return"] == final[1].reshape(3, 10)[member].mean()


def test_validated_weights_are_the_best_of_the_last_fifth(tmp_path, monkeypatch):
    seen, members = Seen(monkeypatch), 6  # many: what their learning makes of them depends on the machine
    settings = ("keep=validated", "ppo.learning_rate=0.1", "ppo.anneal_iterations=0")
    population = tiny.train(tmp_path / "run", *settings, iterations=40, method="multi", members=members)
    tries, final, last = seen.judged[:-2], seen.judged[-2], seen.judged[-1]
    assert len(tries) == 8
    scores = np.stack([returns.reshape(members, 4).mean(axis=1) for _, returns in tries])
    best = scores.argmax(axis=0)
    assert (best < 7).any()  # otherwise the last would pass for the best
    for member, chosen in enumerate(best):
        kept = flatten_tree(population.members[member].policy.policy)
        for name, array in tries[chosen][0].items():
            np.testing.assert_array_equal(kept[name], array[member])
        summary = population.members[member].summary
        assert summary["nominal_return"] == final[1].reshape(members, 10)[member].mean()
        assert summary["last_return"] == last[1].reshape(members, 10)[member].mean()
    for name, array in tries[-1][0].items():
        np.testing.assert_array_equal(last[0][name], array)


def test_novelty_is_measured_with_the_weights_that_are_kept(tmp_path, monkeypatch):
    acting, learners = [], []
    collect, update = training.collect, ppo.ppo_update

    def acting_too(task: Any, policy: Any, *arguments: Any) -> Any:
        acting.append(policy)
        return collect(task, policy, *arguments)

    def learning_too(*arguments: Any) -> Any:
        result = update(*arguments)
        learners.append(result[0])
        return result

    monkeypatch.setattr(training, "collect", acting_too)
    monkeypatch.setattr(ppo, "ppo_update", learning_too)
    settings = ("keep=best-episode", "ppo.learning_rate=0.03", "ppo.anneal_iterations=0")
    population = tiny.train(tmp_path / "run", *settings, iterations=8, members=1)
    policy, moments = stacked([population.members[0].policy])
    policies = (policy, learners[-1].policy)
    kept, last = (learning.NumpyPolicy(one, moments, 8, clips=True) for one in policies)
    states = np.random.default_rng(0).normal(size=(1, 8, population.layout.size)).astype(np.float32)
    assert np.array_equal(acting[-1].mean(states), kept.mean(states))
    assert not np.array_equal(last.mean(states), kept.mean(states))  # otherwise this could not fail


def test_a_best_episode_is_remembered_across_a_crash(tmp_path, monkeypatch):
    wanted = tiny.config("keep=best-episode", "ppo.learning_rate=0.03", method="multi", iterations=6)
    pg.train(wanted, tmp_path / "alone")
    tiny.crashed(tmp_path / "run", 4, monkeypatch, wanted)
    pg.resume(tmp_path / "run")
    tiny.assert_same_run(tmp_path / "run", tmp_path / "alone")


def test_who_differs_enough_is_paid_nothing_more(tmp_path, monkeypatch):
    passing = Seen(monkeypatch)
    tiny.train(tmp_path / "run", "dir.objective=features", "dir.enough=1e-9", iterations=4)
    first, *others = passing.rewards[4:]  # of the second member; nothing is known before its first rollout
    assert (first != 0).any() and not any(reward.any() for reward in others)
    shares = [line.get("bonus_share") for line in RunFolder.open(tmp_path / "run").metrics()]
    assert shares == [None] * 4 + [[1.0]] + [[0.0]] * 3


@pytest.mark.parametrize("strength", [{"alpha": 0.5}, {"alpha": None, "diversity": 0.3}])
def test_a_cost_is_taken_off_however_much_of_the_bonus_has_faded(strength, tmp_path, monkeypatch):
    seen, states = Seen(monkeypatch), []
    calls = Regulation.intrinsic_reward

    def priced(self, state, rollout):
        found = calls(self, state, rollout)
        states.append(None if found.cost is None else np.linspace(-1, 1, found.value.size))
        return found if found.cost is None else found._replace(cost=states[-1].reshape(found.value.shape))

    monkeypatch.setattr(Regulation, "intrinsic_reward", priced)
    settings = (
        "dir.objective=features",
        "dir.regulate=1",
        "fade=1e-9",
    )  # the bonus is over after one rollout
    tiny.train(tmp_path / "run", *settings, iterations=3, **strength)
    assert [one is None for one in states] == [True] * 3 + [False] * 3
    assert not any(reward.any() for reward in seen.rewards[:3])
    for reward, cost in zip(seen.rewards[4:], states[4:], strict=True):
        task = strength.get("alpha") or reward.std() / cost.std()
        np.testing.assert_allclose(reward.ravel(), -task * cost, rtol=1e-4, atol=1e-6)
        assert task > 0
    log = RunFolder.open(tmp_path / "run").metrics()
    assert all(np.isfinite(line["kept_distance"][0]) for line in log[3:])


def test_who_falls_behind_the_first_member_is_paid_less_for_being_different(tmp_path, monkeypatch):
    seen = {}
    for guard in (0.0, 1.0):
        with monkeypatch.context() as patched:
            patched.setattr(cohort.Cohort, "pace_at", lambda self, steps: math.inf if self.pace else math.nan)
            passing = Seen(patched)
            tiny.train(tmp_path / str(guard), f"guard={guard}", iterations=8)
            seen[guard] = passing.rewards[8:]  # of the second member
    log = RunFolder.open(tmp_path / "1.0").metrics()[8:]
    ended = next(place for place, line in enumerate(log) if np.isfinite(line["return"][0]))
    for place in range(ended + 1):
        np.testing.assert_array_equal(seen[1.0][place], seen[0.0][place])
    behind = ended + 1  # with the same weights as the other, for the last time
    np.testing.assert_allclose(seen[1.0][behind], 0.9 * seen[0.0][behind], rtol=1e-5, atol=1e-7)
    assert (seen[0.0][behind] != 0).all()


def test_a_guard_knows_the_first_members_pace_and_survives_a_crash(tmp_path, monkeypatch):
    wanted = tiny.config("guard=1.0", iterations=6, members=3)
    pg.train(wanted, tmp_path / "alone")
    log = [line for line in RunFolder.open(tmp_path / "alone").metrics() if line["members"] == [0, 1]]
    known = [(line["steps"], line["return"][0]) for line in log if np.isfinite(line["return"][0])]
    assert known
    tiny.crashed(tmp_path / "run", 10, monkeypatch, wanted)
    run = RunFolder.open(tmp_path / "run")
    second = cohort.make_cohort(run, run.load_checkpoint(), 1)
    assert second.first == 1 and second.pace_at(known[-1][0]) == known[-1][1]
    assert second._replace(pace=None).pace_at(64) != second.pace_at(64)
    pg.resume(tmp_path / "run")
    tiny.assert_same_run(tmp_path / "run", tmp_path / "alone")


def test_progress_counts_members_steps_and_share(tmp_path):
    told: list[Any] = []
    pg.train(tiny.config(iterations=2), tmp_path / "dir", told.append)
    lines = [line for line in told if not line.phase]
    assert [line.members for line in lines] == ["1/2", "1/2", "2/2", "2/2"]
    assert [line.share for line in lines] == [0.25, 0.5, 0.75, 1.0]
    assert [(line.steps, line.total_steps) for line in lines] == [(64, 128), (128, 128)] * 2
    assert lines[-1].seconds_left == pytest.approx(0.0)
    assert lines[0].seconds_left > 0 and lines[0].steps_per_second > 0
    assert (lines[0].bonus_ratio == 0) and (lines[2].bonus_ratio > 0)
    assert [str(line) for line in told if line.phase] == [
        "member 1/2  0/128 steps  compiling",
        "member 2/2  0/128 steps  compiling",
    ]
    told.clear()
    pg.train(tiny.config(iterations=2, method="multi", members=3), tmp_path / "multi", told.append)
    assert [line.members for line in told] == ["1–3/3"] * 3
    assert [line.share for line in told] == [0.0, 0.5, 1.0]
    assert [line.phase for line in told] == ["compiling", "", ""]


@pytest.mark.parametrize("remove", [(), ("*",)], ids=["keeps all", "keeps nothing"])
def test_extreme_filters_train(remove, tmp_path):
    population = tiny.train(tmp_path / "run", iterations=2, remove=remove)
    assert np.isfinite(population.members[1].summary["novelty"])


# Whole episodes.


def test_the_papers_iterations_are_twenty_whole_episodes(tmp_path, monkeypatch):
    """As many as a rollout of 20 × 1000 steps had, but updates come when they are over."""
    seen = Seen(monkeypatch)
    small = [one for one in tiny.SETTINGS if one.startswith("ppo.") and "rollout_steps" not in one]
    wanted = pg.TrainConfig("hopper", "pg", preset="paper", steps=1200, overrides=tuple(small))
    population = pg.train(wanted, tmp_path / "run")
    log = RunFolder.open(tmp_path / "run").metrics()
    assert not seen.rollouts  # of a fixed length
    assert all(record["episodes"] == [20] for record in log)
    steps = np.diff([0, *(record["steps"] for record in log)])
    assert len(set(steps)) == len(steps) > 1
    assert 20_000 / steps[0] > 25  # updates at the beginning for one of the fixed length
    assert log[-2]["steps"] < 1200 <= log[-1]["steps"] == population.members[0].steps


def test_members_of_whole_episodes_train_one_at_a_time(tmp_path):
    settings = ("ppo.episodes_per_iteration=4", "keep=last")
    shares = []
    pg.train(
        tiny.config(*settings, method="multi", envs=4, steps=1),
        tmp_path / "run",
        lambda progress: shares.append(progress.share),
    )
    log = RunFolder.open(tmp_path / "run").metrics()
    assert [record["members"] for record in log] == [[0, 1], [1, 2]]
    assert shares == [0.0, 0.5, 0.5, 1.0]
