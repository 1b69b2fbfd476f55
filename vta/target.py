"""Targets under TVM's names: ``Target("ext_dev -device=vta ...")``, ``Target("llvm", host=...)``.

A target says what code is for; the accelerator's own facts are in the configuration.
Tests: tests/vta/front/test_target.py.
"""

import difflib
from collections.abc import Mapping
from contextvars import ContextVar
from types import TracebackType
from typing import Self

from isa.errors import VTAError

__all__ = ["Target", "TargetError", "TargetKind", "arm_cpu", "ext_dev", "vta"]


class TargetError(VTAError, ValueError):
    """A target string that means nothing here."""


_DEFAULT_KEYS: Mapping[str, tuple[str, ...]] = {
    "llvm": ("cpu",),
    "ext_dev": ("ext_dev",),
    "c": ("cpu",),
    **{kind: (kind, "gpu") for kind in ("cuda", "metal", "opencl", "rocm", "vulkan")},
}
"""The kinds of target, with the keys that each has by default. For GPUs schedules are lowered, and no code is made."""

_FLAGS = ("fast-math-contract",)
"""Options that are on or off, and may stand without a value."""

_ATTRIBUTES = (
    "device", "keys", "model", "libs", "tag", "mtriple", "mcpu", "mattr", "mabi", "mfloat-abi", "num-cores", *_FLAGS,
    "arch", "max_num_threads", "max_shared_memory_per_block", "max_threads_per_block", "thread_warp_size",
)  # fmt: skip


class TargetKind(str):
    """The kind of a target: a string that also has TVM's ``name``."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """The kind's name: "llvm", "ext_dev"."""
        return str(self)


_CURRENT: ContextVar[tuple["Target", ...]] = ContextVar("vta_target", default=())


class Target:
    """A parsed target: ``kind``, ``keys``, ``attrs`` and the ``host`` that drives it (None: the same machine).

    ``with target:`` makes it the current one. Raises ``TargetError`` for an unknown kind or option.
    """

    __slots__ = ("attrs", "host", "keys", "kind")

    def __init__(self, target: "str | Mapping[str, object] | Target", host: "str | Target | None" = None) -> None:
        options = _parse(target)
        kind = str(options.pop("kind"))
        if kind not in _DEFAULT_KEYS:
            raise TargetError(f"unknown target kind {kind!r}; known are {', '.join(sorted(_DEFAULT_KEYS))}")
        inner_host = options.pop("host", None)
        self.kind = TargetKind(kind)
        self.keys = _keys(options.pop("keys", ()), kind, str(options.get("device", "")))
        self.attrs: Mapping[str, str] = {key: str(value) for key, value in options.items()}
        chosen = host if host is not None else inner_host
        self.host: Target | None = None if chosen is None else Target(chosen)  # type: ignore[arg-type]  # checked there

    @property
    def device_name(self) -> str:
        """The value of ``-device``, empty without one."""
        return self.attrs.get("device", "")

    @property
    def model(self) -> str:
        """The value of ``-model``, "unknown" without one."""
        return self.attrs.get("model", "unknown")

    @property
    def mcpu(self) -> str:
        """The value of ``-mcpu``, empty without one."""
        return self.attrs.get("mcpu", "")

    @property
    def contracts(self) -> bool:
        """Whether ``a * b + c`` of floats may be rounded once (``-fast-math-contract``)."""
        return self.attrs.get("fast-math-contract", "0") in ("1", "True", "true")

    @property
    def is_accelerator(self) -> bool:
        """Whether code for this target drives the accelerator."""
        return self.kind == "ext_dev"

    @property
    def is_gpu(self) -> bool:
        """Whether it is about a GPU, for which no code is made here."""
        return "gpu" in _DEFAULT_KEYS[self.kind]

    @classmethod
    def current(cls, allow_none: bool = True) -> "Target | None":
        """Return the target of the innermost ``with``; without one, None or a ``TargetError``."""
        stack = _CURRENT.get()
        if stack:
            return stack[-1]
        if allow_none:
            return None
        raise TargetError("there is no current target; use `with vta.target.Target(...):`")

    def __enter__(self) -> Self:
        _CURRENT.set((*_CURRENT.get(), self))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _CURRENT.set(_CURRENT.get()[:-1])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Target):
            return NotImplemented
        return str(self) == str(other) and self.host == other.host

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        options = {"keys": ",".join(self.keys), **self.attrs}
        return " ".join([self.kind, *(f"-{key}={value}" for key, value in options.items() if value)])

    def __repr__(self) -> str:
        return f"Target({str(self)!r})" if self.host is None else f"Target({str(self)!r}, host={str(self.host)!r})"


def _parse(target: "str | Mapping[str, object] | Target") -> dict[str, object]:
    match target:
        case Target():
            keys = ",".join(target.keys)
            return {"kind": str(target.kind), "keys": keys, **target.attrs, "host": target.host}
        case str() if target.strip():
            kind, *words = target.split()
            return {"kind": kind, **dict(_option(word, target) for word in words)}
        case Mapping() if "kind" in target:
            return dict(target)
        case _:
            raise TargetError(f"{target!r} is not a target; expected for example 'llvm' or 'ext_dev -device=vta'")


def _option(word: str, target: str) -> tuple[str, str]:
    key, equals, value = word.lstrip("-").partition("=")
    if key in _FLAGS and not equals:
        equals, value = "=", "1"
    if not word.startswith("-") or not equals:
        raise TargetError(f"target {target!r}: expected options like -model=NAME, found {word!r}")
    if key not in _ATTRIBUTES:
        close = difflib.get_close_matches(key, _ATTRIBUTES, n=1)
        hint = f"; did you mean -{close[0]}?" if close else f"; known are {', '.join(_ATTRIBUTES)}"
        raise TargetError(f"target {target!r}: unknown option -{key}{hint}")
    return key, value


def _keys(given: object, kind: str, device: str) -> tuple[str, ...]:
    """Return the given keys, then the device's and the kind's own, each once."""
    words = given.split(",") if isinstance(given, str) else [str(key) for key in given]  # type: ignore[attr-defined]  # any iterable
    wanted = [*words, device, *(() if words else _DEFAULT_KEYS[kind])]
    return tuple(dict.fromkeys(word for word in wanted if word))


def vta(model: str = "unknown") -> Target:
    """Return the accelerator's target."""
    return Target(f"ext_dev -device=vta -keys=vta,cpu -model={model}")


def ext_dev() -> Target:
    """Return the target of an external device, TVM's name for what the accelerator is."""
    return Target("ext_dev")


def arm_cpu(model: str = "unknown") -> Target:
    """Return the target of code for an ARM processor: the boards' host."""
    return Target(f"llvm -keys=arm_cpu,cpu -device=arm_cpu -model={model}")
