"""Capsules: taken of any run, equal files for equal capsules, and replayed to the bit and the cycle."""

from dataclasses import replace
from pathlib import Path

import pytest

from isa.instructions import Deps, Finish, Gemm, Load, MemoryId
from isa.machine.hardware_config import HardwareConfig
from isa.program import Program
from runtime.devices.device import DeadlockError
from runtime.devices.tsim.device import RtlSimulator
from runtime.memory.device_memory import DeviceMemory
from runtime.session import Session
from tests.support.compiler.convolution import Convolution
from tests.support.configs import CONFIGS
from tests.support.runtime.recorded_runs import some_program
from vta.inspect.capsule import Capsule, CapsuleError, Capture, DeviceSpec, Outcome, load_capsule, replay, save_capsule
from vta.inspect.capsule.replay import differences

CONFIG = CONFIGS["default"]


def capsule_of(session: Session, *programs: Program) -> Capsule:
    capture = Capture(session, name="test")
    for program in programs:
        capture.run_program(program)
    capsule = capture.capsule()
    assert capsule is not None
    return capsule


def stuck_program() -> Program:
    instructions = (
        Load(memory=MemoryId.INP, dram_base=0x100, x_size=1, y_size=1),
        Gemm(deps=Deps(pop_prev=True)),
        Finish(),
    )
    return replace(some_program(0), instructions=instructions, origins=())


@pytest.mark.parametrize("device", ["reference", "sim", "tsim"])
def test_a_capsule_replays_to_the_same_memory_and_cycles(tmp_path: Path, device: str) -> None:
    capsule = capsule_of(Session(CONFIG, device), some_program(1), some_program(2))
    save_capsule(capsule, tmp_path / "c")
    loaded = load_capsule(tmp_path / "c")
    assert loaded == capsule
    assert replay(loaded) == []
    assert [outcome.kind for outcome in capsule.outcomes] == ["finished", "finished"]
    assert all((outcome.cycles is not None) == (device == "tsim") for outcome in capsule.outcomes)
    assert len({outcome.digest for outcome in capsule.outcomes}) == 2


def test_all_devices_leave_the_same_digest() -> None:
    digests = {capsule_of(Session(CONFIG, device), some_program(5)).outcomes[0].digest for device in ("sim", "tsim")}
    assert len(digests) == 1


def test_the_hardwares_parameters_and_stalls_are_part_of_it(tmp_path: Path) -> None:
    device = RtlSimulator(
        CONFIG, DeviceMemory(1 << 32), hardware=HardwareConfig(data_width=128), latency=7, stall_seed=11
    )
    capsule = capsule_of(Session(CONFIG, device), some_program(3))
    assert (capsule.spec.latency, capsule.spec.stall_seed) == (7, 11)
    assert capsule.spec.hardware["data_width"] == 128
    assert replay(capsule) == []
    other = replace(capsule, spec=replace(capsule.spec, stall_seed=12))
    [difference] = replay(other)
    assert difference.startswith(f"launch 0: expected {capsule.outcomes[0].cycles} cycles, and now ")


def test_a_failure_is_an_outcome_and_replays() -> None:
    capture = Capture(Session(CONFIG, "sim"))
    capture.run_program(some_program(1))
    with pytest.raises(DeadlockError) as caught:
        capture.run_program(stuck_program())
    capsule = capture.capsule()
    assert capsule is not None
    assert capsule.outcomes[-1].failed
    assert (capsule.outcomes[-1].kind, capsule.outcomes[-1].message) == ("DeadlockError", str(caught.value))
    assert replay(capsule) == []


def test_launches_of_a_queue_are_taken_with_the_memory_that_they_found() -> None:
    session = Session(CONFIG, "sim", instruction_limit=29)
    capture = Capture(session)
    convolution = Convolution(session, 2, steps=5)
    with capture.watching(), session.program():
        convolution.calls()
    capsule = capture.capsule()
    assert capsule is not None
    assert len(capsule.programs) > 1
    assert all(not outcome.failed for outcome in capsule.outcomes)
    images = [program.memory.segments[-1].data for program in capsule.programs]
    assert len(set(images)) > 1  # a launch finds what those before it stored
    assert replay(capsule) == []


def test_equal_capsules_are_equal_files(tmp_path: Path) -> None:
    capsule = capsule_of(Session(CONFIG, "sim"), some_program(1))
    for name in ("a", "b"):
        save_capsule(capsule, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_every_difference_is_named() -> None:
    base = Outcome("finished", "", 100, "a" * 64)
    cases = {
        "launch 0: expected finished, and now DeadlockError (stuck)": replace(
            base, kind="DeadlockError", message="stuck"
        ),
        "launch 0: expected 100 cycles, and now 101": replace(base, cycles=101),
        f"launch 0: memory differs afterwards: expected digest {'a' * 16}, and now {'b' * 16}": replace(
            base, digest="b" * 64
        ),
    }
    for sentence, found in cases.items():
        assert list(differences([base], [found])) == [sentence]
    assert list(differences([base, base], [base])) == ["launch 1 was not reached"]


def test_a_file_that_is_no_capsule_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "c"
    path.write_bytes(b"PK\x03\x04nothing")
    with pytest.raises(CapsuleError, match=r"c: this is no capsule, or a damaged one: "):
        load_capsule(path)
    capsule = capsule_of(Session(CONFIG, "sim"), some_program(1))
    save_capsule(capsule, path)
    whole = path.read_bytes()
    for length in (20, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(CapsuleError, match=r"c: this is no capsule, or a damaged one: "):
            load_capsule(path)


def test_nothing_launched_is_no_capsule() -> None:
    assert Capture(Session(CONFIG, "sim")).capsule() is None
    assert DeviceSpec.of(Session(CONFIG, "sim").device) == DeviceSpec("sim")
