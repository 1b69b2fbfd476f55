"""Watching passes, under TVM's names: ``tvm.instrument.PassInstrument``, ``pass_instrument``, ``PassTimingInstrument``.

An instrument among ``PassContext(instruments=[...])`` hears of the context and of every pass, and may leave passes out.
Tests: tests/vta/front/test_pass_objects.py.
"""

from __future__ import annotations

import functools
import time
from dataclasses import dataclass, field
from typing import TypeVar

from vta.tir.func import IRModule

__all__ = ["PassInfo", "PassInstrument", "PassTimingInstrument", "pass_instrument"]

_C = TypeVar("_C", bound=type)


@dataclass(frozen=True, slots=True)
class PassInfo:
    """What is known of a pass: its name, the level of optimisation from which it runs, the passes that it needs."""

    opt_level: int = 0
    name: str = ""
    required: tuple[str, ...] = ()


class PassInstrument:
    """Hears of passes; a class of one's own overrides what it wants to know."""

    def enter_pass_ctx(self) -> None:
        """A ``with`` block of the context begins."""

    def exit_pass_ctx(self) -> None:
        """The block is over."""

    def should_run(self, mod: IRModule, info: PassInfo) -> bool:  # noqa: ARG002  # for those that override it
        """Whether the pass is to run on ``mod``."""
        return True

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        """A pass is about to run on ``mod``."""

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        """A pass has made ``mod``."""


def pass_instrument(pi_cls: _C) -> _C:
    """Make an instrument of a class that has some of the methods of ``PassInstrument``; for use as a decorator."""
    made = type(pi_cls.__name__, (pi_cls, PassInstrument), {"__module__": pi_cls.__module__})
    functools.update_wrapper(made, pi_cls, updated=())
    return made  # type: ignore[return-value]  # a subclass of it


@dataclass(slots=True)
class PassTimingInstrument(PassInstrument):
    """Measures how long every pass takes."""

    times: list[tuple[str, float]] = field(default_factory=list)
    _began: list[float] = field(default_factory=list)

    def enter_pass_ctx(self) -> None:
        """Begin anew."""
        self.times.clear()
        self._began.clear()

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:  # noqa: ARG002  # an instrument's signature
        """Note when it begins."""
        self._began.append(time.perf_counter())

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:  # noqa: ARG002  # an instrument's signature
        """Note how long it took."""
        self.times.append((info.name, time.perf_counter() - self._began.pop()))

    def render(self) -> str:
        """Return a line for each pass, in order, with its milliseconds and its share."""
        total = sum(seconds for _, seconds in self.times) or 1.0
        return "".join(f"{name}: {s * 1e3:.2f} ms ({s / total:.1%})\n" for name, s in self.times)
