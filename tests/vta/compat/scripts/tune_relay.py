"""Written for TVM 0.9 and its VTA: tasks of a quantised network, tuned one by one; the best records are built."""

import os
import sys

import numpy as np
import tvm
from tvm import autotvm, relay, rpc, topi
from tvm.autotvm.tuner import GATuner, GridSearchTuner, RandomTuner, XGBTuner
from tvm.contrib import graph_executor

import vta
from vta.testing import simulator
from vta.top import graph_pack

env = vta.get_env()
target = env.target
kernel = np.random.default_rng(5).uniform(-1, 1, (16, 16, 3, 3)).astype("float32")
picture = np.random.default_rng(6).uniform(-1, 1, (env.BATCH, 16, 8, 8)).astype("float32")

tuning_option = {
    "log_filename": sys.argv[1],
    "tuner": "random",
    "n_trial": 2,
    "early_stopping": None,
    "measure_option": autotvm.measure_option(
        builder=autotvm.LocalBuilder(n_parallel=1, build_func="default"),
        runner=autotvm.LocalRunner(timeout=100, number=5, repeat=3, min_repeat_ms=0),
    ),
}


def register_vta_tuning_tasks():
    from tvm.autotvm.task import TaskExtractEnv

    TaskExtractEnv()

    @autotvm.template("conv2d_packed.vta")
    def _conv2d(*args, **kwargs):
        with tvm.target.vta():
            res = topi.right_shift(vta.top.conv2d_packed(*args, **kwargs), 8)
        return vta.top.schedule_conv2d_packed([res]), [*args[:2], res]


def compile_network():
    x, w = relay.var("data", shape=picture.shape), relay.var("w", shape=kernel.shape)
    y = relay.nn.max_pool2d(x, (3, 3), (1, 1), (1, 1))
    for _ in range(2):
        y = relay.nn.relu(relay.nn.conv2d(y, w, padding=(1, 1), channels=16, kernel_size=(3, 3)))
    mod = tvm.IRModule.from_expr(relay.Function([x, w], relay.nn.global_avg_pool2d(y)))
    with tvm.transform.PassContext(opt_level=3), relay.quantize.qconfig(global_scale=8.0, skip_conv_layers=[]):
        mod = relay.quantize.quantize(mod, params={"w": kernel})
    return graph_pack(mod["main"], env.BATCH, env.BLOCK_OUT, env.WGT_WIDTH), {}


def tune_tasks(tasks, measure_option, tuner, n_trial, early_stopping, log_filename):
    tmp_log_file = log_filename + ".tmp"
    for i, tsk in enumerate(reversed(tasks)):
        tuner_obj = {"ga": GATuner, "random": RandomTuner, "gridsearch": GridSearchTuner, "xgb": XGBTuner}[tuner](tsk)
        if os.path.isfile(tmp_log_file):
            tuner_obj.load_history(autotvm.record.load_from_file(tmp_log_file))
        trials = min(n_trial, len(tsk.config_space))
        tuner_obj.tune(
            n_trial=trials,
            early_stopping=early_stopping,
            measure_option=measure_option,
            callbacks=[
                autotvm.callback.progress_bar(trials, prefix=f"[Task {i + 1}/{len(tasks)}] "),
                autotvm.callback.log_to_file(tmp_log_file),
            ],
        )
    autotvm.record.pick_best(tmp_log_file, log_filename)
    os.remove(tmp_log_file)


def run(program, params):
    with vta.build_config(opt_level=3, disabled_pass={"AlterOpLayout"}):
        lib = relay.build(program, target=target, params=params)
    remote = rpc.LocalSession()
    module = graph_executor.GraphModule(lib["default"](remote.ext_dev(0)))
    module.set_input("data", picture)
    simulator.clear_stats()
    module.run()
    return module.get_output(0).numpy(), simulator.stats()


register_vta_tuning_tasks()
relay_prog, params = compile_network()
tasks = autotvm.task.extract_from_program(
    tvm.IRModule.from_expr(relay_prog),
    params=params,
    ops=(relay.op.get("nn.conv2d"),),
    target=target,
    target_host=env.target_host,
)
tasks = list(filter(lambda t: len(t.args[0][1]) > 4 and "conv" in t.name, tasks))
for tsk in tasks:
    inp, wgt = tsk.args[0][1], tsk.args[1][1]
    print(f"({inp[0] * inp[4]}, {inp[2]}, {inp[3]}, {inp[1] * inp[5]}, {wgt[0] * wgt[4]}, {wgt[2]}, {wgt[3]})")
tune_tasks(tasks, **tuning_option)
plain, _ = run(relay_prog, params)
with autotvm.tophub.context(target, extra_files=[tuning_option["log_filename"]]):
    tuned, stats = run(relay_prog, params)
np.testing.assert_array_equal(plain, tuned)
assert stats["gemm_counter"] > 0
print("Successful tuning test!")
