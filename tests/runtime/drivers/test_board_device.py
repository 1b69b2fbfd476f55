# amaranth: UnusedElaboratable=no
"""One device over every kind of port: the simulated RTL itself, both links of a board of LiteX, a Zynq."""

import itertools
import re
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isa.config import VTAConfig
from isa.instructions import Deps, Finish, Gemm, Instruction, Load, MemoryId
from isa.machine.hardware_config import HardwareConfig
from isa.origin import Origin
from isa.program import Program
from isa.text.assembler import assemble
from runtime.devices.device import DeadlockError, DeviceError, ExecutionError
from runtime.drivers.board_device import BoardDevice
from runtime.drivers.etherbone import EtherboneBus
from runtime.drivers.links import LinkError
from runtime.drivers.litex_board import LiteXPort
from runtime.drivers.ports import AcceleratorPort
from runtime.drivers.uart_bridge import UartBus
from runtime.drivers.zynq_board import ZynqPort
from tests.support.drivers.etherbone_board import EtherboneBoard, Noise
from tests.support.drivers.linux_devices import LinuxDevices, RegisterWindow
from tests.support.drivers.rtl_board import RtlPort, RtlWords, facts_of
from tests.support.drivers.uart_board import UartBoard
from tests.support.isa.random_programs import random_program
from tests.support.runtime.engine_comparison import run_reference
from tests.support.runtime.launching import encode_words, place_program, place_words

CONFIG = VTAConfig(log_block=2, log_uop_buff_size=11, log_inp_buff_size=12, log_wgt_buff_size=13, log_acc_buff_size=14)
HARDWARE = HardwareConfig()
NBYTES = 1 << 20
ARENA = 1 << 12
STUCK: Sequence[Instruction] = [
    Load(memory=MemoryId.INP, deps=Deps(pop_next=True)),
    Gemm(uop_end=1, deps=Deps(pop_prev=True)),
    Finish(),
]


def etherbone_port(noise: Noise | None = None) -> tuple[LiteXPort, EtherboneBoard, RtlWords]:
    words = RtlWords(CONFIG, HARDWARE, NBYTES)
    board = EtherboneBoard(words, noise)
    return LiteXPort(facts_of(CONFIG, HARDWARE, NBYTES), EtherboneBus(board)), board, words


def uart_port() -> LiteXPort:
    board = UartBoard(RtlWords(CONFIG, HARDWARE, NBYTES))
    return LiteXPort(facts_of(CONFIG, HARDWARE, NBYTES), UartBus(board))


def zynq_port() -> ZynqPort:
    with tempfile.TemporaryDirectory() as folder:
        linux = LinuxDevices(Path(folder), nbytes=NBYTES, base=0x1F40_0000)
        port = ZynqPort(uio=linux.uio, dma=linux.dma, facts=linux.facts)
        port.registers = RegisterWindow(CONFIG, HARDWARE, linux)  # type: ignore[assignment]  # the accelerator itself
    return port


PORTS: dict[str, Callable[[], AcceleratorPort]] = {
    "rtl": lambda: RtlPort(CONFIG, HARDWARE, NBYTES),
    "etherbone": lambda: etherbone_port()[0],
    "uart": uart_port,
    "zynq": zynq_port,
}


def device_of(port: AcceleratorPort, **options: Any) -> BoardDevice:
    return BoardDevice(CONFIG, port, hardware=HARDWARE, **options)


@pytest.fixture(params=PORTS)
def device(request: pytest.FixtureRequest) -> BoardDevice:
    return device_of(PORTS[request.param](), patience=0.2)


def adds(number: int) -> Program:
    """Return a program that relies on nothing in the scratchpads."""
    text = f"""
.data A type=int32 shape=40,4
    arange {-number}
.output C type=int8 shape=40,4
.uop
    dst=0 src=0
.text
    load.acc dram=A x=40
    load.uop dram=uops x=1
    alu.add uop=0:1 imm={number} iter=40,1 dst=1,0 src=1,0 push_next
    store dram=C x=40 pop_prev push_prev
    finish pop_next
"""
    return assemble(text, config=CONFIG)


def program(seed: int) -> Program:
    return random_program(np.random.default_rng(seed), CONFIG, length=12, arena_bytes=ARENA)


