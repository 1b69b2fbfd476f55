"""``vta.top`` under TVM-VTA's name: ``graph_pack``. Operators are in ``vta.topi``."""

from vta.relay.front.graph_pack import graph_pack

__all__ = ["graph_pack"]
