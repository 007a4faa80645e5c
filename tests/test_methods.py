"""Every method from the first step to members under damage, on a real robot."""

import numpy as np
import pytest

import polygait as pg
from polygait.diversity.registry import METHODS
from polygait.population.store import RunFolder

MEMBERS, STEPS = 3, 300_000
TARGET = 500
"""R* for SMERL that Hopper reaches in so few steps, so that its gate opens."""


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS.names())
def test_every_method_trains_hopper_and_meets_damage(method, tmp_path):
    out = tmp_path / "run"
    own = (f"smerl.target_return={TARGET}",) if method == "smerl" else ()
    config = pg.TrainConfig("hopper", method, MEMBERS, STEPS, overrides=own)
    population = pg.train(config, out)
    iterations = -(-STEPS // 4096)
    total = MEMBERS * iterations * 4096
    assert len(population) == (1 if METHODS.find(method).single else MEMBERS)
    assert sum(member.steps for member in population.members) == total  # pg: one policy, equal total steps
    returns = [member.summary["nominal_return"] for member in population.members]
    assert min(returns) > 100 and max(returns) > 250, returns
    log = RunFolder.open(out).metrics()
    assert all(np.isfinite(value).all() for record in log[1:] for value in record.values()), log[-1]
    if METHODS.find(method).has_bonus:
        assert log[-1]["bonus_ratio"][0] > 0
    if method == "smerl":
        assert any(1.0 in record["gate"] for record in log)
    adapt_and_evaluate(pg.load(out))


def adapt_and_evaluate(population: pg.Population) -> None:
    """What a user does next."""
    result = pg.adapt(population, "broken-leg", episodes=5, held_out=5)
    assert result.returns.shape == (len(population), 5) and np.isfinite(result.held_out_return)
    raced = pg.adapt(population, "broken-leg", selector="racing")
    assert raced.episodes_used <= 4 * len(population)
    frame = pg.evaluate(population, suite="damage", episodes=3)
    assert frame.height == 4 * len(population) and frame["mean_return"].is_finite().all()
