"""Ports that several blocks share: memory clients, scratchpad readers, AXI4, AXI4-Lite.

Streams are ``amaranth.lib.stream``: a transfer happens in a cycle in which ``valid`` and ``ready`` are both high;
``valid`` never waits for ``ready`` and the payload stays until it is taken. Tests: ``tests/hw/test_interfaces.py``,
``tests/hw/test_ports.py``, ``tests/hw/test_reset.py``.
"""

import enum

from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from isa.config import VTAConfig

__all__ = [
    "AXI4",
    "AXI4Lite",
    "AxiResponse",
    "ElementRead",
    "ElementStream",
    "ReadClient",
    "WriteClient",
    "burst_layout",
    "inputs_read",
    "read_data_layout",
    "write_data_layout",
]


class AxiResponse(enum.IntEnum):
    """Values of ``bresp`` and ``rresp``."""

    OKAY = 0
    EXOKAY = 1
    SLVERR = 2
    DECERR = 3


def burst_layout(addr_width: int) -> data.StructLayout:
    """Return the layout of a burst command: byte address (a multiple of the beat) and number of beats, 1 to 256.

    The beats of a burst lie within one naturally aligned 4 KiB of memory.
    """
    return data.StructLayout({"addr": addr_width, "beats": 9})


def read_data_layout(data_width: int) -> data.StructLayout:
    """Return the layout of a beat that was read; ``last`` marks the last beat of a burst."""
    return data.StructLayout({"data": data_width, "last": 1})


