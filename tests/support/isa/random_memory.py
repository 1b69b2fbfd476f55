"""What random programs know about a memory: interesting contents, and who touched what last."""

import numpy as np
import numpy.typing as npt

__all__ = ["Accesses", "Indices", "random_bytes"]

Indices = npt.NDArray[np.int64]


class Accesses:
    """For each element of a memory, the index of the last instruction of each kind of access, or -1."""

    def __init__(self, size: int, kinds: tuple[str, ...]) -> None:
        self._last = {kind: np.full(size, -1, np.int32) for kind in kinds}

    def record(self, kind: str, where: Indices, index: int) -> None:
        self._last[kind][where] = index

    def latest(self, kind: str, where: Indices) -> int:
        return int(self._last[kind][where].max(initial=-1))


def random_bytes(rng: np.random.Generator, count: int) -> bytes:
    """Return DRAM contents: any bytes, small 32-bit numbers (useful shift counts), and extremes, 1 KiB of each kind."""
    parts = np.empty((count // 1024, 256), "<i4")
    for part in parts:
        match int(rng.integers(4)):
            case 0:
                part[:] = rng.integers(-40, 41, 256)
            case 1:
                part[:] = rng.choice([-(2**31), 2**31 - 1, -1, 0, 1, 127, -128, 32768], 256)
            case _:
                part[:] = rng.integers(-(2**31), 2**31, 256)
    return parts.tobytes()
