"""How much memory there is, and what is refused for want of it."""

import subprocess
import sys

import pytest

from polygait.errors import UserError
from polygait.memory import machine_memory, require_memory, size_text


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (830, "830 B"),
        (4_500, "4.5 kB"),
        (12_345_678, "12 MB"),
        (10**12, "1.0 TB"),
        (10**21, "1,000 EB"),
        (10**5000, "1,000,000,000,000 EB"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_sizes_for_people(count, text):
    assert size_text(count) == text


def test_what_does_not_fit_is_refused_with_its_size():
    have = machine_memory()
    assert 2**28 < have < 2**50
    require_memory("It", have, "Take less.")
    with pytest.raises(
        UserError, match=r"It would need about 1\.0 EB of memory; this machine has .*B\."
    ) as caught:
        require_memory("It", 10**18, "Take less.")
    assert caught.value.remedy == "Take less."


def test_a_limit_of_the_process_counts():
    code = (
        "import resource\n"
        "from polygait.memory import machine_memory\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2**29, 2**29))\n"
        "assert machine_memory() == 2**29"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
