"""The C runtime's own functions: what it checks before it loads, and how launches end. The accelerator is simulated."""

import ctypes
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import runtime
from isa.config import VTAConfig
from isa.encoding import encode
from isa.instructions import Finish
from isa.machine.error_codes import ErrorCode
from isa.machine.hardware_config import HardwareConfig
from isa.machine.register_map import VERSION, control_registers
from tests.support.hw.c_board import Image, built, missing_compiler
from tests.support.hw.functional_board import FunctionalBoard

pytestmark = pytest.mark.skipif(bool(missing_compiler()), reason=missing_compiler())

FOLDER = Path(runtime.__path__[0]) / "c"
CONFIG = VTAConfig()
BYTES = 8192

OK, NO_ACCELERATOR, OTHER, MISALIGNED, SMALL, NOT_LOADED, TIMEOUT, STUCK, FAILED = range(9)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    files = {name: (FOLDER / name).read_text() for name in ("vta_runtime.h", "vta_runtime.c")}
    made = built(files, tmp_path_factory.mktemp("runtime"))
    made.vta_status_text.restype = ctypes.c_char_p
    return made


@dataclass
class Rig:
    """A board, an image of one program, and the runtime."""

    library: ctypes.CDLL
    board: FunctionalBoard
    data: np.ndarray[Any, Any]
    image: Image

    def load(self) -> int:
        return int(self.library.vta_load(ctypes.byref(self.board.board), ctypes.byref(self.image)))

    def launch(self, offset: int = 64, count: int = 1) -> int:
        return int(
            self.library.vta_launch(
                ctypes.byref(self.board.board), ctypes.byref(self.image), ctypes.c_size_t(offset), count
            )
        )


def rig_of(library: ctypes.CDLL, *, skew: int = 0) -> Rig:
    data = np.zeros(128, np.uint8)
    data[64:80] = np.frombuffer(encode(Finish(), CONFIG).to_bytes(16, "little"), np.uint8)
    image = Image(data.ctypes.data, data.size, BYTES, 4096, int(CONFIG.digest, 16))
    return Rig(library, FunctionalBoard(CONFIG, BYTES, skew=skew), data, image)


@pytest.fixture
def rig(library: ctypes.CDLL) -> Rig:
    return rig_of(library)


def test_offsets_and_version_are_those_of_the_register_map() -> None:
    text = (FOLDER / "vta_runtime.c").read_text()
    offsets = {name.lower(): int(number, 16) for name, number in re.findall(r"REG_(\w+) = (0x\w+)", text)}
    registers = {entry.name: entry.offset for entry in control_registers(CONFIG, HardwareConfig())}
    assert offsets == {name: registers[name] for name in offsets}
    assert len(offsets) == 16
    assert f"#define MAP_VERSION {VERSION}u" in text


def test_a_program_runs_and_its_cycles_are_counted(rig: Rig) -> None:
    assert rig.load() == OK
    assert [rig.launch(), rig.launch()] == [OK, OK]
    board = rig.board.board
    assert (board.cycles, board.total_cycles, board.error) == (1, 2, 0)
    at = rig.board.at
    for name in ("uop_base", "inp_base", "wgt_base", "acc_base", "out_base"):
        assert rig.board.values[at[name]] == board.address


def test_what_does_not_fit_is_refused_before_anything_is_written(library: ctypes.CDLL) -> None:
    def refused(change: Any, *, skew: int = 0) -> int:
        rig = rig_of(library, skew=skew)
        before = rig.board.session.memory.view(rig.board.board.address, 128).copy()
        change(rig)
        status = rig.load()
        np.testing.assert_array_equal(rig.board.session.memory.view(rig.board.board.address, 128), before)
        assert rig.launch() == NOT_LOADED
        return status

    def version(rig: Rig) -> None:
        rig.board.values[rig.board.at["version"]] = 1

    def digest(rig: Rig) -> None:
        rig.image.digest ^= 1 << 40

    def size(rig: Rig) -> None:
        rig.image.memory_bytes = BYTES + 1

    assert refused(version) == NO_ACCELERATOR
    assert refused(digest) == OTHER
    assert refused(size) == SMALL
    assert refused(lambda _: None, skew=64) == MISALIGNED


def test_another_image_in_memory_is_not_run(rig: Rig) -> None:
    other = rig_of(rig.library)
    assert rig.load() == OK
    other.board = rig.board
    assert other.launch() == NOT_LOADED
    assert other.load() == OK
    assert (other.launch(), rig.launch()) == (OK, NOT_LOADED)


def test_a_launch_that_takes_too_long_is_given_up_and_the_next_one_runs(rig: Rig) -> None:
    assert rig.load() == OK
    rig.board.board.polls = 3
    rig.board.statuses = [1, 1, 1, 1, 1, 0]  # busy at three looks, and for a while after the abort
    assert rig.launch() == TIMEOUT
    assert (rig.board.at["abort"], 1) in rig.board.written
    assert not rig.board.statuses
    assert rig.launch() == OK


def test_an_accelerator_that_never_becomes_idle_is_stuck(rig: Rig) -> None:
    class Always(list[int]):
        """A status that stays busy."""

        def pop(self, _: Any = 0) -> int:
            return 1

    assert rig.load() == OK
    rig.board.board.polls = 2
    rig.board.statuses = Always([1])
    assert rig.launch() == STUCK


def test_errors_of_the_accelerator_are_told_with_their_place(rig: Rig) -> None:
    assert rig.load() == OK
    code = int(ErrorCode.OPCODE)
    rig.board.statuses = [4 | code << 8] * 2
    rig.board.values[rig.board.at["error_place"]] = 7
    assert rig.launch() == FAILED
    assert (rig.board.board.error, rig.board.board.place) == (code, 7)
    assert rig.launch() == OK


def test_every_status_has_a_sentence(library: ctypes.CDLL) -> None:
    texts = [library.vta_status_text(status).decode() for status in range(-1, 10)]
    assert texts[0] == texts[-1] == "no status of this runtime"
    assert len(set(texts)) == 10
    assert texts[1 + OTHER] == "the accelerator has another configuration than the image was made for"
