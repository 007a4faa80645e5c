"""Classes by name: one file each in a package of ours, and entry points of other packages."""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import importlib.util
import pkgutil
import sys
from typing import Any, Generic, TypeVar

from polygait.errors import UserError, unknown_name

Kind = TypeVar("Kind")


def entry_points(group: str) -> dict[str, importlib.metadata.EntryPoint]:
    """What installed packages offer under a group, by name; looked for once, as long as sys.path stays."""
    return _found(group, tuple(sys.path))


@functools.lru_cache(maxsize=32)
def _found(group: str, search_path: tuple[str, ...]) -> dict[str, importlib.metadata.EntryPoint]:
    del search_path  # only what was found depends on it
    return {point.name: point for point in importlib.metadata.entry_points(group=group)}


@functools.cache
def module_names(package: str) -> tuple[str, ...]:
    """The names of a package's files, as things are called."""
    spec = importlib.util.find_spec(package)
    folders = list(spec.submodule_search_locations or []) if spec else []
    return tuple(module.name.replace("_", "-") for module in pkgutil.iter_modules(folders))


class Registry(Generic[Kind]):
    """The subclasses of `base` that can be asked for by name.

    Ours live in `package`, one file each, called as the class says it is called (`name`), so a new one is a
    new file and nothing else. Other packages add theirs under the entry point group `group`:

        [project.entry-points."polygait.methods"]
        my-method = "my_package.method:MyMethod"
    """

    def __init__(self, word: str, base: type[Kind], package: str, group: str) -> None:
        self._word = word
        self._base = base
        self._package = package
        self._group = group

    def names(self) -> list[str]:
        """Every name that can be asked for, without importing what is behind it."""
        own = module_names(self._package)
        return [*own, *(name for name in entry_points(self._group) if name not in own)]

    def own_names(self) -> list[str]:
        """The names of our own."""
        return list(module_names(self._package))

    def find(self, name: str) -> type[Kind]:
        """The class of that name, imported."""
        if name in module_names(self._package):
            module = importlib.import_module(f"{self._package}.{name.replace('-', '_')}")
            return next(found for found in vars(module).values() if self._is_called(found, name))
        point = entry_points(self._group).get(name)
        if point is None:
            raise unknown_name(self._word, name, self.names())
        try:
            found = point.load()
        except Exception as error:
            raise UserError(
                f"The {self._word} {name!r} cannot be loaded from {point.value}: {error}.",
                "Mend or uninstall the package that adds it.",
            ) from error
        if not (isinstance(found, type) and issubclass(found, self._base)):
            raise UserError(
                f"The {self._word} {name!r} is {found!r}, not a subclass of {self._base.__name__}.",
                f"Mend the entry point {point.value} of the package that adds it.",
            )
        return found

    def all(self) -> list[type[Kind]]:
        """Every class, in the order of their names."""
        return [self.find(name) for name in self.names()]

    def _is_called(self, found: Any, name: str) -> bool:
        return isinstance(found, type) and issubclass(found, self._base) and vars(found).get("name") == name
