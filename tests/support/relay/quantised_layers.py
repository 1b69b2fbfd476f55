"""A graph of two equal convolutions of int8 numbers, in real clothes, as importers make them."""

import numpy as np

from vta import relay

__all__ = ["two_layers"]


def two_layers() -> relay.Function:
    """Return the graph."""
    weights = np.random.default_rng(7).integers(-127, 128, (16, 16, 3, 3)).astype(np.int8)
    x = relay.var("x", shape=(1, 16, 8, 8))

    def both(value: relay.Expr, scale: float) -> relay.Expr:
        cells = relay.qnn.op.quantize(value, relay.const(scale), relay.const(0))
        return relay.qnn.op.dequantize(cells, relay.const(scale), relay.const(0))

    value = both(x, 0.05)
    for _ in range(2):
        kernel = relay.qnn.op.dequantize(relay.const(weights), relay.const(0.01), relay.const(0))
        value = both(relay.nn.relu(relay.nn.conv2d(value, kernel, padding=1)), 0.05)
    return relay.Function([x], value)
