"""Answers about whole programs that take a walk of their own, for ``tir.analysis``: operations, places of accesses.

What is asked in a line or two stands in ``vta.tir.analysis``. Tests: tests/vta/tir/test_flops.py, test_access_lca.py.
"""
