"""Passes that have no work here: they change nothing, and refuse what they would have to change."""

import pytest

from vta.tir import ir_builder
from vta.tir.expr import IntImm, IterVar, PointerType, Range, Var
from vta.tir.func import IRModule, PrimFunc
from vta.tir.stmt import Allocate, AttrStmt, Block, Evaluate, Stmt
from vta.tir_passes_elsewhere import ElsewhereError, passes_elsewhere

NOTHING = Evaluate(IntImm(0))


def memory(scope: str) -> Stmt:
    return Allocate(Var("m", PointerType("float32", scope)), "float32", (IntImm(4),), NOTHING)  # type: ignore[arg-type]


THREADS = AttrStmt(
    IterVar(Range(IntImm(0), IntImm(4)), Var("t"), thread_tag="threadIdx.x"), "thread_extent", 4, NOTHING
)  # type: ignore[arg-type]


def test_a_plain_program_stays_what_it_is() -> None:
    ib = ir_builder.create()
    a = ib.pointer("float32", "A")
    with ib.for_range(0, 4) as i:
        a[i] = a[i] + 1
    func = PrimFunc([a], ib.get())  # type: ignore[arg-type]
    for name, make in passes_elsewhere().items():
        arguments = ("shared",) if name == "ThreadSync" else ()
        assert make(*arguments)(IRModule.from_expr(func))["main"] is func
        assert make().info.name == f"tir.{name}"


@pytest.mark.parametrize(
    ("name", "body", "text"),
    [
        ("ThreadSync", THREADS, "threads of a GPU; there is no GPU here: do not bind loops to its threads"),
        ("LowerInitBlock", Block("b", (), (), NOTHING), "blocks; LowerBlocks() lowers all of a block at once"),
        ("LowerWarpMemory", memory("warp"), "memory of a warp; there is no GPU here: use 'local' memory"),
        ("TextureFlatten", memory("global.texture"), "textures; there is no GPU here: use 'global' memory"),
        (
            "LowerVtcmAlloc",
            memory("global.vtcm"),
            "memory 'global.vtcm'; there is no Hexagon here: use 'global' memory",
        ),
        (
            "MergeDynamicSharedMemoryAllocations",
            memory("shared.dyn"),
            "shared memory of a GPU; there is no GPU here: use 'local' memory",
        ),
    ],
)
def test_what_they_would_lower_is_refused(name: str, body: Stmt, text: str) -> None:
    with pytest.raises(ElsewhereError) as error:
        passes_elsewhere()[name]()(IRModule.from_expr(PrimFunc("main", (), body)))
    assert str(error.value) == f"{name}: function 'main' has {text}"
