"""What a training needs in memory: about right for what is possible, refused where it is absurd."""

import pytest

import polygait as pg
from polygait.errors import UserError
from polygait.footprint import Footprint, require_training_memory, training_footprint
from polygait.resolving import resolve
from polygait.runs import resume
from tests import tiny


def footprint(*overrides, **options):
    return training_footprint(resolve(tiny.config(*overrides, **options)), 11, 3)


def test_by_hand():
    policy, critic, model = 12 * 8 + 9 * 3, 12 * 8 + 9, 23 * 8 + 9 * 6
    learner = 5 * (policy + critic) + 2 * 32 * ((11 + 8 + 3) + (11 + 8 + 1))
    sample = 4 * 11 + 3 * 3 + 15 + 3 * 2
    row = 1000 + 16 * (22 + 3)
    assert footprint(method="multi", members=3) == Footprint(
        3 * 4 * learner, 3 * 4 * 64 * sample, 3 * 8 * row
    )
    models = (5 + 2) * model + 2 * 32 * (22 + 8 + 6)  # its minibatch counts as the learner's
    found = footprint("dir.epochs=4")
    assert found == Footprint(4 * (learner + models), 4 * 64 * (sample + 3 * 4), 8 * row)


@pytest.mark.parametrize(
    ("overrides", "options"),
    [
        (["ppo.rollout_steps=2000000000"], {}),
        (["ppo.epochs=1000000000000"], {}),
        (["ppo.policy_hidden=1000000,1000000"], {}),
        (["ppo.critic_hidden=1000000,1000000"], {}),
        (["dir.hidden=1000000,1000000"], {}),
        (["dir.epochs=1000000000000"], {}),
        (["smerl.epochs=1000000000000"], {"method": "smerl"}),
        (["dir.hidden=10000"], {"members": 10**6}),
        ([], {"members": 10**6, "method": "dvd"}),
        (["ppo.rollout_steps=1000000000"], {"envs": 10**6}),
    ],
)
def test_absurd_sizes_are_refused_before_anything_starts(overrides, options, tmp_path):
    with pytest.raises(UserError, match=r"would need about .*B of memory; this machine has") as caught:
        tiny.train(tmp_path / "run", *overrides, **options)
    assert "Nothing was started" in caught.value.remedy
    assert not (tmp_path / "run").exists()


def test_more_samples_than_can_be_numbered_are_refused():
    with pytest.raises(UserError, match="rollout_steps must be below 2,147,483,648"):
        resolve(tiny.config("ppo.rollout_steps=1000000000000000"))


def test_the_presets_fit_into_any_machine():
    for task in ("hopper", "walker", "ant", "minitaur"):
        for method in ("dir", "smerl", "dvd", "multi", "pg"):
            for preset in ("robust", "paper"):
                run = resolve(pg.TrainConfig(task, method, preset=preset))
                assert sum(training_footprint(run, 105, 8)) < 2e9, (task, method, preset)
                require_training_memory(run, 105, 8)


@pytest.mark.usefixtures("quick_compilation")
def test_a_run_from_a_larger_machine_is_not_resumed_or_extended(tmp_path, monkeypatch):
    out = tmp_path / "run"
    tiny.crashed(out, 2, monkeypatch, tiny.config(members=1))
    monkeypatch.setattr("polygait.memory.machine_memory", lambda: 1000)
    with pytest.raises(UserError, match=r"this machine has 1\.0 kB"):
        resume(out)
    monkeypatch.undo()
    resume(out)
    before = (out / "manifest.json").read_bytes()
    monkeypatch.setattr("polygait.memory.machine_memory", lambda: 1000)
    with pytest.raises(UserError, match="would need about"):
        pg.extend(out, pg.Extension(2))
    assert (out / "manifest.json").read_bytes() == before
