"""The faults with which proofs have to fail can be planted: the proofs themselves take long, and are run seldom."""

from tests.support.faults.proof_faults import ALL_PROOF_FAULTS


def test_every_fault_changes_one_place_of_the_source() -> None:
    for fault in ALL_PROOF_FAULTS:
        assert fault.changed().__code__ != fault.function.__code__, fault.text
    assert len({(fault.function, fault.text) for fault in ALL_PROOF_FAULTS}) == len(ALL_PROOF_FAULTS)
