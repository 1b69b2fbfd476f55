"""How fast the functional simulator is, beside numpy and onnxruntime in the same run.

    python -m bench.functional

One thread. Prints medians of the processor time of rounds in which all contestants take turns, so that a busy
machine hits all of them: a launch of a 512 cubed matrix multiply (the schedule of ``benchmark_gemm``) on every code
path that the host has, a launch of the blocked matrix multiply tutorial (1x1024 times 1024x1024, the recorded
stream), an empty launch, and how long the kernels take to compile. Needs the ``bench`` extra; what is not installed
is left out, by name.
"""

import importlib.util
import os
import platform
import sys
import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import numpy.typing as npt

from bench.gemm_stream import GemmStream
from isa.config import VTAConfig
from isa.encoding import encode_uop
from isa.instructions import Finish
from runtime.devices.functional import FunctionalSimulator
from runtime.memory.device_memory import DeviceMemory
from runtime.sim.build import compile_kernels
from runtime.sim.code_path import CodePath, host_code_paths
from tests.support.golden.golden import load_case
from tests.support.runtime.launching import encode_words, place_array, place_words

SIZE = 512
BLOCK = 128
ROUNDS = 40
SEED = 0
_ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
_UNSET = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")

Numbers = npt.NDArray[Any]
Contestants = dict[str, Callable[[], object]]


def restart_with_one_thread() -> None:
    """Start this process again with one thread, and with the BLAS kernel that numpy chooses by itself."""
    threads = all(os.environ.get(name) == value for name, value in _ENVIRONMENT.items())
    if threads and not any(name in os.environ for name in _UNSET):
        return
    environment = {name: value for name, value in os.environ.items() if name not in _UNSET} | _ENVIRONMENT
    os.execve(sys.executable, [sys.executable, "-m", "bench.functional", *sys.argv[1:]], environment)


def medians(contestants: Contestants, rounds: int = ROUNDS) -> dict[str, float]:
    """Return the median processor seconds of each contestant; they take turns."""
    for run in contestants.values():
        run()
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, run in contestants.items():
            start = time.thread_time()
            run()
            times[name].append(time.thread_time() - start)
    return {name: float(np.median(found)) for name, found in times.items()}


