"""What random numbers are for."""

import numpy as np

from polygait.tasks.randomness import CounterRandom, Draws, EpisodePurpose


def test_purposes_keep_their_numbers() -> None:
    # Another number would change every episode that was ever run with it.
    assert [purpose.value for purpose in Draws] == [0, 1, 2**20, 2**21, 2**22, 2**32, 2**33]
    assert [purpose.value for purpose in EpisodePurpose] == [0, 1, 2, 3, 4, 5]


def test_every_purpose_draws_its_own_numbers() -> None:
    random, key = CounterRandom(), np.array([5, 0], np.uint64)
    drawn = [random.at(key, 0, purpose, 0).random() for purpose in Draws]
    assert len(set(drawn)) == len(drawn)
    assert random.at(key, 0, Draws.MODEL, 0).random() == drawn[5]
