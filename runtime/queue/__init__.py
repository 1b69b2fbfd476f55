"""Runtime calls in, instruction streams out: the command queue with its micro-op kernels and tokens.

What decides which words a launch has belongs here. Where they lie in DRAM is the launcher's part; running them is a
device's (``runtime.devices``). Tests: tests/runtime/queue.
"""
