"""Training in worlds that change from episode to episode: seeded, exact on resume, judged nominally."""

import numpy as np
import pytest

import polygait as pg
from polygait.errors import UserError
from polygait.resolving import resolve
from polygait.run_config import RunConfig
from polygait.tasks.gym import GymTask
from polygait.tasks.mujoco import MujocoTask
from polygait.tasks.robots.hopper import Hopper
from tests import tiny
from tests.tiny import assert_same_run, crashed, digests

WORLDS = (
    "nominal, broken(any(*)), broken(any(*)):weak=0.2..0.8@random(0..9), foot-friction=0.5..2, delay=0..2, "
    "sensor(any(*)):drop=0.3+motor(any(*)):drop=0.2, broken(any(*)):hold@2..8, push=-30..30N@every(5)..+2"
)
pytestmark = pytest.mark.usefixtures("quick_compilation")


def make(worlds=WORLDS, num_envs=12, seed=0):
    task = MujocoTask(Hopper(), num_envs=num_envs, seed=seed, num_threads=1)
    task.set_worlds(worlds)
    return task


def walk(task, steps, seed=0):
    """Observations, rewards and worlds of every step, with episodes cut short here and there."""
    chance = np.random.default_rng(seed)
    seen, worlds = [], []
    for _ in range(steps):
        step = task.step(chance.uniform(-1, 1, (task.num_envs, task.action_size)))
        seen.append(np.column_stack([step.observation, step.reward, step.terminated]))
        worlds.append([str(one) for one in task.variations])
        task.reset(step.terminated | (chance.random(task.num_envs) < 0.1))
    return np.stack(seen), worlds


def test_every_episode_of_every_row_draws_its_world_from_its_own_seed():
    task, alone = make(), make(num_envs=1)
    seeds = list(range(20, 32))
    task.reset(seeds=seeds)
    alone.reset(seeds=seeds[4:5])
    drawn = []
    for _ in range(12):
        assert task.variations[4] == alone.variations[0]
        drawn.append([str(one) for one in task.variations])
        task.reset()
        alone.reset()
    assert len({text for row in drawn for text in row}) > 60
    assert all(len({row[place] for row in drawn}) > 4 for place in range(12))


def test_a_world_that_is_drawn_is_that_world():
    """A row whose world was drawn steps as a task that was told so, to the last bit."""
    drawing, told = make("broken(any(*)), foot-friction=0.5..2, delay=1..3, mass(any(*))=0.5..2"), None
    drawing.reset(seeds=range(12))
    for _ in range(4):
        told = MujocoTask(Hopper(), num_envs=12, num_threads=1)
        told.set_variation([str(one) for one in drawing.variations])
        for task in (drawing, told):
            task.set_state(np.tile(task.model.qpos0, (12, 1)), np.zeros((12, 6)))
        actions = np.random.default_rng(1).uniform(-1, 1, (15, 12, 3))
        for action in actions:
            assert np.array_equal(drawing.step(action).observation, told.step(action).observation)
        drawing.reset()


def test_worlds_go_on_bit_for_bit_from_a_snapshot():
    task, fresh = make(), make()
    task.reset(seeds=range(12))
    walk(task, 25)
    saved = {name: np.array(array) for name, array in task.snapshot().items()}
    fresh.restore(saved)
    assert [str(one) for one in fresh.variations] == [str(one) for one in task.variations]
    (first, worlds), (second, again) = walk(task, 40, seed=5), walk(fresh, 40, seed=5)
    assert worlds == again
    assert np.array_equal(first, second)


def test_a_delay_of_none_leaves_room_for_what_comes_behind_it():
    mixture = "delay=0..1+delay=0..1+sensor(any(*)):drop=0.5@every(5)..+3"
    task, fresh, held = make(mixture, 1), make(mixture, 1), set()
    for seed in range(12):
        task.reset(seeds=[seed])
        walk(task, 7)
        snapshot = task.snapshot()
        held.add(frozenset(snapshot))
        fresh.restore(snapshot)
        assert np.array_equal(walk(task, 9)[0], walk(fresh, 9)[0])
    assert len(held) == 1  # whichever of the delays are none


def test_gymnasium_environments_have_worlds_too():
    mixture = (
        "nominal, delay=1..3, sensor(any(state.*)):drop=0.5, motor(*):drop=0.5@random, strength(*)=0.3..1"
    )
    tasks = [GymTask("Pendulum-v1", num_envs=4) for _ in range(2)]
    for task in tasks:
        task.set_worlds(mixture)
    tasks[0].reset(seeds=range(4))
    walk(tasks[0], 15)
    tasks[1].restore(tasks[0].snapshot())
    assert np.array_equal(walk(tasks[0], 20)[0], walk(tasks[1], 20)[0])
    with pytest.raises(UserError, match="physics of Pendulum-v1 cannot be changed"):
        tasks[0].set_worlds("nominal, gravity=0.5..2")


