"""Native code of the AXI4 memory model: what it does at each clock edge.

All its outputs are registers: at the end of cycle t it decides what the master sees in cycle t + 1, from the transfers
of cycle t. Order within a cycle: transfers, protocol checks, draining of write beats into memory, then the next
outputs; so a read beat shows writes that were complete a cycle before. Tests: ``tests/hw/sim/axi/test_memory.py``.
"""

from collections.abc import Mapping

from hw.sim.axi.state import (
    ADDRESS,
    ANSWERS,
    BEAT_BYTES,
    BEAT_RING,
    BEATS,
    BURST_BYTES,
    BURSTS,
    COUNT,
    DATA,
    DUE,
    HELD,
    ID,
    LAST,
    PAYLOAD_BYTES,
    PAYLOADS,
    READS,
    STROBE,
    THRESHOLDS,
    WRITES,
    AxiFault,
    AxiModel,
    Channel,
    StateField,
)
from hw.sim.translate.effects import STOP
from hw.sim.translate.layout import Slot
from hw.sim.translate.text import Function, mask, slot_bytes

__all__ = ["write_axi_model"]

_PAGE = 4096
_INCR = 1


def write_axi_model(fn: Function, place: int, slots: Mapping[str, Slot], prefix: str) -> None:
    """Write the model's function for the port ``prefix``; its state is at ``aux`` + ``place``."""
    model = AxiModel(fn, place, slots, prefix)
    for channel in (Channel.AR, Channel.AW, Channel.W):
        _check_stable(model, channel)
    read_free, answer_free = _take_results(model)
    _accept_address(model, Channel.AR)
    _accept_address(model, Channel.AW)
    _accept_beat(model)
    _drain(model)
    _next_outputs(model, read_free, answer_free)
    model.bump(StateField.NOW)


# ---- protocol


def _payload(model: AxiModel, channel: Channel) -> list[str]:
    """Return the ports that must stay while VALID waits for READY."""
    if channel is Channel.W:
        return ["wdata", "wstrb", "wlast"]
    fields = ("id", "addr", "len", "size", "burst", "lock", "cache", "prot", "qos")
    names = [channel.name.lower() + field for field in fields]
    return [name for name in names if f"{model.prefix}__{name}" in model.slots]


def _check_stable(model: AxiModel, channel: Channel) -> None:
    """A VALID that was not answered must still be there with the same payload; keep this cycle's for the next."""
    fn, name = model.fn, channel.name.lower()
    held = HELD + 8 * channel
    valid, ready = model.flag(name + "valid"), model.flag(name + "ready")
    waiting = fn.op(f"icmp ne i64 {model.field(held)}, 0")
    waits = fn.op(f"and i1 {valid}, {fn.op(f'xor i1 {ready}, 1')}")
    either = fn.op(f"or i1 {waiting}, {waits}")
    with fn.seldom(either):
        changed = fn.op(f"xor i1 {valid}, 1")
        place = PAYLOADS + PAYLOAD_BYTES * channel
        for port in _payload(model, channel):
            width = model.slot(port).width
            size = slot_bytes(width)
            bits = min(8 * size, 64)
            for low in range(0, size, 8):
                now = fn.op(f"load i{bits}, ptr {model.part(model.io(port), low)}")
                kept = model.pointer(place)
                before = fn.op(f"load i{bits}, ptr {kept}")
                changed = fn.op(f"or i1 {changed}, {fn.op(f'icmp ne i{bits} {now}, {before}')}")
                fn.do(f"store i{bits} {now}, ptr {kept}")
                place += 8
        with fn.seldom(fn.op(f"and i1 {waiting}, {changed}")):
            address = "0" if channel is Channel.W else model.number(name + "addr")
            _fault(model, AxiFault.UNSTABLE, channel, address)
        model.set_field(held, fn.op(f"zext i1 {waits} to i64"))


def _fault(model: AxiModel, fault: AxiFault, channel: Channel, address: str) -> None:
    """Note the first fault and stop the run after this cycle."""
    fn = model.fn
    first = fn.op(f"icmp eq i64 {model.field(StateField.FAULT)}, 0")
    with fn.when(first):
        model.set_field(StateField.FAULT, str(int(fault)))
        model.set_field(StateField.FAULT_CHANNEL, str(int(channel)))
        model.set_field(StateField.FAULT_ADDRESS, address)
        fn.do(f"store i64 1, ptr {fn.op(f'getelementptr i8, ptr %aux, i64 {STOP}')}")


