from vta import te
from vta.te.lowering.infer_bound import infer_bounds
from vta.te.lowering.predicates import guards


def conditions(s: te.Schedule, tensor: te.Tensor) -> list[str]:
    bounds = infer_bounds(s)
    iteration = bounds.placed[s[tensor]].iteration
    found = guards(iteration, bounds.analyzer, values=iteration.values, positions=iteration.positions)
    return [str(guard.condition) for guard in found]


def copy(size: int) -> tuple[te.Schedule, te.Tensor]:
    x = te.placeholder((size,), "int32", "x")
    y = te.compute((size,), lambda i: x[i], "y")
    return te.create_schedule(y.op), y


def test_a_split_that_divides_needs_no_guard() -> None:
    s, y = copy(12)
    s[y].split(y.op.axis[0], 4)
    assert conditions(s, y) == []


def test_a_split_that_does_not_divide_guards_its_axis() -> None:
    s, y = copy(10)
    s[y].split(y.op.axis[0], 4)
    assert conditions(s, y) == ["((i.inner + (i.outer*4)) < 10)"]


def test_the_guard_of_an_axis_covers_its_outer_part() -> None:
    s, y = copy(130)
    outer, _ = s[y].split(y.op.axis[0], 7)
    s[y].split(outer, 5)
    assert conditions(s, y) == ["((i.inner + ((i.outer.inner + (i.outer.outer*5))*7)) < 130)"]


def test_the_inner_part_needs_a_guard_of_its_own_or_elements_would_repeat() -> None:
    s, y = copy(21)
    _, inner = s[y].split(y.op.axis[0], 7)
    s[y].split(inner, 3)
    assert conditions(s, y) == ["((i.inner.inner + (i.inner.outer*3)) < 7)"]


def test_a_region_beyond_the_tensor_is_guarded_at_its_end() -> None:
    x = te.placeholder((130,), "int32", "x")
    y = te.compute((130,), lambda i: x[i], "y")
    z = te.compute((130,), lambda i: y[i], "z")
    s = te.create_schedule(z.op)
    outer, _ = s[z].split(z.op.axis[0], 32)
    s[y].compute_at(s[z], outer)
    assert conditions(s, y) == ["((i + (i.outer*32)) < 130)"]


def test_a_region_before_the_tensor_is_guarded_at_its_start() -> None:
    x = te.placeholder((12,), "int32", "x")
    y = te.compute((12,), lambda i: x[i], "y")
    z = te.compute((12,), lambda i: te.if_then_else(i >= 2, y[i - 2], te.const(0)), "z")
    s = te.create_schedule(z.op)
    outer, _ = s[z].split(z.op.axis[0], 4)
    s[y].compute_at(s[z], outer)
    assert conditions(s, y) == ["((i + ((i.outer*4) - 2)) >= 0)"]
