from typing import Any

from amaranth.lib.wiring import In, Out

from hw.interfaces import AXI4, AXI4Lite, AxiResponse, ElementRead, ElementStream, ReadClient, WriteClient


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
