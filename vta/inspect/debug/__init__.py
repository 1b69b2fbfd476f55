"""The debugger: a program on the reference interpreter, back and forth, with breakpoints.

Comparing runs does not belong here (``vta.inspect.diff``). Tests: tests/vta/inspect/debug.
"""
