"""Written for TVM 0.9 and its VTA: an ONNX classifier, quantised, packed, built and run, with checks of its results."""

import sys

import numpy as np
import onnx
import tvm
from tvm import autotvm, relay, rpc
from tvm.contrib import graph_executor, utils

import vta
from vta.testing import simulator
from vta.top import graph_pack

env = vta.get_env()
device = "vta"
target = env.target if device == "vta" else env.target_vta_cpu
pack_dict = {"small": ["nn.max_pool2d", "nn.global_avg_pool2d"]}
model = "small"

remote = rpc.LocalSession() if env.TARGET in ["sim", "tsim"] else None
vta.reconfig_runtime(remote)
vta.program_fpga(remote, bitstream=None)
ctx = remote.ext_dev(0) if device == "vta" else remote.cpu(0)

data = np.load(sys.argv[2])
with autotvm.tophub.context(target):
    mod, params = relay.frontend.from_onnx(onnx.load(sys.argv[1]), {"image": (env.BATCH, 3, 16, 16)})
    if target.device_name == "vta":
        with tvm.transform.PassContext(opt_level=3):
            with relay.quantize.qconfig(global_scale=8.0, skip_conv_layers=[0]):
                mod = relay.quantize.quantize(mod, params=params)
            assert env.BLOCK_IN == env.BLOCK_OUT
            relay_prog = graph_pack(
                mod["main"],
                env.BATCH,
                env.BLOCK_OUT,
                env.WGT_WIDTH,
                start_name=pack_dict[model][0],
                stop_name=pack_dict[model][1],
                device_annot=(env.TARGET == "intelfocl"),
            )
    else:
        relay_prog = mod["main"]
    if target.device_name != "vta":
        with tvm.transform.PassContext(opt_level=3, disabled_pass={"AlterOpLayout"}):
            graph, lib, params = relay.build(
                relay_prog, target=tvm.target.Target(target, host=env.target_host), params=params
            )
    else:
        targets = {"cpu": env.target_vta_cpu, "ext_dev": target}
        with vta.build_config(opt_level=3, disabled_pass={"AlterOpLayout", "tir.CommonSubexprElimTIR"}):
            graph, lib, params = relay.build(relay_prog, target=targets, params=params)
    temp = utils.tempdir()
    lib.export_library(temp.relpath("graphlib.tar"))
    remote.upload(temp.relpath("graphlib.tar"))
    lib = remote.load_module("graphlib.tar")
    m = graph_executor.create(graph, lib, [ctx, remote.cpu(0)])

m.set_input(**params)
m.set_input("image", data)
simulator.clear_stats()
m.run()
stats = simulator.stats()
out = m.get_output(0, tvm.nd.empty((env.BATCH, 10), "float32", remote.cpu(0)))
assert stats["gemm_counter"] > 0
np.save(sys.argv[3], out.numpy())
print("Successful classification!")
