"""What founding document 000 (a diary of reading TVM) says can be done is done, and comes out as it says.

Each test is called after the entry's date and its subject.
"""

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vta.compat.answering import answering


@pytest.fixture(scope="module")
def tvm() -> Iterator[Any]:
    with answering():
        yield importlib.import_module("tvm")


def run(
    tvm: Any, s: Any, args: list[Any], inputs: list[np.ndarray], shape: tuple[int, ...], dtype: str = "float32"
) -> np.ndarray:
    """Return what a schedule's program gives for inputs."""
    out = tvm.nd.array(np.zeros(shape, dtype))
    tvm.build(s, args, target="llvm")(*map(tvm.nd.array, inputs), out)
    return np.asarray(out.numpy())


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random(shape, np.float32)


def test_1117_vector_and_broadcast_additions_in_parallel_vectors(tvm: Any) -> None:
    te = tvm.te
    a, b, row = te.placeholder((32, 24), name="A"), te.placeholder((32, 24), name="B"), te.placeholder((24,), name="R")
    for other, index in ((b, lambda i, j: b[i, j]), (row, lambda _, j: row[j])):
        c = te.compute((32, 24), lambda i, j, index=index: a[i, j] + index(i, j), name="C")
        s = te.create_schedule(c.op)
        outer, inner = s[c].split(c.op.axis[1], factor=8)
        s[c].reorder(c.op.axis[0], outer, inner)
        s[c].parallel(c.op.axis[0])
        s[c].vectorize(inner)
        x, y = numbers(32, 24), numbers(*[int(n) for n in other.shape], seed=1)
        text = str(tvm.lower(s, [a, other, c], simple_mode=True))
        assert '"parallel"' in text
        assert "ramp(" in text
        assert np.array_equal(run(tvm, s, [a, other, c], [x, y], (32, 24)), x + y)


def test_1118_a_product_in_tiles_with_a_local_copy_written_back(tvm: Any) -> None:
    te, n = tvm.te, 32
    k = te.reduce_axis((0, n), "k")
    a, b = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    s = te.create_schedule(c.op)
    local = s.cache_write(c, "local")
    xo, yo, xi, yi = s[c].tile(c.op.axis[0], c.op.axis[1], 8, 8)
    s[local].compute_at(s[c], yo)
    both = s[c].fuse(xo, yo)
    s[local].reorder(s[local].op.reduce_axis[0], *s[local].op.axis)
    s[c].parallel(both)
    s[c].vectorize(yi)
    x, y = numbers(n, n), numbers(n, n, seed=1)
    assert xi is not yi
    np.testing.assert_allclose(run(tvm, s, [a, b, c], [x, y], (n, n)), x @ y, rtol=1e-5)


def test_1119_a_convolution_with_channels_in_blocks(tvm: Any) -> None:
    """Tiles of height and width help until channels are many; these are tiled by another layout of the data."""
    te, topi = tvm.te, tvm.topi
    data, kernel = te.placeholder((1, 2, 8, 8, 4), name="data"), te.placeholder((2, 2, 3, 3, 4, 4), name="kernel")
    conv = topi.nn.conv2d_NCHWc(data, kernel, 1, 1, 1, "NCHW4c", "NCHW4c", "float32")
    s = te.create_schedule(conv.op)
    axes = s[conv].op.axis
    ho, wo, hi, wi = s[conv].tile(axes[2], axes[3], 4, 4)
    s[conv].reorder(axes[0], axes[1], ho, wo, *s[conv].op.reduce_axis, hi, wi, axes[4])
    s[conv].vectorize(axes[4])
    x, w = numbers(1, 2, 8, 8, 4), numbers(2, 2, 3, 3, 4, 4, seed=1)
    got = run(tvm, s, [data, kernel, conv], [x, w], (1, 2, 8, 8, 4))
    plain = x.transpose(0, 1, 4, 2, 3).reshape(1, 8, 8, 8)
    weight = w.transpose(0, 5, 1, 4, 2, 3).reshape(8, 8, 3, 3)
    want = topi.testing.conv2d_nchw_python(plain, weight, 1, 1)
    np.testing.assert_allclose(got.transpose(0, 1, 4, 2, 3).reshape(1, 8, 8, 8), want, rtol=1e-4)


