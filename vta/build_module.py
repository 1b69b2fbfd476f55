"""From a schedule to a compiled module, under TVM's names: ``lower``, ``build``, ``build_config``.

``lower`` and ``build`` run the accelerator's passes for the current environment, with the settings of the current
``PassContext``; with a CPU target, ``build`` runs the passes that any target needs (``lower_generic``) and no others.
Tests: tests/vta/front/test_build_module.py.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from isa.errors import VTAError
from vta import te
from vta.codegen import CodeTarget, Module, emit_host
from vta.environment import get_env
from vta.instrument import PassInfo, PassInstrument
from vta.loop_options import passes_switched_off, with_bound_checks, with_options
from vta.pass_objects import function_of
from vta.passes import pipelines
from vta.passes.host.apply_intrinsic_rules import apply_intrinsic_rules
from vta.passes.host.skip_assert import skip_assert
from vta.passes.pipelines import PassScope
from vta.processor import processor_of
from vta.target import Target, TargetError
from vta.te.lowering.lower import Argument, schedule_to_func
from vta.tir.buffer import Buffer
from vta.tir.func import IRModule, PrimFunc
from vta.tir.stmt import Block
from vta.transform import DEBUG_FLAG, PASSES_ELSEWHERE, PassContext

__all__ = ["BuildError", "build", "build_config", "build_generic", "lower", "lower_generic", "schedule_to_module"]

Lowerable: TypeAlias = te.Schedule | PrimFunc | IRModule

_PARTITION = ("LoopPartition",)


class BuildError(VTAError, ValueError):
    """Something that cannot be lowered or built as it was asked for."""


def build_config(
    debug_flag: int = 0,
    *,
    opt_level: int = 2,
    required_pass: Collection[str] = (),
    disabled_pass: Collection[str] = (),
    config: Mapping[str, object] | None = None,
) -> PassContext:
    """Return the settings for building accelerator programs, to use with ``with``.

    ``debug_flag`` is what programs tell the runtime at their start (``Environment.DEBUG_*``). Options and disabled
    passes add to those of a context around; the accelerator's passes are always run.
    """
    options = dict(config or {})
    if debug_flag:
        options[DEBUG_FLAG] = debug_flag
    return PassContext(opt_level=opt_level, required_pass=required_pass, disabled_pass=disabled_pass, config=options)


def lower(
    inp: Lowerable,
    args: Sequence[Argument] | None = None,
    name: str = "main",
    binds: Mapping[te.Tensor, Buffer] | None = None,
    simple_mode: bool = False,
) -> IRModule:
    """Return the program of a schedule, lowered for the accelerator of the current environment; it prints.

    ``args`` are the function's arguments: tensors, variables, buffers. ``simple_mode`` keeps loops whole that would be
    split where their conditions change. Raises the errors of the schedule and of the passes, which name the stage.
    """
    return _lowered(inp, args, name, binds, PassScope.ACCELERATOR, skipped=_PARTITION if simple_mode else ())


def lower_generic(
    inp: Lowerable,
    args: Sequence[Argument] | None = None,
    name: str = "main",
    binds: Mapping[te.Tensor, Buffer] | None = None,
    simple_mode: bool = False,
) -> IRModule:
    """Return the program of a schedule after the passes that every target needs: what TVM's own ``lower`` shows."""
    return _lowered(inp, args, name, binds, PassScope.ANY, skipped=_PARTITION if simple_mode else ())


def schedule_to_module(
    sch: te.Schedule,
    args: Sequence[Argument] | None = None,
    name: str = "main",
    binds: Mapping[te.Tensor, Buffer] | None = None,
) -> IRModule:
    """Return the program of a schedule before any pass."""
    return IRModule({func.name: func for func in _functions(sch, args, name, binds)}, get_env().config)


def _lowered(
    inp: Lowerable,
    args: Sequence[Argument] | None,
    name: str,
    binds: Mapping[te.Tensor, Buffer] | None,
    scope: PassScope,
    skipped: Collection[str],
) -> IRModule:
    config, context = get_env().config, PassContext.current()
    functions = _functions(inp, args, name, binds)
    disabled = {name for name in context.disabled_pass if name.removeprefix("tir.") not in PASSES_ELSEWHERE}
    disabled.update(skipped, passes_switched_off(context))

    watchers = [i for i in context.instruments if isinstance(i, PassInstrument)]

    def before_each(pass_name: str, func: PrimFunc) -> bool:
        module, info = IRModule({func.name: func}, config), PassInfo(0, f"tir.{pass_name}")
        if not all(watcher.should_run(module, info) for watcher in watchers):
            return False
        for watcher in watchers:
            watcher.run_before_pass(module, info)
        return True

    def after_each(pass_name: str, func: PrimFunc) -> None:
        for instrument in context.instruments:
            if isinstance(instrument, PassInstrument):
                instrument.run_after_pass(IRModule({func.name: func}, config), PassInfo(0, f"tir.{pass_name}"))
            else:
                instrument(pass_name, func)

    accelerator = scope is PassScope.ACCELERATOR

    def one(func: PrimFunc) -> PrimFunc:
        prepared = with_bound_checks(with_options(func, context), config, context, accelerator=accelerator)
        return pipelines.run(
            prepared,
            config,
            scope=scope,
            disabled=disabled,
            before_each=before_each if watchers else None,
            after_each=after_each,
            debug_flag=context.debug_flag,
            added=[(phase, function_of(added)) for phase, added in context.lower_passes],
        )

    done = [one(func) for func in functions]
    if context.config.get("tir.disable_assert"):
        done = [skip_assert(func, config) for func in done]
    return IRModule({func.name: func for func in done}, config)


