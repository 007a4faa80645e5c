"""Calls of the public names: paths and names where objects are meant, and mistakes that are explained."""

import math
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import polygait as pg
from polygait.population.store import RunFolder
from polygait.resolving import resolve
from polygait.runs import _wanted
from polygait.variations import BrokenJoint
from tests import tiny

TRAINED = Path(__file__).parent / "data" / "hopper-dir"
STEPS = 20


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    """A trained population whose episodes are short, its folder, and its task."""
    path = tmp_path_factory.mktemp("calls") / "hopper"
    shutil.copytree(TRAINED, path)
    run = RunFolder.open(path)
    with run.writing():
        config = run.manifest["config"] | {"task_options": {"max_episode_steps": STEPS}}
        run.update_manifest({"config": config})
    task = pg.make_task("hopper", num_envs=2)
    return SimpleNamespace(
        path=path, population=pg.load(path), task=task, layout=task.layout, out=path.parent / "new"
    )


def test_a_path_stands_for_its_population(given):
    path, population = str(given.path), given.population
    ours, theirs = (pg.adapt(one, "broken-foot", episodes=1, held_out=0) for one in (path, population))
    np.testing.assert_array_equal(ours.returns, theirs.returns)
    assert pg.diversity_score(path, states=5) == pg.diversity_score(population, states=5)
    np.testing.assert_array_equal(
        pg.contact_pattern(given.path, 1).down, pg.contact_pattern(population, 1).down
    )
    shares = pg.contact_shares(path, episodes=1)
    np.testing.assert_array_equal(shares.down, pg.contact_shares(population, episodes=1).down)
    assert len(pg.evaluate(path, suite="nominal", episodes=1)) == len(population)
    assert pg.variance_shares(path, transitions=1).keys() == population.layout.parts.keys()


def test_a_population_stands_for_its_folder(given):
    assert pg.resume(given.population).path == given.path


def test_a_task_stands_for_its_training():
    assert _wanted("hopper", {}) == pg.TrainConfig("hopper")
    assert _wanted("hopper", {"members": 3}) == pg.TrainConfig("hopper", members=3)
    config = pg.TrainConfig("hopper", members=3, seed=1)
    assert _wanted(config, {}) is config
    assert _wanted(config, {"seed": 2}) == pg.TrainConfig("hopper", members=3, seed=2)


def test_a_task_is_trained_by_its_name(tmp_path, quick_compilation):
    wanted = tiny.config(members=1, method="multi", iterations=1)
    options = {name: value for name, value in vars(wanted).items() if name != "task"}
    population = pg.train("hopper", tmp_path / "run", **options)
    assert population.config == resolve(wanted)


def test_a_list_of_variations_is_a_suite(given):
    suite = ["broken-foot", "gravity=1.4", BrokenJoint("leg_joint"), None]
    frame = pg.evaluate(given.population, suite=suite, episodes=1)
    names = ["broken-foot", "gravity=1.4", "broken(leg_joint)", "nominal"]
    assert frame["condition"].unique(maintain_order=True).to_list() == names
    assert len(frame) == 4 * len(given.population)
    named = pg.evaluate(given.population, suite={"moon": "gravity=0.2", "hurt": "broken-foot"}, episodes=1)
    assert named["condition"].unique(maintain_order=True).to_list() == ["moon", "hurt"]
    # Both are kept in one file, under what the variations came down to.
    again = pg.evaluate(given.population, suite=["broken-foot"], episodes=1)
    assert again["returns"].to_list() == named.filter(named["condition"] == "hurt")["returns"].to_list()


