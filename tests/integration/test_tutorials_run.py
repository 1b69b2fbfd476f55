"""The tutorials from te schedule to result, equal to numpy on every configuration and engine."""

import numpy as np
import pytest

import vta
from runtime.session import Session
from tests.support.configs import CONFIGS
from tests.support.golden.spine_cases import (
    Scheduled,
    blocked_matrix_multiply,
    gemm_benchmark,
    gemm_instruction,
    matrix_multiply,
    vector_add,
)  # fmt: skip
from vta.nd import EXT_DEV, Device, array, empty

DEVICES = ("sim", "reference")


def run(env: vta.Environment, scheduled: Scheduled, device: str, seed: int) -> list[np.ndarray]:
    """Run on random data, twice; return inputs and output."""
    place = Device(EXT_DEV, 0, Session(env.config, device))
    with env:
        module = vta.build(scheduled.schedule, scheduled.args)
    rng = np.random.default_rng(seed)
    inputs = []
    for tensor in scheduled.args[:-1]:
        info = np.iinfo(tensor.dtype)
        shape = [int(e) for e in tensor.shape]
        inputs.append(rng.integers(info.min, info.max, size=shape, dtype=tensor.dtype, endpoint=True))
    out = empty(scheduled.args[-1].shape, scheduled.args[-1].dtype, place)
    module(*(array(a, place) for a in inputs), out)
    first = out.numpy()
    module(*(array(a, place) for a in inputs), out)
    np.testing.assert_array_equal(out.numpy(), first)
    return [*inputs, first]


def product(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return the tiled product in int32."""
    return np.einsum("okbi,mkci->ombc", x.astype(np.int32), w.astype(np.int32))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", CONFIGS)
class TestEveryConfiguration:
    def test_vector_add(self, name: str, device: str) -> None:
        env = vta.Environment(CONFIGS[name])
        a, b, c = run(env, vector_add(env), device, 1)
        np.testing.assert_array_equal(c, (a + b).astype(env.out_dtype))

    def test_matrix_multiply(self, name: str, device: str) -> None:
        env = vta.Environment(CONFIGS[name])
        x, w, c = run(env, matrix_multiply(env), device, 2)
        np.testing.assert_array_equal(c, product(x, w).astype(env.out_dtype))

    def test_blocked_matrix_multiply(self, name: str, device: str) -> None:
        env = vta.Environment(CONFIGS[name])
        scheduled = blocked_matrix_multiply(env) if env.BATCH == 1 else gemm_benchmark(env, 128, "normal")
        x, w, c = run(env, scheduled, device, 3)
        np.testing.assert_array_equal(c, np.clip(product(x, w) >> 8, 0, 127).astype(np.int8))

    @pytest.mark.parametrize("threads", [False, True])
    def test_virtual_threads(self, name: str, device: str, threads: bool) -> None:
        env = vta.Environment(CONFIGS[name])
        x, w, c = run(env, gemm_instruction(env, threads=threads), device, 4)
        np.testing.assert_array_equal(c, np.clip(product(x, w) >> 8, 0, 127).astype(np.int8))