def write_data_layout(data_width: int) -> data.StructLayout:
    """Return the layout of a beat to be written; bit i of ``strb`` says that byte i is written."""
    return data.StructLayout({"data": data_width, "strb": data_width // 8})


class ElementRead(wiring.Signature):
    """What a reader of a scratchpad has: an address out, and its element in the next cycle.

    Parameters
    ----------
    address_width : int
        Bits of an element's index.
    element_width : int
        Bits of an element.

    Members
    -------
    address : Out(address_width)
        Which element.
    enable : Out(1)
        Read it; without it ``data`` holds.
    data : In(element_width)
        The element, from the cycle after ``enable`` on.
    """

    def __init__(self, *, address_width: int, element_width: int) -> None:
        self.address_width = address_width
        self.element_width = element_width
        super().__init__({"address": Out(address_width), "enable": Out(1), "data": In(element_width)})


def inputs_read(config: VTAConfig) -> ElementRead:
    """Return the port of a reader of inputs: one element, or one for each depthwise tap from the address on."""
    width = max(1, config.depthwise_taps) * config.inp_elem_bits
    return ElementRead(address_width=config.log_inp_depth, element_width=width)


class ElementStream(wiring.Signature):
    """What a reader has that takes tiles as they come: indices out, elements in, both as streams, in order.

    The one that serves it takes an index only if it can keep the element until it is taken.

    Parameters
    ----------
    address_width : int
        Bits of an element's index.
    element_width : int
        Bits of an element.

    Members
    -------
    address : Out(stream)
        Which element.
    data : In(stream)
        The elements.
    """

    def __init__(self, *, address_width: int, element_width: int) -> None:
        self.address_width = address_width
        self.element_width = element_width
        super().__init__({"address": Out(stream.Signature(address_width)), "data": In(stream.Signature(element_width))})


class ReadClient(wiring.Signature):
    """What a block that reads memory has towards the memory engine.

    The beats of all commands come in the order of the commands. All readers share one in-order channel, so a client
    may issue a command only if it will take the beats without waiting for any other memory transfer (of its own or of
    another client) that was not commanded before; it may hold them back for a bounded number of cycles.

    Parameters
    ----------
    addr_width, data_width : int
        Bits of a byte address and of a beat.

    Members
    -------
    cmd : Out(stream of burst_layout)
        Bursts to read.
    data : In(stream of read_data_layout)
        Their beats.
    """

    def __init__(self, *, addr_width: int, data_width: int) -> None:
        self.addr_width = addr_width
        self.data_width = data_width
        super().__init__(
            {
                "cmd": Out(stream.Signature(burst_layout(addr_width))),
                "data": In(stream.Signature(read_data_layout(data_width))),
            }
        )


class WriteClient(wiring.Signature):
    """What a block that writes memory has towards the memory engine.

    Parameters
    ----------
    addr_width, data_width : int
        Bits of a byte address and of a beat.

    Members
    -------
    cmd : Out(stream of burst_layout)
        Bursts to write. A beat is taken only after the command of its burst (or in the same cycle).
    data : Out(stream of write_data_layout)
        The beats of all commands in their order; the engine knows from the commands which is the last of a burst.
    done : In(1)
        One pulse for each burst whose response has come, in the order of the commands.
    """

    def __init__(self, *, addr_width: int, data_width: int) -> None:
        self.addr_width = addr_width
        self.data_width = data_width
        super().__init__(
            {
                "cmd": Out(stream.Signature(burst_layout(addr_width))),
                "data": Out(stream.Signature(write_data_layout(data_width))),
                "done": In(1),
            }
        )


class AXI4(wiring.Signature):
    """An AXI4 port, or one of AXI3, seen from its master; the members are the standard's signals in lower case.

    The master uses one ID (0), INCR bursts of full beats and never a burst that crosses 4 KiB. Write beats may be
    offered before their address has been accepted, as the standard allows: VALID never waits for READY.

    Parameters
    ----------
    addr_width, data_width : int
        Bits of a byte address and of a beat.
    id_width : int
        Bits of the transaction IDs.
    axi3 : bool
        The older standard: 4 bits of LEN, 2 of LOCK, no QOS, and an ID with write beats.
    """

    def __init__(self, *, addr_width: int, data_width: int, id_width: int = 1, axi3: bool = False) -> None:
        self.addr_width = addr_width
        self.data_width = data_width
        self.id_width = id_width
        self.axi3 = axi3
        super().__init__(
            {
                **_address("aw", addr_width, id_width, axi3=axi3),
                **({"wid": Out(id_width)} if axi3 else {}),
                "wdata": Out(data_width),
                "wstrb": Out(data_width // 8),
                "wlast": Out(1),
                "wvalid": Out(1),
                "wready": In(1),
                "bid": In(id_width),
                "bresp": In(2),
                "bvalid": In(1),
                "bready": Out(1),
                **_address("ar", addr_width, id_width, axi3=axi3),
                "rid": In(id_width),
                "rdata": In(data_width),
                "rresp": In(2),
                "rlast": In(1),
                "rvalid": In(1),
                "rready": Out(1),
            }
        )


def _address(prefix: str, addr_width: int, id_width: int, *, axi3: bool) -> dict[str, wiring.Member]:
    """Return the members of an address channel."""
    widths = {
        "id": id_width,
        "addr": addr_width,
        "len": 4 if axi3 else 8,
        "size": 3,
        "burst": 2,
        "lock": 2 if axi3 else 1,
        "cache": 4,
        "prot": 3,
        **({} if axi3 else {"qos": 4}),
        "valid": 1,
    }
    return {**{prefix + name: Out(width) for name, width in widths.items()}, prefix + "ready": In(1)}


class AXI4Lite(wiring.Signature):
    """An AXI4-Lite port with 32-bit data, seen from its master.

    Parameters
    ----------
    addr_width : int
        Bits of a byte address.
    """

    def __init__(self, *, addr_width: int) -> None:
        self.addr_width = addr_width
        super().__init__(
            {
                "awaddr": Out(addr_width),
                "awprot": Out(3),
                "awvalid": Out(1),
                "awready": In(1),
                "wdata": Out(32),
                "wstrb": Out(4),
                "wvalid": Out(1),
                "wready": In(1),
                "bresp": In(2),
                "bvalid": In(1),
                "bready": Out(1),
                "araddr": Out(addr_width),
                "arprot": Out(3),
                "arvalid": Out(1),
                "arready": In(1),
                "rdata": In(32),
                "rresp": In(2),
                "rvalid": In(1),
                "rready": Out(1),
            }
        )
