"""The JIT runtime: device memory, the command queue that turns runtime calls into instruction
streams, and the devices.
"""
