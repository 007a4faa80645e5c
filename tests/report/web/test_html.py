"""HTML: whatever a user calls things, it stays text."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from polygait.report.web.html import Html, command, joined, script_data, table, tag


def test_text_is_escaped_and_html_is_not():
    assert tag("p", "<b>", Html("<i>x</i>"), None) == "<p>&lt;b&gt;<i>x</i></p>"
    assert tag("img", alt='a"<b', src="data:") == '<img alt="a&quot;&lt;b" src="data:">'


def test_attributes():
    found = tag("div", class_="a", aria_label="b", hidden=True, open=False, title=None, tabindex=0)
    assert found == '<div class="a" aria-label="b" hidden tabindex="0"></div>'


@settings(max_examples=40)
@given(
    st.recursive(st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))
)
def test_data_cannot_leave_its_element(value):
    element = script_data("data", {"value": value})
    body = element.removeprefix('<script type="application/json" id="data">').removesuffix("</script>")
    assert "<" not in body and json.loads(body) == {"value": value}


def test_tables_and_commands_hold_text():
    assert "&lt;script&gt;" in table(["name"], [["<script>"]])
    assert "&lt;x&gt;" in command("polygait train <x>")
    assert joined(["a&b", None, Html("<hr>")]) == "a&amp;b<hr>"