def runs_right(device: BoardDevice, given: Program) -> None:
    placed = place_program(device.memory, given)
    stats = device.launch(placed.address, placed.count)
    expected = run_reference(given)
    found = device.memory.address_space()[: len(expected.memory)]
    np.testing.assert_array_equal(found[4096:], expected.memory[4096:])
    assert stats.statistics.instructions.total == placed.count
    assert stats.statistics.cycles is not None
    assert stats.statistics.account is not None
    assert stats.statistics.account.total("compute") == stats.statistics.cycles


def run(device: BoardDevice, instructions: Sequence[Instruction], **options: Any) -> None:
    placed = place_words(device.memory, encode_words(instructions, CONFIG))
    device.launch(placed.address, placed.count, **options)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_program_leaves_in_memory_what_the_reference_does(device: BoardDevice, seed: int) -> None:
    runs_right(device, program(seed))


def test_a_deadlock_is_aborted_with_the_heads_and_the_device_goes_on(device: BoardDevice) -> None:
    with pytest.raises(DeadlockError) as caught:
        run(device, STUCK)
    assert str(caught.value) == (
        "deadlock: load: instruction 0 waits for a token compute->load; compute: instruction 1 waits for a token "
        "load->compute; store: nothing left"
    )
    run(device, [Finish()])
    assert device.stats.launches == 1


def test_a_device_looks_for_accesses_out_of_range_before_a_launch(device: BoardDevice) -> None:
    far = Load(memory=MemoryId.INP, dram_base=1 << 24, x_size=1, y_size=1, x_stride=1)
    with pytest.raises(ExecutionError, match=r"^instruction 1 \(from here\): .*out of") as caught:
        run(
            device,
            [Load(memory=MemoryId.INP), far, Finish()],
            origins=[None, Origin("here"), None],
        )
    assert caught.value.index == 1
    with pytest.raises(ExecutionError, match=r"^instruction 0: FINISH must be the last instruction"):
        run(device, [Finish(), Finish()])
    assert device.stats.instructions.total == 0


def test_only_what_differs_is_brought_to_the_board() -> None:
    port = RtlPort(CONFIG, HARDWARE, NBYTES)
    device = device_of(port)
    given = program(3)
    runs_right(device, given)
    first, port.written = port.written, 0
    code = device.memory.allocations[-1]
    device.launch(code.address, len(given.instructions))
    assert 0 < first <= device.memory.nbytes
    stored = device.memory.address_space().copy()
    assert port.written == 0
    device.memory.view(code.address + 4096 - 16, 1)[:] = 1  # behind the instructions: nothing reads it
    device.launch(code.address, len(given.instructions))
    assert port.written == 0
    np.testing.assert_array_equal(device.memory.address_space()[: code.address], stored[: code.address])


def test_an_error_of_the_hardware_is_told_with_its_place() -> None:
    port = RtlPort(CONFIG, HARDWARE, NBYTES)
    device = device_of(port)
    placed = place_words(device.memory, encode_words([Load(memory=MemoryId.INP), Finish()], CONFIG))
    port.before_status = lambda: None
    launch = port.launch

    def damaged(offset: int) -> None:
        port.board.there[placed.address + 16 : placed.address + 32] = 0xFF
        launch(offset)

    port.launch = damaged  # type: ignore[method-assign]
    with pytest.raises(DeviceError, match=r"^the board: the hardware stopped with error OPCODE at 1$"):
        device.launch(placed.address, placed.count)
    port.launch = launch  # type: ignore[method-assign]
    port.board.there[:] = 0
    device = device_of(port)
    runs_right(device, adds(4))


def test_a_reset_in_a_launch_is_an_error_and_the_device_goes_on() -> None:
    port = RtlPort(CONFIG, HARDWARE, NBYTES)
    device = device_of(port, patience=5)
    looks = itertools.count()
    port.before_status = lambda: port.strobe_register(0x4C) if next(looks) == 3 else None
    with pytest.raises(DeviceError, match=r"^the board: the accelerator was reset while a launch ran$"):
        run(device, STUCK)
    port.before_status = lambda: None
    fresh = device_of(port)
    runs_right(fresh, adds(5))


def test_hardware_that_never_ends_is_an_error_that_says_what_to_do() -> None:
    port = RtlPort(CONFIG, HARDWARE, NBYTES)
    device = device_of(port, patience=0.05)
    run(device, [Finish()])
    port.strobe_register = lambda _: None  # type: ignore[method-assign, assignment]
    with pytest.raises(DeviceError, match=r"^the board: memory does not end what a launch began; load the bitstream"):
        run(device, STUCK)
    with pytest.raises(DeviceError, match=r"^the board: the accelerator stays busy after a reset; load its bitstream"):
        run(device, [Finish()])


