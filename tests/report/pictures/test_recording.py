"""Episodes written down are those that are run."""

import numpy as np
import pytest

from polygait.episodes import Job, run_members
from polygait.report.pictures.recording import record
from polygait.report.pictures.scene import require_robot


def test_a_recording_is_its_episode_step_by_step(population):
    jobs = [Job(1, None, 0), Job(0, "broken-foot", 3)]
    recordings = record(population, jobs)
    outcome = run_members(population, jobs)
    for index, one in enumerate(recordings):
        assert one.job == jobs[index] and one.feet == ("right", "left")
        assert one.total_reward == outcome.total_reward[index] and one.fell == outcome.fell[index]
        assert len(one) == outcome.length[index] == len(one.qpos) == len(one.down)
        assert one.seconds == pytest.approx(len(one) * 0.008)


def test_poses_and_contacts_are_those_after_each_step(population):
    (one,) = record(population, [Job(2, "broken-leg", 5)])
    task = require_robot(population.make_task(1))
    task.set_variation("broken-leg")
    observation = task.reset(seeds=[5])
    states = []
    for moment in range(20):
        step = task.step(population.act(observation, member=2))
        observation = step.observation
        states.append(observation[0])
        np.testing.assert_array_equal(one.qpos[moment], task.physics.qpos[0])
        np.testing.assert_array_equal(one.down[moment], task.foot_contacts()[0])
    assert one.down.any() and not one.down.all()
    assert one.speed == pytest.approx((one.qpos[-1, 0] - one.qpos[0, 0]) / ((len(one) - 1) * 0.008))


def test_a_task_without_feet_or_body_is_recorded_too(tmp_path):
    from tests import tiny

    population = tiny.train(tmp_path / "run", task="gym:Pendulum-v1", method="pg", members=1, iterations=1)
    (one,) = record(population, [Job(0, None, 0)])
    assert one.down.shape == (200, 0) and one.qpos.shape == (200, 0) and one.feet == ()
    assert np.isnan(one.speed) and one.seconds == 200


def test_recordings_do_not_depend_on_each_other(population):
    (alone,) = record(population, [Job(1, None, 0)])
    both = record(population, [Job(3, None, 1), Job(1, None, 0)])
    np.testing.assert_array_equal(both[1].qpos, alone.qpos)
