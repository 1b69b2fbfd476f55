"""Tuning by templates, under AutoTVM's names: which choice of a schedule's knobs is the fastest on the hardware.

``template`` and ``get_config`` make templates, ``task.create`` makes tasks of them (or of the library's operators),
``tuner`` has the searches, ``measure`` runs what they choose, ``record`` and ``callback`` keep what came of it, and
``apply_history_best`` applies it. Kinds of knobs are in ``space``. Searches by a model alone are in ``vta/topi``.
"""

from vta.autotvm import callback, measure, record, task, tuner
from vta.autotvm.errors import TuningError, TuningWarning
from vta.autotvm.history import apply_history_best
from vta.autotvm.measure.inputs import MeasureErrorNo, MeasureInput, MeasureResult
from vta.autotvm.measure.local import LocalBuilder, LocalRunner
from vta.autotvm.measure.option import MeasureOption, measure_option
from vta.autotvm.measure.remote import RPCRunner
from vta.autotvm.space import ConfigEntity, ConfigSpace, SpaceError
from vta.autotvm.template import get_config, template

__all__ = [
    "ConfigEntity", "ConfigSpace", "LocalBuilder", "LocalRunner", "MeasureErrorNo", "MeasureInput", "MeasureOption",
    "MeasureResult", "RPCRunner", "SpaceError", "TuningError", "TuningWarning", "apply_history_best", "callback",
    "get_config", "measure", "measure_option", "record", "task", "template", "tuner",
]  # fmt: skip
