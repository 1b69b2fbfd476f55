"""Functions and modules of TIR.

Tests: tests/vta/tir/test_func.py.
"""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from isa.config import VTAConfig
from isa.errors import VTAError
from vta.tir.buffer import Buffer
from vta.tir.dtype import HANDLE
from vta.tir.expr import ExprLike, IntImm, PlainInt, Var
from vta.tir.stmt import Evaluate, Stmt

__all__ = [
    "CALLING_CONVENTION", "PACKED", "FunctionError", "GlobalVar", "IRModule", "MissingFunctionError", "Pass",
    "PrimFunc",
]  # fmt: skip

CALLING_CONVENTION = "calling_conv"
"""The attribute of a function that says how it is called."""

PACKED = 1
"""Its value for functions that take packed arguments (TVM's ``CallingConv.C_PACKED_FUNC``); they give a status."""


_NOTHING = Evaluate(IntImm(0))


class FunctionError(VTAError, ValueError):
    """A function or module of something that none can be made of."""


class MissingFunctionError(VTAError, KeyError):
    """A function that a module does not have."""

    __str__ = Exception.__str__


class GlobalVar(str):
    """The name of a function in a module: the text itself, which is ``name_hint`` as well."""

    __slots__ = ()

    @property
    def name_hint(self) -> str:
        """The name."""
        return str(self)


@dataclass(frozen=True, slots=True)
class PrimFunc:
    """A function: ``params`` (handles for tensors, integers for sizes), a body, and the buffers behind the handles.

    ``buffer_map`` gives each handle parameter's buffer; ``attrs`` are facts about the function.
    ``declared`` keeps the buffers as the user shaped them after storage flattening made them one-dimensional.
    Also in TVM's order, ``PrimFunc(params, body, ret_type, buffer_map, attrs)``, where buffers may stand among the
    parameters; the name is then the attribute ``global_symbol``, or "main".
    """

    name: str = "main"
    params: tuple[Var, ...] = ()
    body: Stmt = _NOTHING
    buffer_map: Mapping[Var, Buffer] = field(default_factory=dict)
    attrs: Mapping[str, str | int | bool] = field(default_factory=dict)
    declared: Mapping[Var, Buffer] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if isinstance(self.name, str):
            if type(self.params) is not tuple or not all(isinstance(param, Var) for param in self.params):
                self._settle(self.name, self.params, self.body)
            return
        global_symbol = (self.attrs or {}).get("global_symbol", "main")
        self._settle(str(global_symbol), self.name, self.params)

    def _settle(self, name: str, params: Iterable[object], body: object) -> None:
        """Set the fields from what was given: buffers among the parameters, a body that is a statement."""
        if not isinstance(body, Stmt):
            raise FunctionError(f"PrimFunc takes parameters and a statement, not {body!r}")
        buffer_map = dict(self.buffer_map or {})
        settled = tuple(_parameter(param, buffer_map) for param in params)
        fields = {"name": name, "params": settled, "body": body, "buffer_map": buffer_map, "attrs": self.attrs or {}}
        for key, value in fields.items():
            object.__setattr__(self, key, value)

    @property
    def is_packed(self) -> bool:
        """Whether the function takes packed arguments, as ``tir.transform.MakePackedAPI`` makes it."""
        return self.attrs.get(CALLING_CONVENTION) == PACKED

    def astext(self) -> str:
        """Return the text, under TVM's name."""
        return str(self)

    def with_attr(self, key: str | Mapping[str, str | int | bool], value: str | int | bool | None = None) -> PrimFunc:
        """Return the function with an attribute more (or several, by name); ``global_symbol`` names it, too."""
        more = dict(key) if isinstance(key, Mapping) else {key: value}
        attrs = {**self.attrs, **{k: _attribute(v) for k, v in more.items() if v is not None}}
        return replace(self, name=str(attrs.get("global_symbol", self.name)), attrs=attrs)

    def same_as(self, other: object) -> bool:
        """Whether ``other`` is this very function."""
        return self is other

    def without_attr(self, key: str) -> PrimFunc:
        """Return the function without an attribute."""
        return replace(self, attrs={k: v for k, v in self.attrs.items() if k != key})

    def with_body(self, body: Stmt) -> PrimFunc:
        """Return the function with another body."""
        return replace(self, body=body)

    def specialize(self, param_map: Mapping[Var, Buffer | ExprLike]) -> PrimFunc:
        """Return the function for buffers of known sizes, and without the variables that get a value."""
        from vta.tir.specialize import specialized  # it makes functions

        return specialized(self, param_map)

    def script(self, show_meta: bool = False) -> str:
        """Return the function as TVMScript, which ``vta.tir.script.from_source`` reads."""
        from vta.tir.script import to_script  # the printer imports the nodes

        return to_script(self, show_meta)

    def __str__(self) -> str:
        from vta.tir.printer import to_text  # the printer imports the nodes

        return to_text(self)


