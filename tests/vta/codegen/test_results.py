"""tir.ret: functions that give a number, on the interpreter, compiled, saved and loaded, as text."""

import json
from pathlib import Path

import numpy as np
import pytest

from isa.config import VTAConfig
from tests.support.compiler.metadata_example import example
from vta.build_module import build_generic
from vta.codegen.host import emit_host
from vta.codegen.llvm_types import CodegenError
from vta.codegen.metadata import RESULT_TYPES, MetadataError
from vta.codegen.metadata_reader import read_metadata
from vta.codegen.module import Module, load_module
from vta.tir import ir_builder, ops
from vta.tir.buffer import decl_buffer
from vta.tir.calls import call_extern, ret
from vta.tir.dtype import HANDLE, DType
from vta.tir.expr import Expr, StringImm, Var, const
from vta.tir.func import PrimFunc
from vta.tir.interpreter.run import run_func
from vta.tir.json_text import load_json, save_json
from vta.tir.script import from_source
from vta.tir.stmt import AttrKey, AttrStmt, BufferStore, Evaluate, For, ForKind, IfThenElse, Stmt, seq
from vta.tir.structural import require_equal


def given(value: Expr, *params: Var) -> PrimFunc:
    return PrimFunc("f", params, Evaluate(ret(value)))


@pytest.mark.parametrize("kind", RESULT_TYPES)
def test_a_function_gives_a_number_of_any_type(kind: str) -> None:
    x = Var("x", DType("float32" if kind == "float32" else "float64" if kind == "float64" else "int32"))
    value = x > 2 if kind == "bool" else x.astype(kind) - const(1, kind)
    func = given(value, x)
    module = build_generic(func)
    for argument in (0, 7, 300):
        expected = argument > 2 if kind == "bool" else np.array([argument]).astype(kind)[0] - np.array(1, kind)
        assert module(argument) == expected
        assert type(module(argument)) is {"b": bool, "i": int, "u": int, "f": float}[np.dtype(kind).kind]
        if not kind.startswith("float"):
            assert run_func(func, [argument]) == expected


def search() -> PrimFunc:
    """Return the place of the first element that is the wanted one, -1 if there is none; it counts what it saw."""
    wanted, data, seen = Var("wanted"), decl_buffer((20,), "int32", "A"), decl_buffer((1,), "int32", "seen")
    a, s, i = Var("a", HANDLE), Var("s", HANDLE), Var("i")
    step = seq([
        BufferStore(seen, i + 1, (const(0),)),
        IfThenElse((data.load(i) == wanted).asexpr(), Evaluate(ret(i))),
    ])  # fmt: skip
    body = seq([For(i, const(0), const(20), step), Evaluate(ret(const(-1)))])
    return PrimFunc("search", (a, s, wanted), body, {a: data, s: seen})


def test_the_function_ends_where_it_gives_something() -> None:
    func = search()
    module = build_generic(func)
    data = np.arange(100, 120, dtype=np.int32)
    for wanted, place, count in ((100, 0, 1), (107, 7, 8), (119, 19, 20), (3, -1, 20)):
        seen = np.zeros(1, np.int32)
        assert module(data, seen, wanted) == place
        assert seen[0] == count
        seen = np.zeros(1, np.int32)
        assert run_func(func, [data, seen, wanted]) == place
        assert seen[0] == count


def test_a_function_that_ends_by_itself_gives_zero() -> None:
    x = Var("x")
    func = PrimFunc("f", (x,), IfThenElse(x > 3, Evaluate(ret(x))))
    assert [build_generic(func)(n) for n in (3, 4)] == [0, 4]
    assert [run_func(func, [n]) for n in (3, 4)] == [None, 4]


