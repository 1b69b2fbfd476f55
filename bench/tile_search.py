"""What the search for tiles takes for each of ResNet-18's ten packed convolutions, and what it finds.

    python -m bench.tile_search [--repeat 7] [--hardware 64/16 64/1 128/64] [--config b1k8 block32] [--found FILE]

Prints, for each layer, the median of the CPU time of this process (milliseconds) over ``--repeat`` searches, none of
which knows of another one, the cycles that the search expects, and the tiles. With ``--found``, what was found goes to
a file without times, so that two states of the tree can be compared. The exit status says whether the median over the
layers is at most ``--limit`` on every accelerator. Tests: tests/bench/test_tile_search.py.
"""

import argparse
import statistics
import sys
import time
from pathlib import Path

import vta
from bench.layers import LAYERS
from bench.setups import hardware_text, setup_of
from isa.config import VTAConfig
from isa.named_config import named_config
from vta.topi.conv.conv2d_finalists import best_tiles
from vta.topi.conv.conv2d_shape import ConvShape
from vta.topi.conv.conv2d_work import conv_price
from vta.topi.tiling import copies_in_turn

__all__ = ["main"]


def milliseconds(shape: ConvShape) -> float:
    """Return the CPU time of one search that remembers nothing."""
    copies_in_turn.cache_clear()
    begin = time.process_time()
    best_tiles(shape)
    return (time.process_time() - begin) * 1e3


def report(env: vta.Environment, title: str, repeat: int) -> tuple[float, list[str]]:
    """Print the table of one accelerator; return the median over the layers, and what was found."""
    print(f"{title}:")
    medians, lines = [], []
    for name, operator in LAYERS.items():
        shapes = [operator.shape_on(env) for _ in range(repeat)]  # their properties are computed once each
        medians.append(statistics.median(milliseconds(shape) for shape in shapes))
        tiles = best_tiles(shapes[0])
        assert tiles is not None, "ResNet-18's layers fit wherever one accumulator does"
        lines.append(f"{title} {name} {conv_price(shapes[0], tiles).cycles:,} {tiles}")
        print(f"{name:4}{medians[-1]:8.1f} ms  {lines[-1].removeprefix(f'{title} {name} ')}", flush=True)
    print(f"median {statistics.median(medians):.1f} ms, sum {sum(medians):.1f} ms", flush=True)
    return statistics.median(medians), lines


def main() -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--hardware", type=hardware_text, nargs="+", default=["64/16"], help="BITS/LATENCY")
    parser.add_argument("--config", type=Path, nargs="+", help="names of `vta config list`, or files")
    parser.add_argument("--found", type=Path, help="where to write what was found")
    parser.add_argument("--limit", type=float, default=30.0, help="milliseconds, default 30")
    options = parser.parse_args()
    medians, found = [], []
    for path in options.config or [None]:
        config = named_config(path) if path else VTAConfig()
        for hardware in options.hardware:
            env = vta.Environment(config, hardware=setup_of(hardware))
            median, lines = report(env, f"{path or 'default'} {hardware}", options.repeat)
            medians.append(median)
            found += lines
    if options.found:
        options.found.write_text("\n".join(found) + "\n", encoding="utf-8")
    return 0 if max(medians) <= options.limit else 1


if __name__ == "__main__":
    sys.exit(main())