# ---- transfers of this cycle


def _take_results(model: AxiModel) -> tuple[str, str]:
    """Retire the read beat and the answer that the master takes; return, for either output, the i1 "free again"."""
    fn = model.fn
    free = []
    for valid, ready in (("rvalid", "rready"), ("bvalid", "bready")):
        shown, taken = model.flag(valid), model.flag(ready)
        free.append(fn.op(f"or i1 {taken}, {fn.op(f'xor i1 {shown}, 1')}"))
        with fn.when(fn.op(f"and i1 {shown}, {taken}")):
            if valid == "bvalid":
                model.bump(StateField.ANSWER_HEAD)
                continue
            model.bump(StateField.READ_BEATS)
            last = model.flag("rlast")
            step = fn.op(f"zext i1 {last} to i64")
            model.set_field(StateField.READ_HEAD, fn.op(f"add i64 {model.field(StateField.READ_HEAD)}, {step}"))
            beat = fn.op(f"add i64 {model.field(StateField.READ_BEAT)}, 1")
            model.set_field(StateField.READ_BEAT, fn.op(f"select i1 {last}, i64 0, i64 {beat}"))
    return free[0], free[1]


def _accept_address(model: AxiModel, channel: Channel) -> None:
    """Queue the burst whose address is transferred, if it is a legal one."""
    fn, name = model.fn, channel.name.lower()
    reads = channel is Channel.AR
    with fn.when(fn.op(f"and i1 {model.flag(name + 'valid')}, {model.flag(name + 'ready')}")):
        size = model.beat_bytes
        address = model.number(name + "addr")
        start = fn.op(f"and i64 {address}, {-size}")
        count = fn.op(f"add i64 {model.number(name + 'len')}, 1")
        span = fn.op(f"mul i64 {count}, {size}")
        legal = _legal(model, channel, address, start, span, count)
        with fn.when(legal):
            tail = StateField.READ_TAIL if reads else StateField.WRITE_TAIL
            entry = model.entry(READS if reads else WRITES, BURST_BYTES, BURSTS, model.field(tail))
            due = fn.op(f"add i64 {model.field(StateField.NOW)}, {model.field(StateField.LATENCY)}")
            for offset, value in ((ADDRESS, start), (COUNT, count), (ID, model.number(name + "id")), (DUE, due)):
                fn.do(f"store i64 {value}, ptr {model.part(entry, offset)}")
            model.bump(tail)
            model.bump(StateField.READ_BURSTS if reads else StateField.WRITE_BURSTS)


def _legal(model: AxiModel, channel: Channel, address: str, start: str, span: str, count: str) -> str:
    """Return the i1 "the model serves this burst"; note what is wrong with one that it does not serve."""
    fn, name, size = model.fn, channel.name.lower(), model.beat_bytes
    offset = fn.op(f"and i64 {start}, {_PAGE - 1}")
    place = fn.op(f"sub i64 {start}, {model.field(StateField.ORIGIN)}")
    room = fn.op(f"sub i64 {model.field(StateField.SIZE)}, {place}")
    no_room = fn.op(f"icmp ugt i64 {place}, {model.field(StateField.SIZE)}")
    single = fn.op(f"icmp eq i64 {count}, 1")
    incr = fn.op(f"icmp eq i64 {model.number(name + 'burst')}, {_INCR}")
    beyond = fn.op(f"icmp ugt i64 {span}, {room}")
    wrong = {
        AxiFault.NARROW: fn.op(f"icmp ne i64 {model.number(name + 'size')}, {size.bit_length() - 1}"),
        AxiFault.NOT_INCR: fn.op(f"xor i1 {fn.op(f'or i1 {single}, {incr}')}, 1"),
        AxiFault.CROSSES_PAGE: fn.op(f"icmp ugt i64 {fn.op(f'add i64 {offset}, {span}')}, {_PAGE}"),
        AxiFault.OUT_OF_MEMORY: fn.op(f"or i1 {no_room}, {beyond}"),
    }
    bad = "0"
    for condition in wrong.values():
        bad = fn.op(f"or i1 {bad}, {condition}")
    with fn.seldom(bad):
        for fault, condition in wrong.items():
            with fn.when(condition):
                _fault(model, fault, channel, address)
    return fn.op(f"xor i1 {bad}, 1")


