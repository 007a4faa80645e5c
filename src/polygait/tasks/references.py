"""Robots by where their code lies: `my_robot.py:MyRobot`, `package.module:MyRobot`, a class of this program.

Code runs only when a user names it. What a run remembers is a name; `known` finds the robot behind it among
those that this program has already imported, and never imports anything.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.util
import inspect
import re
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from polygait.errors import UserError, unknown_name
from polygait.storage.strict_json import to_plain
from polygait.tasks.robot import GIVEN, Robot
from polygait.tasks.source_code import is_installed

Maker = type[Robot] | Robot | Callable[..., Any]
"""What stands behind a reference: a robot's class, a robot, or a function that makes a Task."""
_LOADED = "polygait_file_"  # begins the names of modules that were read from a file
_MODULE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_NAME_IT = "If you trust it, name it: --task {name}, or in Python: {imported}."
_named: dict[str, Maker] = {}
"""Everything that was named in this program."""
_modules: dict[str, ModuleType] = {}
"""What was run for it, by file or module."""


class Reference(NamedTuple):
    """Where a robot's code lies."""

    source: str
    """A file that ends in .py, or a module."""
    attribute: str
    """What it is called there; empty for the only robot of a file."""

    @property
    def is_file(self) -> bool:
        """Whether a file is meant, not a module."""
        return self.source.endswith(".py")

    def __str__(self) -> str:
        return f"{self.source}:{self.attribute}" if self.attribute else self.source


def parse_reference(name: str) -> Reference | None:
    """The reference that a text is, if it is one; names of tasks and gym:ENV-ID are none."""
    if name.endswith(".py"):
        return Reference(name, "")
    source, colon, attribute = name.rpartition(":")
    if not colon or source == "gym" or source.startswith("gym:"):
        return None
    return Reference(source, attribute) if source.endswith(".py") or _MODULE.fullmatch(source) else None


def load_reference(reference: Reference) -> Reference:
    """Run the code that a user has named, once, and take the robot out of it; the reference in full."""
    where = _absolute(reference.source) if reference.is_file else reference.source
    if where not in _modules:
        _modules[where] = _from_file(where) if reference.is_file else _imported(where)
    full = reference._replace(attribute=reference.attribute or _only_robot(_modules[where], reference.source))
    _named[str(full)] = _taken(_modules[where], full)
    return full


def reference_file(name: str) -> str:
    """The file that a reference means here; empty where it means none."""
    reference = parse_reference(name)
    return _absolute(reference.source) if reference and reference.is_file else ""


def known(name: str) -> Maker | None:
    """The robot behind a reference that a run remembers, if this program has imported it."""
    reference = parse_reference(name)
    if name in _named or reference is None:
        return _named.get(name)
    alike = [maker for key, maker in _named.items() if key.rpartition(":")[2] == reference.attribute]
    same = [kind for kind in _loaded_robots(Robot) if kind.__qualname__ == reference.attribute]
    at_home = [kind for kind in same if reference_to(kind) == name]
    return next((found[-1] for found in (at_home, alike, same) if found), None)


def reference_to(kind: type[Robot]) -> str:
    """Where the code of a class lies, as a user on this machine would write it."""
    module = sys.modules.get(kind.__module__)
    file = getattr(module, "__file__", None)
    scripted = kind.__module__ == "__main__" or kind.__module__.startswith(_LOADED)
    top_level = "." not in kind.__module__ and not is_installed(kind.__module__)
    if file is None or not (scripted or top_level):
        return f"{kind.__module__}:{kind.__qualname__}"
    path, here = Path(file).resolve(), Path.cwd()
    shown = path.relative_to(here) if path.is_relative_to(here) else path
    return f"{shown.as_posix()}:{kind.__qualname__}"


def remember(kind: type[Robot]) -> str:
    """The reference under which a class can be found again in this program."""
    reference = reference_to(kind)
    _named[reference] = kind
    return reference