def _attribute(value: str | int | bool) -> str | int | bool:
    """Return an attribute's value; whole numbers say theirs as constants do."""
    return PlainInt(value) if type(value) is int else value


def _parameter(param: object, buffer_map: dict[Var, Buffer]) -> Var:
    """Return the variable of a parameter; that of a buffer is a handle of its name."""
    match param:
        case Var():
            return param
        case Buffer():
            handle = Var(param.name, HANDLE)
            buffer_map[handle] = param
            return handle
        case _ if hasattr(param, "asobject"):  # memory of an ``ir_builder``: its pointer
            return _parameter(param.asexpr(), buffer_map)  # type: ignore[attr-defined]  # it has both
        case _:
            raise FunctionError(f"PrimFunc: parameters are variables and buffers, not {param!r}")


Pass: TypeAlias = Callable[[PrimFunc, VTAConfig], PrimFunc]
"""A transformation of one function for one configuration."""


@dataclass(frozen=True, slots=True)
class IRModule:
    """Functions by name, with the configuration that they were lowered for (the default one if none is given).

    A module has its own table of functions, which ``module[name] = function`` changes; the functions never change.
    """

    functions: Mapping[str, PrimFunc] = field(default_factory=dict)
    config: VTAConfig = field(default_factory=VTAConfig)
    attrs: Mapping[str, str | int | bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "attrs", dict(self.attrs or {}))
        own: dict[str, PrimFunc] = {}
        for name, func in self.functions.items():
            own[_checked_name(name)] = _checked_function(func)
        object.__setattr__(self, "functions", own)

    @staticmethod
    def from_expr(func: PrimFunc) -> IRModule:
        """Return the module of one function, under its attribute ``global_symbol``, or "main": as in TVM."""
        return IRModule({str(_checked_function(func).attrs.get("global_symbol", "main")): func})

    def __getitem__(self, name: str) -> PrimFunc:
        if name not in self.functions:
            raise MissingFunctionError(
                f"the module has no function {name!r}; it has {', '.join(self.functions) or 'none'}"
            )
        return self.functions[name]

    def __setitem__(self, name: str, func: PrimFunc) -> None:
        self.functions[_checked_name(name)] = _checked_function(func)  # type: ignore[index]  # its own dict

    def __contains__(self, name: object) -> bool:
        return name in self.functions

    def __len__(self) -> int:
        return len(self.functions)

    def astext(self) -> str:
        """Return the text, under TVM's name."""
        return str(self)

    def items(self) -> ItemsView[str, PrimFunc]:
        """Return names with functions."""
        return self.functions.items()

    def update(self, other: IRModule | Mapping[str, PrimFunc]) -> None:
        """Take the functions of another module over; they replace those of the same names."""
        for name, func in (other.functions if isinstance(other, IRModule) else other).items():
            self[name] = func

    update_func = __setitem__

    def with_attr(self, attr_key: str, attr_value: str | int | bool) -> IRModule:
        """Return the module with a fact more about it."""
        return replace(self, attrs={**self.attrs, attr_key: attr_value})

    def get_attr(self, attr_key: str) -> str | int | bool | None:
        """Return a fact about the module; None if there is none under that name."""
        return self.attrs.get(attr_key)

    def get_global_vars(self) -> list[GlobalVar]:
        """Return the names of the functions."""
        return [GlobalVar(name) for name in self.functions]

    def get_global_var(self, name: str) -> GlobalVar:
        """Return the name of a function that there must be; raises ``MissingFunctionError``."""
        _ = self[name]
        return GlobalVar(name)

    def script(self, show_meta: bool = False) -> str:
        """Return the module as TVMScript, a class of functions."""
        from vta.tir.script import to_script  # the printer imports the nodes

        return to_script(self, show_meta)

    def __str__(self) -> str:
        from vta.tir.printer import to_text  # the printer imports the nodes

        return to_text(self)


def _checked_name(name: object) -> GlobalVar:
    if not isinstance(name, str):
        raise FunctionError(f"functions of a module go by names, not {name!r}")
    return GlobalVar(name)


def _checked_function(func: object) -> PrimFunc:
    if not isinstance(func, PrimFunc):
        raise FunctionError(f"a module holds functions (tir.PrimFunc), not {type(func).__name__}")
    return func
