"""Arrays and devices under TVM's names."""

import numpy as np
import pytest

import vta
from runtime.memory.array import ArrayError
from vta import nd, tir


@pytest.fixture(params=["cpu", "ext_dev"])
def device(request: pytest.FixtureRequest) -> nd.Device:
    return nd.device(request.param)


def test_an_array_holds_a_copy(device: nd.Device) -> None:
    source = np.arange(12, dtype=np.int8).reshape(3, 4)
    array = nd.array(source, device)
    source[:] = 0
    np.testing.assert_array_equal(array.numpy(), np.arange(12, dtype=np.int8).reshape(3, 4))
    np.testing.assert_array_equal(array.asnumpy(), array.numpy())
    assert (array.shape, array.dtype) == ((3, 4), "int8")
    assert array.device == device
    assert array.ctx == device


def test_arrays_are_copied_between_devices() -> None:
    host = nd.array(np.arange(6, dtype=np.int32))
    device = nd.array(host, nd.ext_dev())
    back = nd.empty((6,), "int32")
    device.copyto(back)
    np.testing.assert_array_equal(back.numpy(), np.arange(6))
    host.copyfrom(np.full(6, 5, np.int32))
    assert nd.array(host).numpy().tolist() == [5] * 6


def test_shapes_may_be_what_te_has(device: nd.Device) -> None:
    assert nd.empty((tir.IntImm(2), np.int64(3)), "int8", device).shape == (2, 3)
    assert nd.empty(4, "float32", device).shape == (4,)
    with pytest.raises(ArrayError) as error:
        nd.empty((tir.Var("n"),), "int8", device)
    assert str(error.value).startswith("array: an extent is a number, not ")


def test_types_that_numpy_does_not_have() -> None:
    array = nd.array(np.arange(-8, 8, dtype=np.int8), nd.ext_dev(), dtype="int4")
    assert (array.dtype, array.nbytes) == ("int4", 8)
    np.testing.assert_array_equal(array.numpy(), np.arange(-8, 8))


def test_devices() -> None:
    assert str(nd.cpu()) == "cpu(0)"
    assert str(nd.ext_dev()) == "ext_dev(0)"
    assert (nd.cpu().device_type, nd.ext_dev().device_type) == (1, 12)
    assert nd.ext_dev().session is vta.get_env().session
    assert nd.device("llvm") == nd.cpu()
    assert nd.device(12) == nd.ext_dev()
    assert nd.cpu().exist
    nd.cpu().sync()
    with pytest.raises(nd.DeviceError) as error:
        nd.cpu(1)
    assert str(error.value) == "device cpu(1) is not there; there is one device of each kind, number 0"
    with pytest.raises(nd.DeviceError) as error:
        nd.device("cuda")
    assert str(error.value) == "device 'cuda' is unknown; there are 'cpu' and 'ext_dev'"
    with pytest.raises(nd.DeviceError) as error:
        nd.Device(2)
    assert str(error.value) == "device type 2 is unknown; there are cpu (1) and ext_dev (12)"


def test_environments_have_their_own_devices() -> None:
    other = vta.Environment(vta.get_env().config)
    with other:
        assert nd.ext_dev().session is other.session
    assert nd.ext_dev().session is not other.session


def test_memory_is_shared_with_other_libraries() -> None:
    array = nd.array(np.arange(6, dtype=np.float32).reshape(2, 3))
    view = np.from_dlpack(array.to_dlpack())  # type: ignore[attr-defined]
    array[:] = 7
    assert view.tolist() == [[7, 7, 7], [7, 7, 7]]
    numbers = np.arange(4, dtype=np.int32)
    shared = nd.from_dlpack(numbers)
    numbers[1] = 50
    assert shared.numpy().tolist() == [0, 50, 2, 3]
    again = nd.from_dlpack(shared)
    shared[:] = np.array([9, 8, 7, 6], np.int32)
    assert again.numpy().tolist() == [9, 8, 7, 6]
    assert nd.from_dlpack(np.zeros((0, 3), np.int32)).numpy().shape == (0, 3)
    assert nd.from_dlpack(np.array(5, np.int32)).numpy() == 5
    with pytest.raises(ArrayError) as error:
        nd.from_dlpack(np.arange(8)[::2])
    assert str(error.value) == "array of shape (4,): its rows do not lie one after the other; copy it first"
    with pytest.raises(ArrayError) as error:
        nd.from_dlpack([1, 2])
    assert str(error.value) == "from_dlpack takes an array of a library that has DLPack, not list"


def test_a_view_has_another_shape_and_the_same_memory() -> None:
    array = nd.array(np.arange(6, dtype=np.int32))
    view = array._create_view((2, 3))  # type: ignore[attr-defined]
    array[:] = 5
    assert view.numpy().tolist() == [[5, 5, 5], [5, 5, 5]]
    with pytest.raises(ArrayError) as error:
        array._create_view((4,))  # type: ignore[attr-defined]
    assert str(error.value) == "array of shape (6,): a view of shape (4,) has another size"


def test_all_of_an_array_is_set(device: nd.Device) -> None:
    array = nd.array(np.zeros((2, 3), np.int32), device)
    array[:] = np.arange(6, dtype=np.int32).reshape(2, 3)
    there = array.copyto(nd.cpu())
    assert there.numpy().tolist() == [[0, 1, 2], [3, 4, 5]]
    array[:] = 4
    array[:] = there
    assert array.numpy().tolist() == there.numpy().tolist()
    with pytest.raises(ArrayError) as error:
        array[0] = 1
    assert str(error.value) == "array of shape (2, 3): only all of it can be set, array[:] = ..., not [0]"
