"""Random legal pairs of what programs see of an accelerator and what they do not."""

from dataclasses import replace

import numpy as np

from isa.config import ConfigError, VTAConfig
from isa.machine.hardware_config import DATA_WIDTHS, HardwareConfig, HardwareConfigError

__all__ = ["random_config", "random_hardware", "random_pair"]

_MOST_PRODUCTS = 9
"""Log of the multipliers of the largest core: compiling takes time."""


def random_config(rng: np.random.Generator) -> VTAConfig:
    """Return a small configuration: at most 512 multipliers, buffers of at most 32 KiB, operands of 1 to 8 bits."""
    while True:
        batch, block_in, block_out = (int(rng.integers(0, high)) for high in (4, 6, 6))
        if batch + block_in + block_out > _MOST_PRODUCTS:
            continue
        inp, wgt = (int(rng.integers(0, 4)) for _ in range(2))
        uops, inps, wgts, accs = (int(rng.integers(6, 16)) for _ in range(4))
        try:
            return VTAConfig(
                log_batch=batch,
                log_block_in=block_in,
                log_block_out=block_out,
                log_inp_width=inp,
                log_wgt_width=wgt,
                log_uop_buff_size=uops,
                log_inp_buff_size=inps,
                log_wgt_buff_size=wgts,
                log_acc_buff_size=accs,
            )
        except ConfigError:  # a buffer smaller than an element, or fields that do not fit: draw again
            continue


def random_hardware(rng: np.random.Generator) -> HardwareConfig:
    """Return hardware of any bus width, with queues and transfers in flight from the fewest to many."""
    while True:
        try:
            return HardwareConfig(
                addr_width=int(rng.choice([32, 40, 64])),
                data_width=int(rng.choice(DATA_WIDTHS)),
                inst_queue_depth=int(rng.integers(1, 20)),
                fetch_buffer_depth=1 << int(rng.integers(1, 7)),
                max_burst_beats=1 << int(rng.integers(0, 9)),
                read_bursts=int(rng.integers(1, 65)),
                read_beats=int(rng.integers(1, 200)),
                write_bursts=int(rng.integers(1, 65)),
                load_jobs=int(rng.integers(2, 9)),
                store_jobs=int(rng.integers(2, 9)),
                share_multipliers=int(rng.integers(0, 2)),
                most_multipliers=int(rng.choice([0, 5, 40, 65536])),
            )
        except HardwareConfigError:  # a fetch buffer of less than two beats: draw again
            continue


def random_pair(rng: np.random.Generator) -> tuple[VTAConfig, HardwareConfig]:
    """Return a configuration, half of them with fused steps and half with depthwise taps where that is legal.

    And hardware that can have it.
    """
    config, hardware = random_config(rng), random_hardware(rng)
    if config.acc_depth > 1:
        config = replace(config, fused_alu=int(rng.integers(0, 2)))
    taps = int(rng.integers(0, 2)) * int(rng.integers(1, config.block_in + 1))
    if config.block_in != config.block_out or taps > config.inp_depth:
        return config, hardware
    if 2 * taps > config.block_in:
        hardware = replace(hardware, share_multipliers=0)
    return replace(config, depthwise_taps=taps), hardware
