"""The pass context under TVM's name: which passes are off, how host code is optimised, options for one region of code.

A context made inside another one starts from it: disabled passes and options add up, so nothing that an outer ``with``
asked for is lost. Tests: tests/vta/front/test_pass_context.py.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from isa.errors import VTAError
from vta.instrument import PassInstrument
from vta.tir.func import Pass

__all__ = ["ADD_LOWER_PASS", "DEBUG_FLAG", "PASSES_ELSEWHERE", "OptionError", "PassContext", "merge"]

ADD_LOWER_PASS = "tir.add_lower_pass"
"""Option: list of (phase, pass) to run in addition; phases 0 to 3 as in TVM."""

DEBUG_FLAG = "vta.debug_flag"
"""Option: flag of VTASetDebugMode with which every lowered function starts; 0 for none."""

OPTIONS: Mapping[str, type | tuple[type, ...]] = {
    ADD_LOWER_PASS: (list, tuple),
    DEBUG_FLAG: int,
    "tir.disable_vectorize": bool,
    "tir.disable_assert": bool,
    "tir.instrument_bound_checkers": bool,
    "tir.noalias": bool,
    "tir.debug_keep_trivial_loop": bool,
    "tir.UnrollLoop": Mapping,
    "tir.LoopPartition": Mapping,
    "tir.HoistIfThenElse": Mapping,
    "tir.InjectDoubleBuffer": Mapping,
    "relay.backend.use_auto_scheduler": bool,
    "relay.FuseOps.max_depth": int,
}


PASSES_ELSEWHERE = frozenset(
    {
        # of graphs
        "AlterOpLayout", "CanonicalizeCast", "CanonicalizeOps", "CombineParallelBatchMatmul", "CombineParallelConv2D",
        "CombineParallelDense", "DeadCodeElimination", "EliminateCommonSubexpr", "FastMath", "FoldConstant",
        "FoldExplicitPadding", "FoldScaleAxis", "FuseOps", "InferType", "Legalize", "SimplifyExpr",
        "SimplifyInference", "ToANormalForm", "ToGraphNormalForm",
        # of loops, that this compiler does without
        "BF16Legalize", "CompactBufferAllocation", "ConvertBlocksToOpaque", "FlattenBuffer",
        "InjectDoubleBuffer", "InjectPrefetch", "InjectSoftwarePipeline",
        "LowerCrossThreadReduction", "LowerInitBlock", "LowerMatchBuffer", "LowerVtcmAlloc",
        "PlanAndUpdateBufferAllocationLocation", "RenormalizeSplitPattern", "RewriteUnsafeSelect", "TextureFlatten",
        "UnifyThreadBinding",
    }
)  # fmt: skip
"""Names of TVM's passes that lowering a function does not run here: leaving them out changes nothing."""


class OptionError(VTAError, ValueError):
    """An option that no pass has, or a value of the wrong type."""


_CURRENT: ContextVar[tuple["PassContext", ...]] = ContextVar("vta_pass_context", default=())


@dataclass(frozen=True, slots=True)
class PassContext:
    """Settings of the compiler; ``with`` makes them the current ones.

    ``opt_level`` 0 to 3 is for graph and host code optimisation; ``disabled_pass`` names passes to leave out;
    ``config`` has options by name; ``instruments`` are objects of ``vta.instrument``, or functions, which are called as
    ``after_each(name, function)``.
    """

    opt_level: int = 2
    required_pass: Collection[str] = ()
    disabled_pass: Collection[str] = ()
    config: Mapping[str, object] = field(default_factory=dict)
    instruments: Sequence[Callable[[str, object], None] | PassInstrument] = ()

    def __post_init__(self) -> None:
        for field_name, names in (("disabled_pass", self.disabled_pass), ("required_pass", self.required_pass)):
            if isinstance(names, str):
                raise OptionError(f"{field_name} takes a list of names, not the string {names!r}; write [{names!r}]")
        if not isinstance(self.opt_level, int) or self.opt_level < 0:
            raise OptionError(f"opt_level takes a number, 0 to 3, not {self.opt_level!r}")
        for instrument in self.instruments:
            if not callable(instrument) and not isinstance(instrument, PassInstrument):
                raise OptionError(f"instruments are objects of vta.instrument or functions, not {instrument!r}")
        for name, value in self.config.items():
            _check_option(name, value)

    @classmethod
    def current(cls) -> "PassContext":
        """Return the context of the innermost ``with``, the default one outside of any."""
        stack = _CURRENT.get()
        return stack[-1] if stack else _DEFAULT

    @property
    def lower_passes(self) -> tuple[tuple[int, Pass], ...]:
        """The additional passes, with their phases."""
        return tuple(self.config.get(ADD_LOWER_PASS, ()))  # type: ignore[arg-type]  # checked on entry

    @property
    def debug_flag(self) -> int:
        """The flag for VTASetDebugMode; 0 for none."""
        value = self.config.get(DEBUG_FLAG, 0)
        assert isinstance(value, int)
        return value

    def __enter__(self) -> Self:
        merged = merge(PassContext.current(), self) if _CURRENT.get() else self
        _CURRENT.set((*_CURRENT.get(), merged))
        for instrument in self.instruments:
            if isinstance(instrument, PassInstrument):
                instrument.enter_pass_ctx()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _CURRENT.set(_CURRENT.get()[:-1])
        for instrument in self.instruments:
            if isinstance(instrument, PassInstrument):
                instrument.exit_pass_ctx()


_DEFAULT = PassContext()


def merge(outer: PassContext, inner: PassContext) -> PassContext:
    """Return ``inner`` with what ``outer`` asked for in addition; where they contradict each other, ``inner`` wins."""
    config = {**outer.config, **inner.config}
    lists = [context.config.get(ADD_LOWER_PASS, ()) for context in (outer, inner)]
    passes = [entry for entries in lists for entry in entries]  # type: ignore[attr-defined]  # checked to be sequences
    if passes:
        config[ADD_LOWER_PASS] = list(dict.fromkeys(passes))
    return PassContext(
        opt_level=inner.opt_level,
        required_pass=tuple(dict.fromkeys([*outer.required_pass, *inner.required_pass])),
        disabled_pass=tuple(dict.fromkeys([*outer.disabled_pass, *inner.disabled_pass])),
        config=config,
        instruments=tuple(dict.fromkeys([*outer.instruments, *inner.instruments])),
    )


def _check_option(name: str, value: object) -> None:
    if name not in OPTIONS:
        raise OptionError(f"unknown option {name!r}; known are {', '.join(OPTIONS)}")
    if not isinstance(value, OPTIONS[name]):
        wanted = OPTIONS[name]
        names = " or ".join(kind.__name__ for kind in (wanted if isinstance(wanted, tuple) else (wanted,)))
        article = "an" if names[0] in "aeiou" else "a"
        raise OptionError(f"option {name!r} takes {article} {names}, not {value!r}")


def __getattr__(name: str) -> object:
    """Return a pass of the accelerator, or of TIR, as TVM-VTA's ``vta.transform`` has them: ``FoldUopLoop()``, ..."""
    if name[:1].isupper():  # not what the import system asks for
        from vta import tir_passes  # it runs passes in contexts

        if name in tir_passes.__all__:
            return getattr(tir_passes, name)
    raise AttributeError(f"module 'vta.transform' has no attribute {name!r}; its passes are those of vta.tir_passes")
