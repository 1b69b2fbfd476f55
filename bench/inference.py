"""How long ResNet-18 at 224x224 takes on the functional simulator, and what of that is the host's.

    python -m bench.inference [--rounds 15]

Weights are random; the epilogues are those of a quantised network. Two ways, in turn: every layer called with plain
arrays, packed and moved in each call, and every layer bound to its weights, its activations left on the device. The
results are compared with each other and with numpy. Medians of processor time, one thread. The exit status says whether
the bound network takes at most 60 ms.
"""

import argparse
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median

import numpy as np
import numpy.typing as npt

import vta
from bench.functional import describe_host
from bench.network_shapes import Layer, resnet18
from vta.nd import NDArray
from vta.topi.core.operator import Bound, Compiled, compile  # noqa: A004
from vta.topi.core.sizes import sizes

MOST_SECONDS = 0.060

Array = npt.NDArray[np.generic]


@dataclass(frozen=True, slots=True)
class Node:
    """A layer of the network, and the numbers of the nodes that it reads; -1 is the image."""

    name: str
    reads: tuple[int, ...]


def graph() -> list[Node]:
    """Return ResNet-18: names are those of ``network_shapes.resnet18``."""
    nodes = [Node("first 7x7/2", (-1,)), Node("max pool 3x3/2", (0,))]

    def add(name: str, *reads: int) -> int:
        nodes.append(Node(name, reads))
        return len(nodes) - 1

    x = 1
    for _ in range(2):
        x = add("64x56 3x3 + residual", add("64x56 3x3", x), x)
    for shape in ("128x28", "256x14", "512x7"):
        x = add(f"{shape} 3x3 + residual", add(f"{shape} 3x3/2", x), add(f"{shape} 1x1/2", x))
        x = add(f"{shape} 3x3 + residual", add(f"{shape} 3x3", x), x)
    add("classes", add("average", x))
    return nodes


@dataclass(frozen=True, slots=True)
class Ready:
    """A layer with its constants: compiled, and bound to them."""

    compiled: Compiled
    bound: Bound
    constants: Mapping[str, Array]

    @classmethod
    def of(cls, layer: Layer, env: vta.Environment) -> "Ready":
        """Return a layer with random weights."""
        rng, given, constants = np.random.default_rng(1), iter(layer.constants), {}
        for operand in layer.operator.inputs(env):
            if operand.dtype == "int32":
                constants[operand.name] = next(given)
            elif operand.name in ("kernel", "weight"):
                constants[operand.name] = np.rint(rng.normal(0, 12, operand.shape)).clip(-128, 127).astype(np.int8)
        compiled = compile(layer.operator, env)
        return cls(compiled, compiled.bind(**constants), constants)

    def arrays(self, reads: list[Array]) -> list[Array]:
        """Return all inputs in order."""
        activations = iter(reads)
        operands = self.compiled.operator.inputs(self.compiled.env)
        return [
            self.constants[o.name] if o.name in self.constants else next(activations).reshape(o.shape) for o in operands
        ]


@dataclass(frozen=True, slots=True)
class Network:
    """The layers, one for each node."""

    nodes: list[Node]
    layers: list[Ready]

    def plain(self, image: Array, run: Callable[[Ready, list[Array]], Array]) -> Array:
        """Return the result, with ``run`` for every layer on plain arrays."""
        results: list[Array] = []
        for node, layer in zip(self.nodes, self.layers, strict=True):
            results.append(run(layer, layer.arrays([image if i < 0 else results[i] for i in node.reads])))
        return results[-1]

    def packed(self, image: NDArray) -> NDArray:
        """Return the packed result for a packed image; everything stays on the device."""
        results: list[NDArray] = []
        for node, layer in zip(self.nodes, self.layers, strict=True):
            reads = [image if i < 0 else results[i] for i in node.reads]
            if node.name == "classes":  # an image of one pixel has the layout of a row
                row = sizes(layer.compiled.scheduled.args[0])
                reads = [vta.nd.array(reads[0].numpy().reshape(row), reads[0].device)]
            results.append(layer.bound.run(*reads))
        return results[-1]


def seconds(run: Callable[[], object], rounds: int) -> float:
    """Return the median processor time of ``run``."""
    times = []
    for _ in range(rounds):
        begin = time.thread_time()
        run()
        times.append(time.thread_time() - begin)
    return median(times)


def main() -> int:
    """Run the command line; return the exit status: 0 if an inference is as fast as it should be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    describe_host()
    env = vta.Environment(vta.get_env().config)
    shapes = {layer.name: layer for layer in resnet18()}
    nodes = graph()
    made = {name: Ready.of(layer, env) for name, layer in shapes.items()}
    network = Network(nodes, [made[node.name] for node in nodes])
    image = np.random.default_rng(2).integers(-128, 128, (1, 3, 224, 224)).astype(np.int8)
    first, last = network.layers[0].bound, network.layers[-1].bound

    [packed] = first.pack(image)
    result = network.packed(packed)
    expected = network.plain(image, lambda layer, arrays: layer.compiled.reference(*arrays))
    if not np.array_equal(last.unpack(result), expected):
        raise SystemExit("the bound network's result is not numpy's")
    if not np.array_equal(network.plain(image, lambda layer, arrays: layer.compiled(*arrays)), expected):
        raise SystemExit("the result of the network of plain arrays is not numpy's")

    called = seconds(lambda: network.plain(image, lambda layer, arrays: layer.compiled(*arrays)), max(3, rounds // 5))
    packing = seconds(lambda: first.pack(image), rounds)
    running = seconds(lambda: network.packed(packed), rounds)
    unpacking = seconds(lambda: last.unpack(result), rounds)
    print(f"\nResNet-18, milliseconds\n{'every layer called with plain arrays':44}{called * 1e3:9.1f}")
    for what, part in (("packing the image", packing), ("running on the device", running), ("unpacking", unpacking)):
        print(f"{'bound to weights, ' + what:44}{part * 1e3:9.1f}")
    whole = packing + running + unpacking
    print(f"{'bound to weights, in all':44}{whole * 1e3:9.1f}")
    print(f"at most {MOST_SECONDS * 1e3:.0f} ms: {'holds' if whole <= MOST_SECONDS else 'DOES NOT HOLD'}")
    return 0 if whole <= MOST_SECONDS else 1


if __name__ == "__main__":
    sys.exit(main())
