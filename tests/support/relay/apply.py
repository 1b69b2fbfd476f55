"""One operator applied to arrays, or refused."""

import numpy as np
import numpy.typing as npt
import pytest

from runtime.executor.operators.attributes import Attrs
from runtime.executor.operators.names import Op
from runtime.executor.operators.types import RelayError, TensorType
from vta.relay.interpreter import evaluate
from vta.relay.ir.nodes import Constant, Var
from vta.relay.ops.call import call


def applied(op: Op, *arrays: npt.ArrayLike, attrs: Attrs | None = None) -> npt.NDArray[np.generic]:
    """Return the result of ``op``; lists are float32. Its type is checked by the interpreter."""
    given = [each if isinstance(each, np.ndarray) else np.array(each, np.float32) for each in arrays]
    result = evaluate(call(op, [Constant(each) for each in given], attrs))
    assert isinstance(result, np.ndarray)
    return result


def refusal(op: Op, *types: tuple[tuple[int, ...], str], attrs: Attrs | None = None) -> str:
    """Return why ``op`` refuses inputs of ``types``, without the operator's name."""
    with pytest.raises(RelayError) as error:
        call(op, [Var("x", TensorType(shape, dtype)) for shape, dtype in types], attrs)
    assert str(error.value).startswith(f"{op}: ")
    return str(error.value).removeprefix(f"{op}: ")


def shape_of(op: Op, *types: tuple[tuple[int, ...], str], attrs: Attrs | None = None) -> tuple[int, ...]:
    """Return the shape of the result for inputs of ``types``."""
    inferred = call(op, [Var("x", TensorType(shape, dtype)) for shape, dtype in types], attrs).type
    assert isinstance(inferred, TensorType)
    return inferred.shape
