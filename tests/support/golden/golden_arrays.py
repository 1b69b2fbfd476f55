"""The arrays of a recorded case, at the addresses that they had."""

from runtime.memory.array import DeviceArray
from runtime.session import Session
from tests.support.golden.golden import Case
from vta.nd import EXT_DEV, Device, NDArray, empty

__all__ = ["place_arrays"]


def place_arrays(case: Case, session: Session) -> dict[str, NDArray]:
    """Allocate the case's arrays, and the queue's areas, at the recorded physical addresses.

    Buffers that the function allocates for itself are left to it.
    """
    [uop_address] = {launch["uop_phy"] for launch in case.record["launches"]}
    kinds = {name: (shape, dtype) for name, shape, dtype in case.record["args"]}
    names = {entry["phy"]: entry["name"] for entry in case.record["buffers"] if entry["name"] in kinds}
    placed: dict[str, NDArray] = {}
    memory = session.memory
    for address in sorted([*names, uop_address]):
        if memory.nbytes < address:
            memory.alloc(address - memory.nbytes)
        if address == uop_address:
            assert session.queue.launcher.addresses.uops == uop_address
            continue
        shape, dtype = kinds[names[address]]
        array = empty(shape, dtype, Device(EXT_DEV, 0, session))
        assert isinstance(array, DeviceArray)
        assert array.allocation.address == address
        placed[names[address]] = array
    return {name: placed[name] for name, _, _ in case.record["args"]}