NAN = math.nan
api: Any = pg  # whose annotations every call below breaks
Call = Callable[[Any], object]
MISTAKES: dict[str, Call] = {
    "a task by a number": lambda given: api.make_task(3),
    "a task by nothing": lambda given: api.make_task(None),
    "a task by an empty text": lambda given: api.make_task(""),
    "a task by a class": lambda given: api.make_task(api.Robot),
    "an unknown task": lambda given: api.make_task("hoper"),
    "an unknown Gymnasium environment": lambda given: api.make_task("gym:"),
    "an option that Gymnasium does not know": lambda given: api.make_task("gym:Pendulum-v1", colour="red"),
    "a layout by its name": lambda given: api.make_task("gym:Pendulum-v1", layout="x"),
    "a number of environments as text": lambda given: api.make_task("hopper", num_envs="4"),
    "a truth as a number of environments": lambda given: api.make_task("hopper", num_envs=True),
    "no number of environments": lambda given: api.make_task("hopper", num_envs=NAN),
    "fewer than no environments": lambda given: api.make_task("hopper", num_envs=-1),
    "half a seed": lambda given: api.make_task("hopper", seed=1.5),
    "half a thread": lambda given: api.make_task("hopper", num_threads=0.5),
    "a number as a variation": lambda given: api.make_task("hopper", variation=3),
    "as many variations as no environment": lambda given: api.make_task("hopper", variation=["nominal"] * 3),
    "actions as text": lambda given: given.task.step("abc"),
    "ragged actions": lambda given: given.task.step([[1, 2, 3], [1]]),
    "actions of another shape": lambda given: given.task.step(np.zeros((3, 3))),
    "actions that are not finite": lambda given: given.task.step(np.full((2, 3), NAN)),
    "an environment that does not exist": lambda given: given.task.reset([5]),
    "an environment by its name": lambda given: given.task.reset("first"),
    "one seed for several": lambda given: given.task.reset(seeds=3),
    "seeds as text": lambda given: given.task.reset(seeds=["a", "b"]),
    "a state as text": lambda given: given.task.set_state("a", "b"),
    "no population": lambda given: api.adapt(None, "broken-foot"),
    "a population that is not there": lambda given: api.adapt("/nowhere", "broken-foot"),
    "several variations at once": lambda given: api.adapt(given.population, ["broken-foot"]),
    "an unknown variation": lambda given: api.adapt(given.population, "broken-fot"),
    "episodes as text": lambda given: api.adapt(given.population, "broken-foot", episodes="3"),
    "a truth as episodes": lambda given: api.adapt(given.population, "broken-foot", episodes=True),
    "a negative seed": lambda given: api.adapt(given.population, "broken-foot", seed=-1),
    "a selector by its number": lambda given: api.adapt(given.population, "broken-foot", selector=3),
    "no held-out number": lambda given: api.adapt(given.population, "broken-foot", held_out=None),
    "another task by its number": lambda given: api.adapt(given.population, "broken-foot", on=3),
    "a misspelt option": lambda given: api.adapt(given.population, "broken-foot", epsodes=3),
    "a selector where the report is": lambda given: api.adapt(given.population, "broken-foot", "racing"),
    "a suite by its number": lambda given: api.evaluate(given.population, suite=3),
    "an empty suite": lambda given: api.evaluate(given.population, suite=[]),
    "a suite of numbers": lambda given: api.evaluate(given.population, suite=[3]),
    "an unknown suite": lambda given: api.evaluate(given.population, suite="damages"),
    "no episodes": lambda given: api.evaluate(given.population, episodes=0),
    "a training of nothing": lambda given: api.train(None, given.out),
    "a training of a misspelt task": lambda given: api.train("hoper", given.out),
    "a training with a misspelt option": lambda given: api.train("hopper", given.out, memers=3),
    "a training into nothing": lambda given: api.train("hopper", None),
    "a training into another": lambda given: api.train("hopper", given.path),
    "steps as text": lambda given: api.train("hopper", given.out, steps="many"),
    "no seed": lambda given: api.train(api.TrainConfig("hopper", seed=None), given.out),
    "no alpha": lambda given: api.train("hopper", given.out, alpha=NAN),
    "alpha as text": lambda given: api.train("hopper", given.out, alpha="x"),
    "a method by its number": lambda given: api.train("hopper", given.out, method=3),
    "state parts by their number": lambda given: api.train("hopper", given.out, remove=[3]),
    "settings by a number": lambda given: api.train("hopper", given.out, overrides=3),
    "a run by its number": lambda given: api.load(3),
    "a run that is a file": lambda given: api.load(given.path / "manifest.json"),
    "nothing to resume": lambda given: api.resume(None),
    "an extension by nothing": lambda given: api.extend(given.path, None),
    "an extension by a text": lambda given: api.extend(given.path, api.Extension(members="2")),
    "an extension until no number": lambda given: api.extend(given.path, api.Extension(until_novelty=NAN)),
    "states as text": lambda given: api.diversity_score(given.population, states="3"),
    "a form by its number": lambda given: api.diversity_score(given.population, form=3),
    "a seed as text": lambda given: api.diversity_score(given.population, seed="x"),
    "a member by its name": lambda given: api.contact_pattern(given.population, member="1"),
    "a member that is not there": lambda given: api.contact_pattern(given.population, member=9),
    "a truth as a member": lambda given: given.population.act(np.zeros((1, 11)), member=True),
    "observations as text": lambda given: given.population.act("abc", member=0),
    "observations of another shape": lambda given: given.population.act(np.zeros((1, 12)), member=0),
    "half an episode": lambda given: api.contact_shares(given.population, episodes=0.5),
    "filters by a name": lambda given: api.conditional_information(given.population, filters="x"),
    "no transitions": lambda given: api.variance_shares(given.population, transitions=0),
    "a filter of a task": lambda given: api.StateFilter.remove(given.task, "leg.*"),
    "a filter by a number": lambda given: api.StateFilter.keep(given.layout, 3),
    "an unknown state part": lambda given: api.StateFilter.remove(given.layout, "legg.*"),
    "a layout that is one text": lambda given: api.StateLayout("abc"),
    "a layout of single letters": lambda given: api.StateLayout.of({"torso": "xyz"}),
    "a variation made of text": lambda given: api.Variation("broken-foot"),
    "a population by its path": lambda given: api.Population(given.path),
}


@pytest.mark.parametrize("call", MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_told_with_its_rule_and_a_remedy(given, call, unchecked_annotations):
    with pytest.raises(pg.UserError) as caught:
        call(given)
    assert caught.value.problem.endswith(".") and caught.value.remedy
    assert not given.out.exists()


@pytest.mark.parametrize(
    "call",
    [
        lambda: api.TrainConfig("hopper", memers=3),
        lambda: api.train("hopper"),
        lambda: api.Extension(member=1),
    ],
)
def test_what_python_itself_refuses_is_a_type_error(call):
    with pytest.raises(TypeError):
        call()
