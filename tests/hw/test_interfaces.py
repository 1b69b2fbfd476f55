from typing import Any

import pytest
from amaranth.lib.wiring import In, Out

from hw.interfaces import (
    AXI4,
    AXI4Lite,
    AxiResponse,
    ElementRead,
    ElementStream,
    ReadClient,
    WriteClient,
    burst_layout,
    inputs_read,
    read_data_layout,
    write_data_layout,
)
from isa.config import VTAConfig


def flows(signature: Any) -> dict[Any, Any]:
    return {"__".join(map(str, path)): member.flow for path, member in signature.members.flatten()}


def test_axi4_has_the_signals_of_the_standard_seen_from_the_master() -> None:
    signature = AXI4(addr_width=32, data_width=128)
    found = flows(signature)
    inputs = {name for name, flow in found.items() if flow == In}
    assert inputs == {
        "awready", "wready", "arready", "bid", "bresp", "bvalid", "rid", "rdata", "rresp", "rlast", "rvalid"
    }  # fmt: skip
    assert signature.members["wstrb"].shape == 16
    assert signature.members["rdata"].shape == 128
    assert signature.members["arlen"].shape == 8


def test_axi4_lite_has_five_channels() -> None:
    found = flows(AXI4Lite(addr_width=8))
    for channel, direction in {"aw": Out, "w": Out, "b": In, "ar": Out, "r": In}.items():
        assert found[channel + "valid"] == direction
        assert found[channel + "ready"] != direction


def test_clients_command_and_the_engine_answers() -> None:
    read = flows(ReadClient(addr_width=32, data_width=64))
    assert read["cmd__valid"] == Out
    assert read["data__valid"] == In
    write = flows(WriteClient(addr_width=32, data_width=64))
    assert write["cmd__valid"] == Out
    assert write["data__valid"] == Out
    assert write["done"] == In


def test_scratchpad_readers_give_addresses_and_get_elements() -> None:
    assert flows(ElementRead(address_width=4, element_width=8)) == {"address": Out, "enable": Out, "data": In}
    tiles = flows(ElementStream(address_width=4, element_width=8))
    assert tiles["address__payload"] == Out
    assert tiles["data__payload"] == In


def test_the_error_responses_have_their_high_bit_set() -> None:
    assert [bool(code & 2) for code in AxiResponse] == [False, False, True, True]


def test_axi3_has_shorter_bursts_longer_locks_and_an_id_with_write_beats() -> None:
    """Of the signals in which the two standards differ; all others are of one width in both."""
    widths = {
        axi3: {"_".join(map(str, path)): member.shape for path, member in signature.members.flatten()}
        for axi3, signature in (
            (each, AXI4(addr_width=33, data_width=64, id_width=3, axi3=bool(each))) for each in (0, 1)
        )
    }
    prefixes = ("aw", "ar")
    for prefix in prefixes:
        assert [widths[axi3][prefix + "len"] for axi3 in (0, 1)] == [8, 4]
        assert [widths[axi3][prefix + "lock"] for axi3 in (0, 1)] == [1, 2]
        assert widths[0].pop(prefix + "qos") == 4
        others = {"id": 3, "addr": 33, "size": 3, "burst": 2, "cache": 4, "prot": 3, "valid": 1, "ready": 1}
        assert {name: widths[1][prefix + name] for name in others} == others
    assert widths[1].pop("wid") == 3
    for prefix in prefixes:
        for name in ("len", "lock"):
            del widths[0][prefix + name], widths[1][prefix + name]
    assert widths[0] == widths[1]
    assert (widths[1]["wstrb"], widths[1]["bresp"], widths[1]["rresp"], widths[1]["bid"]) == (8, 2, 2, 3)


def test_axi4_lite_has_words_of_32_bits() -> None:
    widths = {"_".join(map(str, path)): member.shape for path, member in AXI4Lite(addr_width=9).members.flatten()}
    wide = {
        "awaddr": 9,
        "araddr": 9,
        "awprot": 3,
        "arprot": 3,
        "wdata": 32,
        "rdata": 32,
        "wstrb": 4,
        "bresp": 2,
        "rresp": 2,
    }
    assert widths == {**dict.fromkeys(widths, 1), **wide}


@pytest.mark.parametrize(("taps", "elements"), [(0, 1), (1, 1), (3, 3)])
def test_a_reader_of_inputs_gets_an_element_for_each_tap(taps: int, elements: int) -> None:
    config = VTAConfig(depthwise_taps=taps)
    assert inputs_read(config).element_width == elements * config.inp_elem_bits
    assert inputs_read(config).address_width == config.log_inp_depth


def test_a_burst_has_up_to_256_beats() -> None:
    assert burst_layout(33).size == 33 + 9
    assert [layout(64).size for layout in (read_data_layout, write_data_layout)] == [64 + 1, 64 + 8]
