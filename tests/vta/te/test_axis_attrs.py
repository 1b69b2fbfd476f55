"""What a schedule says about axes, under TVM's names."""

from vta import te
from vta.te.axis_attrs import ITERATION_TYPES


def test_a_script_sees_how_loops_run() -> None:
    a = te.placeholder((8, 8, 8, 8), name="A")
    b = te.compute((8, 8, 8, 8), lambda i, j, k, m: a[i, j, k, m] + 1, "B")
    s = te.create_schedule(b.op)
    i, j, k, m = b.op.axis
    s[b].parallel(i)
    s[b].unroll(j)
    s[b].vectorize(m)
    s[b].pragma(k, "first")
    s[b].pragma(k, "second", "hello")
    views = s[b].iter_var_attrs
    names = {number: name for name, number in ITERATION_TYPES.items()}
    assert [names[views[axis].iter_type] for axis in (i, j, k, m)] == [
        "Parallelized",
        "Unrolled",
        "DataPar",
        "Vectorized",
    ]
    assert [key.value for key in views[k].pragma_keys] == ["first", "second"]
    assert [value.value for value in views[k].pragma_values] == [1, "hello"]  # type: ignore[union-attr]
    assert views[i].bind_thread is None
    assert views[i].tensor_intrin is None


def test_where_a_stage_is_computed_has_tvms_number() -> None:
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] + 1, "B")
    c = te.compute((8,), lambda i: b[i] + 1, "C")
    s = te.create_schedule(c.op)
    assert s.stage_map[b.op] is s[b]
    assert s[b].attach_type == 1
    s[b].compute_at(s[c], c.op.axis[0])
    assert s[b].attach_type == 4
    s[b].compute_inline()
    assert s[b].attach_type == 2