def _functions(
    inp: Lowerable, args: Sequence[Argument] | None, name: str, binds: Mapping[te.Tensor, Buffer] | None
) -> list[PrimFunc]:
    match inp:
        case te.Schedule():
            if args is None:
                raise BuildError("a schedule has no arguments of its own; give args=[A, B, C]")
            return [schedule_to_func(inp, args, name, binds)]
        case PrimFunc() | IRModule() if args is not None:
            raise BuildError("a function has its arguments already; args= goes with a schedule")
        case PrimFunc():
            return [inp]
        case IRModule():
            return _named(inp)
        case _:
            raise BuildError(f"expected a schedule, a function or a module, got {type(inp).__name__}")


def _named(module: IRModule) -> list[PrimFunc]:
    """Return the functions, each called as the module calls it."""
    return [func if func.name == name else replace(func, name=name) for name, func in module.functions.items()]


def build(
    inputs: Lowerable,
    args: Sequence[Argument] | None = None,
    target: str | Target | None = None,
    target_host: str | Target | None = None,
    runtime: object = None,
    name: str = "default_function",
    binds: Mapping[te.Tensor, Buffer] | None = None,
) -> Module:
    """Return the compiled module of a schedule, or of what ``lower`` returned.

    ``target`` is the accelerator ("ext_dev", ``env.target``; the default) or the CPU ("llvm"); ``target_host`` is what
    the host code runs on, this computer if left out. ``runtime`` is TVM's and must be None.
    """
    chosen = Target(target or Target.current() or get_env().target, target_host)
    return _build(inputs, args, chosen, runtime, name, binds)


def build_generic(
    inputs: Lowerable | Sequence[IRModule] | Mapping[str | Target, IRModule],
    args: Sequence[Argument] | None = None,
    target: str | Target | None = None,
    target_host: str | Target | None = None,
    runtime: object = None,
    name: str = "default_function",
    binds: Mapping[te.Tensor, Buffer] | None = None,
) -> Module:
    """Return the compiled module, as ``build`` does, for the CPU where no target is given: TVM's own ``build``.

    Several modules become one; a mapping names the target that they are for.
    """
    if isinstance(inputs, Mapping):
        inputs, target = _of_one_target(inputs)
    if isinstance(inputs, Sequence):
        inputs = _joined(inputs)
    chosen = Target(target or Target.current() or "llvm", target_host)
    return _build(inputs, args, chosen, runtime, name, binds)


def _of_one_target(modules: Mapping[str | Target, IRModule]) -> tuple[IRModule, str | Target]:
    """Return the module of a mapping, and its target."""
    if len(modules) != 1:
        raise BuildError(
            f"a mapping of targets to modules: expected one target, got {len(modules)}; call build for each of them"
        )
    ((target, module),) = modules.items()
    return module, target


def _joined(modules: Sequence[IRModule]) -> IRModule:
    """Return one module of the functions of several."""
    functions: dict[str, PrimFunc] = {}
    for module in modules:
        if not isinstance(module, IRModule):
            raise BuildError(f"a list of modules: expected modules, got {type(module).__name__}")
        for name, func in module.functions.items():
            if name in functions:
                raise BuildError(f"a list of modules: two functions are called {name!r}; give them names that differ")
            functions[name] = func
    return IRModule(functions, modules[0].config if modules else get_env().config)


def _build(
    inputs: Lowerable,
    args: Sequence[Argument] | None,
    target: Target,
    runtime: object,
    name: str,
    binds: Mapping[te.Tensor, Buffer] | None,
) -> Module:
    if runtime is not None:
        raise BuildError(f"runtime {runtime!r}: host code runs on this toolchain's own runtime; leave runtime= out")
    if isinstance(inputs, IRModule) and all(map(_is_lowered, inputs.functions.values())):
        module = inputs
    else:
        _check_model(target)
        lower_for = lower if target.is_accelerator else lower_generic
        module = lower_for(inputs, args, name, binds)
    if target.is_gpu:
        raise BuildError(
            f"target {target.kind!s}: the program was lowered, and code is made for the CPU ('llvm') and the "
            "accelerator ('ext_dev') alone"
        )
    host = target.host or (Target("llvm") if target.is_accelerator else target)
    code_target = _code_target(host)
    functions = [apply_intrinsic_rules(func, host.kind) for func in _named(module)]
    program = emit_host(
        functions,
        module.config,
        triple=code_target.triple,
        on_device=target.is_accelerator,
        contracts=host.contracts and processor_of(host).fuses,
    )
    return Module.compile(program, code_target)


def _is_lowered(func: PrimFunc) -> bool:
    """Whether the passes have been over ``func``: they make buffers one-dimensional, and keep what they were."""
    return bool(func.declared) or not (func.buffer_map or isinstance(func.body, Block))


def _check_model(target: Target) -> None:
    """Refuse the target of another environment: the program would be for the wrong sizes."""
    env = get_env()
    if target.device_name == "vta" and target.model not in ("unknown", env.MODEL):
        raise BuildError(
            f"the target is for {target.model}, and the current environment is {env.MODEL}; "
            "build inside `with env:` of the environment that the target came from"
        )


def _code_target(host: Target) -> CodeTarget:
    if host.kind != "llvm":
        raise TargetError(f"host code is made with llvm, not {host.kind!r}; use target_host='llvm'")
    triple, cpu, features = (host.attrs.get(key, "") for key in ("mtriple", "mcpu", "mattr"))
    return CodeTarget(triple, cpu, features, min(PassContext.current().opt_level, 3))
