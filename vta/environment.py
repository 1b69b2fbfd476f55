"""What a schedule needs to know about the accelerator, under TVM-VTA's names: ``vta.get_env()``.

An ``Environment`` is a read-only view of one ``VTAConfig``. ``with env:`` makes it the current one; only this TVM-style
front has a current configuration, nothing below it looks here.

Tests: tests/vta/front/test_environment.py.
"""

import difflib
import functools
import os
import threading
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Self

from isa.config import ConfigError, VTAConfig
from isa.errors import VTAError
from isa.instructions import AluOpcode, MemoryId, Module
from isa.named_config import config_of_variable, named_config
from runtime.devices.device import HardwareSetup
from runtime.devices.hardware_settings import hardware_setup
from runtime.session import Session, SessionError
from vta import intrin, te
from vta.chosen_session import chosen_session
from vta.passes.coproc_axis import coproc_axis
from vta.target import Target, arm_cpu, vta
from vta.tir.dtype import HANDLE
from vta.tir.expr import Builtin, Call, Expr, IterVar
from vta.tir.scopes import ACC_SCOPE, GEMM_SYMBOL, INP_SCOPE, WGT_SCOPE

__all__ = ["DevContext", "Environment", "EnvironmentTargetError", "get_env"]


class EnvironmentTargetError(VTAError, ValueError):
    """A TARGET that has no host to compile for."""


_HOST_TRIPLES: Mapping[str, str] = {
    "sim": "llvm",
    "tsim": "llvm",
    "reference": "llvm",
    "intelfocl": "llvm",
    "pynq": "llvm -mtriple=armv7-none-linux-gnueabihf",
    "de10nano": "llvm -mtriple=armv7-none-linux-gnueabihf",
    "ultra96": "llvm -mtriple=aarch64-linux-gnu",
    "zcu104": "llvm -mtriple=aarch64-linux-gnu",
}
"""TARGET -> the processor that drives the accelerator."""


@dataclass(frozen=True, slots=True)
class DevContext:
    """Numbers and expressions that passes and intrinsics use: memory ids, ALU operations, module ids."""

    vta_axis: IterVar
    command_handle: Expr
    vta_push_uop: str = GEMM_SYMBOL
    DEBUG_NO_SYNC: bool = False

    MEM_ID_UOP = int(MemoryId.UOP)
    MEM_ID_WGT = int(MemoryId.WGT)
    MEM_ID_INP = int(MemoryId.INP)
    MEM_ID_ACC = int(MemoryId.ACC)
    MEM_ID_OUT = int(MemoryId.OUT)
    MEM_ID_ACC_8BIT = int(MemoryId.ACC_8BIT)
    ALU_OPCODE_MIN = int(AluOpcode.MIN)
    ALU_OPCODE_MAX = int(AluOpcode.MAX)
    ALU_OPCODE_ADD = int(AluOpcode.ADD)
    ALU_OPCODE_SHR = int(AluOpcode.SHR)
    ALU_OPCODE_MUL = int(AluOpcode.MUL)
    QID_LOAD_INP = int(Module.LOAD)
    QID_LOAD_WGT = int(Module.LOAD)
    QID_LOAD_OUT = int(Module.COMPUTE)
    QID_COMPUTE = int(Module.COMPUTE)
    QID_STORE_OUT = int(Module.STORE)

    def get_task_qid(self, qid: int) -> int:
        """Return the module id for ``qid``: always the first one while DEBUG_NO_SYNC is set."""
        return 1 if self.DEBUG_NO_SYNC else qid


_MAKING_SESSIONS = threading.Lock()
"""Held where an environment's session is asked for: threads that come first together must get the same one."""

_CURRENT: ContextVar[tuple["Environment", ...]] = ContextVar("vta_environment", default=())


