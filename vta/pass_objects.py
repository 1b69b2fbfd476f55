"""Passes as objects, under TVM's names: ``tvm.transform.Sequential``, ``module_pass``, ``prim_func_pass``.

An object is called with a module and returns a new one. What the current ``PassContext`` says of disabled passes, of
levels of optimisation and of instruments holds. Tests: tests/vta/front/test_pass_objects.py.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias, overload

from isa.config import VTAConfig
from isa.errors import VTAError
from vta.instrument import PassInfo, PassInstrument
from vta.tir.func import IRModule, Pass, PrimFunc
from vta.transform import PassContext

__all__ = [
    "FunctionPass", "ModulePass", "PassError", "PassObject", "PrintIR", "Sequential", "function_of", "module_pass",
    "of_function", "prim_func_pass",
]  # fmt: skip

OnModule: TypeAlias = Callable[[IRModule, PassContext], IRModule]
OnFunction: TypeAlias = Callable[[PrimFunc, IRModule, PassContext], PrimFunc]


class PassError(VTAError, TypeError):
    """A pass that is given, or returns, what it should not."""


class PassObject(Protocol):
    """What can be called with a module and says who it is."""

    @property
    def info(self) -> PassInfo:
        """Name and level."""
        ...

    def __call__(self, mod: IRModule) -> IRModule:
        """Return the module that the pass makes of ``mod``."""
        ...


def _result(value: object, kind: type[IRModule | PrimFunc], info: PassInfo) -> object:
    if not isinstance(value, kind):
        raise PassError(f"pass {info.name!r} must return {kind.__name__}, and returned {type(value).__name__}")
    return value


class ModulePass:
    """A pass that sees the whole module: ``transform(module, context)`` returns a module."""

    def __init__(self, transform: OnModule, info: PassInfo) -> None:
        self.info = info
        self._transform = transform

    def __call__(self, mod: IRModule) -> IRModule:
        """Return the module that the pass makes of ``mod``."""
        if not isinstance(mod, IRModule):
            raise PassError(f"pass {self.info.name!r} takes an IRModule, not {type(mod).__name__}")
        context = PassContext.current()
        watchers = [i for i in context.instruments if isinstance(i, PassInstrument)]
        if not all(watcher.should_run(mod, self.info) for watcher in watchers):
            return mod
        for watcher in watchers:
            watcher.run_before_pass(mod, self.info)
        result = _result(self._transform(mod, context), IRModule, self.info)
        assert isinstance(result, IRModule)
        for watcher in watchers:
            watcher.run_after_pass(result, self.info)
        for listener in context.instruments:
            if not isinstance(listener, PassInstrument):
                for func in result.functions.values():
                    listener(self.info.name, func)
        return result

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.info.name!r}, opt_level={self.info.opt_level})"


class FunctionPass(ModulePass):
    """A pass that sees one function at a time: ``transform(function, module, context)`` returns a function."""

    def __init__(self, transform: OnFunction, info: PassInfo) -> None:
        self.transform_function = transform

        def on_module(mod: IRModule, context: PassContext) -> IRModule:
            return IRModule({n: self.on_function(f, mod, context) for n, f in mod.functions.items()}, mod.config)

        super().__init__(on_module, info)

    def on_function(self, func: PrimFunc, mod: IRModule, context: PassContext) -> PrimFunc:
        """Return the function that the pass makes of one."""
        result = _result(self.transform_function(func, mod, context), PrimFunc, self.info)
        assert isinstance(result, PrimFunc)
        return result


class Sequential(ModulePass):
    """Passes one after the other: those that the context enables, by their level or because it requires them."""

    def __init__(
        self,
        passes: Sequence[PassObject] = (),
        opt_level: int = 0,
        name: str = "sequential",
        required: Sequence[str] = (),
        traceable: bool = False,  # noqa: ARG002  # TVM's signature
    ) -> None:
        for item in passes:
            if not callable(item) or not isinstance(getattr(item, "info", None), PassInfo):
                raise PassError(f"Sequential takes passes, such as tir.transform.Simplify(), not {item!r}")
        self.passes = tuple(passes)
        super().__init__(self._run, PassInfo(opt_level, name, tuple(required)))

    def _run(self, mod: IRModule, context: PassContext) -> IRModule:
        for item in self.passes:
            if _enabled(item.info, context):
                mod = item(mod)
        return mod


def _enabled(info: PassInfo, context: PassContext) -> bool:
    names = {info.name, info.name.removeprefix("tir.")}
    if names & {name.removeprefix("tir.") for name in context.disabled_pass}:
        return False
    return bool(names & set(context.required_pass)) or info.opt_level <= context.opt_level


def _make_info(function: object, opt_level: int | None, name: str | None, required: Sequence[str]) -> PassInfo:
    if opt_level is None:
        raise PassError("a pass needs its opt_level, for example opt_level=0")
    return PassInfo(opt_level, name or str(getattr(function, "__name__", type(function).__name__)), tuple(required))


@overload
def prim_func_pass(
    pass_func: OnFunction, opt_level: int | None = None, name: str | None = None, required: Sequence[str] = ()
) -> FunctionPass: ...
@overload
def prim_func_pass(
    pass_func: type, opt_level: int | None = None, name: str | None = None, required: Sequence[str] = ()
) -> Callable[..., FunctionPass]: ...
@overload
def prim_func_pass(
    pass_func: None = None, opt_level: int | None = None, name: str | None = None, required: Sequence[str] = ()
) -> Callable[[OnFunction], FunctionPass]: ...
def prim_func_pass(
    pass_func: OnFunction | type | None = None,
    opt_level: int | None = None,
    name: str | None = None,
    required: Sequence[str] = (),
) -> object:
    """Make a pass of ``f(function, module, context)``, or of a class with ``transform_function``; also a decorator."""

    def make(given: OnFunction | type) -> object:
        if inspect.isclass(given):

            def construct(*args: object, **options: object) -> FunctionPass:
                inner: Any = given(*args, **options)
                return FunctionPass(inner.transform_function, _make_info(given, opt_level, name, required))

            return construct
        return FunctionPass(given, _make_info(given, opt_level, name, required))

    return make if pass_func is None else make(pass_func)


@overload
def module_pass(
    pass_func: OnModule, opt_level: int | None = None, name: str | None = None, required: Sequence[str] = ()
) -> ModulePass: ...
@overload
def module_pass(
    pass_func: type, opt_level: int | None = None, name: str | None = None, required: Sequence[str] = ()
) -> Callable[..., ModulePass]: ...
@overload
def module_pass(
    pass_func: None = None, opt_level: int | None = None, name: str | None = None, required: Sequence[str] = ()
) -> Callable[[OnModule], ModulePass]: ...
def module_pass(
    pass_func: OnModule | type | None = None,
    opt_level: int | None = None,
    name: str | None = None,
    required: Sequence[str] = (),
) -> object:
    """Make a pass of ``f(module, context)``, or of a class with ``transform_module``; also a decorator."""

    def make(given: OnModule | type) -> object:
        if inspect.isclass(given):

            def construct(*args: object, **options: object) -> ModulePass:
                inner: Any = given(*args, **options)
                return ModulePass(inner.transform_module, _make_info(given, opt_level, name, required))

            return construct
        return ModulePass(given, _make_info(given, opt_level, name, required))

    return make if pass_func is None else make(pass_func)


def PrintIR(header: str = "", show_meta_data: bool = False) -> ModulePass:  # noqa: ARG001, N802  # TVM's signature
    """Return the pass that prints the module, and leaves it as it is."""

    def show(mod: IRModule, context: PassContext) -> IRModule:  # noqa: ARG001  # a pass's signature
        print(f"{header}\n{mod}" if header else str(mod))
        return mod

    return ModulePass(show, PassInfo(0, "PrintIR"))


def of_function(transform: Pass, name: str) -> FunctionPass:
    """Return the object of one of this toolchain's own passes, functions of (function, configuration)."""

    def on_function(func: PrimFunc, mod: IRModule, context: PassContext) -> PrimFunc:  # noqa: ARG001
        return transform(func, mod.config)

    return FunctionPass(on_function, PassInfo(0, f"tir.{name}"))


def function_of(given: Pass | ModulePass) -> Pass:
    """Return the function of (function, configuration) of a pass, which may be an object."""
    if not isinstance(given, ModulePass):
        return given

    def transform(func: PrimFunc, config: VTAConfig) -> PrimFunc:
        result = given(IRModule({func.name: func}, config))
        if len(result) != 1:
            raise PassError(f"pass {given.info.name!r} made {len(result)} functions of one; it cannot stand in a phase")
        return next(iter(result.functions.values()))

    transform.__name__ = given.info.name
    return transform
