"""``tvm.relay`` for scripts: modules of both kinds, passes of both kinds, a network from end to end."""

import subprocess
import sys
from pathlib import Path

import pytest

from vta.compat.relay_names import IRModule, Sequential, load_module
from vta.pass_objects import PassError
from vta.relay.front import passes
from vta.relay.front.values import var
from vta.relay.ir.nodes import Function

ROOT = Path(__file__).resolve().parents[3]

SCRIPT = """
import numpy as np
import tvm
from tvm import relay
from tvm.contrib import graph_executor, graph_runtime
import tvm.relay.transform

x = relay.var("data", shape=(10, 20))
y = relay.add(x, relay.const(1, "float32"))
z = relay.squeeze(relay.exp(y))
mod = tvm.IRModule.from_expr(relay.Function([x], z))
assert isinstance(mod, tvm.IRModule)
with tvm.transform.PassContext(opt_level=3):
    seq = tvm.transform.Sequential([relay.transform.FoldConstant(), relay.transform.FuseOps()])
    fused = seq(mod)
    lib = relay.build(mod, target="llvm", params={})
data = np.random.default_rng(1).standard_normal((10, 20)).astype("float32")
m = graph_executor.GraphModule(lib["default"](tvm.cpu(0)))
m.set_input("data", data)
m.run()
np.testing.assert_allclose(m.get_output(0).numpy(), np.exp(data + 1), rtol=1e-5)
lib.export_library("net.so")
again = tvm.runtime.load_module("net.so")
m = graph_runtime.GraphModule(again["default"](tvm.cpu(0)))
m.run(data=data)
np.testing.assert_allclose(m.get_output(0).numpy(), np.exp(data + 1), rtol=1e-5)
assert relay.op.nn.relu is relay.nn.relu
onnx_frontend = relay.frontend.from_onnx
for front, network in ((relay.frontend.from_pytorch, [("x", (1, 3))]), (relay.frontend.from_keras, {"x": (1, 3)})):
    try:
        front(None, network)
    except tvm.error.TVMError as error:
        assert str(error).startswith("from_"), error
print("done")
"""


def test_a_script_runs(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, "-m", "vta.compat", str(script)]
    env = {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "done"


def test_sequences_are_of_one_kind() -> None:
    assert isinstance(Sequential([passes.FoldConstant()]), passes.Sequential)
    assert not isinstance(Sequential([]), passes.Sequential)
    with pytest.raises(PassError, match=r"^Sequential takes passes, "):
        Sequential([passes.FoldConstant(), 3])


def test_modules_of_graphs_are_modules() -> None:
    x = var("x", shape=(1,))
    assert isinstance(IRModule.from_expr(Function((x,), x)), IRModule)
    assert not isinstance(x, IRModule)


def test_a_file_that_is_not_there_is_told_as_before(tmp_path: Path) -> None:
    with pytest.raises(Exception, match=r"none\.so"):
        load_module(tmp_path / "none.so")
