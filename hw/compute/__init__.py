"""The compute module: micro-op and accumulator loads, GEMM core, tensor ALU, and the order of their instructions.

Other modules of the accelerator do not belong here (``hw``). Tests: tests/hw/compute.
"""
