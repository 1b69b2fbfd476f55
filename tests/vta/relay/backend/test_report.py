"""What a report says of every node: its place, why, and what it costs."""

import pytest

from runtime.executor.runner import NetworkRunner
from runtime.session import Session
from tests.support.relay.patterns import PATTERNS, made
from vta.environment import get_env
from vta.relay.backend.kernel import Kernel
from vta.relay.backend.report import macs_of, reports
from vta.relay.backend.session import compile_model
from vta.relay.ir.traverse import calls


def test_a_report_names_place_rule_and_cost() -> None:
    [pattern] = [p for p in PATTERNS if p.__name__ == "residual_without_quantisation"]
    model, x = made(pattern, 2)
    built = compile_model(model, get_env(), jobs=1)
    runner = NetworkRunner(built.network, Session(built.network.config, "tsim"))
    runner.run({"x": x})
    first, second = reports(built, runner.nodes)
    assert (first.place, first.macs, first.change) == ("host", 0, "give the network int8 inputs")
    assert (second.place, second.rule) == ("accelerator", "Conv2d with qnn.rescale in its epilogue")
    assert second.macs == 9 * 8 * 6 * 6 * 9
    assert second.cycles
    assert second.nbytes
    assert second.share == second.macs / (second.cycles * 256)
    assert [report.cycles for report in reports(built)] == [None, None]


@pytest.mark.parametrize(
    ("name", "operators"),
    [
        ("residual_without_quantisation", ["Conv", "Add", "Relu", "QuantizeLinear"]),
        ("residual_with_quantisation", ["Conv", "QuantizeLinear", "Add", "QuantizeLinear"]),
        ("clip_between", ["Conv", "Clip", "QuantizeLinear"]),
        ("hard_swish_of_its_parts", ["Add", "Clip", "Mul", "Div", "QuantizeLinear"]),
    ],
)
def test_a_kernel_names_every_node_whose_work_it_does(name: str, operators: list[str]) -> None:
    [pattern] = [p for p in PATTERNS if p.__name__ == name]
    built = compile_model(made(pattern, 3)[0], get_env(), jobs=1)
    [kernel] = [item for item in built.items if isinstance(item, Kernel)]
    assert [origin.operator for origin in kernel.origins] == operators
    assert [each.nodes for each in reports(built)][1] == tuple(origin.name for origin in kernel.origins)


def test_multiplications_are_those_of_the_definition() -> None:
    sizes = {"relu_folded": 9 * 8 * 5 * 6 * 9, "gemm": 432 * 5, "transposed": 9 * 8 * 6 * 4 * 4, "sigmoid": 0}
    for name, wanted in sizes.items():
        [pattern] = [p for p in PATTERNS if p.__name__ == name]
        built = compile_model(made(pattern, 1)[0], get_env(), jobs=1)
        assert sum(macs_of(call) for call in calls(built.function)) == wanted, name
