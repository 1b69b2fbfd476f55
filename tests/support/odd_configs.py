"""Legal configurations at the edges: narrow numbers, rows shorter than a vector, large batches, taps, fused steps."""

from isa.config import VTAConfig

__all__ = ["ODD_CONFIGS"]


def _config(
    *,
    batch: int,
    block_in: int,
    block_out: int,
    inp: int,
    wgt: int,
    buffers: tuple[int, int, int, int],
    taps: int = 0,
    fused: int = 0,
) -> VTAConfig:
    uop_size, inp_size, wgt_size, acc_size = buffers
    return VTAConfig(
        log_batch=batch,
        log_block_in=block_in,
        log_block_out=block_out,
        log_inp_width=inp,
        log_wgt_width=wgt,
        log_uop_buff_size=uop_size,
        log_inp_buff_size=inp_size,
        log_wgt_buff_size=wgt_size,
        log_acc_buff_size=acc_size,
        depthwise_taps=taps,
        fused_alu=fused,
    )


ODD_CONFIGS: dict[str, VTAConfig] = {
    "one_bit": _config(batch=0, block_in=4, block_out=4, inp=0, wgt=0, buffers=(12, 10, 12, 15)),
    "two_bit_inputs": _config(batch=0, block_in=5, block_out=3, inp=1, wgt=3, buffers=(10, 11, 14, 14)),
    "four_bit": _config(batch=1, block_in=4, block_out=4, inp=2, wgt=2, buffers=(12, 12, 15, 16)),
    "single_lane": _config(batch=3, block_in=0, block_out=0, inp=3, wgt=3, buffers=(8, 10, 8, 12)),
    "two_lanes_in": _config(batch=2, block_in=1, block_out=2, inp=1, wgt=2, buffers=(8, 8, 8, 12)),
    "rows_of_two": _config(batch=0, block_in=4, block_out=1, inp=3, wgt=1, buffers=(8, 11, 9, 11)),
    "batch_16": _config(batch=4, block_in=4, block_out=4, inp=3, wgt=3, buffers=(12, 14, 15, 17)),
    "wide_out": _config(batch=0, block_in=2, block_out=8, inp=3, wgt=3, buffers=(10, 10, 16, 16)),
    "depthwise": _config(batch=0, block_in=3, block_out=3, inp=3, wgt=3, buffers=(13, 14, 16, 16), taps=3),
    "depthwise_int4": _config(batch=1, block_in=2, block_out=2, inp=2, wgt=2, buffers=(11, 10, 10, 13), taps=4),
    "fused": _config(batch=0, block_in=3, block_out=3, inp=3, wgt=3, buffers=(13, 14, 16, 16), fused=1),
    "fused_all": _config(batch=1, block_in=2, block_out=2, inp=2, wgt=2, buffers=(8, 8, 8, 9), taps=2, fused=1),
    "wide_in": _config(batch=0, block_in=7, block_out=2, inp=3, wgt=3, buffers=(10, 14, 15, 12)),
}
"""By name; each differs from the five of ``configs`` in what its kernels have to do."""
