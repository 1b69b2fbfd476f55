"""A compiled network's file runs where there is no compiler."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from runtime.executor.container import save_network
from runtime.executor.network import NetworkError
from runtime.executor.session import InferenceError, NetworkSession
from tests.support.relay.onnx_models import model_of
from tests.support.relay.quantised_models import Quantised, expected
from tests.support.runtime.small_networks import small_network
from vta.relay.backend.session import InferenceSession

ROOT = Path(__file__).resolve().parents[3]

ALONE = """
import importlib.abc, sys

class Nothing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("vta", "hw", "onnx", "onnxruntime", "amaranth", "typer", "rich"):
            raise ImportError(f"{name} is not installed here")

sys.meta_path.insert(0, Nothing())
sys.path.insert(0, sys.argv[1])
import numpy as np
from runtime.executor.session import NetworkSession

session = NetworkSession(sys.argv[2], sys.argv[4])
given = np.load(sys.argv[3])
[found] = session.run(None, {"image": given})
np.save(sys.argv[3], found)
print(sorted({run.on_device for run in session.nodes}), "vta" in sys.modules)
"""


@pytest.mark.parametrize("device", ["sim", "reference"])
def test_a_network_runs_where_the_compiler_cannot_be_imported(tmp_path: Path, device: str) -> None:
    q = Quantised(9)
    weights, scales = q.weight((5, 3, 3, 3))
    conv = q.op(
        "Conv",
        [q.both("image", 0.05), weights, q.bias(np.asarray(scales, np.float32) * np.float32(0.05), 5)],
        pads=[1] * 4,
    )
    q.op("Softmax", [q.both(q.op("Sigmoid", [q.both(conv, 0.1)]), 0.01)], axis=1)
    model = model_of(q.nodes, {"image": ("float32", ("n", 3, 8, 8))}, weights=q.weights)
    image = np.random.default_rng(1).standard_normal((2, 3, 8, 8)).astype(np.float32)
    here = InferenceSession(model, jobs=1)
    here.save(tmp_path / "m.vtam")
    np.save(tmp_path / "x.npy", image)
    command = [sys.executable, "-I", "-c", ALONE, str(ROOT), str(tmp_path / "m.vtam"), str(tmp_path / "x.npy"), device]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "[False, True] False\n")
    found = np.load(tmp_path / "x.npy")
    np.testing.assert_array_equal(found, here.run(None, {"image": image})[0])
    [wanted] = expected(model, {"image": image})
    assert np.abs(found - wanted).max() < 0.02


def test_outputs_and_inputs_of_other_names_are_refused(tmp_path: Path) -> None:
    small = small_network()
    save_network(small.network, tmp_path / "small.vtam")
    session = NetworkSession(tmp_path / "small.vtam")
    [result] = session.run(["result"], {"image": small.image})
    np.testing.assert_array_equal(result, small.expected)
    with pytest.raises(InferenceError, match=r"^the network has outputs result, not 'logits'$"):
        session.run(["logits"], {"image": small.image})
    with pytest.raises(NetworkError, match=r"^the network takes inputs image, not picture$"):
        session.run(None, {"picture": small.image})
