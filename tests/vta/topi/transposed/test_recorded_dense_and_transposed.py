"""TVM's templates for dense layers and transposed convolutions: calls, words and micro-ops are the recorded ones."""

from dataclasses import dataclass

import numpy as np
import pytest

import vta
from runtime.session import Session
from tests.support.golden.golden import Case, load_case
from tests.support.golden.golden_arrays import place_arrays
from tests.support.runtime.call_log import CallLog
from vta import te
from vta.nd import NDArray
from vta.topi.core import epilogue
from vta.topi.core.epilogue import Clip, ShiftRight
from vta.topi.matmul.dense import DenseTemplate, dense, schedule_dense
from vta.topi.transposed.conv2d_transpose import TransposeTemplate, conv2d_transpose, schedule_conv2d_transpose

STEPS = (ShiftRight(8), Clip(0, 127))
DENSE, TRANSPOSED = "dense.128x128x128", "conv2d_transpose.DCGAN.CT1"


@dataclass(frozen=True, slots=True)
class Run:
    """A recorded case, built by our own stack; ``arrays`` are at the recorded addresses."""

    case: Case
    session: Session
    module: vta.Module
    arrays: dict[str, NDArray]

    def call(self) -> None:
        self.module(*self.arrays.values())

    def check_launch(self) -> None:
        """Compare words, micro-ops and statistics of the one launch with the recording."""
        [recorded] = self.case.record["launches"]
        [launch] = self.session.queue.launcher.launches
        assert launch.words == self.case.words
        assert [f"{word:08x}" for word in launch.uops.tolist()] == recorded["uop_dram_hex"]
        assert self.session.device.stats.as_dict() == self.case.record["profiler"]


def scheduled(case: Case, env: vta.Environment) -> tuple[te.Schedule, list[te.Tensor]]:
    data, kernel = (te.placeholder(shape, dtype, name) for name, shape, dtype in case.record["args"][:2])
    if case.name == DENSE:
        sums = dense(data, kernel)
        appended = epilogue.append(sums, STEPS, env)
        return schedule_dense(appended.result, DenseTemplate(), env), [data, kernel, appended.result]
    sums = conv2d_transpose(data, kernel, strides=(2, 2), padding=(1, 1, 1, 1))
    appended = epilogue.append(sums, STEPS, env)
    tiles = TransposeTemplate(tile_h=8, tile_w=8, tile_ci=1, tile_co=16, oc_nthread=2, h_nthread=1)
    return schedule_conv2d_transpose(appended.result, tiles, env), [data, kernel, appended.result]


def prepare(name: str, *, cse: bool) -> Run:
    case = load_case("default", name)
    disabled = set() if cse else {"tir.CommonSubexprElimTIR"}
    with vta.Environment(case.config) as env, vta.build_config(disabled_pass=disabled):
        schedule, args = scheduled(case, env)
        module = vta.build(schedule, args, target=env.target)
    session = Session(case.config, "sim", record=True)
    return Run(case, session, module, place_arrays(case, session))


@pytest.mark.parametrize("cse", [True, False], ids=["cse", "no_cse"])
def test_the_transposed_convolution_makes_the_recorded_calls_words_and_micro_ops(
    cse: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = prepare(TRANSPOSED, cse=cse)
    run.module.replays = False
    with CallLog().installed(monkeypatch) as log:
        run.call()
    calls = [line for line in log.take() if not line.startswith(("VTABuffer", "VTAReadBarrier"))]
    assert calls == list(run.case.calls)
    run.check_launch()


@pytest.mark.parametrize("cse", [True, False], ids=["cse", "no_cse"])
def test_the_dense_layer_has_the_recorded_words_micro_ops_and_result(cse: bool) -> None:
    run = prepare(DENSE, cse=cse)
    recorded = run.case.arrays
    for name in ("data", "kernel"):
        run.arrays[name].copyfrom(recorded[f"in_{name}"])
    run.call()
    run.check_launch()
    np.testing.assert_array_equal(run.arrays["compute"].numpy(), recorded["out_compute"])


def test_the_transposed_template_computes_a_correlation_over_the_dilated_data() -> None:
    run = prepare(TRANSPOSED, cse=True)
    rng = np.random.default_rng(4)
    data = rng.integers(-128, 128, (1, 64, 4, 4, 1, 16)).astype(np.int8)
    kernel = rng.integers(-128, 128, (32, 64, 4, 4, 16, 16)).astype(np.int8)
    run.arrays["data"].copyfrom(data)
    run.arrays["kernel"].copyfrom(kernel)
    run.call()
    dilated = np.zeros((64, 11, 11, 16), np.int32)
    dilated[:, 2:-2:2, 2:-2:2] = data[0, ..., 0, :]
    sums = np.zeros((32, 8, 8, 16), np.int64)
    for i in range(4):
        for j in range(4):
            sums += np.einsum("khwi,okci->ohwc", dilated[:, i : i + 8, j : j + 8], kernel[:, :, i, j].astype(np.int64))
    np.testing.assert_array_equal(run.arrays["compute"].numpy()[0, ..., 0, :], np.clip(sums >> 8, 0, 127))
