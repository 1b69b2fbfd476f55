"""A compiled network of one convolution, for tests of the executor."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import vta
from runtime.executor.network import DeviceStep, Home, HostStep, Network, Tensor
from runtime.executor.recorded import idle_session, recorded_launches
from runtime.executor.stored_launch import StoredLaunch
from runtime.memory.array import DeviceArray
from runtime.session import Session
from vta.topi import Conv2d
from vta.topi.core.epilogue import Bias, Clip, ShiftRight
from vta.topi.core.layout import pack_activations
from vta.topi.core.operator import Compiled
from vta.topi.core.operator import compile as built

__all__ = ["SmallNetwork", "small_network"]

Array = npt.NDArray[np.generic]


@dataclass(frozen=True, slots=True)
class SmallNetwork:
    """``network`` maps ``image`` to ``result``, in the accelerator's layout, as ``expected`` says."""

    network: Network
    image: Array
    expected: Array


def captured(compiled: Compiled, device: Session) -> tuple[tuple[StoredLaunch, ...], list[DeviceArray]]:
    """Return the launches of a call of ``compiled``, and the arrays that it was called with."""
    arrays = [DeviceArray(device, [int(e) for e in t.shape], str(t.dtype)) for t in compiled.scheduled.args]
    return recorded_launches(compiled.module, device, arrays), arrays


def small_network(*, seed: int = 3, arena_gap: int = 4096, host_steps: tuple[HostStep, ...] = ()) -> SmallNetwork:
    """Return a network of a padded 3x3 convolution with bias; ``arena_gap`` bytes lie before the image."""
    env = vta.get_env()
    rng = np.random.default_rng(seed)
    layer = Conv2d(
        batch=1, in_channels=20, height=9, width=7, out_channels=24, kernel=(3, 3), padding=(1, 1, 1, 1),
        epilogue=(ShiftRight(8), Bias(), Clip(0, 127)),
    )  # fmt: skip
    data = rng.integers(-128, 128, (1, 20, 9, 7)).astype(np.int8)
    kernel = rng.integers(-128, 128, (24, 20, 3, 3)).astype(np.int8)
    bias = rng.integers(-99, 99, 24).astype(np.int32)
    compiled = built(layer, env)
    image, weights, biases = layer.pack(env, data, kernel, bias)
    launches, arrays = captured(compiled, idle_session(env.config))
    result = arrays[-1]
    tensors = (
        Tensor("image", image.shape, "int8", Home.ARENA, arena_gap),
        Tensor("weights", weights.shape, "int8", Home.CONSTANT, 0),
        Tensor("bias", biases.shape, "int32", Home.CONSTANT, weights.nbytes),
        Tensor("result", result.shape, "int8", Home.ARENA, arena_gap + 4096),
    )
    network = Network(
        config=env.config,
        tensors={tensor.name: tensor for tensor in tensors},
        steps=(DeviceStep("conv", launches, tuple(t.name for t in tensors), layer.macs), *host_steps),
        inputs=("image",),
        outputs=("result",),
        arena_bytes=arena_gap + 4096 + result.nbytes,
        constants=np.concatenate([weights.reshape(-1).view(np.uint8), biases.reshape(-1).view(np.uint8)]),
        host_constants={},
        origin={"source": "tests"},
    )
    plain = compiled.reference(data, kernel, bias)
    expected = pack_activations(plain, batch=env.BATCH, block=env.BLOCK_OUT)
    return SmallNetwork(network, image, expected)
