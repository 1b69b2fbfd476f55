"""Where do the cycles go? A whole network on the cycle-accurate simulator, node by node, beside the roof.

    python examples/networks/where_cycles_go.py [--target tsim]

For every kernel: its cycles, the bytes that it moves, and which part of the multipliers' peak it reaches. A kernel with
many multiplications for each byte could reach the peak; one with few is bound by memory, whatever its schedule is.
``vta run MODEL --target tsim --record net.trace`` and ``vta trace net.trace --html net.html`` show when everything was.
"""

import argparse
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import vta
from vta.relay.backend.report import reports

MODEL = Path(__file__).resolve().parent / "fashion_mnist.int8.onnx"


def main() -> None:
    """Run one picture, and print where its cycles went."""
    parser = argparse.ArgumentParser(description="Where the cycles of a network go.")
    parser.add_argument("--target", default="tsim", choices=["tsim", "sim"], help="sim has no clock")
    options = parser.parse_args()
    session = vta.InferenceSession(MODEL, target=options.target)
    session.run(None, {"image": np.zeros((1, 1, 28, 28), np.float32)})
    assert session.built is not None
    rows = [each for each in reports(session.built, session.nodes) if each.place == "accelerator"]
    cycles = sum(each.cycles or 0 for each in rows)
    table = Table(title="one picture, kernel by kernel")
    for name in ("kernel", "cycles", "share", "multiplications", "bytes", "each byte", "of the peak"):
        table.add_column(name, justify="left" if name == "kernel" else "right")
    for each in sorted(rows, key=lambda row: -(row.cycles or 0)):
        share = f"{100 * each.cycles / cycles:.1f} %" if each.cycles and cycles else ""
        density = f"{each.macs / each.nbytes:.1f}" if each.nbytes else ""
        reached = "" if each.share is None else f"{100 * each.share:.0f} %"
        counted = "" if each.cycles is None else f"{each.cycles:,}"
        table.add_row(each.name, counted, share, f"{each.macs:,}", f"{each.nbytes or 0:,}", density, reached)
    console = Console(highlight=False)
    console.print(table)
    if cycles:
        macs, config = sum(each.macs for each in rows), session.network.config
        peak = config.batch * config.block_in * config.block_out
        console.print(f"{cycles:,} cycles in all; {100 * macs / (cycles * peak):.1f} % of the peak of {peak} a cycle")


if __name__ == "__main__":
    main()
