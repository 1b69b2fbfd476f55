"""The rules that decide which configurations are legal, as a table; used by ``isa.config`` alone.

A rule that is broken is reported with one sentence: the key, the rule, and the nearest value that fits. Tests:
``tests/isa/test_config.py``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from isa.errors import VTAError

__all__ = ["ConfigError", "Sizes", "check_values"]

LOG_PAGE_BYTES = 12
PAGE_BYTES = 1 << LOG_PAGE_BYTES
"""DRAM is handed out in pages of this size, so an element may not be larger."""

_SEARCH = range(64)


class ConfigError(VTAError, ValueError):
    """A configuration that no program could be encoded for, or a configuration file that cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Logarithms of everything that the rules speak of, derived from the keys once."""

    uop_depth: int
    inp_depth: int
    wgt_depth: int
    acc_depth: int
    inp_bits: int
    wgt_bits: int
    acc_bits: int
    out_bits: int

    @staticmethod
    def of(values: Mapping[str, int]) -> "Sizes":
        """Derive the sizes from ``values``, which has every key."""
        batch = values["LOG_BATCH"]
        block_in = values.get("LOG_BLOCK_IN", values["LOG_BLOCK"])
        block_out = values.get("LOG_BLOCK_OUT", values["LOG_BLOCK"])
        inp_bits = batch + block_in + values["LOG_INP_WIDTH"]
        wgt_bits = block_out + block_in + values["LOG_WGT_WIDTH"]
        acc_bits = batch + block_out + values["LOG_ACC_WIDTH"]
        return Sizes(
            uop_depth=values["LOG_UOP_BUFF_SIZE"] + 3 - 5,
            inp_depth=values["LOG_INP_BUFF_SIZE"] + 3 - inp_bits,
            wgt_depth=values["LOG_WGT_BUFF_SIZE"] + 3 - wgt_bits,
            acc_depth=values["LOG_ACC_BUFF_SIZE"] + 3 - acc_bits,
            inp_bits=inp_bits,
            wgt_bits=wgt_bits,
            acc_bits=acc_bits,
            out_bits=batch + block_out + values["LOG_INP_WIDTH"],
        )


@dataclass(frozen=True, slots=True)
class _Rule:
    """``holds`` says whether the rule is kept; ``keys`` could be changed to keep it; ``text`` explains it."""

    keys: tuple[str, ...]
    holds: Callable[[Mapping[str, int], Sizes], bool]
    text: Callable[[Sizes], str]


def _within(key: str, low: int, high: int, why: str) -> _Rule:
    return _Rule((key,), lambda v, _: v.get(key, low) in range(low, high + 1), lambda _: why)


def _at_least_one(key: str, why: str) -> _Rule:
    return _Rule((key,), lambda v, _: v.get(key, 0) >= 0, lambda _: why)


def _whole_bytes(name: str, keys: tuple[str, ...], bits: Callable[[Sizes], int]) -> _Rule:
    return _Rule(
        keys,
        lambda _, s: bits(s) >= 3,
        lambda s: f"{name} element of {1 << bits(s)} bits is less than one byte",
    )


def _power(log: int) -> str:
    """Return 2 to the power of ``log`` in a readable form."""
    return str(1 << log) if log < 20 else f"2^{log}"


def _fits_page(name: str, keys: tuple[str, ...], bits: Callable[[Sizes], int]) -> _Rule:
    return _Rule(
        keys,
        lambda _, s: bits(s) - 3 <= LOG_PAGE_BYTES,
        lambda s: f"{name} element of {_power(bits(s) - 3)} bytes is larger than a page of {PAGE_BYTES} bytes",
    )


def _depth(name: str, key: str, depth: Callable[[Sizes], int]) -> tuple[_Rule, _Rule]:
    return (
        _Rule(
            (key,),
            lambda _, s: depth(s) >= 0,
            lambda _: f"the {name} buffer does not hold one whole element",
        ),
        _Rule(
            (key,),
            lambda _, s: depth(s) <= 16,
            lambda s: f"the {name} buffer has 2^{depth(s)} elements and sram_base (16 bits) reaches 2^16",
        ),
    )


def _blocks(values: Mapping[str, int]) -> tuple[int, int]:
    """Return the logarithms of lanes in and out."""
    usual = values["LOG_BLOCK"]
    return values.get("LOG_BLOCK_IN", usual), values.get("LOG_BLOCK_OUT", usual)


_BATCH_IN = ("LOG_BLOCK_IN", "LOG_BLOCK", "LOG_BATCH")
_BATCH_OUT = ("LOG_BLOCK_OUT", "LOG_BLOCK", "LOG_BATCH")
_BLOCKS = ("LOG_BLOCK_IN", "LOG_BLOCK_OUT", "LOG_BLOCK")
_BUFFERS = ("LOG_ACC_BUFF_SIZE", "LOG_INP_BUFF_SIZE", "LOG_WGT_BUFF_SIZE")

_RULES: tuple[_Rule, ...] = (
    _within("LOG_INP_WIDTH", 0, 3, "inputs have 1, 2, 4 or 8 bits (0 to 3)"),
    _within("LOG_WGT_WIDTH", 0, 3, "weights have 1, 2, 4 or 8 bits (0 to 3)"),
    _within("LOG_ACC_WIDTH", 5, 5, "accumulators have 32 bits"),
    _at_least_one("LOG_BATCH", "a batch has at least one row"),
    _at_least_one("LOG_BLOCK", "a block has at least one lane"),
    _at_least_one("LOG_BLOCK_IN", "a block has at least one lane"),
    _at_least_one("LOG_BLOCK_OUT", "a block has at least one lane"),
    _whole_bytes("an input", (*_BATCH_IN, "LOG_INP_WIDTH"), lambda s: s.inp_bits),
    _whole_bytes("a weight", (*_BLOCKS, "LOG_WGT_WIDTH"), lambda s: s.wgt_bits),
    _whole_bytes("an output", (*_BATCH_OUT, "LOG_INP_WIDTH"), lambda s: s.out_bits),
    _fits_page("a weight", _BLOCKS, lambda s: s.wgt_bits),
    _fits_page("an accumulator", _BATCH_OUT, lambda s: s.acc_bits),
    _fits_page("an input", _BATCH_IN, lambda s: s.inp_bits),
    *_depth("micro-op", "LOG_UOP_BUFF_SIZE", lambda s: s.uop_depth),
    *_depth("input", "LOG_INP_BUFF_SIZE", lambda s: s.inp_depth),
    *_depth("weight", "LOG_WGT_BUFF_SIZE", lambda s: s.wgt_depth),
    *_depth("accumulator", "LOG_ACC_BUFF_SIZE", lambda s: s.acc_depth),
    _Rule(
        ("LOG_UOP_BUFF_SIZE",),
        lambda _, s: s.uop_depth <= 13,
        lambda s: f"the low word of GEMM and ALU needs 37 + 2 x {s.uop_depth} micro-op index bits and has 64",
    ),
    _Rule(
        ("LOG_ACC_BUFF_SIZE",),
        lambda _, s: s.acc_depth <= 11,
        lambda s: f"the high word of ALU needs 20 + 4 x {s.acc_depth} accumulator index bits and has 64",
    ),
    _Rule(
        _BUFFERS,
        lambda _, s: 2 * (s.acc_depth + s.inp_depth + s.wgt_depth) <= 64,
        lambda s: (
            f"the high word of GEMM needs 2 x ({s.acc_depth} accumulator + {s.inp_depth} input + "
            f"{s.wgt_depth} weight) index bits and has 64"
        ),
    ),
    _Rule(
        _BUFFERS,
        lambda _, s: s.acc_depth + max(s.acc_depth, s.inp_depth) + s.wgt_depth <= 32,
        lambda s: (
            f"a micro-op needs {s.acc_depth} accumulator, {max(s.acc_depth, s.inp_depth)} source and "
            f"{s.wgt_depth} weight index bits and has 32"
        ),
    ),
    _Rule(
        ("DEPTHWISE_TAPS",),
        lambda v, _: v.get("DEPTHWISE_TAPS", 0) in range((1 << _blocks(v)[0]) + 1),
        lambda _: "a weight row has a lane for each tap, and none stands for no depthwise GEMM",
    ),
    _Rule(
        ("DEPTHWISE_TAPS",),
        lambda v, _: "DEPTHWISE_TAPS" not in v or v["DEPTHWISE_TAPS"] == 0 or _blocks(v)[0] == _blocks(v)[1],
        lambda _: "a depthwise GEMM has as many lanes out as in, and LOG_BLOCK_IN is not LOG_BLOCK_OUT",
    ),
    _Rule(
        ("DEPTHWISE_TAPS",),
        lambda v, s: v.get("DEPTHWISE_TAPS", 0) <= 1 << s.inp_depth,
        lambda s: f"a step takes an input element for each tap, and the input buffer has {1 << s.inp_depth}",
    ),
    _Rule(
        ("FUSED_ALU",),
        lambda v, _: v.get("FUSED_ALU", 0) in (0, 1),
        lambda _: "an ALU has fused steps, 1, or none, 0",
    ),
    _Rule(
        ("FUSED_ALU",),
        lambda v, s: v.get("FUSED_ALU", 0) <= s.acc_depth,
        lambda s: f"a fused step reads two neighbours, and the accumulator buffer has {1 << s.acc_depth}",
    ),
)


def check_values(values: Mapping[str, int], defaults: Mapping[str, int]) -> None:
    """Raise ``ConfigError`` for the first rule that ``values`` breaks.

    ``values`` has every key of ``defaults`` and optionally LOG_BLOCK_IN, LOG_BLOCK_OUT and keys of our own. The error
    names the key that is furthest from the default, and of those the one whose change is smallest.
    """
    sizes = Sizes.of(values)
    for rule in _RULES:
        if not rule.holds(values, sizes):
            key, hint = _hint(rule, values, defaults)
            raise ConfigError(f"{key} is {values[key]}, but {rule.text(sizes)}; {hint}")


def _hint(rule: _Rule, values: Mapping[str, int], defaults: Mapping[str, int]) -> tuple[str, str]:
    """Return the key to blame, and the value closest to its present one that keeps all rules (or at least ``rule``)."""
    keys = [key for key in rule.keys if key in values]
    if "LOG_BLOCK_IN" in values and "LOG_BLOCK_OUT" in values:
        keys = [key for key in keys if key != "LOG_BLOCK"] or keys  # it then has no meaning
    for rules, claim in ((_RULES, "the nearest value that fits is"), ((rule,), "the nearest value for this rule is")):
        found = []
        for order, key in enumerate(keys):
            fits = [v for v in _SEARCH if _all_hold(rules, {**values, key: v})]
            if fits:
                best = min(fits, key=lambda v: (abs(v - values[key]), v))
                found.append((-_departure(key, values, defaults), abs(best - values[key]), order, key, best))
        if found:
            *_, key, best = min(found)
            return key, f"{claim} {best}"
    return keys[0], f"{' and '.join(keys)} must change together"


def _departure(key: str, values: Mapping[str, int], defaults: Mapping[str, int]) -> int:
    """Return how far ``key`` is from its default: a buffer by its depth, others by having been changed at all."""
    sizes, usual = Sizes.of(values), Sizes.of(defaults)
    match key:
        case "LOG_ACC_BUFF_SIZE":
            return sizes.acc_depth - usual.acc_depth
        case "LOG_INP_BUFF_SIZE":
            return sizes.inp_depth - usual.inp_depth
        case "LOG_WGT_BUFF_SIZE":
            return sizes.wgt_depth - usual.wgt_depth
        case "DEPTHWISE_TAPS" | "FUSED_ALU":
            return int(values[key] != 0)
        case _:
            return int(values[key] != defaults.get(key, defaults["LOG_BLOCK"]))


def _all_hold(rules: tuple[_Rule, ...], values: Mapping[str, int]) -> bool:
    sizes = Sizes.of(values)
    return all(rule.holds(values, sizes) for rule in rules)
