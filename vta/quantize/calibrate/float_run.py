"""Running a model over data, with any of its tensors in sight: by onnxruntime where it is installed, else by ours.

Tests: tests/vta/quantize/calibrate/test_float_run.py.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper

from isa.errors import VTAError
from runtime.executor.operators.types import Array
from vta.quantize.errors import CalibrationError
from vta.relay.interpreter import run
from vta.relay.onnx.importer import from_onnx

__all__ = ["Runner", "has_onnxruntime"]


def has_onnxruntime() -> bool:
    """Return whether onnxruntime is installed."""
    try:
        import onnxruntime  # noqa: F401
    except ImportError:
        return False
    return True


class Runner:
    """Runs a model, and returns the tensors called ``wanted``.

    onnxruntime runs node by node if ``exact``. Else it may join and rearrange float nodes, which is twice as fast; what
    rounds to int8 stays where it is, since its int8 kernels saturate on some processors, and since it moves rounding
    across limits.
    """

    def __init__(
        self, model: onnx.ModelProto, wanted: Sequence[str], *, exact: bool = False, onnxruntime: bool | None = None
    ) -> None:
        self.wanted = tuple(dict.fromkeys(wanted))
        self._inputs = {value.name: value for value in model.graph.input}
        self._direct = [name for name in self.wanted if name in self._inputs]
        self._made = [name for name in self.wanted if name not in self._inputs]
        whole = onnx.ModelProto()
        whole.CopyFrom(model)
        given = {value.name for value in whole.graph.output}
        whole.graph.output.extend(helper.make_empty_tensor_value_info(n) for n in self._made if n not in given)
        self._model = whole
        self._session: Any = None
        if has_onnxruntime() if onnxruntime is None else onnxruntime:
            self._session = _session(whole, exact=exact)

    def __call__(self, feed: Mapping[str, Array]) -> dict[str, Array]:
        """Return the wanted tensors for one batch."""
        found = {name: feed[name] for name in self._direct}
        if not self._made:
            return found
        if self._session is None:
            return found | self._interpreted(feed)
        try:
            results = self._session.run(self._made, dict(feed))
        except Exception as error:  # onnxruntime has classes of its own for each kind
            raise CalibrationError(f"onnxruntime cannot run the model on the data: {_first_line(error)}") from None
        return found | {name: np.asarray(value) for name, value in zip(self._made, results, strict=True)}

    def over(self, feeds: Iterator[Mapping[str, Array]]) -> Iterator[dict[str, Array]]:
        """Yield the wanted tensors for one batch after the other."""
        for feed in feeds:
            yield self(feed)

    def _interpreted(self, feed: Mapping[str, Array]) -> dict[str, Array]:
        shapes = {name: value.shape for name, value in feed.items()}
        model = onnx.ModelProto()
        model.CopyFrom(self._model)
        del model.graph.output[:]
        model.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in self._made)
        try:
            result = run(from_onnx(model, shapes), feed)
        except VTAError as error:
            raise CalibrationError(f"the model cannot be run on the data: {error}") from None
        values = result if isinstance(result, tuple) else (result,)
        return {name: np.asarray(value) for name, value in zip(self._made, values, strict=True)}


def _session(model: onnx.ModelProto, *, exact: bool) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    level = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = level.ORT_DISABLE_ALL if exact else level.ORT_ENABLE_ALL
    options.add_session_config_entry("session.disable_quant_qdq", "1")
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # idle threads shall not burn a core
    try:
        return onnxruntime.InferenceSession(model.SerializeToString(), options)
    except Exception as error:
        raise CalibrationError(f"onnxruntime cannot load the model: {_first_line(error)}") from None


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
