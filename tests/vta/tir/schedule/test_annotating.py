"""annotate, storage_align and bind: what is said stays until it is lowered, and what has no meaning is refused."""

import numpy as np
import pytest

from isa.errors import VTAError
from tests.support.compiler.block_programs import check, gemm_relu, pipeline
from tests.vta.tir.schedule.test_schedule import refused
from vta import te
from vta.build_module import build_generic, lower_generic
from vta.tir.json_text import load_json, save_json
from vta.tir.schedule import Schedule
from vta.tir.script import from_source
from vta.tir.structural import first_difference, require_equal, structural_hash
from vta.tir_passes import LowerBlocks


def test_annotations_are_kept_printed_saved_and_read() -> None:
    func, inputs, expected = gemm_relu()
    sch = Schedule(func)
    i, j, _ = sch.get_loops("C")
    sch.annotate(i, "pragma_auto_unroll_max_step", 16)
    sch.annotate("C", "note", ["a", 1, [2.5, True]])
    sch.bind(j, "cthread")
    text = str(sch.func)
    assert 'for (i: int32, 0, 12) annotations={"pragma_auto_unroll_max_step": 16} {' in text
    assert 'for (j: int32, 0, 10) "thread_binding" "cthread" {' in text
    assert '  annotations {"note": ["a", 1, [2.5, True]]}' in text
    for again in (load_json(save_json(sch.func)), from_source(sch.func.script())):
        require_equal(again, sch.func)
        assert structural_hash(again) == structural_hash(sch.func)
    sch.unannotate("C", "note")
    assert "note" not in str(sch.func)
    assert first_difference(load_json(save_json(sch.func)), func) is not None
    check(sch.func, inputs, expected)


def test_a_pragma_stands_around_its_loop_when_it_is_lowered() -> None:
    sch = Schedule(pipeline()[0])
    sch.annotate(sch.get_loops("P")[1], "pragma_speed", "fast")
    text = str(lower_generic(sch.mod))
    assert 'attr [IterVar(j: int32, (nullptr), "DataPar", "")] "pragma_speed" = "fast";\n      for (j, 0, 14) {' in text


@pytest.mark.parametrize("scope", ["global", "local"])
def test_rows_are_aligned(scope: str) -> None:
    func, inputs, expected = pipeline()
    sch = Schedule(func)
    sch.set_scope("P", 0, scope)
    sch.storage_align("P", 0, -2, 16, 3)
    assert "[128" not in str(lower_generic(func))
    assert "[171]" in str(lower_generic(sch.mod)), "eight rows of 19 numbers, and the last one of 14 and its place"
    sch.storage_align("P", 0, 0, 32)  # again: the last word counts
    assert "[288]" in str(lower_generic(sch.mod))
    check(sch.func, inputs, expected)


@pytest.mark.parametrize("thread", ["vthread", "cthread", "vthread.x"])
def test_virtual_threads_compute_the_same(thread: str) -> None:
    func, inputs, expected = gemm_relu()
    sch = Schedule(func)
    i0, _ = sch.split(sch.get_loops("C")[0], [2, None])
    sch.bind(i0, thread)
    assert '"virtual_thread" = 2' in str(LowerBlocks()(sch.mod))
    check(sch.func, inputs, expected)


def test_a_gpus_threads_lower_and_no_code_is_made_of_them() -> None:
    func, inputs, expected = gemm_relu()
    sch = Schedule(func)
    i, j, _ = sch.get_loops("C")
    sch.bind(i, te.thread_axis("blockIdx.x"))
    sch.bind(j, "threadIdx.x")
    check(sch.func, inputs, expected, compiled=False)
    assert '"thread_extent" = 12' in str(lower_generic(sch.mod))
    with pytest.raises(VTAError, match="code is made for the CPU and the accelerator alone"):
        build_generic(sch.mod)
    refused("bind: loop 'j' is thread_binding already", lambda: sch.bind(j, "threadIdx.y"))
    refused(
        "bind: loop 'i' is bound to 'blockIdx.x' already, and one is in the other",
        lambda: sch.bind(sch.add_unit_loop("C"), "blockIdx.x"),
    )


def test_what_has_no_meaning_is_refused() -> None:
    sch = Schedule(gemm_relu()[0])
    i, j, k = sch.get_loops("C")
    refused("annotate: expected a text as key, not 3", lambda: sch.annotate(i, 3, 1))  # type: ignore[arg-type]
    refused("annotate: 'x': expected a number, a text or a list of these, not {}", lambda: sch.annotate(i, "x", {}))
    sch.annotate(i, "x", 1)
    refused("annotate: loop 'i' has an annotation 'x' already; unannotate it first", lambda: sch.annotate(i, "x", 2))
    refused("unannotate: block 'C' has no annotation 'x'; it has: none", lambda: sch.unannotate("C", "x"))
    refused(
        "storage_align: 'D' is an argument of the function, which stays as it is",
        lambda: sch.storage_align("D", 0, 0, 16),
    )
    refused("storage_align: 'C' has 2 dimensions, and none is 2", lambda: sch.storage_align("C", 0, 2, 16))
    refused(
        "storage_align: a factor is at least 1, an offset a number, not 0, 0", lambda: sch.storage_align("C", 0, 0, 0)
    )
    refused(
        "bind: loop 'k': block 'C' reduces".replace("bind: loop 'k': ", "bind: ") + " over loop 'k', in which order "
        "matters; rfactor makes a loop of partial results",
        lambda: sch.bind(k, "cthread"),
    )
    refused(
        "bind: loop 'j': 'vta' is no thread axis; those are cthread, vthread, rotate, and a GPU's, blockIdx.x to .z "
        "and threadIdx.x to .z",
        lambda: sch.bind(j, "vta"),
    )
    n = te.var("n")
    a = te.placeholder((n,), name="A")
    b = te.compute((n,), lambda x: a[x] + np.float32(1), name="B")
    free = Schedule(te.create_prim_func([a, b]))
    refused(
        "bind: loop 'x' has n iterations; threads are a constant number",
        lambda: free.bind(free.get_loops("B")[0], "cthread"),
    )
