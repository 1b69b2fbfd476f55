"""The list of passes and how it is run."""

import pytest

from isa.config import VTAConfig
from tests.support.compiler.tir_build import block, buffer, function, loop, outline, pragma, realize, store
from vta.passes.pipelines import PIPELINE, PassNameError, PassScope, pass_names, passes, run
from vta.tir.expr import Var
from vta.tir.func import PrimFunc
from vta.tir.printer import to_text
from vta.tir.scopes import ACC_SCOPE
from vta.tir.verify import verify

CONFIG = VTAConfig()


def vector_add() -> PrimFunc:
    """Two loads, an addition, a store: 64 elements."""
    a, b, c = buffer("A", [1024]), buffer("B", [1024]), buffer("C", [1024], "int8")
    a_buf, b_buf, c_buf = (buffer(f"{x}_buf", [1024], "int32", ACC_SCOPE) for x in "ABC")
    i, j, k, o = Var("i"), Var("j"), Var("k"), Var("o")
    body = block(
        pragma("dma_copy", loop(i, 1024, store(a_buf, a.load(i), i))),
        pragma("dma_copy", loop(j, 1024, store(b_buf, b.load(j), j))),
        pragma("alu", loop(k, 1024, store(c_buf, a_buf.load(k) + b_buf.load(k), k))),
        pragma("dma_copy", loop(o, 1024, store(c, c_buf.load(o).astype("int8"), o))),
    )
    for memory in (c_buf, b_buf, a_buf):
        body = realize(memory, [(0, 1024)], body)
    return function(body, a, b, c)


def test_the_vector_addition_becomes_the_documented_program() -> None:
    lowered = run(vector_add(), CONFIG)
    assert outline(lowered.body) == [
        "[2] VTALoadBuffer2D VTALoadBuffer2D coproc_uop_scope { VTAUopLoopBegin uop_push VTAUopLoopEnd } push(2,3)",
        "[3] pop(2,3) VTAStoreBuffer2D",
        "sync",
    ]
    verify(lowered)


def test_the_passes_stand_in_the_documented_order() -> None:
    names = [entry.name for entry in PIPELINE]
    order = [
        "InjectConv2DTransposeSkip", "StorageFlatten", "InjectDMAIntrin", "InjectSkipCopy",
        "AnnotateALUCoProcScope", "LiftAttrScope",
        "LiftAllocToScopeBegin", "InjectCoProcSync", "EarlyRewrite", "VectorizeLoop", "InjectVirtualThread",
        "StorageRewrite", "UnrollLoop", "InjectALUIntrin", "RemoveNoOp", "HoistIfThenElse",
        "LowerDeviceStorageAccessInfo", "FoldUopLoop", "CPUAccessRewrite", "CommonSubexprElimTIR",
    ]  # fmt: skip
    assert [names.index(name) for name in order] == sorted(names.index(name) for name in order)


def test_every_result_is_shown_with_its_pass_and_is_well_formed() -> None:
    seen: list[str] = []

    def after_each(name: str, func: PrimFunc) -> None:
        seen.append(name)
        verify(func)

    run(vector_add(), CONFIG, after_each=after_each)
    assert seen == [entry.name for entry in PIPELINE]


@pytest.mark.parametrize("name", ["CommonSubexprElimTIR", "tir.CommonSubexprElimTIR"])
def test_a_pass_is_disabled_with_or_without_the_prefix(name: str) -> None:
    seen: list[str] = []
    run(vector_add(), CONFIG, disabled={name}, after_each=lambda n, _: seen.append(n))
    assert seen == [entry.name for entry in PIPELINE if entry.name != "CommonSubexprElimTIR"]


def test_a_name_disables_every_place_where_it_stands() -> None:
    seen: list[str] = []
    run(function(block()), CONFIG, disabled=["tir.vta.LiftAttrScope"], after_each=lambda n, _: seen.append(n))
    assert "LiftAttrScope" not in seen
    assert sum(entry.name == "LiftAttrScope" for entry in PIPELINE) == 2


def test_a_cpus_program_runs_the_passes_for_any_program_alone() -> None:
    seen: list[str] = []
    run(function(block()), CONFIG, scope=PassScope.ANY, debug_flag=3, after_each=lambda n, _: seen.append(n))
    assert seen == [entry.name for entry in PIPELINE if entry.scope is PassScope.ANY]
    assert {"InjectDMAIntrin", "InjectCoProcSync", "SetDebugMode"}.isdisjoint(seen)


def test_a_pass_of_the_users_runs_where_a_pass_of_the_accelerator_would_stand() -> None:
    def mine(func: PrimFunc, config: VTAConfig) -> PrimFunc:  # every pass has this signature
        return func

    seen: list[str] = []
    run(function(block()), CONFIG, scope=PassScope.ANY, added=[(1, mine)], after_each=lambda n, _: seen.append(n))
    assert seen[seen.index("mine") + 1] == "LoopPartition"


def test_an_unknown_name_is_refused_with_a_suggestion() -> None:
    with pytest.raises(PassNameError) as error:
        run(vector_add(), CONFIG, disabled={"tir.CommonSubexprElim"})
    assert str(error.value) == (
        "disabled pass 'tir.CommonSubexprElim': there is no pass of that name; did you mean 'CommonSubexprElimTIR'?"
    )
    with pytest.raises(PassNameError, match=r"there is no pass of that name; the passes are .*StorageFlatten, "):
        run(vector_add(), CONFIG, disabled={"xyz"})


def test_the_debug_flag_is_set_after_the_memory_of_threads_is_planned() -> None:
    names = [entry.name for entry in passes(debug_flag=2)]
    assert names[names.index("EarlyRewrite") + 1] == "SetDebugMode"
    assert passes(0) is PIPELINE
    assert outline(run(vector_add(), CONFIG, debug_flag=2).body)[0] == "VTASetDebugMode"
    assert "SetDebugMode" in pass_names()


def test_lowering_is_the_same_every_time() -> None:
    assert to_text(run(vector_add(), CONFIG)) == to_text(run(vector_add(), CONFIG))


@pytest.mark.parametrize("phase", [-1, 4])
def test_a_pass_for_a_phase_that_is_not_there_is_refused(phase: int) -> None:
    def mine(func: PrimFunc, config: VTAConfig) -> PrimFunc:
        return func

    with pytest.raises(PassNameError) as error:
        passes(added=[(phase, mine)])
    assert str(error.value) == f"added pass 'mine': there are phases 0 to 3, not {phase}"


def test_passes_of_the_users_stand_at_the_ends_of_their_phases() -> None:
    def mine(func: PrimFunc, config: VTAConfig) -> PrimFunc:
        return func

    names = [[entry.name for entry in passes(added=[(phase, mine)])] for phase in range(4)]
    before = [own[own.index("mine") - 1] for own in names[1:]]
    assert names[0][0] == "mine"
    assert before == ["EarlyRewrite", "InjectALUIntrin", "CPUAccessRewrite"]


def test_a_pass_that_a_caller_does_not_want_is_left_out() -> None:
    seen: list[str] = []

    def wanted(name: str, func: PrimFunc) -> bool:
        return name != "Simplify"

    run(function(block()), CONFIG, before_each=wanted, after_each=lambda name, _: seen.append(name))
    assert seen == [entry.name for entry in PIPELINE if entry.name != "Simplify"]
