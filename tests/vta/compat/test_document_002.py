"""More of founding document 002 (a walk through TVM's sources): the parts of lowering, relay's operators, their names.

Each test is called after its heading.
"""

import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from vta.compat.answering import answering


@pytest.fixture(scope="module")
def tvm() -> Iterator[Any]:
    with answering():
        yield importlib.import_module("tvm")


def test_sources_a_schedule_becomes_a_module_part_by_part(tvm: Any) -> None:
    """``ScheduleToModule`` by hand: normalised, bounds, loops, buffers for the arguments, a function, a module."""
    te = tvm.te
    a = te.placeholder((4,), dtype="int32", name="A")
    b = te.compute((4,), lambda i: a[i] + 1, name="compute_B")
    c = te.compute((4,), lambda j: b[j] + 1, name="compute_C")
    sch = te.create_schedule(c.op)
    sch[b].compute_inline()
    whole = tvm.driver.build_module.schedule_to_module(sch, [a, c])["main"]
    sch = sch.normalize()
    bounds = te.schedule.InferBound(sch)
    stmt = te.schedule.ScheduleOps(sch, bounds, False)
    compact = te.schedule.VerifyCompactBuffer(stmt)
    binds, args = tvm.driver.build_module.get_binds([a, c], compact)
    func = te.schedule.SchedulePostProcToPrimFunc(args, stmt, binds)
    for key, value in (("global_symbol", "main"), ("from_legacy_te_schedule", True), ("tir.noalias", True)):
        func = func.with_attr(key, value)
    module = tvm.IRModule({tvm.ir.GlobalVar("main"): func})
    assert not compact
    assert [var.name_hint for var in module.get_global_vars()] == ["main"]
    tvm.ir.assert_structural_equal(module[module.get_global_var("main")], whole)
    out = tvm.nd.array(np.zeros(4, np.int32))
    tvm.build(module, target="llvm")(tvm.nd.array(np.arange(4, dtype=np.int32)), out)
    assert out.numpy().tolist() == [2, 3, 4, 5]


def test_sources_inlined_is_how_a_stage_is_attached(tvm: Any) -> None:
    te = tvm.te
    a = te.placeholder((4,), name="A")
    b = te.compute((4,), lambda i: a[i] + 1, name="B")
    c = te.compute((4,), lambda i: b[i] * 2, name="C")
    sch = te.create_schedule(c.op)
    before = int(sch[b].attach_type)
    sch[b].compute_inline()
    assert int(sch[b].attach_type) != before
    assert [stage.name for stage in sch.normalize().stages] == ["A", "B", "C"]


def test_loops_of_one_iteration_a_bound_of_one_is_a_value(tvm: Any) -> None:
    """``Analyzer::Bind``: of a range with one value, the variable is that value; else it has bounds."""
    analyzer, x, y = tvm.arith.Analyzer(), tvm.te.var("x"), tvm.te.var("y")
    analyzer.bind(x, tvm.ir.Range.from_min_extent(3, 1))
    analyzer.bind(y, tvm.ir.Range.from_min_extent(0, 8))
    assert int(analyzer.simplify(x + 1)) == 4
    assert (analyzer.const_int_bound(y).min_value, analyzer.const_int_bound(y).max_value) == (0, 7)


def test_iter_vars_of_compute_are_made_of_names_and_shape(tvm: Any) -> None:
    te = tvm.te
    axes = te.compute((4, 6), lambda row, column: row + column, name="T").op.axis
    made = [tvm.tir.IterVar((0, extent), name, 0) for extent, name in ((4, "row"), (6, "column"))]
    for axis, own in zip(axes, made, strict=True):
        assert (axis.var.name, int(axis.dom.extent), axis.iter_type) == (
            own.var.name,
            int(own.dom.extent),
            own.iter_type,
        )
    with pytest.raises(tvm.TVMError):
        te.compute((4,), lambda i, j: i + j)


def test_relay_op_add_of_two_numbers_is_a_number(tvm: Any) -> None:
    x = tvm.te.var("x")
    assert tvm.ir.structural_equal(tvm.topi.add(x, tvm.tir.const(1, "int32")), x + 1)
    assert isinstance(tvm.topi.maximum(x, 3), tvm.tir.PrimExpr)


def program(tvm: Any) -> Any:
    relay = tvm.relay
    x = relay.var("data", shape=(10, 20))
    y = relay.add(x, relay.const(1, "float32"))
    z = relay.exp(y)
    w = relay.squeeze(z)
    return relay.Function([x], w)


def test_fuse_ops_one_function_that_is_primitive(tvm: Any) -> None:
    module = tvm.relay.transform.InferType()(tvm.IRModule.from_expr(program(tvm)))
    text = str(tvm.relay.transform.FuseOps(fuse_opt_level=2)(module))
    assert 'fn [primitive=True, name="fused_add_exp_squeeze"]' in text


def test_relay_op_to_ir_runs_as_numpy_does(tvm: Any) -> None:
    lib = tvm.relay.build(tvm.IRModule.from_expr(program(tvm)), target="llvm")
    run = tvm.contrib.graph_executor.GraphModule(lib["default"](tvm.cpu(0)))
    values = np.random.default_rng(0).random((10, 20), np.float32)
    run.set_input("data", values)
    run.run()
    np.testing.assert_allclose(run.get_output(0).numpy(), np.exp(values + 1), rtol=1e-5)


