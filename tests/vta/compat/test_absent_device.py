"""Devices that are not here can be asked for, and do nothing."""

import pytest

from vta import nd
from vta.compat.absent_device import any_device


def test_only_what_is_here_exists() -> None:
    assert any_device("cpu") == nd.cpu(0)
    cuda = any_device("cuda", 7)
    assert (cuda.exist, cuda.device_type, cuda.device_id, str(cuda)) == (False, 2, 7, "cuda(7)")
    assert any_device(4, 1).device_type == 4
    cuda.sync()
    with pytest.raises(nd.DeviceError) as error:
        cuda.empty((2,), "int32")
    assert str(error.value) == "device cuda(7) is not there; there are cpu(0) and ext_dev(0)"
