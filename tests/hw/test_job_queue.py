import random
from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.job_queue import queue_jobs
from hw.sim import compile_design

DEPTH = 3


class Queue(wiring.Component):
    def __init__(self) -> None:
        super().__init__({"job": In(8), "put": In(1), "room": Out(1), "port": Out(stream.Signature(8))})

    def elaborate(self, platform: Any) -> Module:  # noqa: ARG002  # Amaranth's protocol
        m = Module()
        job = Signal(8)
        m.d.comb += job.eq(self.job)
        m.d.comb += self.room.eq(queue_jobs(m, "jobs", job=job, put=self.put, port=self.port, depth=DEPTH))
        return m


def test_jobs_come_out_in_order_from_the_cycle_after_and_there_is_room_for_as_many_as_it_is_deep() -> None:
    generator = random.Random(1)
    design = compile_design(Queue())
    waiting: list[int] = []
    fullest = 0
    for _ in range(500):
        assert design.peek("room") == (len(waiting) < DEPTH)
        assert design.peek("port__valid") == bool(waiting)
        put = len(waiting) < DEPTH and generator.random() < 0.6
        take = generator.random() < 0.5
        job = generator.randrange(256)
        design.poke("job", job)
        design.poke("put", int(put))
        design.poke("port__ready", int(take))
        if waiting and take:
            assert design.peek("port__payload") == waiting.pop(0)
        waiting += [job] * put
        fullest = max(fullest, len(waiting))
        design.step()
    assert fullest == DEPTH
