"""LiteX's serial bridge: commands as it takes them, and a bus that noise makes an error and not wrong."""

import numpy as np
import pytest

from runtime.drivers.links import LinkError
from runtime.drivers.uart_bridge import UartBus, encode_read, encode_write
from tests.support.drivers.uart_board import LineNoise, UartBoard
from tests.support.drivers.word_space import WordSpace

ORIGIN = 0x4000_0000


class Everywhere(WordSpace):
    """Memory that answers to every address, so that whatever goes astray changes something."""

    def read(self, address: int) -> int:
        return super().read(self.origin + (address & len(self.memory) - 1))

    def write(self, address: int, value: int) -> None:
        super().write(self.origin + (address & len(self.memory) - 1), value)


def board_with(noise: LineNoise | None = None, *, seed: int = 1) -> UartBoard:
    return UartBoard(Everywhere(np.zeros(1 << 14, np.uint8), origin=ORIGIN, registers={}), noise, seed=seed)


def test_commands_have_the_bytes_of_the_bridge() -> None:
    assert encode_write(0x3000_0010, [1, 0xFFEE_DDCC]).hex() == "01020c00000400000001ffeeddcc"
    assert encode_read(0x4000_0000, 64).hex() == "024010000000"


def test_words_are_read_and_written_in_parts() -> None:
    board = board_with()
    bus = UartBus(board)
    words = np.arange(200, dtype=np.uint32) * 0x0101_0101
    bus.write(ORIGIN + 8, words)
    assert board.words.memory[8:808].view("<u4").tolist() == words.tolist()
    assert bus.read(ORIGIN + 8, 200).tolist() == words.tolist()
    bus.write(ORIGIN, [])
    bus.strobe(ORIGIN, 9)
    assert bus.read(ORIGIN, 2).tolist() == [9, 0]


def test_words_that_are_there_are_not_written() -> None:
    board = board_with()
    bus = UartBus(board)
    bus.write(ORIGIN, [1, 2, 3, 4])
    sent: list[bytes] = []
    send = board.send
    board.send = lambda data: (sent.append(data), send(data))[1]  # type: ignore[method-assign, func-returns-value]
    bus.write(ORIGIN, [1, 2, 3, 4])
    bus.write(ORIGIN, [1, 5, 3, 4])
    assert [data.hex() for data in sent if data[0] == 1] == ["01011000000100000005"]


def test_a_write_that_went_astray_is_an_error() -> None:
    board = board_with()
    send = board.send
    board.send = lambda data: send(data[:5] + b"\x77" + data[6:] if data[0] == 1 else data)  # type: ignore[method-assign]
    with pytest.raises(LinkError) as caught:
        UartBus(board).write(ORIGIN + 4, [0, 8, 9])
    assert str(caught.value) == (
        "the board: 2 words were written to 0x40000008, and word 0 reads as 0x0, not 0x8; "
        "the serial line loses or changes bytes"
    )


def test_an_answer_that_is_changed_once_is_asked_for_again() -> None:
    board = board_with()
    bus = UartBus(board)
    bus.write(ORIGIN, [1, 2, 3])
    receive = board.receive
    changes = iter([False, True] + [False] * 100)

    def changed(count: int, seconds: float) -> bytes:
        data = receive(count, seconds)
        return bytes([data[0] ^ 1]) + data[1:] if data and next(changes) else data

    board.receive = changed  # type: ignore[method-assign]
    assert bus.read(ORIGIN, 3).tolist() == [1, 2, 3]


def test_answers_that_never_agree_are_an_error() -> None:
    board = board_with()
    receive, numbers = board.receive, iter(range(100))

    def another(count: int, seconds: float) -> bytes:
        return bytes([next(numbers)]) * count if receive(count, seconds) else b""

    board.receive = another  # type: ignore[method-assign]
    with pytest.raises(LinkError) as caught:
        UartBus(board).read(ORIGIN, 2)
    assert str(caught.value) == (
        "the board: 5 answers for 2 words at 0x40000000 are all different; the serial line changes bytes"
    )


def test_a_line_that_is_cut_is_an_error_and_the_bus_goes_on_when_it_is_back() -> None:
    board = board_with()
    bus = UartBus(board)
    board.plugged = False
    with pytest.raises(LinkError) as caught:
        bus.read(ORIGIN, 2)
    assert str(caught.value) == (
        "the board: no answer to 4 requests for 2 words at 0x40000000; is the board on, and the cable in?"
    )
    board.plugged = True
    board.send(encode_write(ORIGIN, [5, 6])[:9])  # a half command is forgotten
    board.receive(1, 0.15)
    assert bus.read(ORIGIN, 2).tolist() == [0, 0]


def transfers(count: int, noise: LineNoise, *, seed: int) -> tuple[int, int]:
    """Read and write at random; return how many transfers were right and how many were an error."""
    board = board_with(noise, seed=seed)
    bus = UartBus(board)
    rng = np.random.default_rng(seed)
    memory = board.words.memory.view("<u4")
    model = memory.copy()
    right = errors = 0
    for _ in range(count):
        length = int(rng.choice([1, 2, 5, 16, 64, 100], p=[0.4, 0.2, 0.2, 0.1, 0.05, 0.05]))
        place = int(rng.integers(0, len(model) - length))
        try:
            if rng.random() < 0.5:
                # Small numbers, zeros among them: much is there already, and bytes look like commands.
                words = rng.integers(0, 5, length, dtype=np.uint32)
                bus.write(ORIGIN + 4 * place, words)
                model[place : place + length] = words
            else:
                np.testing.assert_array_equal(bus.read(ORIGIN + 4 * place, length), model[place : place + length])
            np.testing.assert_array_equal(memory, model)
            right += 1
        except LinkError:
            errors += 1
            model = memory.copy()  # whoever uses a bus writes everything anew after an error
    assert board.faults > count // 100
    return right, errors


NOISE = LineNoise(lost=2e-5, repeated=2e-5, flipped=1e-4)


def test_transfers_on_a_noisy_line_are_right_or_an_error() -> None:
    right, errors = transfers(400, NOISE, seed=1)
    assert right > 350
    assert right + errors == 400


@pytest.mark.long
@pytest.mark.parametrize("noise", [NOISE, LineNoise(flipped=1e-3), LineNoise(lost=5e-4), LineNoise(repeated=5e-4)])
def test_ten_thousand_transfers_on_a_noisy_line_are_right_or_an_error(noise: LineNoise) -> None:
    right, errors = transfers(10_000, noise, seed=2)
    assert errors > 10
    assert right > 5_000
