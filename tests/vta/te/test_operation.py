from collections.abc import Callable
from typing import Any

import pytest

from vta import te
from vta.te.operation import PlaceholderError
from vta.tir.expr import Expr, IterKind, Reduce, same


def test_a_placeholder_reads_nothing_and_has_one_output() -> None:
    x = te.placeholder((3,), name="x")
    assert (x.op.name, x.dtype, x.op.num_outputs, x.op.input_tensors) == ("x", "float32", 1, ())
    assert x.op.output(0) is x
    assert repr(x.op) == "placeholder(x)"


def test_one_size_alone_is_a_shape() -> None:
    assert [int(n) for n in te.placeholder(5).shape] == [5]


def test_a_size_below_one_is_refused() -> None:
    with pytest.raises(te.TensorError) as error:
        te.placeholder((4, 0), name="x")
    assert str(error.value) == "dimension 1 of 'x': expected at least 1, got 0"


def test_the_axes_take_the_names_of_the_arguments() -> None:
    x = te.placeholder((3, 4), "int32", "x")
    y = te.compute((3, 4), lambda row, col: x[row, col] + 1, name="y")
    assert [axis.name for axis in y.op.axis] == ["row", "col"]
    assert repr(y.op) == "compute(y, axis=[row, col])"
    assert [axis.name for axis in te.compute((3, 4), lambda *i: x(*i)).op.axis] == ["i0", "i1"]
    assert [axis.name for axis in te.compute((3, 4), lambda n, *i: x(n, *i)).op.axis] == ["n", "i1"]


def test_a_default_argument_is_no_axis() -> None:
    x = te.placeholder((3,), "int32", "x")
    computed = [te.compute((3,), lambda i, c=c: x[i] + c) for c in range(2)]
    assert [len(y.op.axis) for y in computed] == [1, 1]


def test_a_compute_knows_what_it_reads_in_order() -> None:
    a, b = te.placeholder((3,), "int32", "a"), te.placeholder((3,), "int32", "b")
    y = te.compute((3,), lambda i: b[i] * a[i] + b[i], "y", tag="mine", attrs={"k": 1})
    assert y.op.input_tensors == (b, a)
    assert (y.op.tag, dict(y.op.attrs), y.op.dtype) == ("mine", {"k": 1}, "int32")


def test_a_scalar_is_computed_from_no_index() -> None:
    y = te.compute((), lambda: te.const(3), "y")
    assert (y.ndim, y.op.axis) == (0, ())


def test_several_expressions_are_several_tensors() -> None:
    x = te.placeholder((3,), "int32", "x")
    both = te.compute((3,), lambda i: (x[i] + 1, x[i].astype("int8")), "both")
    assert [t.name for t in both] == ["both.v0", "both.v1"]
    assert [t.dtype for t in both] == ["int32", "int8"]
    assert both[0].op is both[1].op


def test_redefining_keeps_the_tensors() -> None:
    x = te.placeholder((3,), "int32", "x")
    y = te.compute((3,), lambda i: x[i], "y")
    again = y.op.redefined((x(0),))
    assert again.outputs == y.op.outputs
    assert again.output(0) is y


def test_a_wrong_number_of_arguments_is_refused() -> None:
    with pytest.raises(te.ComputeError) as error:
        te.compute((3, 4), lambda _i, _j, _k: te.const(0), "y")
    assert str(error.value) == "compute 'y': the shape has 2 dimensions, but the function takes 3 indices: (_i, _j, _k)"


def test_no_expression_is_refused() -> None:
    with pytest.raises(te.ComputeError) as error:
        te.compute((3,), lambda _i: (), "y")
    assert str(error.value) == "compute 'y': the function returned no expression"