class Environment:
    """One accelerator as schedules see it: sizes, types, scopes, pragma names, the GEMM intrinsic, targets.

    Made from a ``VTAConfig``, the path of a configuration file, the name of one that the package has, or its keys
    (those of ``cfg_dict`` are as good). Every key of the file is an attribute too (``env.LOG_BLOCK``, ``env.TARGET``).
    ``hardware`` says what the target ``tsim`` simulates: a ``HardwareSetup`` or its keys, such as
    ``{"data_width": 128, "memory_latency": 64}``. Two environments with the same configuration, mode and hardware
    compare equal. A copy, or a pickled one, makes a session of its own.
    """

    MAX_XFER = 1 << 22
    DEBUG_DUMP_INSN = 1 << 1
    DEBUG_DUMP_UOP = 1 << 2
    DEBUG_SKIP_READ_BARRIER = 1 << 3
    DEBUG_SKIP_WRITE_BARRIER = 1 << 4
    DEBUG_FORCE_SERIAL = 1 << 5

    inp_scope = INP_SCOPE
    wgt_scope = WGT_SCOPE
    acc_scope = ACC_SCOPE

    TARGET: str
    HW_VER: str
    BITSTREAM: str
    MODEL: str
    BATCH: int
    BLOCK_IN: int
    BLOCK_OUT: int
    INP_WIDTH: int
    WGT_WIDTH: int
    ACC_WIDTH: int
    OUT_WIDTH: int
    UOP_BUFF_SIZE: int
    INP_BUFF_SIZE: int
    WGT_BUFF_SIZE: int
    ACC_BUFF_SIZE: int
    OUT_BUFF_SIZE: int
    INP_ELEM_BITS: int
    WGT_ELEM_BITS: int
    ACC_ELEM_BITS: int
    OUT_ELEM_BITS: int
    INP_ELEM_BYTES: int
    WGT_ELEM_BYTES: int
    ACC_ELEM_BYTES: int
    OUT_ELEM_BYTES: int
    LOG_INP_WIDTH: int
    LOG_WGT_WIDTH: int
    LOG_ACC_WIDTH: int
    LOG_OUT_WIDTH: int
    LOG_BATCH: int
    LOG_BLOCK: int
    LOG_BLOCK_IN: int
    LOG_BLOCK_OUT: int
    DEPTHWISE_TAPS: int
    FUSED_ALU: int
    LOG_UOP_BUFF_SIZE: int
    LOG_INP_BUFF_SIZE: int
    LOG_WGT_BUFF_SIZE: int
    LOG_ACC_BUFF_SIZE: int
    LOG_OUT_BUFF_SIZE: int
    inp_dtype: str
    wgt_dtype: str
    acc_dtype: str
    out_dtype: str
    config: VTAConfig
    mock_mode: bool
    hardware: HardwareSetup | None

    def __init__(
        self,
        config: VTAConfig | str | os.PathLike[str] | Mapping[str, object],
        *,
        mock_mode: bool = False,
        hardware: HardwareSetup | Mapping[str, object] | None = None,
    ) -> None:
        match config:
            case VTAConfig():
                chosen = config
            case Mapping():
                chosen = _config_of(config)
            case _:
                chosen = named_config(config)
        setup = hardware_setup(hardware) if isinstance(hardware, Mapping) else hardware
        vars(self).update(config=chosen, mock_mode=mock_mode, hardware=setup, **_facts(chosen))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(
            f"environment attribute {name!r} cannot be set; make another one: "
            "vta.Environment(dataclasses.replace(env.config, log_block=5))"
        )

    if not TYPE_CHECKING:  # so that mypy still finds misspelt attributes

        def __getattr__(self, name: str) -> object:
            close = difflib.get_close_matches(name, [*vars(self), *dir(type(self))], n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise AttributeError(f"the environment has no attribute {name!r}{hint}")

    @property
    def cfg_dict(self) -> dict[str, str | int]:
        """The configuration as a new dict, with the keys that follow from others (LOG_OUT_WIDTH, ...) too."""
        return _keys(self.config)

    @property
    def dma_copy(self) -> str:
        """Pragma: this loop nest is a DMA transfer (left out in mock mode)."""
        return "skip_dma_copy" if self.mock_mode else "dma_copy"

    @property
    def alu(self) -> str:
        """Pragma: this loop nest is an operation of the tensor ALU (left out in mock mode)."""
        return "skip_alu" if self.mock_mode else "alu"

    @functools.cached_property
    def gemm(self) -> te.TensorIntrin:
        """The GEMM core's step as a tensor intrinsic (does nothing in mock mode)."""
        return intrin.gemm(self.config, mock=self.mock_mode)

    @functools.cached_property
    def depthwise_gemm(self) -> te.TensorIntrin:
        """The GEMM core's step lane by lane, as a tensor intrinsic (does nothing in mock mode).

        ``ConfigError`` for a configuration without DEPTHWISE_TAPS.
        """
        return intrin.depthwise_gemm(self.config, mock=self.mock_mode)

    @functools.cached_property
    def mock(self) -> "Environment":
        """The same environment with pragmas and an intrinsic that do nothing, to measure the rest."""
        return Environment(self.config, mock_mode=True, hardware=self.hardware)

    @functools.cached_property
    def dev(self) -> DevContext:
        """Numbers and expressions that passes and intrinsics use."""
        handle = Call(HANDLE, Builtin.THREAD_CONTEXT, (Call(HANDLE, Builtin.COMMAND_HANDLE),))
        return DevContext(coproc_axis(), handle)

    @property
    def session(self) -> Session:
        """The device that this process has for the environment: made at first use, shared by all that use it.

        Where a session was chosen (``vta run --board``), it is that one; ``SessionError`` if it has another
        configuration, or if this environment says what hardware to simulate.
        """
        given = self.given_session
        if given is not None:
            return given
        with _MAKING_SESSIONS:
            if "_session" not in vars(self):
                vars(self)["_session"] = Session(self.config, self.TARGET, setup=self.hardware)
            session: Session = vars(self)["_session"]
            return session

    @property
    def given_session(self) -> Session | None:
        """What ``session`` is if the environment does not make it: that of ``run_on``, or the one that was chosen."""
        given: Session | None = vars(self).get("_given_session")
        chosen = chosen_session() if given is None else None
        if chosen is None:
            return given
        chosen.require_config(self.config, "the environment")
        if self.hardware is not None and self.hardware != chosen.device.capabilities.setup:
            raise SessionError(
                f"the environment says what hardware to simulate, and runs on device {chosen.device.name!r}, which is "
                "what it is; leave hardware= out"
            )
        return chosen

    def run_on(self, session: Session) -> None:
        """Use this session, such as one on a board, before the environment has made one of its own."""
        session.require_config(self.config, "the environment")
        with _MAKING_SESSIONS:
            own: Session | None = vars(self).get("_given_session") or vars(self).get("_session")
            if own is not None:
                raise EnvironmentTargetError(
                    f"this environment runs on device {own.device.name!r} already; use a new one for "
                    f"{session.device.name!r}"
                )
            vars(self)["_given_session"] = session

    @property
    def target(self) -> Target:
        """The accelerator."""
        return vta(self.MODEL)

    @property
    def target_host(self) -> str:
        """The processor that drives it."""
        return _HOST_TRIPLES[self.TARGET]

    @property
    def target_vta_cpu(self) -> Target:
        """The processor, for operators that the accelerator does not take."""
        return arm_cpu(self.TARGET)

    def __enter__(self) -> Self:
        _CURRENT.set((*_CURRENT.get(), self))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _CURRENT.set(_CURRENT.get()[:-1])

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        """Pickle and copy what an environment is made of; a session belongs to its process."""
        return _environment, (self.config, self.mock_mode, self.hardware)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Environment):
            return NotImplemented
        mine, others = (self.config, self.mock_mode, self.hardware), (other.config, other.mock_mode, other.hardware)
        return mine == others

    def __hash__(self) -> int:
        return hash((self.config, self.mock_mode, self.hardware))

    def __repr__(self) -> str:
        return f"Environment({self.MODEL}{', mock' if self.mock_mode else ''})"


