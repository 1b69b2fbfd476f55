"""What ``tvm.autotvm`` gives to a script: tasks, tuners, measuring, records, all of this toolchain.

Tests: tests/vta/compat/test_autotvm_names.py.
"""

from collections.abc import Callable, Sequence

from vta import autotvm
from vta.autotvm import callback, record, tophub, tuner
from vta.autotvm.library import TEMPLATES
from vta.autotvm.made import Made
from vta.autotvm.measure.local import LocalBuilder, LocalRunner
from vta.autotvm.measure.on_cpu import Clock
from vta.autotvm.measure.remote import RPCRunner
from vta.autotvm.task import Task, create, extract_from_program
from vta.compat.answer import Tree
from vta.rpc.tracker_client import connect_tracker
from vta.target import Target

__all__ = ["autotvm_names"]


def autotvm_names() -> Tree:
    """Return the names below ``tvm.autotvm``."""
    measuring = {
        "LocalBuilder": _local_builder,
        "LocalRunner": _local_runner,
        "RPCRunner": _rpc_runner,
        "MeasureErrorNo": autotvm.MeasureErrorNo,
        "MeasureInput": autotvm.MeasureInput,
        "MeasureResult": autotvm.MeasureResult,
        "measure_option": _measure_option,
    }
    callbacks = {"log_to_file": callback.log_to_file, "progress_bar": callback.progress_bar}
    kinds = {name: getattr(tuner, name) for name in ("GATuner", "GridSearchTuner", "RandomTuner", "Tuner")}
    tasks = {
        "Task": Task,
        "TaskExtractEnv": _task_extract_env,
        "create": create,
        "extract_from_program": _extract_from_program,
        "template": _template,
    }
    return {
        **measuring,
        "ConfigEntity": autotvm.ConfigEntity,
        "ConfigSpace": autotvm.ConfigSpace,
        "apply_history_best": autotvm.apply_history_best,
        "callback": callbacks,
        "get_config": autotvm.get_config,
        "measure": {
            **measuring,
            "measure_methods": {"request_remote": _request_remote},
            "request_remote": _request_remote,
        },
        "record": {name: getattr(record, name) for name in ("decode", "encode", "load_from_file", "pick_best")},
        "task": {**tasks, "space": {"ConfigEntity": autotvm.ConfigEntity, "ConfigSpace": autotvm.ConfigSpace}},
        "template": _template,
        "tophub": {"context": tophub.context},
        "tuner": {**kinds, "XGBTuner": _xgb_tuner, "callback": callbacks},
    }


def _template(name: str) -> Callable[[Callable[..., Made]], Callable[..., Made]]:
    """Make a function a template; where the library has one of that name, which means the same, that one stays."""
    if name in TEMPLATES:
        return lambda function: function
    return autotvm.template(name)


def _task_extract_env(*_: object) -> None:
    """Register nothing: the library's operators are what tasks are extracted of."""


def _extract_from_program(
    mod: object,
    params: dict[str, object] | None = None,
    target: str | Target | None = None,
    target_host: object = None,  # noqa: ARG001  # the host is this one
    ops: Sequence[object] | None = None,
) -> list[Task]:
    return extract_from_program(mod, params, target, ops)


def _xgb_tuner(
    task: Task, plan_size: int = 16, feature_type: str = "knob", loss_type: str = "reg", **options: object
) -> object:
    """Return the learned search; what it knows of loops is what the knobs say, also as "itervar" and "curve"."""
    known = {name: value for name, value in options.items() if name in ("num_threads", "seed")}
    kind = "knob" if feature_type in ("itervar", "curve") else feature_type
    return tuner.XGBTuner(task, plan_size, kind, loss_type, **known)  # type: ignore[arg-type]  # TVM's options


def _local_builder(timeout: float = 60.0, n_parallel: int | None = None, **_: object) -> LocalBuilder:
    """Return the builder; how TVM's builds is said by ``build_func`` and the like, and has no meaning here."""
    return LocalBuilder(timeout, n_parallel)


def _local_runner(
    timeout: float = 120.0,
    n_parallel: int | None = None,  # noqa: ARG001  # the builder says how many
    number: int = 4,
    repeat: int = 3,
    min_repeat_ms: float = 0.0,
    **_: object,
) -> LocalRunner:
    """Return the runner: the accelerator's cycles are exact, so how often to measure is for code of the CPU alone."""
    return LocalRunner(timeout, clock=Clock(number, repeat, min_repeat_ms))


def _rpc_runner(
    key: str,
    host: str,
    port: int,
    priority: int = 1,
    timeout: float = 120.0,
    n_parallel: int | None = None,
    **options: object,
) -> RPCRunner:
    """Return the runner on devices of a tracker; modules load themselves, so ``module_loader`` has no meaning here."""
    known = {name: value for name, value in options.items() if name in ("number", "repeat", "cooldown_interval")}
    return RPCRunner(key, host, port, priority, timeout, n_parallel, **known)  # type: ignore[arg-type]  # TVM's options


def _measure_option(
    builder: LocalBuilder | str = "local", runner: LocalRunner | RPCRunner | str = "local"
) -> autotvm.MeasureOption:
    """Return how a tuner measures; ``"local"`` is what builds, or runs, on this computer."""
    return autotvm.measure_option(
        LocalBuilder() if builder == "local" else builder,  # type: ignore[arg-type]  # no other word
        LocalRunner() if runner == "local" else runner,  # type: ignore[arg-type]
    )


def _request_remote(device_key: str, host: str, port: int, priority: int = 1, timeout: float = 60) -> object:
    """Return a session on a device of a tracker."""
    return connect_tracker(host, port).request(device_key, priority, session_timeout=timeout)
