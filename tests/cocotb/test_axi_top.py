# amaranth: UnusedElaboratable=no
"""Compiled programs on the whole accelerator behind its AXI ports.

That a program means what its schedule says is asserted against numpy here and in ``tests/integration``.
"""

import re
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

import vta
from hw.top import Top
from hw.verilog import to_verilog
from isa.config import VTAConfig
from isa.machine.hardware_config import HardwareConfig
from isa.program_file import save_program
from isa.text.assembler import assemble
from tests.support.benches.cocotb_programs import compiled_program
from tests.support.benches.cocotb_run import Build, build, run
from tests.support.golden.conv_cases import convolution_tutorial, packed_convolution
from tests.support.golden.spine_cases import blocked_matrix_multiply, matrix_multiply, vector_add
from vta.topi.conv.conv2d import ConvTiles

BLOCK4 = VTAConfig(log_block=2, log_uop_buff_size=9, log_inp_buff_size=9, log_wgt_buff_size=10, log_acc_buff_size=11)

BENCH = "tests.cocotb.bench_axi_top"

CONVOLUTION = {"height": 5, "in_filter": 8, "out_filter": 8, "hkernel": 3, "hpad": 1, "hstride": 1}
TILES = ConvTiles(tile_co=2, tile_h=5, tile_w=5)


def padded_convolution(data: np.ndarray, kernel: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """Return the convolution of ``packed_convolution`` with one pixel of padding, in numpy."""
    padded = np.pad(data.astype(np.int64), ((0, 0), (0, 0), (1, 1), (1, 1), (0, 0), (0, 0)))
    height, width = data.shape[2:4]
    total = sum(
        np.einsum(
            "bkyxni,ckoi->bcyxno",
            padded[:, :, dy : dy + height, dx : dx + width],
            kernel[:, :, dy, dx].astype(np.int64),
        )
        for dy in range(3)
        for dx in range(3)
    )
    result: np.ndarray = np.clip((total >> 8) + bias, 0, 127).astype(np.int8)
    return result


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """The accelerator at block 4 behind its AXI ports."""
    hardware = HardwareConfig()
    given = {"vta": BLOCK4.to_dict(), "hardware": asdict(hardware)}
    verilog = to_verilog(BLOCK4, hardware, shell="axi")
    folder = tmp_path_factory.mktemp("axi")
    return build(Top(BLOCK4, hardware), top="vta", folder=folder, verilog=verilog, given=given)


def product_of_tiles(folder: Path) -> Path:
    """Write the program of 1 by 16 times 16 by 16 tiles."""
    program, (x, w), c = compiled_program(matrix_multiply(vta.Environment(BLOCK4)), BLOCK4, seed=1)
    total = np.einsum("okbi,mkci->ombc", x.astype(np.int32), w.astype(np.int32))
    np.testing.assert_array_equal(c, total.astype(np.int8))
    file = folder / "matrix_multiply.vtaprog"
    save_program(program, file)
    return file


def test_matrix_multiply_and_a_padded_convolution_run_behind_axi(small: Build, tmp_path: Path) -> None:
    env = vta.Environment(BLOCK4)
    convolution, tensors, result = compiled_program(packed_convolution(env, CONVOLUTION, TILES), BLOCK4, seed=2)
    np.testing.assert_array_equal(result, padded_convolution(*tensors))
    file = tmp_path / "convolution.vtaprog"
    save_program(convolution, file)
    run(small, BENCH, programs=[str(product_of_tiles(tmp_path)), str(file)], stall=0.2)


def test_br_042_a_long_run_says_how_far_and_how_fast_it_is(small: Build, tmp_path: Path) -> None:
    tests = "programs_give_what_the_reference_gives"
    run(small, BENCH, tests=tests, programs=[str(product_of_tiles(tmp_path))], stall=0.0, progress=100)
    log = (small.folder / "run.log").read_text(encoding="utf-8")
    seen = [int(found) for found in re.findall(r"(\d+) cycles of this launch, \d+ cycles a second", log)]
    assert len(seen) > 2
    assert seen == [100 * (index + 1) for index in range(len(seen))]


@pytest.mark.long
def test_the_tutorials_run_behind_axi_in_the_default_configuration(tmp_path: Path) -> None:
    vta_config = VTAConfig()
    env = vta.Environment(vta_config)
    hardware = HardwareConfig()
    tutorials = (vector_add, matrix_multiply, blocked_matrix_multiply, convolution_tutorial)
    files = []
    for seed, schedule in enumerate(tutorials, start=1):
        program, _, _ = compiled_program(schedule(env), vta_config, seed=seed)
        files.append(str(tmp_path / f"{schedule.__name__}.vtaprog"))
        save_program(program, files[-1])
    verilog = to_verilog(vta_config, hardware, shell="axi")
    built = build(Top(vta_config, hardware), top="vta", folder=tmp_path, verilog=verilog, simulator="verilator")
    run(
        built,
        BENCH,
        vta=vta_config.to_dict(),
        hardware=asdict(hardware),
        programs=files,
        stall=0.05,
        limit=3_000_000,
    )


READ_BY_ALL = """
.data X type=int8 shape=8,4
    arange -16
.data W type=int8 shape=2,4,4
    arange -16
.data A type=int32 shape=8,4
    arange 100
.output C type=int8 shape=8,4
.uop
    dst=0 src=0 wgt=0
    dst=0 src=0 wgt=1
    dst=0 src=0
    dst=0 src=0
.text
    load.inp dram=X x=8
    load.wgt dram=W x=2 push_next
    load.uop dram=uops x=4
    load.acc dram=A x=8
    gemm uop=0:2 iter=8,1 dst=1,0 src=1,0 pop_prev
    alu.add uop=2:3 imm=3 iter=8,1 dst=1,0 src=1,0 push_next
    store dram=C x=4 pop_prev
    store dram=C+4 sram=4 x=4 push_prev
    finish pop_next
"""
"""Reads memory for every reader, and writes twice."""


def test_errors_of_memory_are_told_with_who_asked_and_the_next_launch_is_right(small: Build, tmp_path: Path) -> None:
    program = assemble(READ_BY_ALL, config=BLOCK4)
    file = tmp_path / "program.vtaprog"
    save_program(program, file)
    at = {segment.name: (segment.address, segment.address + segment.nbytes) for segment in program.memory.segments}
    uops = (program.uop_base, program.uop_base + 4 * len(program.uops))
    [output] = program.memory.outputs
    parts = [(0, (1 << 26, 1 << 27)), (1, uops), (2, at["A"]), (3, at["X"]), (3, at["W"])]
    regions = [[place, *ends] for place, ends in parts]
    regions.append([4, output.address, output.address + 32])
    run(small, "tests.cocotb.bench_axi_errors", programs=[str(file)], regions=regions, stall=0.3)
