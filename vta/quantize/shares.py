"""Which layers make the error of the outputs: each is int8 alone, in one model with a switch for every layer.

Tests: tests/vta/quantize/test_shares.py.
"""

from collections.abc import Mapping

import numpy as np
import onnx
from onnx import TensorProto, helper

from isa.progress import tell, told
from runtime.executor.operators.types import Array
from vta.quantize.calibrate.float_run import Runner
from vta.quantize.calibrate.samples import Samples
from vta.quantize.graph import Graph, name_of
from vta.quantize.plan import Plan
from vta.quantize.write import Numbers

__all__ = ["error_shares"]

_OFF, _ON = np.array(False), np.array(True)


def error_shares(graph: Graph, plan: Plan, numbers: Numbers, samples: Samples) -> dict[str, float]:
    """Return, for every point, its share of the sum of squared errors that points and their weights make alone.

    A layer's weights count with the point in which its work ends.
    """
    groups = _groups(plan)
    model, switches = _switched(graph, plan, numbers, groups)
    runner = Runner(model, graph.outputs)
    off: dict[str, Array] = dict.fromkeys(switches.values(), _OFF)
    errors: dict[str, float] = dict.fromkeys(groups, 0.0)
    for feed in samples.batches():
        exact = runner({**feed, **off})
        for done, (name, switch) in enumerate(switches.items()):
            tell("measuring layers", done, len(switches), "layers")
            found = runner({**feed, **off, switch: _ON})
            errors[name] += sum(
                float(((found[out].astype(np.float64) - value) ** 2).sum()) for out, value in exact.items()
            )
    told("measuring layers")
    total = sum(errors.values())
    return {name: error / total if total else 0.0 for name, error in errors.items()}


def _groups(plan: Plan) -> dict[str, list[onnx.NodeProto]]:
    """Return the layers with weights that end in each point."""
    found: dict[str, list[onnx.NodeProto]] = {name: [] for name in plan.points}
    where = {step: name for name, point in reversed(list(plan.points.items())) for step in point.made_by}
    for node in plan.layers:
        if (point := where.get(name_of(node))) is not None:
            found[point].append(node)
    return found


def _switched(
    graph: Graph, plan: Plan, numbers: Numbers, groups: Mapping[str, list[onnx.NodeProto]]
) -> tuple[onnx.ModelProto, dict[str, str]]:
    """Return the float model with a switch for every point, and the names of these inputs by point."""
    made = graph.copy()
    switches = {
        name: made.fresh(f"{name}.switch") for name, point in plan.points.items() if point.root == name or groups[name]
    }
    switch_of = {name_of(node): switches[point] for point, layers in groups.items() for node in layers}
    nodes: list[onnx.NodeProto] = []
    for name in made.inputs:
        if name in switches:
            nodes += _choice(made, name, made.fresh(f"{name}.chosen"), name, plan, numbers, switches, rename=True)
    for node in made.nodes:
        if (switch := switch_of.get(name_of(node))) is not None:
            weight = made.constant(f"{node.input[1]}.rounded", numbers.weights[name_of(node)].real())
            chosen = made.fresh(f"{node.input[1]}.chosen")
            other = [helper.make_node("Identity", [weight], [made.fresh("then")])]
            nodes.append(_if(switch, other, node.input[1], chosen, made))
            node.input[1] = chosen
        after: list[onnx.NodeProto] = []
        for at, name in enumerate(node.output):
            if name in switches:
                node.output[at] = made.fresh(f"{name}.exact")
                after += _choice(made, node.output[at], name, name, plan, numbers, switches, rename=False)
        nodes += [node, *after]
    model = made.to_model(nodes)
    model.graph.input.extend(
        helper.make_tensor_value_info(switch, TensorProto.BOOL, []) for switch in switches.values()
    )
    return model, switches


def _choice(
    graph: Graph,
    source: str,
    result: str,
    point: str,
    plan: Plan,
    numbers: Numbers,
    switches: Mapping[str, str],
    *,
    rename: bool,
) -> list[onnx.NodeProto]:
    """Return what gives ``source`` as it is, or rounded if the switch is on."""
    if rename:
        graph.rename_reads(source, result)
    encoding = numbers.encodings[plan.points[point].root]
    scale = graph.constant(f"{point}.scale", np.array(encoding.scale, np.float32))
    zero = graph.constant(f"{point}.zero", np.array(encoding.zero, np.int8))
    cells, rounded = graph.fresh(f"{point}.int8"), graph.fresh(f"{point}.rounded")
    steps = [
        helper.make_node("QuantizeLinear", [source, scale, zero], [cells]),
        helper.make_node("DequantizeLinear", [cells, scale, zero], [rounded]),
    ]
    return [_if(switches[point], steps, source, result, graph)]


def _if(switch: str, steps: list[onnx.NodeProto], otherwise: str, result: str, graph: Graph) -> onnx.NodeProto:
    """Return a node that does ``steps`` if the switch is on, and hands on ``otherwise`` if it is not."""
    same = helper.make_node("Identity", [otherwise], [graph.fresh("otherwise")])
    branches = [
        helper.make_graph(nodes, name, [], [helper.make_empty_tensor_value_info(nodes[-1].output[0])])
        for name, nodes in (("on", steps), ("off", [same]))
    ]
    return helper.make_node("If", [switch], [result], then_branch=branches[0], else_branch=branches[1])