def launch_of_gemm(code_path: CodePath, inp: Numbers, wgt: Numbers) -> Callable[[], object]:
    """Return a function that launches the 512 cubed stream; its result was compared with numpy."""
    config = VTAConfig()
    memory = DeviceMemory()
    tiles = wgt.reshape(SIZE // config.block_out, config.block_out, SIZE // config.block_in, config.block_in)
    stream = GemmStream(
        config=config,
        rows=SIZE,
        channels=SIZE,
        reduction=SIZE,
        block=BLOCK,
        inp=place_array(memory, inp) // config.inp_elem_bytes,
        wgt=place_array(memory, tiles.transpose(0, 2, 1, 3)) // config.wgt_elem_bytes,
        out=memory.alloc(SIZE * SIZE).address // config.out_elem_bytes,
        uop=memory.alloc(4096).address // config.uop_elem_bytes,
    )
    words = np.array([encode_uop(micro_op, config) for micro_op in stream.micro_ops()], "<u4")
    memory.view(stream.uop * 4, words.nbytes)[:] = words.view(np.uint8)
    placed = place_words(memory, encode_words(stream.instructions(), config))
    simulator = FunctionalSimulator(config, memory, code_path=code_path)
    simulator.launch(placed.address, placed.count)
    out = memory.view(stream.out * config.out_elem_bytes, SIZE * SIZE).view(np.int8).reshape(SIZE, SIZE)
    expected = np.clip((inp.astype(np.int32) @ wgt.astype(np.int32).T) >> 8, 0, 127)
    assert np.array_equal(out, expected), "the simulator and numpy disagree"
    return lambda: simulator.launch(placed.address, placed.count)


def launch_of_tutorial(code_path: CodePath, inp: Numbers, wgt: Numbers) -> Callable[[], object]:
    """Return a function that launches the recorded stream of the tutorial; its result was compared with numpy."""
    case = load_case("default", "tut.matrix_multiply_opt")
    [launch] = case.record["launches"]
    memory = DeviceMemory()
    memory.alloc(launch["insn_phy"] + 16 * len(launch["insns"]))
    places = {buffer["name"]: buffer["phy"] for buffer in case.record["buffers"]}
    tiles = np.ascontiguousarray(wgt.reshape(64, 16, 64, 16).transpose(0, 2, 1, 3))
    uops = np.array([int(word, 16) for word in launch["uop_dram_hex"]], "<u4")
    words = b"".join(word.to_bytes(16, "little") for word in case.words)
    for address, data in (
        (places["data"], inp.tobytes()),
        (places["weight"], tiles.tobytes()),
        (launch["uop_phy"], uops.tobytes()),
        (launch["insn_phy"], words),
    ):
        memory.view(address, len(data))[:] = np.frombuffer(data, np.uint8)
    simulator = FunctionalSimulator(case.config, memory, code_path=code_path)
    simulator.launch(launch["insn_phy"], len(launch["insns"]))
    out = memory.view(places["res"], 1024).view(np.int8)
    expected = np.clip((inp.astype(np.int32) @ wgt.astype(np.int32).T)[0] >> 8, 0, 127)
    assert np.array_equal(out, expected), "the simulator and numpy disagree"
    return lambda: simulator.launch(launch["insn_phy"], len(launch["insns"]))


def empty_launch(code_path: CodePath) -> Callable[[], object]:
    """Return a function that launches FINISH alone."""
    memory = DeviceMemory()
    placed = place_words(memory, encode_words([Finish()], VTAConfig()))
    simulator = FunctionalSimulator(VTAConfig(), memory, code_path=code_path)
    return lambda: simulator.launch(placed.address, placed.count)


def onnxruntime_contestants(inp: Numbers, wgt: Numbers) -> Contestants:
    """Return MatMulInteger of the operands in onnxruntime, with unsigned and with signed activations."""
    if importlib.util.find_spec("onnxruntime") is None or importlib.util.find_spec("onnx") is None:
        print("onnx or onnxruntime is not installed: left out")
        return {}
    return {
        "onnxruntime u8 x s8": _matmul_integer((inp.astype(np.int16) + 128).astype(np.uint8), wgt),
        "onnxruntime s8 x s8": _matmul_integer(inp, wgt),
    }


def _matmul_integer(left: Numbers, wgt: Numbers) -> Callable[[], object]:
    import onnx
    import onnxruntime

    kind = onnx.helper.np_dtype_to_tensor_dtype(left.dtype)
    right = onnx.numpy_helper.from_array(np.ascontiguousarray(wgt.T), "b")
    node = onnx.helper.make_node("MatMulInteger", ["a", "b"], ["c"])
    inputs = [onnx.helper.make_tensor_value_info("a", kind, left.shape)]
    outputs = [onnx.helper.make_tensor_value_info("c", onnx.TensorProto.INT32, (left.shape[0], wgt.shape[0]))]
    graph = onnx.helper.make_graph([node], "matmul", inputs, outputs, [right])
    opset = [onnx.helper.make_opsetid("", 13)]
    model = onnx.helper.make_model(graph, opset_imports=opset, ir_version=8)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    result = session.run(None, {"a": left})[0]
    assert np.array_equal(result, left.astype(np.int32) @ wgt.astype(np.int32).T), "onnxruntime and numpy disagree"
    return lambda: session.run(None, {"a": left})


def numpy_contestants(inp: Numbers, wgt: Numbers) -> Contestants:
    """Return ``a @ w.T`` of the operands as int32 and as float32, converted beforehand."""
    found: Contestants = {}
    for dtype in (np.int32, np.float32):
        left, right = inp.astype(dtype), wgt.astype(dtype)
        found[f"numpy {np.dtype(dtype).name}"] = lambda left=left, right=right: left @ right.T  # type: ignore[misc]
    return found


def describe_host() -> None:
    """Print processor, versions and the BLAS kernel."""
    names = ("numpy", "llvmlite", "onnxruntime")
    found = [f"{name} {version(name)}" for name in names if importlib.util.find_spec(name) is not None]
    print(f"{_processor()} ({llvm.get_host_cpu_name()}), {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    print(f"Python {platform.python_version()}, {', '.join(found)}, one thread")
    if importlib.util.find_spec("threadpoolctl") is None:
        print("threadpoolctl is not installed: the BLAS kernel is not known")
        return
    import threadpoolctl

    for entry in threadpoolctl.threadpool_info():
        details = (entry.get("internal_api"), entry.get("version"), entry.get("architecture"))
        print("BLAS:", *(str(detail) for detail in details if detail), f"{entry['num_threads']} thread")


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def report(title: str, macs: int, found: Mapping[str, float], base: str) -> None:
    """Print a table: microseconds, GMAC/s, and how many times faster than ``base``."""
    print(f"\n{title}\n{'':28}{'median us':>12}{'GMAC/s':>10}   times the speed of {base}")
    for name, seconds in found.items():
        print(f"{name:28}{seconds * 1e6:12.1f}{macs / seconds / 1e9:10.1f}{found[base] / seconds:10.2f}")


def random_operands(rows: int, size: int) -> tuple[Numbers, Numbers]:
    """Return int8 activations (rows, size) and weights (size, size)."""
    rng = np.random.default_rng(SEED)
    inp = rng.integers(-128, 128, (rows, size), dtype=np.int8)
    return inp, rng.integers(-128, 128, (size, size), dtype=np.int8)


def main() -> int:
    """Measure and print everything."""
    restart_with_one_thread()
    describe_host()
    paths = host_code_paths()
    print("\nkernels of the default configuration, seconds to compile")
    for code_path in paths:
        start = time.thread_time()
        compile_kernels(VTAConfig(), code_path)
        print(f"{code_path.value:28}{time.thread_time() - start:12.2f}")

    inp, wgt = random_operands(SIZE, SIZE)
    contestants: Contestants = {f"launch, {m.value}": launch_of_gemm(m, inp, wgt) for m in paths}
    contestants |= onnxruntime_contestants(inp, wgt)
    contestants["numpy float32"] = numpy_contestants(inp, wgt)["numpy float32"]
    report(f"{SIZE} x {SIZE} x {SIZE}", SIZE**3, medians(contestants), "numpy float32")

    inp, wgt = random_operands(1, 1024)
    contestants = {f"launch, {m.value}": launch_of_tutorial(m, inp, wgt) for m in paths}
    contestants |= onnxruntime_contestants(inp, wgt) | numpy_contestants(inp, wgt)
    title = "blocked matrix multiply tutorial, 1 x 1024 x 1024 (weights loaded and packed in each launch)"
    report(title, 1 << 20, medians(contestants), "numpy int32")

    empty = medians({m.value: empty_launch(m) for m in paths}, 500)
    print("\nempty launch (FINISH alone), median us")
    for name, seconds in empty.items():
        print(f"{name:28}{seconds * 1e6:12.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
