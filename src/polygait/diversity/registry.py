"""Methods by name."""

from __future__ import annotations

from polygait.diversity.dvd import Dvd
from polygait.diversity.independent import Independent
from polygait.diversity.method import Method
from polygait.diversity.regulation import Regulation
from polygait.diversity.smerl import Smerl
from polygait.errors import unknown_name
from polygait.presets import METHODS, RunConfig
from polygait.tasks.state import StateFilter


def make_method(config: RunConfig, state_filter: StateFilter) -> Method:
    """The method a run asks for."""
    if config.method == "dir":
        return Regulation(config.dir, state_filter, config.alpha)
    if config.method == "smerl":
        return Smerl(config.smerl, state_filter.layout.size, config.alpha)
    if config.method == "dvd":
        return Dvd(config.dvd, config.alpha)
    if config.method in ("multi", "pg"):
        return Independent()
    raise unknown_name("method", config.method, METHODS)