def test_the_present_world_stays_until_the_next_episode():
    task = MujocoTask(Hopper(), num_envs=2, variation="mass(*)=2", num_threads=1)
    task.set_worlds("friction(any(*))=2..3@1, broken(any(*)):hold@1")
    for _ in range(3):
        task.step(np.zeros((2, 3)))
        model = task.physics.batch.get_model(1)
        assert np.array_equal(model.body_mass, 2 * task.model.body_mass)
        assert np.array_equal(model.geom_friction, task.model.geom_friction)
    task.reset()
    assert np.array_equal(task.physics.batch.get_model(1).body_mass, task.model.body_mass)


def test_a_faulty_share_holds_from_the_next_episode_on_and_survives_a_snapshot():
    task, fresh = make("gravity=2, mass(*)=2", 40), make("gravity=2, mass(*)=2", 40)
    task.faulty_share = 0.5
    task.reset(seeds=range(40))
    faulty = sum(bool(one.edits) for one in task.variations)
    assert 10 < faulty < 30
    task.faulty_share = 1.0
    fresh.restore(task.snapshot())
    assert fresh.variations == task.variations
    task.reset()
    assert all(one.edits for one in task.variations)


def trained(out, **options):
    return tiny.train(out, worlds=WORLDS, **options)


@pytest.mark.parametrize("curriculum", [None, 0.8])
def test_a_run_that_crashed_ends_in_the_same_bits(tmp_path, monkeypatch, curriculum):
    wanted = tiny.config(worlds=WORLDS, curriculum=curriculum, iterations=4)
    pg.train(wanted, tmp_path / "alone")
    crashed(tmp_path / "often", 3, monkeypatch, wanted)
    pg.resume(tmp_path / "often")
    assert_same_run(tmp_path / "often", tmp_path / "alone")


def test_worlds_and_curriculum_change_what_is_learned_but_not_who_judges(tmp_path):
    tiny.train(tmp_path / "plain")
    trained(tmp_path / "worlds")
    trained(tmp_path / "rising", curriculum=1.0)
    assert len({str(digests(tmp_path / name)) for name in ("plain", "worlds", "rising")}) == 3
    population = pg.load(tmp_path / "worlds")
    assert population.config.worlds == WORLDS
    judges = population.make_task(6)
    assert isinstance(judges, MujocoTask)
    judges.reset()
    assert [str(one) for one in judges.variations] == ["nominal"] * 6


@pytest.mark.parametrize(
    "options",
    [
        {"method": "pg", "members": 2},
        {"method": "multi"},
        {"method": "smerl"},
        {"method": "dvd"},
        {"method": "multi", "learner": "sac"},
    ],
    ids=str,
)
def test_every_method_trains_in_worlds(tmp_path, options):
    assert trained(tmp_path / "run", iterations=2, **options).members


def test_a_run_without_worlds_is_called_what_it_was_called():
    plain = resolve(tiny.config())
    assert "worlds" not in plain.to_json() and "curriculum" not in plain.to_json()
    faulty = resolve(tiny.config(worlds="nominal, delay=1", curriculum=0.5))
    assert RunConfig.from_json(faulty.to_json()) == faulty


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        ({"worlds": ""}, "must be a text such as"),
        ({"worlds": "  "}, "must be a text such as"),
        ({"worlds": "nominal, brokn(*)"}, "'broken'"),
        ({"worlds": "voltage=0.5..1"}, "no supply voltage"),
        ({"worlds": "delay=1", "curriculum": 1.5}, "from 0 to 1"),
        ({"curriculum": 0.5}, "training worlds"),
    ],
)
def test_mistakes_are_told_before_anything_begins(tmp_path, options, hint):
    with pytest.raises(UserError, match=hint):
        pg.train(tiny.config(**options), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_faulty_worlds_rise_with_the_training():
    run = resolve(tiny.config(worlds="delay=1", curriculum=0.5, iterations=10))
    steps = run.learner.steps_per_iteration
    assert [run.faulty_share(count * steps) for count in (0, 1, 5, 9)] == [0.0, 0.2, 1.0, 1.0]
    assert resolve(tiny.config(worlds="delay=1")).faulty_share(0) == 1.0