def given_options(robot: Robot) -> dict[str, Any]:
    """What a robot was made with, by name; UserError for what no file can hold."""
    args, options = getattr(robot, GIVEN)
    kind = type(robot)
    bound = inspect.signature(kind).bind(*args, **options).arguments if args or options else {}
    for name, value in bound.items():
        try:
            to_plain(value)
        except UserError as error:
            raise UserError(
                f"{kind.__qualname__} was made with {name}={value!r}, which a run cannot write down.",
                f"Give {name} a number, a text, true or false or a list, or make it in a class of its own: "
                f"class Mine({kind.__qualname__}), whose __init__ calls super().__init__({name}=…).",
            ) from error
    usual = {name: getattr(kind, name, None) for name in ("max_episode_steps",)}
    later = {name: getattr(robot, name) for name, value in usual.items() if getattr(robot, name) != value}
    return {**later, **bound}


def not_known(name: str, source: str) -> UserError:
    """Why a run's robot cannot be made here, and what to import; `source` is where its file was."""
    reference = parse_reference(name)
    if reference is None:
        return UserError(f"{name} is not known here.", "Install the package that brings it.")
    if "<locals>" in reference.attribute:
        return UserError(
            f"This run's robot, {reference.attribute}, was defined inside a function of {reference.source}.",
            "Define it at the top of a file, and import that file first.",
        )
    if not reference.is_file:
        return UserError(
            f"This run's robot is {reference.attribute} of {reference.source}; a run imports nothing itself.",
            _NAME_IT.format(name=name, imported=f"from {reference.source} import {reference.attribute}"),
        )
    found = next((one for one in (reference.source, source) if one and Path(one).is_file()), None)
    if found is None:
        return UserError(
            f"This run's robot is {reference.attribute} of {source or reference.source}, which is not here.",
            _NAME_IT.format(name=f"FILE.py:{reference.attribute}", imported="import that file first"),
        )
    told = Path(found).stem if Path(found).stem.isidentifier() else "that_file"
    return UserError(
        f"This run's robot is {reference.attribute} of {found}, and a run executes no file by itself.",
        _NAME_IT.format(
            name=f"{found}:{reference.attribute}", imported=f"from {told} import {reference.attribute}"
        ),
    )


def _loaded_robots(base: type[Robot]) -> Iterator[type[Robot]]:
    for kind in base.__subclasses__():
        yield kind
        yield from _loaded_robots(kind)


def _from_file(path: str) -> ModuleType:
    """A file as a module, with the files beside it within its reach."""
    if not Path(path).is_file():
        raise UserError(f"There is no file {path}.", "Give the path of the Python file that holds the robot.")
    name = f"{_LOADED}{hashlib.sha256(path.encode()).hexdigest()[:12]}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    run = functools.partial(spec.loader.exec_module, module)
    try:
        _with_folder(str(Path(path).parent), run, path)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _imported(name: str) -> ModuleType:
    return _with_folder(str(Path.cwd()), functools.partial(importlib.import_module, name), name)


def _with_folder(folder: str, run: Callable[[], Any], source: str) -> Any:
    """Run somebody's code with a folder to import from; what goes wrong is theirs to mend."""
    sys.path.insert(0, folder)
    try:
        return run()
    except UserError:
        raise
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        raise UserError(
            f"{source} cannot be imported: {type(error).__name__}: {error} (line {place.lineno} of "
            f"{place.filename}).",
            "Mend it, or install what it needs.",
        ) from error
    finally:
        sys.path.remove(folder)


def _absolute(path: str) -> str:
    return str(Path(path).expanduser().resolve())


def _robots_in(module: ModuleType) -> dict[str, Any]:
    """The robots that a module itself defines, by their names there."""
    return {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, Robot)
        or (isinstance(value, type) and issubclass(value, Robot) and value.__module__ == module.__name__)
    }


def _only_robot(module: ModuleType, source: str) -> str:
    own = _robots_in(module)
    if len(own) != 1:
        found = f"{len(own)} robots: {', '.join(own)}" if own else "no robot (a subclass of polygait.Robot)"
        raise UserError(f"{source} holds {found}.", f"Name one: {source}:NAME.")
    return next(iter(own))


def _taken(module: ModuleType, reference: Reference) -> Maker:
    """What a module has under a name; a robot's class, a robot, or a function that makes a task."""
    found: Any = module
    for word in reference.attribute.split("."):
        found = getattr(found, word, None)
    if found is None:
        raise unknown_name(f"robot of {reference.source}", reference.attribute, _robots_in(module))
    if not callable(found) and not isinstance(found, Robot):
        raise UserError(
            f"{reference} is {found!r}, not a robot.", "Name a subclass of polygait.Robot, or one made of it."
        )
    return found