def test_1124_pools_inline_what_is_injective(tvm: Any) -> None:
    te, topi = tvm.te, tvm.topi
    data, kernel = te.placeholder((1, 4, 8, 8), name="data"), te.placeholder((4, 1, 3, 3), name="kernel")
    pool = topi.nn.pool2d(data, [3, 3], [1, 1], [1, 1], [1, 1, 1, 1], pool_type="max", layout="NCHW")
    s = te.create_schedule(pool.op)
    te.schedule.AutoInlineInjective(s)
    s[pool].parallel(s[pool].fuse(*pool.op.axis[:2]))
    x = numbers(1, 4, 8, 8)
    assert str(tvm.lower(s, [data, pool])).count("allocate(") == 0, "the padded input is nowhere"
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=-np.inf)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    assert np.array_equal(run(tvm, s, [data, pool], [x], x.shape), windows.max((4, 5)))
    conv = topi.nn.depthwise_conv2d_nchw(data, kernel, 1, 1, 1)
    s = te.create_schedule(conv.op)
    te.schedule.AutoInlineInjective(s)
    w = numbers(4, 1, 3, 3, seed=1)
    want = topi.testing.depthwise_conv2d_python_nchw(x, w, (1, 1), "SAME")
    np.testing.assert_allclose(run(tvm, s, [data, kernel, conv], [x, w], x.shape), want, rtol=1e-4)


def test_1125_batch_norm_all_inline_and_topi_softmax(tvm: Any) -> None:
    te, topi = tvm.te, tvm.topi
    data = te.placeholder((2, 3, 4, 4), name="data")
    scale, shift, mean, var = (te.placeholder((3,), name=name) for name in ("gamma", "beta", "mean", "var"))
    out = topi.nn.batch_norm(data, scale, shift, mean, var, axis=1, epsilon=1e-5)
    out = out[0] if isinstance(out, list | tuple) else out
    s = te.create_schedule(out.op)
    te.schedule.AutoInlineInjective(s)
    s[out].parallel(s[out].fuse(*out.op.axis[:2]))
    s[out].vectorize(out.op.axis[3])
    assert str(tvm.lower(s, [data, scale, shift, mean, var, out])).count("allocate(") == 0
    x, g, b, m, v = numbers(2, 3, 4, 4), *(numbers(3, seed=i) for i in range(1, 5))
    shaped = [value.reshape(3, 1, 1) for value in (g, b, m, v)]
    want = (x - shaped[2]) / np.sqrt(shaped[3] + 1e-5) * shaped[0] + shaped[1]
    np.testing.assert_allclose(
        run(tvm, s, [data, scale, shift, mean, var, out], [x, g, b, m, v], x.shape), want, rtol=1e-4
    )
    flat = te.placeholder((4, 10), name="flat")
    soft = topi.nn.softmax(flat)
    y = numbers(4, 10)
    want = topi.testing.softmax_python(y)
    np.testing.assert_allclose(run(tvm, te.create_schedule(soft.op), [flat, soft], [y], (4, 10)), want, rtol=1e-5)


def test_1126_math_of_the_target_and_math_of_all(tvm: Any) -> None:
    """A function of the target by its name, and the same by the intrinsic that every target has."""
    te = tvm.te
    a = te.placeholder((9,), name="A")
    direct = te.compute((9,), lambda i: tvm.tir.call_pure_extern("float32", "expf", a[i]), name="B")
    unified = te.compute((9,), lambda i: te.exp(a[i]), name="C")
    x = numbers(9)
    for out in (direct, unified):
        np.testing.assert_allclose(run(tvm, te.create_schedule(out.op), [a, out], [x], (9,)), np.exp(x), rtol=1e-5)


