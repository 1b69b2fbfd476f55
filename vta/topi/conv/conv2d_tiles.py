"""How a convolution is cut into tiles: the choices that its schedule takes.

Tests: tests/vta/topi/conv/test_conv2d_operator.py.
"""

from dataclasses import dataclass

from vta.topi.core.resident import Resident

__all__ = ["ConvTiles"]


@dataclass(frozen=True, slots=True)
class ConvTiles:
    """The inner factors of a convolution's loops, and its virtual threads: TVM-VTA's knobs.

    A tile of ``tile_co`` blocks of output channels and ``tile_h`` x ``tile_w`` places is accumulated at once, from
    ``tile_ci`` blocks of input channels (and ``tile_kh`` rows of the kernel, 0: all) at a time.

    ``run`` places of a row follow each other in the micro-ops, and the longest other loops are loops of instructions:
    so GEMM and ALU, which walk over the accumulator at the same time, rarely meet in one of its banks. With 0 the loops
    are in TVM-VTA's order.

    Instead of threads, tiles and steps can use several copies of their memory in turn: ``rotate_tiles`` of the
    accumulators, ``rotate_steps`` of inputs and weights. A tile's epilogue then runs during the next one's products.
    With ``rotate_rows``, the data of a step stay while weights come ``tile_kh`` rows of the kernel at a time, in so
    many copies of their own (0: rows of data come with each). What is ``resident`` is loaded once for all tiles that
    read it.
    """

    tile_h: int = 1
    tile_w: int = 1
    tile_ci: int = 1
    tile_co: int = 1
    oc_nthread: int = 1
    h_nthread: int = 1
    tile_kh: int = 0
    run: int = 0
    rotate_tiles: int = 1
    rotate_steps: int = 1
    rotate_rows: int = 0
    resident: Resident = Resident.NONE
