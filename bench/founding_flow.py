"""The founding document's listing on ResNet-18: quantise, ``graph_pack``, ``relay.build``, run on natural pictures.

    python -m bench.founding_flow packages [--pictures 20] [--dataset 16] [--check 20]

``packages`` is the folder of ``bench.accuracy``; pictures are parts of scikit-image's photographs. No package of a
registry has trained ResNet-18 weights: these have the published shapes and come from a seed. Prints the cosine of every
picture's logits to float, whether sim and the reference have the bits of the integer graph, and the seconds of
quantising, building and one inference beside upstream's on another machine. ``--dataset 0`` is the listing to the
letter: every tensor reaches from minus to plus 8. The exit status says whether the bits are equal and the smallest
cosine is at least 0.99.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

import vta
from bench.models.labelled import Array, crops
from bench.models.networks import resnet18
from runtime.executor.network import DeviceStep, HostStep, Network
from runtime.executor.runner import NetworkRunner
from runtime.session import Session
from vta import graph_executor, nd, relay
from vta.relay.interpreter import run
from vta.top import graph_pack

LEAST = 0.99
UPSTREAM = {"quantise": "12 to 16", "build": "7 to 9", "inference": "0.29"}
"""Seconds, with weights from a seed too."""


def timed(name: str, call: Callable[[], Any]) -> Any:
    """Return what ``call`` returns; print its seconds."""
    wall, before = time.perf_counter(), os.times()
    made = call()
    wall, after = time.perf_counter() - wall, os.times()
    cpu = sum(after[:4]) - sum(before[:4])  # of this process and of the compiler's
    print(f"  {name:<10} {wall:6.2f} s, {cpu:6.2f} s of the processor (upstream {UPSTREAM[name]} s)", flush=True)
    return made


def listing(shape: tuple[int, ...], dataset: Array) -> tuple[graph_executor.GraphModule, Any, Any]:
    """Return the network on the accelerator, what was built, and the float graph: what the document's script does."""
    env = vta.get_env()
    mod, params = relay.frontend.from_onnx(resnet18(), {"image": (1, *shape)})
    feeds = [{"image": dataset[at : at + 1]} for at in range(len(dataset))] or None

    def quantised() -> relay.IRModule:
        with vta.PassContext(opt_level=3), relay.quantize.qconfig(global_scale=8.0, skip_conv_layers=[0]):
            return relay.quantize.quantize(mod, params, feeds)

    int8 = timed("quantise", quantised)
    packed = graph_pack(
        int8["main"], env.BATCH, env.BLOCK_OUT, env.WGT_WIDTH,
        start_name="nn.max_pool2d", stop_name="nn.global_avg_pool2d",
    )  # fmt: skip

    def built() -> Any:
        with vta.build_config(opt_level=3, disabled_pass={"AlterOpLayout"}):
            return relay.build(packed, target=env.target, params=params)

    library = timed("build", built)
    return graph_executor.GraphModule(library["default"](vta.nd.ext_dev(0))), library.built, mod["main"]


def one(module: graph_executor.GraphModule, image: Array) -> Array:
    """Return the logits of one picture."""
    module.set_input("image", nd.array(image))
    module.run()
    found: Array = module.get_output(0).numpy()
    return found


def is_adding(step: DeviceStep, network: Network) -> bool:
    """Return whether a step reads two tensors that other steps have made."""
    made = {step.tensors[-1] for step in network.steps if isinstance(step, DeviceStep)}
    made |= {name for step in network.steps if isinstance(step, HostStep) for name in step.outputs}
    return len(made.intersection(step.tensors[:-1])) > 1


def instructions(steps: Iterable[DeviceStep]) -> int:
    """Return how many instructions steps have."""
    return sum(len(launch) for step in steps for launch in step.launches)


def main() -> None:
    """Run the listing and say how close it comes."""
    parser = argparse.ArgumentParser(description="The founding document's listing on ResNet-18.")
    parser.add_argument("packages", type=Path, help="a folder where the packages were unpacked")
    parser.add_argument("--pictures", type=int, default=20)
    parser.add_argument("--dataset", type=int, default=16, help="pictures to find ranges on; 0: plus and minus 8")
    parser.add_argument("--check", type=int, default=20, help="pictures whose bits are compared")
    options = parser.parse_args()
    images = crops(options.packages, options.pictures + options.dataset)
    judged, dataset = images[: options.pictures], images[options.pictures :]
    module, built, real = listing(judged.shape[1:], dataset)
    one(module, judged[:1])
    timed("inference", lambda: one(module, judged[:1]))
    reference = NetworkRunner(built.network, Session(built.network.config, "reference"))
    cosines, right = [], True
    for at in range(len(judged)):
        image = judged[at : at + 1]
        found, wanted = one(module, image), run(real, [image])
        cosines.append(float((found * wanted).sum() / np.linalg.norm(found) / np.linalg.norm(wanted)))
        if at < options.check:
            [other] = reference.run({"image": image}).values()
            right &= np.array_equal(found, run(built.function, [image])) and np.array_equal(found, other)
    steps = [step for step in built.network.steps if isinstance(step, DeviceStep)]
    adding = [step for step in steps if is_adding(step, built.network)]
    print(
        f"  {instructions(steps):,} instructions (upstream 330,702), {instructions(adding):,} of them in the "
        f"{len(adding)} kernels that add a residual, everything that they do included"
    )
    print(f"  cosine to float on {len(cosines)} pictures: mean {np.mean(cosines):.4f}, worst {min(cosines):.4f}")
    print(f"  sim's, the reference's and the integer graph's bits, {min(options.check, len(judged))} pictures: {right}")
    sys.exit(not (right and min(cosines) >= LEAST))


if __name__ == "__main__":
    main()
