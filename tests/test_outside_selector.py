"""A selector of another package: one file and an entry point, and adapt knows it."""

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

import polygait as pg
from polygait.adaptation import read_adaptation
from polygait.errors import UserError
from tests.outside import write_package

SELECTOR = '''
"""Try the members that were best when nothing was wrong, and no others."""

from dataclasses import dataclass

import numpy as np

from polygait.adaptation.selector import Choice, Request, Selector


@dataclass(frozen=True)
class FavouritesConfig:
    number: int = 1
    trials: int | None = None


class Favourites(Selector):
    name = "favourites"
    Config = FavouritesConfig

    @classmethod
    def problems(cls, config, num_members):
        if 1 <= config.number <= num_members:
            return []
        return [f"number must lie between 1 and {num_members}, got {config.number}."]

    @property
    def budget(self):
        return self.config.number * (self.config.trials or 2)

    def requests(self, trials):
        best = np.argsort(-self.nominal, kind="stable")[: self.config.number]
        yield Request(best.tolist(), self.config.trials or 2)

    def choose(self, trials):
        means = [np.nanmean(row) if np.isfinite(row).any() else -np.inf for row in trials.returns]
        return Choice(int(np.argmax(means)))
'''


@pytest.fixture
def population(tmp_path, monkeypatch):
    write_package(
        tmp_path / "site",
        "favourites",
        SELECTOR,
        {"polygait.selectors": {"favourites": "favourites:Favourites"}},
    )
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    yield pg.load(shutil.copytree(Path(__file__).parent / "data" / "hopper-dir", tmp_path / "run"))
    sys.modules.pop("favourites", None)


def test_adapt_spends_trials_as_it_asks(population):
    told: list[tuple[int, int]] = []
    result = pg.adapt(
        population,
        "broken-leg",
        lambda *count: told.append(count),
        selector="favourites",
        settings=("number=2",),
        trials=3,
        held_out=1,
    )
    nominal = np.array([member.summary["nominal_return"] for member in population.members])
    tried = np.isfinite(result.returns).sum(axis=1)
    assert sorted(np.flatnonzero(tried)) == sorted(np.argsort(-nominal)[:2]) and set(tried) == {0, 3}
    means = [row.mean() if np.isfinite(row).all() else -np.inf for row in result.returns]
    assert result.best == int(np.argmax(means))
    assert told[0] == (0, 7) and told[-1] == (7, 7)
    again = read_adaptation(population.path / "adaptations" / f"{result.name}.json")
    assert again.best == result.best and again.config.settings == ("number=2",)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"settings": ("number=9",)}, "number must lie between 1 and"),
        ({"settings": ("numbr=2",)}, "Did you mean 'number'"),
        ({"settings": ("number=two",)}, "number must be a whole number"),
        (
            {"episodes": 3},
            "episodes belongs to exhaustive: give selector='exhaustive', or for favourites number",
        ),
    ],
)
def test_its_options_are_checked(population, options, words):
    with pytest.raises(UserError, match=words):
        pg.adapt(population, "broken-leg", selector="favourites", **options)
