"""The site of docs/: every page has its place, every public name its entry; nothing comes from outside."""

import importlib.util
import itertools
import re
import subprocess
import sys
from pathlib import Path

import pytest

import polygait as pg
from tests.report.web.browser import Browser, find_browser

ROOT = Path(__file__).parents[1]
DOCS, SCREENSHOTS = ROOT / "docs", ROOT / "test-artefacts" / "site"
SHOWN = ("index", "tutorial", "how-to", "gallery", "api", "results")
WINDOWS = {"desk": (1280, 900), "phone": (390, 844)}


def configuration():
    spec = importlib.util.spec_from_file_location("conf", DOCS / "conf.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_page_is_in_the_table_of_contents():
    listed = [
        page for pages in configuration().contents((DOCS / "index.md").read_text()).values() for page in pages
    ]
    there = [
        str(page.relative_to(DOCS).with_suffix(""))
        for page in DOCS.rglob("*.md")
        if page.parent.name != "tables"  # of a report, which has them all on a page of its own
    ]
    assert sorted([*listed, "index"]) == sorted(there)


def test_the_table_of_contents_is_in_sections():
    assert configuration().contents(
        "# T\n[a](a.md)\n\n## One\n- [b](b.md), [c](d/c.md)\n\n## Two\n[e](e.md)\n"
    ) == {
        "One": ["b", "d/c"],
        "Two": ["e"],
    }


def test_every_public_name_is_in_the_python_interface():
    listed = re.findall(r"^- `pg\.(\w+)`: ", (DOCS / "api.md").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(pg.__all__)


def test_docstrings_become_restructured_text():
    lines = ["Draw `member` in a*b.", "", "    polygait render", "", "More ``here``."]
    configuration().as_rst(None, "function", "f", None, None, lines)
    assert lines == ["Draw ``member`` in a\\*b.", "", "::", "", "    polygait render", "", "More ``here``."]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    for package in ("sphinx", "myst_parser", "furo"):
        pytest.importorskip(package)
    target = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet", "-b", "html"]
    done = subprocess.run([*command, str(DOCS), str(target)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return target


@pytest.mark.slow
def test_the_site_is_built_without_a_warning_and_links_nothing_outside_to_load(site):
    pages = sorted(site.rglob("*.html"))
    assert {"index.html", "tutorial.html", "api.html", "gallery.html"} <= {page.name for page in pages}
    assert "polygait.train" in (site / "api.html").read_text()
    loaded = r"(?:<(?:script|img|source|iframe)[^>]+src|<link[^>]+href)=\"(?:https?:)?//[^\"]*"
    assert not [found for page in pages for found in re.findall(loaded, page.read_text())]


@pytest.mark.slow
def test_the_site_in_a_browser_asks_nothing_of_others_and_fits(site, tmp_path):
    """On a desk and on a phone, in the light and in the dark; screenshots are left in test-artefacts/site."""
    program = find_browser()
    if program is None:
        pytest.skip("No Chromium or Chrome here (Debian: apt install chromium)")
    browser = Browser(program, tmp_path / "profile")
    try:
        for page, (place, size), dark in itertools.product(SHOWN, WINDOWS.items(), (False, True)):
            ready = f"document.readyState === 'complete' && location.href.endsWith('{page}.html')"
            browser.open(site / f"{page}.html", *size, dark, ready)
            browser.screenshot(SCREENSHOTS / f"{page}-{place}-{'dark' if dark else 'light'}.png")
            assert browser.evaluate("document.documentElement.scrollWidth") <= size[0], (page, place)
            assert browser.evaluate("[...document.images].every(one => one.naturalWidth > 0)"), page
        assert not browser.errors
        assert browser.requests and all(one.startswith(("file:", "data:")) for one in browser.requests)
    finally:
        browser.close()


@pytest.mark.slow
def test_the_tutorials_robot_is_one(tmp_path):
    """Its model passes the check, is written out as a file, and both are trained."""
    (model,) = re.findall(
        r"^```xml\n(.*?)^```$", (DOCS / "tutorial.md").read_text(), re.MULTILINE | re.DOTALL
    )
    (tmp_path / "scooter.xml").write_text(model)
    for words in (
        "tasks scooter.xml --check",
        "tasks scooter.xml --write my_scooter.py",
        "train scooter.xml --members 2 --steps 4096 --out scooter",
        "adapt scooter --task scooter.xml --variation broken-front-left-knee --episodes 1 --held-out 1",
        "train my_scooter.py:Scooter --members 1 --steps 4096 --out mine",
    ):
        command = [sys.executable, "-m", "polygait", *words.split()]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (words, done.stderr)
