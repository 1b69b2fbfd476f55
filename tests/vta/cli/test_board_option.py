"""``--board FOLDER``: what runs on a simulator runs on a board, reached over real sockets, a serial port, or mapped."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from isa.config import VTAConfig
from isa.machine.hardware_config import HardwareConfig
from isa.program_file import save_program
from isa.text.assembler import assemble
from runtime.devices.functional import FunctionalSimulator
from runtime.drivers import opening, zynq_board
from runtime.drivers.litex_board import LiteXPort
from runtime.memory.device_memory import DeviceMemory
from tests.support.drivers.linux_devices import LinuxDevices, RegisterWindow
from tests.support.drivers.rtl_board import RtlWords
from tests.support.drivers.served import UdpBoard, over_pty, udp_board, write_board
from tests.support.drivers.uart_board import UartBoard
from tests.support.relay.quantised_models import small_model
from vta.cli.app import app

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
NETWORK = EXAMPLES / "networks" / "fashion_mnist.int8.onnx"
CONFIG = VTAConfig(log_block=2, log_uop_buff_size=11, log_inp_buff_size=12, log_wgt_buff_size=13, log_acc_buff_size=14)
HARDWARE = HardwareConfig()
NBYTES = 1 << 22
PROGRAM = """
.data A type=int32 shape=8,4
    arange -16
.output C type=int8 shape=8,4
.uop
    dst=0 src=0
.text
    load.acc dram=A x=8
    load.uop dram=uops x=1
    alu.add uop=0:1 imm=3 iter=8,1 dst=1,0 src=1,0 push_next
    store dram=C x=8 pop_prev push_prev
    finish pop_next
