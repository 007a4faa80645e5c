"""What tests of studies share."""

import pytest
from tests.study import small


@pytest.fixture(scope="module")
def terminal():
    opened = small.Terminal()
    yield opened
    opened.close()
