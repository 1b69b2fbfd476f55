"""Passes over graphs as objects, under TVM's names: ``relay.transform.FoldConstant()(module)``.

A pass takes a module or a function and returns the same kind. The current ``PassContext`` decides which of a sequence
run: by their level, by name, and by its instruments. Tests: tests/vta/relay/front/test_passes.py.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from runtime.executor.operators.types import RelayError
from vta.instrument import PassInfo, PassInstrument
from vta.relay.ir.module import IRModule
from vta.relay.ir.nodes import Function
from vta.relay.transform.canonicalize_ops import canonicalize_ops
from vta.relay.transform.convert_layout import Layouts, convert_layout
from vta.relay.transform.eliminate_common_subexpressions import eliminate_common_subexpressions
from vta.relay.transform.eliminate_dead_code import eliminate_dead_code
from vta.relay.transform.fold_constants import fold_constants
from vta.relay.transform.fold_scale_axis import fold_scale_axis
from vta.relay.transform.fusion.fuse_ops import fuse_ops
from vta.relay.transform.fusion.groups import MAX_OPERATORS
from vta.relay.transform.inline_lets import inline_lets
from vta.relay.transform.pipeline import NamedPass
from vta.relay.transform.simplify_inference import simplify_inference
from vta.transform import PassContext

__all__ = [
    "CanonicalizeOps", "ConvertLayout", "DeadCodeElimination", "EliminateCommonSubexpr", "FoldConstant",
    "FoldScaleAxis", "FuseOps", "GraphPass", "InferType", "Sequential", "SimplifyInference", "ToGraphNormalForm",
    "enabled_passes",
]  # fmt: skip

_G = TypeVar("_G", IRModule, Function)

_LEVELS: Mapping[str, int] = {
    "SimplifyInference": 0, "ToGraphNormalForm": 0, "InlineLets": 0, "PlainLayouts": 0, "InferType": 0, "FuseOps": 0,
    "DeadCodeElimination": 1, "FoldConstant": 2, "CanonicalizeOps": 3, "ConvertLayout": 3, "EliminateCommonSubexpr": 3,
    "FoldScaleAxis": 3,
}  # fmt: skip
"""The level of optimisation from which a pass runs in a sequence, as in TVM."""


class GraphPass:
    """A pass: called with a module or a function, it returns a new one of that kind."""

    def __init__(self, info: PassInfo, transform: Callable[[Function], Function]) -> None:
        self.info = info
        self._transform = transform

    def __call__(self, mod: _G) -> _G:
        """Return what the pass makes of ``mod``."""
        if isinstance(mod, Function):
            return self._watched(IRModule.from_expr(mod))["main"]
        if not isinstance(mod, IRModule):
            raise RelayError(f"pass {self.info.name!r} takes a module or a function of relay, not {type(mod).__name__}")
        return self._watched(mod)

    def _watched(self, mod: IRModule) -> IRModule:
        """Run the pass; the instruments of the context hear of it, and may leave it out."""
        instruments = PassContext.current().instruments
        watchers = [each for each in instruments if isinstance(each, PassInstrument)]
        if not all(watcher.should_run(mod, self.info) for watcher in watchers):  # type: ignore[arg-type]  # relay's
            return mod
        for watcher in watchers:
            watcher.run_before_pass(mod, self.info)  # type: ignore[arg-type]
        made = self._run(mod)
        for watcher in watchers:
            watcher.run_after_pass(made, self.info)  # type: ignore[arg-type]
        return made

    def _run(self, mod: IRModule) -> IRModule:
        return IRModule({name: self._transform(function) for name, function in mod.functions.items()})

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.info.name!r}, opt_level={self.info.opt_level})"


class Sequential(GraphPass):
    """Passes one after the other: those that the context enables."""

    def __init__(self, passes: Sequence[GraphPass] = (), opt_level: int = 0, name: str = "sequential") -> None:
        for each in passes:
            if not isinstance(each, GraphPass):
                raise RelayError(f"Sequential takes passes, such as relay.transform.FoldConstant(), not {each!r}")
        self.passes = tuple(passes)
        super().__init__(PassInfo(opt_level, name), lambda function: function)

    def _run(self, mod: IRModule) -> IRModule:
        for each in self.passes:
            if _enabled(each.info.name):
                mod = each(mod)
        return mod


def _enabled(name: str) -> bool:
    context = PassContext.current()
    if name in context.disabled_pass:
        return False
    return name in context.required_pass or _LEVELS.get(name, 0) <= context.opt_level


def enabled_passes(passes: Sequence[NamedPass], *, by_level: bool) -> tuple[NamedPass, ...]:
    """Return those that the current context enables; without ``by_level``, all that it does not disable by name."""
    disabled = PassContext.current().disabled_pass
    return tuple(each for each in passes if (_enabled(each.name) if by_level else each.name not in disabled))


def _named(name: str, transform: Callable[[Function], Function]) -> GraphPass:
    return GraphPass(PassInfo(_LEVELS[name], name), transform)


def SimplifyInference() -> GraphPass:  # noqa: N802  # TVM's names, here and below
    """Batch normalisation and dropout as inference computes them."""
    return _named("SimplifyInference", simplify_inference)


def FoldConstant() -> GraphPass:  # noqa: N802
    """What is known before the graph runs, computed."""
    return _named("FoldConstant", fold_constants)


def FoldScaleAxis() -> GraphPass:  # noqa: N802
    """Factors of channels, in the weights."""
    return _named("FoldScaleAxis", fold_scale_axis)


def CanonicalizeOps() -> GraphPass:  # noqa: N802
    """The same thing written in one way."""
    return _named("CanonicalizeOps", canonicalize_ops)


def DeadCodeElimination(inline_once: bool = False) -> GraphPass:  # noqa: ARG001, N802
    """Without what nobody reads."""
    return _named("DeadCodeElimination", eliminate_dead_code)


def EliminateCommonSubexpr() -> GraphPass:  # noqa: N802
    """The same calls once."""
    return _named("EliminateCommonSubexpr", eliminate_common_subexpressions)


def ToGraphNormalForm() -> GraphPass:  # noqa: N802
    """Without lets."""
    return _named("ToGraphNormalForm", inline_lets)


def InferType() -> GraphPass:  # noqa: N802
    """The same: types are inferred when calls are made."""
    return _named("InferType", lambda function: function)


def FuseOps(fuse_opt_level: int = -1) -> GraphPass:  # noqa: N802
    """Operators that become one kernel, in a function; at level 0 each in its own."""
    limit = 1 if fuse_opt_level == 0 else PassContext.current().config.get("relay.FuseOps.max_depth", MAX_OPERATORS)
    assert isinstance(limit, int)
    return _named("FuseOps", partial(fuse_ops, max_operators=limit))


def ConvertLayout(desired_layouts: Mapping[str, Sequence[str]]) -> GraphPass:  # noqa: N802
    """Convolutions of images in other layouts: ``{"nn.conv2d": ["NHWC", "default"]}``."""
    unknown = [name for name in desired_layouts if name != "nn.conv2d"]
    if unknown or len(wanted := list(desired_layouts.get("nn.conv2d", ()))) != 2:
        raise RelayError(
            "ConvertLayout takes layouts of data and weights for nn.conv2d, as {'nn.conv2d': ['NHWC', 'default']}, "
            f"not {dict(desired_layouts)}"
        )
    data, kernel = wanted
    kernel = {"NHWC": "HWIO"}.get(data, "OIHW") if kernel == "default" else kernel
    return _named("ConvertLayout", lambda function: convert_layout(function, Layouts(data, kernel)))
