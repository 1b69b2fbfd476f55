"""What schedules learn of the processor of a target."""

import numpy as np
import pytest

from runtime.native.target import host_features, host_triple
from vta import te
from vta.build_module import build_generic
from vta.processor import Processor, processor_of
from vta.target import Target, TargetError

X86 = pytest.mark.skipif(not host_triple().startswith("x86_64"), reason="these are names of x86-64 processors")


@X86
@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("llvm -mcpu=generic", Processor(4, 16, fuses=False, has_vnni=False)),
        ("llvm -mcpu=haswell", Processor(8, 16, fuses=True, has_vnni=False)),
        ("llvm -mcpu=skylake-avx512", Processor(16, 32, fuses=True, has_vnni=False)),
        ("llvm -mcpu=cascadelake", Processor(16, 32, fuses=True, has_vnni=True)),
        ("llvm -mcpu=cascadelake -mattr=-avx512vnni", Processor(16, 32, fuses=True, has_vnni=False)),
        ("llvm -mcpu=znver3 -mattr=-fma,-avx2", Processor(4, 16, fuses=False, has_vnni=False)),
        ("llvm -mattr=+avx2", Processor(8, 16, fuses=False, has_vnni=False)),
        ("llvm -mtriple=aarch64-linux-gnu", Processor(4, 32, fuses=True, has_vnni=False)),
    ],
)
def test_a_target_says_what_its_processor_has(target: str, expected: Processor) -> None:
    assert processor_of(Target(target)) == expected
    with Target(target):
        assert processor_of() == expected


def test_without_a_name_it_is_this_computers() -> None:
    own = processor_of()
    assert own == processor_of(Target("llvm")) == processor_of(Target("llvm -mcpu=native"))
    if host_triple().startswith("x86_64"):
        features = host_features()
        assert (own.lanes == 16, own.fuses, own.has_vnni) == (
            features.get("avx512f", False), features.get("fma", False), features.get("avx512vnni", False),
        )  # fmt: skip


def test_products_are_fused_where_the_target_allows_it_and_the_processor_can() -> None:
    a, b, c = (te.placeholder((64,), "float32", name) for name in "abc")
    sums = te.compute((64,), lambda i: a[i] * b[i] + c[i], "sums")
    less = te.compute((64,), lambda i: c[i] * a[i] - sums[i], "less")
    args = [a, b, c, sums, less]
    s = te.create_schedule(less.op)
    assert "llvm.fma" not in build_generic(s, args, "llvm").get_source()
    assert "llvm.fma" not in build_generic(s, args, "llvm -fast-math-contract=0").get_source()
    module = build_generic(s, args, "llvm -fast-math-contract")
    assert ("llvm.fma" in module.get_source()) == processor_of().fuses
    rng = np.random.default_rng(3)
    x, y, z = (rng.standard_normal(64).astype(np.float32) for _ in range(3))
    found, second = np.zeros(64, np.float32), np.zeros(64, np.float32)
    module(x, y, z, found, second)
    if processor_of().fuses:
        exact = x.astype(np.float64) * y + z
        assert np.all(np.abs(found - exact) <= np.spacing(np.abs(exact.astype(np.float32))) / 2)
        exact = z.astype(np.float64) * x - found
        assert np.all(np.abs(second - exact) <= np.spacing(np.abs(exact.astype(np.float32))) / 2)


def test_a_flag_may_stand_without_a_value_and_another_option_may_not() -> None:
    assert Target("llvm -fast-math-contract").contracts
    assert str(Target("llvm -fast-math-contract")) == "llvm -keys=cpu -fast-math-contract=1"
    assert Target(str(Target("llvm -fast-math-contract"))).contracts
    assert not Target("llvm").contracts
    with pytest.raises(TargetError, match="expected options like -model=NAME, found '-mcpu'"):
        Target("llvm -mcpu")