def test_temporaries_on_the_heap_are_freed_and_parallel_loops_run_in_order() -> None:
    n, builder = Var("n"), ir_builder.create()
    memory = builder.allocate("int32", (n,), name="T", scope="global")
    with builder.for_range(0, n, name="i", kind="parallel") as i:
        memory[i] = i * 3
        with builder.if_scope(i >= 5):
            builder.emit(ret(memory[i]))
    func = PrimFunc("f", (n,), builder.get())
    host = emit_host([func], VTAConfig(), least_parallel_work=0)
    assert "__vta_parallel_for" not in host.source
    module = Module.compile(host)
    assert [module(n) for n in (3, 6, 100)] == [0, 15, 15]


def test_saved_and_loaded_it_gives_the_same(tmp_path: Path) -> None:
    x = Var("x")
    module = build_generic(given(x * 2.5, x))
    module.save(tmp_path / "f.o")
    loaded = load_module(tmp_path / "f.o")
    assert (loaded(3), module(3)) == (7.5, 7.5)
    assert str(loaded["f"].info) == "f(x: int32) -> float32"


def test_text_and_json_give_it_back() -> None:
    func = search()
    require_equal(from_source(func.script()), func)
    require_equal(load_json(save_json(func)), func)
    x = Var("x")
    short = from_source("@T.prim_func\ndef f(x: T.int32) -> None:\n    T.evaluate(T.ret(x + 1))\n")
    require_equal(short, given(x + 1, x))


def refusal(func: PrimFunc) -> str:
    with pytest.raises(CodegenError) as error:
        emit_host([func], VTAConfig())
    return str(error.value)


def test_what_cannot_give_a_number_is_refused() -> None:
    x, y = Var("x"), Var("y", DType("float32"))
    both: Stmt = seq([IfThenElse(x > 0, Evaluate(ret(x))), Evaluate(ret(y))])
    assert refusal(PrimFunc("f", (x, y), both)) == (
        "function 'f' gives int32 and float32; tir.ret takes one number, of one type throughout a function"
    )
    assert refusal(given(ops.max(y, 1.0).astype("float16"), y)) == (
        f"function 'f' gives float16; results are {', '.join(RESULT_TYPES)}"
    )
    assert refusal(PrimFunc("f", (x,), Evaluate(ret(x) + 1))) == (
        "function 'f': tir.ret is a statement of its own, no part of an expression"
    )
    sync = Evaluate(call_extern("int32", "VTASynchronize", Var("c", HANDLE), x))
    with pytest.raises(CodegenError):
        emit_host([PrimFunc("f", (x,), seq([sync, Evaluate(ret(x))]))], VTAConfig())
    with pytest.raises(CodegenError) as error:
        emit_host([given(x, x)], VTAConfig(), on_device=True)
    assert str(error.value) == (
        "function 'f': tir.ret in a function of the accelerator, which is replayed without its host code; store the "
        "result in an array"
    )
    kernel = AttrStmt(None, AttrKey.COPROC_UOP_SCOPE, StringImm("VTAPushALUOp"), Evaluate(ret(x)))
    assert refusal(PrimFunc("f", (x,), kernel)) == (
        "function 'f.kernel': tir.ret stands in a kernel of the accelerator, which gives nothing"
    )


def test_a_description_with_an_odd_result_is_refused() -> None:
    whole = json.loads(example(VTAConfig()).to_json())
    whole["functions"][1]["result"] = "handle"
    with pytest.raises(MetadataError, match="'result' of a function cannot be 'handle'"):
        read_metadata(json.dumps(whole).encode())


def test_it_ends_a_loop_that_could_be_vectors() -> None:
    i, a, data = Var("i"), Var("a", HANDLE), decl_buffer((8,), "int32", "A")
    body = seq([BufferStore(data, i, (i,)), IfThenElse((i == 3).asexpr(), Evaluate(ret(i)))])
    func = PrimFunc("f", (a,), For(i, const(0), const(8), body, ForKind.VECTORIZED), {a: data})
    found = np.zeros(8, np.int32)
    assert build_generic(func)(found) == 3
    assert found.tolist() == [0, 1, 2, 3, 0, 0, 0, 0]
