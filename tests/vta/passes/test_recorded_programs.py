"""From te to synchronised statements: what upstream's passes made of the same schedules.

``recorded/*.txt`` is upstream's program after its dependency pass, with anonymous names; divided offsets are written
out, and ``x >> 0`` (which upstream folds to ``x``) stands as our te keeps it.
"""

from pathlib import Path

import pytest

import vta
from tests.support.compiler.anonymous_ir import anonymous
from tests.support.golden.conv_cases import schedule_beyond_spine
from tests.support.golden.golden import load_case
from tests.support.golden.spine_cases import schedule_case
from vta import te
from vta.passes.alu.annotate_alu_coproc_scope import annotate_alu_coproc_scope
from vta.passes.dma.inject_dma_intrin import inject_dma_intrin
from vta.passes.dma.inject_skip_copy import inject_skip_copy
from vta.passes.generic.lift_attr_scope import lift_attr_scope
from vta.passes.storage.lift_alloc_to_scope_begin import lift_alloc_to_scope_begin
from vta.passes.storage.storage_flatten import storage_flatten
from vta.passes.sync.inject_coproc_sync import inject_coproc_sync
from vta.tir.func import Pass, PrimFunc
from vta.tir.printer import to_text
from vta.tir.stmt import AttrKey, AttrStmt, Evaluate
from vta.tir.traverse import walk

RECORDED = Path(__file__).parent / "recorded"
NAMES = sorted(path.stem for path in RECORDED.glob("*.txt"))
PASSES: tuple[Pass, ...] = (
    storage_flatten,
    inject_dma_intrin,
    inject_skip_copy,
    annotate_alu_coproc_scope,
    lift_attr_scope(AttrKey.COPROC_UOP_SCOPE),
    lift_alloc_to_scope_begin,
    lift_attr_scope(AttrKey.COPROC_SCOPE),
    inject_coproc_sync,
)


def lowered(name: str) -> PrimFunc:
    case = load_case("default", name)
    with vta.Environment(case.config) as env:
        schedule = schedule_beyond_spine if name == "tut.convolution_opt" else schedule_case
        scheduled = schedule(case, env)
        func = te.schedule_to_func(scheduled.schedule, scheduled.args, "main")
    for lower in PASSES:
        func = lower(func, case.config)
    return func


def test_six_programs_are_recorded() -> None:
    assert len(NAMES) == 6


@pytest.mark.parametrize("name", NAMES)
def test_the_synchronised_program_is_the_recorded_one(name: str) -> None:
    expected = (RECORDED / f"{name}.txt").read_text().rstrip("\n")
    assert anonymous(to_text(lowered(name))) == expected


@pytest.mark.parametrize("name", NAMES)
def test_every_call_of_a_module_knows_its_stage(name: str) -> None:
    scopes = [n for n in walk(lowered(name).body) if isinstance(n, AttrStmt) and n.key == AttrKey.COPROC_SCOPE]
    calls = [n for scope in scopes for n in walk(scope) if isinstance(n, Evaluate)]
    assert calls
    assert not [call for call in calls if call.origin is None]


def test_tokens_and_transfers_carry_the_stage_and_line_that_they_come_from() -> None:
    calls = [n for n in walk(lowered("tut.vta_get_started").body) if isinstance(n, Evaluate)]
    stages = [call.origin.stage if call.origin else None for call in calls]
    assert stages == ["A_buf", "B_buf", "C_buf", "C", "C", "synchronise"]
    assert all(call.origin and call.origin.source.startswith("spine_cases.py:") for call in calls[:-1])
