"""What became of every node of a model: where it runs, by which rule, what would change that, and what it costs.

Tests: tests/vta/relay/backend/test_report.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from runtime.executor.network import DeviceStep, HostStep
from runtime.executor.operators.foreign import OnnxNodeAttrs
from runtime.executor.operators.names import Op
from runtime.executor.runner import NodeRun
from vta.relay.backend.build import Built
from vta.relay.backend.kernel import HostCall, Join, Kernel
from vta.relay.host.groups import groups
from vta.relay.ir.nodes import Call, tensor_type

__all__ = ["NodeReport", "macs_of", "reports"]


@dataclass(frozen=True, slots=True)
class NodeReport:
    """One kernel or call of the host.

    ``nodes`` are the model's nodes that it does the work of. ``by`` says what computes it at its place: the host runs
    compiled code or numpy. ``cycles`` are known after a run on a device with a clock;
    ``nbytes`` are those that its launches move to and from DRAM. ``share`` is the part of the accelerator's peak.
    """

    name: str
    nodes: tuple[str, ...]
    place: str
    by: str
    rule: str
    change: str
    macs: int
    instructions: int
    cycles: int | None = None
    nbytes: int | None = None
    share: float | None = None

    @property
    def where(self) -> str:
        """Place and what computes it, for people."""
        return self.place if self.by == self.place else f"{self.place}, {self.by}"


_CHANGES = {
    Op.QUANTIZE: "give the network int8 inputs",
    Op.DEQUANTIZE: "take int8 outputs from the network",
    Op.QNN_LOOKUP: "use ReLU, leaky ReLU or a clip instead of this function",
    Op.RESIZE2D: "resize to the nearest pixels, or linearly by whole factors",
    Op.SOFTMAX: "leave the softmax to whoever reads the logits",
}


def macs_of(call: Call) -> int:
    """Return the multiplications with an addition that a call needs, none for what multiplies no tensors."""
    match call.callee:
        case Op.QNN_CONV2D | Op.CONV2D:
            return prod(tensor_type(call).shape) * prod(tensor_type(call.args[1]).shape[1:])
        case Op.QNN_CONV2D_TRANSPOSE | Op.CONV2D_TRANSPOSE:
            return prod(tensor_type(call.args[0]).shape) * prod(tensor_type(call.args[1]).shape[1:])
        case Op.QNN_DENSE | Op.DENSE:
            return prod(tensor_type(call).shape) * tensor_type(call.args[1]).shape[1]
        case Op.MATMUL | Op.BATCH_MATMUL | Op.QNN_BATCH_MATMUL:
            return prod(tensor_type(call).shape) * tensor_type(call.args[0]).shape[-1]
        case _:
            return 0


def reports(built: Built, runs: Sequence[NodeRun] = ()) -> list[NodeReport]:
    """Return a report for every kernel and every call of the host, in order; ``runs`` are of one run of the network."""
    launches = {step.node: step.launches for step in built.network.steps if isinstance(step, DeviceStep)}
    ran = {run.node: run for run in runs if run.on_device}
    compiled = _compiled(built)
    peak = built.network.config.batch * built.network.config.block_in * built.network.config.block_out
    found = []
    for item in built.items:
        match item:
            case Kernel():
                run = ran.get(item.name)
                cycles = None if run is None else run.cycles
                macs = item.macs
                found.append(
                    NodeReport(
                        item.name,
                        tuple(origin.name for origin in item.origins),
                        "accelerator",
                        "accelerator",
                        item.rule,
                        "",
                        macs,
                        sum(len(launch) for launch in launches.get(item.name, ())),
                        cycles,
                        None if run is None else sum(_moved(stats) for stats in run.launches),
                        None if not cycles else macs / (cycles * peak),
                    )
                )
            case Join():
                nodes = tuple(origin.name for origin in item.root.origins)
                rule = "its parts are whole blocks of channels and are made in their places"
                found.append(NodeReport(item.name, nodes, "accelerator", "accelerator", rule, "", 0, 0))
            case HostCall():
                call = item.root
                change = _CHANGES.get(call.callee, "") if isinstance(call.callee, Op) else ""
                nodes = tuple(origin.name for origin in call.origins)
                place, by, reason = "host", "compiled" if call in compiled else "numpy", item.reason
                if isinstance(call.attrs, OnnxNodeAttrs):
                    place, by, reason = "onnxruntime", "onnxruntime", call.attrs.why
                found.append(NodeReport(item.name, nodes, place, by, reason, change, macs_of(call), 0))
    return found


def _compiled(built: Built) -> set[Call]:
    """Return the calls of the host that sessions compute by compiled functions."""
    steps = built.network.steps
    made = [steps[number] for group in groups(built.network) for number in group.steps]
    names = [name for step in made if isinstance(step, HostStep) for name in step.outputs]
    return {built.results[name] for name in names if name in built.results}


def _moved(stats: object) -> int:
    """Return the bytes that a launch moved to and from DRAM."""
    counters = stats.statistics.as_dict()  # type: ignore[attr-defined]
    return int(sum(value for name, value in counters.items() if name.endswith("_nbytes")))
