"""``relay.quantize`` under TVM's names: ``qconfig``, and ``quantize``, which makes int8 of a graph of real numbers.

Tests: tests/vta/relay/front/test_quantize.py.
"""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar, Token
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from runtime.executor.operators.types import Array, RelayError
from vta import nd
from vta.quantize.calibrate.histogram import Histogram
from vta.quantize.calibrate.ranges import candidates
from vta.quantize.encoding import Encoding
from vta.quantize.options import Method, Options
from vta.relay.front.build import bind_params_by_name
from vta.relay.front.rounding import rounded_graph, rounded_values
from vta.relay.interpreter import run
from vta.relay.ir.module import IRModule
from vta.relay.ir.nodes import Expr, Function
from vta.relay.transform.pipeline import SIMPLIFY, run_passes

__all__ = ["QConfig", "current_qconfig", "qconfig", "quantize"]

_IGNORED = (
    "nbit_activation", "dtype_input", "dtype_weight", "dtype_activation", "do_simulation", "round_for_shift",
    "debug_enabled_ops", "rounding", "calibrate_chunk_by", "calibrate_skip_layers", "partition_conversions",
    "store_lowbit_output",
)  # fmt: skip
"""Options of TVM's that say how its own passes work, or what is always so here: sums are int32, rounding is upwards."""

_MODES: Mapping[str, tuple[Method, ...]] = {
    "global_scale": tuple(Method),
    "kl_divergence": (Method.KL,),
    "percentile": (Method.PERCENTILE,),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class QConfig:
    """What ``quantize`` does. Without a dataset, every tensor reaches from minus to plus ``global_scale``.

    ``skip_conv_layers`` counts convolutions in the order in which they are computed.
    """

    nbit_input: int = 8
    nbit_weight: int = 8
    calibrate_mode: str = "global_scale"
    global_scale: float = 8.0
    weight_scale: str = "power2"
    skip_dense_layer: bool = True
    skip_conv_layers: Sequence[int] | None = (0,)

    def __post_init__(self) -> None:
        if (self.nbit_input, self.nbit_weight) != (8, 8):
            raise RelayError(f"qconfig: inputs and weights have 8 bits, not {self.nbit_input} and {self.nbit_weight}")
        if self.calibrate_mode not in _MODES:
            raise RelayError(f"qconfig: calibrate_mode is one of {', '.join(_MODES)}, not {self.calibrate_mode!r}")
        if self.weight_scale not in ("power2", "max"):
            raise RelayError(f"qconfig: weight_scale is 'power2' or 'max', not {self.weight_scale!r}")
        if not self.global_scale > 0:
            raise RelayError(f"qconfig: global_scale is positive, not {self.global_scale}")


_CURRENT: ContextVar[tuple[QConfig, ...]] = ContextVar("vta_qconfig", default=())


def current_qconfig() -> QConfig:
    """Return the settings that hold."""
    stack = _CURRENT.get()
    return stack[-1] if stack else QConfig()


class qconfig:  # noqa: N801  # TVM's name
    """Settings for what is quantised inside of ``with``."""

    def __init__(self, **settings: object) -> None:
        known = [field.name for field in fields(QConfig)]
        for name in settings:
            if name not in known and name not in _IGNORED:
                close = difflib.get_close_matches(name, [*known, *_IGNORED], n=1)
                hint = f"did you mean {close[0]!r}?" if close else f"there is {', '.join(known)}"
                raise RelayError(f"qconfig: there is no setting {name!r}; {hint}")
        self.config = QConfig(**{name: value for name, value in settings.items() if name in known})  # type: ignore[arg-type]
        self._tokens: list[Token[tuple[QConfig, ...]]] = []

    def __enter__(self) -> QConfig:
        self._tokens.append(_CURRENT.set((*_CURRENT.get(), self.config)))
        return self.config

    def __exit__(self, *_: object) -> None:
        _CURRENT.reset(self._tokens.pop())


def quantize(
    mod: IRModule | Function,
    params: Mapping[str, npt.ArrayLike | nd.NDArray] | None = None,
    dataset: Iterable[Mapping[str, npt.ArrayLike | nd.NDArray]] | None = None,
) -> IRModule:
    """Return a graph with int8 numbers, of which ``relay.build`` makes programs.

    Batch norms and factors of channels are folded first, whatever the level of optimisation is. With a ``dataset``,
    inputs by name, each tensor has the range that loses least on it; ``calibrate_mode`` says how ranges are found.
    """
    config = current_qconfig()
    given = mod["main"] if isinstance(mod, IRModule) else mod
    function = run_passes(bind_params_by_name(given, params or {}), SIMPLIFY)
    wanted = rounded_values(
        function, skip_convs=tuple(config.skip_conv_layers or ()), skip_dense=config.skip_dense_layer
    )
    if dataset is None:
        same = Encoding(config.global_scale / 128, 0)
        encodings = dict.fromkeys(wanted, same)
    else:
        encodings = _calibrated(function, wanted, dataset, Options(methods=_MODES[config.calibrate_mode]))
    made = rounded_graph(
        function, encodings, skip_convs=tuple(config.skip_conv_layers or ()), skip_dense=config.skip_dense_layer,
        power_of_two=config.weight_scale == "power2",
    )  # fmt: skip
    return IRModule.from_expr(made)


def _calibrated(
    function: Function,
    wanted: Sequence[Expr],
    dataset: Iterable[Mapping[str, npt.ArrayLike | nd.NDArray]],
    options: Options,
) -> dict[Expr, Encoding]:
    """Return the encodings that lose least; values that are parameters are looked at as well."""
    seen: dict[Expr, Histogram] = {expr: Histogram() for expr in wanted}
    names = {param.name: param for param in function.params}
    for feed in dataset:
        inputs = {name: _numpy(feed[name]) for name in names if name in feed}
        for name, value in inputs.items():
            if names[name] in seen:
                seen[names[name]].add(value)

        def look(call: Expr, value: object) -> None:
            if call in seen:
                seen[call].add(np.asarray(value))

        run(function, inputs, look)
    if not all(each.seen for each in seen.values()):
        raise RelayError("quantize: the dataset is empty; give inputs by name, one mapping for each run")
    return {expr: candidates(each, each, options)[0].encoding for expr, each in seen.items()}


def _numpy(value: npt.ArrayLike | nd.NDArray) -> Array:
    return value.numpy() if isinstance(value, nd.NDArray) else np.asarray(value)
