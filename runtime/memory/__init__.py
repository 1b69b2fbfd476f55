"""Device memory: one address space, the arrays in it, and the handles that compiled code holds.

Who owns which bytes belongs here. Which words move them does not (``runtime.queue``). Tests: tests/runtime/memory.
"""
