"""Texts as names of files: readable where possible, never a path."""

from pathlib import Path

import pytest

from polygait.storage.file_names import file_name


@pytest.mark.parametrize("text", ["broken-foot", "foot-mass=1.5+broken-foot@300", "a.b", "x" * 80])
def test_plain_names_stay(text):
    assert file_name(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".",
        "..",
        "../../x",
        "/etc/passwd",
        ".lock",
        "a/b",
        "a\\b",
        "a\0b",
        "a\nb",
        "ö",
        "\ud800",
        "x" * 300,
    ],
)
def test_other_names_become_harmless(tmp_path, text):
    name = file_name(text)
    assert name != text and not name.startswith(".") and len(name) < 100
    assert (tmp_path / name).parent == tmp_path and Path(name).name == name
    (tmp_path / name).write_text("")


def test_different_texts_have_different_names():
    texts = ["a/b", "a_b", "a b", "", "_", ".", "..", "x" * 81, "x" * 82]
    assert len({file_name(text) for text in texts}) == len(texts)
