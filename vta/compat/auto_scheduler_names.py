"""What ``tvm.auto_scheduler`` gives to a script: schedules for the accelerator from a definition alone.

Tests: tests/vta/compat/test_auto_scheduler_names.py.
"""

from collections.abc import Sequence

from vta import auto_scheduler
from vta.auto_scheduler.search_task import Workload
from vta.autotvm.made import Made
from vta.autotvm.measure.local import LocalBuilder, LocalRunner
from vta.compat.answer import Tree
from vta.target import Target

__all__ = ["auto_scheduler_names"]


def auto_scheduler_names() -> Tree:
    """Return the names below ``tvm.auto_scheduler``."""
    own = {name: getattr(auto_scheduler, name) for name in ("RecordToFile", "register_workload")}
    return {
        **own,
        "LocalBuilder": LocalBuilder,
        "LocalRunner": _local_runner,
        "SearchTask": SearchTask,
        "TuningOptions": _tuning_options,
        "auto_schedule": _auto_schedule,
        "create_task": SearchTask,
    }


class SearchTask(auto_scheduler.SearchTask):
    """A definition with a target, which is the accelerator's: raises ``DefinitionError`` for another one."""

    def __init__(
        self,
        func: Workload,
        args: Sequence[object] = (),
        target: str | Target | None = None,
        target_host: object = None,  # noqa: ARG002  # the host is this one
    ) -> None:
        wanted = None if target is None else Target(target)
        if wanted is not None and not wanted.is_accelerator:
            raise auto_scheduler.DefinitionError(
                f"auto_scheduler makes schedules for the accelerator, not for {wanted!s}; for the CPU there are "
                "topi's schedules, and autotvm.template for one's own"
            )
        super().__init__(func, args)


def _local_runner(timeout: float = 120.0, **_: object) -> LocalRunner:
    """Return the runner: cycles are exact, so how often to measure has no meaning here."""
    return LocalRunner(timeout)


def _tuning_options(
    num_measure_trials: int = 16,
    early_stopping: int | None = None,  # noqa: ARG001  # what is thought best is measured first
    builder: LocalBuilder | str = "local",
    runner: LocalRunner | str = "local",
    measure_callbacks: Sequence[auto_scheduler.RecordToFile] = (),
    **_: object,
) -> auto_scheduler.TuningOptions:
    return auto_scheduler.TuningOptions(
        num_measure_trials,
        measure_callbacks,
        LocalBuilder() if builder == "local" else builder,  # type: ignore[arg-type]  # no other word
        LocalRunner() if runner == "local" else runner,  # type: ignore[arg-type]
    )


def _auto_schedule(
    task: SearchTask, search_policy: object = None, tuning_options: auto_scheduler.TuningOptions | None = None
) -> Made:
    """Search, measure, and return the best schedule with its tensors; the records go where the options say."""
    del search_policy
    options = tuning_options or _tuning_options()
    logs = [each.filename for each in options.measure_callbacks if isinstance(each, auto_scheduler.RecordToFile)]
    if not logs:
        raise auto_scheduler.DefinitionError(
            "auto_schedule: expected a RecordToFile among measure_callbacks, which the best is read from"
        )
    task.tune(options)
    return task.apply_best(logs[0])
