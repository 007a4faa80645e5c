"""Classes by name: one file each in a package of ours, and entry points of other packages."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import pkgutil
from typing import Any, Generic, TypeVar

from polygait.errors import UserError, unknown_name

Kind = TypeVar("Kind")


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
        return [*self._own(), *self._foreign()]

    def find(self, name: str) -> type[Kind]:
        """The class of that name, imported."""
        if name in self._own():
            module = importlib.import_module(f"{self._package}.{name.replace('-', '_')}")
            return next(found for found in vars(module).values() if self._is_called(found, name))
        point = self._foreign().get(name)
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

    def _own(self) -> list[str]:
        spec = importlib.util.find_spec(self._package)
        folders = list(spec.submodule_search_locations or []) if spec else []
        return [module.name.replace("_", "-") for module in pkgutil.iter_modules(folders)]

    def _foreign(self) -> dict[str, importlib.metadata.EntryPoint]:
        points = importlib.metadata.entry_points(group=self._group)
        return {point.name: point for point in points if point.name not in self._own()}

    def _is_called(self, found: Any, name: str) -> bool:
        return isinstance(found, type) and issubclass(found, self._base) and vars(found).get("name") == name
