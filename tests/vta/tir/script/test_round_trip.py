"""What the script's text of a program reads back is the program: of examples, after every pass."""

import runpy
import sys
from pathlib import Path

import pytest

from vta import te, tir
from vta.build_module import lower_generic, schedule_to_module
from vta.tir.expr import Let, Var
from vta.tir.func import IRModule, PrimFunc
from vta.tir.script import from_source, to_script
from vta.tir.script.printer import ScriptPrintError
from vta.tir.stmt import AssertStmt, AttrStmt, BufferStore, Evaluate, For, ForKind, LetStmt, seq
from vta.tir.structural import require_equal
from vta.tir_passes import MakePackedAPI
from vta.transform import PassContext

EXAMPLES = Path(__file__).resolve().parents[4] / "examples"


def check(name: str, func: PrimFunc) -> None:  # an instrument's signature
    """Read the text of a function, and require the function."""
    require_equal(func, from_source(func.script()))


def schedule() -> tuple[te.Schedule, list[te.Tensor]]:
    a, n = te.placeholder((10, 6), name="A"), te.reduce_axis((0, 6), "n")
    b = te.compute((10,), lambda i: te.sum(a[i, n], axis=n), name="B")
    c = te.compute((10,), lambda i: te.exp(b[i]) * 2.5 + te.if_then_else(i < 3, 1.0, b[i]), name="C")
    s = te.create_schedule(c.op)
    outer, inner = s[c].split(c.op.axis[0], 4)
    s[b].compute_at(s[c], outer)
    s[c].vectorize(inner)
    return s, [a, c]


def test_programs_of_the_host_after_every_pass() -> None:
    s, args = schedule()
    check("", te.create_prim_func(args))
    check("", schedule_to_module(s, args)["main"])
    with PassContext(instruments=[check]):
        lower_generic(s, args)


@pytest.mark.parametrize("example", ["vector_add.py", "matrix_multiply.py"])
def test_programs_of_the_accelerator_after_every_pass(example: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [example])
    with PassContext(instruments=[check]):
        runpy.run_path(str(EXAMPLES / example), run_name="__main__")


def test_symbolic_sizes_views_and_rare_statements() -> None:
    m, n, x = te.size_var("m"), te.var("n", "int64"), te.var("x")
    a = te.placeholder((m, 4), "int8", name="A")
    b = te.compute((m, 4), lambda i, j: a[i, j] << 1, name="B")
    check("", lower_generic(te.create_schedule(b.op), [a, b])["main"])
    view = tir.decl_buffer((m, 3), "int64", "v", strides=[x, 1], elem_offset=x, scope="global", data_alignment=8)
    i, y, w, big = Var("i", "int64"), Var("y.z"), Var("w"), tir.const(1 << 40, "int64")
    body = seq([
        For(i, tir.const(2, "int64"), n, BufferStore(view, i * 3 - big, (x, 0)), ForKind.PARALLEL),
        Evaluate(tir.Mul(tir.const(0), tir.const(3))),
        For(i, tir.const(2, "int64"), tir.const(5, "int64"), Evaluate(tir.truncdiv(i, 3)), ForKind.UNROLLED),
        LetStmt(y, x + 1, AssertStmt(tir.any(y < 3, tir.Not(y == 7)), 'it "must"', Evaluate(Let(w, y * 2, w % 5)))),
        AttrStmt(None, "pragma_note", tir.StringImm("text"), Evaluate(tir.max(x + 1.5, tir.const(float("inf"))))),
    ])  # fmt: skip
    func = PrimFunc("some.name", (view, n), body, attrs={"flag": True, "count": 3, "text": "t"})  # type: ignore[arg-type]
    check("", func)
    module = IRModule({"some.name": func, "other": func.with_attr("global_symbol", "other")})
    read = from_source(module.script(show_meta=True))
    assert isinstance(read, IRModule)
    assert list(read.functions) == ["some_name", "other"]
    assert to_script(IRModule({})).endswith("class Module:\n    pass\n")


def test_memory_that_a_let_or_a_parameter_points_to() -> None:
    n = te.var("n")
    a = te.placeholder((n, 4), "int8", name="A")
    b = te.compute((n, 4), lambda i, j: a[i, j] << 1, name="B")
    check("", MakePackedAPI()(lower_generic(te.create_schedule(b.op), [a, b]))["main"])


def test_what_has_no_text_is_named() -> None:
    s, args = schedule()
    k = Var("k")
    for func, text in (
        (PrimFunc("f", (), Evaluate(k + 1)), "variable 'k' is used where nothing declares it; it has no text"),
        (
            PrimFunc("f", (), Evaluate(s[args[1]].op.body[0])),  # type: ignore[union-attr]
            "ProducerLoad has no text in the script; lower the schedule first",
        ),
    ):
        with pytest.raises(ScriptPrintError) as caught:
            func.script()
        assert str(caught.value) == text
