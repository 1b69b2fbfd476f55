"""Faults planted in recorded streams are found, and at the right instruction: a sample, all with `make test-long`."""

import pytest

from bench.faults import recorded_streams, right_share, run
from tests.support.faults.fault_verdict import Outcome
from tests.support.faults.seeded_faults import BROKEN, LEGAL

KINDS = {"broken": BROKEN, "legal": LEGAL}


def shares(kind: str, *, seed: int, count: int) -> tuple[float, set[Outcome]]:
    table = run(recorded_streams(), seed, count, KINDS[kind], verbose=True)
    return right_share(table), {outcome for row in table.values() for outcome in row}


@pytest.mark.parametrize("kind", KINDS)
def test_a_sample_of_faults_is_found_at_the_right_instruction(kind: str) -> None:
    share, outcomes = shares(kind, seed=1, count=60)
    assert share >= 0.99
    assert outcomes >= ({Outcome.CHECKED, Outcome.DIFFED} if kind == "broken" else {Outcome.DIFFED})


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_a_thousand_faults_are_found_at_the_right_instruction(kind: str) -> None:
    assert shares(kind, seed=7, count=1000)[0] >= 0.99
