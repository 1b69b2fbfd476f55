"""Intrinsics of a script's own, and what a target makes of any intrinsic: TVM's ``register_op_attr`` and its like.

A script says that there is an intrinsic ``tir.mylog`` and whether it does more than give a value; then it may be
called by name (``call_intrin``). A rule says what a call becomes in the code of one kind of target, or of all
("default"); rules for intrinsics that are here come before what this toolchain makes of them itself. One table serves
the whole process, as in TVM. Tests: tests/vta/tir/test_own_intrinsic.py.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias

from isa.errors import VTAError
from vta.tir.dtype import DType
from vta.tir.expr.builtin import Builtin
from vta.tir.expr.nodes import Call, Expr, StringImm

__all__ = [
    "CallEffectKind", "IntrinsicCall", "IntrinsicError", "OwnIntrinsic", "Rule", "own_intrinsic",
    "register_intrin_lowering", "register_intrin_rule", "register_op_attr", "rule_for",
]  # fmt: skip


class IntrinsicError(VTAError, ValueError):
    """An intrinsic or a rule that cannot be registered."""


class CallEffectKind(IntEnum):
    """What a call does besides giving a value, least first; up to ``Pure`` it does nothing else."""

    ExprAnnotation = 0
    Pure = 1
    ReadState = 2
    UpdateState = 3
    Opaque = 3
    SpecialCallArg = 4
    EmbedInfo = 5
    ControlJump = 6


class OwnIntrinsic(str):
    """The name of an intrinsic of a script's own."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """The name, for example "tir.mylog"."""
        return str(self)

    def same_as(self, other: object) -> bool:
        """Whether ``other`` is this one."""
        return self == other


@dataclass(frozen=True, slots=True)
class IntrinsicCall:
    """A call as rules see it: the type of its result, what is called (``op.name``), and its arguments."""

    dtype: DType
    op: OwnIntrinsic
    args: tuple[Expr, ...]

    @staticmethod
    def of(call: Call) -> IntrinsicCall:
        """Return the call of an intrinsic, built in or not."""
        if call.op not in (Builtin.CALL_INTRIN, Builtin.CALL_PURE_INTRIN):
            return IntrinsicCall(call.dtype, OwnIntrinsic(call.op.value), call.args)
        name, *args = call.args
        assert isinstance(name, StringImm)
        return IntrinsicCall(call.dtype, OwnIntrinsic(name.value), tuple(args))


Rule: TypeAlias = Callable[[IntrinsicCall], Expr | None]
"""What a call becomes; None: this rule has nothing to say of it."""

_FOR_ALL = "default"
_EFFECT, _LOWER = "TCallEffectKind", ".FLowerIntrin"
_DEFAULT_LEVEL = 10


class _Table:
    """What scripts said; threads may share it."""

    def __init__(self) -> None:
        self._effects: dict[str, CallEffectKind] = {}
        self._rules: dict[tuple[str, str], tuple[int, Rule]] = {}
        self._lock = threading.Lock()

    def declare(self, name: str, effect: CallEffectKind) -> None:
        with self._lock:
            self._effects[name] = effect

    def effect_of(self, name: str) -> CallEffectKind | None:
        return self._effects.get(name)

    def add_rule(self, name: str, target: str, rule: Rule, *, level: int, override: bool) -> None:
        with self._lock:
            if self._rules.get((name, target), (level,))[0] > level:
                return
            if (name, target) in self._rules and not override:
                raise IntrinsicError(
                    f"target {target!r} has a rule for {name!r} already; override=True, or a higher level, replaces it"
                )
            self._rules[name, target] = (level, rule)

    def rule(self, name: str, target: str) -> Rule | None:
        found = self._rules.get((name, target)) or self._rules.get((name, _FOR_ALL))
        return None if found is None else found[1]

    def has_rules(self) -> bool:
        return bool(self._rules)


_GLOBAL = _Table()


def own_intrinsic(name: str) -> tuple[OwnIntrinsic, Builtin] | None:
    """Return an intrinsic that a script declared, and which kind of call calls it; None if there is none."""
    effect = _GLOBAL.effect_of(name)
    if effect is None:
        return None
    pure = effect <= CallEffectKind.Pure
    return OwnIntrinsic(name), Builtin.CALL_PURE_INTRIN if pure else Builtin.CALL_INTRIN


def rule_for(target: str) -> Rule | None:
    """Return what applies all rules of a kind of target to one call; None if there is no rule at all."""
    if not _GLOBAL.has_rules():
        return None

    def rule(call: IntrinsicCall) -> Expr | None:
        found = _GLOBAL.rule(call.op, target)
        result = None if found is None else found(call)
        if result is not None and not isinstance(result, Expr):
            raise IntrinsicError(f"the rule of target {target!r} for {call.op!s} returned {result!r}, no expression")
        return result

    return rule


def register_op_attr(op_name: str, attr_key: str, value: object = None, level: int = _DEFAULT_LEVEL) -> object:
    """Say something of an intrinsic: its ``TCallEffectKind``, or the rule of a target (``llvm.FLowerIntrin``).

    Without ``value`` it is a decorator. Raises ``IntrinsicError`` for other facts, which mean nothing here.
    """
    if value is None:
        return lambda function: register_op_attr(op_name, attr_key, function, level)
    if attr_key == _EFFECT:
        if op_name in list(Builtin):
            raise IntrinsicError(f"{op_name!r} is an intrinsic that is here; what it does cannot be changed")
        _GLOBAL.declare(_checked(op_name), CallEffectKind(int(value)))  # type: ignore[call-overload]  # a kind, or its number
    elif attr_key.endswith(_LOWER):
        _add(_checked(op_name), attr_key.removesuffix(_LOWER), value, level=level, override=True)
    else:
        raise IntrinsicError(
            f"{op_name}: attribute {attr_key!r} means nothing here; there are '{_EFFECT}' and 'TARGET{_LOWER}'"
        )
    return value


def register_intrin_lowering(
    op_name: str, target: str, *, f: Rule | None = None, level: int = _DEFAULT_LEVEL
) -> object:
    """Say what a target makes of calls of an intrinsic; of several rules, the one with the highest level counts.

    Without ``f`` it is a decorator. A rule takes an ``IntrinsicCall``.
    """
    if f is None:
        return lambda function: register_intrin_lowering(op_name, target, f=function, level=level)
    _add(_checked(op_name), target, f, level=level, override=True)
    return f


def register_intrin_rule(target: str, name: str, f: Rule | None = None, override: bool = False) -> object:
    """Say what a target makes of intrinsic ``tir.NAME``: TVM's older form.

    Raises ``IntrinsicError`` if there is a rule already and ``override`` is not said.
    """
    if f is None:
        return lambda function: register_intrin_rule(target, name, function, override)
    _add(f"tir.{name.removeprefix('tir.')}", target, f, level=_DEFAULT_LEVEL, override=override)
    return f


def _add(name: str, target: str, rule: object, *, level: int, override: bool) -> None:
    if not callable(rule):
        raise IntrinsicError(f"{name}: a rule is a function of a call, not {rule!r}")
    if name not in list(Builtin) and _GLOBAL.effect_of(name) is None:
        _GLOBAL.declare(name, CallEffectKind.Opaque)
    _GLOBAL.add_rule(name, target, rule, level=level, override=override)


def _checked(name: object) -> str:
    if not isinstance(name, str) or not name.startswith("tir."):
        raise IntrinsicError(f"intrinsics are called 'tir.NAME', not {name!r}")
    return name
