"""The host's steps as calls: chains are one function, equal functions are written once."""

from dataclasses import replace

import pytest

from runtime.executor.network import HostStep, Tensor
from tests.support.relay.random_host_steps import chain
from vta.relay.c.host_steps import CExportError, host_code


def test_a_chain_is_one_function_and_equal_ones_are_shared() -> None:
    code = host_code(chain((2, 3), "negative", "abs", "nn.relu"))
    assert list(code.calls) == [2]
    [call] = code.calls[2]
    assert call.arguments == ("x", "y")
    assert call.function == "host_0"
    [text] = code.texts()
    assert text.startswith("static void host_0(const float *restrict leaf0, float *restrict result")


def test_moves_between_chains_have_calls_of_their_own() -> None:
    code = host_code(chain((2, 3), "copy", "negative", "copy"))
    assert [call.function for calls in code.calls.values() for call in calls] == ["host_0", "host_1", "host_0"]
    assert len(code.texts()) == 2


def test_averages_bring_their_divisors_along() -> None:
    attributes = {"pool_size": (2, 2), "strides": (2, 2), "padding": (1, 1, 0, 0)}
    tensors = {"x": Tensor("x", (1, 2, 3, 3), "float32"), "y": Tensor("y", (1, 2, 2, 2), "float32")}
    step = HostStep("y", "nn.avg_pool2d", ("x",), ("y",), attributes)
    network = replace(chain((1,), "abs"), tensors=tensors, steps=(step,))
    code = host_code(network)
    assert code.calls[0][0].arguments == ("x", 0, "y")
    assert [array.tolist() for array in code.arrays] == [[[1, 2], [2, 4]]]
    assert code.workspace > 0


def test_numpys_own_functions_are_refused_with_the_step() -> None:
    with pytest.raises(CExportError) as caught:
        host_code(chain((4,), "exp"))
    assert str(caught.value) == (
        "step 'y' (exp) is computed by the host with numpy, and there is no C for it; compile a model that ends before "
        "it, or begins behind it"
    )
