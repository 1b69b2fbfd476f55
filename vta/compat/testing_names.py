"""``tvm.testing``: comparisons, and the marks of tests that need a device.

Tests: tests/vta/compat/test_testing_names.py.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from isa.errors import VTAError
from vta import nd
from vta.arith.simplify import Analyzer
from vta.compat.answer import Tree
from vta.compat.constraints_check import check_bool_expr_is_true, check_int_constraints_trans_consistency
from vta.compat.numerical_grads import check_numerical_grads
from vta.tir.expr import ExprLike, convert
from vta.tir.func import IRModule, PrimFunc
from vta.tir.schedule import Schedule, Trace
from vta.tir.structural import require_equal, structural_equal

__all__ = ["DifferenceError", "schedule_testing_names", "testing_names"]

_T = TypeVar("_T")


class DifferenceError(VTAError, ValueError):
    """Two expressions that should have one value may have two."""


def _assert_allclose(actual: npt.ArrayLike, desired: npt.ArrayLike, rtol: float = 1e-7, atol: float = 1e-7) -> None:
    """Compare as TVM's testing module does: shapes first."""
    left, right = np.asanyarray(actual), np.asanyarray(desired)
    np.testing.assert_allclose(left.shape, right.shape)
    np.testing.assert_allclose(left, right, rtol=rtol, atol=atol, verbose=True)


def _assert_prim_expr_equal(lhs: ExprLike, rhs: ExprLike) -> None:
    """Fail unless the two expressions certainly have the same value."""
    a, b = convert(lhs), convert(rhs)
    if structural_equal(a, b):
        return
    if not Analyzer().can_prove_equal(a, b):
        raise DifferenceError(f"{a} and {b} are not equal")


def _verify_trace_roundtrip(
    sch: Schedule,
    mod: PrimFunc | IRModule,
    *,
    debug_mask: str | int = "all",
    text_format: str | Sequence[str] = ("python", "json"),
) -> Schedule:
    """Return a schedule of ``mod`` on which the trace of ``sch`` was replayed; fail unless the same program came out.

    The trace goes through JSON where ``text_format`` has "json", and is replayed as it is otherwise.
    """
    again = Schedule(mod, debug_mask=debug_mask)
    if "json" in ([text_format] if isinstance(text_format, str) else text_format):
        Trace.apply_json_to_schedule(sch.trace.as_json(), again)
    else:
        sch.trace.apply_to_schedule(again)
    require_equal(again.mod, sch.mod)
    return again


def schedule_testing_names() -> Tree:
    """Return the names below ``tvm.tir.schedule.testing``."""
    return {"verify_trace_roundtrip": _verify_trace_roundtrip}


def _echo(value: _T) -> _T:
    return value


def _device_enabled(target: object) -> bool:
    return str(target).split(maxsplit=1)[0] in ("llvm", "cpu")


def _enabled_targets() -> list[tuple[str, nd.Device]]:
    return [("llvm", nd.cpu(0))]


def _requires(*features: str) -> Callable[..., Any]:
    """Return a decorator that skips a test without ``features``; used plain, or called with nothing."""

    def decorate(test: Callable[..., Any] | None = None) -> Any:
        if test is None:
            return decorate
        if set(features) <= {"llvm"}:
            return test
        import pytest  # a script that marks tests has it

        return pytest.mark.skip(reason=f"there is no {' and no '.join(features)} here")(test)

    return decorate


def _parametrize_targets(*targets: Any) -> Any:
    import pytest  # a script that marks tests has it

    if len(targets) == 1 and callable(targets[0]):
        return pytest.mark.parametrize(("target", "dev"), _enabled_targets())(targets[0])
    kept = [(str(target), nd.cpu(0)) for target in targets if _device_enabled(target)]
    return pytest.mark.parametrize(("target", "dev"), kept)


def _parameter(*values: Any, ids: Sequence[str] | None = None) -> Any:
    """Return a fixture that takes each of ``values``."""
    import pytest  # a script that marks tests has it

    @pytest.fixture(params=values, ids=ids)
    def value(request: Any) -> Any:
        return request.param

    return value


def _parameters(*value_sets: Sequence[Any], ids: Sequence[str] | None = None) -> list[Any]:
    """Return fixtures that take the values of one set after the other, all from the same set at a time."""
    import pytest  # a script that marks tests has it

    numbers = pytest.fixture(params=range(len(value_sets)), ids=ids)
    return [
        numbers(lambda request, column=column: value_sets[request.param][column])
        for column in range(len(value_sets[0]))
    ]


def _fixture(function: Callable[..., Any] | None = None, **_options: Any) -> Any:
    import pytest  # a script that marks tests has it

    return pytest.fixture(function) if function is not None else pytest.fixture


def _main() -> None:
    """Run the tests of the script that calls this."""
    import pytest  # a script that marks tests has it

    sys.exit(pytest.main([sys.argv[0], *sys.argv[1:]]))


_NOT_HERE = (
    "gpu", "cuda", "cudagraph", "cudnn", "cublas", "rocm", "metal", "opencl", "vulkan", "tensorcore", "rpc", "micro",
    "ethosn", "hexagon", "corstone300", "x86_vnni", "cuda_compute_version",
)  # fmt: skip


def testing_names() -> Tree:
    """Return the names below ``tvm.testing``."""
    return {
        "assert_allclose": _assert_allclose,
        "assert_prim_expr_equal": _assert_prim_expr_equal,
        "check_bool_expr_is_true": check_bool_expr_is_true,
        "check_int_constraints_trans_consistency": check_int_constraints_trans_consistency,
        "check_numerical_grads": check_numerical_grads,
        "echo": _echo,
        "device_enabled": _device_enabled,
        "enabled_targets": _enabled_targets,
        "parametrize_targets": _parametrize_targets,
        "exclude_targets": lambda *_targets: _echo,
        "known_failing_targets": lambda *_targets: _echo,
        "parameter": _parameter,
        "parameters": _parameters,
        "fixture": _fixture,
        "main": _main,
        "requires_llvm": _requires("llvm"),
        "requires_package": lambda *_packages: _echo,
        "uses_gpu": _echo,
        "slow": _echo,
        **{f"requires_{name}": _requires(name) for name in _NOT_HERE},
    }