def _environment(config: VTAConfig, mock_mode: bool, hardware: HardwareSetup | None) -> Environment:
    return Environment(config, mock_mode=mock_mode, hardware=hardware)


_FOLLOWING_KEYS = ("LOG_OUT_WIDTH", "LOG_OUT_BUFF_SIZE")
"""What ``cfg_dict`` has beyond the keys of a configuration file."""


def _config_of(mapping: Mapping[str, object]) -> VTAConfig:
    """Return the configuration of a file's keys, or of those of ``cfg_dict``; raises ``ConfigError``."""
    config = VTAConfig.from_dict({key: value for key, value in mapping.items() if key not in _FOLLOWING_KEYS})
    keys = _keys(config)
    for key in _FOLLOWING_KEYS:
        if key in mapping and mapping[key] != keys[key]:
            raise ConfigError(
                f"configuration: {key} is {mapping[key]!r}, but it follows from the other keys and is {keys[key]}; "
                "leave it out"
            )
    return config


def _keys(config: VTAConfig) -> dict[str, str | int]:
    return {
        **config.to_dict(),
        "LOG_BLOCK_IN": config.block_in.bit_length() - 1,
        "LOG_BLOCK_OUT": config.block_out.bit_length() - 1,
        "LOG_OUT_WIDTH": config.log_inp_width,
        "LOG_OUT_BUFF_SIZE": config.log_acc_buff_size + config.log_inp_width - config.log_acc_width,
    }


def _facts(config: VTAConfig) -> dict[str, str | int]:
    """Return every size, type and name of ``config`` under the name that schedules use."""
    facts = _keys(config)
    for memory in ("inp", "wgt", "acc", "out"):
        for name in ("width", "buff_bytes", "elem_bits", "elem_bytes"):
            upper = name.upper().replace("BUFF_BYTES", "BUFF_SIZE")
            facts[f"{memory.upper()}_{upper}"] = getattr(config, f"{memory}_{name}")
        facts[f"{memory}_dtype"] = getattr(config, f"{memory}_dtype")
    return {
        **facts,
        "UOP_BUFF_SIZE": config.uop_buff_bytes,
        "BATCH": config.batch,
        "BLOCK_IN": config.block_in,
        "BLOCK_OUT": config.block_out,
        "DEPTHWISE_TAPS": config.depthwise_taps,
        "FUSED_ALU": config.fused_alu,
        "BITSTREAM": config.bitstream,
        "MODEL": config.model,
    }


@functools.cache
def _default() -> Environment:
    """Return the environment that holds outside of any ``with``: what VTA_CONFIG names, read once, or the default."""
    return Environment(config_of_variable() or VTAConfig())


def get_env() -> Environment:
    """Return the environment of the innermost ``with env:``.

    Outside of any it is that of the file, or of the configuration of the package, that the environment variable
    VTA_CONFIG names; without one, the default configuration's. ``ConfigError`` if VTA_CONFIG names neither.
    """
    stack = _CURRENT.get()
    return stack[-1] if stack else _default()
