"""The one configuration object that decides programs: numeric types, block shape and buffer sizes.

``VTAConfig`` is read once at the edge and passed on; derived sizes are its properties and nobody recomputes them. The
file has upstream's keys and those of our own (``isa.config_file``); the latter, LOG_BLOCK_IN and LOG_BLOCK_OUT are
optional. Tests: ``tests/isa/test_config.py``.
"""

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Self, assert_never

from isa.config_file import FIELD_OF_KEY, OWN_KEYS, arguments_from_mapping, read_mapping, require_all_keys
from isa.config_rules import ConfigError, Sizes, check_values
from isa.instructions import MemoryId
from isa.printable import short

__all__ = ["TARGETS", "ConfigError", "VTAConfig"]

TARGETS = ("sim", "tsim", "reference", "pynq", "ultra96", "zcu104", "de10nano", "intelfocl")
"""Names that TARGET may have: three engines of this project, then upstream's boards."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VTAConfig:
    """Everything that decides what a program looks like; ``log_`` numbers are base-2 logarithms, as in
    ``vta_config.json``.

    ``log_block_in`` and ``log_block_out`` are ``None`` where they equal ``log_block`` (so that configurations that
    mean the same compare equal and ``dataclasses.replace(config, log_block=5)`` does what it says); read ``block_in``,
    ``block_out`` and the other properties instead. With ``depthwise_taps``, GEMM has the flag ``depthwise``, under
    which a step multiplies that many input elements lane by lane; 0 is upstream's GEMM, which has no such flag. With
    ``fused_alu`` 1, the ALU has the flag ``fused``, under which a step does two operations and a shift; 0 is upstream's
    ALU. Raises ``ConfigError`` with key, rule and nearest fitting value.
    """

    target: str = "sim"
    hw_ver: str = "0.0.2"
    log_inp_width: int = 3
    log_wgt_width: int = 3
    log_acc_width: int = 5
    log_batch: int = 0
    log_block: int = 4
    log_block_in: int | None = None
    log_block_out: int | None = None
    log_uop_buff_size: int = 15
    log_inp_buff_size: int = 15
    log_wgt_buff_size: int = 18
    log_acc_buff_size: int = 17
    depthwise_taps: int = 0
    fused_alu: int = 0

    def __post_init__(self) -> None:
        """Check every rule, then bring the three block fields to their normal form."""
        if self.target not in TARGETS:
            raise ConfigError(f"TARGET is {short(self.target)}, but it must be one of {', '.join(TARGETS)}")
        if not isinstance(self.hw_ver, str) or not re.fullmatch(r"[\w.+-]+", self.hw_ver, re.ASCII):
            raise ConfigError(f"HW_VER is {short(self.hw_ver)}, but it must be a text like '0.0.2'")
        values = self._values()
        for key, value in values.items():
            if not isinstance(value, int) or isinstance(value, bool):
                kind = "a whole number" if key in OWN_KEYS else "a whole number (a logarithm)"
                raise ConfigError(f"{key} is {short(value)}, but it must be {kind}")
        check_values(values, self._defaults())
        block_in = values.get("LOG_BLOCK_IN", self.log_block)
        block_out = values.get("LOG_BLOCK_OUT", self.log_block)
        object.__setattr__(self, "log_block", block_in)
        object.__setattr__(self, "log_block_in", None)
        object.__setattr__(self, "log_block_out", None if block_out == block_in else block_out)

    @classmethod
    def _defaults(cls) -> dict[str, int]:
        """Return the numeric keys that have a default other than "none", by their name in the file."""
        defaults = {entry.name: entry.default for entry in fields(cls)}
        pairs = {key: defaults[name] for key, name in FIELD_OF_KEY.items() if key not in OWN_KEYS}
        return {key: value for key, value in pairs.items() if isinstance(value, int)}

    def _values(self) -> dict[str, int]:
        """Return the numeric keys that have a value, by their name in the file; 0 is none for a key of our own."""
        pairs = {key: getattr(self, name) for key, name in FIELD_OF_KEY.items()}
        for key in OWN_KEYS:
            if type(pairs[key]) is int and pairs[key] == 0:
                del pairs[key]
        return {key: value for key, value in pairs.items() if value is not None and key not in ("TARGET", "HW_VER")}

    # --- numeric types -----------------------------------------------------------------------------------------------

    @property
    def batch(self) -> int:
        """Rows of an input, accumulator and output element."""
        return 1 << self.log_batch

    @property
    def block_in(self) -> int:
        """Lanes of an input row, and of a weight row."""
        return 1 << (self.log_block if self.log_block_in is None else self.log_block_in)

    @property
    def block_out(self) -> int:
        """Lanes of an accumulator or output row, and rows of a weight element."""
        return 1 << (self.log_block if self.log_block_out is None else self.log_block_out)

    @property
    def inp_width(self) -> int:
        """Bits of an input number."""
        return 1 << self.log_inp_width

    @property
    def wgt_width(self) -> int:
        """Bits of a weight number."""
        return 1 << self.log_wgt_width

    @property
    def acc_width(self) -> int:
        """Bits of an accumulator number."""
        return 1 << self.log_acc_width

    @property
    def out_width(self) -> int:
        """Bits of an output number: those of an input, because outputs are the next layer's inputs."""
        return self.inp_width

    @property
    def inp_dtype(self) -> str:
        """Type of an input number, such as ``int8``."""
        return f"int{self.inp_width}"

    @property
    def wgt_dtype(self) -> str:
        """Type of a weight number."""
        return f"int{self.wgt_width}"

    @property
    def acc_dtype(self) -> str:
        """Type of an accumulator number."""
        return f"int{self.acc_width}"

    @property
    def out_dtype(self) -> str:
        """Type of an output number."""
        return f"int{self.out_width}"

    # --- elements: what one index of a scratchpad, or one unit of dram_base, stands for -----------------------------

    @property
    def inp_elem_bits(self) -> int:
        """Bits of an input element of shape (batch, block_in)."""
        return self.batch * self.block_in * self.inp_width

    @property
    def wgt_elem_bits(self) -> int:
        """Bits of a weight element of shape (block_out, block_in)."""
        return self.block_out * self.block_in * self.wgt_width

    @property
    def acc_elem_bits(self) -> int:
        """Bits of an accumulator element of shape (batch, block_out)."""
        return self.batch * self.block_out * self.acc_width

    @property
    def out_elem_bits(self) -> int:
        """Bits of an output element of shape (batch, block_out)."""
        return self.batch * self.block_out * self.out_width

    @property
    def uop_elem_bytes(self) -> int:
        """Bytes of a micro-op."""
        return 4

    @property
    def inp_elem_bytes(self) -> int:
        """Bytes of an input element."""
        return self.inp_elem_bits // 8

    @property
    def wgt_elem_bytes(self) -> int:
        """Bytes of a weight element."""
        return self.wgt_elem_bits // 8

    @property
    def acc_elem_bytes(self) -> int:
        """Bytes of an accumulator element."""
        return self.acc_elem_bits // 8

    @property
    def out_elem_bytes(self) -> int:
        """Bytes of an output element."""
        return self.out_elem_bits // 8

    def elem_bytes(self, memory: MemoryId) -> int:
        """Return the bytes in DRAM of one element that a LOAD or STORE of ``memory`` moves."""
        match memory:
            case MemoryId.UOP:
                return self.uop_elem_bytes
            case MemoryId.WGT:
                return self.wgt_elem_bytes
            case MemoryId.INP:
                return self.inp_elem_bytes
            case MemoryId.ACC:
                return self.acc_elem_bytes
            case MemoryId.OUT:
                return self.out_elem_bytes
            case MemoryId.ACC_8BIT:
                return self.acc_elem_bytes // 4
            case _:
                assert_never(memory)

    # --- scratchpads -------------------------------------------------------------------------------------------------

    @property
    def uop_buff_bytes(self) -> int:
        """Bytes of the micro-op buffer."""
        return 1 << self.log_uop_buff_size

    @property
    def inp_buff_bytes(self) -> int:
        """Bytes of the input buffer."""
        return 1 << self.log_inp_buff_size

    @property
    def wgt_buff_bytes(self) -> int:
        """Bytes of the weight buffer."""
        return 1 << self.log_wgt_buff_size

    @property
    def acc_buff_bytes(self) -> int:
        """Bytes of the accumulator buffer."""
        return 1 << self.log_acc_buff_size

    @property
    def out_buff_bytes(self) -> int:
        """Bytes of an output buffer as deep as the accumulator's."""
        return self.out_depth * self.out_elem_bits // 8

    @property
    def log_uop_depth(self) -> int:
        """Bits of a micro-op index."""
        return Sizes.of(self._values()).uop_depth

    @property
    def log_inp_depth(self) -> int:
        """Bits of an input index."""
        return Sizes.of(self._values()).inp_depth

    @property
    def log_wgt_depth(self) -> int:
        """Bits of a weight index."""
        return Sizes.of(self._values()).wgt_depth

    @property
    def log_acc_depth(self) -> int:
        """Bits of an accumulator index."""
        return Sizes.of(self._values()).acc_depth

    @property
    def log_out_depth(self) -> int:
        """Bits of an output index: the output memory shadows the accumulator."""
        return self.log_acc_depth

    @property
    def uop_depth(self) -> int:
        """Micro-ops that fit on chip."""
        return 1 << self.log_uop_depth

    @property
    def inp_depth(self) -> int:
        """Input elements that fit on chip."""
        return 1 << self.log_inp_depth

    @property
    def wgt_depth(self) -> int:
        """Weight elements that fit on chip."""
        return 1 << self.log_wgt_depth

    @property
    def acc_depth(self) -> int:
        """Accumulator elements that fit on chip."""
        return 1 << self.log_acc_depth

    @property
    def out_depth(self) -> int:
        """Output elements that fit on chip."""
        return 1 << self.log_out_depth

    def depth(self, memory: MemoryId) -> int:
        """Return how many elements the scratchpad of ``memory`` has (ACC_8BIT loads go to the accumulator)."""
        match memory:
            case MemoryId.UOP:
                return self.uop_depth
            case MemoryId.WGT:
                return self.wgt_depth
            case MemoryId.INP:
                return self.inp_depth
            case MemoryId.ACC | MemoryId.ACC_8BIT:
                return self.acc_depth
            case MemoryId.OUT:
                return self.out_depth
            case _:
                assert_never(memory)

    # --- names and files ---------------------------------------------------------------------------------------------

    @property
    def bitstream(self) -> str:
        """Upstream's name of the build, such as ``1x16_i8w8a32_15_15_18_17`` (``1x16x32_...`` if blocks differ).

        ``_d3`` at its end says that GEMM takes three taps under ``depthwise``, ``_f`` that the ALU has ``fused``.
        """
        block = f"{self.block_in}"
        if self.block_out != self.block_in:
            block += f"x{self.block_out}"
        types = f"i{self.inp_width}w{self.wgt_width}a{self.acc_width}"
        sizes = f"{self.log_uop_buff_size}_{self.log_inp_buff_size}_{self.log_wgt_buff_size}_{self.log_acc_buff_size}"
        taps = f"_d{self.depthwise_taps}" if self.depthwise_taps else ""
        fused = "_f" if self.fused_alu else ""
        return f"{self.batch}x{block}_{types}_{sizes}{taps}{fused}"

    @property
    def model(self) -> str:
        """Target and build in one name, such as ``sim_1x16_i8w8a32_15_15_18_17``."""
        return f"{self.target}_{self.bitstream}"

    @property
    def digest(self) -> str:
        """Sixteen hex digits over what decides programs (so not over TARGET and HW_VER)."""
        return hashlib.sha256(json.dumps(self._values(), sort_keys=True).encode()).hexdigest()[:16]

    @classmethod
    def from_json(cls, path: str | os.PathLike[str]) -> Self:
        """Read a ``vta_config.json``; every ``ConfigError`` starts with the file's name."""
        where = os.fspath(path)
        return cls.from_dict(read_mapping(where), where=where)

    @classmethod
    def from_dict(cls, mapping: Mapping[str, object], *, where: str = "configuration") -> Self:
        """Build from the file's keys; ``where`` names the source in a ``ConfigError``.

        LOG_BLOCK_IN, LOG_BLOCK_OUT and keys of our own (DEPTHWISE_TAPS, FUSED_ALU) may be left out, and LOG_BLOCK where
        both of its parts are given.
        """
        arguments = arguments_from_mapping(mapping, where=where)
        try:
            made = cls(**arguments)  # type: ignore[arg-type]  # __post_init__ checks what kind of value each is
        except ConfigError as error:
            raise ConfigError(f"{where}: {error}") from None
        require_all_keys(mapping, where=where)  # after what is wrong with those that are there
        return made

    def to_dict(self) -> dict[str, str | int]:
        """Return the keys of the file; LOG_BLOCK_IN and LOG_BLOCK_OUT only where the blocks differ, others if not 0."""
        keys: dict[str, str | int] = {"TARGET": self.target, "HW_VER": self.hw_ver}
        keys |= self._values()
        if self.log_block_out is not None:
            keys["LOG_BLOCK_IN"] = self.log_block
        return {key: keys[key] for key in FIELD_OF_KEY if key in keys}
