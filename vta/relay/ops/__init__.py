"""Operators as nodes of a graph: ``call`` makes one and infers its type; ``rewrite`` rebuilds graphs, ``lets`` binds.

What operators take, return and mean is in ``runtime.executor.operators``.
"""
