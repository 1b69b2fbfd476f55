"""The nodes of a graph, where they came from, and walking over them. Knows no operator by itself.

Types, and what an operator means and returns, are in ``runtime.executor.operators``; rebuilding needs that, and is in
``vta.relay.ops``.
"""
