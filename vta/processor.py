"""What the processor of a target has for arithmetic: vectors, registers, multiply-add, dot products of bytes.

Schedules choose their blocks by it. A target that names a processor (``-mcpu``) or features (``-mattr``) is asked what
it says; one that names none is this computer. Tests: tests/vta/front/test_processor.py.
"""

from dataclasses import dataclass

from runtime.native.target import host_features, host_triple
from vta.target import Target

__all__ = ["Processor", "processor_of"]

_WITH_AVX2 = frozenset(("avx2", "fma"))
_WITH_AVX512 = _WITH_AVX2 | {"avx512f"}
_WITH_VNNI = _WITH_AVX512 | {"avx512vnni"}

_FEATURES = {
    **dict.fromkeys(("haswell", "core-avx2", "broadwell", "skylake", "alderlake", "x86-64-v3"), _WITH_AVX2),
    **dict.fromkeys(("znver1", "znver2", "znver3"), _WITH_AVX2),
    **dict.fromkeys(("skylake-avx512", "cannonlake", "x86-64-v4"), _WITH_AVX512),
    **dict.fromkeys(("cascadelake", "cooperlake", "icelake-client", "icelake-server", "tigerlake"), _WITH_VNNI),
    **dict.fromkeys(("rocketlake", "sapphirerapids", "emeraldrapids", "graniterapids", "znver4", "znver5"), _WITH_VNNI),
}
"""What processors of x86-64 have, by LLVM's names of them; others are taken to have what all have."""


@dataclass(frozen=True, slots=True)
class Processor:
    """Float32 numbers in a vector, vector registers, one rounding for ``a * b + c``, dot products of four bytes."""

    lanes: int
    registers: int
    fuses: bool
    has_vnni: bool


def processor_of(target: Target | None = None) -> Processor:
    """Return what the code of ``target`` (None: the current one, else this computer) runs on."""
    chosen = target or Target.current() or Target("llvm")
    triple = chosen.attrs.get("mtriple", "") or host_triple()
    features = _features(chosen, triple)
    if triple.startswith(("aarch64", "arm64")):
        return Processor(4, 32, fuses=True, has_vnni=False)
    lanes = 16 if "avx512f" in features else 8 if "avx2" in features else 4
    return Processor(lanes, 32 if lanes == 16 else 16, fuses="fma" in features, has_vnni="avx512vnni" in features)


def _features(target: Target, triple: str) -> frozenset[str]:
    words = [word for word in target.attrs.get("mattr", "").split(",") if word]
    if target.mcpu in ("", "native") and triple == host_triple() and not words:
        return frozenset(name for name, there in host_features().items() if there)
    named = _FEATURES.get(target.mcpu, frozenset[str]())
    switched_on = {word[1:] for word in words if word.startswith("+")}
    switched_off = {word[1:] for word in words if word.startswith("-")}
    return (named | switched_on) - switched_off