def _accept_beat(model: AxiModel) -> None:
    """Queue the write beat that is transferred."""
    fn = model.fn
    with fn.when(fn.op(f"and i1 {model.flag('wvalid')}, {model.flag('wready')}")):
        entry = model.entry(BEAT_RING, BEAT_BYTES, BEATS, model.field(StateField.BEAT_TAIL))
        source, size = model.io("wdata"), model.beat_bytes
        fn.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {model.part(entry, DATA)}, ptr {source}, i64 {size}, i1 false)")
        fn.do(f"store i64 {model.number('wstrb')}, ptr {model.part(entry, STROBE)}")
        fn.do(f"store i64 {model.number('wlast')}, ptr {model.part(entry, LAST)}")
        model.bump(StateField.BEAT_TAIL)
        model.bump(StateField.WRITE_BEATS)


def _drain(model: AxiModel) -> None:
    """Write beats whose burst is known to memory, and queue the answers of bursts that are complete."""
    fn = model.fn
    again, body, after = fn.fresh("drain"), fn.fresh("beat"), fn.fresh("drained")
    fn.do(f"br label %{again}")
    fn.lines.append(f"{again}:")
    burst, beat = model.field(StateField.WRITE_HEAD), model.field(StateField.BEAT_HEAD)
    has_burst = fn.op(f"icmp ne i64 {burst}, {model.field(StateField.WRITE_TAIL)}")
    has_beat = fn.op(f"icmp ne i64 {beat}, {model.field(StateField.BEAT_TAIL)}")
    fn.do(f"br i1 {fn.op(f'and i1 {has_burst}, {has_beat}')}, label %{body}, label %{after}")
    fn.lines.append(f"{body}:")
    head = model.entry(WRITES, BURST_BYTES, BURSTS, burst)
    data = model.entry(BEAT_RING, BEAT_BYTES, BEATS, beat)
    index = model.field(StateField.WRITE_BEAT)
    address = fn.op(f"load i64, ptr {model.part(head, ADDRESS)}")
    here = fn.op(f"add i64 {address}, {fn.op(f'mul i64 {index}, {model.beat_bytes}')}")
    _write_beat(model, here, data)
    following = fn.op(f"add i64 {index}, 1")
    count = fn.op(f"load i64, ptr {model.part(head, COUNT)}")
    final = fn.op(f"icmp eq i64 {following}, {count}")
    last = fn.op(f"icmp ne i64 {fn.op(f'load i64, ptr {model.part(data, LAST)}')}, 0")
    with fn.seldom(fn.op(f"xor i1 {final}, {last}")):
        _fault(model, AxiFault.WRONG_LAST, Channel.W, here)
    with fn.when(final):
        answer = model.entry(ANSWERS, BURST_BYTES, BURSTS, model.field(StateField.ANSWER_TAIL))
        due = fn.op(f"add i64 {model.field(StateField.NOW)}, {model.field(StateField.LATENCY)}")
        fn.do(f"store i64 {fn.op(f'load i64, ptr {model.part(head, ID)}')}, ptr {model.part(answer, ID)}")
        fn.do(f"store i64 {due}, ptr {model.part(answer, DUE)}")
        model.bump(StateField.ANSWER_TAIL)
        model.bump(StateField.WRITE_HEAD)
    model.set_field(StateField.WRITE_BEAT, fn.op(f"select i1 {final}, i64 0, i64 {following}"))
    model.bump(StateField.BEAT_HEAD)
    fn.do(f"br label %{again}")
    fn.lines.append(f"{after}:")


def _memory(model: AxiModel, address: str) -> str:
    """Return a pointer into the DRAM."""
    fn = model.fn
    offset = fn.op(f"sub i64 {address}, {model.field(StateField.ORIGIN)}")
    base = fn.op(f"load ptr, ptr {model.pointer(StateField.POINTER)}")
    return fn.op(f"getelementptr i8, ptr {base}, i64 {offset}")


def _write_beat(model: AxiModel, address: str, entry: str) -> None:
    """Write the bytes of a beat whose strobes are set."""
    fn, size = model.fn, model.beat_bytes
    target, source = _memory(model, address), model.part(entry, DATA)
    strobe = fn.op(f"load i{max(size, 8)}, ptr {model.part(entry, STROBE)}")
    short = strobe if size >= 8 else fn.op(f"trunc i8 {strobe} to i{size}")
    lanes = fn.op(f"bitcast i{size} {short} to <{size} x i1>")
    vector = f"<{size} x i8>"
    new = fn.op(f"load {vector}, ptr {source}, align 1")
    old = fn.op(f"load {vector}, ptr {target}, align 1")
    both = fn.op(f"select <{size} x i1> {lanes}, {vector} {new}, {vector} {old}")
    fn.do(f"store {vector} {both}, ptr {target}, align 1")