@pytest.mark.parametrize(
    ("config", "hardware", "what"),
    [
        (VTAConfig(), HARDWARE, "the configuration"),
        (CONFIG, HardwareConfig(read_beats=64), "the hardware configuration"),
    ],
)
def test_a_board_of_another_configuration_is_refused_naming_both(
    config: VTAConfig, hardware: HardwareConfig, what: str
) -> None:
    port = RtlPort(CONFIG, HARDWARE, NBYTES)
    with pytest.raises(DeviceError) as caught:
        BoardDevice(config, port, hardware=hardware)
    there, here = (CONFIG.digest, config.digest) if config != CONFIG else (HARDWARE.digest, hardware.digest)
    assert str(caught.value) == (
        f"the board: the board was built for {what} of digest {there}, and this is {here}; "
        "build it anew, or use its board.json"
    )


def test_what_is_no_accelerator_is_refused() -> None:
    port = RtlPort(CONFIG, HARDWARE, NBYTES)
    port.read_register = lambda _: 0xFFFF_FFFF  # type: ignore[method-assign, assignment]
    with pytest.raises(
        DeviceError, match=r"^the board: no accelerator with registers of version 2 is there \(it reads"
    ):
        device_of(port)


def test_what_a_board_cannot_tell_is_refused() -> None:
    device = device_of(RtlPort(CONFIG, HARDWARE, NBYTES))
    with pytest.raises(DeviceError, match=r"^a board does not tell of single instructions; trace on 'tsim'$"):
        device.set_trace(lambda _: None)
    with pytest.raises(DeviceError, match=r"^a board does not tell of single instructions; record on 'tsim'$"):
        device.set_timeline(lambda _: None)
    with pytest.raises(DeviceError, match=r"^a board has no debug mode \(SKIP_EXEC\); use 'sim' or 'tsim'$"):
        device.debug_mode(1)
    device.set_trace(None)
    device.debug_mode(0)
    assert device.set_timeline(None) is None


# ---- links that fail


def test_programs_are_right_over_a_noisy_cable_or_an_error_says_so() -> None:
    port, board, _ = etherbone_port(Noise(lost=0.02, repeated=0.01, flipped=0.02))
    device = device_of(port)
    said = set()
    for seed in range(12):
        given = adds(seed)
        device.memory = type(device.memory)(device.memory.limit)
        for _ in range(10):
            try:
                runs_right(device, given)
            except LinkError as error:
                said.add(re.sub(r"\d+", "N", str(error)))
                device.memory = type(device.memory)(device.memory.limit)
            else:
                break
        else:
            raise AssertionError("ten launches in a row failed")
    assert said <= {
        "the board: a launch was begun N times, since its packet came more than once; what it stored may be wrong"
    }
    assert board.flips > 10
    assert board.undetected == 0


def test_a_cable_that_comes_out_is_an_error_and_the_device_goes_on_when_it_is_back() -> None:
    port, board, words = etherbone_port()
    device = device_of(port)
    run(device, [Finish()])
    for frames in (1, 5, 20, 60):
        board.unplugged_after = board.frames + frames
        given = adds(frames)
        device.memory = type(device.memory)(device.memory.limit)
        placed = place_program(device.memory, given)
        with pytest.raises(LinkError, match=r"^the board: no answer to 12 requests for \d+ words at 0x"):
            device.launch(placed.address, placed.count)
        board.plugged, board.unplugged_after = True, None
        words.memory[:] = 0xEE  # somebody switched it off and on
        device.memory = type(device.memory)(device.memory.limit)
        runs_right(device, given)


def test_a_launch_whose_packet_came_twice_is_an_error() -> None:
    port, board, _ = etherbone_port()
    send = board.send

    def twice(packet: bytes) -> None:
        send(packet)
        if packet[12:16] == (0x3000_0000).to_bytes(4, "big"):
            send(packet)

    device = device_of(port)
    board.send = twice  # type: ignore[method-assign]
    with pytest.raises(
        LinkError, match=r"^the board: a launch was begun 2 times, since its packet came more than once"
    ):
        run(device, [Finish()])


def test_a_launch_whose_packet_never_comes_is_an_error() -> None:
    port, board, _ = etherbone_port()
    send = board.send
    device = device_of(port)
    board.send = lambda packet: send(packet) if packet[12:16] != b"\x30\0\0\0" else None  # type: ignore[method-assign]
    with pytest.raises(LinkError, match=r"^the board: 8 requests to begin a launch did not arrive$"):
        run(device, [Finish()])
