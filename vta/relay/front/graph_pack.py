"""``vta.top.graph_pack`` under TVM-VTA's name: the region of a graph that the accelerator computes is looked up.

Packing itself is ``relay.build``'s: it lays out what the accelerator computes, wherever that is in the graph, and
computes the rest on the host. So start and stop only need to be there. Tests: tests/vta/relay/front/test_graph_pack.py.
"""

import difflib

from runtime.executor.operators.names import Op
from runtime.executor.operators.types import RelayError
from vta.environment import get_env
from vta.relay.ir.module import IRModule
from vta.relay.ir.nodes import Function
from vta.relay.ir.traverse import calls

__all__ = ["graph_pack"]

_SAME = {str(Op.GLOBAL_AVG_POOL2D): (str(Op.MEAN), str(Op.AVG_POOL2D))}
"""What other exporters write instead."""


def graph_pack(
    expr: Function | IRModule,
    bfactor: int,
    cfactor: int,
    weight_bits: int,
    start_name: str | None = str(Op.MAX_POOL2D),
    stop_name: str | None = str(Op.GLOBAL_AVG_POOL2D),
    start_name_idx: int | None = None,
    stop_name_idx: int | None = None,
    count_meta: bool = False,
    device_annot: bool = False,  # noqa: ARG001  # devices are chosen by relay.build
    annot_start_name: str = str(Op.CONV2D),  # noqa: ARG001
    annot_end_name: str = "annotation.stop_fusion",  # noqa: ARG001
) -> Function:
    """Return the function, after a look whether start and stop are in it and the blocks are the environment's.

    Both may be None: the region is found. An index counts operators in the order in which they are computed, constants
    included with ``count_meta``. Raises ``RelayError``, with the operators that there are.
    """
    function = expr["main"] if isinstance(expr, IRModule) else expr
    env = get_env()
    if (bfactor, weight_bits) != (env.BATCH, env.WGT_WIDTH) or cfactor not in (env.BLOCK_IN, env.BLOCK_OUT):
        raise RelayError(
            f"graph_pack: batch, block and bits of weights are {bfactor}, {cfactor} and {weight_bits}, and the "
            f"environment's {env.BATCH}, {env.BLOCK_OUT} and {env.WGT_WIDTH}"
        )
    if count_meta:
        raise RelayError("graph_pack: count_meta is not supported; count operators, without constants")
    names = [str(call.callee) for call in calls(function)]
    first = _place(names, "start", start_name, start_name_idx)
    last = _place(names, "stop", stop_name, stop_name_idx)
    if first is not None and last is not None and first >= last:
        raise RelayError(f"graph_pack: start {start_name!r} is number {first} and stop {stop_name!r} number {last}")
    return function


def _place(names: list[str], what: str, name: str | None, index: int | None) -> int | None:
    """Return which operator is meant; None if none is named."""
    if name is None and index is None:
        return None
    if index is not None:
        if not 0 <= index < len(names) or (name is not None and names[index] != name):
            there = f"is {names[index]!r}" if 0 <= index < len(names) else f"of {len(names)} there is none"
            raise RelayError(f"graph_pack: {what} {name!r} is said to be operator {index}, which {there}")
        return index
    assert name is not None
    for wanted in (name, *_SAME.get(name, ())):
        if wanted in names:
            return names.index(wanted)
    kinds = sorted(set(names))
    close = difflib.get_close_matches(name, kinds, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"there is {', '.join(kinds)}"
    raise RelayError(f"graph_pack: no operator {name!r} to {what} at; {hint}; or give None, and the region is found")
