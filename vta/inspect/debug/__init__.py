"""The debugger: a program on the reference interpreter, forth and back, with breakpoints.

Comparing runs does not belong here (``vta.inspect.diff``). Tests: tests/vta/inspect/debug.
"""
