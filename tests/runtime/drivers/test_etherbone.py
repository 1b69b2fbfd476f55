"""Etherbone: packets as the protocol has them, and a bus that noise does not make wrong."""

from typing import Any

import numpy as np
import pytest

from runtime.drivers.etherbone import EtherboneBus, decode_answer, encode_reads, encode_writes
from runtime.drivers.links import LinkError
from tests.support.drivers.etherbone_board import EtherboneBoard, Noise
from tests.support.drivers.word_space import WordSpace

ORIGIN = 0x4000_0000
NOISE = Noise(lost=0.03, repeated=0.03, flipped=0.03)


def board_with(noise: Noise | None = None, *, seed: int = 1) -> EtherboneBoard:
    return EtherboneBoard(WordSpace(np.zeros(1 << 16, np.uint8), origin=ORIGIN, registers={0x100: 7}), noise, seed=seed)


def test_packets_have_the_bytes_of_the_protocol() -> None:
    assert encode_writes(0x3000_0010, [1, 0xFFEE_DDCC]).hex() == "4e6f104400000000000f02003000001000000001ffeeddcc"
    assert encode_reads([4, 8], number=0xA).hex() == "4e6f104400000000000f00020000000a0000000400000008"


def test_an_answer_has_a_number_and_words() -> None:
    answer = decode_answer(bytes.fromhex("4e6f104400000000000f02000000000a0000000180000000"))
    assert answer is not None
    assert answer[0] == 10
    assert answer[1].tolist() == [1, 0x8000_0000]


@pytest.mark.parametrize(
    "packet",
    ["", "4e6f", "4e6e104400000000" "000f0100" "0000000a" "00000001", "4e6f104400000000" "000f0000" "0000000a",
     "4e6f104400000000" "000f0200" "0000000a" "00000001", "4e6f104400000000" "000f0001" "0000000a" "00000004"],
)  # fmt: skip
def test_what_is_no_answer_is_none(packet: str) -> None:
    assert decode_answer(bytes.fromhex(packet)) is None


def test_words_are_read_and_written_in_parts() -> None:
    board = board_with()
    bus = EtherboneBus(board)
    words = np.arange(1000, dtype=np.uint32) * 0x0101_0101
    bus.write(ORIGIN + 8, words)
    assert board.words.memory[8:4008].view("<u4").tolist() == words.tolist()
    assert bus.read(ORIGIN + 8, 1000).tolist() == words.tolist()
    assert bus.read(ORIGIN, 0).size == 0
    bus.write(ORIGIN, [])
    bus.strobe(0x100, 9)
    assert bus.read(0x100, 1).tolist() == [9]


def transfers(count: int, noise: Noise, *, seed: int) -> EtherboneBoard:
    """Read and write at random, and compare every word that is read, and memory in the end."""
    board = board_with(noise, seed=seed)
    bus = EtherboneBus(board)
    rng = np.random.default_rng(seed)
    model = np.zeros(1 << 14, np.uint32)
    for _ in range(count):
        length = int(
            rng.choice([1, 2, 7, 8, 9, 127, 128, 129, 300], p=[0.3, 0.2, 0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.05])
        )
        place = int(rng.integers(0, len(model) - length))
        if rng.random() < 0.5:
            model[place : place + length] = rng.integers(0, 1 << 32, length, dtype=np.uint32)
            bus.write(ORIGIN + 4 * place, model[place : place + length])
        else:
            np.testing.assert_array_equal(bus.read(ORIGIN + 4 * place, length), model[place : place + length])
    np.testing.assert_array_equal(board.words.memory.view("<u4"), model)
    assert board.flips > count // 40
    assert board.undetected == 0
    return board


def test_transfers_are_right_on_a_cable_that_loses_repeats_and_changes_packets() -> None:
    transfers(300, NOISE, seed=1)


@pytest.mark.long
@pytest.mark.parametrize("noise", [NOISE, Noise(lost=0.2), Noise(repeated=0.5), Noise(flipped=0.2)])
def test_ten_thousand_transfers_are_right(noise: Noise) -> None:
    board = EtherboneBoard(WordSpace(np.zeros(4, np.uint8), origin=0, registers={}), noise)
    if noise.flipped:
        board = transfers(10_000, noise, seed=2)
        assert board.frames > 20_000
        return
    quiet = Noise(lost=noise.lost, repeated=noise.repeated, flipped=0.03)
    transfers(10_000, quiet, seed=3)


def test_a_cable_that_is_out_is_an_error_in_the_middle_of_a_transfer() -> None:
    board = board_with()
    bus = EtherboneBus(board)
    board.unplugged_after = 7
    with pytest.raises(LinkError) as caught:
        bus.write(ORIGIN, range(512))
    assert str(caught.value) == (
        "the board: no answer to 12 requests for 8 words at 0x40000200; is the board on, and the cable in?"
    )
    board.plugged, board.unplugged_after = True, None
    bus.write(ORIGIN, range(512))
    assert bus.read(ORIGIN, 512).tolist() == list(range(512))


def test_a_place_that_keeps_nothing_is_an_error() -> None:
    bus = EtherboneBus(board_with(), attempts=3)
    with pytest.raises(LinkError) as caught:
        bus.write(0x200, [1, 2])
    assert str(caught.value) == (
        "the board: 2 words were written to 0x200 3 times, and word 0 reads as 0xffffffff, not 0x1"
    )


def test_an_answer_to_an_earlier_request_is_not_taken_for_one_to_this() -> None:
    board = board_with()
    bus = EtherboneBus(board)
    bus.write(ORIGIN, [1, 2])
    seen: list[bytes] = []
    receive = board.receive

    def late_ones_first(seconds: float) -> bytes | None:
        if len(seen) == 1:
            return seen.pop()
        packet = receive(seconds)
        if packet is not None:
            seen.append(packet)
        return packet

    board.receive = late_ones_first  # type: ignore[method-assign, assignment]
    assert bus.read(ORIGIN, 1).tolist() == [1]
    assert bus.read(ORIGIN + 4, 1).tolist() == [2]
    assert seen != []


@pytest.mark.long
def test_packets_are_those_of_litex_own_client() -> None:
    etherbone = pytest.importorskip("litex.tools.remote.etherbone", reason="pip install 'vta-toolchain[board]'")
    rng = np.random.default_rng(5)
    for _ in range(50):
        words = rng.integers(0, 1 << 32, int(rng.integers(1, 129)), dtype=np.uint32).tolist()
        address, number = (4 * int(rng.integers(0, 1 << 30)) for _ in range(2))
        record = etherbone.EtherboneRecord(addr_size=4)
        record.writes = etherbone.EtherboneWrites(addr_size=4, base_addr=address, datas=iter(words))
        record.wcount = len(words)
        assert encode_writes(address, words) == packed(etherbone, record)
        record = etherbone.EtherboneRecord(addr_size=4)
        addresses = [address + 4 * index & 0xFFFF_FFFF for index in range(len(words))]
        record.reads = etherbone.EtherboneReads(addr_size=4, addrs=addresses)
        record.reads.base_ret_addr = number
        record.rcount = len(words)
        assert encode_reads(addresses, number=number) == packed(etherbone, record)


def packed(etherbone: Any, record: Any) -> bytes:
    packet = etherbone.EtherbonePacket(32)
    packet.records = [record]
    packet.encode()
    return bytes(packet.bytes)
