"""Which of the host's steps one function computes: chains of elements, behind windows or alone, where that pays.

Steps are looked at from the last one. A step joins the group that reads its result, if nothing else does and both have
one shape; so every group gives one tensor, and numbers in between are never stored. A group is compiled if what it
saves is worth a call: numpy goes over memory once or more for every operator, a function once for all of them.
Tests: tests/vta/relay/host/test_groups.py.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import prod

from runtime.executor.network import Home, HostStep, Network
from runtime.executor.operators.attribute_values import made
from runtime.executor.operators.attributes import Attrs
from runtime.executor.operators.broadcast import AxisAttrs
from runtime.executor.operators.convolution import Conv2dAttrs
from runtime.executor.operators.names import Op
from runtime.executor.operators.normalise import BatchNormAttrs
from runtime.executor.operators.pooling import Pool2dAttrs
from runtime.executor.operators.qnn.quantize import DequantizeAttrs, QuantizeAttrs
from runtime.executor.operators.qnn.tables import QnnPool2dAttrs
from runtime.executor.operators.table import operator
from runtime.executor.operators.types import ElementType, Shape
from vta.relay.host.elements import element_of
from vta.relay.host.recipe import Leaf, Node, Recipe

__all__ = ["PAYS", "Group", "groups"]

PAYS = 1 << 17
"""Elements times passes over memory that a group must save: some 40 microseconds, and a call takes 10."""

_MOST_NODES = 96
"""Operations in the expression of an element; a value that is read twice is in it twice."""

_MOST_ELEMENTS = 1 << 31

_BY_NAME = {str(op): op for op in Op}


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Steps by number, what they read, which the recipe's leaves are of, and the tensor that they give."""

    steps: tuple[int, ...]
    inputs: tuple[str, ...]
    output: str
    recipe: Recipe


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    """A step that a function can compute."""

    number: int
    op: Op
    attrs: Attrs
    inputs: tuple[str, ...]
    output: str
    passes: int
    is_head: bool


@dataclass(slots=True, eq=False)
class _Open:
    """A group that is still looking for members, the last step first."""

    shape: Shape
    members: list[_Step] = field(default_factory=list)


def groups(network: Network, *, pays: int = PAYS) -> list[Group]:
    """Return the groups of a network that are worth compiling, in order; with ``pays`` 0, all that can be."""
    readers: dict[str, list[int]] = {}
    for number, step in enumerate(network.steps):
        for name in network.reads(step):
            readers.setdefault(name, []).append(number)
    belongs: dict[int, _Open] = {}
    opened: list[_Open] = []
    for member in reversed(list(_steps(network))):
        found = _joined(member, [belongs.get(number) for number in readers.get(member.output, [])], network)
        if found is None:
            found = _Open(network.tensor(member.output).shape)
            opened.append(found)
        found.members.append(member)
        belongs[member.number] = found
    made = (_group([*reversed(each.members)], network) for each in opened)
    return [group for each, group in zip(opened, made, strict=True) if _saves(each) >= pays][::-1]


def _saves(group: _Open) -> int:
    """Return how many elements numpy would go over more often."""
    return prod(group.shape) * (sum(step.passes for step in group.members) - 1)


def _joined(step: _Step, readers: Sequence[_Open | None], network: Network) -> _Open | None:
    """Return the group that a step joins: the only one that reads its result, of the same shape."""
    if not readers or readers[0] is None or any(each is not readers[0] for each in readers):
        return None
    [group] = set(readers)
    assert group is not None
    reading = [each for each in group.members if step.output in each.inputs]
    if step.output in network.outputs or network.tensor(step.output).shape != group.shape:
        return None
    if any(each.is_head for each in reading) or (step.is_head and any(each.is_head for each in group.members)):
        return None
    return group if _size([step, *reversed(group.members)]) <= _MOST_NODES else None


def _size(steps: Sequence[_Step]) -> int:
    """Return how many operations the expression of an element of the last step's result has."""
    sizes: dict[str, int] = {}
    for step in steps:
        sizes[step.output] = 1 + sum(sizes.get(name, 0) for name in step.inputs)
    return sizes[steps[-1].output]


# --- steps ----------------------------------------------------------------------------------------------------------


