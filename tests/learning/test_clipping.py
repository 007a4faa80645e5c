"""What a robot receives on average, against noise that is drawn."""

import numpy as np
import pytest

from polygait.learning.clipping import clipped_mean


@pytest.mark.parametrize("std", [0.05, 0.4, 1.0])
def test_it_is_the_mean_of_many_clipped_draws(std):
    means = np.linspace(-1, 1, 9, dtype=np.float32)
    noise = np.random.default_rng(0).normal(size=(400_000, 1))
    drawn = np.clip(means + std * noise, -1, 1).mean(axis=0)
    found = clipped_mean(means, np.full(9, std, np.float32))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, drawn, atol=5 * std / 400_000**0.5)


def test_far_from_the_edges_it_is_the_mean_itself_and_it_never_leaves_the_box():
    std = np.full(1, 0.1, np.float32)
    inside = np.linspace(-0.4, 0.4, 7, dtype=np.float32)[:, None]
    np.testing.assert_allclose(clipped_mean(inside, std), inside, atol=1e-7)
    assert clipped_mean(np.ones((1, 1), np.float32), std * 4).item() == pytest.approx(
        1 - 0.4 / (2 * np.pi) ** 0.5
    )
    assert np.abs(clipped_mean(np.linspace(-1, 1, 99, dtype=np.float32)[:, None], std * 20)).max() < 1
