"""Schedules as the text of hybrid scripts."""

# the words of the script

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vta import te
from vta.te import hybrid
from vta.te.hybrid import HybridError, HybridModule
from vta.tir import ops
from vta.tir.expr import Cast, const
from vta.tir.math_ops import popcount


def test_what_it_writes_computes_what_the_schedule_does(tmp_path: Path) -> None:
    n = te.size_var("n")
    a, b = te.placeholder((n, 7), "int32", "a"), te.placeholder((7,), "float32", "for")
    k = te.reduce_axis((0, 7), "k")
    total = te.compute((n,), lambda i: te.sum(a[i, k] * 2, axis=k), "total.x")
    c = te.compute(
        (n, 7),
        lambda i, j: (
            ops.select(total[i] > 3, Cast("float32", total[i]), b[j] / 2)  # type: ignore[arg-type]
            + ops.if_then_else(j % 3 == 0, ops.sqrt(b[j] * b[j]), ops.max(b[j], 1.5)).asexpr()
            + popcount(a[i, j] << 1).astype("float32")
        ),
        "c",
    )
    s = te.create_schedule(c.op)
    outer, inner = s[c].split(c.op.axis[0], 4)
    s[total].compute_at(s[c], outer)
    s[c].unroll(inner)
    module = hybrid.build(s, [n, a, b], [c], name="program")
    text = module.get_source()
    assert text.startswith('def program(n, a, for_1):\n    c = output_tensor((n, 7,), "float32")\n')
    assert " in unroll(" in text
    assert "total_x = allocate(" in text
    rng = np.random.default_rng(3)
    x, y = rng.integers(-9, 9, (9, 7)).astype(np.int32), rng.standard_normal(7).astype(np.float32)
    sums = x.sum(axis=1) * 2
    column = np.where(np.arange(7) % 3 == 0, np.abs(y), np.maximum(y, 1.5))
    bits = np.vectorize(lambda v: (int(v) << 1 & 0xFFFFFFFF).bit_count())(x)
    wanted = np.where(sums[:, None] > 3, sums[:, None], y / 2) + column + bits
    np.testing.assert_allclose(module(9, x, y), wanted, rtol=1e-6)
    path = tmp_path / "program.py"
    module.save(path)
    again = HybridModule()
    again.load(path)
    assert (again.name, again.src) == ("program", text)
    np.testing.assert_allclose(again(9, x, y), wanted, rtol=1e-6)
    assert isinstance(again(n, a, b), te.Tensor)


def test_what_has_no_text_is_refused(tmp_path: Path) -> None:
    a = te.placeholder((8,), "float32", "a")
    bound = te.compute((8,), lambda i: a[i] + 1, "b")
    s = te.create_schedule(bound.op)
    s[bound].bind(bound.op.axis[0], te.thread_axis("threadIdx.x"))
    infinite = te.compute((8,), lambda i: a[i] + const(float("inf"), "float32"), "c")
    called = te.compute((8,), lambda i: te.truncmod(i, 3), "d")
    for schedule, output, text in (
        (s, bound, "a AttrStmt has no text as hybrid script"),
        (te.create_schedule(infinite.op), infinite, "inff32 has no text as hybrid script"),
        (te.create_schedule(called.op), called, "(i % 3) has no text as hybrid script"),
    ):
        with pytest.raises(HybridError) as error:
            hybrid.build(schedule, [a], [output])
        assert str(error.value) == f"hybrid.build: {text}"
    with pytest.raises(HybridError) as error:
        HybridModule("def f(:")
    assert str(error.value) == "<hybrid>:1: invalid syntax"
    with pytest.raises(HybridError, match=r"^<hybrid>: expected the text of one function$"):
        HybridModule("x = 1")
    with pytest.raises(HybridError, match=r"f\.txt: a hybrid script is saved as a file that ends in \.py$"):
        HybridModule("def f(a):\n    return a").save(tmp_path / "f.txt")


def test_a_scripts_errors_name_the_line_of_the_file() -> None:
    module = HybridModule("def f(a):\n    b = output_tensor((8,), 'int32')\n    b[0] = y\n    return b\n")
    values: Any = te.placeholder((8,), "int32", "a")
    with pytest.raises(HybridError) as error:
        module(values)
    assert str(error.value).startswith("<hybrid>:3: 'y' is not known here")
