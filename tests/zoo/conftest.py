"""What tests of the zoo share: a home of their own, so that nobody's results are touched."""

import pytest


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Where copies of populations go."""
    monkeypatch.setenv("POLYGAIT_HOME", str(tmp_path / "home"))
    return tmp_path / "home"