def test_relay_op_add_is_topi_add(tvm: Any) -> None:
    """The overloads of the document: of tensors, of a tensor and a number on either side; the tag says which."""
    te, topi = tvm.te, tvm.topi
    a, row = te.placeholder((3, 4), name="A"), te.placeholder((4,), name="R")
    x, y = np.arange(12, dtype=np.float32).reshape(3, 4), np.arange(4, dtype=np.float32)
    cases = (
        (topi.add(a, a), [a], [x], x + x, topi.tag.ELEMWISE),
        (topi.add(a, row), [a, row], [x, y], x + y, topi.tag.BROADCAST),
        (topi.add(a, tvm.tir.const(2.0, "float32")), [a], [x], x + 2, topi.tag.ELEMWISE),
        (topi.add(2.0, a), [a], [x], 2 + x, topi.tag.ELEMWISE),
    )
    for tensor, args, values, want, tag in cases:
        out = tvm.nd.array(np.zeros(want.shape, np.float32))
        tvm.build(te.create_schedule(tensor.op), [*args, tensor])(*map(tvm.nd.array, values), out)
        assert (tensor.op.name, tensor.op.tag) == ("T_add", tag)
        assert np.array_equal(out.numpy(), want)


UNARY = (
    "log log2 log10 tan cos cosh sin sinh acos acosh asin asinh atan atanh exp fast_exp erf fast_erf sqrt rsqrt "
    "sigmoid floor ceil trunc round sign abs tanh fast_tanh negative isnan isfinite isinf"
)
OF_NUMPY = {
    "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan", "atanh": "arctanh",
}  # fmt: skip


@pytest.mark.parametrize("name", UNARY.split())
def test_types_of_ops_unary_ones_are_element_by_element(tvm: Any, name: str) -> None:
    a = tvm.te.placeholder((6,), name="A")
    tensor = getattr(tvm.topi, name)(a)
    plain = name.removeprefix("fast_")
    values = np.linspace(0.1, 0.9, 6, dtype=np.float32) + (1 if name == "acosh" else 0)
    out = tvm.nd.array(np.zeros(6, str(tensor.dtype)))
    tvm.build(tvm.te.create_schedule(tensor.op), [a, tensor])(tvm.nd.array(values), out)
    erf = np.vectorize(importlib.import_module("math").erf)
    own = {"rsqrt": lambda v: 1 / np.sqrt(v), "sigmoid": lambda v: 1 / (1 + np.exp(-v)), "erf": erf}
    want = (own.get(plain) or getattr(np, OF_NUMPY.get(plain, plain)))(values)
    np.testing.assert_allclose(out.numpy(), want, rtol=1e-5)
    assert tensor.op.tag == tvm.topi.tag.ELEMWISE


BINARY = {
    "add": np.add, "subtract": np.subtract, "right_shift": np.right_shift, "left_shift": np.left_shift,
    "maximum": np.maximum, "minimum": np.minimum, "floor_divide": np.floor_divide, "multiply": np.multiply,
    "mod": np.fmod, "floor_mod": np.mod, "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor, "equal": np.equal, "not_equal": np.not_equal, "less": np.less,
    "less_equal": np.less_equal, "greater": np.greater, "greater_equal": np.greater_equal,
}  # fmt: skip


@pytest.mark.parametrize("name", BINARY)
def test_types_of_ops_binary_ones_broadcast(tvm: Any, name: str) -> None:
    te = tvm.te
    a, b = te.placeholder((3, 4), "int32", "A"), te.placeholder((4,), "int32", "B")
    tensor = getattr(tvm.topi, name)(a, b)
    x, y = np.arange(-5, 7, dtype=np.int32).reshape(3, 4), np.array([1, 2, 3, 4], np.int32)
    out = tvm.nd.array(np.zeros((3, 4), str(tensor.dtype)))
    tvm.build(te.create_schedule(tensor.op), [a, b, tensor])(tvm.nd.array(x), tvm.nd.array(y), out)
    assert np.array_equal(out.numpy(), BINARY[name](x, y))
    assert tensor.op.tag == tvm.topi.tag.BROADCAST


def test_types_of_ops_injective_ones_and_reductions(tvm: Any) -> None:
    te, topi = tvm.te, tvm.topi
    a = te.placeholder((2, 1, 3), name="A")
    x = np.arange(6, dtype=np.float32).reshape(2, 1, 3) - 2
    cases = {
        "tile": (topi.tile(a, (1, 2, 1)), np.tile(x, (1, 2, 1))),
        "broadcast_to": (topi.broadcast_to(a, (2, 4, 3)), np.broadcast_to(x, (2, 4, 3))),
        "strided_slice": (topi.strided_slice(a, [0, 0, 1], [2, 1, 3]), x[:, :, 1:]),
        "expand_dims": (topi.expand_dims(a, 0), x[None]),
        "squeeze": (topi.squeeze(a, 1), x[:, 0]),
        "argmax": (topi.argmax(a, axis=2), x.argmax(2)),
        "argmin": (topi.argmin(a, axis=2), x.argmin(2)),
        "max": (topi.max(a, axis=0), x.max(0)),
        "min": (topi.min(a, axis=0), x.min(0)),
        "sum": (topi.sum(a, axis=[0, 2]), x.sum((0, 2))),
        "prod": (topi.prod(a, axis=0), x.prod(0)),
    }
    for name, (tensor, want) in cases.items():
        out = tvm.nd.array(np.zeros(want.shape, str(tensor.dtype)))
        tvm.build(te.create_schedule(tensor.op), [a, tensor])(tvm.nd.array(x), out)
        np.testing.assert_allclose(out.numpy(), want, rtol=1e-6, err_msg=name)
