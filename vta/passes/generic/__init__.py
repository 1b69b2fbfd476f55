"""Passes that any program can be given: they know nothing of the accelerator.

Simplification, dead code and common subexpressions belong here. What may only touch the host's loops does not
(``vta.passes.host``). Tests: tests/vta/passes/generic.
"""
