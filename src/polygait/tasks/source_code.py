"""The text behind a class: what must change for it to behave otherwise.

Text, not bytecode or syntax trees: it is the same on every machine and in every version of Python.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib.metadata
import inspect
import sys
import sysconfig
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

_WHOLE = "*"  # stands for all names of a module
_INSTALLED = ("stdlib", "platstdlib", "purelib", "platlib")


class Definition(NamedTuple):
    """One name at the top of a module."""

    module: str
    name: str


def source_of(kind: type) -> list[str]:
    """The text of a class and its bases, and of all that they mention, sorted; polygait's own are left out.

    Followed are names at the top of their modules, and names that these import from the same package or from
    files that nobody installed. Installed packages are known by their version.
    """
    home = kind.__module__.partition(".")[0]
    waiting = [
        Definition(one.__module__, one.__qualname__.partition(".")[0])
        for one in kind.__mro__
        if _is_followed(one.__module__, home)
    ]
    found: dict[Definition, str] = {}
    while waiting:
        wanted = waiting.pop()
        if wanted in found:
            continue
        found[wanted], mentioned = _definition(wanted)
        waiting += [one for name in mentioned if (one := _meant(wanted.module, name, home))]
    if not any(found.values()):  # a class without a file, as typed at a prompt
        return sorted(_functions(kind, home))
    return sorted(text for text in found.values() if text)


@functools.lru_cache(maxsize=64)
def package_version(module: str) -> str:
    """Name and version of the package that holds a module; nothing for a file that nobody installed."""
    top = module.partition(".")[0]
    with contextlib.suppress(importlib.metadata.PackageNotFoundError, ValueError):
        return f"{top} {importlib.metadata.version(top)}"
    if top == "__main__" or _file_of(sys.modules.get(module)) is None or not is_installed(module):
        return ""
    # A package that is called otherwise than its module; looking through all of them takes a while.
    names = sorted(set(importlib.metadata.packages_distributions().get(top, ())))
    return ", ".join(f"{name} {importlib.metadata.version(name)}" for name in names)


def is_installed(module: str) -> bool:
    """Whether a module lies where Python keeps its own modules and installed packages."""
    file = _file_of(sys.modules.get(module))
    if file is None:
        return True  # built into Python, or typed at its prompt
    return any(file.is_relative_to(folder) for folder in _installed_folders())


def _is_followed(module: str, home: str) -> bool:
    top = module.partition(".")[0]
    if top == "polygait" or module not in sys.modules:
        return False
    return top in ("__main__", home) or not is_installed(module)


def _definition(wanted: Definition) -> tuple[str, set[str]]:
    """The text that binds a name at the top of its module, and the names that it mentions."""
    texts, mentioned = [], set()
    text = _text(wanted.module)
    if wanted.name == _WHOLE:
        return text, set()
    for node in _tree(text).body:
        if wanted.name in _bound(node):
            texts.append(ast.get_source_segment(text, _with_decorators(node)) or "")
            mentioned |= {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    return "\n".join(line.rstrip() for one in texts for line in one.splitlines()), mentioned


def _with_decorators(node: ast.stmt) -> ast.stmt:
    """A definition whose text begins with its first decorator."""
    decorators = getattr(node, "decorator_list", [])
    if decorators:
        node.lineno, node.col_offset = decorators[0].lineno, 0
    return node


def _bound(node: ast.stmt) -> set[str]:
    """The names that a statement at the top of a module gives a meaning; imports are followed elsewhere."""
    found = set()
    for one in ast.walk(node):
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
            found.add(one.id)
        elif isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(one.name)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    return found


def _meant(module: str, name: str, home: str) -> Definition | None:
    """The definition behind a name that a module's code mentions, if it is to be followed."""
    value = getattr(sys.modules[module], name, None)
    if isinstance(value, types.ModuleType):
        return Definition(value.__name__, _WHOLE) if _is_followed(value.__name__, home) else None
    owner, own_name = getattr(value, "__module__", None), getattr(value, "__name__", None)
    if isinstance(value, type | types.FunctionType) and owner != module and isinstance(owner, str):
        return Definition(owner, str(own_name)) if _is_followed(owner, home) else None
    return Definition(module, name)


def _functions(kind: type, home: str) -> Iterator[str]:
    """The text of every function of a class and its bases, or their code where there is no text."""
    for base in kind.__mro__:
        for name, value in vars(base).items() if _is_followed(base.__module__, home) else ():
            code: Any = getattr(inspect.unwrap(value) if callable(value) else value, "__code__", None)
            if code is None:
                yield f"{name} = {value!r}" if isinstance(value, str | int | float | tuple) else name
                continue
            try:
                yield inspect.getsource(code)
            except OSError:
                yield f"{name} {code.co_code.hex()} {code.co_consts!r} {code.co_names!r}"


def _text(module: str) -> str:
    try:
        return inspect.getsource(sys.modules[module])
    except (OSError, TypeError, KeyError):
        return ""


@functools.lru_cache(maxsize=64)
def _tree(text: str) -> ast.Module:
    return ast.parse(text)


def _file_of(module: types.ModuleType | None) -> Path | None:
    file = getattr(module, "__file__", None)
    return Path(file).resolve() if file else None


@functools.cache
def _installed_folders() -> tuple[Path, ...]:
    paths = sysconfig.get_paths()
    return tuple(Path(paths[name]).resolve() for name in _INSTALLED)
