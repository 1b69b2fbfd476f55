"""An engine with one operation patched, or one expression of its source: the differ names where that first shows.

All 200 faults, and more: ``python -m bench.faults --faults 200 --engine all``.
"""

import inspect
from collections.abc import Sequence

import numpy as np
import pytest

from isa.config import VTAConfig
from tests.support.faults.engine_fault_verdict import judge_engine_faults
from tests.support.faults.rtl_faults import RTL_FAULTS
from tests.support.faults.sim_faults import SIM_FAULTS, faulty_simulator, simulator_engine
from tests.support.faults.source_faults import SourceFault
from tests.support.isa.random_programs import random_program
from vta.inspect.diff.differ import diff_engines, engines_by_name


@pytest.mark.parametrize(
    ("engine", "count", "first"),
    [("reference", 30, 0), ("sim", 4, 0), pytest.param("tsim", 1, 3, marks=pytest.mark.long)],
)
def test_faults_in_an_engine_are_found_at_the_first_instruction_that_they_change(
    engine: str, count: int, first: int
) -> None:
    verdicts, wrong = judge_engine_faults(engine, 1, count, first=first)
    assert wrong == []
    assert verdicts[True] == count


@pytest.mark.long
@pytest.mark.parametrize(("engine", "count"), [("reference", 100), ("sim", 70), ("tsim", 30)])
def test_two_hundred_faults_in_an_engine_are_found(engine: str, count: int) -> None:
    verdicts, wrong = judge_engine_faults(engine, 2, count)
    assert verdicts[True] >= 0.99 * count, wrong


@pytest.mark.parametrize("faults", [SIM_FAULTS, RTL_FAULTS], ids=["sim", "tsim"])
def test_every_fault_changes_one_place_of_the_source(faults: Sequence[SourceFault]) -> None:
    for fault in faults:
        assert fault.changed().__code__ != fault.function.__code__, fault.text
    assert len({fault.text for fault in faults}) == len(faults)


def test_nothing_of_a_fault_is_left_behind() -> None:
    fault = next(fault for fault in SIM_FAULTS if fault.text == "ADD subtracts")
    assert fault.owner is not None
    program = random_program(np.random.default_rng(5), VTAConfig())
    makers = engines_by_name(program, ["reference", "sim"])
    with faulty_simulator(fault):
        assert diff_engines(program, makers).difference is not None
        assert inspect.getattr_static(fault.owner, "apply") is not fault.function
    assert inspect.getattr_static(fault.owner, "apply") is fault.function
    assert diff_engines(program, makers).difference is None
    assert simulator_engine(program, fault).name == "sim"
