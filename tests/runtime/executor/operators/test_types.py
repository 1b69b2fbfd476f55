import pytest

from runtime.executor.operators.types import (
    AnyDim,
    RelayError,
    TensorType,
    TupleType,
    bind_dims,
    element_type,
    unknown_dims,
)


def test_a_tensor_type_knows_its_shape_size_and_bytes() -> None:
    given = TensorType((2, 3), "int32")
    assert (given.shape, given.rank, given.size, given.nbytes) == ((2, 3), 2, 6, 24)
    assert TensorType((), "bool").size == 1


def test_types_compare_by_structure() -> None:
    assert TensorType([2], "int8") == TensorType((2,), "int8")
    assert TensorType((2,), "int8") != TensorType((2,), "uint8")
    assert hash(TupleType((TensorType((2,), "int8"),))) == hash(TupleType((TensorType((2,), "int8"),)))


def test_types_are_written_as_tvm_writes_them() -> None:
    pair = TupleType((TensorType((1, AnyDim("N"), AnyDim()), "float32"), TensorType((4,), "int8")))
    assert str(pair) == "(Tensor[(1, ?N, ?), float32], Tensor[(4,), int8])"
    assert str(TupleType((TensorType((), "bool"),))) == "(Tensor[(), bool],)"


@pytest.mark.parametrize("dtype", ["int4", "handle", "float32x4", "complex64", ""])
def test_an_element_type_that_tensors_do_not_have_is_refused(dtype: str) -> None:
    with pytest.raises(RelayError) as error:
        element_type(dtype)
    assert str(error.value) == (
        "a tensor's elements are one of bool, int8, uint8, int16, uint16, int32, uint32, int64, uint64, float16, "
        f"float32, float64, not {dtype!r}"
    )


@pytest.mark.parametrize("dim", [-1, True, 2.0, "N", 1 << 60])
def test_a_dimension_that_is_none_is_refused(dim: object) -> None:
    with pytest.raises(RelayError) as error:
        TensorType((1, dim), "int8")
    assert str(error.value) == f"a dimension is an integer from 0, or unknown, not {dim!r} (in (1, {dim!r}))"


def test_an_unknown_dimension_is_known_by_its_name() -> None:
    given = TensorType((AnyDim("N"), 3, AnyDim("H"), AnyDim("N")), "int8")
    assert unknown_dims(TupleType((given, given))) == (AnyDim("N"), AnyDim("H"))
    assert bind_dims(given, {"N": 2}) == TensorType((2, 3, AnyDim("H"), 2), "int8")
    with pytest.raises(RelayError, match=r"^the dimension \?N is not known; give a size for it$"):
        _ = given.shape
    bound = bind_dims(TupleType((given,)), {"N": 2, "H": 5, "W": 1})
    assert bound == TupleType((TensorType((2, 3, 5, 2), "int8"),))