def _steps(network: Network) -> Iterator[_Step]:
    """Yield the steps that a function can compute."""
    for number, step in enumerate(network.steps):
        op = _BY_NAME.get(step.operator) if isinstance(step, HostStep) else None
        if not isinstance(step, HostStep) or op is None or len(step.outputs) != 1:
            continue
        tensors = [network.tensor(name) for name in (*step.inputs, *step.outputs)]
        homes = [Home.HOST, Home.HOST_CONSTANT]
        if any(each.home not in homes or not 0 < prod(each.shape) < _MOST_ELEMENTS for each in tensors):
            continue
        if not tensors[-1].shape:
            continue
        attrs = made(operator(op).attrs_type, step.attributes)
        passes = _window_passes(op, attrs, step, network) or _element_passes(op, step, network)
        if passes:
            is_head = isinstance(attrs, Pool2dAttrs | Conv2dAttrs)
            yield _Step(number, op, attrs, step.inputs, step.outputs[0], passes, is_head)


def _element_passes(op: Op, step: HostStep, network: Network) -> int:
    """Return the passes of a step that computes single elements, 0 for others."""
    found = element_of(op, [ElementType(network.tensor(name).dtype) for name in step.inputs])
    if found is None or (op is Op.RESCALE and not _shifts_are_known(step, network)):
        return 0
    return found.passes


def _shifts_are_known(step: HostStep, network: Network) -> bool:
    """Return whether a rescale shifts by what a processor can shift by."""
    narrow = network.host_constants.get(step.inputs[2])
    return narrow is not None and bool(((narrow >= 0) & (narrow < 32)).all())  # type: ignore[operator]


def _window_passes(op: Op, attrs: Attrs, step: HostStep, network: Network) -> int:
    """Return the passes of a step that goes over windows as numpy does, place by place; 0 for others."""
    data = network.tensor(step.inputs[0])
    if data.dtype == "float16" or len(data.shape) != 4:
        return 0
    match attrs:
        case QnnPool2dAttrs() if attrs.layout == "NCHW":
            return prod(attrs.pool_size)
        case Pool2dAttrs() if op in (Op.MAX_POOL2D, Op.AVG_POOL2D) and attrs.layout == "NCHW" and data.dtype != "bool":
            return prod(attrs.pool_size)
        case Conv2dAttrs() if op is Op.CONV2D and (attrs.data_layout, attrs.kernel_layout) == ("NCHW", "OIHW"):
            weight = network.tensor(step.inputs[1]).shape
            return 2 * prod(weight[2:]) if weight[1] == 1 and weight[0] == attrs.groups else 0
        case _:
            return 0


# --- recipes --------------------------------------------------------------------------------------------------------


def _group(steps: Sequence[_Step], network: Network) -> Group:
    numbers: dict[str, int] = {}
    leaves: dict[tuple[str, Leaf], int] = {}
    nodes: list[Node] = []
    shape = network.tensor(steps[-1].output).shape
    for step in steps:
        operands = []
        for place, name in enumerate(step.inputs):
            if name in numbers:
                operands.append(numbers[name])
                continue
            whole = network.tensor(name)
            own = whole.shape if step.is_head else _aligned(whole.shape, len(shape), place, step.attrs)
            operands.append(leaves.setdefault((name, Leaf(own, whole.dtype)), ~len(leaves)))
        numbers[step.output] = len(nodes)
        nodes.append(Node(step.op, step.attrs, tuple(operands), network.tensor(step.output).dtype))
    recipe = Recipe(tuple(leaf for _, leaf in leaves), tuple(nodes), shape, any(step.is_head for step in steps))
    return Group(tuple(step.number for step in steps), tuple(name for name, _ in leaves), steps[-1].output, recipe)


def _aligned(shape: Shape, rank: int, place: int, attrs: Attrs) -> Shape:
    """Return the shape of an operand as it stands beside the result."""
    along = isinstance(attrs, AxisAttrs | BatchNormAttrs | QuantizeAttrs | DequantizeAttrs)
    if along and place > 0 and len(shape) == 1:
        axis = attrs.axis % rank  # type: ignore[attr-defined]
        return tuple(shape[0] if dim == axis else 1 for dim in range(rank))
    return (1,) * (rank - len(shape)) + shape
