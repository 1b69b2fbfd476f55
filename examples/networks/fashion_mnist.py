"""Your first network: 1,000 photographs of clothes, classified on the accelerator's simulator.

    python examples/networks/fashion_mnist.py [--count 1000] [--target sim]

The network is a small residual one with int8 numbers (``train_fashion_mnist.py`` says how it was made), the pictures
are the first of Fashion-MNIST's official test set. What the accelerator computes is compared with onnxruntime.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import onnxruntime
from rich.console import Console
from rich.table import Table

import vta
from vta.relay.backend.session import InferenceSession

HERE = Path(__file__).resolve().parent
MODEL = HERE / "fashion_mnist.int8.onnx"
CLASSES = ("t-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot")


def pictures(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return pictures (count, 1, 28, 28) as the network takes them, and their labels."""
    with np.load(HERE / "fashion_mnist_test_1000.npz") as data:
        images, labels = data["images"][:count], data["labels"][:count]
    return ((images[:, None].astype(np.float32) / 255) - 0.286) / 0.353, labels


def onnxruntime_logits(images: np.ndarray) -> np.ndarray:
    """Return what onnxruntime computes, node by node, without optimisations."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    logits = onnxruntime.InferenceSession(MODEL.read_bytes(), options).run(None, {"image": images})[0]
    return np.asarray(logits)


def main() -> None:
    """Classify, compare, and print."""
    parser = argparse.ArgumentParser(description="Classify pictures of clothes on the accelerator.")
    parser.add_argument("--count", type=int, default=1000, help="pictures, 1 to 1000")
    parser.add_argument("--target", default=None, help="sim, tsim or reference")
    options = parser.parse_args()
    images, labels = pictures(options.count)
    begin = time.perf_counter()
    session = InferenceSession(MODEL, env=vta.get_env(), target=options.target)
    ready = time.perf_counter()
    [logits] = session.run(None, {"image": images})
    done = time.perf_counter()
    other = onnxruntime_logits(images)
    guesses, theirs = logits.argmax(1), other.argmax(1)

    table = Table(title=f"Fashion-MNIST, {len(labels)} official test pictures")
    table.add_column("who")
    table.add_column("right", justify="right")
    table.add_row(f"VTA ({session.device.device.name})", f"{100 * np.mean(guesses == labels):.2f} %")
    table.add_row("onnxruntime, the same int8 network", f"{100 * np.mean(theirs == labels):.2f} %")
    console = Console(highlight=False)
    console.print(table)
    console.print(f"the same class as onnxruntime: {100 * np.mean(guesses == theirs):.2f} % of the pictures")
    console.print(f"compiled in {ready - begin:.1f} s, {1e3 * (done - ready) / len(labels):.2f} ms a picture")
    wrong = np.flatnonzero(guesses != labels)[:5]
    if len(wrong):
        console.print("mistaken: " + ", ".join(f"{CLASSES[labels[i]]} for {CLASSES[guesses[i]]}" for i in wrong))
    if np.mean(guesses == theirs) < 0.99:
        raise SystemExit("VTA and onnxruntime disagree on more than 1 % of the pictures")


if __name__ == "__main__":
    main()