def test_1126_scans_of_one_state_several_stages_and_several_states(tvm: Any) -> None:
    te, m, n = tvm.te, 6, 5
    x = te.placeholder((m, n), name="X")
    s_state = te.placeholder((m, n), name="state")
    s_init = te.compute((1, n), lambda _, i: x[0, i], name="init")
    s_update = te.compute((m, n), lambda t, i: s_state[t - 1, i] + x[t, i], name="update")
    scan = te.scan(s_init, s_update, s_state, inputs=[x])
    values = numbers(m, n)
    got = run(tvm, te.create_schedule(scan.op), [x, scan], [values], (m, n))
    np.testing.assert_allclose(got, values.cumsum(0), rtol=1e-5)
    cell_state = te.placeholder((m, n), name="cell_state")
    step = te.compute((m, n), lambda t, i: cell_state[t - 1, i] * 2, name="step")
    update = te.compute((m, n), lambda t, i: step[t, i] + x[t, i], name="update2")
    cell = te.scan(s_init, update, cell_state, inputs=[x])
    s = te.create_schedule(cell.op)
    s[step].compute_at(s[update], s[update].op.axis[1])
    want = values.copy()
    for t in range(1, m):
        want[t] += 2 * want[t - 1]
    np.testing.assert_allclose(run(tvm, s, [x, cell], [values], (m, n)), want, rtol=1e-5)
    one, other = te.placeholder((m, n), name="one"), te.placeholder((m, n), name="other")
    ones = te.compute((1, n), lambda _, i: x[0, i], name="ones")
    zeros = te.compute((1, n), lambda _, i: x[0, i] * 0, name="zeros")
    next_one = te.compute((m, n), lambda t, i: one[t - 1, i] + x[t, i], name="next_one")
    next_other = te.compute((m, n), lambda t, i: other[t - 1, i] + one[t - 1, i], name="next_other")
    both = te.scan([ones, zeros], [next_one, next_other], [one, other], inputs=[x])
    s = te.create_schedule(both[0].op)
    outs = [tvm.nd.array(np.zeros((m, n), np.float32)) for _ in range(2)]
    tvm.build(s, [x, *both])(tvm.nd.array(values), *outs)
    sums = values.cumsum(0)
    np.testing.assert_allclose(outs[0].numpy(), sums, rtol=1e-5)
    np.testing.assert_allclose(outs[1].numpy(), np.vstack([np.zeros((1, n)), sums[:-1].cumsum(0)]), rtol=1e-5)


def test_1128_hybrid_scripts_and_extern_calls(tvm: Any) -> None:
    te = tvm.te

    @te.hybrid.script
    def outer_product(a, b):  # type: ignore[no-untyped-def]
        c = output_tensor((100, 99), a.dtype)  # type: ignore[name-defined]  # noqa: F821  # words of the script
        for i in range(a.shape[0]):
            for j in range(b.shape[0]):
                c[i, j] = a[i] * b[j]
        return c

    a, b = te.placeholder((100,), name="a"), te.placeholder((99,), name="b")
    c = outer_product(a, b)
    x, y = numbers(100), numbers(99, seed=1)
    assert np.array_equal(run(tvm, te.create_schedule(c.op), [a, b, c], [x, y], (100, 99)), np.outer(x, y))

    @tvm.register_func("test_000.my_add", override=True)  # type: ignore[untyped-decorator]
    def my_add(one: Any, two: Any, out: Any) -> None:
        tvm.nd.array(one.numpy() + two.numpy()).copyto(out)

    p, q = te.placeholder((7,), name="P"), te.placeholder((7,), name="Q")
    r = te.extern((7,), [p, q], lambda ins, outs: tvm.tir.call_packed("test_000.my_add", *ins, outs[0]), name="R")
    x, y = numbers(7), numbers(7, seed=1)
    assert np.array_equal(run(tvm, te.create_schedule(r.op), [p, q, r], [x, y], (7,)), x + y)
    assert my_add is not None


def test_1130_functions_modules_and_objects(tvm: Any) -> None:
    te = tvm.te

    @tvm.register_func("test_000.addone", override=True)  # type: ignore[untyped-decorator]
    def addone(value: int) -> int:
        return value + 1

    assert tvm.get_global_func("test_000.addone")(addone(1)) == 3
    a = te.placeholder((4,), name="A")
    b = te.compute((4,), lambda i: a[i] + 1, name="B")
    module = tvm.build(te.create_schedule(b.op), [a, b], target="llvm", name="addone")
    out = tvm.nd.array(np.zeros(4, np.float32))
    module["addone"](tvm.nd.array(numbers(4)), out)
    assert np.array_equal(out.numpy(), numbers(4) + 1)
    assert "define" in module.get_source("ll")


