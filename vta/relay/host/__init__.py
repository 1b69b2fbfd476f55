"""Operators of the host in networks, computed by our own compiler: chains of them become one native function.

- ``elements``: what operators compute of single elements, with the bits of the numpy operator
- ``groups``: which steps of a network one function computes, where that pays
- ``recipe``: a group in itself, without names: what is compiled, and what it is kept under
- ``stages``: a recipe as tensor expressions with a schedule
- ``functions``: recipes to native code, kept on disk by content, and functions for ``runtime.executor``

What operators are, and mean, is in ``runtime.executor.operators``; graphs belong to ``vta.relay``'s other rooms.
Tests: tests/vta/relay/host.
"""