"""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[UdpBoard]:
    with udp_board(tmp_path_factory.mktemp("boards") / "etherbone", CONFIG, HARDWARE, NBYTES) as found:
        yield found


@pytest.fixture(params=["etherbone", "uart", "zynq"])
def link(
    request: pytest.FixtureRequest, running: UdpBoard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[str | Path, ...]]:
    """The options that name a board, for each kind."""
    if request.param == "etherbone":
        yield "--board", running.folder
    elif request.param == "uart":
        with over_pty(UartBoard(RtlWords(CONFIG, HARDWARE, NBYTES))) as path:
            yield "--board", write_board(tmp_path / "uart", CONFIG, HARDWARE, NBYTES, links=["uart"]), "--serial", path
    else:
        linux = LinuxDevices(tmp_path, nbytes=NBYTES, base=0x1F40_0000)
        folder = tmp_path / "zynq"
        folder.mkdir()
        board = {"board": "pynq-z1", "mhz": 100.0, "vta": CONFIG.to_dict(), "hardware": {}, "registers": 0x43C0_0000}
        (folder / "board.json").write_text(json.dumps(board))

        class Port(zynq_board.ZynqPort):
            def __init__(self, **places: Path) -> None:
                super().__init__(**places)
                self.registers = RegisterWindow(CONFIG, HARDWARE, linux)  # type: ignore[assignment]  # simulated

        monkeypatch.setattr(zynq_board, "ZynqPort", Port)
        places = {"uio": str(linux.uio), "dma": str(linux.dma), "facts": str(linux.facts)}
        monkeypatch.setattr(opening, "open_zynq", partial(zynq_board.open_zynq, **places))
        yield "--board", folder


def vta(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def sentence(result: Result) -> str:
    """Return the one line of an error, which is no traceback."""
    assert result.exit_code == 1, result.output
    assert isinstance(result.exception, SystemExit)
    [line] = result.stderr.splitlines()
    return line.removeprefix("error: ")


def usage(result: Result) -> str:
    """Return what typer says of a wrong call, without its frame."""
    assert result.exit_code == 2, result.output
    return " ".join(re.sub(r"[│╭╰─╮╯]", " ", result.stderr).split())


def program_file(folder: Path, text: str = PROGRAM) -> Path:
    file = folder / "program.vta"
    file.write_text(text)
    return file


def test_a_program_gives_what_a_simulator_gives(link: tuple[str, ...], tmp_path: Path) -> None:
    small = tmp_path / "small.json"
    small.write_text(json.dumps(CONFIG.to_dict()))
    here = vta("run", program_file(tmp_path), "--config", small)
    there = vta("run", program_file(tmp_path), *link)
    assert (there.exit_code, there.stdout) == (0, here.stdout)
    numbers = [int(word) for word in re.findall(r"-?\d+", there.stdout.split("\n", 1)[1])]
    assert numbers == list(range(-13, 19))


def test_a_script_runs_there_with_cycles_and_causes(link: tuple[str, ...]) -> None:
    result = vta("run", EXAMPLES / "vector_add.py", *link, "--stats")
    assert result.exit_code == 0, result.output
    assert "vector add: equal to numpy" in result.stdout
    assert re.search(r"│ cycle_count +│ +\d+ │", result.stdout)
    assert "cycles by module and cause" in result.stdout
    assert not (result.stderr)


def test_a_script_that_imports_tvm_runs_there_too(running: UdpBoard, tmp_path: Path) -> None:
    script = tmp_path / "s.py"
    script.write_text(
        "import numpy, tvm, vta\nfrom vta.testing import simulator\nenv = vta.get_env()\n"
        "remote = tvm.rpc.LocalSession()\n"
        "a = tvm.nd.array(numpy.arange(4, dtype='int32'), remote.ext_dev(0))\n"
        "print(env.TARGET, env.MODEL, a.numpy().tolist(), sorted(simulator.stats())[1], remote.session.device.name)\n"
    )
    result = vta("run", script, "--board", running.folder)
    assert result.exit_code == 0, result.output
    assert result.stdout == "tsim tsim_1x4_i8w8a32_11_12_13_14 [0, 1, 2, 3] alu_counter board\n"


def test_a_network_gives_the_same_numbers_and_each_nodes_cycles(running: UdpBoard, tmp_path: Path) -> None:
    small, image = tmp_path / "small.json", tmp_path / "image.npy"
    small.write_text(json.dumps(CONFIG.to_dict()))
    np.save(image, np.random.default_rng(1).random((1, 1, 28, 28), np.float32))
    given = ("run", NETWORK, "--input", image)
    here = vta(*given, "--config", small, "--save", tmp_path / "here.npz")
    there = vta(*given, "--board", running.folder, "--save", tmp_path / "there.npz", "--stats")
    assert here.exit_code == there.exit_code == 0, there.output
    with np.load(tmp_path / "here.npz") as mine, np.load(tmp_path / "there.npz") as theirs:
        np.testing.assert_array_equal(mine["logits"], theirs["logits"])
    assert re.search(r"│ stem +│ accelerator │ +[\d.]+ │ +[\d,]+ │", there.stdout)


def test_a_network_is_compiled_for_a_board_that_is_not_there(running: UdpBoard, tmp_path: Path) -> None:
    folder = write_board(tmp_path / "off", CONFIG, HARDWARE, NBYTES, port=9)
    made = vta("compile", NETWORK, "--board", folder, "-o", tmp_path / "n.vtam")
    assert made.exit_code == 0, made.output
    assert vta("run", tmp_path / "n.vtam", "--board", running.folder).exit_code == 0
    made = vta("compile", NETWORK, "-o", tmp_path / "other.vtam")
    assert made.exit_code == 0
    assert sentence(vta("run", tmp_path / "other.vtam", "--board", running.folder)) == (
        f"the network is for {VTAConfig().bitstream} (digest {VTAConfig().digest}), and device 'board' is "
        f"{CONFIG.bitstream} (digest {CONFIG.digest}); build it for this configuration"
    )


def test_explain_counts_on_the_board(running: UdpBoard, tmp_path: Path) -> None:
    result = vta("explain", NETWORK, "--board", running.folder)
    assert result.exit_code == 0, result.output
    assert re.search(r"^[\d,]+ cycles, [\d.]+ % of the peak$", result.stdout, re.MULTILINE)
    (tmp_path / "t.trace").write_bytes(b"")
    assert "--board is for networks" in usage(vta("explain", tmp_path / "t.trace", "--board", running.folder))


def test_diff_compares_every_node_on_the_board_with_the_integer_graph(running: UdpBoard, tmp_path: Path) -> None:
    file = small_model(tmp_path / "small.onnx")
    alone = vta("diff", file, "--board", running.folder)
    assert alone.exit_code == 0, alone.output
    first, second = alone.stdout.splitlines()
    assert re.fullmatch(r"board: \d+ nodes have the bits of the integer graph", first)
    assert second.startswith("onnxruntime ")
    both = json.loads(vta("diff", file, "--board", running.folder, "--engines", "reference,sim", "--json").stdout)
    assert [(each["what"], each["same"]) for each in both["comparisons"]] == [
        ("sim", True), ("board", True), ("onnxruntime", True),
    ]  # fmt: skip


def test_a_board_that_computes_something_else_is_a_difference(
    running: UdpBoard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = LiteXPort.read_memory

    def wrong(port: LiteXPort, offset: int, nbytes: int) -> bytes:
        return bytes(byte ^ 1 for byte in read(port, offset, nbytes))

    monkeypatch.setattr(LiteXPort, "read_memory", wrong)
    result = vta("diff", small_model(tmp_path / "small.onnx"), "--board", running.folder)
    assert result.exit_code == 1
    assert re.search(r"^board: .*\(the first\)$", result.stdout, re.MULTILINE)


def test_what_is_compared_step_by_step_is_not_compared_on_a_board(tmp_path: Path) -> None:
    said = usage(vta("diff", program_file(tmp_path), "--board", "f"))
    assert said.endswith("--board f is for networks: a board's scratchpads cannot be seen after each instruction")


def test_an_inference_session_of_a_script_is_on_the_board(running: UdpBoard, tmp_path: Path) -> None:
    script = tmp_path / "s.py"
    script.write_text(
        f"import vta\nprint(vta.InferenceSession({str(NETWORK)!r}).device.device.name)\n"
        f"print(vta.InferenceSession({str(NETWORK)!r}, target='sim').device.device.name)\n"
    )
    assert vta("run", script, "--board", running.folder).stdout == "board\nsim\n"


def test_what_the_device_did_is_told_as_json(running: UdpBoard, tmp_path: Path) -> None:
    found = json.loads(vta("run", program_file(tmp_path), "--board", running.folder, "--json").stdout)
    assert (found["device"], found["config"]) == ("board", CONFIG.bitstream)
    assert found["statistics"]["cycle_count"] == sum(found["account"]["compute"].values())
    script = json.loads(vta("run", EXAMPLES / "vector_add.py", "--board", running.folder, "--json").stdout)
    assert (script["device"], script["config"]) == ("board", CONFIG.bitstream)


def test_instructions_are_listed_and_checked_as_anywhere(running: UdpBoard) -> None:
    result = vta("run", EXAMPLES / "vector_add.py", "--board", running.folder, "--trace", "-", "--sanitize")
    assert result.exit_code == 0, result.output
    assert re.search(r"load\.acc .*; A_buf \(vector_add\.py:\d+\)", result.stdout)
    assert "1 launch sanitized, no errors" in result.output


def test_a_scripts_environment_of_another_configuration_is_refused_naming_both(
    running: UdpBoard, tmp_path: Path
) -> None:
    script = tmp_path / "s.py"
    script.write_text("import vta\nenv = vta.Environment('b1k8')\nwith env:\n    vta.nd.ext_dev(0)\n")
    other = re.escape("1x8_i8w8a32_15_14_16_16")
    assert re.fullmatch(
        rf"{script}:4: the environment is for {other} \(digest [0-9a-f]{{16}}\), and device 'board' is "
        rf"{CONFIG.bitstream} \(digest {CONFIG.digest}\); build it for this configuration",
        sentence(vta("run", script, "--board", running.folder)),
    )
    script.write_text(
        "import vta\nenv = vta.get_env()\n"
        "print(vta.rpc.LocalSession(vta.Environment(env.config)).session.device.name)\n"
        "vta.Environment(env.config, hardware={'data_width': 128}).session\n"
    )
    result = vta("run", script, "--board", running.folder)
    assert result.stdout == "board\n"
    assert sentence(result) == (
        f"{script}:4: the environment says what hardware to simulate, and runs on device 'board', which is what it "
        "is; leave hardware= out"
    )


def test_a_configuration_that_is_not_the_boards_is_refused_naming_both(
    running: UdpBoard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, board = program_file(tmp_path), ("--board", running.folder)
    script = EXAMPLES / "vector_add.py"
    same = tmp_path / "same.json"
    same.write_text(json.dumps(replace(CONFIG, target="pynq").to_dict()))
    assert vta("run", file, *board, "--config", same).exit_code == 0
    assert vta("run", script, *board, "--set", "LOG_BLOCK=2").exit_code == 0
    other = r"1x\d+_i8w8a32_\d+_\d+_\d+_\d+ \(digest [0-9a-f]{16}\)"
    for option, said in ((("--config", "b1k8"), "--config"), (("--set", "LOG_WGT_BUFF_SIZE=12"), "--set")):
        for what in (script, NETWORK):
            assert re.fullmatch(
                rf"{running.folder}: the board was built for {CONFIG.bitstream} \(digest {CONFIG.digest}\), "
                rf"and {said} asks for {other}; use the board's own, or build the board for it",
                sentence(vta("run", what, *board, *option)),
            )
    monkeypatch.setenv("VTA_CONFIG", "b1k8")  # a default, as --config is none
    assert vta("run", script, *board).exit_code == 0


def test_a_program_of_another_configuration_is_refused_naming_both(running: UdpBoard, tmp_path: Path) -> None:
    board = ("--board", running.folder)
    text = program_file(tmp_path, ".config LOG_BLOCK=4\n.text\n finish\n")
    assert sentence(vta("run", text, *board)) == (
        f"{text}:1: the text is for {VTAConfig().bitstream}, not for {CONFIG.bitstream}"
    )
    binary = tmp_path / "program.vtab"
    save_program(assemble(".text\n finish\n"), binary)
    assert sentence(vta("run", binary, *board)) == (
        f"{binary}: the program is for {VTAConfig().bitstream}, not for {CONFIG.bitstream}; leave --board out (the "
        "program carries its own), or assemble it again"
    )


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--record", "r.trace"), "--record"),
        (("--vcd", "v.vcd"), "--vcd"),
        (("--capsule", "c.capsule"), "--capsule"),
        (("--latency", "3"), "memory_latency (of --set, --hardware or its short forms)"),
        (("--data-width", "128"), "data_width (of --set, --hardware or its short forms)"),
        (("--set", "stall_seed=3"), "stall_seed (of --set, --hardware or its short forms)"),
    ],
)
@pytest.mark.parametrize("file", [EXAMPLES / "vector_add.py", NETWORK, "program.vta"])
def test_what_needs_a_simulator_is_refused(
    options: tuple[str, ...], named: str, file: Path | str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    program_file(tmp_path)
    said = usage(vta("run", file, "--board", "f", *options))
    assert said.endswith(f"{named} needs a simulator, and --board f is hardware; leave it out, or use --target")
    assert not (tmp_path / options[1]).exists()


def test_two_devices_are_refused(tmp_path: Path) -> None:
    file = program_file(tmp_path)
    assert "--target sim and --board f are two devices; leave one out" in usage(
        vta("run", file, "--board", "f", "--target", "sim")
    )
    assert "--board" in usage(vta("run", file, "--board", "f", "--remote", "127.0.0.1:1"))
    assert "--serial says how to reach a board, and there is no --board FOLDER" in usage(
        vta("run", file, "--serial", "/dev/ttyUSB0")
    )


@pytest.mark.parametrize("command", [("run", "FILE"), ("run", str(NETWORK)), ("compile", str(NETWORK))])
def test_a_folder_that_is_no_boards_is_one_sentence(command: tuple[str, ...], tmp_path: Path) -> None:
    words = [str(EXAMPLES / "vector_add.py") if word == "FILE" else word for word in command]
    absent = "No such file or directory"
    for folder, why in ((tmp_path / "none", absent), (NETWORK, "Not a directory"), (tmp_path, absent)):
        assert sentence(vta(*words, "--board", folder)) == (
            f"{folder}/board.json: expected the folder of a board that 'vta fpga build' wrote ({why})"
        )
    (tmp_path / "board.json").write_text("{")
    assert sentence(vta(*words, "--board", tmp_path)).endswith("; build the board again")


def test_a_build_that_was_broken_off_is_one_sentence(tmp_path: Path) -> None:
    folder = write_board(tmp_path / "half", CONFIG, HARDWARE, NBYTES)
    (folder / "csr.json").unlink()
    assert sentence(vta("run", EXAMPLES / "vector_add.py", "--board", folder)) == (
        f"{folder}/csr.json: expected the folder of a board that 'vta fpga build' wrote (No such file or directory)"
    )


def test_a_board_that_does_not_answer_is_one_sentence(running: UdpBoard, tmp_path: Path) -> None:
    running.board.plugged = False
    try:
        said = sentence(vta("run", EXAMPLES / "vector_add.py", "--board", running.folder))
        assert re.fullmatch(r"the board at 127\.0\.0\.2:\d+: no answer to 12 requests .*; is the board on, and the "
                            r"cable in\?", said)  # fmt: skip
    finally:
        running.board.plugged = True
    missing = tmp_path / "ttyUSB0"
    assert (
        sentence(vta("run", EXAMPLES / "vector_add.py", "--board", running.folder, "--serial", missing))
        == f"the board at {missing}: it cannot be opened (No such file or directory)"
    )


def test_another_board_than_the_folders_is_one_sentence_naming_both(running: UdpBoard, tmp_path: Path) -> None:
    facts = json.loads((running.folder / "board.json").read_text())
    other = write_board(tmp_path / "other", VTAConfig(), HARDWARE, NBYTES, port=facts["udp_port"])
    said = sentence(vta("run", EXAMPLES / "vector_add.py", "--board", other))
    assert CONFIG.digest in said
    assert VTAConfig().digest in said


def test_a_link_that_is_lost_in_the_middle_is_one_sentence_with_the_line(running: UdpBoard, tmp_path: Path) -> None:
    script = tmp_path / "s.py"
    script.write_text((EXAMPLES / "vector_add.py").read_text())
    board = running.board
    board.frames, board.unplugged_after = 0, None
    assert vta("run", script, "--board", running.folder).exit_code == 0
    whole = board.frames
    try:
        for part in (0.5, 0.9):
            board.frames, board.unplugged_after = 0, int(part * whole)
            result = vta("run", script, "--board", running.folder)
            board.plugged, board.unplugged_after = True, None
            assert sentence(result).endswith("; is the board on, and the cable in?")
        assert re.match(rf"{script}:\d+: the board at 127", sentence(result))  # when a launch was on its way
    finally:
        board.plugged, board.unplugged_after = True, None
    assert vta("run", script, "--board", running.folder).exit_code == 0  # another process would find the same


def test_a_launch_that_is_stuck_ends_with_who_waits_and_packs_nothing(running: UdpBoard, tmp_path: Path) -> None:
    file = program_file(tmp_path, PROGRAM.replace("load.acc dram=A x=8\n", "load.acc dram=A x=8 pop_prev\n"))
    result = vta("run", file, "--board", running.folder, "--no-check")
    assert "deadlock: " in sentence(result)
    assert "capsule" not in result.output
    assert vta("run", program_file(tmp_path), "--board", running.folder).exit_code == 0


def test_a_simulator_and_a_board_count_the_same_work(running: UdpBoard, tmp_path: Path) -> None:
    found = json.loads(vta("run", program_file(tmp_path), "--board", running.folder, "--json").stdout)["statistics"]
    device = FunctionalSimulator(CONFIG, DeviceMemory())
    assert set(found) - set(device.stats.as_dict()) == {"cycle_count"}
    small = tmp_path / "small.json"
    small.write_text(json.dumps(CONFIG.to_dict()))
    here = json.loads(vta("run", program_file(tmp_path), "--config", small, "--json").stdout)["statistics"]
    assert {name: found[name] for name in here} == here


def test_a_zynqs_folder_on_another_computer_is_one_sentence(tmp_path: Path) -> None:
    board = {"board": "pynq-z1", "mhz": 100.0, "vta": CONFIG.to_dict(), "hardware": {}, "registers": 0x43C0_0000}
    (tmp_path / "board.json").write_text(json.dumps(board))
    assert sentence(vta("run", EXAMPLES / "vector_add.py", "--board", tmp_path)) == (
        "/sys/class/u-dma-buf/udmabuf-vta/phys_addr: expected a number of u-dma-buf (No such file or directory); load "
        "the module and the overlay vta.dtso, on the board's own Linux"
    )