def test_1131_functions_of_te_are_those_of_tir(tvm: Any) -> None:
    x = tvm.tir.Var("x", "float32")
    for name in ("exp", "sqrt", "abs", "floor", "sigmoid"):
        tvm.ir.assert_structural_equal(getattr(tvm.te, name)(x), getattr(tvm.tir, name)(x))
    assert isinstance(tvm.tir.abs(x), tvm.tir.PrimExpr)


def test_20210118_variables_are_what_they_are_not_how_they_are_called(tvm: Any) -> None:
    x, y = tvm.tir.Var("x", "int32"), tvm.tir.Var("x", "int32")
    assert not tvm.ir.structural_equal(x + 1, y + 1)
    assert tvm.ir.structural_equal(x + 1, x + 1)
    assert tvm.ir.structural_equal(x + 1, y + 1, map_free_vars=True)


def test_20210119_elements_of_buffers_in_an_ir_builder(tvm: Any) -> None:
    """``buffer_ptr`` reads and writes elements; a tensor is no buffer yet, and says so."""
    buffer = tvm.tir.decl_buffer((8,), "float32", name="A")
    ib = tvm.tir.ir_builder.create()
    data = ib.buffer_ptr(buffer)
    held = ib.allocate("float32", (8,), name="held", scope="global")
    with ib.for_range(0, 8, name="i") as i:
        held[i] = data[i] * 2.0
        data[i] = held[i] + 1.0
    func = tvm.tir.PrimFunc([buffer], ib.get()).with_attr("global_symbol", "twice")
    values = tvm.nd.array(numbers(8))
    tvm.build(func, target="llvm")(values)
    assert np.array_equal(values.numpy(), numbers(8) * 2 + 1)
    with pytest.raises(tvm.TVMError) as caught:
        tvm.tir.ir_builder.create().buffer_ptr(tvm.te.placeholder((8,), name="T"))
    assert str(caught.value) == "buffer_ptr takes a buffer, not Tensor; for a tensor see te.extern"


def test_20210219_storage_flatten_makes_one_dimension_of_all(tvm: Any) -> None:
    te = tvm.te
    a = te.placeholder((4, 6), name="A")
    b = te.compute((4, 6), lambda i, j: a[i, j] + 1, name="B")
    c = te.compute((4, 6), lambda i, j: b[i, j] * 2, name="C")
    s = te.create_schedule(c.op)
    s[b].compute_at(s[c], c.op.axis[0])
    s[b].storage_align(b.op.axis[0], 8, 0)
    before = tvm.driver.build_module.schedule_to_module(s, [a, c])
    assert "realize(B" in str(before)
    after = tvm.tir.transform.StorageFlatten(64)(before)
    text = str(after)
    assert "realize(" not in text
    assert "C: Buffer(C_2: Pointer(float32), float32, [24], [])" in text
    assert "allocate(B: Pointer(float32), float32, [" in text
    x = numbers(4, 6)
    assert np.array_equal(run(tvm, s, [a, c], [x], (4, 6)), (x + 1) * 2)


