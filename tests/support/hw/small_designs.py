"""Configurations whose hardware compiles in a few seconds."""

from isa.config import VTAConfig

__all__ = ["SMALL_DESIGNS"]

SMALL_DESIGNS: dict[str, VTAConfig] = {
    "block4": VTAConfig(
        log_block=2, log_uop_buff_size=9, log_inp_buff_size=9, log_wgt_buff_size=10, log_acc_buff_size=11
    ),
    "b2_in8out4_int4": VTAConfig(
        log_batch=1,
        log_block=3,
        log_block_out=2,
        log_inp_width=2,
        log_wgt_width=2,
        log_uop_buff_size=9,
        log_inp_buff_size=9,
        log_wgt_buff_size=10,
        log_acc_buff_size=11,
    ),
}
