"""What the documents cite exists: files, names in the code, public names, benchmarks."""

import ast
import functools
import re
from pathlib import Path

import pytest
from mujoco.batch import Batch

import polygait as pg
from polygait.variations import FORMS

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "polygait"
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
TOP = ("benchmarks/", "docs/", "examples/", "scripts/", "src/", "studies/", "tests/", "typings/")
FILE_ENDINGS = (
    "csv",
    "html",
    "json",
    "jsonl",
    "md",
    "parquet",
    "png",
    "svg",
    "toml",
    "txt",
    "TXT",
    "mp4",
    "py",
)
FOREIGN = {"gymnasium.make_vec", "make_vec_env", *(f"Batch.{name}" for name in dir(Batch)), *FORMS, "any"}
"""Names of others that documents speak of like ours, and the keywords of the language of faults."""


@functools.cache
def definitions(path: Path) -> frozenset[str]:
    """Every function, class, method, field and variable that a file defines."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(node.attr)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return frozenset(found)


@functools.cache
def all_definitions() -> frozenset[str]:
    return frozenset().union(*(definitions(file) for file in PACKAGE.rglob("*.py")))


def cited_file(text: str) -> Path | None:
    """The file that a document means: from the root, from the package, or by its name alone."""
    places = [
        ROOT / text,
        PACKAGE.parent / text,
        PACKAGE / text,
        *([] if "/" in text else PACKAGE.rglob(text)),
    ]
    return next((place for place in places if place.exists()), None)


def prose(page: Path) -> str:
    """A document without its blocks of code."""
    return re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)


def missing_files(text: str) -> list[str]:
    """Files of this repository in backticks that do not exist; what a user makes is not looked for."""
    cited = re.findall(r"`([\w./-]+)`", text)
    ours = [one for one in cited if one.startswith(TOP) or re.fullmatch(r"[a-z_/]+\.py", one)]
    return [one for one in ours if "NAME" not in one and cited_file(one) is None]


def missing_names(text: str) -> list[str]:
    """Names in backticks that are not in the file named before them, or, calls and members, nowhere."""
    found = []
    for file, names in re.findall(r"`([\w/]+\.py)`((?:, (?:trained in )?`[\w.]+`)+)", text):
        path = cited_file(file)
        known = definitions(path) if path is not None else frozenset()
        found += [
            f"{file}: {name}"
            for name in re.findall(r"`([\w.]+)`", names)
            if not name.endswith(".py") and not {*name.split(".")} <= known
        ]
    for called, member in re.findall(r"`([A-Za-z_][\w.]*)\([^`]*\)`|`(_[a-z]\w*|[A-Z]\w*\.\w+)`", text):
        cited = called or member
        last = cited.split(".")[-1]
        if last not in all_definitions() and cited not in FOREIGN and last not in FILE_ENDINGS:
            found.append(cited)
    return found


def missing_public_names(text: str) -> list[str]:
    return [name for name in re.findall(r"\bpg\.(?!(?:md|py)\b)(\w+)", text) if name not in dir(pg)]


def missing_benchmarks(text: str) -> list[str]:
    cited = re.findall(r"\./dev bench (\w+)", text)
    return [name for name in cited if not (ROOT / "benchmarks" / f"{name}.py").exists()]


def broken_links(page: Path) -> list[str]:
    targets = re.findall(r"\]\(([^)#]+)", page.read_text())
    return [one for one in targets if "://" not in one and not (page.parent / one).exists()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_whatever_a_document_cites_exists(page):
    text = page.read_text()
    assert not broken_links(page)
    assert not missing_files(prose(page))
    assert not missing_names(prose(page))
    assert not missing_public_names(text)
    assert not missing_benchmarks(text)


def test_what_does_not_exist_is_found():
    """The test above can fail."""
    file = "diversity/methods/dir.py"
    text = f"`{file}`, `update`; `{file}`, `_fit`; `tests/nothing`; `no_such.py`"
    assert missing_names(text) == ["diversity/methods/dir.py: _fit"]
    assert missing_files(text) == ["tests/nothing", "no_such.py"]
    assert missing_names(
        "`no_such_thing()`, `adapt(population)`, `Regulation.intrinsic_reward`, `Regulation.none`"
    ) == [
        "no_such_thing",
        "Regulation.none",
    ]
    assert missing_public_names("pg.train, pg.trian") == ["trian"]
    assert missing_benchmarks("./dev bench race, ./dev bench rays") == ["rays"]
