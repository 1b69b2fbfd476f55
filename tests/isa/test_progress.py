"""What long work says about itself: now and then, to whoever listens, and that it is over in any case."""

import logging
import time

import pytest

from isa.progress import LOGGER, counted, tell, told


@pytest.fixture
def heard(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.DEBUG, LOGGER)
    return caplog


def test_items_come_as_they_are_and_nothing_is_said_to_nobody(caplog: pytest.LogCaptureFixture) -> None:
    assert list(counted(range(5), "working")) == [0, 1, 2, 3, 4]
    assert list(counted(iter("ab"), "working")) == ["a", "b"]
    tell("working", 1, 2, "steps")
    assert caplog.messages == []


def test_it_is_said_how_many_were_taken_and_when_it_is_over(
    heard: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter([0.0, 0.05, 0.1, 0.15, 1000.0])
    monkeypatch.setattr(time, "monotonic", times.__next__)
    assert list(counted(range(5), "working", unit="steps")) == [0, 1, 2, 3, 4]
    assert heard.messages == [
        "working: 0 of 5 steps",
        "working: 2 of 5 steps",
        "working: 4 of 5 steps",
        "working: over",
    ]
    last = vars(heard.records[-2])
    assert {key: last[key] for key in ("what", "done", "total", "unit", "note", "busy")} == {
        "what": "working", "done": 4, "total": 5, "unit": "steps", "note": "", "busy": True,
    }  # fmt: skip
    assert not vars(heard.records[-1])["busy"]


def test_a_total_that_nobody_knows_is_left_out(heard: pytest.LogCaptureFixture) -> None:
    list(counted(iter(range(3)), "searching", unit="candidates"))
    assert heard.messages[0] == "searching: 0 candidates"


def test_work_that_is_left_or_fails_is_over_too(heard: pytest.LogCaptureFixture) -> None:
    for item in counted(range(9), "left"):
        if item == 3:
            break
    with pytest.raises(ValueError, match=r"^no$"):  # noqa: PT012  # the loop is what is left
        for _ in counted(range(9), "failing"):
            raise ValueError("no")
    assert [text for text in heard.messages if text.endswith("over")] == ["left: over", "failing: over"]
    told("other")
    assert heard.messages[-1] == "other: over"