# ---- outputs of the next cycle


def _next_outputs(model: AxiModel, read_free: str, answer_free: str) -> None:
    fn = model.fn
    stalls = _stalls(model)
    now = fn.op(f"add i64 {model.field(StateField.NOW)}, 1")
    limit = model.field(StateField.LIMIT)
    reads = fn.op(f"sub i64 {model.field(StateField.READ_TAIL)}, {model.field(StateField.READ_HEAD)}")
    writes = fn.op(f"sub i64 {model.field(StateField.WRITE_TAIL)}, {model.field(StateField.ANSWER_HEAD)}")
    beats = fn.op(f"sub i64 {model.field(StateField.BEAT_TAIL)}, {model.field(StateField.BEAT_HEAD)}")
    for port, fill, most in (("arready", reads, limit), ("awready", writes, limit), ("wready", beats, str(BEATS))):
        channel = Channel[port[:-5].upper()]
        room = fn.op(f"icmp ult i64 {fill}, {most}")
        model.show_flag(port, fn.op(f"and i1 {room}, {stalls[channel]}"))
    with fn.when(read_free):
        head = model.entry(READS, BURST_BYTES, BURSTS, model.field(StateField.READ_HEAD))
        ready = _is_due(model, head, fn.op(f"icmp ne i64 {reads}, 0"), now)
        valid = fn.op(f"and i1 {ready}, {stalls[Channel.R]}")
        model.show_flag("rvalid", valid)
        with fn.when(valid):
            _show_read_beat(model, head)
    with fn.when(answer_free):
        index = model.field(StateField.ANSWER_HEAD)
        head = model.entry(ANSWERS, BURST_BYTES, BURSTS, index)
        ready = _is_due(model, head, fn.op(f"icmp ne i64 {index}, {model.field(StateField.ANSWER_TAIL)}"), now)
        model.show_flag("bvalid", fn.op(f"and i1 {ready}, {stalls[Channel.B]}"))
        model.show("bid", fn.op(f"load i64, ptr {model.part(head, ID)}"))


def _is_due(model: AxiModel, head: str, present: str, now: str) -> str:
    """Return the i1 "this queue has a head, and its time has come"."""
    due = model.fn.op(f"load i64, ptr {model.part(head, DUE)}")
    return model.fn.op(f"and i1 {present}, {model.fn.op(f'icmp ule i64 {due}, {now}')}")


def _show_read_beat(model: AxiModel, head: str) -> None:
    fn, size = model.fn, model.beat_bytes
    beat = model.field(StateField.READ_BEAT)
    address = fn.op(f"load i64, ptr {model.part(head, ADDRESS)}")
    here = fn.op(f"add i64 {address}, {fn.op(f'mul i64 {beat}, {size}')}")
    target, source = model.io("rdata"), _memory(model, here)
    fn.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {size}, i1 false)")
    count = fn.op(f"load i64, ptr {model.part(head, COUNT)}")
    model.show_flag("rlast", fn.op(f"icmp eq i64 {fn.op(f'add i64 {beat}, 1')}, {count}"))
    model.show("rid", fn.op(f"load i64, ptr {model.part(head, ID)}"))


def _stalls(model: AxiModel) -> dict[Channel, str]:
    """Advance the random numbers, if there are stalls; return for each channel the i1 "it goes ahead"."""
    fn = model.fn
    with fn.seldom(fn.op(f"icmp ne i64 {model.field(StateField.STALLS)}, 0")):
        state = model.field(StateField.RANDOM)
        for kind, count in (("shl", 13), ("lshr", 7), ("shl", 17)):
            state = fn.op(f"xor i64 {state}, {fn.op(f'{kind} i64 {state}, {count}')}")
        model.set_field(StateField.RANDOM, state)
    state = model.field(StateField.RANDOM)
    going = {}
    for channel in Channel:
        chance = fn.op(f"and i64 {fn.op(f'lshr i64 {state}, {12 * channel}')}, {mask(12)}")
        threshold = model.field(THRESHOLDS + 8 * channel)
        going[channel] = fn.op(f"icmp uge i64 {chance}, {threshold}")
    return going