@pytest.mark.parametrize("pick", [lambda r: r[0], lambda r: (r[1], r[0]), lambda r: (r[0], te.const(1))])
def test_part_of_a_reduction_is_refused(pick: Callable[..., Any]) -> None:
    x, k = te.placeholder((3,), "int32", "x"), te.reduce_axis((0, 3))
    both = te.comm_reducer(
        lambda a, b: (a[0] + b[0], a[1] + b[1]), lambda s, t: (te.const(0, s), te.const(0, t)), name="both"
    )
    with pytest.raises(te.ComputeError) as error:
        te.compute((1,), lambda _i: pick(both((x[k], x[k]), axis=k)), "y")
    assert str(error.value) == (
        "compute 'y': the outputs must be all the results of one reduction, in their order, or no reductions"
    )


def test_a_reduction_range_from_memory_is_refused() -> None:
    x, n = te.placeholder((9,), "int32", "x"), te.placeholder((3,), "int32", "n")

    def total(i: Expr) -> Any:
        k = te.reduce_axis((0, n[i]), "k")
        return te.sum(x[k], axis=k)

    with pytest.raises(te.ComputeError) as error:
        te.compute((3,), total, "y")
    assert str(error.value) == (
        "compute 'y': the range of reduction axis 'k' depends on an element of a tensor; take a range that covers "
        "every case, with the condition as where="
    )


def test_a_reduction_axis_may_start_anywhere() -> None:
    k = te.reduce_axis((2, 7), name="k")
    assert (k.kind, int(k.dom.min), int(k.dom.extent)) == (IterKind.COMM_REDUCE, 2, 5)


def test_a_thread_axis_has_a_tag_and_maybe_an_extent() -> None:
    plain, sized, named = (
        te.thread_axis("cthread"),
        te.thread_axis(2, "vthread"),
        te.thread_axis((0, 3), "vthread", "v"),
    )
    assert (plain.name, plain.thread_tag, plain.dom, plain.kind) == (
        "cthread", "cthread", None, IterKind.THREAD_INDEX,
    )  # fmt: skip
    assert (sized.name, int(sized.dom.extent)) == ("vthread", 2)
    assert (named.name, int(named.dom.extent)) == ("v", 3)


def test_a_thread_axis_without_a_tag_is_refused() -> None:
    with pytest.raises(te.ComputeError) as error:
        te.thread_axis(4)
    assert str(error.value) == "thread_axis needs a tag, for example te.thread_axis('cthread')"


def test_a_tag_scope_tags_what_is_described_inside() -> None:
    x = te.placeholder((3,), "int32", "x")
    with te.tag_scope("elemwise"):
        inside = te.compute((3,), lambda i: x[i])
        own = te.compute((3,), lambda i: x[i], tag="own")
    outside = te.compute((3,), lambda i: x[i])
    assert [t.op.tag for t in (inside, own, outside)] == ["elemwise", "own", ""]


def test_a_tag_scope_is_a_decorator_too() -> None:
    @te.tag_scope(tag="broadcast")
    def describe() -> te.Tensor:
        return te.compute((3,), lambda _i: te.const(1))

    assert [describe().op.tag, describe().op.tag] == ["broadcast", "broadcast"]


def test_tag_scopes_do_not_nest() -> None:
    with te.tag_scope("outer"), pytest.raises(te.ComputeError) as error, te.tag_scope("inner"):
        pass
    assert str(error.value) == "tag_scope('inner') inside tag_scope('outer'); scopes do not nest"


def test_the_reductions_of_one_call_are_one_reduction() -> None:
    x, k = te.placeholder((3,), "int32", "x"), te.reduce_axis((0, 3))
    y = te.compute((1,), lambda _i: te.sum(x[k], axis=k), "y")
    assert isinstance(y.op.body[0], Reduce)
    assert y.op.reduce_axis == (k,)
    assert same(y.op.body[0].combiner.identity[0], te.const(0))


@pytest.mark.parametrize("name", ["axis", "reduce_axis"])
def test_a_placeholder_has_no_loops(name: str) -> None:
    x = te.placeholder((4,), name="x")
    with pytest.raises(PlaceholderError) as error:
        getattr(x.op, name)
    assert str(error.value) == (
        f"'x' is a placeholder, which has no loops and so no {name}; the stages that read it have some"
    )
    assert not hasattr(x.op, name)
