import numpy as np
import pytest

from vta import te
from vta.te.tensor import Tensor, as_index, as_range
from vta.tir.expr import IntImm, ProducerLoad, Range, same


@pytest.fixture
def x() -> te.Tensor:
    return te.placeholder((4, 6), "int8", "x")


def test_a_tensor_knows_its_shape_type_and_name(x: Tensor) -> None:
    assert (x.ndim, [int(n) for n in x.shape], x.dtype, x.name) == (2, [4, 6], "int8", "x")
    assert repr(x) == "Tensor(shape=[4, 6], op.name=x, dtype=int8)"


def test_a_tensor_equals_only_itself(x: Tensor) -> None:
    twin = te.placeholder((4, 6), "int8", "x")
    assert x == x
    assert x != twin
    assert {x: 1, twin: 2}[x] == 1


def test_an_element_is_a_read(x: Tensor) -> None:
    i = te.var("i")
    element = x(i, 2)
    assert isinstance(element, ProducerLoad)
    assert element.producer is x
    assert element.dtype == "int8"
    assert same(element.indices, (i, IntImm(2)))


def test_a_slice_takes_its_indices_one_by_one(x: Tensor) -> None:
    i = te.var("i")
    assert same(x[i][3].asexpr(), x(i, 3))
    assert same(x[i, 3].asexpr(), x(i, 3))
    assert x[i].dtype == "int8"


def test_an_element_computes_like_an_expression(x: Tensor) -> None:
    assert str(x[1, 2].astype("int32") * 3 + 1) == str(x(1, 2).astype("int32") * 3 + 1)


def test_a_tensor_without_dimensions_has_one_element() -> None:
    scalar = te.placeholder((), "float32", "s")
    assert same(scalar(), scalar[()].asexpr())


def test_numpy_and_wide_integers_index_like_plain_ones(x: Tensor) -> None:
    assert same(x(np.int64(1), np.uint8(2)), x(1, 2))
    assert str(x(te.var("n", "int64"), 0).indices[0].dtype) == "int32"


def test_too_few_indices_are_refused(x: Tensor) -> None:
    with pytest.raises(te.TensorError) as error:
        x(1)
    assert str(error.value) == "tensor 'x' has 2 dimensions, but 1 indices were given"
    with pytest.raises(te.TensorError, match="has 2 dimensions, but 1 indices were given"):
        x[1] + 1


def test_too_many_indices_are_refused(x: Tensor) -> None:
    with pytest.raises(te.TensorError) as error:
        x[1, 2, 3]
    assert str(error.value) == "tensor 'x' has 2 dimensions, but 3 indices were given"


def test_an_index_must_be_an_integer(x: Tensor) -> None:
    with pytest.raises(te.TensorError) as error:
        x[1.5, 0]
    assert str(error.value) == (
        "index of tensor 'x': expected an integer or an integer expression, got 1.5 of type float32"
    )
    with pytest.raises(te.TensorError) as error:
        x(object, 0)
    assert str(error.value) == f"index of tensor 'x': expected an integer or an integer expression, got {object!r}"


def test_a_size_beyond_int32_is_refused() -> None:
    with pytest.raises(te.TensorError) as error:
        as_index(1 << 40, "size")
    assert str(error.value) == f"size: {1 << 40} does not fit int32, the type of indices"


def test_a_tensor_is_neither_true_nor_has_it_a_length(x: Tensor) -> None:
    with pytest.raises(te.TensorError) as error:
        bool(x)
    assert str(error.value) == "tensor 'x' has no truth value while a program is described"
    with pytest.raises(te.TensorError) as error:
        len(x)
    assert str(error.value) == "tensor 'x' has no length; its sizes are in .shape"


def test_a_domain_is_a_pair_or_a_range() -> None:
    assert same(as_range((2, 7), "axis").extent, IntImm(5))
    assert same(as_range([2, 7], "axis").min, IntImm(2))
    assert as_range(Range(IntImm(1), IntImm(3)), "axis") == Range(IntImm(1), IntImm(3))
    with pytest.raises(te.TensorError) as error:
        as_range((1, 2, 3), "axis")
    assert str(error.value) == "axis: expected a pair (begin, end) or a Range, got (1, 2, 3)"


@pytest.mark.parametrize("dom", [(4, 0), (0, -4)])
def test_a_range_that_ends_before_it_begins_is_refused(dom: tuple[int, ...]) -> None:
    with pytest.raises(te.TensorError) as error:
        as_range(dom, "axis")
    assert str(error.value) == f"axis: expected (begin, end) with an end that is not before the begin, got {dom}"
