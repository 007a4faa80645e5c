"""The page as a reader has it, in a real browser. Screenshots are left in test-artefacts/report."""

import itertools
from pathlib import Path

import pytest
from tests.report.conftest import copy_run
from tests.report.run.test_page import keep_damage
from tests.report.study.made_up import made_up
from tests.report.web.browser import Browser, find_browser
from tests.study import small

from polygait.report.run.page import ReportConfig, write_report
from polygait.report.study.contents import study_figures, study_sources
from polygait.report.study.page import study_page
from polygait.report.study.tables import all_tables
from polygait.study.grid import read_study

SCREENSHOTS = Path(__file__).parents[3] / "test-artefacts" / "report"
DESK, PHONE = (1280, 900), (390, 844)
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    program = find_browser()
    if program is None:
        pytest.skip(
            "No Chromium or Chrome here (Debian: apt install chromium): the page is not tested in a browser"
        )
    found = Browser(program, tmp_path_factory.mktemp("profile"))
    yield found
    found.close()


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    run = copy_run(folder / "<b>walker</b>".replace("/", "∕"))
    keep_damage(run)
    return write_report(run, folder / "page.html", ReportConfig(renderer="rays")).path


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A study's page with charts of one and of several panels."""
    folder = tmp_path_factory.mktemp("study")
    asked, results = read_study(small.write(folder, "<i>small<∕i>")), made_up()
    sources = study_sources(results)
    ours = [source for source in sources if source.label != "published"]
    text = study_page(asked, results, all_tables(sources), study_figures(results, ours))
    (folder / "study.html").write_text(text)
    return folder / "study.html"


def middle(browser, selector):
    """The middle of an element in the window."""
    box = browser.evaluate(
        f"(() => {{ const one = document.querySelector({selector!r}); one.scrollIntoView({{block: 'center', "
        "behavior: 'instant'}); const box = one.getBoundingClientRect(); "
        "return [box.x + box.width / 2, box.y + box.height / 2]; })()"
    )
    return tuple(box)


def shown(browser):
    return browser.evaluate(
        "[...document.querySelectorAll('[role=tabpanel]:not([hidden])')].map(one => one.id)"
    )


def test_the_page_needs_no_network_and_has_no_error(browser, page):
    browser.requests.clear()
    browser.errors.clear()
    for (width, height), dark in itertools.product((DESK, PHONE), (False, True)):
        browser.open(page, width, height, dark)
        assert browser.evaluate("document.documentElement.scrollWidth") <= width
        drawn = browser.evaluate("document.querySelectorAll('.plot svg').length")
        assert drawn == 6  # the map, one contact pattern, the conditions, one sweep, two learning curves
        theme = browser.evaluate("document.documentElement.dataset.theme")
        assert theme == ("dark" if dark else "light")
        browser.screenshot(SCREENSHOTS / f"{'phone' if width < 600 else 'desk'}-{theme}.png")
    assert {request.partition(":")[0] for request in browser.requests} == {"file", "data"}
    assert {request for request in browser.requests if request.startswith("file")} == {page.as_uri()}
    assert browser.errors == []
    assert browser.evaluate("document.querySelector('h1').textContent").startswith("<b>walker")


def test_a_study_is_shown_in_the_same_frame(browser, study):
    browser.requests.clear()
    browser.errors.clear()
    for (width, height), dark in itertools.product((DESK, PHONE), (False, True)):
        browser.open(study, width, height, dark)
        assert browser.evaluate("document.documentElement.scrollWidth") <= width
        heights = browser.evaluate("[...document.querySelectorAll('.plot svg')].map(one => one.clientHeight)")
        assert len(heights) == 3 and min(heights) > 100  # percentiles, contacts, members one after another
        name = f"study-{'phone' if width < 600 else 'desk'}-{'dark' if dark else 'light'}.png"
        browser.screenshot(SCREENSHOTS / name)
    assert {request for request in browser.requests if not request.startswith("data:")} == {study.as_uri()}
    assert browser.errors == []
    assert browser.evaluate("document.querySelector('h1').textContent") == "<i>small<∕i>"


def test_a_click_changes_the_member(browser, page):
    browser.open(page, *DESK)
    assert shown(browser) == ["member-1"]
    browser.click(*middle(browser, "#tab-3"))
    assert shown(browser) == ["member-3"]
    browser.wait_for("document.querySelector('#plot-contacts-member-3 svg') !== null")
    place = middle(
        browser, "#plot-population-map .mark-text.role-mark text"
    )  # the number of the first member
    browser.hover(*place)
    browser.wait_for("document.querySelector('#vg-tooltip-element.visible') !== null")
    told = browser.evaluate("document.querySelector('#vg-tooltip-element').textContent")
    assert "member" in told and "right foot on the ground" in told
    browser.click(*place)
    browser.wait_for("document.querySelector('#member-0:not([hidden])') !== null")
    assert shown(browser) == ["member-0"]


def test_members_are_reached_with_the_keyboard(browser, page):
    browser.open(page, *DESK)
    browser.evaluate("document.querySelector('nav a:last-child').focus()")
    browser.press("Tab", 9)
    assert browser.evaluate("document.activeElement.tagName") in ("SUMMARY", "BUTTON")
    for _ in range(10):
        if browser.evaluate("document.activeElement.getAttribute('role')") == "tab":
            break
        browser.press("Tab", 9)
    assert browser.evaluate("document.activeElement.id") == "tab-1"
    browser.press("ArrowRight", 39)
    assert shown(browser) == ["member-2"] and browser.evaluate("document.activeElement.id") == "tab-2"
    browser.press("End", 35)
    browser.press("ArrowRight", 39)
    assert shown(browser) == ["member-0"]


def test_axes_theme_and_address(browser, page):
    browser.open(page, *DESK)
    before = browser.evaluate("document.querySelector('#plot-population-map').textContent")
    browser.evaluate(
        "(() => { const one = document.querySelector('select[data-axis=x]'); one.value = 'speed'; "
        "one.dispatchEvent(new Event('change')); })()"
    )
    browser.wait_for(
        "document.querySelector('#plot-population-map').textContent.includes('forward speed (m/s)')"
    )
    assert "forward speed" not in before
    browser.click(*middle(browser, "#theme"))
    assert browser.evaluate("document.documentElement.dataset.theme") == "dark"
    browser.evaluate("localStorage.clear()")
    browser.evaluate("location.hash = '#member-4'")
    browser.wait_for("document.querySelector('#member-4:not([hidden])') !== null")
    assert shown(browser) == ["member-4"]
    browser.call("Page.navigate", url="about:blank")
    browser.call("Page.navigate", url=f"{page.as_uri()}#member-2")
    browser.wait_for("document.documentElement?.dataset.ready === 'true'")
    assert shown(browser) == ["member-2"]
    assert browser.errors == []
