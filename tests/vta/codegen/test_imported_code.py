"""Code that the pragma import_llvm brings along: called, checked against its calls, refused where it is no code."""

from pathlib import Path

import numpy as np
import pytest
from llvmlite import binding as llvm

from vta import te
from vta.build_module import build_generic
from vta.codegen import CodegenError
from vta.te.schedule import Schedule
from vta.tir.buffer import decl_buffer
from vta.tir.calls import call_extern
from vta.tir.expr import Expr
from vta.tir.ir_builder import create
from vta.tir.stmt import Stmt

GEMV = """
define i32 @gemv_update(ptr %to, ptr %vector, ptr %matrix, i32 %rows, i32 %columns, i32 %stride) {
entry:
  br label %row
row:
  %i = phi i32 [ 0, %entry ], [ %i.next, %row.end ]
  br label %column
column:
  %j = phi i32 [ 0, %row ], [ %j.next, %column ]
  %begin = mul i32 %i, %stride
  %place = add i32 %begin, %j
  %m.at = getelementptr float, ptr %matrix, i32 %place
  %v.at = getelementptr float, ptr %vector, i32 %j
  %t.at = getelementptr float, ptr %to, i32 %i
  %m = load float, ptr %m.at
  %v = load float, ptr %v.at
  %t = load float, ptr %t.at
  %product = fmul float %m, %v
  %sum = fadd float %t, %product
  store float %sum, ptr %t.at
  %j.next = add i32 %j, 1
  %j.done = icmp eq i32 %j.next, %columns
  br i1 %j.done, label %row.end, label %column
row.end:
  %i.next = add i32 %i, 1
  %i.done = icmp eq i32 %i.next, %rows
  br i1 %i.done, label %end, label %row
end:
  ret i32 0
}
"""


def gemv(rows: int, columns: int) -> te.TensorIntrin:
    """A vector times a part of a matrix, by a function of C: reset, then updates."""
    a, b = te.placeholder((columns,), name="a"), te.placeholder((rows, columns), name="b")
    k = te.reduce_axis((0, columns), "k")
    c = te.compute((rows,), lambda i: te.sum(a[k] * b[i, k], axis=k), name="c")
    stride = te.var("stride")
    binds = {
        a: decl_buffer(a.shape, "float32", "a", offset_factor=1),
        b: decl_buffer(b.shape, "float32", "b", offset_factor=1, strides=[stride, 1]),
        c: decl_buffer(c.shape, "float32", "c", offset_factor=1),
    }

    def parts(ins: list[object], outs: list[object]) -> tuple[Expr, Stmt, Expr]:
        [vector, matrix], [to] = ins, outs
        ib = create()
        place = ib.buffer_ptr(to)
        with ib.for_range(0, rows) as i:
            place[i] = 0.0
        pointers = (to.access_ptr("w"), vector.access_ptr("r"), matrix.access_ptr("r"))  # type: ignore[attr-defined]
        update = call_extern("int32", "gemv_update", *pointers, rows, columns, stride)
        return update, ib.get(), update

    return te.decl_tensor_intrin(c.op, parts, binds=binds)  # type: ignore[arg-type]  # buffers


def program(code: object) -> tuple[Schedule, list[te.Tensor]]:
    a, b = te.placeholder((16, 8), name="A"), te.placeholder((12, 8), name="B")
    k = te.reduce_axis((0, 8), "k")
    c = te.compute((16, 12), lambda i, j: te.sum(a[i, k] * b[j, k], axis=k), name="C")
    s = te.create_schedule(c.op)
    i, j = c.op.axis
    outer, inner = s[c].split(j, 4)
    ko, ki = s[c].split(k, 4)
    s[c].reorder(i, outer, ko, inner, ki)
    s[c].tensorize(inner, gemv(4, 4))
    s[c].pragma(i, "import_llvm", code)  # type: ignore[arg-type]
    return s, [a, b, c]


@pytest.mark.parametrize("form", ["text", "ll", "bc"])
def test_a_function_of_c_is_what_an_intrinsic_calls(form: str, tmp_path: Path) -> None:
    code = GEMV
    if form != "text":
        path = tmp_path / f"gemv.{form}"
        path.write_bytes(GEMV.encode() if form == "ll" else llvm.parse_assembly(GEMV).as_bitcode())
        code = str(path)
    module = build_generic(*program(code), "llvm")
    assert "define i32 @gemv_update" in module.get_source()
    rng = np.random.default_rng(0)
    a, b = rng.random((16, 8), np.float32), rng.random((12, 8), np.float32)
    out = np.ones((16, 12), np.float32)
    module(a, b, out)
    np.testing.assert_allclose(out, a @ b.T, rtol=1e-5)


def refused(code: object) -> str:
    with pytest.raises(CodegenError) as caught:
        build_generic(*program(code), "llvm")
    return str(caught.value)


def test_code_that_llvm_does_not_read_is_refused_with_its_words() -> None:
    """The error of a text with pointers of another version of LLVM."""
    sentence = refused(GEMV.replace("ptr", "opaque*"))
    version = ".".join(map(str, llvm.llvm_version_info))
    assert sentence.startswith("function 'default_function', ")
    assert f": import_llvm: LLVM {version} does not read this code (" in sentence
    assert "error: " in sentence
    assert sentence.endswith("); make it with clang of the same version")


def test_a_call_with_other_types_or_a_name_that_is_there_is_refused() -> None:
    assert refused(
        GEMV.replace("i32 %rows", "i64 %rows.wide").replace("i32 %i.next, %rows", "i32 %i.next, 4")
    ).endswith(
        "'gemv_update' is called as i32 (ptr, ptr, ptr, i32, i32, i32), and import_llvm has "
        "i32 (ptr, ptr, ptr, i64, i32, i32)"
    )
    assert ": import_llvm does not go with the program: " in refused(GEMV.replace("@gemv_update", "@default_function"))
    assert refused("/nowhere/gemv.ll").endswith("import_llvm: /nowhere/gemv.ll: No such file or directory")
    assert refused(3).endswith("the pragma import_llvm takes LLVM assembly or the path of a file")
