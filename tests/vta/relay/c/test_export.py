"""Networks as C run on the accelerator's RTL, and give the bits of the simulator."""

from pathlib import Path

import numpy as np
import pytest

import vta
from examples import convolution
from isa.config import VTAConfig
from isa.machine.hardware_config import HardwareConfig
from runtime.executor.runner import NetworkRunner
from runtime.executor.session import NetworkSession
from runtime.session import Session
from tests.support.hw.c_board import RtlBoard, built, missing_compiler
from tests.support.hw.functional_board import FunctionalBoard
from tests.support.relay.random_host_steps import RandomSteps
from tests.support.relay.random_integers import random_network
from vta.relay.backend.build import build_network
from vta.relay.backend.session import InferenceSession
from vta.relay.c import CExportError, c_sources, module_network, write_c
from vta.relay.interpreter import run

needs_compiler = pytest.mark.skipif(bool(missing_compiler()), reason=missing_compiler())
FASHION = Path(__file__).resolve().parents[4] / "examples" / "networks" / "fashion_mnist.int8.onnx"


@needs_compiler
def test_the_classifier_and_the_convolution_tutorial_run_on_the_hardware(tmp_path: Path) -> None:
    """One simulated board for both: the second image takes the place of the first one."""
    env = vta.Environment(VTAConfig())
    network = InferenceSession(str(FASHION), env=env).network
    fashion = c_sources(network, "fashion")
    with env:
        layer = vta.build(*convolution.schedule(env, threads=2), name="convolution")
    conv = c_sources(module_network(layer), "conv")
    library = built({**fashion.files, **conv.files}, tmp_path)
    rtl = RtlBoard(env.config, HardwareConfig(), max(fashion.memory_bytes, conv.memory_bytes))

    picture = np.random.default_rng(5).random((1, 1, 28, 28), np.float32)
    [expected] = NetworkSession(network, "sim").run(None, {"image": picture})
    scores = np.zeros_like(expected)
    assert rtl.call(library.fashion_load) == 0
    assert rtl.call(library.fashion_run, picture, scores) == 0
    np.testing.assert_array_equal(scores, expected)
    assert 30_000 < rtl.board.total_cycles < 40_000

    [data, kernel], tiled = convolution.random_layer(env)
    result = np.zeros_like(tiled)
    assert rtl.call(library.conv_run, data, kernel, result) == 5  # VTA_NOT_LOADED: the classifier is
    assert rtl.call(library.conv_load) == 0
    assert rtl.call(library.conv_run, *(np.ascontiguousarray(a) for a in (data, kernel)), result) == 0
    np.testing.assert_array_equal(result, tiled)


@needs_compiler
def test_random_steps_of_the_host_have_numpys_numbers(tmp_path: Path) -> None:
    files: dict[str, str] = {}
    cases = []
    for seed in range(60):
        steps = RandomSteps(seed)
        network = steps.network
        if network is None:
            continue
        try:
            sources = c_sources(network, f"n{seed}")
        except CExportError:
            continue
        files |= sources.files
        cases.append((seed, network, steps.input, sources))
    assert len(cases) > 10
    library = built(files, tmp_path)
    for seed, network, x, sources in cases:
        with np.errstate(all="ignore"):
            wanted = NetworkRunner(network, Session(network.config, "sim")).run({"x": x})
        board = FunctionalBoard(network.config, sources.memory_bytes)
        found = [np.zeros(value.shape, value.dtype) for value in wanted.values()]
        assert board.call(getattr(library, f"n{seed}_load")) == 0
        assert board.call(getattr(library, f"n{seed}_run"), np.ascontiguousarray(x), *found) == 0
        for name, value in zip(wanted, found, strict=True):
            np.testing.assert_array_equal(value, wanted[name], err_msg=f"{seed} {name}")


@needs_compiler
def test_random_quantised_networks_have_the_bits_of_their_integer_graphs(tmp_path: Path) -> None:
    """Seed 15 runs one kernel on two pairs of tensors: each launch has words of its own."""
    files: dict[str, str] = {}
    cases = []
    for seed in (5, 15):
        random = random_network(seed, nodes=3 + seed % 5)
        compiled = build_network(random.model, vta.Environment(VTAConfig()), jobs=1)
        sources = c_sources(compiled.network, f"n{seed}")
        files |= sources.files
        cases.append((seed, random, compiled, sources))
    library = built(files, tmp_path)
    for seed, random, compiled, sources in cases:
        expected = run(compiled.function, random.inputs())
        wanted = expected if isinstance(expected, tuple) else (expected,)
        board = FunctionalBoard(compiled.network.config, sources.memory_bytes)
        found = [np.zeros(value.shape, value.dtype) for value in wanted]
        assert board.call(getattr(library, f"n{seed}_load")) == 0
        for _ in range(2):
            inputs = [np.ascontiguousarray(value) for value in random.inputs()]
            assert board.call(getattr(library, f"n{seed}_run"), *inputs, *found) == 0
            for one, other in zip(found, wanted, strict=True):
                np.testing.assert_array_equal(one, other, err_msg=str(seed))


def test_what_numpy_computes_and_names_that_c_does_not_have_are_refused(tmp_path: Path) -> None:
    seeds = (RandomSteps(seed).network for seed in range(100))
    network = next(each for each in seeds if each and any(step.operator == "exp" for step in each.steps))  # type: ignore[union-attr]
    place = next(step.node for step in network.steps if step.operator == "exp")  # type: ignore[union-attr]
    with pytest.raises(CExportError) as caught:
        write_c(network, tmp_path / "out", "model")
    assert str(caught.value) == (
        f"step {place!r} (exp) is computed by the host with numpy, and there is no C for it; compile a model that ends "
        "before it, or begins behind it"
    )
    assert not (tmp_path / "out").exists()
    for name in ("1st", "vta_mine", "a-b", ""):
        with pytest.raises(CExportError) as caught:
            c_sources(network, name)
        assert str(caught.value) == (
            f"{name!r} cannot name a network in C; use a letter, then letters, digits and underscores"
        )


def test_equal_networks_have_equal_sources_and_files_are_whole(tmp_path: Path) -> None:
    network = InferenceSession(str(FASHION), env=vta.Environment(VTAConfig())).network
    made = write_c(network, tmp_path / "a" / "b", "fashion")
    assert made == c_sources(network, "fashion")
    assert {path.name: path.read_text() for path in (tmp_path / "a" / "b").iterdir()} == made.files
    assert made.host_bytes < 4096
    header = made.files["fashion.h"]
    assert " *   image: float32 (1, 1, 28, 28)\n *   logits: float32 (1, 10), written\n" in header
    assert "int fashion_run(struct vta_board *board, const float *image, float *logits);" in header
    assert f"#define FASHION_MEMORY_BYTES {made.memory_bytes}u" in header
