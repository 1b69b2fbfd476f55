"""Jobs that wait for the unit that does them.

Tests: ``tests/hw/test_job_queue.py``; costs: ``tests/hw/test_reset.py``.
"""

from typing import Any

from amaranth.hdl import Module, Signal, Value

from hw.layouts import bits_up_to
from hw.registered_fifo import RegisteredFIFO

__all__ = ["queue_jobs"]


def queue_jobs(
    m: Module, name: str, *, job: Signal, put: Value, port: Any, depth: int, early: str | None = None
) -> Value:
    """Put ``job`` into queue ``name`` in cycles with ``put``; offer what comes out at ``port``, from the next cycle on.

    Returns whether there is room, which ``put`` has to respect. What comes out is read from a memory in the cycle
    itself, but for a queue of one, and for the fields up to ``early``: sizes are looked at and added up, and nothing
    else waits for them.
    """
    bits = 0 if early is None else bits_up_to(port.payload.shape(), early)
    m.submodules[name] = fifo = RegisteredFIFO(width=len(Value.cast(job)), depth=depth, early=bits)
    m.d.comb += [
        fifo.w_data.eq(job),
        fifo.w_en.eq(put),
        port.valid.eq(fifo.r_rdy),
        port.p.eq(fifo.r_data),
        fifo.r_en.eq(port.ready),
    ]
    return fifo.w_rdy
