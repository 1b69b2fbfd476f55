"""Plan the memory of one virtual thread, before the threads are expanded.

What shares memory is decided on the program of a single thread; expansion then multiplies whole blocks, so that each
thread has the same layout in its own part. Limits are checked later, when the size for all threads is known.

Before::

    attr [IterVar(cthread)] "virtual_thread" = 2;
    allocate(res_conv, int32, [12544]), storage_scope = local.acc_buffer;
    allocate(res_shr, int32, [12544]), storage_scope = local.acc_buffer {
      for (i, 0, 12544) { res_shr[i] = shift_right(res_conv[i], 8) }
    }

After::

    attr [IterVar(cthread)] "virtual_thread" = 2;
    allocate(res_conv, int32, [12544]), storage_scope = local.acc_buffer {
      for (i, 0, 12544) { res_conv[i] = shift_right(res_conv[i], 8) }
    }

Thread axes may nest: memory belongs to the innermost one around it.
Tests: tests/vta/passes/storage/test_early_rewrite.py and the rest of tests/vta/passes/storage.
"""

from dataclasses import replace

from isa.config import VTAConfig
from vta.passes.storage.reuse import Sharing
from vta.passes.storage.storage_rewrite import rewrite_storage
from vta.tir.func import PrimFunc

__all__ = ["early_rewrite"]


def early_rewrite(func: PrimFunc, config: VTAConfig) -> PrimFunc:
    """Return ``func`` with the memory of each virtual thread planned; raises ``StorageError``."""
    body, _ = rewrite_storage(func.body, config, Sharing())
    return replace(func, body=body)
