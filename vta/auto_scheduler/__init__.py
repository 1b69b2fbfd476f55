"""Schedules from the definition of a computation alone, under the auto-scheduler's names: no template is written.

``definition`` finds out which schedules a definition can have, ``demand`` what a tile takes of the accumulator, and
``search_task`` measures the ones that the analytic model thinks best.
"""

from vta.auto_scheduler.definition import DefinitionError
from vta.auto_scheduler.search_task import RecordToFile, SearchTask, TuningOptions, register_workload
from vta.autotvm.measure.local import LocalBuilder, LocalRunner

__all__ = [
    "DefinitionError", "LocalBuilder", "LocalRunner", "RecordToFile", "SearchTask", "TuningOptions",
    "register_workload",
]  # fmt: skip
