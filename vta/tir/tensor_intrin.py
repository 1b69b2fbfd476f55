"""``tir.TensorIntrin``: what an intrinsic computes, as a function of one block, and the statements that do it.

``tir.Schedule.tensorize`` puts ``impl`` in the place of loops that compute what ``desc`` does. Tests:
tests/vta/tir/test_tensor_intrin.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Protocol, runtime_checkable

from isa.errors import VTAError
from vta.tir.buffer import Buffer
from vta.tir.func import PrimFunc
from vta.tir.stmt import Block, For, Stmt

__all__ = ["SeveralIntrinsics", "TensorIntrin", "TensorIntrinError"]


class TensorIntrinError(VTAError, ValueError):
    """An intrinsic that is described in a way that has no meaning, or that there is not."""


@dataclass(frozen=True, slots=True, eq=False)
class TensorIntrin:
    """``impl`` does what ``desc`` computes: functions of the same buffers, in the same order.

    ``desc`` is one block in loops. ``start``, if given, gives the outputs the values that a reduction begins with: it
    is used where loops of the reduction stay outside of the intrinsic, ``desc`` then being one step without a start.
    """

    desc: PrimFunc
    impl: PrimFunc
    name: str = "intrinsic"
    start: TensorIntrin | None = None

    def __post_init__(self) -> None:
        ours, theirs = buffers_of(self.desc, self.name), buffers_of(self.impl, self.name)
        if len(ours) != len(theirs):
            raise TensorIntrinError(
                f"intrinsic {self.name!r}: desc has {len(ours)} buffers, impl {len(theirs)}; expected the same ones"
            )
        for a, b in zip(ours, theirs, strict=True):
            if a.dtype != b.dtype or len(a.shape) != len(b.shape):
                raise TensorIntrinError(
                    f"intrinsic {self.name!r}: buffer {a.name!r} of desc has {len(a.shape)} dimensions of {a.dtype}, "
                    f"buffer {b.name!r} of impl {len(b.shape)} of {b.dtype}"
                )
        nest_of(self.desc, self.name)

    @staticmethod
    def register(name: str, desc: PrimFunc, impl: PrimFunc, override: bool = False) -> TensorIntrin:
        """Put an intrinsic under a name; return it."""
        if not isinstance(desc, PrimFunc) or not isinstance(impl, PrimFunc):
            raise TensorIntrinError(f"intrinsic {name!r}: desc and impl are functions (T.prim_func)")
        made = TensorIntrin(desc, impl, name)
        with _LOCK:
            if name in _REGISTERED and not override:
                raise TensorIntrinError(f"intrinsic {name!r} is registered already; override=True replaces it")
            _REGISTERED[name] = made
        return made

    @staticmethod
    def get(name: str) -> TensorIntrin:
        """Return the intrinsic of that name."""
        with _LOCK:
            if name not in _REGISTERED:
                known = ", ".join(sorted(_REGISTERED)) or "none"
                raise TensorIntrinError(
                    f"there is no intrinsic {name!r}; registered are: {known} (tir.TensorIntrin.register)"
                )
            return _REGISTERED[name]

    @staticmethod
    def has(intrinsic: TensorIntrin) -> bool:
        """Whether the intrinsic is the one that is registered under its name."""
        with _LOCK:
            return _REGISTERED.get(intrinsic.name) is intrinsic

    def __repr__(self) -> str:
        return f"TensorIntrin({self.name!r})"


@runtime_checkable
class SeveralIntrinsics(Protocol):
    """Something that is an intrinsic in several ways, of which the first one that fits is used."""

    def block_intrinsics(self) -> Sequence[TensorIntrin]:
        """Return the ways."""


_REGISTERED: dict[str, TensorIntrin] = {}
"""The intrinsics of this process by name: what ``register`` is for."""
_LOCK = Lock()


def buffers_of(func: PrimFunc, name: str) -> list[Buffer]:
    """Return the buffers that are the parameters of ``func``."""
    missing = [param.name for param in func.params if param not in func.buffer_map]
    if missing:
        raise TensorIntrinError(f"intrinsic {name!r}: parameter {missing[0]!r} is no buffer")
    return [func.buffer_map[param] for param in func.params]


def nest_of(func: PrimFunc, name: str) -> tuple[list[For], Block]:
    """Return the loops of ``desc`` and the block in them."""
    stmt: Stmt = func.body
    loops: list[For] = []
    root = True
    while True:
        match stmt:
            case For():
                loops.append(stmt)
                stmt = stmt.body
            case Block() if root and not stmt.iter_vars and isinstance(stmt.body, For | Block):
                root, stmt = False, stmt.body
            case Block():
                return loops, stmt
            case _:
                raise TensorIntrinError(f"intrinsic {name!r}: desc must be loops around one block")
