"""The five configurations that every layer is tested on. They differ in every size, so a global or a guess shows."""

from isa.config import VTAConfig

__all__ = ["CONFIGS"]

CONFIGS: dict[str, VTAConfig] = {
    "default": VTAConfig(),
    "b1k8": VTAConfig(log_block=3, log_inp_buff_size=14, log_wgt_buff_size=16, log_acc_buff_size=16),
    "b2k16": VTAConfig(log_batch=1),
    "block32": VTAConfig(log_block=5),
    "in16out32": VTAConfig(log_block_in=4, log_block_out=5),
}
