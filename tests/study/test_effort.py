"""What a job costs: counted over its processes, and never in the way of its result."""

import pytest

from polygait.study.effort import FILE, Effort, Meter, read_effort


def test_every_process_adds_its_own(tmp_path):
    assert read_effort(tmp_path) is None
    first = Meter(tmp_path)
    first.write()
    first.write()
    one = read_effort(tmp_path)
    assert one is not None and one.processes == 1 and one.seconds > 0
    Meter(tmp_path).write()
    two = read_effort(tmp_path)
    assert two is not None and two.processes == 2 and two.seconds >= 2 * one.seconds - 0.2


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"null",
        b'{"processes":1}',
        b'{"processes":0,"seconds":1.0}',
        b'{"processes":true,"seconds":1.0}',
        b'{"processes":1,"seconds":-1.0}',
        b'{"processes":1,"seconds":"long"}',
        b'{"processes":1,"seconds":NaN}',
        b" " * 2000,
    ],
)
def test_what_cannot_be_read_is_not_known(content, tmp_path):
    (tmp_path / FILE).write_bytes(content)
    assert read_effort(tmp_path) is None
    Meter(tmp_path).write()  # and the next process begins to count
    found = read_effort(tmp_path)
    assert found is not None and found.processes == 1


def test_it_is_read_as_it_was_written(tmp_path):
    Effort(3, 12.5).write(tmp_path)
    assert read_effort(tmp_path) == Effort(3, 12.5)
