"""Classes by name: ours without importing them, others' by entry point, and what is wrong with either."""

import subprocess
import sys

import pytest

from polygait.diversity.method import Method
from polygait.diversity.methods.dir import Regulation
from polygait.diversity.registry import METHODS
from polygait.errors import UserError
from polygait.learning.registry import LEARNERS
from tests.outside import write_package

SOURCE = """
from polygait.diversity.methods.multi import Multi

class Lonely(Multi):
    name = "lonely-one"
    title = "Lonely"

class Stranger:
    name = "stranger"
"""
POINTS = {
    "lonely-one": "other_lab_methods:Lonely",
    "stranger": "other_lab_methods:Stranger",
    "missing": "other_lab_methods:Missing",
    "nowhere": "a_module_that_is_not_there:Method",
    "dir": "other_lab_methods:Lonely",
}


@pytest.fixture
def package(tmp_path, monkeypatch):
    write_package(tmp_path / "site", "other_lab_methods", SOURCE, {"polygait.methods": POINTS})
    monkeypatch.syspath_prepend(tmp_path / "site")
    yield
    sys.modules.pop("other_lab_methods", None)


def test_our_own_are_found_by_the_names_they_say():
    assert METHODS.names()[:5] == ["dir", "dvd", "multi", "pg", "smerl"]
    assert {"ppo", "sac"} <= set(LEARNERS.names())
    for registry in (METHODS, LEARNERS):
        for name, found in zip(registry.names(), registry.all(), strict=True):
            assert found.name == name
    assert METHODS.find("dir") is Regulation


def test_names_are_told_without_importing_anything():
    program = (
        "import sys\n"
        "from polygait.diversity.registry import METHODS\n"
        "from polygait.learning.registry import LEARNERS\n"
        "assert METHODS.names() and LEARNERS.names()\n"
        "homes = 'polygait.diversity.methods.', 'polygait.learning.learners.', 'polygait.experiments.'\n"
        "sys.exit(', '.join(name for name in sys.modules if name.startswith(homes)) or None)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("name", "near"), [("dirr", "'dir'"), ("smerls", "'smerl'"), ("lonely", "'lonely-one'"), ("", "dvd")]
)
def test_an_unknown_name_gets_a_near_match(package, name, near):
    with pytest.raises(UserError, match=f"Unknown method: '{name}'") as caught:
        METHODS.find(name)
    assert near in str(caught.value)


def test_another_package_adds_its_own(package):
    assert "lonely-one" in METHODS.names()
    assert "other_lab_methods" not in sys.modules  # only named so far
    found = METHODS.find("lonely-one")
    assert issubclass(found, Method) and found.title == "Lonely" and not found.has_bonus


def test_another_package_does_not_replace_ours(package):
    assert METHODS.find("dir") is Regulation and METHODS.names().count("dir") == 1


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("missing", ["cannot be loaded from other_lab_methods:Missing", "Mend or uninstall"]),
        ("nowhere", ["cannot be loaded from a_module_that_is_not_there:Method", "No module named"]),
        ("stranger", ["not a subclass of Method", "other_lab_methods:Stranger"]),
    ],
)
def test_a_broken_entry_point_is_a_users_error(package, name, words):
    with pytest.raises(UserError) as caught:
        METHODS.find(name)
    for word in (f"The method '{name}'", *words):
        assert word in str(caught.value)