def test_20210307_passes_in_python(tvm: Any) -> None:
    """A pass that finds loops by ``post_order_visit`` and changes them by ``ir_transform``, in a ``PassContext``."""
    te, tir = tvm.te, tvm.tir
    a = te.placeholder((16,), name="A")
    c = te.compute((16,), lambda i: a[i] * 3, name="C")
    s = te.create_schedule(c.op)

    @tir.transform.prim_func_pass(opt_level=0)  # type: ignore[untyped-decorator]
    def split_by_8(func: Any, _mod: Any, _ctx: Any) -> Any:
        loops: list[Any] = []
        tir.stmt_functor.post_order_visit(
            func.body,
            lambda node: loops.append(node) if isinstance(node, tir.For) and int(node.extent) % 8 == 0 else None,
        )

        def vectorised(node: Any) -> Any:
            if node not in loops:
                return None
            outer, inner = tir.Var(f"{node.loop_var.name}.outer", "int32"), tir.Var("inner", "int32")
            body = tir.stmt_functor.substitute(node.body, {node.loop_var: outer * 8 + inner})
            inside = tir.For(inner, 0, 8, tir.ForKind.VECTORIZED, body)
            return tir.For(outer, 0, node.extent // 8, tir.ForKind.SERIAL, inside)

        return func.with_body(tir.stmt_functor.ir_transform(func.body, None, vectorised, ["tir.For"]))

    with tvm.transform.PassContext(config={"tir.add_lower_pass": [(1, split_by_8)]}):
        text = str(tvm.lower(s, [a, c]))
        x = numbers(16)
        assert np.array_equal(run(tvm, s, [a, c], [x], (16,)), x * 3)
    assert "i.outer: int32, 0, 2" in text
    assert "ramp(" in text


def test_20210313_blocks_are_scheduled_on_tir_itself(tvm: Any) -> None:
    te = tvm.te
    a = te.placeholder((8, 8), name="A")
    b = te.compute((8, 8), lambda i, j: a[i, j] + 1, name="B")
    func = te.create_prim_func([a, b])
    sch = tvm.tir.Schedule(func)
    block = sch.get(sch.get_block("B"))
    assert isinstance(block, tvm.tir.Block)
    assert [str(axis.kind) for axis in block.iter_vars] == ["DataPar", "DataPar"]
    sch.vectorize(sch.get_loops("B")[1])
    x = numbers(8, 8)
    out = tvm.nd.array(np.zeros((8, 8), np.float32))
    tvm.build(sch.mod, target="llvm")(tvm.nd.array(x), out)
    assert np.array_equal(out.numpy(), x + 1)


def test_20210315_storage_rewrite_shares_memory(tvm: Any) -> None:
    """Stages one after the other: each dies when the next one was made of it, so two local memories hold them all."""
    te = tvm.te
    a = te.placeholder((64,), name="A")
    stage, made = a, []
    for number in range(6):
        stage = te.compute((64,), lambda i, before=stage: before[63 - i] + 1.0, name=f"S{number}")
        made.append(stage)
    s = te.create_schedule(stage.op)
    for inner in made[:-1]:
        s[inner].set_scope("local")
    module = tvm.tir.transform.StorageFlatten(64)(tvm.driver.build_module.schedule_to_module(s, [a, stage]))
    assert str(module).count("allocate(") == 5
    shared = tvm.tir.transform.StorageRewrite()(module)
    assert str(shared).count("allocate(") == 2
    x = numbers(64)
    assert np.allclose(run(tvm, s, [a, stage], [x], (64,)), x + 6)
    over = te.compute((64,), lambda i: a[i] + 1.0, name="O0")
    same = te.compute((64,), lambda i: over[i] * 2.0, name="O1")
    last = te.compute((64,), lambda i: same[i] + 3.0, name="O2")
    s = te.create_schedule(last.op)
    for inner in (over, same):
        s[inner].set_scope("local")
    module = tvm.tir.transform.StorageFlatten(64)(tvm.driver.build_module.schedule_to_module(s, [a, last]))
    assert str(tvm.tir.transform.StorageRewrite()(module)).count("allocate(") == 1, "in place, element by element"


def test_1126_rules_of_ones_own_for_intrinsics(tvm: Any) -> None:
    """``register_op_attr`` says what an intrinsic does, ``register_intrin_rule`` what a target makes of it."""
    te, tir = tvm.te, tvm.tir

    def my_cuda_math_rule(op: Any) -> Any:
        assert op.op.name == "tir.exp"
        return tir.call_pure_extern(op.dtype, f"{op.op.name[4:]}f", op.args[0])

    tvm.target.register_intrin_rule("cuda", "exp", my_cuda_math_rule, override=True)
    tvm.ir.register_op_attr("tir.mylog", "TCallEffectKind", tir.CallEffectKind.Pure)
    tvm.ir.register_intrin_lowering(
        "tir.mylog", target="llvm", f=lambda op: tir.call_pure_extern("float32", "logf", op.args[0]), level=11
    )
    a = te.placeholder((9,), name="A")
    b = te.compute((9,), lambda i: tir.call_intrin("float32", "tir.mylog", te.exp(a[i])), name="B")
    x = numbers(9)
    np.testing.assert_allclose(run(tvm, te.create_schedule(b.op), [a, b], [x], (9,)), x, rtol=1e-5, atol=1e-6)


def test_1128_hybrid_loops_conditions_and_mathematics(tvm: Any) -> None:
    te = tvm.te

    @te.hybrid.script
    def smooth(a):  # type: ignore[no-untyped-def]
        # Words of the script, not of Python:
        b = output_tensor(a.shape, "float32")  # type: ignore[name-defined]  # noqa: F821
        for i in parallel(a.shape[0]):  # type: ignore[name-defined]  # noqa: F821
            total = 0.0
            for j in const_range(3):  # type: ignore[name-defined]  # noqa: F821
                if i + j >= 1 and i + j - 1 < a.shape[0]:
                    total += sigmoid(a[i + j - 1])  # type: ignore[name-defined]  # noqa: F821
                else:
                    total += exp(0.0)  # type: ignore[name-defined]  # noqa: F821
            b[i] = total
        return b

    a = te.placeholder((8,), name="a")
    b = smooth(a)
    x = numbers(8)
    values = np.concatenate([[1], 1 / (1 + np.exp(-x)), [1]])
    want = values[:-2] + values[1:-1] + values[2:]
    np.testing.assert_allclose(run(tvm, te.create_schedule(b.op), [a, b], [x], (8,)), want, rtol=1e-5)


def test_1129_a_template_is_tuned_and_its_best_applied(tvm: Any, tmp_path: Path) -> None:
    te, autotvm, log = tvm.te, tvm.autotvm, str(tmp_path / "matmul.log")

    @autotvm.template("test_000/matmul")  # type: ignore[untyped-decorator]
    def matmul(n: int, dtype: str) -> tuple[Any, list[Any]]:
        a, b = te.placeholder((n, n), dtype, "A"), te.placeholder((n, n), dtype, "B")
        k = te.reduce_axis((0, n), "k")
        c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
        s = te.create_schedule(c.op)
        (y, x), (k,) = s[c].op.axis, s[c].op.reduce_axis
        cfg = autotvm.get_config()
        cfg.define_split("tile_y", y, num_outputs=2)
        cfg.define_split("tile_x", x, num_outputs=2)
        yo, yi = cfg["tile_y"].apply(s, c, y)
        xo, xi = cfg["tile_x"].apply(s, c, x)
        cfg.define_reorder("order", [yo, xo, k, yi, xi], policy="candidate", candidate=[[yo, xo, k, yi, xi]])
        cfg["order"].apply(s, c, [yo, xo, k, yi, xi])
        return s, [a, b, c]

    task = autotvm.task.create("test_000/matmul", args=(16, "float32"), target="llvm")
    option = autotvm.measure_option(builder="local", runner=autotvm.LocalRunner(number=1, repeat=1))
    for kind in ("RandomTuner", "GridSearchTuner", "GATuner", "XGBTuner"):
        tuner = getattr(autotvm.tuner, kind)(task)
        tuner.tune(n_trial=2, measure_option=option, callbacks=[autotvm.callback.log_to_file(log)])
    assert all(result.error_no == 0 for _, result in autotvm.record.load_from_file(log))
    with autotvm.apply_history_best(log), tvm.target.Target("llvm"):
        s, args = matmul(16, "float32")
    x, y = numbers(16, 16), numbers(16, 16, seed=1)
    np.testing.assert_allclose(run(tvm, s, args, [x, y], (16, 16)), x @ y, rtol=1e-5)


def test_1129_a_schedule_from_the_definition_alone(tvm: Any, tmp_path: Path) -> None:
    scheduler, log = tvm.auto_scheduler, str(tmp_path / "relu.json")

    @scheduler.register_workload  # type: ignore[untyped-decorator]
    def rectified(channels: int) -> list[Any]:
        env = importlib.import_module("vta").get_env()
        data = tvm.te.placeholder((1, channels, 4, 4, env.BATCH, env.BLOCK_OUT), env.acc_dtype, "data")
        top = tvm.te.compute(data.shape, lambda *i: tvm.te.max(data(*i), 0), name="top")
        return [data, tvm.te.compute(data.shape, lambda *i: top(*i).astype("int8"), name="res")]

    task = scheduler.create_task(rectified, (2,), "ext_dev")
    here = scheduler.LocalBuilder(n_parallel=0)
    options = scheduler.TuningOptions(1, builder=here, measure_callbacks=[scheduler.RecordToFile(log)])
    s, args = scheduler.auto_schedule(task, tuning_options=options)
    assert importlib.import_module("vta").lower(s, args) is not None
    assert "tile" in task.print_best(log)
